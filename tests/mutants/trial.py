"""One bug at a time: a process of its own loads the module with the bug and runs the nearest tests until one fails.

Time is counted in seconds of the processor, so that a busy machine kills nothing. What waits for ever uses none: it has hung when
its processes have done nothing for a minute.
"""

import functools
import importlib
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from mutants.bug import Bug
from mutants.hook import sitecustomize as hook
from mutants.reach import ROOT, SOURCES, Reach

Verdict = Literal["killed", "survived", "unreached"]
_FIRST: Final = 4.0
"""CPU seconds of the tests that run first, by themselves: most bugs die there."""
_IDLE: Final = 60.0
"""Seconds of the wall clock without any work."""
_MEMORY: Final = 12 << 30
_OTHERS: Final = (
    "click", "cryptography.hazmat.primitives.ciphers.aead", "cryptography.hazmat.primitives.hpke", "filelock", "flint",
    "httptools", "httpx", "hypothesis", "mpmath", "numpy.testing", "platformdirs", "prometheus_client", "psycopg", "pytest",
    "rfc8785", "scipy.stats", "starlette.applications", "uvicorn",
)  # fmt: skip
_NOT_PLANTED: Final = 98
_NO_CONFTEST: Final = "while loading conftest"
"""What pytest says, and ends as if it had been called wrongly, if the bug breaks what all tests of a folder share."""
_TROUBLE: Final = {
    3: "pytest failed",
    4: "pytest was called wrongly",
    5: "no test was found",
    _NOT_PLANTED: "the module was loaded without the bug",
    99: "no test could be run",
}
"""What is no verdict, by exit code."""
_OPTIONS: Final = ("-W", "ignore::pytest.PytestAssertRewriteWarning", "-p", "no:cacheprovider", "-p", "no:xdist")
_TICKS: Final = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a bug.

    Attributes:
        bug: the bug.
        verdict: killed if a test failed, or never ended; unreached if no test runs its lines.
        by: the test that noticed it.
        tests: how many ran at most.
        of: how many tests run its lines.
        seconds: of the processor.
    """

    bug: Bug
    verdict: Verdict
    by: str = ""
    tests: int = 0
    of: int = 0
    seconds: float = 0.0


def distance(bug: Bug, test: str) -> int:
    """How near a test is: pins, and where its file imports the module; then its package, then every implementation."""
    file = test.partition("::")[0]
    if file.startswith("tests/pins/"):
        return 0  # they import no module by name, and are the cheapest
    here = file.startswith(f"tests/{bug.package}/")
    if file == f"src/shuffledp/{bug.module}" or _imports(file, bug.name):
        return 0 if here else 1
    if here:
        return 2
    return 3 if file.startswith("tests/conformance/") else 4


@functools.cache
def _imports(file: str, module: str) -> bool:
    package, _, name = module.rpartition(".")
    text = (ROOT / file).read_text(encoding="utf-8")
    return re.search(rf"\b{module}\b|from {package} import .*\b{name}\b", text) is not None


def nearest(bug: Bug, reach: Reach, budget: float) -> tuple[list[str], int]:
    """The tests to run, the nearest and cheapest first, for so many CPU seconds; and how many there are."""
    # what runs when a module is imported counts for whichever test imports it first
    here = reach.tests_of(bug.module, bug.line, bug.last_line) if bug.function else []
    found = here or reach.anywhere_in(bug.module)
    chosen, left = [], budget
    for test in sorted(found, key=lambda one: (distance(bug, one), reach.costs[one], one)):
        if reach.costs[test] <= left:
            left -= reach.costs[test] + 0.02
            chosen.append(test)
    return chosen, len(found)


def judge(bug: Bug, reach: Reach, budget: float) -> Outcome:
    """Plant one bug and run the tests near it."""
    tests, of = nearest(bug, reach, budget)
    if not tests:
        return Outcome(bug=bug, verdict="unreached", of=of)
    cut, spent = 0, 0.0
    while cut < len(tests) and spent < _FIRST:
        spent += reach.costs[tests[cut]] + 0.02
        cut += 1
    seconds = 0.0
    for part in (tests[:cut], tests[cut:]):
        if part:
            by, used = run(bug, part, 20 + 5 * sum(reach.costs[test] for test in part))
            seconds += used
            if by:
                return Outcome(bug=bug, verdict="killed", by=by, tests=len(tests), of=of, seconds=seconds)
    return Outcome(bug=bug, verdict="survived", tests=len(tests), of=of, seconds=seconds)


def run(bug: Bug, tests: Sequence[str], limit: float) -> tuple[str, float]:
    """The test that failed, or why it never ended; empty if all pass. And the CPU seconds."""
    with tempfile.TemporaryDirectory(prefix="mutant-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "module.py").write_bytes(bug.planted((SOURCES / bug.module).read_bytes()))
        child = os.fork()
        if not child:
            code = 99
            try:
                code = _inside(bug, tests, folder, int(limit))
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        status, seconds = _wait(child, limit)
        for process in _session(child):
            _end(process)
        failed = folder / "failed"
        if failed.exists() and status != _NOT_PLANTED:
            return failed.read_text(encoding="utf-8"), seconds
        if status == 0:
            return "", seconds
        log = (folder / "log").read_text(encoding="utf-8", errors="replace") if (folder / "log").exists() else ""
        if status in _TROUBLE and _NO_CONFTEST not in log:
            raise RuntimeError(f"{_TROUBLE[status]}: {log[-2000:]}")
        if status > 0 and not _collected(tests):
            raise RuntimeError(f"these tests cannot be collected without the bug either: {log[-2000:]}")
        return ("it did not end" if status < 0 else f"it could not be imported: {log[-300:]}"), seconds


def _collected(tests: Sequence[str]) -> bool:
    """Whether these tests can be collected as they are here, without any bug."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", *_OPTIONS, *tests]
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode == 0


def _inside(bug: Bug, tests: Sequence[str], folder: Path, limit: int) -> int:
    """In the new process: never returns to the caller's work."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ[hook.MODULE], os.environ[hook.FILE] = bug.name, str(SOURCES / bug.module)
    os.environ[hook.SOURCE] = str(folder / "module.py")
    os.environ["PYTHONPATH"] = str(Path(hook.__file__).parent)
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    os.environ["TMPDIR"] = name = str(folder / "tmp")
    Path(name).mkdir()
    tempfile.tempdir = None
    sys.dont_write_bytecode = True
    hook.install()
    os.chdir(ROOT)
    import pytest

    code = int(pytest.main(["-x", "-q", "--tb=short", *_OPTIONS, *tests], plugins=[_First(folder)]))
    loaded = sys.modules.get(bug.name)
    return _NOT_PLANTED if loaded is not None and not isinstance(loaded.__loader__, hook.Planted) else code


class _First:
    """A pytest plugin: writes down the first test that fails, at once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def pytest_load_initial_conftests(self) -> None:
        """Before pytest's own import hook, which loads what belongs to a plugin, as this package does."""
        hook.install()

    def pytest_sessionstart(self) -> None:
        """The same for modules whose doctests are run."""
        hook.install()

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            (self._folder / "failed").write_text(report.nodeid, encoding="utf-8")


def _wait(child: int, limit: float) -> tuple[int, float]:
    """Its exit code, negative if it was stopped, and CPU seconds."""
    moved, done, before = time.monotonic(), 0.0, resource.getrusage(resource.RUSAGE_CHILDREN)
    stopped = False
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        used = sum(_cpu(process) for process in _session(child))
        if used > done + 0.05:
            moved, done = time.monotonic(), used
        if done > limit or time.monotonic() - moved > _IDLE:
            stopped = True
            for process in _session(child):
                _end(process)
        time.sleep(0.2)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    code = os.waitstatus_to_exitcode(status)
    return (-9 if stopped else code), seconds


def _session(leader: int) -> Iterator[int]:
    """The processes of a session: the child and whatever its tests have started."""
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            fields = _stat(int(entry.name))
            if fields is not None and int(fields[3]) == leader:
                yield int(entry.name)


def _stat(process: int) -> list[str] | None:
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None


def _cpu(process: int) -> float:
    fields = _stat(process)
    return 0.0 if fields is None else (int(fields[11]) + int(fields[12])) / _TICKS


def _end(process: int) -> None:
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return


def preload() -> None:
    """Import what tests need and no bug is in, once, before processes are forked."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for name in _OTHERS:
        importlib.import_module(name)
    if any(name.startswith("shuffledp") for name in sys.modules):
        raise RuntimeError("a module that bugs are planted in is loaded already")
