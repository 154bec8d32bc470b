"""What benchmarks are to reach: every goal is stated here and nowhere else; `make bench` ends with those that were missed.

A script hands its figure to `against`, which says it beside its goal. If SHUFFLEDP_FIGURES names a file, it is written down
there, whatever process measures it; `python benchmarks/goals.py FILE` then lists what was missed or not measured at all, and
fails if there is anything.
"""

import json
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple


class Goal(NamedTuple):
    """A figure to reach: at least, or at most; and how it is shown."""

    figure: float
    at_least: bool
    shown: str = "{:,.0f}"

    def reached(self, figure: float) -> bool:
        """Whether this is enough; what is not a number is not."""
        return figure >= self.figure if self.at_least else figure <= self.figure


GOALS: Final[Mapping[str, Goal]] = {
    "randomized response, share of the keystream's speed": Goal(0.12, True, "{:.1%}"),
    "real-valued sum, M values/s": Goal(80, True),
    "mean by two messages, times the CPU of one": Goal(2.2, False, "{:.2f}"),
    "count, share of numpy.bincount's speed": Goal(0.85, True, "{:.0%}"),
    "simulate 1e9 users of 1,000 values, ms": Goal(50, False, "{:.2f}"),
    "mean of a Parquet file, times the CPU of DuckDB's exact one": Goal(2.0, False, "{:.2f}"),
    "encode 1e7 reports on a plane, M values/s": Goal(50, True),
    "decode every value of a plane, times one 2-D FFT": Goal(5, False, "{:.1f}"),
    "decode a million candidates, s": Goal(20, False, "{:.1f}"),
    "encode rows of 100, speed of numpy that draws as many normals": Goal(0.6, True, "{:.0%}"),
    "decode a million rows of 100, times numpy's 1e8 normals": Goal(3, False, "{:.2f}"),
    "decode rows of 10,000, MB": Goal(400, False),
    "standard error over its forecast, off by": Goal(0.03, False, "{:.1%}"),
    "PostgreSQL over HTTP, durable reports/s": Goal(5000, True),
}
_FILE: Final = "SHUFFLEDP_FIGURES"


def against(name: str, figure: float) -> str:
    """The figure beside its goal, written down if `make bench` asks for it."""
    goal = GOALS[name]
    if file := os.environ.get(_FILE):
        with Path(file).open("a", encoding="utf-8") as figures:
            figures.write(json.dumps([name, figure]) + "\n")
    return f"{name}: {goal.shown.format(figure)} ({_wanted(goal)})"


def missed(figures: Iterable[tuple[str, float]]) -> list[str]:
    """Each goal that a figure missed, and each that has no figure, in words."""
    found = dict[str, list[float]]()
    for name, figure in figures:
        found.setdefault(name, []).append(figure)
    said = [f"{name}: not measured ({_wanted(goal)})" for name, goal in GOALS.items() if name not in found]
    for name, several in found.items():
        goal = GOALS[name]
        short = [figure for figure in several if not goal.reached(figure)]
        said += [f"{name}: {', '.join(map(goal.shown.format, short))} ({_wanted(goal)})"] if short else []
    return said


def _wanted(goal: Goal) -> str:
    return f"{'at least' if goal.at_least else 'at most'} {goal.shown.format(goal.figure)} wanted"


def main() -> None:
    """List what was missed."""
    lines = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines() if Path(sys.argv[1]).exists() else []
    said = missed(json.loads(line) for line in lines)
    print("\n".join(["goals missed:", *said]) if said else f"all {len(GOALS)} goals reached")
    sys.exit(bool(said))


if __name__ == "__main__":
    main()
