"""A result in plain text: what `run` and `analyzer run` print alike."""

from shuffledp.cli.tables import aligned
from shuffledp.core.document import Document
from shuffledp.results.promise import selection


def estimates(result: Document) -> str:
    """A line per entry: its estimate, its error and its interval, and the truth if it was asked for."""
    estimate, truth = result["estimate"], result["truth"]
    together = " (all at once)" if estimate["simultaneous"] else ""
    header = [
        result["question"],
        "estimate",
        "standard error",
        f"{100 * estimate['confidence']:g} % from",
        f"to{together}",
    ]
    columns = (estimate[key] for key in ("names", "value", "standard_error", "interval"))
    rows = [
        [_shown(name), *(_number(number) for number in (value, error, *ends))]
        for name, value, error, ends in zip(*columns, strict=True)
    ]
    if truth is not None:
        header.append("truth (not private)")
        rows = [[*row, _number(exact)] for row, exact in zip(rows, truth, strict=True)]
    why = selection(result)
    return aligned(header, rows) + (f"\n{why}" if why else "")


def _shown(name: str) -> str:
    """A name may be a text that somebody sent: what would steer the terminal is written out."""
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in name)


def _number(value: float) -> str:
    return f"{value:,.2f}" if abs(value) >= 1000 else f"{value:.6g}"
