"""A protocol whose users send up to three messages: a randomized response, and none, one or two that anybody could have sent.

Its guarantee is the response's: what is sent beside it does not depend on the value.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from oracles.parties import PARTIES
from shuffledp import InvalidInput, RandomizedResponse, plan
from shuffledp.core.counts import Counts
from shuffledp.core.document import Readers, Written
from shuffledp.core.population import Population
from shuffledp.core.ragged import Ragged
from shuffledp.core.randomness import RandomSource
from shuffledp.domains.whole_numbers import WholeNumbers
from shuffledp.protocols.counting import Counting
from shuffledp.protocols.deployable import Deployable
from shuffledp.service.task import Task

Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Chatty(Written, Counting, Deployable):
    """How many users hold each value."""

    randomizer: RandomizedResponse
    kind = "chatty"
    readers: ClassVar[Readers] = {"randomizer": RandomizedResponse.from_document}
    reference: ClassVar[str] = "this test"

    @property
    def domain(self) -> WholeNumbers:
        return WholeNumbers(self.randomizer.size)

    @property
    def most_messages(self) -> int:
        return 3

    @property
    def bits(self) -> int:
        return 3 * (self.alphabet - 1).bit_length()

    @property
    def messages_per_user(self) -> float:
        return 2.0

    @property
    def counters(self) -> int:
        """One for each message, and the users."""
        return self.alphabet + 1

    def sentence(self) -> str:
        return "each user sends a randomized response and up to two random messages"

    def randomize(self, values: NDArray[Any], randomness: RandomSource, *, first_row: int) -> Ragged:
        response = self.randomizer.randomize(values, randomness, first_row=first_row)
        rows = np.arange(first_row, first_row + len(values), dtype=np.uint64)
        each = 1 + (randomness.blocks(rows, 1 << 40)[:, 0] % np.uint64(3)).astype(np.int64)
        beside = randomness.blocks(rows, 1 << 41) % np.uint64(self.alphabet)
        sent = np.column_stack([response.astype(np.uint64), beside])
        return Ragged(sent[np.arange(3) < each[:, None]], each)

    def of_user(self, messages: Ragged) -> list[int]:
        return [int(message) for message in messages.values]

    def count(self, messages: Ragged) -> Counts:
        often = np.bincount(messages.values.astype(np.int64), minlength=self.alphabet)
        return self.tallied(often, len(messages))

    def tallied(self, often: NDArray[np.int64], users: int) -> Counts:
        if len(often) != self.alphabet or not users <= often.sum() <= 3 * users:
            raise InvalidInput("so many users cannot have sent these messages. They belong to another protocol.")
        return Counts(np.append(often, users).astype(np.int64))

    def reports(self, counts: NDArray[np.int64]) -> int:
        return int(counts[-1])

    def debias(self, counts: NDArray[np.int64], n: int) -> Reals:
        """One of the messages beside is sent on average."""
        gamma, size = self.randomizer.gamma_as_run, self.alphabet
        return np.asarray((counts[..., :-1] - n * (1 + gamma) / size) / (1 - gamma))

    def variance(self, users: Reals, n: int) -> Reals:
        """More than it is."""
        gamma, size = self.randomizer.gamma_as_run, self.alphabet
        beside = n * (2 / 3 / size**2 + 1 / size)
        return np.asarray((users * gamma + (n - users) * gamma / size + beside) / (1 - gamma) ** 2)

    def max_shift(self, n: int) -> float:
        return 3 / (1 - self.randomizer.gamma_as_run)

    def simulate(self, population: Population, generator: np.random.Generator, runs: int) -> Reals:
        raise NotImplementedError

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(RandomizedResponse(size=3, gamma=0.2))]


def chatty_task(*, size: int = 64, n: int = 40, honest_fraction: float = 1.0, **terms: Any) -> Task:
    """A task of this protocol, proved as a histogram's is."""
    histogram = plan("histogram", n=n, epsilon=4.0, delta=1e-2, size=size, honest_fraction=honest_fraction)
    response = histogram.protocol.randomizer
    assert isinstance(response, RandomizedResponse)
    return Task(
        **{"window": 60, "max_age": 600} | PARTIES | {"honest_fraction": honest_fraction} | terms,
        plan=replace(histogram, protocol=Chatty(response)),
    )


def batch_of(records: Sequence[bytes], reports: int) -> bytes:
    """What a shuffler releases of so many reports."""
    return reports.to_bytes(8, "big") + b"".join(records)
