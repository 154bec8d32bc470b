"""The picture and the page of an audit, from its JSON data alone."""

import base64
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from shuffledp.core.digits import rounded_down, rounded_up
from shuffledp.core.document import Document
from shuffledp.figures.result_page import template
from shuffledp.figures.style import BLACK, BLUE, GREEN, ORANGE, VERMILION, canvas

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = {"consistent": GREEN, "violated": VERMILION, "under-powered": ORANGE}


@contextmanager
def drawn(finding: Document) -> "Iterator[Figure]":
    """The scores in both worlds with the event, and what was shown beside what is claimed."""
    with canvas(4.8, 5.0, 2, 1) as (figure, (above, below)):
        picture, event = finding["picture"], finding["event"]
        for world, colour, label in (("first", BLUE, "first world"), ("second", VERMILION, "second world")):
            above.stairs(picture[world], picture["edges"], color=colour, label=label)
        low, high = picture["edges"][0], picture["edges"][-1]
        start = min(max(event["threshold"], low), high)
        span = (low, start) if event["reversed"] else (start, high)
        above.axvspan(*span, color="#DDDDDD", label="the event", zorder=0)  # behind the scores
        above.set(xlabel="score (log-likelihood ratio)", ylabel="share of trials")
        above.legend()
        claimed, reach, seen = finding["claimed"]["epsilon"], finding["reach"], finding["epsilon"]
        points = {
            "claimed, at most": (claimed, BLACK, rounded_up(claimed, 4)),
            "in reach": (reach, BLUE, rounded_down(reach, 4)),
            "shown, at least": (seen, _COLOURS[finding["verdict"]], rounded_down(seen, 4)),
        }
        for j, (value, colour, digits) in enumerate(points.values()):
            below.plot([value], [j], marker="o", markersize=7.0, color=colour)
            below.annotate(digits, (value, j), (0, 8), textcoords="offset points", ha="center")
        below.set_yticks(range(len(points)), list(points))
        below.set(xlabel="epsilon", ylim=(len(points) - 0.5, -0.7), xlim=(0, 1.15 * max(claimed, reach, seen) or 1.0))
        below.set_axisbelow(True)
        below.grid(visible=False, axis="y")
        below.set_title(finding["verdict"])
        yield figure


def picture(finding: Document, kind: str, *, transparent: bool = False) -> bytes:
    """The bytes of the picture."""
    target = io.BytesIO()
    with drawn(finding) as figure:
        metadata = {"Date": None, "Creator": "shuffledp"} if kind == "svg" else None
        figure.savefig(target, format=kind, metadata=metadata, transparent=transparent)
    return target.getvalue()


def page(finding: Document) -> str:
    """The whole audit as HTML: nothing is loaded, nothing runs."""
    drawing = picture(finding, "svg", transparent=True)
    claimed, rates = finding["claimed"], finding["rates"]
    rows = [
        ("claimed, at most", rounded_up(claimed["epsilon"]), claimed["by"]),
        ("in reach of so many trials", rounded_down(finding["reach"]), "of a mechanism that uses up its claim"),
        (
            "expected here",
            f"{rounded_down(finding['expected'])}, give or take {rounded_up(finding['margin'], 2)}",
            "from a pilot" if finding["piloted"] else "from the law of what is seen",
        ),
        ("shown, at least", rounded_down(finding["epsilon"]), f"with {100 * finding['confidence']:.12g} % confidence"),
    ]
    if finding["singled_out"] is not None:
        alone = rounded_down(finding["singled_out"])
        rows.insert(
            2, ("in reach of so many trials, of an exposed user", alone, "whose message could be told from the others'")
        )
    counted = [
        ("trials of each world", f"{finding['trials']:,}"),
        ("the event, in the world where it is likelier", f"{finding['hits'][0]:,}"),
        ("its probability there, at least", rounded_down(rates["first_at_least"])),
        ("the event in the other world", f"{finding['hits'][1]:,}"),
        ("its probability there, at most", rounded_up(rates["second_at_most"])),
        ("delta", rounded_up(claimed["delta"])),
    ]
    return template("audit.html.jinja").render(
        title=f"Audit of {finding['name']}: {finding['verdict']}",
        worlds=finding["worlds"],
        view=finding["view"],
        drawing=base64.b64encode(drawing[drawing.index(b"<svg") :]).decode(),
        alt=f"Scores in both worlds; epsilon claimed {rows[0][1]}, shown {rows[-1][1]}",
        rows=rows,
        counted=counted,
        learned=finding["learned"],
    )


def rendered(finding: Document, path: Path) -> bytes:
    """The bytes of a page or a picture; which it is follows from the file's ending."""
    kind = path.suffix.lower().removeprefix(".")
    return page(finding).encode() if kind == "html" else picture(finding, kind)
