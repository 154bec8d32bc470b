"""Protocols in which a user sends one message of a finite alphabet: the ones that can be planned, run and deployed."""

from abc import abstractmethod
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.counts import Counts
from shuffledp.core.randomizer import RunnableRandomizer
from shuffledp.core.words import EncodingWords, WordSource
from shuffledp.protocols.protocol import ShuffleProtocol

Symbols = NDArray[np.unsignedinteger]


class OneMessage(ShuffleProtocol):
    """Encode a value as a symbol, randomize the symbol, count the messages."""

    __slots__ = ()
    randomizer: RunnableRandomizer
    """Exactly as it runs: its blanket is what a guarantee is proved from."""

    @abstractmethod
    def encode(self, values: NDArray[Any], words: WordSource, *, first_row: int) -> Symbols:
        """The symbols of clean values."""

    @property
    def alphabet(self) -> int:
        """Messages are the numbers below this."""
        return self.randomizer.messages

    @property
    def counters(self) -> int:
        """One for each message."""
        return self.alphabet

    @property
    def epsilon0(self) -> float | None:
        """The randomizer's."""
        return self.randomizer.epsilon0

    @property
    def bits(self) -> int:
        """Of one message."""
        return (self.alphabet - 1).bit_length()

    @final
    def randomize(self, values: NDArray[Any], words: WordSource, *, first_row: int) -> Symbols:
        """One message per value; the encoder has words of its own."""
        symbols = self.encode(values, EncodingWords(words), first_row=first_row)
        return self.randomizer.randomize(symbols, words, first_row=first_row)

    @final
    def count(self, messages: Symbols) -> Counts:
        """How often each message occurs."""
        return Counts.of(messages, self.alphabet)

    @final
    def reports(self, counts: NDArray[np.int64]) -> int:
        """As many as messages."""
        return int(counts.sum())
