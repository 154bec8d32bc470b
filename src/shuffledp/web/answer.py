"""What an answer is made of: blocks of numbers, words, pictures, tables and files that the page draws."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

Block = dict[str, Any]
"""One part of an answer, as JSON data. A later one with the same id takes its place."""
Colour = Literal["ink", "grey", "orange", "sky", "green", "blue", "vermilion", "purple"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """One number of an answer, as it is shown."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """From where to where is for the page to find."""

    label: str
    logarithmic: bool = False


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
    """

    name: str
    y: Sequence[float | None]
    colour: Colour
    dash: str = ""
    kind: Literal["curve", "area", "bars"] = "curve"
    strong: bool = False


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
    words: str


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


def words(identity: str, title: str, lines: Sequence[str]) -> Block:
    """A heading and paragraphs."""
    return {"id": identity, "kind": "words", "title": title, "lines": list(lines)}


def guesses(identity: str, title: str, right: int, of: int, lines: Sequence[str]) -> Block:
    """How many of so many guesses are right, as dots and in words."""
    return {"id": identity, "kind": "guesses", "title": title, "right": right, "of": of, "lines": list(lines)}


def table(
    identity: str, title: str, header: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str] = ()
) -> Block:
    """Cells as they are shown."""
    return {"id": identity, "kind": "table", "title": title, "header": header, "rows": rows, "notes": list(notes)}


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


def _plain(item: Any) -> dict[str, Any]:
    return {name: getattr(item, name) for name in item.__slots__}
