"""What an analyzer needs of a protocol: how messages are counted, and what the counts say."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.counts import Counts
from shuffledp.core.estimate import Estimate
from shuffledp.core.guarantee import Guarantee
from shuffledp.errors import InvalidInput
from shuffledp.protocols.reading import Reading

Reals = NDArray[np.float64]


class Estimator(ABC):
    """From messages to counts, and from counts to unbiased estimates."""

    __slots__ = ()

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """What each entry of the estimate is."""

    @property
    def averages(self) -> bool:
        """Whether entries of the estimate are averages over users, not totals."""
        return False

    @property
    @abstractmethod
    def counters(self) -> int:
        """Into how many numbers the messages of a batch are summed."""

    @property
    def decoding_memory(self) -> int:
        """How many bytes estimating takes besides the counts, if that is much."""
        return 0

    @abstractmethod
    def count(self, messages: Any) -> Counts:
        """What is kept of messages: counts of a batch are the sum of the counts of its parts."""

    def add(self, counts: NDArray[np.int64], messages: Any) -> None:
        """Add the counts of messages to those of others."""
        counts += self.count(messages).values

    @abstractmethod
    def reports(self, counts: NDArray[np.int64]) -> int:
        """The number of users whose messages were counted."""

    @abstractmethod
    def debias(self, counts: NDArray[np.int64], n: int) -> Reals:
        """Unbiased estimates from counts of n users, one run per row."""

    @abstractmethod
    def standard_error(self, value: Reals, n: int) -> Reals:
        """The standard deviation of each entry of such estimates, estimated from themselves; one run per row."""

    def estimate(self, counts: Counts, *, guarantee: Guarantee | None = None) -> Estimate:
        """An estimate from the counts of a batch."""
        if counts.size != self.counters:
            raise InvalidInput(
                f"got {counts.size} counts instead of {self.counters}: they belong to another protocol. Use its plan."
            )
        n = self.reports(counts.values)
        if n == 0:
            raise InvalidInput("there are no reports to estimate from. Collect some first.")
        value = self.debias(counts.values, n)
        return Estimate(
            value=value, standard_error=self.standard_error(value, n), n=n, guarantee=guarantee, names=self.names
        )

    @property
    @abstractmethod
    def reading(self) -> Reading[Any]:
        """What is answered: the entries, unless it is read off them, e.g. the means of groups off counts."""
