"""The error of every protocol against the number of users: local n^(1/2), shuffled n^(1/6), curator constant."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from shuffledp.baselines.compare import Candidate
from shuffledp.core.digits import rounded_up
from shuffledp.figures.style import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION, canvas, save_picture

_WIDTH: Final = 4.8
"""Inches, as of other pictures: narrow, so that the letters can still be read when a phone shrinks it."""
SIZES: Final = tuple(10**j for j in range(3, 10))
_BY_PROOF: Final = {"best": BLUE, "histogram-theorem": ORANGE, "proof": PURPLE}
"""Our own plans, the paper's parameters and the lower bound stand out by what proves them."""
_BY_TRUST: Final = {"nobody": VERMILION, "the curator": BLACK, "the shuffler": SKY, "the shuffler's noise": SKY}
_LINES: Final = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)), (0, (8, 2)))


def draw(task: str, curves: Mapping[int, Sequence[Candidate]], path: Path, *, epsilon: float, delta: float) -> None:
    """One line per protocol; colours say whom users trust."""
    names = list(dict.fromkeys(row.name for rows in curves.values() for row in rows))
    with canvas(_WIDTH, 3.4 + 0.17 * len(names), 1, 1) as (figure, axes):
        axis = axes[0]
        used: dict[str, int] = {GREEN: 1}  # dashed, because one of them lies on the curator's line
        for name in names:
            points = {n: row for n, rows in curves.items() for row in rows if row.name == name and row.rmse is not None}
            if not points:
                continue
            colour = _colour(list(points.values()))
            style = _LINES[used.get(colour, 0) % len(_LINES)]
            used[colour] = used.get(colour, 0) + 1
            axis.plot(
                list(points), [row.rmse or 0.0 for row in points.values()], color=colour, linestyle=style, marker="o",
                markersize=2.5, linewidth=2.4 if colour == BLUE else 1.4, label=f"{name} ({next(iter(points.values())).trust})",
            )  # fmt: skip
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlabel("number of people")
        axis.set_ylabel(f"error of the {task} (root mean square)")
        axis.set_title(f"epsilon = {rounded_up(epsilon)}, delta = {rounded_up(delta)}; in brackets: whom users trust")
        figure.legend(loc="outside lower center")
        save_picture(figure, path)


def _colour(rows: Sequence[Candidate]) -> str:
    if any((row.messages or 1) > 1 for row in rows):
        return GREEN
    return _BY_PROOF.get(rows[0].accounted_by, _BY_TRUST[rows[0].trust])
