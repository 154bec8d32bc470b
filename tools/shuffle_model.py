"""Draw docs/images/shuffle-model.png: twelve people, what they send, what the shuffler and the analyzer see."""

import random
from pathlib import Path
from typing import Final

from shuffledp.figures import style

OUT: Final = Path(__file__).parents[1] / "docs" / "images" / "shuffle-model.png"
PEOPLE: Final = 12
COLOUR: Final = {"yes": style.BLUE, "no": style.ORANGE}
RANDOM: Final = {4: "no", 9: "yes"}
"""Who sends something random, and what."""
GREY: Final = "#777777"


def main() -> None:
    """Four columns of dots, from the people to the counts."""
    values = ["yes" if person in (0, 1, 4, 5, 7, 8, 11) else "no" for person in range(PEOPLE)]
    messages = [RANDOM.get(person, value) for person, value in enumerate(values)]
    order = list(range(PEOPLE))
    random.Random(5).shuffle(order)
    with style.canvas(8.0, 4.4, 1, 1) as (figure, (axes,)):
        axes.axis("off")
        axes.set(xlim=(-0.9, 7.1), ylim=(-2.6, PEOPLE + 1.1))
        for x, title, below in (
            (0, "people", "each holds a value"),
            (2, "their messages", "mostly the truth,\nnow and then random"),
            (4, "the shuffler sees", "who sends, and\nwhat it cannot read"),
            (6, "the analyzer sees", "what was sent, and\nnot by whom"),
        ):
            axes.text(x, PEOPLE + 0.4, title, ha="center", fontweight="bold")
            axes.text(x, -1.1, below, ha="center", va="top", color=GREY, fontsize=8)
        for person, (value, message) in enumerate(zip(values, messages, strict=True)):
            y, place = PEOPLE - 1 - person, PEOPLE - 1 - order.index(person)
            axes.text(-0.45, y, f"{person + 1}", ha="right", va="center", color=GREY, fontsize=8)
            axes.plot([0.25, 1.75], [y, y], color="#CCCCCC", linewidth=1)
            axes.plot([2.25, 3.2], [y, y], color="#CCCCCC", linewidth=1)
            axes.plot([4.25, 5.75], [y, place], color="#DDDDDD", linewidth=1)
            axes.plot(0, y, "o", color=COLOUR[value], markersize=10)
            axes.plot(2, y, "o", color=COLOUR[message], markersize=10)
            if person in RANDOM:
                axes.plot(2, y, "o", markerfacecolor="none", markeredgecolor=style.BLACK, markersize=15)
            axes.text(3.55, y, f"{person + 1}", ha="right", va="center", color=GREY, fontsize=8)
            axes.plot(4, y, "s", color="#999999", markersize=9)
            axes.plot(6, place, "o", color=COLOUR[message], markersize=10)
        for label, colour in COLOUR.items():
            axes.plot([], [], "o", color=colour, label=f'"{label}"')
        axes.plot([], [], "o", markerfacecolor="none", markeredgecolor=style.BLACK, markersize=11, label="random")
        axes.plot([], [], "s", color="#999999", label="sealed")
        figure.legend(loc="outside lower center", ncols=4)
        figure.savefig(OUT, metadata={"Software": "shuffledp"}, dpi=150)


if __name__ == "__main__":
    main()
