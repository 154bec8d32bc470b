"""Pictures of what is at hand in Python: a result, a plan, a comparison."""

from functools import singledispatch
from typing import TYPE_CHECKING, Any, Final

from shuffledp.core.digits import rounded_up
from shuffledp.errors import InvalidInput, NoClaim
from shuffledp.figures import picture
from shuffledp.figures.style import BLUE, SKY, VERMILION, canvas
from shuffledp.planning.compare import Comparison
from shuffledp.planning.plan import Plan
from shuffledp.results.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PARTS: Final = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)
"""Of the planned reports, for which epsilon is drawn."""


@singledispatch
def plot(thing: Any) -> "Figure":
    """A matplotlib figure of something that has one."""
    raise InvalidInput(f"there is no picture of a {type(thing).__name__}. Plot a result, a plan or a comparison.")


@plot.register(Result)
def _result(result: Result) -> "Figure":
    with picture.drawn(result.document()) as figure:
        return figure


@plot.register(Plan)
def _plan(plan: Plan) -> "Figure":
    """Epsilon against the number of honest reports that come."""
    points = {}
    for part in _PARTS:
        n = max(1, round(part * plan.guarantee.n))
        try:
            points[n] = plan.epsilon_at(n)
        except NoClaim:
            continue
    with canvas(5.2, 3.2, 1, 1) as (figure, axes):
        axis = axes[0]
        axis.plot(list(points), list(points.values()), color=BLUE, marker="o", markersize=3)
        axis.axvline(plan.guarantee.n, color=VERMILION, linewidth=1.0, linestyle="--", label="as planned")
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlabel("honest reports")
        axis.set_ylabel(f"epsilon at delta = {rounded_up(plan.guarantee.delta)}")
        axis.set_title(f"{plan.question}: what fewer or more reports would mean")
        axis.legend()
        return figure


@plot.register(Comparison)
def _comparison(comparison: Comparison) -> "Figure":
    """The error of every protocol, the least on top."""
    rows = [row for row in comparison if row.rmse is not None]
    with canvas(6.4, 1.0 + 0.24 * len(rows), 1, 1) as (figure, axes):
        axis = axes[0]
        colours = [BLUE if row.accounted_by == "best" else SKY for row in rows]
        axis.barh(range(len(rows)), [row.rmse or 0.0 for row in rows], 0.7, color=colours)
        axis.set_yticks(range(len(rows)), [f"{row.name} ({row.trust})" for row in rows])
        axis.set_ylim(len(rows) - 0.4, -0.6)
        axis.set_xscale("log")
        axis.set_xlabel(f"root mean squared error of the {comparison.question}; in brackets whom users trust")
        return figure
