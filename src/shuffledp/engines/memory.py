"""Everything at once: for values that are in memory anyway."""

from typing import Any, ClassVar

import numpy as np

from shuffledp.core.randomness import RandomSource, Words
from shuffledp.domains.columns import is_arrow
from shuffledp.domains.domain import STRICT, Policy
from shuffledp.engines.engine import Progress
from shuffledp.engines.tally import Tally, tally_rows
from shuffledp.protocols.protocol import ShuffleProtocol
from shuffledp.sources.source import Chunk, Source


class Memory:
    """Loads the source into one column and tallies that."""

    name: ClassVar[str] = "memory"

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
        """Tally all rows as one column."""
        protocol.domain.check(policy)
        chunks = list(source.checked_chunks(protocol.domain))
        if not chunks:
            return Tally.empty(protocol, truth=truth)
        tally = tally_rows(
            protocol, _joined([chunk.raw for chunk in chunks]), randomness, policy, first_row=chunks[0].first_row,
            in_file=source.in_file, truth=truth, addresses=_addresses(chunks),
            leave_out=np.concatenate([chunk.leave_out + (chunk.first_row - chunks[0].first_row) for chunk in chunks]),
        )  # fmt: skip
        if progress is not None:
            progress(1.0)
        return tally


def _addresses(chunks: list[Chunk]) -> Words | None:
    given = [chunk.addresses for chunk in chunks if chunk.addresses is not None]
    return np.concatenate(given) if given else None


def _joined(columns: list[Any]) -> Any:
    if len(columns) == 1:
        return columns[0]
    if all(is_arrow(column) for column in columns):
        import pyarrow as pa

        return pa.chunked_array(columns).combine_chunks()
    return [value for column in columns for value in column]
