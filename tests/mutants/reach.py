"""Which tests run which lines, and what each test costs: so that a planted bug meets the nearest tests first.

Measured by coverage.py, one context per test; programs that a test starts are measured too. Kept per test file in
`.mutants/reach`, and measured anew when the test file has changed.
"""

import hashlib
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
KEPT: Final = ROOT / ".mutants"
SOURCES: Final = ROOT / "src" / "shuffledp"
FOLDERS: Final = (
    "tests/pins", "tests/arithmetic", "tests/core", "tests/randomizers", "tests/accounting", "tests/domains", "src",
    "tests/conformance", "tests/specification", "tests/certificates", "tests/verification", "tests/protocols",
    "tests/planning", "tests/results", "tests/engines", "tests/cluster", "tests/service", "tests/baselines",
    "tests/test_adversarial.py", "tests/test_blocks.py", "tests/auditing", "tests/cli", "tests/test_notebooks.py",
)  # fmt: skip
"""Where tests of the code that is judged are, the nearest first."""
_SETTINGS: Final = """\
[run]
data_file = {data}
parallel = true
sigterm = true
context = ${{PYTEST_CURRENT_TEST-}}
source_pkgs = shuffledp
patch = subprocess, _exit
disable_warnings = no-data-collected, module-not-measured, couldnt-parse, dynamic-conflict
"""


@dataclass
class Reach:
    """What is known of the tests.

    Attributes:
        costs: CPU seconds of each test that passes.
        lines: tests by module file and line; those of a module that has changed since are under line 0.
    """

    costs: dict[str, float] = field(default_factory=dict)
    lines: dict[str, dict[int, set[str]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(set)))

    def tests_of(self, module: str, first: int, last: int) -> list[str]:
        """Tests that run one of these lines, or lines that they are part of, the cheapest first."""
        lines = self.lines.get(module, {})
        found = set[str]().union(*(lines.get(line, set()) for line in range(first, last + 1)), lines.get(0, set()))
        return sorted(found, key=lambda test: (self.costs[test], test))

    def anywhere_in(self, module: str) -> list[str]:
        """Tests that run anything of a module, the cheapest first."""
        found = set[str]().union(*self.lines.get(module, {}).values())
        return sorted(found, key=lambda test: (self.costs[test], test))


def digest(path: Path) -> str:
    """What tells whether a file has changed."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def files_with_tests(folders: Sequence[str] = FOLDERS) -> Iterator[Path]:
    """Files with tests, the nearest folders first."""
    for folder in folders:
        place = ROOT / folder
        found = sorted(place.rglob("*.py")) if place.is_dir() else [place]
        for path in found:
            if path.name.startswith("test_") or (folder == "src" and ">>>" in path.read_text(encoding="utf-8")):
                yield path


def kept(path: Path) -> Path:
    """Where the reach of a test file is kept."""
    return KEPT / "reach" / (str(path.relative_to(ROOT)).replace("/", ".") + ".json")


def stale(path: Path) -> bool:
    """Whether a test file must be measured."""
    try:
        known: str = json.loads(kept(path).read_text(encoding="utf-8"))["sha256"]
    except FileNotFoundError:
        return True
    return known != digest(path)


def measure(paths: Sequence[Path]) -> int:
    """Run some test files and keep what they reach; the exit code of pytest."""
    kept(paths[0]).parent.mkdir(parents=True, exist_ok=True)
    return subprocess.run(
        [sys.executable, "-m", "mutants.reach", *map(str, paths)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "tests")},
        cwd=ROOT,
        check=False,
    ).returncode


def read() -> Reach:
    """All that was measured."""
    reach = Reach()
    for path in files_with_tests():
        try:
            known = json.loads(kept(path).read_text(encoding="utf-8"))
        except FileNotFoundError:
            continue
        tests: list[str] = list(known["costs"])
        reach.costs |= known["costs"]
        for module, lines in known["lines"].items():
            here = reach.lines[module]
            same = (SOURCES / module).exists() and known["modules"][module] == digest(SOURCES / module)
            for line, which in lines.items():
                here[int(line) if same else 0].update(tests[one] for one in which)
    return reach


class _Contexts:
    """A pytest plugin: a context and a clock for each test."""

    def __init__(self, coverage: Any) -> None:
        self._coverage = coverage
        self.costs: dict[str, float] = {}
        self.failed: set[str] = set()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._coverage.switch_context(f"{nodeid} (run)")
        self.costs[nodeid] = -sum(os.times()[:4])

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.costs[nodeid] += sum(os.times()[:4])
        self._coverage.switch_context("")

    def pytest_runtest_logreport(self, report: Any) -> None:
        if not report.passed:
            self.failed.add(report.nodeid)


def _measure(paths: Sequence[Path]) -> int:
    import pytest
    from coverage import Coverage, CoverageData

    folder = KEPT / f"coverage-{os.getpid()}"
    folder.mkdir(parents=True)
    settings = folder / "settings.ini"
    settings.write_text(_SETTINGS.format(data=folder / "data"), encoding="utf-8")
    coverage = Coverage(config_file=str(settings), context="")
    plugin = _Contexts(coverage)
    coverage.start()
    code = pytest.main(["-q", "-p", "no:cacheprovider", *map(str, paths)], plugins=[plugin])
    coverage.stop()
    coverage.save()
    whole = CoverageData(basename=str(folder / "whole"))
    for part in sorted(folder.glob("data.*")):
        other = CoverageData(basename=str(part))
        try:
            other.read()
            whole.update(other)
        except Exception as error:  # what a program leaves that was killed while it wrote
            sys.stderr.write(f"{part.name} is left out: {error}\n")
    _keep(paths, whole, plugin)
    for part in folder.iterdir():
        part.unlink()
    folder.rmdir()
    return int(code)


def _keep(paths: Sequence[Path], whole: Any, plugin: _Contexts) -> None:
    tests = [test for test in plugin.costs if test not in plugin.failed]
    lines: dict[str, dict[str, dict[int, set[int]]]] = {}
    places: dict[str, tuple[str, int]] = {}
    costs: dict[str, dict[str, float]] = {str(path.relative_to(ROOT)): {} for path in paths}
    for test in tests:
        file = test.partition("::")[0]
        places[test] = (file, len(costs[file]))
        costs[file][test] = round(max(0.0, plugin.costs[test]), 3)
    for name in whole.measured_files():
        if not Path(name).is_relative_to(SOURCES):
            continue
        module = str(Path(name).relative_to(SOURCES))
        for line, contexts in whole.contexts_by_lineno(name).items():
            for context in contexts:
                place = places.get(context.rpartition(" (")[0])
                if place is not None:
                    lines.setdefault(place[0], {}).setdefault(module, {}).setdefault(line, set()).add(place[1])
    modules = {str(path.relative_to(SOURCES)): digest(path) for path in SOURCES.rglob("*.py")}
    for path in paths:
        file = str(path.relative_to(ROOT))
        mine = lines.get(file, {})
        document = {
            "sha256": digest(path),
            "modules": {module: modules[module] for module in mine},
            "costs": costs[file],
            "lines": {
                module: {str(line): sorted(which) for line, which in found.items()} for module, found in mine.items()
            },
        }
        kept(path).write_text(json.dumps(document), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(_measure([Path(name) for name in sys.argv[1:]]))
