"""Pieces of work that the driver sends to tasks of Spark, each an array of bytes with a number."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from shuffledp.cluster.spark_session import forget_tables, quiet
from shuffledp.cluster.sums import Done, Found, Noted, Sums, guarded, sums, told
from shuffledp.errors import InvalidInput

PieceWork = Callable[[Iterator[bytes]], Iterator[Found | Noted]]
"""What a task does with its pieces."""
_ONCE: Final = "Spark did not do every piece of the work exactly once, so nothing is released. Please report this."


def sums_of(session: Any, pieces: Sequence[bytes], work: PieceWork, size: int, *, partitions: int = 1) -> Sums:
    """The sums of what `work` finds in all pieces, each of which counts once however often it is tried."""
    try:
        summed = sums(_table(session, pieces), partial(_done, work), size, partitions=partitions)
    finally:
        forget_tables()
    if not summed.done == summed.distinct == len(pieces):
        raise InvalidInput(_ONCE)
    return summed


def answers(session: Any, pieces: Sequence[bytes], work: Callable[[bytes], bytes]) -> list[bytes]:
    """What `work` makes of each piece, in their order."""
    try:
        answered = _mapped(_table(session, pieces), work)
    finally:
        forget_tables()
    numbers = answered.column("number").to_numpy()
    order = np.argsort(numbers, kind="stable")
    if not np.array_equal(numbers[order], np.arange(len(pieces))):
        raise InvalidInput(_ONCE)
    made = answered.column("piece")
    return [made[int(place)].as_py() for place in order]


def _table(session: Any, pieces: Sequence[bytes]) -> Any:
    import pyarrow as pa

    failure = ""
    try:
        with quiet():
            return session.createDataFrame(
                pa.table({"number": pa.array(range(len(pieces)), pa.int64()), "piece": pa.array(pieces, pa.binary())})
            )
    except Exception as error:
        failure = told(error)
    raise InvalidInput(failure)


def _mapped(table: Any, work: Callable[[bytes], bytes]) -> Any:
    failure = ""
    try:
        with quiet():
            return table.mapInArrow(partial(guarded, partial(_answered, work)), table.schema).toArrow()
    except Exception as error:
        failure = told(error)
    raise InvalidInput(failure)


def _done(work: PieceWork, batches: Iterator[Any]) -> Iterator[Found | Noted | Done]:
    numbers = list[Any]()

    def pieces() -> Iterator[bytes]:
        for batch in batches:
            for number, piece in zip(*(batch.column(name) for name in ("number", "piece")), strict=True):
                yield piece.as_py()
                numbers.append(number.as_py())

    yield from work(pieces())
    yield Done(np.array(numbers, dtype=np.uint64))


def _answered(work: Callable[[bytes], bytes], batches: Iterator[Any]) -> Iterator[Any]:
    import pyarrow as pa

    for batch in batches:
        made = [work(piece.as_py()) for piece in batch.column("piece")]
        yield pa.RecordBatch.from_arrays([batch.column("number"), pa.array(made, pa.binary())], ["number", "piece"])
