"""How things show themselves in a notebook: plain HTML and SVG that take the page's own colours, light or dark."""

from collections.abc import Sequence
from html import escape
from importlib import import_module
from typing import Any, Final

MOST: Final = 30
"""Entries that are shown; the others are in the object."""
_ROW: Final = 22
_LABEL, _WIDTH = 180, 640
_BLUE: Final = "#56B4E9"


def paragraphs(*lines: str) -> str:
    """A line each."""
    return "".join(f"<p style='margin:0.2em 0'>{escape(line)}</p>" for line in lines)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose first column names things."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join(
        f"<tr><th>{escape(row[0])}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in row[1:])}</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def bars(
    names: Sequence[str], values: Sequence[float], lows: Sequence[float], highs: Sequence[float], measure: str
) -> str:
    """A bar with its interval for each entry."""
    ends = [0.0, *lows, *highs, *values]
    least, span = min(ends), (max(ends) - min(ends)) or 1.0

    def at(value: float) -> float:
        return round(_LABEL + (_WIDTH - _LABEL - 10) * (value - least) / span, 1)

    zero = at(0.0)
    parts = []
    for j, (name, value, low, high) in enumerate(zip(names, values, lows, highs, strict=True)):
        y = j * _ROW
        left, right = sorted((zero, at(value)))
        text = name if len(name) <= 24 else name[:23] + "…"
        parts.append(
            f"<text x='{_LABEL - 8}' y='{y + 15}' text-anchor='end'>{escape(text)}</text>"
            f"<rect x='{left}' y='{y + 4}' width='{max(0.5, right - left):.1f}' height='14' fill='{_BLUE}'/>"
            f"<line x1='{at(low)}' x2='{at(high)}' y1='{y + 11}' y2='{y + 11}' stroke='currentColor'/>"
            + "".join(
                f"<line x1='{at(end)}' x2='{at(end)}' y1='{y + 7}' y2='{y + 15}' stroke='currentColor'/>"
                for end in (low, high)
            )
        )
    height = len(parts) * _ROW
    axis = f"<line x1='{zero}' x2='{zero}' y1='0' y2='{height}' stroke='currentColor' stroke-width='0.8'/>"
    return (
        f"<svg role='img' aria-label='{escape(measure)}' viewBox='0 0 {_WIDTH} {height}' "
        f"style='width:100%;max-width:{_WIDTH}px;font:12px sans-serif;fill:currentColor'>{''.join(parts)}{axis}</svg>"
    )


def drawn(thing: Any) -> Any:
    """A matplotlib figure. Pictures are a layer above what they show, so the one who draws is found by name."""
    return import_module("shuffledp.figures.plot").plot(thing)
