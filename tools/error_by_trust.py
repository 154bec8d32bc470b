"""Draw docs/images/error-by-trust.png: how the error grows with the number of people, by whom these trust and what each sends."""

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from shuffledp import compare, plan
from shuffledp.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OUT: Final = Path(__file__).parents[1] / "docs" / "images" / "error-by-trust.png"
PEOPLE: Final = (100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
EPSILON, DELTA, BINS = 1.0, 1e-6, 16
GREY: Final = "#777777"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """How one way of asking does, and how it is drawn."""

    label: str
    colour: str
    errors: tuple[float | None, ...]


def sums() -> list[Line]:
    """Errors of the sum of numbers between 0 and 1."""
    compared = [list(compare("sum", n=n, epsilon=EPSILON, delta=DELTA)) for n in PEOPLE]
    named = [{row.name: row.rmse for row in rows} for rows in compared]
    nobody = tuple(min(row.rmse for row in rows if row.trust == "nobody" and row.rmse) for rows in compared)
    return [
        Line(label="nobody trusted", colour=style.VERMILION, errors=nobody),
        Line(label="one message", colour=style.BLUE, errors=tuple(row["shuffledp"] for row in named)),
        Line(label="two messages", colour=style.SKY, errors=tuple(_in_digits(n, 2) for n in PEOPLE)),
        Line(label="four messages", colour=style.GREEN, errors=tuple(_in_digits(n, 4) for n in PEOPLE)),
        Line(label="curator", colour=GREY, errors=tuple(row["discrete Laplace"] for row in named)),
    ]


def counts() -> list[Line]:
    """Errors of one of 16 counts."""
    compared = [list(compare("histogram", size=BINS, n=n, epsilon=EPSILON, delta=DELTA)) for n in PEOPLE]
    each = [{row.name: row.rmse and row.rmse / BINS**0.5 for row in rows} for rows in compared]
    nobody = tuple(min(row.rmse for row in rows if row.trust == "nobody" and row.rmse) / BINS**0.5 for rows in compared)
    return [
        Line(label="nobody trusted", colour=style.VERMILION, errors=nobody),
        Line(label="one message", colour=style.BLUE, errors=tuple(row["shuffledp"] for row in each)),
        Line(label="one, and dummies", colour=style.SKY, errors=tuple(row["shuffledp, dummies"] for row in each)),
        Line(
            label="shuffler's noise, or curator",
            colour=GREY,
            errors=tuple(row["shuffledp, shuffler's noise"] for row in each),
        ),
    ]


def _in_digits(n: int, messages: int) -> float:
    """With so many messages on average, and up to a quarter more among few people."""
    with warnings.catch_warnings(action="ignore"):  # that the answer is of no use among few people
        return plan.sum(n=n, epsilon=EPSILON, delta=DELTA, messages_per_user=1.25 * messages).rmse


def panel(axes: "Axes", title: str, lines: list[Line]) -> None:
    """Lines with their names at their right ends."""
    for line in lines:
        there = [(n, error) for n, error in zip(PEOPLE, line.errors, strict=True) if error is not None]
        people, errors = zip(*there, strict=True)
        axes.plot(people, errors, color=line.colour, marker="o", markersize=3.5, linewidth=2.2)
        axes.text(1.6 * people[-1], errors[-1], line.label, color=line.colour, va="center", fontsize=11)
    axes.set(xscale="log", yscale="log", xlim=(70, 1e12), ylim=(1, 3e4), title=title, xlabel="number of people")
    axes.set_yticks([1, 10, 100, 1_000, 10_000], ["1", "10", "100", "1,000", "10,000"])
    axes.set_yticks([], minor=True)
    axes.set_xticks([10.0**power for power in (2, 4, 6, 8)], ["100", "10,000", "a million", "100 million"])
    axes.set_xticks([], minor=True)


def main() -> None:
    """Sums at the left, counts at the right."""
    with style.canvas(11.0, 4.6, 1, 2) as (figure, (left, right)):
        panel(left, "A sum of numbers from 0 to 1", sums())
        panel(right, "A count of people, one of 16", counts())
        left.set_ylabel("typical error")
        figure.savefig(OUT, metadata={"Software": "shuffledp"}, dpi=140)


if __name__ == "__main__":
    main()
