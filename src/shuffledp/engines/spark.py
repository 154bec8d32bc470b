"""Rows spread over the executors of Apache Spark: more of them than one machine can read.

The rows of a table of Spark stay where they are, and have the addresses that one of its columns gives them. Any other
source is cut into splits here, which executors read: those of Parquet files are places in files that executors must see under the
same path, and what can only be read in its order is read here and sent to them.
"""

import pickle
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Final

import numpy as np

from shuffledp.cluster.pieces import sums_of
from shuffledp.cluster.spark_session import current_session, forget_tables, setting
from shuffledp.cluster.sums import Done, Found, Noted, Refused, Sums, joined, sums
from shuffledp.core.counts import Counts
from shuffledp.core.free_memory import settle_allocator
from shuffledp.core.randomness import KeyedRandomness
from shuffledp.engines.engine import Job, JobEngine, Progress
from shuffledp.engines.tally import Tally, Tallying
from shuffledp.errors import InvalidInput
from shuffledp.sources.source import Source, Split, rows_at_once
from shuffledp.sources.spark_table import Reader, SparkSource

_ROWS: Final = 1 << 20
"""Rows that are sent to an executor as one piece of work."""
_BYTES: Final = 1 << 26
"""Bytes of work that are sent at once."""
_MOST_SENT: Final = 128
"""Pieces of work that are sent at once."""
_FEW: Final = 1 << 16
"""Counters that one task adds up."""
_MOST_ADDERS: Final = 64
_ROWS_SEEN, _REJECTED, _ADJUSTED, _TRUTH = range(4)


class Spark(JobEngine):
    """Tallies splits of the rows in tasks of Spark; a task that is run again gives the same messages.

    Args:
        session: of Spark, classic or Connect; that of the table, the active one or a new one, unless given.
    """

    name: ClassVar[str] = "spark"

    def __init__(self, session: Any = None) -> None:
        self._session = session

    def carried_out(self, job: Job, source: Source, progress: Progress) -> Tally:
        """Tally all splits, each of which counts once however often it is tried."""
        if not isinstance(job.randomness, KeyedRandomness):
            raise InvalidInput(
                "Spark may do work twice, so words must be the same each time. Use KeyedRandomness.fresh()."
            )
        if isinstance(source, SparkSource):
            tally = _of_table(job, source)
            progress(1.0)
            return tally
        return self._of_splits(job, source, progress)

    def _of_splits(self, job: Job, source: Source, progress: Progress) -> Tally:
        """Splits of a source, so many at once that the driver can hold them. Of several errors, the first one is raised."""
        spark = self._session or current_session()
        total = Tally.empty(job.protocol, truth=job.truth)
        failure: InvalidInput | None = None
        waiting, share = list[bytes](), 0.0
        sent = _sent(source.checked_splits(job.protocol.domain))
        while True:
            try:
                piece, share = next(sent, (None, share))
            except InvalidInput as error:  # what was read before it comes first
                piece, failure = None, error
            if piece is not None:
                waiting.append(piece)
            if waiting and (piece is None or len(waiting) >= _MOST_SENT or sum(map(len, waiting)) >= _BYTES):
                work = partial(_done, job)
                total += _heard(job, sums_of(spark, waiting, work, job.protocol.counters, partitions=_adders(job)))
                waiting.clear()
                if failure is None:
                    progress(share)
            if piece is None:
                break
        if failure is not None:
            raise failure
        return total


def _started(job: Job) -> Tallying:
    settle_allocator()
    return job.started()


def _told(tally: Tally) -> Iterator[Found | Noted]:
    """A task's tally, for those who add up."""
    keys = np.flatnonzero(tally.counts.values)
    yield Found(keys, tally.counts.values[keys])
    yield Noted(_ROWS_SEEN, "", tally.rows)
    for place, reasons in ((_REJECTED, tally.rejected), (_ADJUSTED, tally.adjusted)):
        for reason, often in sorted(reasons.items()):
            yield Noted(place, reason, often)
    if tally.truth is not None:
        yield Noted(_TRUTH, pickle.dumps(tally.truth).hex(), 1)


def _heard(job: Job, summed: Sums) -> Tally:
    """The tally that all tasks together told."""
    total = Tally.empty(job.protocol, truth=job.truth)
    rejected, adjusted, rows = total.rejected.copy(), total.adjusted.copy(), 0
    for (place, text), value in summed.notes.items():
        if place == _ROWS_SEEN:
            rows = value
        elif place == _TRUTH:
            for _ in range(value):  # tasks whose truths are the same
                total = replace(total, truth=total.truth + pickle.loads(bytes.fromhex(text)))  # noqa: S301 - our own
        else:
            (rejected if place == _REJECTED else adjusted)[text] += value
    return replace(total, rows=rows, counts=Counts(summed.counts), rejected=rejected, adjusted=adjusted)


# Splits of any source


def _sent(splits: Iterator[Split]) -> Iterator[tuple[bytes, float]]:
    """Splits together as a piece of work to send, and the share of the source that is sent with it."""
    some, rows, share, failure = list[bytes](), 0, 0.0, None
    while True:
        try:
            split = next(splits, None)
        except InvalidInput as error:
            split, failure = None, error
        if split is not None:
            some.append(_pickled(split))
            rows, share = rows + split.rows, split.share
        if some and (split is None or rows >= _ROWS or sum(map(len, some)) >= _BYTES // 4):
            yield pickle.dumps(some), share
            some, rows = [], 0
        if split is None:
            break
    if failure is not None:
        raise failure


def _pickled(split: Split) -> bytes:
    trouble = ""
    try:
        return pickle.dumps(split)
    except Exception as error:  # its message may quote a value
        trouble = type(error).__name__
    raise InvalidInput(f"the rows cannot be sent to Spark ({trouble}). Give a file, or a column of plain values.")


def _done(job: Job, pieces: Iterator[bytes]) -> Iterator[Found | Noted]:
    """What a task does with splits of a source."""
    total = _started(job)
    for piece in pieces:
        for split in pickle.loads(piece):  # noqa: S301 - our own driver's
            _add(pickle.loads(split), total)  # noqa: S301
    yield from _told(total.tally())


def _add(split: Split, total: Tallying) -> None:
    try:
        for chunk in split.chunks():
            total.add(chunk.raw, first_row=chunk.first_row, leave_out=chunk.leave_out, addresses=chunk.addresses)
    except InvalidInput as error:
        refused = Refused(str(error), split.first_row)
    else:
        return
    raise refused


# A table of Spark


def _of_table(job: Job, source: SparkSource) -> Tally:
    reading = source.reading(job.protocol.domain)
    adders = int(setting(source.session, "spark.sql.shuffle.partitions") or 1)
    summed = sums(
        reading.table, partial(_rows_done, job, reading.reader), job.protocol.counters,
        partitions=max(adders, _adders(job)),
    )  # fmt: skip
    forget_tables()
    tally = _heard(job, summed)
    if summed.distinct != summed.done:
        raise InvalidInput(
            f"{source} has two rows with the same row number, which would share their coins. Number each row once."
        )
    if summed.done != tally.rows:
        raise InvalidInput("Spark did not tally every row once, so nothing is released. Please report this.")
    return tally


def _rows_done(job: Job, reader: Reader, batches: Iterator[Any]) -> Iterator[Found | Noted | Done]:
    """What a task does with rows of a table."""
    total, read, row = _started(job), reader.opened(), 0
    for batch in joined(batches, rows_at_once(job.protocol.domain)):
        rows = read(batch, row)
        total.add(rows.raw, first_row=row, leave_out=rows.leave_out, addresses=rows.addresses)
        yield Done(rows.addresses)
        row += batch.num_rows
    yield from _told(total.tally())


def _adders(job: Job) -> int:
    """Tasks that add up what others counted."""
    return min(_MOST_ADDERS, 1 + job.protocol.counters // _FEW)
