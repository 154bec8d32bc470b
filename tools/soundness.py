"""The soundness report: run the oracles and the tests of every claim, and write docs/soundness.md (`make soundness`).

python tools/soundness.py            runs everything, which takes minutes, and writes page and figures
python tools/soundness.py --render   writes the page again, with the figures of the last run
"""

import json
import math
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import textwrap
from collections import Counter
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import click

ROOT = Path(__file__).parents[1]
sys.path += [str(ROOT / "tests"), str(ROOT / "tools")]
from licences import table  # noqa: E402
from oracles.laws import ORACLES  # noqa: E402
from oracles.points import points  # noqa: E402
from oracles.truth import encloses  # noqa: E402
from shuffledp.accounting.account import bound_named  # noqa: E402
from specification.claims import CLAIMS, GAPS, Claim, Gap  # noqa: E402

POINTS = 550
PAGE, FIGURES = ROOT / "docs" / "soundness.md", ROOT / "docs" / "soundness.json"
ELSEWHERE = (
    ("docs/attacks.md", "attacks that were tried, with numbers"),
    ("docs/audit.md", "an auditor: lower bounds on epsilon from runs"),
    ("docs/verify.md", "certificates, checked by other arithmetic"),
    ("docs/certificates.md", "certificates, checked by other arithmetic"),
    ("docs/mutants.md", "planted bugs, and which tests kill them"),
    ("docs/how-tight.md", "how far the two ends are apart"),
    ("docs/threat-model.md", "threats to the service, and the tests that show the answers"),
    ("docs/errata.md", "errors of the paper"),
    ("docs/known-issues.md", "known issues"),
)
"""Pages that belong to it; those that are there are named."""


def places() -> dict[str, list[str]]:
    """Where each test function is."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for name in re.findall(r"^(?:async )?def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE):
            found.setdefault(name, []).append(f"{path.relative_to(ROOT)}::{name}")
    return found


def open_gaps() -> list[Gap]:
    """Those whose words are still there."""
    return [gap for gap in GAPS if gap.seen[1] in (ROOT / gap.seen[0]).read_text(encoding="utf-8")]


def against_the_truth() -> dict[str, Any]:
    """By kind of randomizer: how many points, how many of them outside, and upper end over truth."""
    ratios: dict[str, list[float]] = {kind: [] for kind in ORACLES}
    outside, best = Counter[str](), bound_named("best")
    with click.progressbar(points(POINTS), length=POINTS, label="exact truths") as drawn:
        for point in drawn:
            claim = best.claim(point.randomizer.blanket(), n=point.n, epsilon=point.epsilon).log_delta
            kind = point.randomizer.kind
            outside[kind] += not encloses(claim.lower, claim.upper, point.truth)
            if point.truth.lower > 0:
                ratios[kind].append(math.exp(claim.upper) / float(point.truth.lower))
    return {
        kind: {
            "points": POINTS // len(ORACLES),
            "outside": outside[kind],
            "median": round(statistics.median(found), 4),
            "largest": round(max(found), 4),
        }
        for kind, found in ratios.items()
    }


def tested() -> dict[str, dict[str, int]]:
    """The cited tests: how many cases of each passed, failed or were skipped."""
    where = places()
    nodes = sorted({place for claim in CLAIMS for test in claim.tests for place in where[test]})
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-n",
            "auto",
            "--dist",
            "loadgroup",
            "-q",
            f"--junitxml={report}",
            *nodes,
        ]
        click.echo(f"running {len(nodes)} tests of {len(CLAIMS)} claims", err=True)
        subprocess.run(command, cwd=ROOT, stdout=sys.stderr, check=False)
        cases = ElementTree.parse(report).getroot().iter("testcase")
    found: dict[str, dict[str, int]] = {}
    for case in cases:
        outcome = (
            "skipped"
            if case.find("skipped") is not None
            else "failed"
            if len(case) and case[0].tag != "system-out"
            else "passed"
        )
        mine = found.setdefault(re.split(r"[\[@]", case.attrib["name"])[0], {"passed": 0, "failed": 0, "skipped": 0})
        mine[outcome] += 1
    return found


def figures() -> dict[str, Any]:
    """Of a run, now."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()

    return {
        "commit": git("rev-parse", "--short", "HEAD")
        + (" and changes" if git("status", "--porcelain", "src", "tests") else ""),
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"Python {platform.python_version()}, numpy {version('numpy')}, python-flint {version('python-flint')}, {platform.machine()}",
        "truth": against_the_truth(),
        "tests": tested(),
        "licences": Counter(said for _, _, said, ours in table() if ours),
    }


def rows(header: str, body: list[str]) -> list[str]:
    """A Markdown table."""
    return [f"| {header} |", "|" + "---|" * (header.count("|") + 1), *body, ""]


def cases(test: str, found: dict[str, dict[str, int]]) -> str:
    """A test and what became of it."""
    mine = found.get(test)
    if mine is None:
        return f"`{test}` (not run)"
    said = [f"{mine['passed']:,}"] if mine["passed"] != 1 or mine["failed"] or mine["skipped"] else []
    said += [f"**{mine[word]} {word}**" for word in ("failed", "skipped") if mine[word]]
    return f"`{test}`" + (f" ({', '.join(said)})" if said else "")


def link(page: str) -> str:
    """From docs/."""
    return f"[{Path(page).stem}]({Path(page).relative_to('docs')})"


def prose(text: str, bullet: str = "") -> list[str]:
    """A sentence on a line of its own; one that is longer than a line goes on in the next."""
    indent, lines = " " * len(bullet), list[str]()
    for sentence in re.split(r"(?<=[.:]) (?=[A-Z*`])", text):
        lines += textwrap.wrap(
            sentence,
            120,
            initial_indent=indent if lines else bullet,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
    return lines


def rendered(run: dict[str, Any]) -> str:
    """The page."""
    truth, tests = run["truth"], run["tests"]
    total, outside = (sum(kind[word] for kind in truth.values()) for word in ("points", "outside"))
    passed, failed = (sum(one[word] for one in tests.values()) for word in ("passed", "failed"))
    lines = [
        "# Soundness report", "",
        *prose("This page lists what is claimed, where the argument is, what tried to refute it, and what is not proved. It is written by `make soundness`; do not edit it."), "",
        f"Run of {run['date']}, commit {run['commit']} ({run['machine']}):", "",
        *prose(f"**{total} exact truths, {outside} outside** the certified enclosure: delta over all datasets of up to six users in whole numbers, no tolerance, for all {len(truth)} kinds of registered [randomizers](glossary.md#randomizer).", "- "),
        *prose(f"**{passed:,} cases of {len(tests)} tests passed, {failed} failed**, for {len(CLAIMS)} claims.", "- "),
        f"- **{len(open_gaps())} gaps** are open; they are [listed below](#not-proved).", "",
        "## Truth and claim", "",
        *prose("The table has the upper end of `best` divided by the true delta. A ratio of 1 is exact, and a larger one is safe but loose."), "",
        *prose("For Laplace and Gaussian noise the datasets are those of the values 0, 1/2 and 1. There the truth is itself between two numbers, of which the smaller one is taken. For `generic`, some randomizers stand for all."), "",
        *rows("randomizer | points | outside | median | largest", [f"| {kind} | {one['points']} | {one['outside']} | {one['median']} | {one['largest']} |" for kind, one in truth.items()]),
    ]  # fmt: skip
    for area in dict.fromkeys(claim.area for claim in CLAIMS):
        mine: list[Claim] = [claim for claim in CLAIMS if claim.area == area]
        lines += [f"## {area}", ""]
        lines += rows(
            "claim | proof | tests (cases)",
            [
                f"| {claim.statement} | {', '.join(map(link, claim.proof))} | {', '.join(cases(test, tests) for test in claim.tests)} |"
                for claim in mine
            ],
        )
    lines += ["## Not proved", "", *(line for gap in open_gaps() for line in prose(gap.statement, "- ")), ""]
    lines += ["## More", "", *(f"- {link(page)}: {what}" for page, what in ELSEWHERE if (ROOT / page).exists()), ""]
    lines += [
        "## What comes with it",
        "",
        f"{sum(run['licences'].values())} packages may be installed with shuffledp and all its extras:",
        "",
    ]
    lines += rows(
        "licence, as stated | packages", [f"| {said} | {number} |" for said, number in sorted(run["licences"].items())]
    )
    lines += [
        *prose(
            "The wheel of `python-flint`, which shuffledp always needs, bundles FLINT, GMP and MPFR, which are LGPL. "
            "So is `psycopg`, which only a store in PostgreSQL needs. `make licences` lists all locked packages."
        ),
        "",
        *prose(
            "The lock file was not compared with a database of vulnerabilities: pip-audit asks services on the network, and the newest database "
            "among PyPI's packages (safety-db) is of July 2021. With a network, run `pip-audit --disable-pip --require-hashes -r requirements/lock.txt`."
        ),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if "--render" not in sys.argv:
        FIGURES.write_text(json.dumps(figures(), indent=1, sort_keys=True) + "\n", encoding="utf-8")
    run = json.loads(FIGURES.read_text(encoding="utf-8"))
    PAGE.write_text(rendered(run), encoding="utf-8")
    click.echo(f"wrote {PAGE.relative_to(ROOT)}")
    bad = [kind for kind, one in run["truth"].items() if one["outside"]] + [
        name for name, one in run["tests"].items() if one["failed"]
    ]
    if bad:
        raise SystemExit(f"not sound: {', '.join(bad)}")
    missed = {test for claim in CLAIMS for test in claim.tests} - set(run["tests"])
    if missed and "--render" not in sys.argv:
        raise SystemExit(f"not run: {', '.join(sorted(missed))}")
