"""What protocols have in common whose users add dummies to what they send: messages, and how they are counted."""

import math
from abc import abstractmethod
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import checks
from shuffledp.core.counts import Counts
from shuffledp.core.ragged import Ragged
from shuffledp.core.randomness import EncodingRandomness, RandomSource
from shuffledp.errors import InvalidInput
from shuffledp.protocols.deployable import Deployable
from shuffledp.randomizers.digit_by_digit import Digits
from shuffledp.randomizers.dummies import Dummies


class WithDummies(Deployable):
    """A true message, or one for each digit, and dummies; what is counted is each message, and the users."""

    __slots__ = ()
    randomizer: Dummies | Digits

    def sentence(self) -> str:
        """What one user does."""
        return f"each user {self.randomizer.sentence()}"

    # What a user sends

    @property
    def messages_per_user(self) -> float:
        """The true ones and the dummies."""
        return self.randomizer.true_messages + self.randomizer.dummies_per_user

    @property
    def most_messages(self) -> int:
        """The true ones and the most dummies."""
        return self.randomizer.true_messages + self.randomizer.most

    def fewest_messages(self, users: int) -> int:
        """A Poisson number of mean m is below m - t with a probability of at most e^(-t^2 / 2m)."""
        mean = users * self.randomizer.dummies_per_user
        fewest = max(0, math.floor(mean - math.sqrt(2 * mean * math.log(1e12))))
        return users * self.randomizer.true_messages + fewest

    @property
    def bits(self) -> int:
        return math.ceil(self.messages_per_user * (self.alphabet - 1).bit_length())

    @abstractmethod
    def encode(self, values: NDArray[Any], randomness: RandomSource, *, first_row: int) -> NDArray[np.integer]:
        """The symbols of clean values."""

    @final
    def randomize(self, values: NDArray[Any], randomness: RandomSource, *, first_row: int) -> Ragged:
        """The messages of each user; the encoder has words of its own."""
        symbols = self.encode(values, EncodingRandomness(randomness), first_row=first_row)
        return self.randomizer.randomize(symbols, randomness, first_row=first_row)

    def of_user(self, messages: Ragged) -> list[int]:
        """Sorted, so that their order does not tell which are the true ones."""
        return sorted(messages.of_row(0).tolist())

    # What they add up to

    @property
    def counters(self) -> int:
        """One for each message, and one for the users."""
        return self.alphabet + 1

    def count(self, messages: Ragged) -> Counts:
        """How often each message occurs, and how many users there are."""
        return self._counts(messages.counts(self.alphabet), len(messages))

    def add(self, counts: NDArray[np.int64], messages: Ragged) -> None:
        """In place where messages are fewer than counters."""
        if len(messages) < self.alphabet:
            np.add.at(counts, checks.symbols(messages.values, self.alphabet).astype(np.intp), 1)
            counts[-1] += len(messages)
        else:
            counts += self.count(messages).values

    def tallied(self, often: NDArray[np.int64], users: int) -> Counts:
        """At least one message for each user, and no more than a user sends at most."""
        counts = Counts(often)
        if counts.size != self.alphabet or not users <= counts.total <= users * self.most_messages:
            raise InvalidInput("so many users cannot have sent these messages. They belong to another protocol.")
        return self._counts(often, users)

    def reports(self, counts: NDArray[np.int64]) -> int:
        return int(counts[-1])

    def _counts(self, often: NDArray[np.int64], users: int) -> Counts:
        return Counts(np.append(often, np.int64(users)))
