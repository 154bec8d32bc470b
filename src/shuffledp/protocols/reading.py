"""What is answered: read off the entries of an estimate, which are the answer unless a protocol has a reading of its own."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.counts import Counts
from shuffledp.core.estimate import Estimate
from shuffledp.core.population import Population

if TYPE_CHECKING:
    from shuffledp.protocols.protocol import ShuffleProtocol
    from shuffledp.protocols.quantiles import Curve
    from shuffledp.protocols.statistics import Ranking

Reals = NDArray[np.float64]
Read = TypeVar("Read", bound="ShuffleProtocol")
"""The protocol whose estimates are read."""


@dataclass(frozen=True, slots=True)
class Reading(Generic[Read]):
    """The entries themselves."""

    protocol: Read

    @property
    def averages(self) -> bool:
        """Whether the answer is an average over users, not a total."""
        return self.protocol.averages

    def of(self, estimate: Estimate) -> Estimate:
        """The answer, or what entries are parts of, e.g. the means of groups. Runs may be rows."""
        return estimate

    def exactly(self, entries: Reals) -> Reals:
        """The exact answer, read off exact entries; NaN where there is nothing to answer."""
        return entries

    def exactly_for(self, estimate: Estimate, truth: NDArray[Any]) -> Reals:  # noqa: ARG002
        """The exact answer to what an estimate is about: what it always is about, unless it finds that out."""
        return self.exactly(self.protocol.true_answer(truth))

    def error(self, population: Population) -> Reals:
        """The expected squared error of each number that is read, for these very data; or all of it as one number."""
        return np.array([self.protocol.expected_error(population)])

    def shift(self, answer: Estimate, *, times: int = 1) -> float:
        """By how much a number that is read moves at most if one user, or so many, send anything instead."""
        return times * self.protocol.max_shift(answer.n)

    def beside(self, estimate: Estimate) -> dict[str, Estimate]:  # noqa: ARG002
        """What every answer says besides, by name: e.g. how large the groups are."""
        return {}

    def statistics(self, estimate: Estimate, counts: Counts | None = None) -> "Ranking | None":  # noqa: ARG002
        """What else can be read off an estimate, and the counts that it is of, if anything."""
        return None

    @property
    def curved(self) -> tuple[str, ...]:
        """The questions inside this one that ask for a distribution, by name."""
        return ()

    def curves(self, estimate: Estimate) -> "dict[str, Curve]":  # noqa: ARG002
        """What is read off those."""
        return {}

    def notes(self) -> tuple[str, ...]:
        """What a reader of any answer should know."""
        return ()

    def remarks(self, answer: Estimate) -> tuple[str, ...]:  # noqa: ARG002
        """What a reader of this very answer should know."""
        return ()
