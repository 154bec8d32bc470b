"""Draw docs/images/packages.png: the packages in their layers, and the two paths through them."""

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

from shuffledp.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Patch

OUT: Final = Path(__file__).parents[1] / "docs" / "images" / "packages.png"
BOXES: Final = {
    "cli": (0, 0, "the command"),
    "web": (1, 0, "the planner's page"),
    "figures": (3, 0, "pictures and pages"),
    "auditing": (1, 1, "lower bounds, by trying"),
    "verification": (2, 1, "is all of it true?"),
    "federated": (4, 1, "a model, round by round"),
    "sources": (1, 2, "rows with addresses"),
    "engines": (2, 2, "rows to a tally"),
    "service": (4, 2, "client, shuffler, analyzer"),
    "baselines": (1, 3, "other people's protocols"),
    "results": (3, 3, "what is said in the end"),
    "cluster": (4, 3, "Apache Spark"),
    "planning": (0, 4, "a question to a plan"),
    "protocols": (2, 4, "values to messages,\ncounts to estimates"),
    "accounting": (0, 5, "blanket to epsilon"),
    "randomizers": (1, 5, "symbol to message"),
    "domains": (2, 5, "raw to clean values"),
    "certificates": (4, 5, "a claim, proved again"),
    "core": (1, 6, "shared nouns"),
    "arithmetic": (2, 6, "balls and enclosures"),
}
"""Where each stands, column and row, and what it is for. Imports go down only; `make check` has the exact order."""
PLAN: Final = ("cli", "planning", "accounting", "randomizers", "core")
VALUE: Final = ("sources", "engines", "protocols", "domains", "randomizers", "protocols", "results", "figures")
WIDTH, HEIGHT, ACROSS, DOWN = 2.2, 0.8, 2.7, 1.35


def place(package: str) -> tuple[float, float]:
    """The middle of its box."""
    column, row, _ = BOXES[package]
    return column * ACROSS, -row * DOWN


def draw_path(axes: "Axes", path: tuple[str, ...], colour: str, side: float) -> None:
    """A numbered arrow from each box to the next."""
    for step, (start, end) in enumerate(pairwise(path), start=1):
        (x, y), (to_x, to_y) = place(start), place(end)
        if y == to_y:
            reach = WIDTH / 2 if to_x > x else -WIDTH / 2
            leave, arrive = (x + reach, y), (to_x - reach, y)
        else:
            down = HEIGHT / 2 if to_y < y else -HEIGHT / 2
            leave, arrive = (x + side, y - down), (to_x + side, to_y + down)
        axes.annotate("", arrive, leave, arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": 1.8})
        axes.text(
            (leave[0] + arrive[0]) / 2, (leave[1] + arrive[1]) / 2, str(step), color="white", fontsize=7, ha="center",
            va="center", bbox={"boxstyle": "circle,pad=0.2", "facecolor": colour, "edgecolor": "none"},
        )  # fmt: skip


def main() -> None:
    """Boxes in rows, an arrow for every step."""
    with style.canvas(8.8, 6.6, 1, 1) as (figure, (axes,)):
        axes.axis("off")
        axes.set(xlim=(-1.3, 4 * ACROSS + 1.3), ylim=(-6 * DOWN - 0.6, 0.6))
        for package, (_, _, purpose) in BOXES.items():
            x, y = place(package)
            axes.add_patch(_box(x, y))
            axes.text(x, y + 0.18, package, ha="center", va="center", fontweight="bold", fontsize=9)
            axes.text(x, y - 0.16, purpose, ha="center", va="center", fontsize=7, color="#555555")
        draw_path(axes, PLAN, style.VERMILION, -0.25)
        draw_path(axes, VALUE, style.BLUE, 0.25)
        axes.plot([], [], color=style.VERMILION, label="a plan: question, family, accountant, randomizer, blanket")
        axes.plot([], [], color=style.BLUE, label="a value: row, clean value, message, tally, estimate, picture")
        figure.legend(loc="outside lower center", ncols=2)
        figure.savefig(OUT, metadata={"Software": "shuffledp"}, dpi=150)


def _box(x: float, y: float) -> "Patch":
    from matplotlib.patches import FancyBboxPatch

    return FancyBboxPatch(
        (x - WIDTH / 2, y - HEIGHT / 2), WIDTH, HEIGHT, boxstyle="round,pad=0.02,rounding_size=0.1",
        facecolor="#F4F6F8", edgecolor="#9AA5B1", linewidth=0.9, zorder=0,
    )  # fmt: skip


if __name__ == "__main__":
    main()
