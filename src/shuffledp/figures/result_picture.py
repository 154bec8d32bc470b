"""The picture of a result: estimates with their intervals, beside the truth if it was asked for."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final

from shuffledp.core.digits import counted
from shuffledp.core.document import Document
from shuffledp.core.visible import printable
from shuffledp.figures.answer_panel import Panel
from shuffledp.figures.style import canvas
from shuffledp.results.estimate_entries import is_curve, parts, percent
from shuffledp.results.guarantee_text import promise

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WIDTH: Final = 4.8
"""Inches: narrow, so that the letters can still be read when a phone shrinks the picture."""
_MOST: Final = 40
"""Questions of a survey that are drawn; more would make a picture that nothing can show."""
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
    """The figure itself, while our look applies: a panel for each question, on a scale of its own."""
    questions = parts(result)[:_MOST]
    panels = [Panel(question) for question in questions]
    several = len(panels) > 1
    first = next((j for j, question in enumerate(questions) if is_curve(question)), None)
    legend = result["truth"] is not None or first is not None
    title = _wrapped(result["wording"]["title"], 45)
    below = _promised(result, several=several or panels[0].several)
    heights = [panel.height + (0.3 if several else 0) for panel in panels]
    height = sum(heights) + 0.3 + (0.4 if legend else 0) + 0.2 * len(title) + 0.16 * len(below)
    with canvas(_WIDTH, height, len(panels), 1, heights) as (figure, axes):
        for question, panel, axis in zip(questions, panels, axes, strict=True):
            panel.draw(axis)
            if several:
                axis.set_title(
                    _cut(question["question"]), loc="left", fontsize=9.0, fontweight="bold", parse_math=False
                )
        if legend:
            handles, labels = axes[first or 0].get_legend_handles_labels()
            figure.legend(handles, labels, loc="outside lower center", ncols=2)
        if not title:
            figure.suptitle("\n".join(below), fontsize=9.0, parse_math=False)
        elif several:
            figure.suptitle("\n".join([*title, *below]), fontsize=9.0, parse_math=False)
        else:
            figure.suptitle("\n".join(title), fontsize=11.0, fontweight="bold", parse_math=False)
            axes[0].set_title("\n".join(below), fontsize=9.0, parse_math=False)
        yield figure


def _wrapped(text: str | None, width: int) -> list[str]:
    return wrap(printable(text or ""), width)


def _promised(result: Document, *, several: bool) -> list[str]:
    """Lines: what was asked, if the plan says it, and what is promised."""
    together = "simultaneous " if result["estimate"]["simultaneous"] else ""
    interval = f"{together}{percent(result)} {'intervals' if several else 'interval'}"
    asked, questions = _wrapped(result["wording"]["question"], 60), len(result.get("measures") or ())
    part = [f"the first {_MOST} of {questions:,} questions"] if questions > _MOST else []
    return [*asked, promise(result), f"{counted(result['n'], 'report')}, {interval}", *part]


def _cut(text: str) -> str:
    return printable(text) if len(text) <= 50 else f"{printable(text)[:49]}…"
