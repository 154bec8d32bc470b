"""Protocols whose users send messages of one finite alphabet, each sealed by itself: what can be planned, run and deployed."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.counts import Counts
from shuffledp.core.randomizer import SampledRandomizer
from shuffledp.protocols.protocol import ShuffleProtocol

_TOGETHER: Final = 256
"""Users whose messages are told apart from others' at a time, so that each is looked at a bounded number of times."""


class Deployable(ShuffleProtocol):
    """Nobody can tell from one message, or from how many there are, whose it is."""

    __slots__ = ()
    randomizer: SampledRandomizer
    """Exactly as it runs: its law is what a guarantee is proved from."""

    @property
    def alphabet(self) -> int:
        """Messages are the numbers below this."""
        return self.randomizer.messages

    @property
    def epsilon0(self) -> float | None:
        """The randomizer's."""
        return self.randomizer.epsilon0

    @property
    def most_messages(self) -> int:
        """A user sends at most so many."""
        return 1

    def fewest_messages(self, users: int) -> int:
        """So many users who follow the protocol send no fewer messages, but for a chance of 1e-12."""
        return users

    @abstractmethod
    def of_user(self, messages: Any) -> list[int]:
        """The messages of one user, as `randomize` gives them for one row. Their number does not depend on the value."""

    @final
    def by_user(self, messages: Any, users: int) -> Iterator[list[int]]:
        """The messages of each user, as `randomize` gives them for so many rows."""
        for start in range(0, users, _TOGETHER):
            rows = np.arange(users)
            some = self.select(messages, (rows >= start) & (rows < start + _TOGETHER))
            rows = rows[: min(_TOGETHER, users - start)]
            for row in rows:
                yield self.of_user(self.select(some, rows == row))

    @abstractmethod
    def tallied(self, often: NDArray[np.int64], users: int) -> Counts:
        """The counts of a shuffled batch: how often each message of the alphabet occurs in it, and how many users sent them.

        Refused if so many users cannot have sent these.
        """
