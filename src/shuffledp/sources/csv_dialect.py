"""How a CSV file is written: what is between its cells, and what marks the decimals of its numbers."""

import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from shuffledp.errors import InvalidInput

_SEPARATORS: Final = {";": '";"', "\t": "tab", "|": '"|"', ",": '","'}
"""The usual ones, and how to write them on a command line."""
_DECIMALS: Final = (".", ",")
_NUMBER: Final = r"^\s*[+-]?(\d+{mark}\d*|{mark}\d+)([eE][+-]?\d+)?\s*$"
_COMMA: Final = _NUMBER.replace("{mark}", ",")
_POINT: Final = _NUMBER.replace("{mark}", r"\.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How to read a CSV file.

    Attributes:
        separator: the character between cells.
        decimal: the mark before decimals, a point or a comma.
    """

    separator: str = ","
    decimal: str = "."

    def __post_init__(self) -> None:
        single = isinstance(self.separator, str) and len(self.separator) == 1 and self.separator.isascii()
        if not single or self.separator.isalnum() or not (self.separator.isprintable() or self.separator == "\t"):
            raise InvalidInput(
                "a separator is one character that is neither a letter, a digit nor a line break. Use e.g. ';' or a tab."
            )
        if self.separator in "\"'":
            raise InvalidInput("quotation marks are around cells, not between them. Use another separator, e.g. ';'.")
        if self.separator in "+-":
            raise InvalidInput("a sign is part of a number. Use another separator, e.g. ';'.")
        if not (isinstance(self.decimal, str) and self.decimal in _DECIMALS):
            raise InvalidInput("decimals come after a point or a comma. Use decimal '.' or ','.")
        if self.separator == self.decimal:
            raise InvalidInput(
                f"{self.separator!r} cannot be both between cells and before decimals. Use another separator, e.g. ';'."
            )

    def hint(self, line: str) -> str:
        """Which separator to try, if a line has only one cell by this one."""
        often = {mark: line.count(mark) for mark in _SEPARATORS}
        if self.separator in line or not any(often.values()):
            return ""
        likely = max(often, key=lambda mark: often[mark])
        return f"Try `separator={_SEPARATORS[likely]}`."

    def pointed(self, column: Any, first_row: int) -> Any:
        """An Arrow column of texts whose numbers have decimal points, whatever they have in the file.

        A number with a point is refused where a comma is expected: 1.500 may be meant as either of two numbers.
        """
        if self.decimal == ".":
            return column
        import pyarrow.compute as pc

        point = pc.match_substring_regex(column, _POINT).fill_null(False).to_numpy(zero_copy_only=False)
        if point.any():
            raise _has_point(f"in data row {first_row + int(np.argmax(point)) + 1:,} the value")
        comma = pc.match_substring_regex(column, _COMMA)
        return pc.if_else(comma, pc.replace_substring(column, ",", "."), column)

    def pointed_text(self, text: str) -> str:
        """A cell whose number has a decimal point, whatever it has in the file."""
        if self.decimal == ".":
            return text
        if re.match(_POINT, text):
            raise _has_point("the value")
        return text.replace(",", ".") if re.match(_COMMA, text) else text


DEFAULT: Final = Dialect()
"""As RFC 4180 has it."""


def _has_point(what: str) -> InvalidInput:
    return InvalidInput(
        f"{what} has a decimal point, and decimals of this file come after a comma. Write all numbers alike, without "
        "thousands separators."
    )
