"""Protocols whose users send messages of one finite alphabet, each sealed by itself: what can be planned, run and deployed."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.attacker_view import AttackerView
from shuffledp.core.blanket import Blanket
from shuffledp.core.counts import Counts
from shuffledp.core.ragged import Ragged
from shuffledp.core.randomizer import SampledRandomizer
from shuffledp.protocols.protocol import ShuffleProtocol


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
        return self.randomizer.epsilon0

    def message_blanket(self) -> Blanket:
        """What hides a user's messages once they are shuffled: the randomizer's."""
        return self.randomizer.blanket()

    def attacker_view(self) -> AttackerView:
        """Which messages there are; a subclass that knows how likely they are says that too."""
        return AttackerView(messages=self.alphabet)

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
        ends = np.cumsum(messages.each) if isinstance(messages, Ragged) else np.arange(1, users + 1)
        for row, end in enumerate(ends.tolist()):
            if isinstance(messages, Ragged):
                each = messages.each[row : row + 1]
                yield self.of_user(Ragged(messages.values[end - int(each[0]) : end], each))
            else:
                yield self.of_user(messages[row:end])

    @abstractmethod
    def tallied(self, often: NDArray[np.int64], users: int) -> Counts:
        """The counts of a shuffled batch: how often each message of the alphabet occurs in it, and how many users sent them.

        Refused if so many users cannot have sent these.
        """
