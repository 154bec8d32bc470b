"""A result in plain text: what `run` and `analyzer run` print alike."""

from typing import Final

from shuffledp.cli.tables import aligned
from shuffledp.core.document import Document
from shuffledp.figures.entries import largest
from shuffledp.protocols.counting import MANY
from shuffledp.results.promise import selection

_COLUMNS: Final = ("names", "value", "standard_error", "interval")
_LARGEST: Final = 50


def estimates(result: Document) -> str:
    """A line per entry: its estimate, its error and its interval, and the truth if it was asked for; of many the largest."""
    why = selection(result)
    main = _table(result, result["question"], result["estimate"], result["truth"])
    return "\n\n".join(
        [
            f"{main}\n{why}" if why else main,
            *(_table(result, name, one, None) for name, one in result["also"].items()),
        ]
    )


def _table(result: Document, what: str, estimate: Document, truth: list[float | None] | None) -> str:
    """Entries without a number say why instead."""
    how, size = result["estimate"], len(estimate["names"])
    if size > MANY:
        shown = largest(estimate["value"], _LARGEST)
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
        lines.append(f"... and {size - _LARGEST:,} smaller ones, which the JSON has")
    refused = [f"{_shown(name)}: {why}" for name, why in estimate["refused"].items()]
    return "\n".join([*lines, *refused])


def _shown(name: str) -> str:
    """A name may be a text that somebody sent: what would steer the terminal is written out."""
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in name)


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.2f}" if abs(value) >= 1000 else f"{value:.6g}"
