"""Small drawings for notebooks: SVG that takes the page's own colours, light or dark, and needs nothing else."""

import math
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from shuffledp.figures.markup import escaped

_WIDTH: Final = 640
_ROW: Final = 22
_LABEL: Final = 200
_END: Final = 90
"""Room for the number after a bar."""
_LEFT, _RIGHT, _TOP, _BOTTOM, _HEIGHT = 64, 24, 12, 42, 240
"""Margins and height of a drawing with two axes."""
_BLUE: Final = "#56B4E9"
_FILL: Final = f"fill='{_BLUE}' fill-opacity='0.65'"
"""The page's ground shows through, so that what is drawn over it stands out on light and on dark."""
_FAINT: Final = "stroke='currentColor' stroke-opacity='0.25'"
_LETTER: Final = 6.9
"""About how wide one is."""


class Axis(NamedTuple):
    """From where to where, what it says, and how its ticks are written."""

    label: str
    low: float
    high: float
    written: Callable[[float], str] = "{:,.10g}".format


class Interval(NamedTuple):
    """Where a number may be."""

    low: float
    high: float


def bars(
    names: Sequence[str],
    values: Sequence[float],
    measure: str,
    *,
    limits: Sequence[Interval] | None = None,
    logarithmic: bool = False,
) -> str:
    """A bar for each entry, with its interval if there are some; on a logarithmic axis with its number."""
    if not values:
        return ""
    ends = [*values, *(end for ends in limits or () for end in ends)]
    least = min(ends) / 2 if logarithmic else min(0.0, *ends)
    place = _scale(least, max(ends), _LABEL, _WIDTH - (_END if logarithmic else 10), logarithmic=logarithmic)
    zero = place(least if logarithmic else 0.0)
    parts = []
    for j, (name, value) in enumerate(zip(names, values, strict=True)):
        y = j * _ROW
        left, right = sorted((zero, place(value)))
        parts += [
            _text(_LABEL - 8, y + 15, _short(name, _LABEL - 8), "end"),
            f"<rect x='{left}' y='{y + 4}' width='{max(0.5, right - left):.1f}' height='14' {_FILL}/>",
        ]
        if limits is not None:
            low, high = (place(end) for end in limits[j])
            parts += [_line(low, y + 11, high, y + 11), *(_line(end, y + 7, end, y + 15) for end in (low, high))]
        if logarithmic:
            parts.append(_text(right + 6, y + 15, f"{value:,.3g}" if value < 1000 else f"{value:,.0f}", "start"))
    height = len(names) * _ROW
    return _svg([*parts, _line(zero, 0, zero, height)], height, measure)


def band(
    x: Sequence[float],
    low: Sequence[float],
    high: Sequence[float],
    axes: tuple[Axis, Axis],
    measure: str,
    *,
    line: Sequence[float] | None = None,
    marks: Sequence[tuple[float, float, str]] = (),
) -> str:
    """What lies between two curves, a line in it, and points with a word each."""
    across, up = axes
    place_x = _scale(across.low, across.high, _LEFT, _WIDTH - _RIGHT)
    place_y = _scale(up.low, up.high, _HEIGHT - _BOTTOM, _TOP)
    parts = []
    for at in ticks(up.low, up.high):
        y = place_y(at)
        parts += [
            f"<line x1='{_LEFT}' x2='{_WIDTH - _RIGHT}' y1='{y}' y2='{y}' {_FAINT}/>",
            _text(_LEFT - 6, y + 4, up.written(at), "end"),
        ]
    parts += [
        _text(place_x(at), _HEIGHT - _BOTTOM + 16, across.written(at), "middle")
        for at in ticks(across.low, across.high)
    ]

    def points(curve: Sequence[float]) -> list[str]:
        return [f"{place_x(a)},{place_y(b)}" for a, b in zip(x, curve, strict=True)]

    parts.append(f"<polygon points='{' '.join([*points(low), *reversed(points(high))])}' {_FILL}/>")
    if line is not None:
        parts.append(f"<polyline points='{' '.join(points(line))}' fill='none' stroke='currentColor'/>")
    for at, height, word in marks:
        a, b = place_x(at), place_y(height)
        room = _WIDTH - a > _LETTER * len(word) + 14
        parts += [
            f"<circle cx='{a}' cy='{b}' r='3.5' fill='currentColor'/>",
            _text(a + 8 if room else a - 8, b + 14, word, "start" if room else "end"),
        ]
    ground = _HEIGHT - _BOTTOM
    parts += [
        _line(_LEFT, ground, _WIDTH - _RIGHT, ground),
        _text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 6, across.label, "middle"),
        f"<text transform='translate(14 {(_TOP + ground) / 2}) rotate(-90)' text-anchor='middle'>{escaped(up.label)}</text>",
    ]
    return _svg(parts, _HEIGHT, measure)


def span(lower: float | None, upper: float | None, measure: str) -> str:
    """Between which two numbers something is; an end that is not known is left open."""
    known = [end for end in (lower, upper) if end is not None]
    if not known:
        return ""
    left, right, y = 150.0, _WIDTH - 150.0, 30
    parts = [
        f"<rect x='{left}' y='{y - 7}' width='{right - left}' height='14' fill='{_BLUE}' "
        f"fill-opacity='{0.65 if len(known) == 2 else 0.25}'/>"
    ]
    for at, end, anchor in ((left, lower, "start"), (right, upper, "end")):
        word = "not known" if end is None else f"{end:,.10g}"
        side = -8 if anchor == "start" else 8
        parts.append(_text(at + side, y + 4, word, "end" if anchor == "start" else "start"))
        if end is not None:
            parts.append(_line(at, y - 12, at, y + 12))
    if lower is not None and upper is not None and lower > 0:
        apart = upper / lower - 1
        words = "both ends are the same" if apart == 0 else f"{100 * apart:.2g} % apart"
        parts.append(_text(_WIDTH / 2, y - 14, words, "middle"))
    return _svg(parts, 50, measure)


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers from one to another, a few of them.

    >>> ticks(0.0, 97.0)
    [0.0, 20.0, 40.0, 60.0, 80.0]
    """
    if not high > low:
        return [low]
    power = math.floor(math.log10((high - low) / most))
    step = next(s * 10.0**power for s in (1, 2, 5, 10, 20) if s * 10.0**power * most >= high - low)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [float(f"{j * step:.12g}") for j in range(first, last + 1)]


def _scale(low: float, high: float, start: float, end: float, *, logarithmic: bool = False) -> Callable[[float], float]:
    """From numbers to places."""
    if logarithmic:
        low, high = math.log(low), math.log(high)
    width = (high - low) or 1.0

    def place(value: float) -> float:
        return round(start + (end - start) * ((math.log(value) if logarithmic else value) - low) / width, 1)

    return place


def _short(name: str, room: float) -> str:
    most = int(room / _LETTER)
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f"<text x='{x}' y='{y}' text-anchor='{anchor}'>{escaped(words)}</text>"


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f"<line x1='{x1}' x2='{x2}' y1='{y1}' y2='{y2}' stroke='currentColor'/>"


def _svg(parts: Sequence[str], height: float, measure: str) -> str:
    return (
        f"<svg role='img' aria-label='{escaped(measure)}' viewBox='0 0 {_WIDTH} {height}' "
        f"style='width:100%;max-width:{_WIDTH}px;font:12px sans-serif;fill:currentColor'>{''.join(parts)}</svg>"
    )
