"""Random claims about every kind of randomizer, as the accountant makes them, for those who check certificates."""

import math
import random

from shuffledp import Channel, Gaussian, Generic, Guarantee, Laplace, LatticeChannel, RandomizedResponse, account
from shuffledp.accounting.best import Best
from shuffledp.accounting.composition import Collection, Composition, compose
from shuffledp.accounting.numeric import GenericBound, Numeric
from shuffledp.certificates.certificate import Certificate
from shuffledp.core.randomizer import LocalRandomizer
from shuffledp.errors import NoClaim
from shuffledp.randomizers.design_response import DesignResponse
from shuffledp.randomizers.dummies import Dummies
from shuffledp.randomizers.hadamard_design import Hadamard
from shuffledp.randomizers.identity import Identity
from shuffledp.randomizers.local_hashing import LocalHashing
from shuffledp.randomizers.mixture import Mixture
from shuffledp.randomizers.structure import Structure
from shuffledp.randomizers.structures import AffineSpace
from shuffledp.randomizers.together import Together

KINDS = (
    "response", "coin", "laplace", "gaussian", "channel", "lattice", "generic", "design", "mixture", "dummies",
    "cushion", "rounds", "together",
)  # fmt: skip
"""`coin` is about two messages, `cushion` about large crowds of channels, `rounds` about several rounds of the others."""
_FLAT = 0.9
_REPEATED = ("response", "coin", "laplace", "channel", "lattice", "generic", "design", "mixture", "dummies")


def random_randomizer(kind: str, rng: random.Random) -> LocalRandomizer:
    """One of a kind; `coin` is randomized response on two values, or a channel with two messages."""
    if kind == "together":
        return Together(parts=_parts(rng, rng.randint(2, 4)))
    local = 10 ** rng.uniform(-1, 0.9)
    if kind == "coin":
        if rng.random() < 0.5:
            return RandomizedResponse(size=2, epsilon0=local).as_run()
        return Channel([[p, 1 - p] for p in (rng.uniform(0.02, 0.98) for _ in range(rng.randint(2, 4)))])
    if kind == "response":
        return RandomizedResponse(size=rng.choice([3, 4, 10, 100, 5000]), epsilon0=local).as_run()
    if kind == "laplace":
        return Laplace(epsilon0=local)
    if kind == "gaussian":
        return Gaussian(sigma=10 ** rng.uniform(-0.3, 1))
    if kind == "generic":
        return Generic(epsilon0=local)
    if kind in ("channel", "lattice", "cushion"):
        columns = rng.randint(3, 5)
        rows = [[rng.uniform(0.05, 1) for _ in range(columns)] for _ in range(rng.randint(2, 4))]
        channel = Channel([[entry / sum(row) for entry in row] for row in rows])
        return LatticeChannel.of(channel) if kind == "lattice" else channel
    if kind == "dummies":
        return Dummies(structure=_structure(rng), dummies=10 ** rng.uniform(-1.5, 1))
    if kind == "design":
        return DesignResponse.private(_structure(rng), gamma=10 ** rng.uniform(-2, -0.1))
    parts = _parts(rng, rng.randint(1, 3))
    return Mixture(weights=tuple(rng.randint(1, 5) for _ in parts), parts=parts)


def _parts(rng: random.Random, count: int) -> tuple[RandomizedResponse | DesignResponse, ...]:
    found = (random_randomizer(rng.choice(["response", "design"]), rng) for _ in range(count))
    return tuple(part for part in found if isinstance(part, RandomizedResponse | DesignResponse))


def _structure(rng: random.Random) -> Structure:
    return rng.choice(
        [
            AffineSpace(prime=rng.choice([2, 3, 7, 101])),
            AffineSpace(prime=rng.choice([2, 5]), dimension=3),
            Hadamard(order=rng.choice([4, 64])),
            LocalHashing(prime=rng.choice([5, 101]), range=rng.choice([2, 4])),
            Identity(size=rng.choice([2, 10, 1000])),
        ]
    )


def random_certificate(kind: str, rng: random.Random) -> Certificate:
    """A claim with a positive epsilon, solved for epsilon by the accountant.

    Its delta is at most 90 % of what it is at epsilon = 0. Closer to that, 0.2 % of epsilon moves delta by less than twice the
    ten thousandth to which the accountant evaluates it: no two methods tell such claims apart, and nobody makes them.
    """
    while True:
        randomizer = random_randomizer(rng.choice(_REPEATED) if kind == "rounds" else kind, rng)
        rounds = int(10 ** rng.uniform(0.31, 3)) if kind == "rounds" else 1
        fewest = {"gaussian": 2.0, "cushion": 4.0}.get(kind, 0.0)
        n, delta = int(10 ** rng.uniform(fewest, 9)), 10 ** rng.uniform(-10, -2)
        if delta > _FLAT * _delta_at_0(randomizer, n, rounds):
            continue
        try:
            found = _claimed(randomizer, n, delta, rounds)
        except NoClaim:
            continue
        if 0 < found.epsilon < 600:
            return Certificate.of(randomizer, found, reports=n + rng.randint(0, n), rounds=rounds)


def _delta_at_0(randomizer: LocalRandomizer, n: int, rounds: int) -> float:
    if rounds == 1:
        return math.exp(Best().claim(randomizer.blanket(), n=n, epsilon=0.0, side="upper").log_delta.upper)
    return _composed(randomizer, n, rounds).delta(0.0)


def _claimed(randomizer: LocalRandomizer, n: int, delta: float, rounds: int) -> Guarantee:
    if rounds == 1:
        return account(randomizer, n=n, delta=delta)
    epsilon = _composed(randomizer, n, rounds).epsilon(delta)
    return Guarantee(epsilon=epsilon, delta=delta, n=n, bound="numeric", reference="")


def _composed(randomizer: LocalRandomizer, n: int, rounds: int) -> Composition:
    bound = GenericBound() if randomizer.kind == "generic" else Numeric()
    return compose([Collection(blanket=randomizer.blanket(), n=n, rounds=rounds, bound=bound)])
