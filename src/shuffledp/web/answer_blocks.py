"""What an answer is made of: blocks of numbers, words, pictures, tables and files that the page draws."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from shuffledp.web.shown_numbers import Rounding, Text, document

Block = dict[str, Any]
"""One part of an answer, as JSON data. A later one with the same id takes its place."""
Colour = Literal["ink", "grey", "orange", "sky", "green", "blue", "vermilion", "purple"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """One number of an answer, as it is shown."""

    label: Text
    value: Text
    note: Text = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """From where to where is for the page to find.

    Attributes:
        label: beside it.
        logarithmic: with a tick for each power of ten.
        rounding: of its numbers in the table.
    """

    label: str
    logarithmic: bool = False
    rounding: Rounding = "nearest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Points of one curve: numbers, or None where there is nothing to say.

    Attributes:
        name: in legend and table.
        y: one for each x of the plot.
        colour: from the palette.
        dash: SVG's pattern of dashes; empty for none.
        kind: a curve, the area below it, or bars.
        strong: drawn thicker.
        rounding: of its numbers in the table.
    """

    name: str
    y: Sequence[float | None]
    colour: Colour
    dash: str = ""
    kind: Literal["curve", "area", "bars"] = "curve"
    strong: bool = False
    rounding: Rounding = "nearest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """What lies between two curves."""

    name: str
    low: Sequence[float | None]
    high: Sequence[float | None]
    colour: Colour


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A point with words."""

    x: float
    y: float
    words: Text


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """Curves over one x."""

    title: str
    x: Sequence[float]
    across: Axis
    up: Axis
    lines: Sequence[Line] = ()
    bands: Sequence[Band] = ()
    marks: Sequence[Mark] = ()
    note: str = ""


def numbers(identity: str, items: Sequence[Number], *, certain: bool = True) -> Block:
    """A few numbers, the first one large; `certain` unless better ones follow."""
    return {"id": identity, "kind": "numbers", "certain": certain, "items": [_plain(item) for item in items]}


def doing(what: str) -> Block:
    """What is computed next, in words; no part of the answer."""
    return {"kind": "doing", "words": what}


def waiting(identity: str, title: str, share: float) -> Block:
    """How much of a block is computed."""
    return {"id": identity, "kind": "waiting", "title": title, "share": share}


def words(identity: str, title: str, lines: Sequence[Text]) -> Block:
    """A heading and paragraphs."""
    return {"id": identity, "kind": "words", "title": title, "lines": [document(line) for line in lines]}


def warnings(identity: str, title: str, lines: Sequence[Text]) -> Block:
    """What a careful colleague would say first."""
    return words(identity, title, lines) | {"kind": "warnings"}


def guesses(identity: str, title: str, right: int, of: int, lines: Sequence[str]) -> Block:
    """How many of so many guesses are right, as dots and in words."""
    return {"id": identity, "kind": "guesses", "title": title, "right": right, "of": of, "lines": list(lines)}


def table(
    identity: str, title: str, header: Sequence[str], rows: Sequence[Sequence[Text]], notes: Sequence[str] = ()
) -> Block:
    """Cells, and notes below them."""
    cells = [[document(cell) for cell in row] for row in rows]
    return {"id": identity, "kind": "table", "title": title, "header": header, "rows": cells, "notes": list(notes)}


def plot(identity: str, drawn: Plot) -> Block:
    """A picture, which has a table of the same numbers."""
    return {
        "id": identity,
        "kind": "plot",
        "title": drawn.title,
        "x": list(drawn.x),
        "across": _plain(drawn.across),
        "up": _plain(drawn.up),
        "lines": [_plain(line) for line in drawn.lines],
        "bands": [_plain(band) for band in drawn.bands],
        "marks": [_plain(mark) for mark in drawn.marks],
        "note": drawn.note,
    }


def code(identity: str, title: str, listings: Sequence[tuple[str, str]]) -> Block:
    """Lines to type in, each under what they are for."""
    return {"id": identity, "kind": "code", "title": title, "listings": listings}


def files(identity: str, title: str, items: Sequence[tuple[str, str, str]]) -> Block:
    """Files to download: name, what it is, content."""
    return {"id": identity, "kind": "files", "title": title, "items": items}


_TEXTS = ("label", "value", "note", "words")


def _plain(item: Any) -> dict[str, Any]:
    values = {name: getattr(item, name) for name in item.__slots__}
    return values | {name: document(values[name]) for name in _TEXTS if name in values}
