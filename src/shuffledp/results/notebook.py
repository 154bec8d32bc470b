"""How a result shows itself in a notebook: bars with intervals, or a curve with its band, and the numbers."""

import math
from collections.abc import Sequence
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
    wording = result.plan.wording
    above = [text for text in (wording.title, wording.question) if text]
    promise = "no guarantee" if result.guarantee is None else str(result.guarantee)
    return (
        paragraphs(*above, f"{result.plan.question}, {counted(result.n, 'report')}, {result.unit}", promise)
        + (_entries(result, error) if curve is None else _curve(curve, protocol.quantiles))
        + "".join(
            _table(
                name,
                one,
                among := _chosen(one, range(len(one.names))),
                "standard error",
                left_out=len(one.names) - len(among),
            )
            for name, one in result.also.items()
        )
        + paragraphs(*(f"{name}: {why}" for name, why in result.estimate.refused.items()), *result.notes)
    )


def _entries(result: "Result", error: str) -> str:
    """Bars of the entries that have a number, and a table of all; each question's on a scale of its own."""
    measures = result.plan.protocol.measures or {"": result.plan.protocol.measure}
    return "".join(_answer(result, name, measure, error) for name, measure in measures.items())


def _answer(result: "Result", question: str, measure: str, error: str) -> str:
    """That of one question; without a name, of all entries."""
    estimate, start = result.estimate, f"{question}: " if question else ""
    mine = [j for j, name in enumerate(result.names) if name.startswith(start)]
    chosen = _chosen(estimate, mine)
    known, (low, high) = [j for j in chosen if not math.isnan(estimate.value[j])], estimate.interval()
    drawing = bars(
        [result.names[j].removeprefix(start) for j in known],
        [float(estimate.value[j]) for j in known],
        measure,
        limits=[Interval(float(low[j]), float(high[j])) for j in known],
    )
    what = question or result.plan.question
    return drawing + _table(
        what, estimate, chosen, error, start=start, left_out=len(mine) - len(chosen), truth=result.truth
    )


def _chosen(estimate: Estimate, among: Sequence[int]) -> list[int]:
    """All of these entries in their order, or the largest of many."""
    if len(among) <= MOST:
        return list(among)
    return sorted(among, key=lambda j: math.inf if math.isnan(estimate.value[j]) else -float(estimate.value[j]))[:MOST]


def _table(
    what: str, estimate: Estimate, chosen: Sequence[int], error: str, *, start: str = "", left_out: int = 0,
    truth: NDArray[np.float64] | None = None,
) -> str:  # fmt: skip
    """Entries with their errors and intervals, in as many decimals as the errors are worth."""
    at = np.asarray(chosen, dtype=np.intp)
    columns = [part[at].tolist() for part in (estimate.value, estimate.standard_error, *estimate.interval())]
    places = decimals(columns[1], [number for column in columns for number in column])
    rows = [
        [estimate.names[j].removeprefix(start), fixed(value, places), fixed(off, places), *interval(low, high, places)]
        for j, value, off, low, high in zip(chosen, *columns, strict=True)
    ]
    header = [what, "estimate", error, "95 % from", "to"]
    if truth is not None:
        header.append("truth (not private)")
        rows = [[*row, fixed(float(truth[j]), places)] for row, j in zip(rows, chosen, strict=True)]
    rest = [f"... and {left_out:,} smaller ones"] if left_out else []
    return table(header, rows) + paragraphs(*rest)


def _curve(curve: "Curve", shares: tuple[float, ...]) -> str:
    """The share of the users below each number with its band, and the quantiles."""
    edges, n = curve.protocol.grid.edges.tolist(), curve.counts.n

    def whole(inner: list[float]) -> list[float]:
        return [0.0, *(100 * min(max(value / n, 0.0), 1.0) for value in inner), 100.0]

    low, high = (whole(end.tolist()) for end in curve.counts.interval())
    found = {share: curve.quantile(share) for share in shares}
    places = decimals([(one.high - one.low) / 2 for one in found.values()], [edges[0], edges[-1]])
    drawing = band(
        edges, low, high,
        (Axis("value", edges[0], edges[-1]), Axis("users below (%)", 0.0, 100.0)),
        "the share of the users below each number, with 95 % intervals",
        line=whole(curve.counts.value.tolist()),
        marks=[(one.value, 100 * share, fixed(one.value, places)) for share, one in found.items()],
    )  # fmt: skip
    rows = [
        [f"{share:g}", fixed(one.value, places), *interval(one.low, one.high, places)] for share, one in found.items()
    ]
    return drawing + table(["quantile", "estimate", "95 % from", "to"], rows)
