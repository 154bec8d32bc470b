"""Points at which the truth is known: random randomizers of every registered kind, with few users."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import count, islice
from typing import Any

import numpy as np

from oracles.laws import ORACLES
from oracles.truth import Truth
from shuffledp import Channel, Gaussian, Generic, Laplace, LatticeChannel, RandomizedResponse
from shuffledp.core.randomizer import LocalRandomizer
from shuffledp.randomizers.codebook_response import CodebookResponse
from shuffledp.randomizers.design_response import DesignResponse
from shuffledp.randomizers.digit_by_digit import Digits
from shuffledp.randomizers.dummies import Dummies
from shuffledp.randomizers.geometric_noise import ThinnedGeometric, TwoSidedGeometric
from shuffledp.randomizers.hadamard_design import Hadamard
from shuffledp.randomizers.identity import Identity
from shuffledp.randomizers.local_hashing import LocalHashing
from shuffledp.randomizers.mixture import Mixture
from shuffledp.randomizers.shuffler_noise import ShufflerNoise
from shuffledp.randomizers.structures import AffineSpace
from shuffledp.randomizers.together import Together

Drawn = tuple[LocalRandomizer, int]
"""A randomizer, and for how many users at most it can be enumerated in a moment."""


@dataclass(frozen=True)
class Point:
    """A randomizer, so many users, an epsilon, and what delta is then."""

    randomizer: LocalRandomizer
    n: int
    epsilon: float
    truth: Truth


def _channel(generator: np.random.Generator) -> Channel:
    """Up to 4 x 4: usual rows, corners of all channels of an epsilon0, rare messages, impossible ones."""
    shape = generator.integers(2, 5, size=2)
    kind = generator.integers(4)
    if kind == 0:
        matrix = np.where(generator.random(shape) < 0.5, np.exp(generator.uniform(0.1, 4)), 1.0)
    elif kind == 1:
        matrix = 10 ** generator.uniform(-6, 0, size=shape)
    else:
        matrix = np.maximum(generator.dirichlet(np.ones(shape[1]), size=shape[0]), 1e-3)
    if kind == 3 and shape[1] > 2:
        matrix[generator.integers(shape[0]), generator.integers(shape[1])] = 0.0
    return Channel(matrix / matrix.sum(axis=1, keepdims=True))


def _response(generator: np.random.Generator) -> RandomizedResponse:
    size = int(generator.integers(2, 5))
    if generator.random() < 0.5:
        return RandomizedResponse(size=size, epsilon0=float(generator.uniform(0.05, 6)))
    return RandomizedResponse(size=size, gamma=float(generator.uniform(0.05, 0.95)))


def _design(generator: np.random.Generator) -> Drawn:
    structures = [
        AffineSpace(prime=2),
        Hadamard(order=4),
        LocalHashing(prime=2, range=2),
        LocalHashing(prime=3, range=2),
    ]
    chosen = structures[generator.integers(len(structures))]
    return DesignResponse.private(chosen, gamma=float(generator.uniform(0.05, 0.9))), 4 if chosen.messages < 7 else 3


def _coin(generator: np.random.Generator) -> RandomizedResponse:
    return RandomizedResponse(size=2, gamma=float(generator.uniform(0.05, 0.95))).as_run()


def _mixture(generator: np.random.Generator) -> Drawn:
    weights = tuple(generator.integers(1, 6, size=2).tolist())
    other = LatticeChannel.of(Channel(generator.dirichlet(np.ones(3), size=2) * 0.97 + 0.01))
    return Mixture(
        weights=weights, parts=(_coin(generator), other if generator.random() < 0.6 else _coin(generator))
    ), 3


def _dummies(generator: np.random.Generator) -> Drawn:
    rate = float(generator.uniform(0.05, 0.8))
    kind = generator.integers(3)
    if kind == 0:
        return Dummies(structure=Identity(size=2), dummies=rate), 3
    if kind == 1:
        return Dummies(structure=Identity(size=3), dummies=rate / 2), 2
    return Dummies(structure=AffineSpace(prime=2), dummies=rate / 4), 1


def _shuffler_noise(generator: np.random.Generator) -> Drawn:
    """Two values; others hide nobody, so one user is enough."""
    epsilon = float(generator.uniform(1.5, 4))
    if generator.random() < 0.5:
        return ShufflerNoise(size=2, noise=ThinnedGeometric.least(epsilon)), 1
    return ShufflerNoise(size=2, noise=TwoSidedGeometric.least(epsilon, 10 ** float(generator.uniform(-3, -0.5)))), 1


def _together(generator: np.random.Generator) -> Drawn:
    return Together(parts=(_coin(generator), _coin(generator))), 3


def _digits(generator: np.random.Generator) -> Drawn:
    """Of one digit: of so few users nothing is claimed for several, which tests/randomizers/test_digits.py enumerates."""
    rate = float(generator.uniform(0.02, 0.3))
    kind = generator.integers(3)
    if kind == 0:
        return Digits(base=2, dummies=(rate,)), 3
    return (Digits(base=3, dummies=(rate,)), 3) if kind == 1 else (Digits(base=2, dummies=(rate,), groups=2), 2)


def _codebook(generator: np.random.Generator) -> Drawn:
    size, gamma = int(generator.integers(2, 9)), float(generator.uniform(0.05, 0.9))
    return CodebookResponse.private(dimension=2, size=size, gamma=gamma), 1


DRAWN: dict[str, Callable[[np.random.Generator], Drawn]] = {
    "response": lambda generator: (_response(generator), 6),
    "channel": lambda generator: (_channel(generator), 5),
    "lattice": lambda generator: (LatticeChannel.of(_channel(generator)), 5),
    "laplace": lambda generator: (Laplace(epsilon0=float(generator.uniform(0.1, 6))), 3),
    "gaussian": lambda generator: (Gaussian(sigma=float(generator.uniform(0.4, 3))), 3),
    "generic": lambda generator: (Generic(epsilon0=float(generator.uniform(0.1, 5))), 5),
    "design": _design,
    "mixture": _mixture,
    "dummies": _dummies,
    "together": _together,
    "shuffler-noise": _shuffler_noise,
    "digits": _digits,
    "codebook": _codebook,
}
"""How a randomizer of each kind is drawn."""


def points(wanted: int, seed: int = 16, only: str | None = None) -> Iterator[Point]:
    """So many, every kind in its turn, always the same ones; perhaps those of one kind only."""
    drawn = islice(((kind, turn) for turn in count() for kind in ORACLES), wanted)
    return (_point(kind, seed, turn) for kind, turn in drawn if only in (None, kind))


@lru_cache(maxsize=1000)
def _point(kind: str, seed: int, turn: int) -> Point:
    generator = np.random.default_rng([seed, turn, *kind.encode()])
    randomizer, most = DRAWN[kind](generator)
    n = int(generator.integers(1, most + 1))
    local: Any = randomizer.epsilon0
    epsilon = float(generator.uniform(0, 0.98)) * (1.5 if local is None else local) * (turn % 7 > 0)
    return Point(randomizer, n, epsilon, ORACLES[kind](randomizer, n).true_delta(n, epsilon))
