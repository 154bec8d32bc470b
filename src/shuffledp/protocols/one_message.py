"""Protocols in which a user's value becomes one symbol, and one message of a finite alphabet."""

from abc import abstractmethod
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import checks
from shuffledp.core.attacker_view import AttackerView
from shuffledp.core.counts import Counts
from shuffledp.core.population import Population
from shuffledp.core.randomizer import RunnableRandomizer
from shuffledp.core.randomness import EncodingRandomness, NoWords, RandomSource
from shuffledp.errors import InvalidInput
from shuffledp.protocols.deployable import Deployable
from shuffledp.protocols.estimator import Reals

Symbols = NDArray[np.unsignedinteger]


class OneSymbol(Deployable):
    """A value is encoded as a symbol."""

    __slots__ = ()

    @abstractmethod
    def encode(self, values: NDArray[Any], randomness: RandomSource, *, first_row: int) -> Symbols:
        """The symbols of clean values."""


class OneMessage(OneSymbol):
    """Encode a value as a symbol, randomize the symbol, count the messages."""

    __slots__ = ()
    randomizer: RunnableRandomizer

    def symbol_law(self, value: NDArray[Any]) -> list[tuple[Any, float]]:
        """Which symbols one clean value is encoded as, in an array of one, and how often each: just one, unless it is rounded."""
        return [(self.encode(value, NoWords(), first_row=0)[0], 1.0)]

    @final
    def message_law(self, value: NDArray[Any]) -> NDArray[np.float64]:
        """How likely each message is for somebody with one clean value, in an array of one."""
        messages = np.arange(self.alphabet)
        laws = [often * self.randomizer.probability(messages, symbol) for symbol, often in self.symbol_law(value)]
        return np.asarray(sum(laws))

    def attacker_view(self) -> AttackerView:
        """The law of the message; refused for a value whose encoding depends on chance in a way that is not stated."""
        return AttackerView(messages=self.alphabet, law=self.message_law)

    @property
    def counters(self) -> int:
        """One for each message."""
        return self.alphabet

    @property
    def bits(self) -> int:
        return (self.alphabet - 1).bit_length()

    @final
    def randomize(self, values: NDArray[Any], randomness: RandomSource, *, first_row: int) -> Symbols:
        """One message per value; the encoder has words of its own."""
        symbols = self.encode(values, EncodingRandomness(randomness), first_row=first_row)
        return self.randomizer.randomize(symbols, randomness, first_row=first_row)

    def simulate(self, population: Population, generator: np.random.Generator, runs: int) -> Reals:
        """From the law of a person's message."""
        counts = np.zeros((runs, self.alphabet), dtype=np.int64)
        for j, users in enumerate(population.users.tolist()):
            law = self.message_law(population.values[j : j + 1])
            counts += generator.multinomial(users, law / law.sum(), size=runs)
        return self.debias(counts, population.n)

    @property
    def cells_per_run(self) -> int:
        """A number per message."""
        return self.alphabet

    @final
    def count(self, messages: Symbols) -> Counts:
        """How often each message occurs."""
        return Counts.of(messages, self.alphabet)

    @final
    def add(self, counts: NDArray[np.int64], messages: Symbols) -> None:
        """In place where messages are fewer than counters."""
        if len(messages) < self.alphabet:
            np.add.at(counts, checks.symbols(messages, self.alphabet).astype(np.intp), 1)
        else:
            super().add(counts, messages)

    @final
    def reports(self, counts: NDArray[np.int64]) -> int:
        """As many as messages."""
        return int(counts.sum())

    @final
    def of_user(self, messages: Symbols) -> list[int]:
        return [int(messages[0])]

    @final
    def tallied(self, often: NDArray[np.int64], users: int) -> Counts:
        """One message for each user."""
        counts = Counts(often)
        if counts.size != self.alphabet or counts.total != users:
            raise InvalidInput("these are not one message for each user. They belong to another protocol.")
        return counts


def encoded(
    protocol: OneSymbol, values: NDArray[Any], randomness: RandomSource, *, first_row: int
) -> NDArray[np.uint32]:
    """The symbols of one of several protocols that ask the same people."""
    return protocol.encode(values, randomness, first_row=first_row).astype(np.uint32)
