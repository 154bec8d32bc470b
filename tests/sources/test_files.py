"""Many files that are one table: the same answer as one file, or a clear error and nothing left behind."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from oracles.people import COLOURS, NUMBERS, write
from oracles.process import assert_refused, called
from oracles.tallies import same
from shuffledp import InvalidInput, KeyedRandomness, Plan, run_file
from shuffledp.domains.domain import Domain
from shuffledp.engines.arrow import Arrow
from shuffledp.engines.tally import Tally
from shuffledp.sources import person_rows, table_file, table_source
from shuffledp.sources.file_source import FileSource
from shuffledp.sources.source import Chunk, Split
from shuffledp.sources.table_files import files_like

WORDS = KeyedRandomness.seeded(1)
ROWS = len(COLOURS)
CUTS = (0, 1, 400, 400, 1300, ROWS)


def cut_up(folder: Path, ending: str, **columns: Any) -> list[Path]:
    """The rows in several files, one of them with one row, and one with none."""
    folder.mkdir()
    for j, (first, last) in enumerate(pairwise(CUTS)):
        data = pa.table(columns).slice(first, last - first)
        write(folder / f"part-{j}{ending}", {name: data[name] for name in columns})
    return files_like(str(folder / f"*{ending}"))


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow"])
def test_many_files_are_as_one(
    tmp_path: Path, mean: Plan, histogram: Plan, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shuffledp.sources.source.CHUNK", 128)
    who = np.arange(ROWS) // 2
    columns = {"number": NUMBERS, "colour": COLOURS, "who": who}
    one = write(tmp_path / f"people{ending}", columns)
    many = cut_up(tmp_path / "parts", ending, **columns)
    for plan, column in ((mean, "number"), (histogram, "colour")):
        for options in ({"column": column}, {"column": column, "user": "who", "max_rows_per_user": 2}):
            expected = run_file(plan, one, randomness=WORDS, truth=True, **options)
            for engine in ("arrow", "memory"):
                found = run_file(plan, many, randomness=WORDS, truth=True, engine=engine, **options)
                assert found.document() == expected.document()
                assert (found.counts.values == expected.counts.values).all()
    with pytest.raises(InvalidInput, match="a user appears more than once"):
        run_file(mean, many, column="number", user="who")


def test_the_number_of_threads_and_of_row_groups_does_not_matter(
    tmp_path: Path, mean: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shuffledp.sources.source.CHUNK", 64)
    for size in (7, 50, ROWS):
        parquet.write_table(pa.table({"number": NUMBERS}), tmp_path / f"{size}.parquet", row_group_size=size)
    expected = Arrow(1).tally(mean.protocol, FileSource(tmp_path / "7.parquet", column="number"), WORDS, truth=True)
    assert expected.rows == ROWS
    for large in (table_file._LARGE, 40):  # also row groups that are not read side by side
        monkeypatch.setattr(table_file, "_LARGE", large)
        for size in (7, 50, ROWS):
            for threads in (1, 2, 5):
                source, shares = FileSource(tmp_path / f"{size}.parquet", column="number"), list[float]()
                found = Arrow(threads).tally(mean.protocol, source, WORDS, truth=True, progress=shares.append)
                assert same(found, expected)
                assert shares == sorted(shares)
                assert shares[-1] == 1.0


def test_the_first_bad_row_is_named_whichever_thread_comes_first(
    tmp_path: Path, mean: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shuffledp.sources.source.CHUNK", 64)
    numbers = NUMBERS.copy()
    numbers[[333, 900, 1500]] = 31337.0
    path = write(tmp_path / "people.parquet", {"number": numbers})
    for _ in range(5):
        with pytest.raises(InvalidInput, match="in data row 334 "):
            run_file(mean, path, column="number")


def test_a_damaged_part_is_not_shown_in_an_errors_context(tmp_path: Path, mean: Plan) -> None:
    many = cut_up(tmp_path / "parts", ".parquet", number=NUMBERS)
    for spoil in (damage_a_page, damage):
        spoil(tmp_path / "parts")
        with pytest.raises(InvalidInput, match="cannot") as refused:
            run_file(mean, many, column="number")
        assert refused.value.__context__ is None


class Short(FileSource):
    """Says that there are more rows than there are."""

    def splits(self, domain: Domain) -> Any:
        for split in super().splits(domain):
            yield split._replace(rows=split.rows + 1)


def test_rows_that_get_lost_on_the_way_are_noticed(tmp_path: Path, mean: Plan) -> None:
    path = write(tmp_path / "people.parquet", {"number": NUMBERS})
    with pytest.raises(InvalidInput, match="not as long"):
        Arrow().tally(mean.protocol, Short(path, column="number"), WORDS)
    skips = Split(0, 2, lambda: iter([Chunk([1.0], 0), Chunk([2.0], 5)]))
    with pytest.raises(InvalidInput, match="not as long"):
        list(skips.chunks())


def damage(folder: Path) -> None:
    path = folder / "part-3.parquet"
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def damage_a_page(folder: Path) -> None:
    path = folder / "part-4.parquet"
    content = bytearray(path.read_bytes())
    content[4:400] = bytes(396)
    path.write_bytes(content)


def rename_a_column(folder: Path) -> None:
    write(folder / "part-3.parquet", {"figure": NUMBERS})


def change_a_type(folder: Path) -> None:
    write(folder / "part-3.parquet", {"number": NUMBERS.astype(np.float32)})


def empty(folder: Path) -> None:
    (folder / "part-3.parquet").write_bytes(b"")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (damage, "part-3.parquet"),
        (damage_a_page, "part-4.parquet"),
        (rename_a_column, "part-3.parquet has other columns"),
        (change_a_type, "part-3.parquet has other columns, or columns of other types, than part-0.parquet"),
        (empty, "part-3.parquet is empty"),
    ],
)
def test_a_file_that_is_not_like_the_others_leaves_nothing_behind(
    tmp_path: Path, mean: Plan, spoil: Callable[[Path], None], message: str
) -> None:
    cut_up(tmp_path / "parts", ".parquet", number=NUMBERS)
    (tmp_path / "plan.json").write_text(json.dumps(mean.document()))
    spoil(tmp_path / "parts")
    found = called("run plan.json --files 'parts/*.parquet' --column number -o answer.json", cwd=tmp_path)
    assert_refused(found, message)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["parts", "plan.json"]


def test_many_files_on_the_command_line(tmp_path: Path, mean: Plan) -> None:
    many = cut_up(tmp_path / "parts", ".csv", number=NUMBERS)
    (tmp_path / "plan.json").write_text(json.dumps(mean.document()))
    home = {"XDG_STATE_HOME": str(tmp_path / "state")}
    asked = "run plan.json --files 'parts/*.csv' --column number --json"
    found = called(asked, cwd=tmp_path, environment=home)
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["received"] == ROWS
    some = called(asked.replace("*", "part-[34]"), cwd=tmp_path, environment=home)
    assert "already used once" in some.stderr
    assert "already used 2 times" in called(asked, cwd=tmp_path, environment=home).stderr
    for wrong, message in (
        ("", "Give DATA or --files"),
        (f"{many[0]} --files 'parts/*.csv'", "Give DATA or --files"),
        ("--files '*.parquet'", "no file matches"),
    ):
        refused = called(f"run plan.json {wrong} --column number", cwd=tmp_path, environment=home)
        assert_refused(refused, message)


def test_files_that_are_named_twice_or_not_at_all_are_refused(tmp_path: Path, mean: Plan) -> None:
    many = cut_up(tmp_path / "parts", ".csv", number=NUMBERS)
    link = tmp_path / "link.csv"
    link.symlink_to(many[3])
    for wrong in ([], [*many, many[0]], [*many, link], [many[1], tmp_path / "parts" / ".." / "parts" / many[1].name]):
        with pytest.raises(InvalidInput, match="Name each once"):
            run_file(mean, wrong, column="number")
    with pytest.raises(InvalidInput, match="the files have no rows"):
        run_file(mean, [many[2], write(tmp_path / "other.csv", {"number": NUMBERS[:0]})], column="number")


class Meanwhile:
    """Reads all, and then something happens to a file before the answer is given."""

    name: ClassVar[str] = "meanwhile"

    def __init__(self, happens: Callable[[], object]) -> None:
        self._happens = happens

    def tally(self, *given: Any, **more: Any) -> Tally:
        found = Arrow().tally(*given, **more)
        self._happens()
        return found


def add_a_row(path: Path) -> None:
    with path.open("a") as file:
        file.write("5\n")


def exchange_two_cells(path: Path) -> None:
    """As long as before, and written later."""
    content, before = path.read_text(), path.stat()
    path.write_text(content[:-8] + content[-8:].replace("1", "2"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))


def put_a_copy_in_its_place(path: Path) -> None:
    copy, before = path.with_suffix(".copy"), path.stat()
    copy.write_bytes(path.read_bytes())
    os.utime(copy, ns=(before.st_atime_ns, before.st_mtime_ns))
    copy.replace(path)


@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize("how", [add_a_row, exchange_two_cells, put_a_copy_in_its_place, Path.unlink])
def test_whichever_file_changes_while_it_is_read_and_however_nothing_is_released(
    tmp_path: Path, mean: Plan, which: int, how: Callable[[Path], object]
) -> None:
    many = [write(tmp_path / f"{j}.csv", {"number": some}) for j, some in enumerate(np.array_split(NUMBERS, 3))]
    assert run_file(mean, many, column="number", engine=Meanwhile(lambda: None)).n == ROWS
    with pytest.raises(InvalidInput, match="was changed while it was read, so nothing is released"):
        run_file(mean, many, column="number", engine=Meanwhile(lambda: how(many[which])))


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_file_that_is_replaced_while_it_is_read_releases_nothing(
    tmp_path: Path, mean: Plan, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Users are read first and values afterwards: rows of another file would belong to the wrong people."""
    path, other = tmp_path / f"people{ending}", tmp_path / f"other{ending}"
    write(path, {"number": NUMBERS, "who": np.arange(ROWS)})
    write(other, {"number": NUMBERS, "who": np.zeros(ROWS, dtype=np.int64)})
    users = person_rows.surplus

    @contextmanager
    def replaced(*given: Any) -> Iterator[Any]:
        with users(*given) as found:
            other.replace(path)
            yield found

    monkeypatch.setattr(table_source, "surplus", replaced)
    with pytest.raises(InvalidInput, match="was changed while it was read, so nothing is released"):
        run_file(mean, path, column="number", user="who", randomness=WORDS)
