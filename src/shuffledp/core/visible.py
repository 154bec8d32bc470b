"""Texts of others, safe to print: what would steer a terminal, reorder a line or not be seen is written out."""

import re
from typing import Final

_NOT_IN_PAGES: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
"""What neither HTML nor SVG can hold, and what makes a browser show letters in another order than they are in."""


def visible(text: str) -> str:
    r"""One line that shows every character: those that are not printable as escapes.

    >>> visible("Beta\x1b[2K\repsilon = 0.01\u202e")
    'Beta\\x1b[2K\\repsilon = 0.01\\u202e'
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)


def visible_lines(text: str) -> str:
    r"""A text of several lines, each shown as `visible` shows it: its line ends are our own.

    >>> visible_lines("yes  12\nno\a  3")
    'yes  12\nno\\x07  3'
    """
    return "\n".join(map(visible, text.split("\n")))


def printable(text: str) -> str:
    """A text that a page or picture can hold, letters in their order."""
    return _NOT_IN_PAGES.sub("\ufffd", text)
