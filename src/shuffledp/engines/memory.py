"""Everything at once: for values that are in memory anyway."""

from typing import Any, ClassVar

import numpy as np

from shuffledp.core.randomness import Words
from shuffledp.domains.columns import is_arrow
from shuffledp.engines.engine import Job, JobEngine, Progress
from shuffledp.engines.tally import Tally
from shuffledp.sources.source import Chunk, Source


class Memory(JobEngine):
    """Loads the source into one column and tallies that."""

    name: ClassVar[str] = "memory"

    def carried_out(self, job: Job, source: Source, progress: Progress) -> Tally:
        """Tally all rows as one column."""
        chunks = list(source.checked_chunks(job.protocol.domain))
        total = job.started()
        if chunks:
            total.add(
                _joined([chunk.raw for chunk in chunks]), first_row=chunks[0].first_row, addresses=_addresses(chunks),
                leave_out=np.concatenate([one.leave_out + (one.first_row - chunks[0].first_row) for one in chunks]),
            )  # fmt: skip
            progress(1.0)
        return total.tally()


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
