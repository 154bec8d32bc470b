"""Draw the pictures of docs/randomizers: what a person sends, by value, over the part that no value changes."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from shuffledp import Channel, Gaussian, Generic, Laplace, LatticeChannel, RandomizedResponse, account
from shuffledp.core.randomizer import RunnableRandomizer
from shuffledp.figures import style
from shuffledp.randomizers.codebook_response import CodebookResponse, on_sphere
from shuffledp.randomizers.codewords import nearest
from shuffledp.randomizers.design_response import DesignResponse
from shuffledp.randomizers.digit_by_digit import Digits
from shuffledp.randomizers.geometric_noise import TwoSidedGeometric
from shuffledp.randomizers.hadamard_design import Hadamard
from shuffledp.randomizers.local_hashing import LocalHashing
from shuffledp.randomizers.mixture import Mixture
from shuffledp.randomizers.structures import AffineSpace

if TYPE_CHECKING:
    from shuffledp.core.blanket import HasBlanket

OUT: Final = Path(__file__).parents[1] / "docs" / "images"
COLOURS: Final = (style.BLUE, style.VERMILION, style.GREEN)
GREY: Final = "#BBBBBB"
LEVELS: Final = Mixture(
    weights=(1, 2), parts=(RandomizedResponse(size=2, gamma=0.4), RandomizedResponse(size=5, gamma=0.6))
)
MATRIX: Final = [[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.4, 0.3, 0.3]]
FINITE: Final[dict[str, tuple[RunnableRandomizer, Sequence[int]]]] = {
    "rr": (RandomizedResponse(size=6, epsilon0=1.5), (1, 4)),
    "channel": (LatticeChannel.of(Channel(MATRIX)), (0, 1, 2)),
    "lattice": (Laplace(epsilon0=2.0).lattice(inputs=5, outputs=15, reach=1.25), (0, 4)),
    "plane": (DesignResponse.private(AffineSpace(prime=3), epsilon0=1.5), (0, 4)),
    "hadamard": (DesignResponse.private(Hadamard(order=8), epsilon0=1.5), (0, 3)),
    "local-hashing": (DesignResponse.private(LocalHashing(prime=3, range=2), epsilon0=1.5), (0, 1)),
    "mixture": (LEVELS, (0, 9)),
}


def bars(name: str, laws: NDArray[np.float64], floor: NDArray[np.float64], labels: Sequence[str], unit: str) -> None:
    """Bars for each message, the part that no value changes in grey."""
    messages, width = np.arange(laws.shape[1]), 0.8 / len(laws)
    with style.canvas(6.4, 2.6, 1, 1) as (figure, (axes,)):
        axes.bar(messages, floor, 0.9, color=GREY, label="whatever the value is", zorder=2)
        for j, (law, label) in enumerate(zip(laws, labels, strict=True)):
            place = messages - 0.4 + width * (j + 0.5)
            axes.bar(place, law - floor, width, bottom=floor, color=COLOURS[j], label=label, zorder=2)
        axes.set(xlabel="message", ylabel=unit, xticks=messages)
        axes.grid(visible=False, axis="x")
        figure.legend(loc="outside upper center", ncols=len(laws) + 1)
        figure.savefig(OUT / f"randomizer-{name}.png", metadata={"Software": "shuffledp"}, dpi=150)


def finite(name: str, randomizer: RunnableRandomizer, shown: Sequence[int]) -> None:
    """Laws of a few values; the blanket is below those of all."""
    messages = np.arange(randomizer.messages)
    laws = np.array([randomizer.probability(messages, symbol) for symbol in range(randomizer.symbols)])
    bars(name, laws[list(shown)], laws.min(axis=0), [f"value {symbol}" for symbol in shown], "probability")


def noise(name: str, randomizer: Laplace | Gaussian) -> None:
    """Densities for three values over the blanket."""
    message = np.linspace(-3.5, 4.5, 801)
    with style.canvas(6.4, 2.8, 1, 1) as (figure, (axes,)):
        axes.fill_between(
            message, randomizer.gamma * randomizer.omega(message), color=GREY, label="whatever the value is"
        )
        for value, colour in zip((0.0, 0.5, 1.0), COLOURS, strict=True):
            axes.plot(message, randomizer.density(message, value), color=colour, label=f"value {value:g}")
        axes.set(xlabel="message", ylabel="density", ylim=(0, None))
        axes.legend()
        figure.savefig(OUT / f"randomizer-{name}.png", metadata={"Software": "shuffledp"}, dpi=150)


def generic() -> None:
    """What it costs not to know more than epsilon0."""
    users = [round(10 ** (power / 2)) for power in range(6, 15)]
    known: dict[str, HasBlanket] = {
        "any randomizer": Generic(epsilon0=1.0),
        "Laplace noise": Laplace(epsilon0=1.0),
        "randomized response, 10 values": RandomizedResponse(size=10, epsilon0=1.0),
    }
    with style.canvas(6.4, 2.8, 1, 1) as (figure, (axes,)):
        for (label, randomizer), colour in zip(known.items(), COLOURS, strict=True):
            epsilons = [account(randomizer, n=n, delta=1e-6).epsilon for n in users]
            axes.plot(users, epsilons, color=colour, marker="o", markersize=3, label=label)
        axes.set(xscale="log", yscale="log", xlabel="users", ylabel="epsilon after shuffling, epsilon0 = 1")
        axes.legend()
        figure.savefig(OUT / "randomizer-generic.png", metadata={"Software": "shuffledp"}, dpi=150)


def codebook() -> None:
    """Which codeword under each of two seeds is nearest to a point, and to its opposite."""
    randomizer = CodebookResponse.private(dimension=2, size=4, gamma=0.5)
    floor, sure = randomizer.gamma_as_run / 8, (1 - randomizer.gamma_as_run) / 2
    points = on_sphere(np.array([[0.9, 0.3], [-0.9, -0.3]]), 2)
    laws = np.full((2, 8), floor)
    for seed in range(2):
        named = nearest(points, np.full(2, seed, dtype=np.uint64), 4).astype(np.intp)
        laws[[0, 1], 4 * seed + named] += sure
    labels = ["a point", "its opposite"]
    bars("codebook", laws, np.full(8, floor), labels, "probability, two seeds")


def several() -> None:
    """Messages per person, where each sends several."""
    truth = np.eye(6)[[1, 4]]
    bars("dummies", truth + 0.2, np.full(6, 0.2), ["value 1", "value 4"], "messages per person")
    added = TwoSidedGeometric.least(1.0, 0.05).mean
    bars("shuffler-noise", truth + added, np.full(6, added), ["value 1", "value 4"], "messages, on average")
    number = Digits(base=4, dummies=(1.6, 0.4))
    sent = np.array([number.true_law(np.array([value])) for value in (5, 14)])
    beside = number.attacker_view().dummies_of_each()
    bars("digits", sent + beside, beside, ["number 11 in base 4", "number 32 in base 4"], "messages per person")
    parts = [RandomizedResponse(size=2, gamma=0.4), RandomizedResponse(size=5, gamma=0.6)]
    laws = [np.array([part.probability(np.arange(part.size), x) for x in range(part.size)]) for part in parts]
    people = np.array(
        [np.concatenate([law[x] for law, x in zip(laws, answers, strict=True)]) for answers in ((0, 0), (1, 4))]
    )
    floor = np.concatenate([law.min(axis=0) for law in laws])
    bars("together", people, floor, ["answers 0 and 0", "answers 1 and 4"], "messages per person")


def main() -> None:
    """All of them."""
    for name, (randomizer, shown) in FINITE.items():
        finite(name, randomizer, shown)
    noise("laplace", Laplace(epsilon0=1.0))
    noise("gaussian", Gaussian(sigma=1.0))
    generic()
    codebook()
    several()


if __name__ == "__main__":
    main()
