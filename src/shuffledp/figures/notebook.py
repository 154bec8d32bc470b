"""What is at hand in Python as part of a notebook's page: words, tables and small drawings, by type.

It needs neither matplotlib nor jinja2, so that notebooks show something without them.
"""

import math
from collections.abc import Sequence
from functools import singledispatch
from typing import Any, Final

from shuffledp.accounting.solve import Solution
from shuffledp.baselines.compare import Comparison
from shuffledp.core.digits import counted
from shuffledp.core.document import Document
from shuffledp.core.estimate import COLUMNS, Estimate
from shuffledp.core.guarantee import Guarantee
from shuffledp.figures.markup import MOST, paragraphs, table
from shuffledp.figures.svg import Axis, Interval, band, bars, span
from shuffledp.planning.plan import Plan
from shuffledp.results.answer import Answer
from shuffledp.results.estimate_entries import is_curve, listed, parts, percent, quantiles, written

FALSE_ALARMS: Final = "false alarms (%)"
HITS: Final = "hits, at most (%)"
"""The axes of what an attacker can learn."""


@singledispatch
def page(thing: Any) -> str:
    """Its plain text, line by line; types that have more to show are registered below."""
    return paragraphs(*str(thing).splitlines())


@page.register(Guarantee)
def _guarantee(guarantee: Guarantee) -> str:
    return paragraphs(str(guarantee), guarantee.meaning()) + _attacker(guarantee)


@page.register(Plan)
def _plan(plan: Plan) -> str:
    return paragraphs(*str(plan).splitlines(), plan.guarantee.meaning()) + _attacker(plan.guarantee)


@page.register(Estimate)
def _estimate(estimate: Estimate) -> str:
    if len(estimate.names) != estimate.value.size:
        return paragraphs(repr(estimate))
    rows = [list(row) for row in estimate.rows()]
    rest = estimate.value.size - len(rows)
    return table(COLUMNS, rows) + paragraphs(*([f"... and {rest:,} more"] if rest > 0 else []))


def _attacker(guarantee: Guarantee) -> str:
    """What an attacker can learn: how often a value is noticed at most, against how often it is a false alarm."""
    corner = 1 - guarantee.success
    at = sorted({j / 50 for j in range(51)} | {corner, 1 - corner})
    axes = (Axis(FALSE_ALARMS, 0.0, 100.0), Axis(HITS, 0.0, 100.0))
    diagonal = [100 * a for a in at]
    return band(
        diagonal, diagonal, [100 * guarantee.hits(a) for a in at], axes,
        "what an attacker can learn about a person: the line is a coin, the band is what is possible",
        line=diagonal, marks=[(100 * corner, 100 * guarantee.success, f"at most {guarantee.percent_right()} right")],
    )  # fmt: skip


@page.register(Solution)
def _solution(solution: Solution) -> str:
    ends = (solution.value, solution.lower, solution.upper)
    cells = [solution.bound, *("-" if end is None else f"{end:,.7g}" for end in ends)]
    remarks = [text for text in (solution.regime, solution.note, solution.caveat) if text]
    return (
        table(["bound", f"{solution.unknown}, safe to claim", "lower end", "upper end"], [cells])
        + span(solution.lower, solution.upper, f"between which numbers {solution.unknown} is")
        + paragraphs(*remarks)
    )


@page.register(Comparison)
def _comparison(comparison: Comparison) -> str:
    known = {row.name: row.rmse for row in comparison if row.rmse}
    what = f"root mean squared error of the {comparison.question}"
    numbers = [["-" if x is None else f"{x:,.4g}" for x in (row.messages, row.bits)] for row in comparison]
    rows = [[row.name, row.trust, *two, row.note] for row, two in zip(comparison, numbers, strict=True)]
    return (
        paragraphs(f"{what[:1].upper()}{what[1:]}, on a logarithmic scale:")
        + bars(list(known), list(known.values()), what, logarithmic=True)
        + table([comparison.question, "users trust", "messages", "bits", "note"], rows)
    )


@page.register(Answer)
def _answer(reading: Answer) -> str:
    """The answer with what it promises, made of its JSON data, so that one that was read from a file looks the same."""
    result, unit, guarantee = reading.whole(), reading.unit, reading.guarantee
    estimate, wording = result["estimate"], result["wording"]
    above = [text for text in (wording["title"], wording["question"]) if text]
    what = [result["question"], counted(result["n"], "report"), *([] if unit is None else [unit])]
    also = [(name, more, _chosen(more, range(len(more["names"])))) for name, more in result["also"].items()]
    return (
        paragraphs(*above, ", ".join(what), "no guarantee" if guarantee is None else str(guarantee))
        + "".join(
            _curve(part, "quantile" if part is result else f"quantile of {part['question']}")
            if is_curve(part)
            else _entries(part)
            for part in parts(result)
        )
        + "".join(
            _table(result, name, more, among, "standard error", left_out=len(more["names"]) - len(among))
            for name, more, among in also
        )
        + paragraphs(*(f"{name}: {why}" for name, why in estimate["refused"].items()), *result["notes"])
    )


def _entries(part: Document) -> str:
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


def _curve(result: Document, what: str) -> str:
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
        marks=[
            (quantile["value"], 100 * quantile["share"], row[1])
            for quantile, row in zip(derived["quantiles"], rows, strict=True)
        ],
    )  # fmt: skip
    return drawing + table([what, "estimate", f"{percent(result)} from", "to"], [list(row) for row in rows])
