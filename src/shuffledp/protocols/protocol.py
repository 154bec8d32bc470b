"""The interface of a protocol: how values become messages, and messages an estimate.

Everything else in the package sees protocols through this file: engines count their messages, the service carries them, the
planner compares their forecasts, reports print their names. What a new protocol must not be able to get wrong lives above:
which guarantee is claimed, which words are used for whom, how many reports are released together.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Final, Self, TypeGuard

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.captions import spoken
from shuffledp.core.counts import Counts
from shuffledp.core.digits import at_most
from shuffledp.core.document import Document
from shuffledp.core.estimate import Estimate
from shuffledp.core.guarantee import Guarantee
from shuffledp.core.population import Population
from shuffledp.core.words import WordSource
from shuffledp.domains.domain import Domain
from shuffledp.errors import InvalidInput
from shuffledp.protocols.reading import Reading

Reals = NDArray[np.float64]
_BYTES_PER_COUNTER: Final = 32
"""Counts of 8 bytes: all, those of a block, and what adding and checking them takes."""


class ShuffleProtocol(ABC):
    """A randomizer of values and the estimator for its messages."""

    __slots__ = ()
    kind: ClassVar[str]
    """Its name in documents and in the registry."""
    reference: ClassVar[str]
    """Where it comes from."""

    # What it answers

    @property
    @abstractmethod
    def question(self) -> str:
        """What is asked, in a word: histogram, sum, ..."""

    @property
    @abstractmethod
    def domain(self) -> Domain:
        """The values that it takes."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """What each entry of the estimate is."""

    @property
    def measure(self) -> str:
        """What the numbers of the estimate are, for an axis or a heading."""
        return self.question

    @property
    def measures(self) -> dict[str, str]:
        """The same for each of several questions, by its name; nothing if there is one."""
        return {}

    @property
    def averages(self) -> bool:
        """Whether entries of the estimate are averages over users, not totals."""
        return False

    @property
    def asks(self) -> bool:
        """Whether values are answers to a question that must be asked of each person."""
        return False

    @abstractmethod
    def sentence(self) -> str:
        """What one user does, in one sentence."""

    def about(self, candidates: Sequence[str] | None) -> Self:
        """The same protocol with an answer about these texts, if it takes any text; None: as it is.

        Which texts are asked about is no part of what users agree to: their messages are the same. So more can be asked later,
        of the same counts.
        """
        if candidates is not None:
            raise InvalidInput(
                f"{spoken(self.question)} is about what the plan lists, not about candidates. Leave them out."
            )
        return self

    # What a user sends

    @property
    @abstractmethod
    def epsilon0(self) -> float | None:
        """The local privacy parameter, rounded up; None if a user's messages are not private by themselves."""

    @property
    def messages_per_user(self) -> float:
        """How many messages a user sends, on average."""
        return 1

    @property
    @abstractmethod
    def bits(self) -> int:
        """How many bits all messages of a user have."""

    @abstractmethod
    def randomize(self, values: NDArray[Any], words: WordSource, *, first_row: int) -> Any:
        """The messages of clean values, one row per user: a pure function of the values and the words of their rows.

        Under one key no row may be used for two people or two questions: they would share their coins.
        """

    def select(self, messages: Any, rows: NDArray[np.bool_]) -> Any:
        """The messages of some of the users."""
        return tuple(part[rows] for part in messages) if isinstance(messages, tuple) else messages[rows]

    # What they add up to

    @property
    @abstractmethod
    def counters(self) -> int:
        """Into how many numbers the messages of a batch are summed."""

    @property
    def memory(self) -> int:
        """About how many bytes it takes to count a batch and to estimate from the counts."""
        return _BYTES_PER_COUNTER * self.counters + self.decoding_memory

    @property
    def decoding_memory(self) -> int:
        """What estimating takes of it, if that is much."""
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

    @property
    def errors_are_bounds(self) -> bool:
        """Whether standard errors are those at the worst data, so that the true ones may be smaller."""
        return False

    def estimate(self, counts: Counts, *, guarantee: Guarantee | None = None) -> Estimate:
        """What the counts of a batch say."""
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
    def reading(self) -> Reading[Any]:
        """What is answered: the entries, unless it is read off them, e.g. the means of groups off counts."""
        return Reading(self)

    # How far off that is

    @abstractmethod
    def mean_squared_error(self, n: int) -> float:
        """The expected squared error of the answer for n users, summed over its entries, at the worst data."""

    @abstractmethod
    def worst(self, n: int) -> Population:
        """Data at which that is attained."""

    def expected(self, population: Population) -> Reals:
        """The exact answer for such data."""
        return self.true_answer(self.truth_of(population))

    @abstractmethod
    def truth_of(self, population: Population) -> NDArray[Any]:
        """What the values of a population add up to."""

    @abstractmethod
    def expected_error(self, population: Population) -> float:
        """The expected squared error for these very data, summed over the entries; data-dependent, so itself private."""

    def rmse(self, n: int) -> float:
        """The root of the mean squared error."""
        return math.sqrt(self.mean_squared_error(n))

    def bias(self, population: Population) -> Reals:  # noqa: ARG002
        """By how much each entry is off on average, for these very data: nothing, unless values share a public hash."""
        return np.zeros(len(self.names))

    def errors_by_share(self, n: int) -> dict[float, float]:  # noqa: ARG002
        """The standard error of the count of a value, by the share of the users who hold it; nothing if that is not asked."""
        return {}

    def errors_by_question(self, n: int) -> dict[str, float]:  # noqa: ARG002
        """The error of one entry of each of several questions, root mean square, at the worst data; nothing if there is one."""
        return {}

    def outlook(self, n: int) -> dict[str, float]:  # noqa: ARG002
        """What else can be expected of n users, by name, besides the error."""
        return {}

    def expectations(self, n: int) -> tuple[str, ...]:
        """What people should expect of n users, a line each: how far off one entry is, before all together."""
        return (f"expected error: at most {at_most(self.rmse(n))} (root mean square, at the worst data)",)

    def paper_error(self, n: int) -> float | None:  # noqa: ARG002
        """The paper's bound on the mean squared error of this protocol, if it has one."""
        return None

    @property
    def sampled(self) -> bool:
        """Whether the error of asking only a random part of the people is known: the next two."""
        return False

    def most_spread(self, value: Reals, n: int) -> Reals:
        """The most variance between n people whose answer is this, for each entry, with n - 1 in the denominator."""
        raise NotImplementedError

    def worst_sampled(self, n: int, weight: float) -> Population:
        """Data at which the mean error of a person, plus so many times the variance between people, is largest."""
        raise NotImplementedError

    @abstractmethod
    def max_shift(self, n: int) -> float:
        """By how much an entry of the estimate for n users moves at most if one of them sends anything instead."""

    @abstractmethod
    def simulate(self, population: Population, generator: np.random.Generator, runs: int) -> Reals:
        """Estimates of runs, one per row, exact in law for any number of users. They carry no guarantee."""

    @property
    def cells_per_run(self) -> int:
        """How many numbers a simulated run draws, so that callers can bound memory."""
        return 1

    # The exact answer

    @abstractmethod
    def truth(self, values: NDArray[Any]) -> NDArray[Any]:
        """What clean values add up to, exactly: truths of parts are added with +."""

    @abstractmethod
    def true_answer(self, truth: NDArray[Any]) -> Reals:
        """The exact answer, one entry per entry of the estimate. Not private."""

    # As data

    @abstractmethod
    def document(self) -> Document:
        """JSON data from which `from_document` builds the very same protocol."""

    @classmethod
    @abstractmethod
    def from_document(cls, document: object) -> Self:
        """The protocol of a document; anything unexpected in it is refused."""

    @classmethod
    @abstractmethod
    def examples(cls) -> Sequence[Self]:
        """A few of them: what the conformance suite judges."""


def is_protocol(thing: object) -> TypeGuard[ShuffleProtocol]:
    """Whether this is a protocol, not a randomizer or a plan."""
    return isinstance(thing, ShuffleProtocol)
