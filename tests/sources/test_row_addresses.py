"""Rows with numbers of their own: another one for each, or nothing is released; no cell is ever shown."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from oracles.people import COLOURS, write
from shuffledp import InvalidInput, KeyedRandomness, Plan, SystemRandomness, run, run_file
from shuffledp.domains.domain import Domain
from shuffledp.sources import row_addresses
from shuffledp.sources.row_addresses import check_distinct
from shuffledp.sources.source import Chunk, Source

WORDS = KeyedRandomness.seeded(1)
ROWS = len(COLOURS)


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow"])
def test_where_a_row_stands_does_not_matter(tmp_path: Path, histogram: Plan, ending: str) -> None:
    order = np.random.default_rng(9).permutation(ROWS)
    numbers = np.arange(ROWS) * 7 + 3
    path = write(tmp_path / f"people{ending}", {"colour": COLOURS, "id": numbers})
    moved = write(tmp_path / f"moved{ending}", {"colour": np.array(COLOURS)[order], "id": numbers[order]})
    found = run_file(histogram, path, column="colour", row_id="id", randomness=WORDS)
    again = run_file(histogram, moved, column="colour", row_id="id", randomness=WORDS, engine="memory")
    assert (found.counts.values == again.counts.values).all()
    counted = run_file(histogram, path, column="colour", randomness=WORDS)
    assert not (found.counts.values == counted.counts.values).all()
    frame = {"colour": np.array(COLOURS)[order], "id": order}
    assert (
        run(histogram, frame, column="colour", row_id="id", randomness=WORDS).counts.values == counted.counts.values
    ).all()


@pytest.mark.parametrize(
    "bad",
    [None, -31337, 2**64 - 1 + Decimal(31337), 31337.5, "31337a", ""],
    ids=["missing", "negative", "too large", "not whole", "not a number", "empty"],
)
def test_what_is_no_row_number_is_refused_and_not_shown(tmp_path: Path, histogram: Plan, bad: Any) -> None:
    numbers: list[Any] = list(range(ROWS))
    numbers[500] = bad
    texts = pa.table({"colour": list(COLOURS), "id": [None if one is None else str(one) for one in numbers]})
    csv.write_csv(texts, tmp_path / "people.csv")
    typed = pa.table({"colour": list(COLOURS), "id": texts["id"] if isinstance(bad, str) else pa.array(numbers)})
    parquet.write_table(typed, tmp_path / "people.parquet")
    for name in ("people.csv", "people.parquet"):
        with pytest.raises(InvalidInput, match="missing, negative, too large or not whole") as refused:
            run_file(histogram, tmp_path / name, column="colour", row_id="id")
        assert "31337" not in str(refused.value)
        assert refused.value.__context__ is None


def test_a_row_number_that_comes_again_is_refused_and_not_shown(tmp_path: Path, histogram: Plan) -> None:
    """However it is written."""
    numbers = [str(j) for j in range(ROWS)]
    numbers[600] = "0031"
    path = write(tmp_path / "people.csv", {"colour": COLOURS, "id": numbers})
    with pytest.raises(InvalidInput, match=r"people\.csv has two rows with the same row number") as refused:
        run_file(histogram, path, column="colour", row_id="id")
    assert "31" not in str(refused.value)


@pytest.mark.parametrize("few", [row_addresses.FEW, 1000], ids=["in memory", "out of core"])
def test_many_row_numbers_are_told_apart(monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    """Numbers that are close, far, and equal in their lower or upper halves."""
    monkeypatch.setattr(row_addresses, "FEW", few)
    numbers = np.concatenate([np.arange(2**16), np.arange(1, 2**16) << 16, np.arange(1, 2**15) << 48]).astype(np.uint64)
    numbers = np.random.default_rng(3).permutation(numbers)
    check_distinct(np.array_split(numbers, 7), "it")
    with pytest.raises(InvalidInput, match="same row number"):
        check_distinct([*np.array_split(numbers, 7), numbers[77:78]], "it")


class Numbered(Source):
    """Rows with these numbers, so many in a chunk."""

    def __init__(self, numbers: Sequence[int], size: int) -> None:
        self._numbers, self._size = np.array(numbers, dtype=np.uint64), size

    def chunks(self, domain: Domain) -> Iterator[Chunk]:
        for first in range(0, len(self._numbers), self._size):
            some = self._numbers[first : first + self._size]
            yield Chunk(["red"] * len(some), first, addresses=some)

    def __str__(self) -> str:
        return "it"


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_a_number_that_comes_twice_is_seen_wherever_pieces_end(histogram: Plan, size: int) -> None:
    """All ways to number four rows from 0 to 3, and the same far out."""
    domain = histogram.protocol.domain
    for numbers in product(range(4), repeat=4):
        for first in (0, 2**63 - 2):
            source = Numbered([first + number for number in numbers], size)
            if len(set(numbers)) == 4:
                assert sum(len(chunk.raw) for chunk in source.checked_chunks(domain)) == 4
            else:
                with pytest.raises(InvalidInput, match="same row number"):
                    list(source.checked_chunks(domain))


def test_row_numbers_need_a_table_and_a_key(histogram: Plan) -> None:
    with pytest.raises(InvalidInput, match="columns are for tables"):
        run(histogram, list(COLOURS), row_id="id")
    with pytest.raises(InvalidInput, match="need randomness that has a key"):
        run(
            histogram,
            {"colour": COLOURS, "id": range(ROWS)},
            column="colour",
            row_id="id",
            randomness=SystemRandomness(),
        )
