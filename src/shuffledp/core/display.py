"""How things show themselves in a notebook: plain HTML that takes the page's own colours, light or dark."""

import re
from collections.abc import Sequence
from html import escape
from importlib import import_module
from typing import Any, Final

MOST: Final = 30
"""Entries that are shown; the others are in the object."""
_NOT_IN_PAGES: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
"""What neither HTML nor SVG can hold, and what makes a browser show letters in another order than they are in."""


def printable(text: str) -> str:
    """A text that a page or picture can hold, letters in their order."""
    return _NOT_IN_PAGES.sub("\ufffd", text)


def escaped(text: str) -> str:
    """A text as part of a page."""
    return escape(printable(text))


def paragraphs(*lines: str) -> str:
    """A line each."""
    return "".join(f"<p style='margin:0.2em 0'>{escaped(line)}</p>" for line in lines)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose first column names things."""
    head = "".join(f"<th>{escaped(cell)}</th>" for cell in header)
    body = "".join(
        f"<tr><th>{escaped(row[0])}</th>{''.join(f'<td>{escaped(cell)}</td>' for cell in row[1:])}</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def drawn(thing: Any) -> Any:
    """A matplotlib figure. Pictures are a layer above what they show, so the one who draws is found by name."""
    return import_module("shuffledp.figures.plot").plot(thing)
