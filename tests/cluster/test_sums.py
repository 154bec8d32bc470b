"""Sums that tasks of Spark make: what was read together is proved to belong together, whatever was run again."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from oracles.spark_tasks import numbered
from shuffledp import InvalidInput, KeyedRandomness
from shuffledp.cluster.sums import Done, Found, Noted, Sums, _bits, _read, _Task, guarded, told

COUNTERS, BUCKETS = 40, 4
SECRET = KeyedRandomness.seeded(1)


def task(version: str | None = None) -> _Task:
    made = _Task(partial(numbered, counters=COUNTERS), BUCKETS, SECRET, "")
    from importlib.metadata import version as installed

    return _Task(made.work, BUCKETS, SECRET, version or installed("shuffledp"))


def written(numbers: Sequence[int], *, cut: int = 5) -> pa.Table:
    """What a task writes about rows with these numbers, which come to it in batches."""
    batches = [
        pa.record_batch({"id": pa.array(numbers[i : i + cut], pa.uint64())}) for i in range(0, len(numbers), cut)
    ]
    return pa.Table.from_batches(list(task()(iter(batches))))


def read(*attempts: Sequence[pa.Table]) -> Sums:
    """What the driver comes to if bucket j reads attempt j of every task, as Spark would add it up."""
    rows = []
    for bucket in range(BUCKETS):
        for output in attempts[bucket % len(attempts)]:
            rows += [row for row in output.to_pylist() if row["bucket"] == bucket]
    grouped: dict[tuple[Any, ...], list[int]] = {}
    for row in rows:
        total, bits = grouped.setdefault((row["bucket"], row["kind"], row["key"], row["text"]), [0, 0])
        grouped[row["bucket"], row["kind"], row["key"], row["text"]] = [
            total + row["value"],
            bits | row["value"] % 2**64,
        ]
    merged: dict[tuple[Any, ...], list[int]] = {}
    for (bucket, kind, key, text), (total, bits) in grouped.items():
        place = (bucket, kind, 0 if kind == 1 else key, text)
        before = merged.get(place, [0, 0])
        merged[place] = [before[0] + total, before[1] + bits.bit_count()]
    columns = list(zip(*merged, strict=True))
    return _read(
        pa.table({
            "kind": pa.array(columns[1], pa.int32()), "key": pa.array(columns[2], pa.int64()),
            "text": pa.array(columns[3], pa.string()),
            "total": pa.array([total % 2**63 for total, _ in merged.values()], pa.int64()),
            "bits": pa.array([bits for _, bits in merged.values()], pa.int64()),
        }), COUNTERS, BUCKETS,
    )  # fmt: skip


def test_sums_of_all_tasks() -> None:
    parts = [list(range(30)), list(range(30, 90)), [], [1000, 2**64 - 1, 500]]
    found = read([written(part) for part in parts])
    numbers = [number for part in parts for number in part]
    assert found.done == found.distinct == len(numbers)
    assert found.notes == {(7, "rows"): len(numbers)}
    assert found.counts.tolist() == np.bincount([number % COUNTERS for number in numbers], minlength=COUNTERS).tolist()


@pytest.mark.parametrize(
    "parts", [[[1, 2, 2]], [[1, 2, 3], [3]], [list(range(70)), [64]], [[7] * 9], [[5], [5], [5]]], ids=str
)
def test_what_comes_twice_is_seen(parts: list[list[int]]) -> None:
    found = read([written(part) for part in parts])
    assert found.done == sum(map(len, parts))
    assert found.distinct == len({number for part in parts for number in part}) < found.done


def test_a_task_that_is_run_again_alike_changes_nothing() -> None:
    first, second = [written([3, 1, 4, 99]), written([5, 9])], [written([99, 4, 1, 3], cut=2), written([9, 5])]
    assert read(first, second).counts.tolist() == read(first).counts.tolist()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([[1, 2, 3]], [[1, 2, 4]]),
        ([[1, 2, 3]], [[1, 2]]),
        ([[1, 1, 3]], [[2, 2, 3]]),
        ([[1, 1 + COUNTERS]], [[1 + 2 * COUNTERS, 1 + 3 * COUNTERS]]),
        ([[1], [1]], [[], []]),
        ([[1, 2], [3]], [[1, 2], [3, 3]]),
        ([[0, 64], [128]], [[0], [128]]),
    ],
)
def test_a_task_that_found_other_rows_the_second_time_is_noticed(
    first: list[list[int]], second: list[list[int]]
) -> None:
    with pytest.raises(InvalidInput, match="changes each time"):
        read([written(part) for part in first], [written(part) for part in second])


def test_a_bucket_that_nobody_read_is_noticed() -> None:
    output = written([1, 2, 3])
    kept = output.filter(pa.array([row != 2 for row in output.column("bucket").to_pylist()]))
    with pytest.raises(InvalidInput, match="changes each time"):
        read([kept])


def test_numbers_as_bits() -> None:
    numbers = np.array([0, 1, 63, 64, 2**64 - 1, 130], dtype=np.uint64)
    sets, bits = _bits(numbers)
    seen = {int(s) % 2**58 * 64 + j for s, b in zip(sets, bits, strict=True) for j in range(64) if int(b) >> j & 1}
    assert seen == set(numbers.tolist())
    assert all(len(part) == 0 for part in _bits(np.empty(0, np.uint64)))


def test_executors_with_another_version_are_refused() -> None:
    with pytest.raises(InvalidInput, match="another version of shuffledp"):
        read([pa.Table.from_batches(list(task("0.0.0")(iter(()))))])


def test_no_message_of_an_error_leaves_a_task_but_ours() -> None:
    def refuses(_: Iterator[Any]) -> Iterator[Found | Noted | Done]:
        raise InvalidInput("in data row 3 the value is missing.")
        yield Noted(0, "", 0)

    def fails(_: Iterator[Any]) -> Iterator[Any]:
        raise KeyError("31337")
        yield

    made = task()
    with pytest.raises(InvalidInput, match="in data row 3"):
        read([pa.Table.from_batches(list(_Task(refuses, BUCKETS, SECRET, made.version)(iter(()))))])
    with pytest.raises(RuntimeError) as error:
        list(guarded(fails, iter(())))
    assert (str(error.value), error.value.__context__) == ("a task of shuffledp failed: KeyError", None)
    assert "KeyError" in told(RuntimeError("... RuntimeError: a task of shuffledp failed: KeyError\n at 31337"))
    assert "31337" not in told(ValueError("31337"))
    assert "disk of Spark is full" in told(RuntimeError("java.io.IOException: No space left on device 31337"))
    assert "executors lack shuffledp" in told(RuntimeError("ModuleNotFoundError: No module named 'shuffledp'"))


def test_secrets_are_not_shown() -> None:
    assert "secret" not in repr(task())
