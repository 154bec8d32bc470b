"""Statistical queries: the share of users, or the mean of any question answered in [0, 1]."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import checks
from shuffledp.core.counts import Counts
from shuffledp.core.estimate import Estimate
from shuffledp.core.guarantee import Guarantee
from shuffledp.core.words import WordSource
from shuffledp.errors import InvalidInput
from shuffledp.protocols.summation import Summation
from shuffledp.randomizers.response import RandomizedResponse


def ask(function: Callable[[Any], Any], people: Iterable[Any]) -> list[Any]:
    """A function of each person. What it raises may show a value, so it is replaced and left out of the context."""
    failure = ""
    try:
        return [function(person) for person in people]
    except Exception as error:
        failure = type(error).__name__
    raise InvalidInput(f"the query failed on a person ({failure}). Test it on made-up people.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """The mean of q(person) over the users, for any function q into [0, 1]. A yes-or-no q gives the share of yes.

    Reference: BBGN19, Corollary 4.1.1.

    >>> protocol = Query(randomizer=RandomizedResponse(size=2, gamma=0.1), function=lambda age: age >= 65)
    >>> from shuffledp import KeyedWords
    >>> protocol.encode([70, 20, 65], KeyedWords.seeded(0), first_row=0).tolist()
    [1, 0, 1]
    """

    randomizer: RandomizedResponse
    function: Callable[[Any], float | bool]

    @property
    def summation(self) -> Summation:
        """The sum of answers in [0, 1] that a query is."""
        return Summation(randomizer=self.randomizer)

    def answers(self, people: Sequence[Any]) -> NDArray[np.float64]:
        """Q of each person."""
        return checks.numbers(ask(self.function, people))

    def encode(self, people: Sequence[Any], words: WordSource, *, first_row: int) -> NDArray[np.unsignedinteger]:
        """Ask each person and round the answer to the grid."""
        return self.summation.encode(self.answers(people), words, first_row=first_row)

    def estimate(self, counts: Counts, *, guarantee: Guarantee | None = None) -> Estimate:
        """The sum of q over the users and its mean, unbiased, as entries 0 and 1."""
        return self.summation.estimate(counts, guarantee=guarantee)

    def mean_squared_error(self, n: int) -> float:
        """Of the mean, at the worst data."""
        return self.summation.mean_squared_error(n) / n**2
