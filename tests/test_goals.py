"""`make bench` ends with the goals that were missed: it cannot pass over one."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from goals import GOALS, against, missed

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
REACHED = [(name, goal.figure) for name, goal in GOALS.items()]
NAME, OTHER = "randomized response, share of the keystream's speed", "simulate 1e9 users of 1,000 values, ms"


def test_every_goal_is_measured_by_a_script_that_make_bench_runs() -> None:
    scripts = "".join(path.read_text(encoding="utf-8") for path in BENCHMARKS.glob("bench_*.py"))
    named = [name for _, name in re.findall(r"against\(\s*([\"'])(.+?)\1,", scripts)]
    assert sorted(named) == sorted(GOALS)
    assert not re.search(r"\d(?: %)? wanted", scripts), "state goals in benchmarks/goals.py"


def test_what_reaches_its_goal_exactly_is_enough_and_nothing_less() -> None:
    assert missed(REACHED) == []
    assert missed([*REACHED, (NAME, 0.119)]) == [f"{NAME}: 11.9% (at least 12.0% wanted)"]
    assert missed([*REACHED, (OTHER, 50.01)]) == [f"{OTHER}: 50.01 (at most 50.00 wanted)"]
    assert len(missed([*REACHED, (NAME, float("nan"))])) == 1


def test_a_goal_without_a_figure_is_missed() -> None:
    assert missed(REACHED[1:]) == [f"{NAME}: not measured (at least 12.0% wanted)"]
    assert len(missed([])) == len(GOALS)


def test_figures_are_written_down_and_the_end_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "figures"

    def ended() -> tuple[int, str]:
        command = [sys.executable, str(BENCHMARKS / "goals.py"), str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    assert ended()[0] == 1
    monkeypatch.setenv("SHUFFLEDP_FIGURES", str(file))
    for name, figure in REACHED:
        assert "wanted)" in against(name, figure)
    assert [tuple(json.loads(line)) for line in file.read_text().splitlines()] == REACHED
    assert ended() == (0, f"all {len(GOALS)} goals reached\n")
    against(NAME, 0.08)
    assert ended() == (1, f"goals missed:\n{NAME}: 8.0% (at least 12.0% wanted)\n")
