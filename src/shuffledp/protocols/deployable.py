"""Protocols whose users send messages of one finite alphabet, each sealed by itself: what can be planned, run and deployed."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, final

import numpy as np

from shuffledp.core.attacker_view import AttackerView
from shuffledp.core.blanket import Blanket
from shuffledp.core.ragged import Ragged
from shuffledp.core.randomizer import SampledRandomizer
from shuffledp.protocols.batched import Batched


class Deployable(Batched):
    """Nobody can tell from one message, or from how many there are, whose it is."""

    __slots__ = ()

    @property
    def local_randomizer(self) -> SampledRandomizer:
        """What protects a user's messages by themselves: usually what the guarantee is proved from."""
        return self.randomizer

    @property
    def epsilon0(self) -> float | None:
        return self.local_randomizer.epsilon0

    def message_blanket(self) -> Blanket:
        """What hides a user's messages once they are shuffled: the randomizer's."""
        return self.randomizer.blanket()

    def attacker_view(self) -> AttackerView:
        """Which messages there are; a subclass that knows how likely they are says that too."""
        return AttackerView(messages=self.alphabet)

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
