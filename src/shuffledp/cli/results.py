"""A result in plain text: what `run` and `analyzer run` print alike."""

from typing import Final

from shuffledp.cli.tables import aligned
from shuffledp.core.document import Document
from shuffledp.figures.entries import largest
from shuffledp.protocols.counting import MANY
from shuffledp.results.promise import selection

_COLUMNS: Final = ("names", "value", "standard_error", "interval")
_LARGEST: Final = 50
_OF_A_CURVE: Final = ("curve", "quantiles", "cumulative")
"""What is read off a distribution and shown as tables."""


def estimates(result: Document) -> str:
    """The answer as a table: the quantiles of a distribution and what is below its edges, if wanted; or else all entries."""
    found = result.get("derived", {})
    if "curve" not in found:
        return _entries(result)
    return "\n\n".join([_quantiles(result), *([_entries(result, in_order=True)] if "cumulative" in found else [])])


def others(result: Document) -> Document:
    """What else is read off the estimates."""
    found = result.get("derived", {})
    return {name: value for name, value in found.items() if "curve" not in found or name not in _OF_A_CURVE}


def _quantiles(result: Document) -> str:
    """A line per quantile: where it is, and its limits."""
    estimate, rows = result["estimate"], result["derived"]["quantiles"]
    together = " (all at once)" if estimate["simultaneous"] else ""
    header = ["quantile", "estimate", f"{100 * estimate['confidence']:g} % from", f"to{together}"]
    lines = [[f"{one['share']:g}", *(_number(x) for x in (one["value"], *one["interval"]))] for one in rows]
    if result["truth"] is not None:
        header.append("truth (not private)")
        lines = [[*line, one["truth"]] for line, one in zip(lines, rows, strict=True)]
    return aligned(header, lines)


def _entries(result: Document, *, in_order: bool = False) -> str:
    """A line per entry: its estimate, its error and its interval, and the truth if it was asked for; of many the largest."""
    why = selection(result)
    main = _table(result, result["question"], result["estimate"], result["truth"], in_order=in_order)
    return "\n\n".join(
        [
            f"{main}\n{why}" if why else main,
            *(_table(result, name, one, None) for name, one in result["also"].items()),
        ]
    )


def _table(
    result: Document, what: str, estimate: Document, truth: list[float | None] | None, *, in_order: bool = False
) -> str:
    """Entries without a number say why instead."""
    how, size = result["estimate"], len(estimate["names"])
    if size > MANY:
        spread = [j * (size - 1) // (_LARGEST - 1) for j in range(_LARGEST)]
        shown = spread if in_order else largest(estimate["value"], _LARGEST)
        estimate = estimate | {key: [estimate[key][j] for j in shown] for key in _COLUMNS}
        truth = None if truth is None else [truth[j] for j in shown]
    together = " (all at once)" if how["simultaneous"] else ""
    header = [
        what,
        "estimate",
        f"standard error{', at most' if estimate.get('standard_error_is_a_bound') else ''}",
        f"{100 * how['confidence']:g} % from",
        f"to{together}",
    ]
    columns = (estimate[key] for key in _COLUMNS)
    rows = [
        [_shown(name), *(_number(number) for number in (value, error, *(ends or [None, None])))]
        for name, value, error, ends in zip(*columns, strict=True)
    ]
    if truth is not None:
        header.append("truth (not private)")
        rows = [[*row, _number(exact)] for row, exact in zip(rows, truth, strict=True)]
    lines = [aligned(header, rows)]
    if size > MANY:
        lines.append(f"... and {size - _LARGEST:,} {'others' if in_order else 'smaller ones'}, which the JSON has")
    refused = [f"{_shown(name)}: {why}" for name, why in estimate["refused"].items()]
    return "\n".join([*lines, *refused])


def _shown(name: str) -> str:
    """A name may be a text that somebody sent: what would steer the terminal is written out."""
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in name)


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.2f}" if abs(value) >= 1000 else f"{value:.6g}"
