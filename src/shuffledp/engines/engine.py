"""The interface of an engine: a protocol and a source in, a tally out.

An engine knows nothing of what is asked. Under the same words every engine gives the same tally, bit for bit.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from shuffledp.core.randomness import RandomSource
from shuffledp.domains.domain import STRICT, Policy
from shuffledp.engines.tally import Tally, Tallying
from shuffledp.protocols.protocol import ShuffleProtocol
from shuffledp.sources.source import Source

Progress = Callable[[float], None]


class Engine(Protocol):
    """How a protocol is run on data."""

    name: ClassVar[str]
    """Its name in the registry."""

    def tally(
        self,
        protocol: ShuffleProtocol,
        source: Source,
        randomness: RandomSource,
        policy: Policy = STRICT,
        *,
        truth: bool = False,
        progress: Progress | None = None,
    ) -> Tally:
        """Randomize every row with the words of its address and count the messages; `progress` is told the share done."""
        ...


@dataclass(frozen=True, slots=True)
class Job:
    """What is done with the rows of a source, wherever that is."""

    protocol: ShuffleProtocol = field(repr=False)
    randomness: RandomSource = field(repr=False)
    policy: Policy
    in_file: bool
    truth: bool

    def started(self) -> Tallying:
        """To which chunks of rows can be added."""
        return Tallying(self.protocol, self.randomness, self.policy, in_file=self.in_file, truth=self.truth)


class JobEngine(ABC):
    """An engine that is told what to do in one piece, whose policy fits the values."""

    name: ClassVar[str]

    def tally(
        self,
        protocol: ShuffleProtocol,
        source: Source,
        randomness: RandomSource,
        policy: Policy = STRICT,
        *,
        truth: bool = False,
        progress: Progress | None = None,
    ) -> Tally:
        """The tally of all rows of a source; `progress` is told the share done."""
        protocol.domain.check(policy)
        job = Job(protocol, randomness, policy, in_file=source.in_file, truth=truth)
        return self.carried_out(job, source, progress or _unheard)

    @abstractmethod
    def carried_out(self, job: Job, source: Source, progress: Progress) -> Tally:
        """The tally of a source, for all that one job says."""


def _unheard(share: float) -> None:
    """Take progress that nobody asked about."""
