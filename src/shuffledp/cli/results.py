"""A result in plain text: what `run` and `analyzer run` print alike."""

from typing import Final

import numpy as np

from shuffledp.cli.tables import aligned
from shuffledp.core.document import Document
from shuffledp.protocols.counting import MANY

_COLUMNS: Final = ("names", "value", "standard_error", "interval")
_LARGEST: Final = 50


def estimates(result: Document) -> str:
    """A line per entry: its estimate, its error and its interval, and the truth if it was asked for; of many the largest."""
    estimate, truth = result["estimate"], result["truth"]
    size = len(estimate["names"])
    if size > MANY:
        shown = np.argsort(-np.array(estimate["value"]), kind="stable")[:_LARGEST]
        estimate = estimate | {key: [estimate[key][j] for j in shown] for key in _COLUMNS}
        truth = None if truth is None else [truth[j] for j in shown]
    together = " (all at once)" if estimate["simultaneous"] else ""
    header = [
        result["question"],
        "estimate",
        "standard error",
        f"{100 * estimate['confidence']:g} % from",
        f"to{together}",
    ]
    columns = (estimate[key] for key in _COLUMNS)
    rows = [
        [name, *(_number(number) for number in (value, error, *ends))]
        for name, value, error, ends in zip(*columns, strict=True)
    ]
    if truth is not None:
        header.append("truth (not private)")
        rows = [[*row, _number(exact)] for row, exact in zip(rows, truth, strict=True)]
    table = aligned(header, rows)
    return f"{table}\n... and {size - _LARGEST:,} smaller ones, which the JSON has" if size > MANY else table


def _number(value: float) -> str:
    return f"{value:,.2f}" if abs(value) >= 1000 else f"{value:.6g}"
