"""How a result shows itself in a notebook: bars with intervals, or a curve with its band, and the numbers.

It is made of the result's JSON data, so that one that was read from a file looks the same.
"""

import math
from collections.abc import Sequence

from shuffledp.core.digits import counted
from shuffledp.core.display import MOST, paragraphs, table
from shuffledp.core.document import Document
from shuffledp.core.guarantee import Guarantee
from shuffledp.core.sketch import Axis, Interval, band, bars
from shuffledp.results.entries import listed, parts, percent, quantiles, written


def shown(result: Document, unit: str | None, guarantee: Guarantee | None) -> str:
    """The answer with what it promises, as a part of a page."""
    estimate, wording = result["estimate"], result["wording"]
    above = [text for text in (wording["title"], wording["question"]) if text]
    what = [result["question"], counted(result["n"], "report"), *([] if unit is None else [unit])]
    also = [(name, one, _chosen(one, range(len(one["names"])))) for name, one in result["also"].items()]
    return (
        paragraphs(*above, ", ".join(what), "no guarantee" if guarantee is None else str(guarantee))
        + (_curve(result) if "curve" in result.get("derived", {}) else "".join(map(_answer, parts(result))))
        + "".join(
            _table(result, name, one, among, "standard error", left_out=len(one["names"]) - len(among))
            for name, one, among in also
        )
        + paragraphs(*(f"{name}: {why}" for name, why in estimate["refused"].items()), *result["notes"])
    )


def _answer(part: Document) -> str:
    """Bars of the entries that have a number, and a table of all; each question's on a scale of its own."""
    estimate = part["estimate"]
    names, values, limits = estimate["names"], estimate["value"], estimate["interval"]
    chosen = _chosen(estimate, range(len(names)))
    known = [j for j in chosen if values[j] is not None]
    drawing = bars(
        [names[j] for j in known],
        [values[j] for j in known],
        part["measure"],
        limits=[Interval(*limits[j]) for j in known],
    )
    error = f"standard error{', at most' if estimate['standard_error_is_a_bound'] else ''}"
    left_out = len(names) - len(chosen)
    return drawing + _table(part, part["question"], estimate, chosen, error, left_out=left_out, truth=part["truth"])


def _chosen(columns: Document, among: Sequence[int]) -> list[int]:
    """All of these entries in their order, or the largest of many."""
    if len(among) <= MOST:
        return list(among)
    values = columns["value"]
    return sorted(among, key=lambda j: math.inf if (value := values[j]) is None else -value)[:MOST]


def _table(
    result: Document, what: str, columns: Document, chosen: Sequence[int], error: str, *, left_out: int = 0,
    truth: Sequence[float | None] | None = None,
) -> str:  # fmt: skip
    """Entries with their errors and intervals, in as many decimals as the errors are worth."""
    header = [what, "estimate", error, f"{percent(result)} from", "to"]
    rows = [[cell for cell in row if cell is not None] for row in written(listed(columns, truth, chosen))]
    if truth is not None:
        header.append("truth (not private)")
    rest = [f"... and {left_out:,} smaller ones"] if left_out else []
    return table(header, rows) + paragraphs(*rest)


def _curve(result: Document) -> str:
    """The share of the users below each number with its band, and the quantiles."""
    estimate, derived, n = result["estimate"], result["derived"], result["n"]
    edges = derived["curve"]["edges"]

    def whole(inner: Sequence[float]) -> list[float]:
        return [0.0, *(100 * min(max(value / n, 0.0), 1.0) for value in inner), 100.0]

    low, high = (whole([limits[end] for limits in estimate["interval"]]) for end in (0, 1))
    rows = quantiles(derived["quantiles"])
    drawing = band(
        edges, low, high,
        (Axis("value", edges[0], edges[-1]), Axis("users below (%)", 0.0, 100.0)),
        f"the share of the users below each number, with {percent(result)} intervals",
        line=whole(estimate["value"]),
        marks=[(one["value"], 100 * one["share"], row[1]) for one, row in zip(derived["quantiles"], rows, strict=True)],
    )  # fmt: skip
    return drawing + table(["quantile", "estimate", f"{percent(result)} from", "to"], [list(row) for row in rows])
