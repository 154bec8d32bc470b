"""What an analyzer needs of messages that were shuffled: how many there are, and what they are added up to."""

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import checks
from shuffledp.core.counts import Counts
from shuffledp.core.randomizer import SampledRandomizer
from shuffledp.core.randomness import RandomSource
from shuffledp.protocols.protocol import ShuffleProtocol


class Batched(ShuffleProtocol):
    """Messages of one finite alphabet, of many users in one batch."""

    __slots__ = ()
    randomizer: SampledRandomizer
    """Exactly as it runs: its law is what a guarantee is proved from."""

    @property
    def alphabet(self) -> int:
        """Messages are the numbers below this."""
        return self.randomizer.messages

    @property
    def most_messages(self) -> int:
        """A user sends at most so many."""
        return 1

    def fewest_messages(self, users: int) -> int:
        """So many users who follow the protocol send no fewer messages, but for a chance of 1e-12."""
        return users

    def shuffled(self, counts: Counts, randomness: RandomSource) -> Counts:  # noqa: ARG002
        """What leaves the shuffler: the counts as they are, unless it adds noise.

        A pure function of the words, none of which belongs to a user.
        """
        return counts

    @property
    def states_reports(self) -> bool:
        """Whether a released batch must say how many reports it is of, because its records do not."""
        return self.most_messages > 1

    def fewest_records(self, reports: int, honest: int) -> int:
        """A batch of so many reports, of which so many follow the protocol, has no fewer records, but for a chance of 1e-12."""
        return reports - honest + self.fewest_messages(honest)

    def most_records(self, reports: int) -> int:
        """It has no more."""
        return reports * self.most_messages

    @property
    def counted_by_message(self) -> bool:
        """Whether there is a counter for each message; else there are too many, and what each one says is added up."""
        return True

    @property
    def batch_counters(self) -> int:
        """Into how many numbers a shuffled batch is summed, for `tallied`."""
        return self.alphabet

    def add_batch(self, totals: NDArray[np.int64], messages: NDArray[np.uint64], often: NDArray[np.int64]) -> None:
        """Add messages of a shuffled batch, each of which occurs so often in it."""
        np.add.at(totals, checks.symbols(messages, self.alphabet).astype(np.intp), often)

    @abstractmethod
    def tallied(self, often: NDArray[np.int64], users: int) -> Counts:
        """The counts of a shuffled batch: how often each message of the alphabet occurs in it, and how many users sent them.

        Where there are too many messages for that, it is what `add_batch` made of them. Refused if so many users cannot have sent
        these.
        """
