"""What it costs that only a random part of the people is asked."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.population import Population

if TYPE_CHECKING:
    from shuffledp.protocols.protocol import ShuffleProtocol

Reals = NDArray[np.float64]


class Sampleable(ABC):
    """The error of asking only a random part of the people is known."""

    __slots__ = ()

    @abstractmethod
    def most_spread(self, value: Reals, n: int) -> Reals:
        """The most variance between n people whose answer is this, for each entry, with n - 1 in the denominator."""

    @abstractmethod
    def worst_sampled(self, n: int, weight: float) -> Population:
        """Data at which the mean error of a person, plus so many times the variance between people, is largest."""


def spread(protocol: "ShuffleProtocol", population: Population) -> float:
    """The variance of what people are expected to add, with n - 1 in the denominator, summed over entries."""
    if population.n < 2:
        return 0.0
    people = [
        Population(values=population.values[j : j + 1], users=np.array([1])) for j in range(len(population.users))
    ]
    each = np.array([protocol.expected(one) + protocol.bias(one) for one in people])
    mean = population.users @ each / population.n
    return float((population.users @ np.square(each - mean)).sum() / (population.n - 1))


def sampled_error(protocol: "ShuffleProtocol", asked: int, n: int) -> float | None:
    """The expected squared error of the answer about n people if a random `asked` of them are, at the worst data.

    Formula: (n / m) V + s^2 (1 / m - 1 / n) S^2. Legend: m = asked; V = the protocol's own squared error for n people;
    s = 1 for a mean, n for a total; S^2 = spread. None if the protocol does not know its worst data then, or has no entries yet.
    """
    if not isinstance(protocol, Sampleable) or not protocol.names:
        return None
    worst = protocol.worst_sampled(n, 1 - asked / n)
    scale = 1 if protocol.averages else n
    noise = n / asked * protocol.expected_error(worst)
    return noise + scale**2 * (1 / asked - 1 / n) * spread(protocol, worst)
