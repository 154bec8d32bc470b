"""The picture of a result: estimates with their intervals, beside the truth if it was asked for."""

import io
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final

from shuffledp.core.digits import counted
from shuffledp.core.display import printable
from shuffledp.core.document import Document
from shuffledp.figures.distribution import TRUTH, draw_distribution
from shuffledp.figures.entries import (
    FEW,
    USERS,
    Entry,
    are_ranked,
    entries,
    is_curve,
    largest,
    measured,
    percent,
    written,
)
from shuffledp.figures.style import BLACK, BLUE, ORANGE, SKY, canvas
from shuffledp.results.promise import promise

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH: Final = 4.8
"""Inches: narrow, so that the letters can still be read when a phone shrinks the picture."""
_BARS: Final = 30
"""Of very many entries so many are drawn."""
_METADATA: Final[dict[str, dict[str, Any]]] = {  # nothing that differs between two runs, or names a place elsewhere
    "png": {"Software": "shuffledp"},
    "svg": dict.fromkeys(("Creator", "Date", "Format", "Type")),
    "pdf": {"CreationDate": None},
}


def picture(result: Document, kind: str = "png", *, transparent: bool = False) -> bytes:
    """The bytes of the picture; made of the result's JSON data alone."""
    with drawn(result) as figure:
        file = io.BytesIO()
        figure.savefig(file, format=kind, transparent=transparent, metadata=_METADATA[kind])
    return file.getvalue()


@contextmanager
def drawn(result: Document) -> "Iterator[Figure]":
    """The figure itself, while our look applies."""
    values = result["estimate"]["value"]
    ranked = are_ranked(result)
    rows = entries(result, largest(values, _BARS + 1) if ranked else None)
    others = len(values) - _BARS if ranked and len(values) > _BARS + 1 else 0
    with_truth = result["truth"] is not None
    curve = is_curve(result)
    lines = len(rows) if len(rows) <= FEW and not curve else 11
    title, below = _wrapped(result["wording"]["title"], 45), _promised(result, several=len(rows) != 1)
    above = 0.2 * len(title) + 0.16 * len(below)
    height = 0.9 + (0.26 if with_truth else 0.2) * lines + (0.4 if with_truth or curve else 0) + above
    with canvas(_WIDTH, height, 1, 1) as (figure, axes), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # a box is drawn for a letter the font lacks
        if curve:
            draw_distribution(axes[0], result)
        elif ranked:
            _draw_ranked(axes[0], rows, measured(result), others)
        else:
            draw = _draw_one if len(rows) == 1 else _draw_few if len(rows) <= FEW else _draw_many
            draw(axes[0], rows, measured(result))
        unit = result["wording"]["unit"]
        if unit and not curve and result["measure"] == USERS:  # then the bins are made of values
            (axes[0].set_xlabel if len(rows) > FEW and not ranked else axes[0].set_ylabel)(
                _short(unit), parse_math=False
            )
        if with_truth or curve:
            figure.legend(loc="outside lower center", ncols=2)
        if title:
            figure.suptitle("\n".join(title), fontsize=11.0, fontweight="bold", parse_math=False)
            axes[0].set_title("\n".join(below), fontsize=9.0, parse_math=False)
        else:
            figure.suptitle("\n".join(below), fontsize=9.0, parse_math=False)
        yield figure


def _wrapped(text: str | None, width: int) -> list[str]:
    return wrap(printable(text or ""), width)


def _promised(result: Document, *, several: bool) -> list[str]:
    """Lines: what was asked, if the plan says it, and what is promised."""
    together = "simultaneous " if result["estimate"]["simultaneous"] else ""
    interval = f"{together}{percent(result)} {'intervals' if several else 'interval'}"
    asked = _wrapped(result["wording"]["question"], 60)
    return [*asked, promise(result), f"{counted(result['n'], 'report')}, {interval}"]


def _draw_few(axis: "Axes", rows: list[Entry], measure: str) -> None:
    """One line per bin, the first on top; one without a number says so."""
    truth = [row.truth for row in rows if row.truth is not None]
    for j, row in enumerate(rows):
        if math.isnan(row.value):
            axis.annotate("too few users to say", (0, j), (4, 0), textcoords="offset points", va="center", fontsize=8.0)
    apart, thick = (0.2, 0.36) if truth else (0.0, 0.7)
    at, values = [j - apart for j in range(len(rows))], [row.value for row in rows]
    axis.barh(at, values, thick, color=SKY, label="private estimate")
    limits = [row.value - row.low for row in rows], [row.high - row.value for row in rows]
    axis.errorbar(values, at, xerr=limits, fmt="none", ecolor=BLACK, elinewidth=1.0, capsize=2.5)
    if truth:
        axis.barh([j + apart for j in range(len(rows))], truth, thick, color=ORANGE, label=TRUTH)
    axis.set_yticks(range(len(rows)), [_short(row.name) for row in rows], parse_math=False)
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.tick_params(axis="y", length=0)
    axis.spines["left"].set_visible(False)  # the line at zero is there already
    axis.grid(visible=False, axis="y")
    axis.axvline(0.0, color=BLACK, linewidth=0.8)
    axis.set_xlabel(measure, parse_math=False)
    axis.xaxis.set_major_locator(_few_ticks())
    axis.xaxis.set_major_formatter(lambda x, _: f"{x:,.10g}")
    axis.set_axisbelow(True)


def _draw_ranked(axis: "Axes", rows: list[Entry], measure: str, others: int) -> None:
    """The largest, one line each, and if there are others a last line that says how large they are at most."""
    if not others:
        _draw_few(axis, rows, measure)
        return
    *top, next_one = rows
    _draw_few(axis, top, measure)
    axis.set_yticks(range(len(rows)), [*(_short(row.name) for row in top), f"{others:,} others"], parse_math=False)
    axis.set_ylim(len(rows) - 0.4, -0.6)
    (text,) = written([next_one])
    axis.annotate(
        f"each at most {text.value}", (0, len(top)), (4, 0), textcoords="offset points", va="center", fontsize=8.0
    )


def _draw_many(axis: "Axes", rows: list[Entry], measure: str) -> None:
    """A curve with a band; only some bins are named."""
    edges = [j - 0.5 for j in range(len(rows) + 1)]
    axis.stairs([row.high for row in rows], edges, baseline=[row.low for row in rows], fill=True, color=SKY)
    axis.stairs([row.value for row in rows], edges, baseline=None, color=BLUE, linewidth=0.8, label="private estimate")
    truth = [row.truth for row in rows if row.truth is not None]
    if truth:
        axis.stairs(truth, edges, baseline=None, color=ORANGE, linewidth=0.8, label=TRUTH)
    axis.axhline(0.0, color=BLACK, linewidth=0.8)
    named = [round(j * (len(rows) - 1) / 5) for j in range(6)]
    axis.set_xticks(named, [_short(rows[j].name) for j in named], parse_math=False)
    if max(len(rows[j].name) for j in named) > 6:
        axis.tick_params(axis="x", labelrotation=30)
        for label in axis.get_xticklabels():
            label.set_horizontalalignment("right")
    axis.use_sticky_edges = False  # room below the lowest interval
    axis.autoscale_view()
    axis.set_xlim(edges[0], edges[-1])
    axis.set_xlabel(counted(len(rows), "bin"))
    axis.set_ylabel(measure, parse_math=False)
    axis.yaxis.set_major_formatter(lambda y, _: f"{y:,.10g}")
    axis.set_axisbelow(True)


def _draw_one(axis: "Axes", rows: list[Entry], measure: str) -> None:
    """A point, its interval, and both in digits."""
    (row,), (text,) = rows, written(rows)
    axis.hlines([0], [row.low], [row.high], color=SKY, linewidth=6.0)
    axis.plot([row.value], [0], marker="o", color=BLUE, linestyle="none", label="private estimate")
    if row.truth is not None:
        axis.plot([row.truth], [0], marker="D", color=ORANGE, linestyle="none", label=TRUTH)
    axis.annotate(
        f"{text.value}  ({text.low} to {text.high})", (row.value, 0), (0, 10), textcoords="offset points", ha="center"
    )
    axis.set_ylim(-1, 2)
    axis.set_yticks([])
    axis.spines["left"].set_visible(False)
    axis.margins(x=0.3)
    axis.grid(visible=False)
    axis.xaxis.set_major_locator(_few_ticks())
    axis.xaxis.set_major_formatter(lambda x, _: f"{x:,.10g}")
    axis.set_xlabel(measure, parse_math=False)


def _few_ticks() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10])


def _short(name: str) -> str:
    return name if len(name) <= 20 else f"{name[:19]}…"
