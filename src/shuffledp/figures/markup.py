"""Plain HTML for notebooks and pages: paragraphs and tables of texts that cannot break out of their place."""

from collections.abc import Sequence
from html import escape
from typing import Final

from shuffledp.core.visible import printable

MOST: Final = 30
"""Entries that a table shows; the others are in the object."""


def escaped(text: str) -> str:
    """A text as part of a page."""
    return escape(printable(text))


def paragraphs(*lines: str) -> str:
    """One for each line."""
    return "".join(f"<p style='margin:0.2em 0'>{escaped(line)}</p>" for line in lines)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose first column names its rows."""
    head = "".join(f"<th>{escaped(cell)}</th>" for cell in header)
    body = "".join(
        f"<tr><th>{escaped(row[0])}</th>{''.join(f'<td>{escaped(cell)}</td>' for cell in row[1:])}</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
