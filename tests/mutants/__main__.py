"""`make mutants`: plant bugs, one at a time, and say which ones no test noticed."""

import fnmatch
import json
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import click

from mutants import judged, reach, trial
from mutants.bug import Bug
from mutants.operators import bugs, is_bug
from mutants.report import Report

_CORE: Final = """
    blanket canonical checks counts digits document estimate files guarantee turnout pair population ragged
    randomizer ratio randomness
"""
_RELEASE: Final = """
    shuffler/shuffler shuffler/batch_decision shuffler/release shuffler/permutation
    analyzer/analyzer analyzer/opened_reports analyzer/ledger client/client sealing/hpke
    wire/record wire/bundle wire/released_batch
"""
GROUPS: Final = {
    "arithmetic": ["arithmetic/*"],
    "core": [f"core/{name}.py" for name in _CORE.split()],
    "randomizers": ["randomizers/*"],
    "accounting": ["accounting/*"],
    "release path": [*(f"service/{name}.py" for name in _RELEASE.split()), "results/assembly.py", "results/budget.py"],
    "stores": ["service/stores/*"],
    "engines": ["engines/*"],
    "sources": ["sources/*"],
    "protocols": ["protocols/*"],
    "planning": ["planning/*"],
}
"""What privacy rests on, and what people are told about it; what is only shown or compared with is left out."""


@click.command()
@click.option("--sample", default=20, show_default=True, help="Bugs of each group; 0 for none but the named ones.")
@click.option("--group", "groups", multiple=True, type=click.Choice(list(GROUPS)), help="Only these groups.")
@click.option("--module", "modules", multiple=True, help="Only modules like this, below src/shuffledp: 'core/*.py'.")
@click.option("--changed", is_flag=False, flag_value="HEAD", help="Only modules that differ from a commit (HEAD).")
@click.option("--operator", "operators", multiple=True, help="Only bugs of this kind.")
@click.option("--seed", default=0, show_default=True, help="Decides the sample, whatever else changes.")
@click.option("--skip", default=0, help="Leave out the first ones of each group's sample.")
@click.option("--seconds", default=30.0, show_default=True, help="CPU seconds of tests for one bug; more find more.")
@click.option("--named/--no-named", default=True, help="Plant the bugs of named.toml first.")
@click.option("--part", default="0/1", help="Of the named ones only every third, from the second on: 1/3.")
@click.option("--json", "to", type=click.Path(path_type=Path), help="Write all outcomes to a file.")
@click.option("--at-least", default=0.95, show_default=True, help="Fail if fewer bugs are killed.")
def main(
    sample: int, groups: tuple[str, ...], modules: tuple[str, ...], changed: str | None, operators: tuple[str, ...], seed: int,
    skip: int, seconds: float, named: bool, part: str, to: Path | None, at_least: float,
) -> None:  # fmt: skip
    """Plant bugs in the code that privacy rests on and run the nearest tests against each."""
    trial.preload()
    missed = _named(*map(int, part.split("/"))) if named else []
    report = Report(judged.equivalent())
    if sample:
        found = {group: _listed(GROUPS[group], modules, changed) for group in groups or GROUPS}
        report.stale = judged.stale(report.equivalent, _every(report.equivalent))
        chosen = {
            group: _sample((bug for bug in listed if not operators or bug.operator in operators), seed, skip, sample)
            for group, listed in found.items()
        }
        known = _measured()
        total, done, began = sum(map(len, chosen.values())), 0, time.monotonic()
        for group, listed in chosen.items():
            for bug in listed:
                outcome = trial.judge(bug, known, seconds)
                report.add(group, len(found[group]), outcome)
                done += 1
                passed = time.monotonic() - began
                click.echo(f"[{done}/{total}, {passed:,.0f} s] {report.line(outcome)}")
        click.echo(report.text())
    if to is not None:
        to.write_text(json.dumps(report.document() | {"missed": missed}, indent=1), encoding="utf-8")
    if missed or not report.enough(at_least):
        sys.exit(1)


def _named(first: int, step: int) -> list[str]:
    """Those that their tests do not notice."""
    missed = []
    for one in judged.named()[first::step]:
        by, _ = trial.run(one.bug, [one.noticed_by], 120)
        noticed = by.startswith(one.noticed_by)
        click.echo(f"noticed: {one.what}" if noticed else f"MISSED: {one.what} {by}")
        if not noticed:
            missed.append(one.what)
    return missed


def _listed(patterns: Iterable[str], modules: tuple[str, ...], changed: str | None) -> list[Bug]:
    paths = sorted(str(path.relative_to(reach.SOURCES)) for path in reach.SOURCES.rglob("*.py"))
    here = [path for path in paths if any(fnmatch.fnmatch(path, pattern) for pattern in patterns)]
    if modules:
        here = [path for path in here if any(fnmatch.fnmatch(path, pattern) for pattern in modules)]
    if changed:
        command = ["git", "diff", "--name-only", changed, "--", "src/shuffledp"]
        listed = subprocess.run(command, cwd=reach.ROOT, capture_output=True, text=True, check=True).stdout.split()
        here = [path for path in here if f"src/shuffledp/{path}" in listed]
    return [bug for path in here for bug in bugs(path, (reach.SOURCES / path).read_bytes())]


def _every(keys: Iterable[tuple[str, ...]]) -> list[Bug]:
    """All bugs of the modules that something was judged about."""
    modules = sorted({key[0] for key in keys})
    return [
        bug
        for module in modules
        if (path := reach.SOURCES / module).exists()
        for bug in bugs(module, path.read_bytes())
    ]


def _sample(listed: Iterable[Bug], seed: int, skip: int, size: int) -> list[Bug]:
    chosen = list[Bug]()
    for bug in sorted(listed, key=lambda bug: bug.rank(seed)):
        if len(chosen) == skip + size:
            break
        if is_bug(bug, (reach.SOURCES / bug.module).read_bytes()):
            chosen.append(bug)
    return chosen[skip:]


def _measured() -> reach.Reach:
    """What tests reach; measured now for test files that are new or have changed."""
    paths = [path for path in reach.files_with_tests() if reach.stale(path)]
    for start in range(0, len(paths), 8):
        click.echo(f"measuring what tests reach: {start} of {len(paths)} files")
        reach.measure(paths[start : start + 8])
    return reach.read()


if __name__ == "__main__":
    main()
