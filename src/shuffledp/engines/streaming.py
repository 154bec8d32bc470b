"""One piece after the other: any number of rows in little memory."""

from typing import ClassVar

from shuffledp.core.words import WordSource
from shuffledp.domains.domain import STRICT, Policy
from shuffledp.engines.engine import Progress
from shuffledp.engines.source import Source
from shuffledp.engines.tally import Tally, Tallying, settle_allocator
from shuffledp.protocols.protocol import ShuffleProtocol


class Streaming:
    """Tallies each piece of the source and counts them together."""

    name: ClassVar[str] = "streaming"

    def tally(
        self,
        protocol: ShuffleProtocol,
        source: Source,
        words: WordSource,
        policy: Policy = STRICT,
        *,
        truth: bool = False,
        progress: Progress | None = None,
    ) -> Tally:
        """Of all pieces."""
        settle_allocator()
        total = Tallying(protocol, words, policy, in_file=source.in_file, truth=truth)
        for piece in source.consecutive(protocol.domain):
            total.add(piece.raw, first_row=piece.first_row, leave_out=piece.leave_out, addresses=piece.addresses)
            if progress is not None:
                progress(piece.share)
        return total.tally()
