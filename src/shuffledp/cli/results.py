"""A result in plain text: what `run` and `analyzer run` print alike."""

from shuffledp.cli.tables import aligned
from shuffledp.core.document import Document


def estimates(result: Document) -> str:
    """A line per entry: its estimate, its error and its interval, and the truth if it was asked for."""
    return "\n\n".join(
        [
            _table(result, result["question"], result["estimate"], result["truth"]),
            *(_table(result, name, one, None) for name, one in result["also"].items()),
        ]
    )


def _table(result: Document, what: str, estimate: Document, truth: list[float | None] | None) -> str:
    """Entries without a number say why instead."""
    shown = result["estimate"]
    together = " (all at once)" if shown["simultaneous"] else ""
    header = [
        what,
        "estimate",
        "standard error",
        f"{100 * shown['confidence']:g} % from",
        f"to{together}",
    ]
    columns = (estimate[key] for key in ("names", "value", "standard_error", "interval"))
    rows = [
        [name, *(_number(number) for number in (value, error, *(ends or [None, None])))]
        for name, value, error, ends in zip(*columns, strict=True)
    ]
    if truth is not None:
        header.append("truth (not private)")
        rows = [[*row, _number(exact)] for row, exact in zip(rows, truth, strict=True)]
    return "\n".join([aligned(header, rows), *(f"{name}: {why}" for name, why in estimate["refused"].items())])


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.2f}" if abs(value) >= 1000 else f"{value:.6g}"
