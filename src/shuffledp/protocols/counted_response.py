"""What counting by a response has in common: a value is a symbol already, and the summed error is the same for all data."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.population import Population
from shuffledp.core.randomizer import RunnableRandomizer
from shuffledp.core.randomness import RandomSource
from shuffledp.errors import InvalidInput
from shuffledp.protocols.counting import Counting, by_share
from shuffledp.protocols.estimator import Reals
from shuffledp.protocols.on_domain import OnDomain
from shuffledp.protocols.one_message import OneMessage, Symbols
from shuffledp.protocols.sampling import Sampleable


class Response(RunnableRandomizer, Protocol):
    """A randomizer that mixes what belongs to the value with a uniform blanket."""

    @property
    def gamma_as_run(self) -> float:
        """The blanket probability that is actually sampled, to the nearest double."""
        ...

    def sentence(self) -> str:
        """What a user does with a symbol."""
        ...


class CountedResponse(OnDomain, Counting, OneMessage, Sampleable):
    """Users who hold each value of a list, by a response on its symbols. Its error does not depend on the data."""

    __slots__ = ()
    randomizer: Response

    @property
    def gamma(self) -> float:
        """The blanket probability that is actually sampled."""
        return self.randomizer.gamma_as_run

    def check_gamma(self) -> None:
        """Refuse a blanket that leaves nothing of the values."""
        if not self.gamma < 1:
            raise InvalidInput("gamma is 1: the messages say nothing about the values. Use a smaller gamma.")

    def sentence(self) -> str:
        """The response in words."""
        return f"each user {self.randomizer.sentence()}"

    def encode(self, values: NDArray[Any], randomness: RandomSource, *, first_row: int) -> Symbols:  # noqa: ARG002
        """Clean values are symbols already; nothing is random here."""
        return values

    def worst_variance(self, share: float, n: int) -> float:
        return float(self.variance(np.array([0.0, share * n]), n).max())

    def errors_by_share(self, n: int) -> dict[float, float]:
        return by_share(self.variance, n)

    def expected_error(self, population: Population) -> float:
        return self.mean_squared_error(population.n)

    def most_spread(self, value: Reals, n: int) -> Reals:
        """P (1 - p), if a share p holds the value."""
        share = np.clip(value / n, 0, 1)
        return np.asarray(share * (1 - share) * n / max(1, n - 1))

    def worst_sampled(self, n: int, weight: float) -> Population:  # noqa: ARG002
        """All values are held by as many people."""
        size = self.domain.size
        users = np.full(size, n // size)
        users[: n % size] += 1
        return Population(values=np.arange(size), users=users)
