"""How a result shows itself in a notebook: bars with intervals, or a curve with its band, and the numbers."""

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.digits import counted, decimals, fixed, interval
from shuffledp.core.display import MOST, paragraphs, table
from shuffledp.core.estimate import Estimate
from shuffledp.core.sketch import Axis, Interval, band, bars

if TYPE_CHECKING:
    from shuffledp.protocols.curve import Curve
    from shuffledp.results.result import Result


def shown(result: "Result") -> str:
    """The answer with what it promises, as a part of a page."""
    protocol = result.plan.protocol
    curve = None if result.statistics is None else result.statistics.curve
    error = f"standard error{', at most' if protocol.errors_are_bounds else ''}"
    promise = "no guarantee" if result.guarantee is None else str(result.guarantee)
    return (
        paragraphs(f"{result.plan.question}, {counted(result.n, 'report')}, {result.unit}", promise)
        + (_entries(result, error) if curve is None else _curve(curve, protocol.quantiles))
        + "".join(_table(name, one, "standard error") for name, one in result.also.items())
        + paragraphs(*(f"{name}: {why}" for name, why in result.estimate.refused.items()), *result.notes)
    )


def _entries(result: "Result", error: str) -> str:
    """Bars of the entries that have a number, each question's on a scale of its own, and a table of all."""
    estimate, known = result.estimate, [j for j in _chosen(result.estimate) if not math.isnan(result.estimate.value[j])]
    low, high = estimate.interval()
    questions = result.plan.protocol.errors_by_question(result.n)
    parts = [[j for j in known if result.names[j].startswith(f"{name}: ")] for name in questions] or [known]
    drawings = [
        bars(
            [result.names[j] for j in part],
            [float(estimate.value[j]) for j in part],
            result.plan.protocol.measure,
            limits=[Interval(float(low[j]), float(high[j])) for j in part],
        )
        for part in parts
    ]
    return "".join(drawings) + _table(result.plan.question, estimate, error, result.truth)


def _chosen(estimate: Estimate) -> list[int]:
    """All entries in their order, or the largest of many."""
    size = len(estimate.names)
    return list(range(size)) if size <= MOST else np.argsort(-estimate.value, kind="stable")[:MOST].tolist()


def _table(what: str, estimate: Estimate, error: str, truth: NDArray[np.float64] | None = None) -> str:
    """Entries with their errors and intervals, in as many decimals as the errors are worth."""
    chosen, size = _chosen(estimate), len(estimate.names)
    columns = [part[chosen].tolist() for part in (estimate.value, estimate.standard_error, *estimate.interval())]
    places = decimals(columns[1], [number for column in columns for number in column])
    rows = [
        [estimate.names[j], fixed(value, places), fixed(off, places), *interval(low, high, places)]
        for j, value, off, low, high in zip(chosen, *columns, strict=True)
    ]
    header = [what, "estimate", error, "95 % from", "to"]
    if truth is not None:
        header.append("truth (not private)")
        rows = [[*row, fixed(float(truth[j]), places)] for row, j in zip(rows, chosen, strict=True)]
    rest = [f"... and {size - MOST:,} smaller ones"] if size > MOST else []
    return table(header, rows) + paragraphs(*rest)


def _curve(curve: "Curve", shares: tuple[float, ...]) -> str:
    """The share of the users below each number with its band, and the quantiles."""
    edges, n = curve.protocol.grid.edges.tolist(), curve.counts.n

    def whole(inner: list[float]) -> list[float]:
        return [0.0, *(100 * min(max(value / n, 0.0), 1.0) for value in inner), 100.0]

    low, high = (whole(end.tolist()) for end in curve.counts.interval())
    found = {share: curve.quantile(share) for share in shares}
    drawing = band(
        edges, low, high,
        (Axis("value", edges[0], edges[-1]), Axis("users below (%)", 0.0, 100.0)),
        "the share of the users below each number, with 95 % intervals",
        line=whole(curve.counts.value.tolist()),
        marks=[(one.value, 100 * share, f"{one.value:,.4g}") for share, one in found.items()],
    )  # fmt: skip
    rows = [
        [f"{share:g}", *(f"{number:,.4g}" for number in (one.value, one.low, one.high))] for share, one in found.items()
    ]
    return drawing + table(["quantile", "estimate", "95 % from", "to"], rows)
