"""A result in plain text: what `run` and `analyzer run` print alike."""

from shuffledp.cli.tables import aligned
from shuffledp.core.document import Document


def estimates(result: Document) -> str:
    """A line per entry: its estimate, its error and its interval, and the truth if it was asked for."""
    estimate, truth = result["estimate"], result["truth"]
    together = " (all at once)" if estimate["simultaneous"] else ""
    header = [
        result["question"],
        "estimate",
        f"standard error{', at most' if estimate['standard_error_is_a_bound'] else ''}",
        f"{100 * estimate['confidence']:g} % from",
        f"to{together}",
    ]
    columns = (estimate[key] for key in ("names", "value", "standard_error", "interval"))
    rows = [
        [name, *(_number(number) for number in (value, error, *ends))]
        for name, value, error, ends in zip(*columns, strict=True)
    ]
    if truth is not None:
        header.append("truth (not private)")
        rows = [[*row, _number(exact)] for row, exact in zip(rows, truth, strict=True)]
    return aligned(header, rows)


def _number(value: float) -> str:
    return f"{value:,.2f}" if abs(value) >= 1000 else f"{value:.6g}"
