"""The interface of an engine: a protocol and a source in, a tally out.

An engine knows nothing of what is asked. Under the same words every engine gives the same tally, bit for bit.
"""

from collections.abc import Callable
from typing import ClassVar, Protocol

from shuffledp.core.randomness import RandomSource
from shuffledp.domains.domain import STRICT, Policy
from shuffledp.engines.tally import Tally
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
