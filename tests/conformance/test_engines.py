"""What every registered engine must do: the tally that rows have one by one, bit for bit, on every source."""

import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from oracles.fingerprint import Fingerprinted, fingerprinted
from oracles.tallies import same
from shuffledp import InvalidInput, KeyedRandomness, Policy
from shuffledp.baselines.registry import protocols
from shuffledp.core.randomness import RandomSource
from shuffledp.domains.domain import STRICT, Domain
from shuffledp.engines import tally
from shuffledp.engines.arrow import Arrow
from shuffledp.engines.engine import Engine, Progress
from shuffledp.engines.registry import ENGINES, engine_named
from shuffledp.engines.tally import Tally, tally_rows
from shuffledp.protocols.protocol import ShuffleProtocol
from shuffledp.sources import csv_file, file_source, values
from shuffledp.sources.file_source import FileSource
from shuffledp.sources.source import Chunk, Source, Split
from shuffledp.sources.values import ValuesSource

WORDS = KeyedRandomness.seeded(21)
ROWS = 150
EXAMPLES = [example for kind in protocols().values() for example in kind.examples()]
MEAN = next(example for example in EXAMPLES if example.description.question == "mean")
COLOURS = next(example for example in EXAMPLES if "red" in example.names)
PEOPLE = np.random.default_rng(2).integers(0, 60, ROWS)
SECOND_ROWS = [j for j in range(ROWS) if int((PEOPLE[:j] == PEOPLE[j]).sum()) >= 2]
SLOW = () if os.environ.get("SHUFFLEDP_TEST_SCALE") else ("spark",)
"""Engines whose every tally takes a while: each case in one of its forms, and in all of them in `make test-all`."""
T = TypeVar("T")


def forms(engine: Engine, case: int, every: list[T], at_least: int = 1) -> list[T]:
    """All forms of a case, or some of them, other ones for the next case."""
    if engine.name not in SLOW:
        return every
    return [every[(case * at_least + j) % len(every)] for j in range(at_least)]


class Cut(Source):
    """A column in memory, in pieces."""

    def __init__(self, column: Any, size: int) -> None:
        self._column, self._size = column, size

    def chunks(self, domain: Domain) -> Iterator[Chunk]:
        for first in range(0, len(self._column), self._size):
            yield Chunk(self._column[first : first + self._size], first)

    def __str__(self) -> str:
        return "the cut-up column"


@contextmanager
def small_batches(block: int = 1 << 10) -> Iterator[None]:
    """Files and columns in many pieces, each of which is randomized in blocks of so many rows at most."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_source, "rows_at_once", lambda _: 32)
        patch.setattr(csv_file, "_BLOCK", 1 << 9)
        patch.setattr(tally, "rows_at_once", lambda _: block)
        patch.setattr(values, "rows_at_once", lambda _: 47)
        yield


@cache
def row_by_row(protocol: ShuffleProtocol, rows: tuple[Any, ...], policy: Policy, surplus: tuple[int, ...]) -> Tally:
    """What an engine must come to: every row by itself, at its own address."""
    total = Tally.empty(protocol, truth=True)
    for j, value in enumerate(rows):
        total += tally_rows(
            protocol, [value], WORDS, policy, first_row=j, leave_out=[0] if j in surplus else [], truth=True
        )
    return total


def check_tally(
    engine: Engine, protocol: ShuffleProtocol, source: Source, rows: list[Any], policy: Policy = STRICT,
    surplus: list[int] | None = None, block: int = 1 << 10,
) -> None:  # fmt: skip
    expected = row_by_row(protocol, tuple(rows), policy, tuple(surplus or ()))
    heard: list[float] = []
    with small_batches(block):
        found = engine.tally(protocol, source, WORDS, policy, truth=True, progress=heard.append)
        again = found if engine.name in SLOW else engine.tally(protocol, source, WORDS, policy)
    assert same(found, expected)
    assert again is found or again.truth is None
    assert (again.counts.values == expected.counts.values).all()
    assert heard == sorted(heard)
    assert not rows or heard[-1] == 1.0


def mixed(protocol: ShuffleProtocol) -> list[Any]:
    samples = protocol.domain.samples()
    return [samples[j] for j in np.random.default_rng(3).integers(0, len(samples), ROWS)]


def with_holes(rows: list[Any], *holes: Any) -> list[Any]:
    """Some rows are something else."""
    return [holes[j // 7 % len(holes)] if j % 7 == 3 else value for j, value in enumerate(rows)]


def check_memory(engine: Engine, folder: Path) -> None:
    """Lists, arrays and Arrow columns, whole and in pieces, of every protocol."""
    for case, protocol in enumerate(EXAMPLES):
        rows = mixed(protocol)
        columns = (rows, np.array(rows), pa.array(rows))
        sources = [source for column in columns for source in (ValuesSource(column), Cut(column, 40))]
        for source in forms(engine, case, sources):
            check_tally(engine, protocol, source, rows)


def check_files(engine: Engine, folder: Path) -> None:
    """CSV and Parquet, a column or an expression."""
    for protocol, expression in ((MEAN, "x::DOUBLE"), (COLOURS, "trim(x)")):
        rows = mixed(protocol)
        data = pa.table({"x": rows, "y": ["other cells"] * ROWS})
        csv.write_csv(data, folder / "people.csv")
        parquet.write_table(data, folder / "people.parquet", row_group_size=50)
        for name in ("people.csv", "people.parquet"):
            source = "x::VARCHAR" if name == "people.parquet" and expression != "x::DOUBLE" else expression
            check_tally(engine, protocol, FileSource(folder / name, column="x"), rows)
            check_tally(engine, protocol, FileSource(folder / name, query=source), rows)


def check_awkward_rows(engine: Engine, folder: Path) -> None:
    """Missing values skipped or replaced, numbers clamped, unknown labels collected, people with too many rows left out."""
    cases: list[tuple[ShuffleProtocol, list[Any], list[Policy]]] = [
        (
            MEAN,
            with_holes(mixed(MEAN), None, 77.0, math.nan),
            [Policy(missing="skip", outside="clamp"), Policy(missing_as="1", outside="clamp")],
        ),
        (
            COLOURS,
            with_holes(mixed(COLOURS), None, "mauve"),
            [Policy(missing="skip", other="blue"), Policy(missing_as="red", other="green")],
        ),
    ]
    for protocol, rows, policies in cases:
        data = pa.table({"x": pa.array(rows, from_pandas=False), "who": PEOPLE})
        parquet.write_table(data, folder / "people.parquet", row_group_size=50)
        csv.write_csv(data, folder / "people.csv")
        for case, policy in enumerate(policies):
            sources: list[tuple[Source, list[int]]] = [
                (ValuesSource(rows), []),
                (Cut(rows, 33), []),
                (Cut(pa.array(rows, from_pandas=False), 33), []),
            ]
            for name in ("people.csv", "people.parquet"):
                sources.append((FileSource(folder / name, column="x"), []))
                sources.append((FileSource(folder / name, column="x", user="who", max_rows_per_user=2), SECOND_ROWS))
            for source, surplus in forms(engine, case, sources, at_least=4):
                check_tally(engine, protocol, source, rows, policy, surplus, block=11)


def check_refusals(engine: Engine, folder: Path) -> None:
    """A row that does not fit is refused by its number in the file, and not shown; a bad policy before anything is read."""
    rows = mixed(MEAN)
    rows[70] = 31337.0
    parquet.write_table(pa.table({"x": rows}), folder / "people.parquet")
    for source, where in (
        (FileSource(folder / "people.parquet", column="x"), "in data row 71 "),
        (Cut(rows, 40), "a value "),
    ):
        with small_batches(), pytest.raises(InvalidInput, match=where) as refused:
            engine.tally(MEAN, source, WORDS)
        assert "31337" not in str(refused.value)
    with pytest.raises(InvalidInput, match="`other` is for"):
        engine.tally(MEAN, ValuesSource([1.0]), WORDS, Policy(other="blue"))


def check_nobody(engine: Engine, folder: Path) -> None:
    """No rows are no trouble."""
    for source in (ValuesSource([]), Cut([], 5)):
        check_tally(engine, COLOURS, source, [])


class Numbered(Cut):
    """A column in memory, in pieces; its rows have numbers of their own."""

    def __init__(self, column: Any, numbers: list[int], size: int) -> None:
        super().__init__(column, size)
        self._numbers = np.array(numbers, dtype=np.uint64)

    def chunks(self, domain: Domain) -> Iterator[Chunk]:
        for chunk in super().chunks(domain):
            yield chunk._replace(addresses=self._numbers[chunk.first_row :][: len(chunk.raw)])


class Overlapping(Cut):
    """A column in splits, the second of which begins in the first one."""

    def splits(self, domain: Domain) -> Iterator[Split]:
        for first in (0, 30):
            yield Split(first, 40, partial(iter, (Chunk(self._column[first : first + 40], first),)))

    def chunks(self, domain: Domain) -> Iterator[Chunk]:
        for split in self.splits(domain):
            yield from split.read()


def check_addresses(engine: Engine, folder: Path) -> None:
    """A row that has a number of its own has the messages of that number, wherever it stands."""
    order = np.random.default_rng(4).permutation(ROWS).tolist()
    for case, protocol in enumerate(EXAMPLES[:: 3 if engine.name in SLOW else 1]):
        rows = mixed(protocol)
        in_order = Numbered(rows, list(range(ROWS)), 40)
        for source in forms(engine, case, [in_order, Numbered([rows[j] for j in order], order, 40)]):
            check_tally(engine, protocol, source, rows, block=29)
    rows = mixed(COLOURS)
    data = pa.table({"x": [rows[j] for j in order], "id": order, "who": [f"{j}" for j in order]})
    parquet.write_table(data, folder / "people.parquet", row_group_size=50)
    csv.write_csv(data, folder / "people.csv")
    for name in ("people.csv", "people.parquet"):
        check_tally(engine, COLOURS, FileSource(folder / name, column="x", row_id="id", user="who"), rows)
    for numbers in ([0, 1, 2, 1], [3, 2, 1, 3], [5, 5, 6, 7]):
        with small_batches(), pytest.raises(InvalidInput, match="two rows with the same row number"):
            engine.tally(COLOURS, Numbered(rows[:4], numbers, 2), WORDS)
    with pytest.raises(InvalidInput, match="skips or repeats rows"):
        engine.tally(COLOURS, Overlapping(rows[:70], 40), WORDS)


def check_messages(engine: Engine, folder: Path) -> None:
    """Not only the counts: every row has the messages of its address, for every protocol."""
    order = np.random.default_rng(5).permutation(ROWS).tolist()
    for case, protocol in enumerate(EXAMPLES[:: 3 if engine.name in SLOW else 1]):
        rows, spied = mixed(protocol), fingerprinted(protocol)
        for source in forms(engine, case, [Cut(rows, 40), Numbered([rows[j] for j in order], order, 40)]):
            check_tally(engine, spied, source, rows)


CHECKS: list[Callable[[Engine, Path], None]] = [
    check_memory, check_files, check_awkward_rows, check_refusals, check_nobody, check_addresses, check_messages,
]  # fmt: skip


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_every_engine(tmp_path: Path, engine_name: str, check: Callable[[Engine, Path], None]) -> None:
    check(engine_named(engine_name), tmp_path)


def test_an_unknown_engine_is_refused() -> None:
    assert all(engine.name == name for name, engine in ENGINES.items())
    with pytest.raises(InvalidInput, match="no engine 'abacus'"):
        engine_named("abacus")


# Wrong ones


class Wrong(Arrow):
    """An engine whose pieces are spoilt."""

    def chunk(self, chunk: Chunk) -> Chunk:
        return chunk

    def spoilt(self, tally: Tally) -> Tally:
        return tally

    def tally(
        self, protocol: ShuffleProtocol, source: Source, randomness: RandomSource, policy: Policy = STRICT, *,
        truth: bool = False, progress: Progress | None = None,
    ) -> Tally:  # fmt: skip
        total = Tally.empty(protocol, truth=truth)
        for given in source.checked_chunks(protocol.domain):
            chunk = self.chunk(given)
            total += self.spoilt(
                tally_rows(
                    protocol, chunk.raw, randomness, policy, first_row=chunk.first_row, in_file=source.in_file,
                    leave_out=chunk.leave_out, truth=truth, addresses=chunk.addresses,
                )
            )  # fmt: skip
            if progress is not None:
                progress(chunk.share)
        return total


class RestartsRowNumbers(Wrong):
    def chunk(self, chunk: Chunk) -> Chunk:
        return chunk._replace(first_row=0)


class ForgetsAddresses(Wrong):
    def chunk(self, chunk: Chunk) -> Chunk:
        return chunk._replace(addresses=None)


class ForgetsRejectedRows(Wrong):
    def spoilt(self, tally: Tally) -> Tally:
        return Tally(
            rows=tally.rows - tally.rejected.total(), counts=tally.counts, adjusted=tally.adjusted, truth=tally.truth
        )


class LetsEverybodyHaveAnyNumberOfRows(Wrong):
    def chunk(self, chunk: Chunk) -> Chunk:
        return chunk._replace(leave_out=np.empty(0, dtype=np.int64))


class RoundsTheTruth(Wrong):
    def spoilt(self, tally: Tally) -> Tally:
        truth = None if tally.truth is None else tally.truth.astype(np.float32)
        return Tally(
            rows=tally.rows, counts=tally.counts, rejected=tally.rejected, adjusted=tally.adjusted, truth=truth
        )


@pytest.mark.parametrize(
    ("wrong", "check"),
    [
        (RestartsRowNumbers, check_memory),
        (RestartsRowNumbers, check_files),
        (ForgetsAddresses, check_addresses),
        (RestartsRowNumbers, check_messages),
        (ForgetsAddresses, check_messages),
        (ForgetsRejectedRows, check_awkward_rows),
        (LetsEverybodyHaveAnyNumberOfRows, check_awkward_rows),
        (RoundsTheTruth, check_memory),
    ],
)
def test_wrong_engines_are_found_out(tmp_path: Path, wrong: type[Wrong], check: Callable[[Engine, Path], None]) -> None:
    check(Wrong(), tmp_path)
    with pytest.raises(AssertionError):
        check(wrong(), tmp_path)


def test_a_fingerprint_shows_whose_a_message_is_which_counts_do_not() -> None:
    class Reversed(Fingerprinted):
        """Everybody in a block has the message of somebody else."""

        def randomize(self, values: Any, randomness: RandomSource, *, first_row: int) -> Any:
            return self.inner.randomize(values, randomness, first_row=first_row)[::-1]

    rows, reversed_rows = mixed(COLOURS), Reversed(COLOURS)
    clean = COLOURS.domain.clean(rows).values
    messages = [one.randomize(clean, WORDS, first_row=0) for one in (COLOURS, reversed_rows)]
    assert (COLOURS.count(messages[0]).values == COLOURS.count(messages[1]).values).all()
    spied, fooled = (tally_rows(fingerprinted(one), rows, WORDS) for one in (COLOURS, reversed_rows))
    assert not same(spied, fooled)
