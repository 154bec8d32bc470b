"""Draw docs/images/shuffle-model.png: people, the shuffler, the analyzer, and how far off the answer is, by whom people trust."""

import math
import random
from pathlib import Path
from typing import TYPE_CHECKING, Final

from shuffledp import compare
from shuffledp.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OUT: Final = Path(__file__).parents[1] / "docs" / "images" / "shuffle-model.png"
COLOUR: Final = {"bike": style.BLUE, "bus": style.ORANGE, "car": style.GREEN}
PEOPLE: Final = ("car", "bus", "car", "bike", "car", "bus", "bike", "car", "car", "bus", "car", "bike")
RANDOM: Final = {4: "bike", 9: "car"}
"""Who sends something random, and what."""
DARK, GREY, LIGHT = "#333333", "#888888", "#F3F3F3"
BINS: Final = 16
TRUST: Final = {
    "the curator": "a curator holds every answer",
    "the shuffler": "shuffled: two parties do not collude",
    "nobody": "local: nobody is trusted",
}
"""Whom people trust, as `shuffledp compare` and as the picture has it."""


def errors() -> dict[str, str]:
    """Root mean square error of one of 16 counts of a million people at epsilon = 1, in two digits, by whom people trust.

    Of one message per person; with a shuffler, that of the plan that `shuffledp plan histogram` makes.
    """
    rows = compare("histogram", size=BINS, n=1_000_000, epsilon=1.0, delta=1e-6)
    found = dict[str, float]()
    for row in rows:
        if row.rmse is not None and (row.trust != "the shuffler" or row.name == "shuffledp"):
            found[row.trust] = min(found.get(row.trust, row.rmse), row.rmse)
    return {trust: f"{float(f'{found[trust] / math.sqrt(BINS):.2g}'):,.0f}" for trust in TRUST}


def person(axes: "Axes", x: float, y: float, colour: str) -> None:
    """A head and shoulders."""
    from matplotlib.patches import Circle, Wedge

    axes.add_patch(Wedge((x, y - 0.5), 0.36, 0, 180, color=colour))
    axes.add_patch(Circle((x, y + 0.08), 0.19, color=colour))


def envelope(axes: "Axes", x: float, y: float) -> None:
    """A sealed message."""
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((x - 0.24, y - 0.16), 0.48, 0.32, facecolor="white", edgecolor=DARK, linewidth=1.1))
    axes.plot([x - 0.24, x, x + 0.24], [y + 0.16, y - 0.03, y + 0.16], color=DARK, linewidth=1.1)


def message(axes: "Axes", x: float, y: float, colour: str, *, ringed: bool = False) -> None:
    """A message that can be read; one that was drawn at random has a ring."""
    axes.plot(x, y, "s", color=colour, markersize=9)
    if ringed:
        axes.plot(x, y, "o", markerfacecolor="none", markeredgecolor=DARK, markersize=19, markeredgewidth=1.4)


def box(axes: "Axes", x: float, width: float, name: str, *lines: str) -> None:
    """A party, and what it does."""
    from matplotlib.patches import FancyBboxPatch

    axes.add_patch(
        FancyBboxPatch((x, 0), width, 3.9, boxstyle="round,pad=0,rounding_size=0.2", facecolor=LIGHT, edgecolor="none")
    )
    axes.text(x + width / 2, 4.25, name, ha="center", fontsize=15, fontweight="bold")
    axes.text(
        x + width / 2, -0.25, "\n".join(lines), ha="center", va="top", fontsize=12.5, color=DARK, linespacing=1.35
    )


def arrow(axes: "Axes", x: float) -> None:
    """From one party to the next."""
    axes.annotate(
        "", (x + 0.8, 1.95), (x, 1.95),
        arrowprops={"arrowstyle": "-|>", "color": DARK, "linewidth": 2.2, "mutation_scale": 22},
    )  # fmt: skip


def parties(axes: "Axes") -> None:
    """Three boxes, from the people to the counts."""
    from matplotlib.patches import Circle, Rectangle

    axes.axis("off")
    axes.set_aspect("equal")
    axes.set(xlim=(-0.1, 14.5), ylim=(-1.5, 4.75))
    box(axes, 0, 4.8, "people", "each sends one message,", "most true, a few random (ringed)")
    arrow(axes, 5.0)
    box(axes, 6.0, 3.0, "shuffler", "drops names, mixes,", "cannot read")
    arrow(axes, 9.2)
    box(axes, 10.2, 4.2, "analyzer", "counts and corrects, cannot", "tell who sent what")
    messages = [RANDOM.get(number, answer) for number, answer in enumerate(PEOPLE)]
    for number, (answer, sent) in enumerate(zip(PEOPLE, messages, strict=True)):
        x, y = 0.58 + 1.15 * (number % 4), 3.25 - 1.25 * (number // 4)
        person(axes, x, y, COLOUR[answer])
        message(axes, x + 0.44, y + 0.2, COLOUR[sent], ringed=number in RANDOM)
    scatter = random.Random(7)
    for number in range(12):
        envelope(
            axes, 6.55 + 0.63 * (number % 4) + scatter.uniform(-0.08, 0.08),
            1.5 - 0.5 * (number // 4) + scatter.uniform(-0.08, 0.08),
        )  # fmt: skip
    axes.add_patch(Circle((7.5, 2.85), 0.62, facecolor="white", edgecolor=DARK, linewidth=1.6))
    axes.add_patch(Rectangle((6.86, 2.86), 1.28, 0.3, color=DARK))  # a blindfold, its knot, and a smile
    axes.plot([8.14, 8.4, 8.14, 8.35], [3.01, 3.2, 3.01, 2.86], color=DARK, linewidth=3)
    axes.plot([7.28, 7.5, 7.72], [2.58, 2.5, 2.58], color=DARK, linewidth=1.6)
    scatter.shuffle(messages)
    for number, sent in enumerate(messages):
        message(axes, 10.62 + 0.42 * (number % 3), 3.1 - 0.75 * (number // 3), COLOUR[sent])
    for place, (answer, colour) in enumerate(COLOUR.items()):
        x, count = 12.05 + 0.75 * place, messages.count(answer)
        axes.add_patch(Rectangle((x, 0.75), 0.5, 0.4 * count, color=colour))
        axes.text(x + 0.25, 0.62, answer, ha="center", va="top", fontsize=11, color=DARK)
    axes.plot([11.9, 14.2], [0.75, 0.75], color=DARK, linewidth=1.2)


def trusted(axes: "Axes") -> None:
    """Three bars."""
    axes.set_title(
        "A million people, 16 possible answers: how far off is a count?", fontsize=15, fontweight="bold", x=0.24, pad=10
    )
    for place, (trust, error) in enumerate(errors().items()):
        value = float(error.replace(",", ""))
        weight = "bold" if trust == "the shuffler" else "normal"
        axes.barh(-place, value, height=0.68, color=style.BLUE if weight == "bold" else "#999999")
        axes.text(value + 25, -place, error, va="center", fontsize=15, fontweight=weight)
    axes.set(xlim=(0, 2_100), ylim=(-2.5, 0.5))
    axes.set_yticks([0, -1, -2], list(TRUST.values()), fontsize=13)
    axes.set_xlabel(
        "typical error of one count, in people, at epsilon = 1, delta = 1e-6",
        fontsize=11.5,
        x=0.24,
    )
    axes.tick_params(length=0)
    axes.set_xticks([])
    axes.set_xticks([], minor=True)
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)


def main() -> None:
    """Whom one must trust above, what that buys below."""
    with style.canvas(10.0, 6.8, 2, 1) as (figure, (above, below)):
        figure.set_layout_engine("none")
        above.set_position((0.01, 0.37, 0.98, 0.63))
        below.set_position((0.34, 0.07, 0.63, 0.23))
        parties(above)
        trusted(below)
        figure.savefig(OUT, metadata={"Software": "shuffledp"}, dpi=160)


if __name__ == "__main__":
    main()
