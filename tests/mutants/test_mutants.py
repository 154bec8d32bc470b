"""The tool that plants bugs: it plants what it says, nowhere but in a copy, and the bugs we name are noticed."""

import ast
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mutants import judged, reach
from mutants.__main__ import GROUPS
from mutants.bug import Bug
from mutants.hook import sitecustomize as hook
from mutants.operators import OPERATORS, bugs, is_bug
from mutants.report import Report
from mutants.trial import Outcome, nearest
from oracles.scale import full

SOURCE = b'''
"""Nothing is planted in what is said: 1 + 1."""
LIMIT = 5

def chosen(words, rows: "1 < 2", draw, n):
    """Nor here: n < 3."""
    if n < LIMIT and not n == 0:
        raise ValueError(f"{n + 1} is too few")
    drawn = words.blocks(rows, draw) + words.stream(n, 1, lane)
    log.sync(n)
    with lock:
        total = min(n * 2, ceiling.upper, n // 3, floor=0.5)
    return math.nextafter(total, math.inf) ** n

def holds(n) -> bool:
    return n >= 2
'''


def changes(operator: str) -> list[str]:
    return [bug.change for bug in bugs("sample.py", SOURCE) if bug.operator == operator and is_bug(bug, SOURCE)]


def test_every_operator_plants_what_it_says() -> None:
    assert changes("boundary") == ["< -> <=", "== -> !=", ">= -> >"]
    assert changes("sign") == ["+ -> -", "* -> /", "** -> *"]
    assert changes("forgotten")[2:4] == ["n * 2 -> 2", "n * 2 -> n"]
    assert changes("constant")[:2] == ["5 -> (5 + 1)", "5 -> (5 - 1)"]
    assert "0.5 -> (0.5 * 2)" in changes("constant")
    assert changes("rounding") == [
        "min -> max", "upper -> lower", "n // 3 -> (-(-(n) // (3)))", "math.nextafter(total, math.inf) -> total",
        "math.inf -> -(math.inf)",
    ]  # fmt: skip
    assert changes("left out") == [
        'raise ValueError(f"{n + 1} is too few") -> pass', "log.sync(n) -> pass", "with lock -> if True",
    ]  # fmt: skip
    assert changes("swapped") == ["rows, draw -> draw, rows", "n, 1 -> 1, n", "total, math.inf -> math.inf, total"]
    assert changes("logic") == ["and -> or", "not n == 0 -> (n == 0)"]
    assert changes("condition") == ["n < LIMIT and not n == 0 -> False", "n < LIMIT and not n == 0 -> True"]
    assert changes("returned") == ["n >= 2 -> not (n >= 2)"]
    assert changes("word") == ["rows -> (rows) * np.uint64(0)", "draw -> 0", "n -> 0", "lane -> 0"]
    assert changes("keyword") == [", floor=0.5 -> nothing"]
    assert {bug.operator for bug in bugs("sample.py", SOURCE)} == set(OPERATORS)


def test_equal_ones_of_a_line_are_told_apart() -> None:
    signs = [
        bug.change for bug in bugs("sample.py", b"def f(a):\n    return a * a * a * a\n") if bug.operator == "sign"
    ]
    assert sorted(signs) == ["* -> /", "* -> / [2]", "* -> / [3]"]


def test_every_bug_is_another_program_and_says_where_it_is() -> None:
    found = bugs("sample.py", SOURCE)
    keys = [bug.key for bug in found]
    assert len(set(keys)) == len(keys)
    lines = SOURCE.decode().splitlines()
    for bug in found:
        assert lines[bug.line - 1].strip() == bug.text
        assert ast.dump(ast.parse(bug.planted(SOURCE))) != ast.dump(ast.parse(SOURCE))
        with pytest.raises(ValueError, match="has changed"):
            bug.planted(b"#" + SOURCE.replace(b"n", b"mm"))


@pytest.mark.parametrize(("group", "pattern"), [(group, one) for group, some in GROUPS.items() for one in some])
def test_every_group_of_modules_is_where_it_says(group: str, pattern: str) -> None:
    assert list(reach.SOURCES.glob(pattern)), f"nothing of {group}"


def test_a_planted_module_is_loaded_here_and_in_other_programs_and_no_file_is_written(tmp_path: Path) -> None:
    path = reach.SOURCES / "core" / "turnout.py"
    source = path.read_bytes()
    (bug,) = [
        bug for bug in bugs("core/turnout.py", source) if bug.text.startswith("honest = ") and bug.operator == "sign"
    ]
    (tmp_path / "module.py").write_bytes(bug.planted(source))
    environment = {**os.environ, hook.MODULE: bug.name, hook.SOURCE: str(tmp_path / "module.py")}
    environment |= {hook.FILE: str(path), "PYTHONPATH": str(Path(hook.__file__).parent)}
    asks = "from shuffledp.core.turnout import honest_reports; print(honest_reports(10, 0.5))"
    again = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {asks!r}])"
    for program in (asks, again):
        run = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        )
        assert run.stdout == "20\n"
    assert path.read_bytes() == source


def test_a_bug_is_there_when_a_doctest_of_its_module_is_the_first_test() -> None:
    """Which pytest imports in a way of its own. The first doctest here is that of `asking`, which calls what has the bug."""
    program = (
        "from mutants import trial, reach; from mutants.operators import bugs; trial.preload()\n"
        "listed = bugs('core/turnout.py', (reach.SOURCES / 'core/turnout.py').read_bytes())\n"
        "bug = next(bug for bug in listed if bug.change == '1 -> (1 - 1)' and bug.function == 'people_to_ask')\n"
        "print(trial.run(bug, ['src/shuffledp/core/turnout.py'], 60)[0])"
    )
    environment = {**os.environ, "PYTHONPATH": str(reach.ROOT / "tests")}
    run = subprocess.run(
        [sys.executable, "-c", program], env=environment, cwd=reach.ROOT, capture_output=True, text=True, check=True
    )
    assert run.stdout == "src/shuffledp/core/turnout.py::shuffledp.core.turnout.asking\n"


@pytest.mark.parametrize("registered", [True, False])
def test_tests_that_cannot_be_collected_kill_nothing(registered: bool) -> None:
    """Those that share a session of Spark could not, as only pytest-xdist knew their mark: every bug beside them was "killed"."""
    program = (
        "from dataclasses import replace; from mutants import trial, reach; from mutants.operators import bugs; trial.preload()\n"
        "listed = bugs('core/turnout.py', (reach.SOURCES / 'core/turnout.py').read_bytes())\n"
        "none = replace(listed[0], after=listed[0].before)\n"
        f"trial._OPTIONS = (*trial._OPTIONS, *{() if registered else ('-o', 'markers=')!r})\n"
        "print(repr(trial.run(none, ['tests/engines/test_spark_places.py', '-k', 'how_to_have_these_options'], 60)[0]))"
    )
    environment = {**os.environ, "PYTHONPATH": str(reach.ROOT / "tests")}
    run = subprocess.run(
        [sys.executable, "-c", program], env=environment, cwd=reach.ROOT, capture_output=True, text=True, check=False
    )
    assert run.stdout == ("''\n" if registered else ""), run.stderr
    assert registered or "cannot be collected without the bug either" in run.stderr


def test_the_nearest_tests_come_first_and_fit_the_budget() -> None:
    known = reach.Reach()
    known.costs = {
        "tests/service/test_client.py::one": 0.1, "tests/core/test_turnout.py::two": 3.0, "tests/core/test_pair.py::three": 1.0,
        "tests/core/test_pair.py::four": 9.0,
    }  # fmt: skip
    known.lines["core/turnout.py"][7].update(known.costs)
    bug = Bug(
        module="core/turnout.py", function="", operator="", text="", before="", after="", start=0, line=6, last_line=8
    )
    order = ["tests/core/test_turnout.py::two", "tests/core/test_pair.py::three", "tests/service/test_client.py::one"]
    assert nearest(bug, known, 8.0) == (order, 4)
    known.costs["tests/core/test_randomness.py::five"] = 0.2
    known.lines["core/turnout.py"][20].add("tests/core/test_randomness.py::five")
    assert nearest(replace(bug, function="at"), known, 8.0) == (order, 4)  # what is not at the top: its own lines
    assert nearest(bug, known, 8.0)[1] == 5


def test_a_default_is_judged_by_whatever_calls_the_function() -> None:
    source = b"def share(n, least=1):\n    n = abs(n)\n    return max(n, least)\n\nLIMIT = 1\n"
    assert [(bug.line, bug.last_line) for bug in bugs("sample.py", source)] == [(1, 3), (1, 3), (3, 3), (5, 5), (5, 5)]


def test_the_report_counts_equivalent_bugs_apart() -> None:
    one, two, three, *_ = bugs("sample.py", SOURCE)
    report = Report({two.key: "it is the same"})
    for bug, verdict in ((one, "killed"), (two, "survived"), (three, "unreached")):
        report.add("some", 10, Outcome(bug=bug, verdict=verdict))  # type: ignore[arg-type]
    assert report.document()["groups"] == {"some": {"bugs": 10, "killed": 1, "equivalent": 1, "survived": 1}}
    assert "50.0% (1.3% to 98.7%)" in report.text()
    assert report.enough(0.5)
    assert not report.enough(0.51)


def test_every_judgement_says_why_and_one_about_a_line_that_is_gone_is_noticed() -> None:
    assert all(len(why) > 20 for why in judged.equivalent().values())
    found = bugs("sample.py", SOURCE)
    gone = bugs("sample.py", SOURCE.replace(b"n < LIMIT", b"n <= LIMIT"))
    assert judged.stale([bug.key for bug in found], found) == []
    assert {key[3] for key in judged.stale([bug.key for bug in gone], found)} == {"if n <= LIMIT and not n == 0:"}


PARTS = len(judged.named()) // 5
"""Of the named bugs, about five in each."""


@pytest.mark.parametrize("part", range(full(1, PARTS)))
def test_every_bug_that_we_name_is_noticed_by_the_test_that_we_name(part: int) -> None:
    """A part of them in `make test`, all in `make test-all` and `make mutants`."""
    assert len(judged.named()) > 15
    run = subprocess.run(
        [sys.executable, "-m", "mutants", "--sample", "0", "--part", f"{part}/{PARTS}"],
        env={**os.environ, "PYTHONPATH": str(reach.ROOT / "tests")},
        cwd=reach.ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.count("noticed: ") == len(judged.named()[part::PARTS])
