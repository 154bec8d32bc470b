"""Pictures of what is at hand in Python: a guarantee, a solution, a plan, a result, a comparison, a finding."""

from functools import singledispatch
from typing import TYPE_CHECKING, Any, Final

from shuffledp.accounting.solve import Solution
from shuffledp.auditing.finding import Finding
from shuffledp.baselines.compare import Comparison
from shuffledp.core.digits import rounded_up
from shuffledp.core.guarantee import Guarantee, claim
from shuffledp.errors import InvalidInput, NoClaim
from shuffledp.figures import audit, result_picture
from shuffledp.figures.notebook import FALSE_ALARMS, HITS
from shuffledp.figures.style import BLACK, BLUE, SKY, VERMILION, canvas, plain_ticks, round_numbers
from shuffledp.planning.plan import Plan
from shuffledp.results.answer import Answer

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PARTS: Final = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)
"""Of the planned reports, for which epsilon is drawn."""


@singledispatch
def plot(thing: Any) -> "Figure":
    """A matplotlib figure of something that has one."""
    raise InvalidInput(
        f"there is no picture of a {type(thing).__name__}. Plot a guarantee, a solution, a plan, a result, a "
        "comparison or a finding."
    )


@plot.register(Answer)
def _result(result: Answer) -> "Figure":
    with result_picture.drawn(result.whole()) as figure:
        return figure


@plot.register(Finding)
def _finding(finding: Finding) -> "Figure":
    with audit.drawn(finding.document()) as figure:
        return figure


@plot.register(Guarantee)
def _guarantee(guarantee: Guarantee) -> "Figure":
    """How often an attacker notices a value at most, against how often it is a false alarm."""
    corner = 1 - guarantee.success
    at = sorted({j / 200 for j in range(201)} | {corner, 1 - corner})
    percent = [100 * a for a in at]
    with canvas(4.8, 3.6, 1, 1) as (figure, axes):
        axis = axes[0]
        axis.fill_between(
            percent, percent, [100 * guarantee.hits(a) for a in at], color=SKY, linewidth=0, label="possible"
        )
        axis.plot([0, 100], [0, 100], color=BLACK, linewidth=1.0, linestyle="--", label="a coin")
        axis.plot([100 * corner], [100 * guarantee.success], marker="o", color=BLUE, linestyle="none")
        axis.annotate(
            f"at most {rounded_up(100 * guarantee.success, 4)} % right",
            (100 * corner, 100 * guarantee.success), (8, -12), textcoords="offset points",
        )  # fmt: skip
        axis.set(xlabel=FALSE_ALARMS, ylabel=HITS, xlim=(0, 100), ylim=(0, 101))
        axis.set_title(f"What an attacker can learn about a person:\n{claim(guarantee.epsilon, guarantee.delta)}")
        axis.legend(loc="lower right")
        return figure


@plot.register(Solution)
def _solution(solution: Solution) -> "Figure":
    """Between which numbers the unknown is, and which one is safe to claim."""
    lower, upper = solution.lower, solution.upper
    known = [end for end in (lower, upper) if end is not None]
    with canvas(5.2, 1.6, 1, 1) as (figure, axes):
        axis = axes[0]
        axis.set_ylim(-1.2, 1.4)
        axis.set_yticks([])
        axis.set_xticks([])
        axis.spines[["left", "bottom"]].set_visible(False)
        axis.set_title(f"{solution.unknown}, by the {solution.bound} bound")
        if not known:
            axis.text(0.5, 0.5, "nothing is known", transform=axis.transAxes, ha="center")
            return figure
        width = (max(known) - min(known)) or 0.05 * abs(known[0]) or 1.0
        axis.set_xlim(min(known) - 0.6 * width, max(known) + 0.6 * width)
        left, right = axis.get_xlim()
        axis.hlines(
            [0], [left if lower is None else lower], [right if upper is None else upper], color=SKY, linewidth=8.0
        )
        for end, word in ((lower, "at least"), (upper, "at most")):
            if end is not None:
                axis.annotate(f"{word}\n{end:,.7g}", (end, 0), (0, 10), textcoords="offset points", ha="center")
        if solution.value is not None:
            axis.plot([solution.value], [0], marker="o", color=BLUE, linestyle="none", label="safe to claim")
            axis.legend(loc="lower center")
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
        plain_ticks(axis.xaxis, [n for n in points if n in {round(2.0**j * plan.guarantee.n) for j in range(-2, 3)}])
        plain_ticks(axis.yaxis, round_numbers(points.values()))
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
        axis.set_xlabel(f"error of the {comparison.question} (root mean square); in brackets whom users trust")
        return figure
