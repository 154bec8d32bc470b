"""One answer in a picture: bars with their intervals, the largest of many, a band, a point, or a curve."""

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from shuffledp.core.digits import counted
from shuffledp.core.document import Document
from shuffledp.figures.correlations import columns_of, draw_correlations
from shuffledp.figures.distribution import TRUTH, draw_distribution
from shuffledp.figures.style import BLACK, BLUE, ORANGE, SKY
from shuffledp.protocols.moment_reading import COEFFICIENT
from shuffledp.results.estimate_entries import (
    FEW,
    USERS,
    Entry,
    are_ranked,
    entries,
    is_curve,
    largest,
    measured,
    written,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LETTERS: Final = 20
"""Of a name."""
_BARS: Final = 30
"""Of very many entries so many are drawn."""
_YES_OR_NO: Final = "Mean of the users' answers, each from 0 to 1"
"""What a query measures. Its answers are mostly true or false."""


class Panel:
    """What is drawn of an answer, and how much room that takes."""

    def __init__(self, result: Document) -> None:
        values = result["estimate"]["value"]
        self._result, self._curve, self._ranked = result, is_curve(result), are_ranked(result)
        self._pairs = columns_of(result)
        self._ranked = self._ranked and self._pairs is None
        self._rows = entries(result, largest(values, _BARS + 1) if self._ranked else None)
        self._others = len(values) - _BARS if self._ranked and len(values) > _BARS + 1 else 0

    @property
    def several(self) -> bool:
        """Whether there is more than one interval."""
        return len(self._rows) != 1

    @property
    def height(self) -> float:
        """In inches, with the axis below."""
        if self._pairs is not None:
            return 1.4 + 0.25 * len(self._pairs)
        lines = len(self._rows) if len(self._rows) <= FEW and not self._curve else 11
        return 0.6 + (0.26 if self._result["truth"] is not None else 0.2) * lines

    def draw(self, axis: "Axes") -> None:
        """Draw the answer into its place of a picture."""
        rows, measure, unit = self._rows, _axis_title(self._result), self._result["wording"]["unit"]
        if self._curve:
            draw_distribution(axis, self._result)
            return
        if self._pairs is not None:
            draw_correlations(axis, list(map(_cut, self._pairs)), rows, measure)
            return
        if self._result["question"] == COEFFICIENT:
            _draw_points(axis, [_in_errors(row) for row in rows], f"{measure}, in standard errors")
            axis.axvline(0.0, color=BLACK, linewidth=0.8)
        elif self._ranked:
            _draw_ranked(axis, rows, measure, self._others)
        else:
            few = _draw_few if self._result["measure"] == USERS else _draw_points
            draw = _draw_one if len(rows) == 1 else few if len(rows) <= FEW else _draw_many
            draw(axis, rows, measure)
        if unit and self._result["measure"] == USERS:  # then the bins are made of values
            across = len(rows) > FEW and not self._ranked
            (axis.set_xlabel if across else axis.set_ylabel)(_cut(unit), parse_math=False)


def _in_errors(row: Entry) -> Entry:
    """In units of its standard error: coefficients of features in different units have no scale in common."""
    unit = row.error or 1.0
    truth = None if row.truth is None else row.truth / unit
    return row._replace(value=row.value / unit, error=1.0, low=row.low / unit, high=row.high / unit, truth=truth)


def _axis_title(result: Document) -> str:
    """What is measured. A title says by which groups in people's words, so the names of columns are left out beside it."""
    measure = result["measure"]
    if result["wording"]["title"]:
        measure = re.sub(r" by .*(?=, each from )", "", measure)
    if measure == _YES_OR_NO:
        return "Mean answer, from 0 (no) to 1 (yes)"
    return measured({**result, "measure": measure})


def _draw_few(axis: "Axes", rows: list[Entry], measure: str) -> None:
    """One bar per bin, the first on top."""
    truth = [row.truth for row in rows if row.truth is not None]
    apart, thick = (0.2, 0.36) if truth else (0.0, 0.7)
    at, values = [j - apart for j in range(len(rows))], [row.value for row in rows]
    axis.barh(at, values, thick, color=SKY, label="private estimate")
    limits = [row.value - row.low for row in rows], [row.high - row.value for row in rows]
    axis.errorbar(values, at, xerr=limits, fmt="none", ecolor=BLACK, elinewidth=1.0, capsize=2.5)
    if truth:
        axis.barh([j + apart for j in range(len(rows))], truth, thick, color=ORANGE, label=TRUTH)
    axis.spines["left"].set_visible(False)  # the line at zero is there already
    axis.grid(visible=False, axis="y")
    axis.axvline(0.0, color=BLACK, linewidth=0.8)
    _name(axis, rows, measure)


def _draw_points(axis: "Axes", rows: list[Entry], measure: str) -> None:
    """A point and its interval per line, on a scale that need not begin at zero: averages are no amounts."""
    at, values = range(len(rows)), [row.value for row in rows]
    axis.hlines(at, [row.low for row in rows], [row.high for row in rows], color=SKY, linewidth=6.0)
    axis.plot(values, at, marker="o", markersize=5.0, color=BLUE, linestyle="none", label="private estimate")
    truth = [row.truth for row in rows if row.truth is not None]
    if truth:
        axis.plot(truth, at, marker="D", markersize=4.0, color=ORANGE, linestyle="none", label=TRUTH)
    axis.margins(x=0.1)
    _name(axis, rows, measure)


def _name(axis: "Axes", rows: list[Entry], measure: str) -> None:
    """Names of lines; one without a number says so."""
    for j, row in enumerate(rows):
        if math.isnan(row.value):
            axis.annotate(
                "too few users to say", (0, j), (4, 0), xycoords=("axes fraction", "data"), textcoords="offset points",
                va="center", fontsize=8.0,
            )  # fmt: skip
    axis.set_yticks(range(len(rows)), _shortened([row.name for row in rows]), parse_math=False)
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.tick_params(axis="y", length=0)
    axis.set_xlabel(measure, parse_math=False)
    axis.xaxis.set_major_locator(_few_ticks())
    axis.xaxis.set_major_formatter(lambda x, _: f"{x:,.10g}")
    axis.set_axisbelow(True)


def _draw_ranked(axis: "Axes", rows: list[Entry], measure: str, others: int) -> None:
    """The largest, one line each, and if there are others a last line that says how large they are at most."""
    if not others:
        _draw_few(axis, rows, measure)
        return
    *top, next_one = rows
    _draw_few(axis, top, measure)
    axis.set_yticks(
        range(len(rows)), [*_shortened([row.name for row in top]), counted(others, "other")], parse_math=False
    )
    axis.set_ylim(len(rows) - 0.4, -0.6)
    (text,) = written([next_one])
    axis.annotate(
        f"each at most {text.value}", (0, len(top)), (4, 0), textcoords="offset points", va="center", fontsize=8.0
    )


def _draw_many(axis: "Axes", rows: list[Entry], measure: str) -> None:
    """A curve with a band; only some bins are named."""
    edges = [j - 0.5 for j in range(len(rows) + 1)]
    axis.stairs([row.high for row in rows], edges, baseline=[row.low for row in rows], fill=True, color=SKY)
    axis.stairs([row.value for row in rows], edges, baseline=None, color=BLUE, linewidth=0.8, label="private estimate")
    truth = [row.truth for row in rows if row.truth is not None]
    if truth:
        axis.stairs(truth, edges, baseline=None, color=ORANGE, linewidth=0.8, label=TRUTH)
    axis.axhline(0.0, color=BLACK, linewidth=0.8)
    named = range(0, len(rows), _step(len(rows)))
    axis.set_xticks(named, _shortened([rows[j].name for j in named]), parse_math=False)
    if max(len(rows[j].name) for j in named) > 6:
        axis.tick_params(axis="x", labelrotation=30)
        for label in axis.get_xticklabels():
            label.set_horizontalalignment("right")
    axis.use_sticky_edges = False  # room below the lowest interval
    axis.autoscale_view()
    axis.set_xlim(edges[0], edges[-1])
    axis.set_xlabel(counted(len(rows), "bin"))
    axis.set_ylabel(measure, parse_math=False)
    axis.yaxis.set_major_formatter(lambda y, _: f"{y:,.10g}")
    axis.set_axisbelow(True)


def _draw_one(axis: "Axes", rows: list[Entry], measure: str) -> None:
    """A point, its interval, and both in digits."""
    (row,), (text,) = rows, written(rows)
    axis.hlines([0], [row.low], [row.high], color=SKY, linewidth=6.0)
    axis.plot([row.value], [0], marker="o", color=BLUE, linestyle="none", label="private estimate")
    if row.truth is not None:
        axis.plot([row.truth], [0], marker="D", color=ORANGE, linestyle="none", label=TRUTH)
    axis.annotate(
        f"{text.value}  ({text.low} to {text.high})", (row.value, 0), (0, 10), textcoords="offset points", ha="center"
    )
    axis.set_ylim(-1, 2)
    axis.set_yticks([])
    axis.spines["left"].set_visible(False)
    axis.margins(x=0.3)
    axis.grid(visible=False)
    axis.xaxis.set_major_locator(_few_ticks())
    axis.xaxis.set_major_formatter(lambda x, _: f"{x:,.10g}")
    axis.set_xlabel(measure, parse_math=False)


def _few_ticks() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10])


def _step(size: int) -> int:
    """How far apart names are, so that there are five to ten: 1, 2 or 5 times a power of ten.

    >>> _step(61), _step(100), _step(1000), _step(260)
    (10, 20, 200, 50)
    """
    steps = (times * power for power in (1, 10, 100, 1000) for times in (1, 2, 5))
    return next(step for step in steps if size <= 7 * step)


def _shortened(names: Sequence[str]) -> list[str]:
    """Cut where most of them still differ, at the end if they do.

    >>> _shortened(["a question of some length", "another one"])
    ['a question of some …', 'another one']
    >>> _shortened(["the very same beginning, A", "the very same beginning, B"])
    ['the very same…ing, A', 'the very same…ing, B']
    """
    ways = [[_cut(name, end) for name in names] for end in (0, 6, 12)]
    return max(ways, key=lambda way: len(set(way)))


def _cut(name: str, end: int = 0) -> str:
    """Twenty letters, so many of them from its end."""
    return name if len(name) <= _LETTERS else f"{name[: _LETTERS - 1 - end]}…{name[len(name) - end :]}"
