"""Aligned text and CSV."""

import csv
import io
import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from shuffledp.core.digits import NOTHING
from shuffledp.core.visible import visible

_NUMBER: Final = re.compile(r"[-±]?[\d,]+(\.\d+)?(e[-+]?\d+)?( ?%)?|inf|infinite")


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns padded to their widest cell, two spaces apart; numbers, but for the names of rows, have their points in a line.

    A cell may be a text of others: each is one line, which steers no terminal.
    """
    header, rows = [visible(name) for name in header], [[visible(cell) for cell in row] for row in rows]
    columns = [_column(j, cells) for j, cells in enumerate(zip(*rows, strict=True))] or [[] for _ in header]
    widths = [max(map(_width, (name, *cells))) for name, cells in zip(header, columns, strict=True)]
    right = [j > 0 and _are_numbers(cells) for j, cells in enumerate(columns)]
    lines = ["  ".join(map(_padded, row, widths, right)) for row in (header, *zip(*columns, strict=True))]
    return "\n".join(line.rstrip() for line in lines)


def _column(place: int, cells: Sequence[str]) -> Sequence[str]:
    """Numbers with as much behind their points."""
    if place == 0 or not _are_numbers(cells):
        return cells
    behind = [len(cell) - len(cell.partition(".")[0].rstrip(" %")) for cell in cells]
    return [cell + " " * (max(behind) - length) for cell, length in zip(cells, behind, strict=True)]


def _are_numbers(cells: Sequence[str]) -> bool:
    return bool(cells) and all(cell.rstrip() == NOTHING or _NUMBER.fullmatch(cell.rstrip()) for cell in cells)


def _padded(cell: str, width: int, right: bool) -> str:
    space = " " * (width - _width(cell))
    return space + cell if right else cell + space


def _width(cell: str) -> int:
    """Columns of a terminal: letters of East Asia take two, accents that combine none."""
    if cell.isascii():
        return len(cell)
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in cell
    )


def comma_separated(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """RFC 4180 text with full precision."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(["" if cell is None else cell for cell in row] for row in rows)
    return text.getvalue().rstrip("\n")
