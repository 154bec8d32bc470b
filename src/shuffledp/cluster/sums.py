"""Sums over everything that tasks of Spark find, in one evaluation of the table they work on.

A task may be run again, on another machine and after others have read what it wrote, and a table may be another one each
time (`limit`, `rand`, a file that was replaced). So nothing is evaluated twice, and what is read is proved to belong together:

- Every task writes what it found as rows (bucket, kind, key, value), and a mark into *every* bucket: a keyed fingerprint of all
  that it worked on and found. A bucket is read by one task, which adds its rows up. If all buckets have the same sum
  of marks, all of them read the same work of every task.
- A task numbers what it worked on (rows by their addresses, or pieces of work by their numbers). Which numbers came is written as
  64 bits for each 64 numbers, and the bits of all tasks are put together: so many bits, so many different numbers.

Sums are made where the data are. What comes to the driver is one number for each key.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.cluster.spark_session import quiet
from shuffledp.core.randomness import KeyedRandomness, Words
from shuffledp.errors import InvalidInput

Integers = NDArray[np.int64]
SCHEMA: Final = "bucket int, kind int, key bigint, value bigint, text string"
_COUNT, _NUMBER, _MARK, _NOTE, _FAILURE, _DONE = range(6)
_FAILED: Final = "a task of shuffledp failed"
_SPREAD: Final = np.uint64(0x9E3779B97F4A7C15)
"""An odd number whose multiples are spread evenly."""
_AT_ONCE: Final = 1 << 16
"""Rows that a task writes together."""


class Found(NamedTuple):
    """Something that a task found: numbers by key, all of which are added up."""

    keys: Integers
    values: Integers


class Noted(NamedTuple):
    """A number with a text: those of the same place and text are added up."""

    place: int
    text: str
    value: int


class Done(NamedTuple):
    """Numbers of what was worked on, from 0 to 2^64 - 1, in any order. No number may come twice in all."""

    numbers: Words


Work = Callable[[Iterator[Any]], Iterator[Found | Noted | Done]]
"""What a task does with the batches of its part of a table. `InvalidInput` is told; anything else is tried again by Spark."""


class Refused(InvalidInput):
    """What a task refuses, with the place where it did so: of several, the first one is told."""

    def __init__(self, message: str, place: int) -> None:
        super().__init__(message)
        self.place = place

    def __reduce__(self) -> Any:
        return Refused, (str(self), self.place)


@dataclass(frozen=True, slots=True)
class Sums:
    """What all tasks found together.

    Attributes:
        counts: by key.
        notes: by place and text.
        done: how many things were worked on.
        distinct: how many of them are different.
    """

    counts: Integers = field(repr=False)
    notes: dict[tuple[int, str], int]
    done: int
    distinct: int


def sums(table: Any, work: Work, size: int, *, partitions: int = 1) -> Sums:
    """The sums of what `work` finds in a table, whose keys are below `size`; computed by so many tasks.

    Raises:
        InvalidInput: if a task refuses its rows, Spark fails, or what was read does not belong together.
    """
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    buckets = max(1, partitions)
    task = _Task(work, buckets, KeyedRandomness.fresh(), version("shuffledp"))
    kind, value = F.col("kind"), F.col("value")
    added = F.when(kind.isin(_COUNT, _NOTE, _MARK, _DONE), value).otherwise(F.lit(0))
    failure = ""
    try:
        with quiet():
            rows = table.mapInArrow(task, SCHEMA).repartition(buckets, "bucket")
            by_key = rows.groupBy("bucket", "kind", "key", "text").agg(
                F.sum(added).alias("total"), F.bit_or(value).alias("bits")
            )  # as rows are together by bucket, neither this nor the next moves any
            key = F.when(kind == _NUMBER, F.lit(0)).otherwise(F.col("key")).alias("key")
            summed = by_key.groupBy("bucket", "kind", key, "text").agg(
                F.sum("total").alias("total"), F.sum(F.bit_count("bits")).alias("bits")
            )
            collected = summed.toArrow()
    except Exception as error:  # its message may quote a value
        failure = told(error)
    if failure:
        raise InvalidInput(failure)
    return _read(collected, size, buckets)


# In a task


def guarded(work: Callable[[Iterator[Any]], Iterator[Any]], batches: Iterator[Any]) -> Iterator[Any]:
    """The work of a task. An error of another kind than ours may quote a value, so only its name is told."""
    failure = ""
    try:
        yield from work(batches)
    except Exception as error:
        failure = type(error).__name__
    if failure:
        raise RuntimeError(f"{_FAILED}: {failure}")


@dataclass(frozen=True, slots=True)
class _Task:
    work: Work = field(repr=False)
    buckets: int
    secret: KeyedRandomness = field(repr=False)
    version: str

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Work off the record batches of a partition, as Spark asks a task to."""
        return guarded(self._rows, batches)

    def _rows(self, batches: Iterator[Any]) -> Iterator[Any]:
        mark, done, notes = 0, 0, list[Noted]()
        counts = hashlib.blake2b(key=self.secret.blocks(np.zeros(2, np.uint64), 1).tobytes(), digest_size=8)
        try:
            if version("shuffledp") != self.version:
                raise InvalidInput("Spark's executors have another version of shuffledp. Install the same everywhere.")
            for yielded in self.work(batches):
                if isinstance(yielded, Done):
                    done += len(yielded.numbers)
                    mark += int(self.secret.blocks(yielded.numbers, 0)[:, 0].sum(dtype=np.uint64))
                    yield from self._written(_NUMBER, *_bits(yielded.numbers))
                elif isinstance(yielded, Noted):
                    notes.append(yielded)
                else:
                    counts.update(np.stack([yielded.keys, yielded.values]).tobytes())
                    yield from self._written(_COUNT, yielded.keys, yielded.values)
        except InvalidInput as error:
            yield _batch([0], [_FAILURE], [getattr(error, "place", 0)], [0], [str(error)])
        for note in notes:
            counts.update(repr(note).encode())
            yield _batch([0], [_NOTE], [note.place], [note.value], [note.text])
        yield _batch([0], [_DONE], [0], [done], None)
        mark += done + int.from_bytes(counts.digest(), "big")
        every = np.arange(self.buckets)
        for half in range(2):  # so that their sum over all tasks fits
            same = np.full(self.buckets, mark >> 32 * half & 0xFFFFFFFF)
            yield _batch(every, np.full(self.buckets, _MARK), np.full(self.buckets, half), same, None)

    def _written(self, kind: int, keys: Integers, values: Integers) -> Iterator[Any]:
        for start in range(0, len(keys), _AT_ONCE):
            some = keys[start : start + _AT_ONCE]
            where = ((some.view(np.uint64) * _SPREAD) >> np.uint64(33)) % np.uint64(self.buckets)
            yield _batch(where, np.full(len(some), kind), some, values[start : start + _AT_ONCE], None)


def _bits(numbers: Words) -> tuple[Integers, Integers]:
    """Numbers as sets of 64 each: which 64, and which of them. What comes twice is one bit."""
    if len(numbers) > 1 and not bool((numbers[1:] >= numbers[:-1]).all()):
        numbers = np.sort(numbers)
    sets = numbers >> np.uint64(6)
    first = np.flatnonzero(np.concatenate([[True], sets[1:] != sets[:-1]])) if len(numbers) else np.empty(0, np.intp)
    bits = np.bitwise_or.reduceat(np.uint64(1) << (numbers & np.uint64(63)), first) if len(numbers) else numbers
    return sets[first].view(np.int64), bits.view(np.int64)


def _batch(buckets: Any, kinds: Any, keys: Any, values: Any, texts: list[str] | None) -> Any:
    import pyarrow as pa

    columns = [
        pa.array(np.asarray(buckets, dtype=np.int32)), pa.array(np.asarray(kinds, dtype=np.int32)),
        pa.array(np.asarray(keys, dtype=np.int64)), pa.array(np.asarray(values, dtype=np.int64)),
        pa.nulls(len(keys), pa.string()) if texts is None else pa.array(texts, pa.string()),
    ]  # fmt: skip
    return pa.RecordBatch.from_arrays(columns, ["bucket", "kind", "key", "value", "text"])


# In the driver


def _read(collected: Any, size: int, buckets: int) -> Sums:
    kinds, keys, totals, bits = (collected.column(name).to_numpy() for name in ("kind", "key", "total", "bits"))
    texts = collected.column("text")
    failures = [(int(keys[i]), str(texts[i])) for i in np.flatnonzero(kinds == _FAILURE)]
    if failures:
        raise InvalidInput(min(failures)[1])
    marks = [totals[(kinds == _MARK) & (keys == half)].tolist() for half in range(2)]
    if len(kinds) and any(len(same) != buckets or len(set(same)) != 1 for same in marks):
        raise InvalidInput(
            "Spark ran a part of the work again and found other rows, so nothing is released. The table changes each "
            "time it is read. Write it to a file or a table first, and read that."
        )
    counts = np.zeros(size, dtype=np.int64)
    counted = kinds == _COUNT
    if counted.any() and not 0 <= keys[counted].min() <= keys[counted].max() < size:
        raise InvalidInput("a task counted what was not asked for. Please report this.")
    np.add.at(counts, keys[counted], totals[counted])
    notes = {(int(keys[i]), str(texts[i])): int(totals[i]) for i in np.flatnonzero(kinds == _NOTE)}
    return Sums(counts, notes, int(totals[kinds == _DONE].sum()), int(bits[kinds == _NUMBER].sum()))


def told(error: Exception) -> str:
    """What went wrong in Spark, without the values that its message may quote."""
    text = str(error)
    if re.search(r"No module named '(shuffledp|pyarrow|numpy|cryptography)", text):
        return (
            "Spark's executors lack shuffledp or what it needs. Install it in their Python as it is here, with pyarrow, and name "
            "that Python with PYSPARK_PYTHON."
        )
    if "No space left on device" in text:
        return "a disk of Spark is full, so nothing is released. Make room in its folder (spark.local.dir), or choose another."
    ours = re.search(rf"{_FAILED}: (\w+)", text)
    what = ours[1] if ours else getattr(error, "getCondition", lambda: None)() or type(error).__name__
    return f"Spark could not do the work ({what}), so nothing is released. Look into Spark's log, and check the table."


def joined(batches: Iterable[Any], rows: int) -> Iterator[Any]:
    """Batches of at least so many rows, but for the last: those that Spark sends are small."""
    import pyarrow as pa

    waiting, many = list[Any](), 0
    for batch in batches:
        waiting.append(batch)
        many += batch.num_rows
        if many >= rows:
            yield pa.Table.from_batches(waiting).combine_chunks().to_batches()[0]
            waiting, many = [], 0
    if many:
        yield pa.Table.from_batches(waiting).combine_chunks().to_batches()[0]
