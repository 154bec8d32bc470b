"""Tables in files: CSV, Parquet and Arrow, read in chunks so that any number of rows fits."""

import contextlib
import weakref
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from shuffledp.errors import InvalidInput
from shuffledp.sources.csv_dialect import DEFAULT, Dialect
from shuffledp.sources.csv_file import CsvFile
from shuffledp.sources.source import CHUNK
from shuffledp.sources.table import Table, TableSplit, arrow

if TYPE_CHECKING:
    import pyarrow as pa

_Step = TypeVar("_Step")
_LARGE: Final = 1 << 22
"""Rows of a split that one thread may take."""
_FORMATS: Final = {
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}


_FIRST: Final = dict.fromkeys(
    (".xlsx", ".xls", ".ods"), 'In the spreadsheet, save it as "CSV UTF-8". '
) | dict.fromkeys((".zip", ".bz2", ".xz", ".7z"), "Unpack it. ")
"""What to do with other kinds of files first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFile(Table):
    """One file; its rows keep their order, and their numbers are the addresses of their randomness.

    Attributes:
        path: of the file.
        multiline: whether cells of a CSV file may contain line breaks. Then an unclosed quotation mark cannot be told from
            a long cell.
        labels: CSV cells that are values even if they look like "missing".
        coded: a column of texts that may come as codes and the texts they stand for, if the file has it so.
        dialect: how a CSV file is written.
        together: rows that are read at once.
    """

    path: Path
    multiline: bool = False
    labels: Collection[str] = ()
    dialect: Dialect = DEFAULT
    coded: str | None = None
    together: int = CHUNK

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def untyped(self) -> bool:
        """Cells of a CSV file have no types."""
        return self.format == "csv"

    @property
    def format(self) -> str:
        """Csv, parquet or arrow, by the file's ending."""
        name = self.path.name.removesuffix(".gz")
        ending = Path(name).suffix.lower()
        kind = _FORMATS.get(ending)
        if kind is None or (name != self.path.name and kind != "csv"):
            if self.path.is_dir():
                raise InvalidInput(f"{self.path.name} is a folder. Name the files in it, e.g. all by a pattern.")
            first = _FIRST.get(Path(self.path.name).suffix.lower(), "")
            raise InvalidInput(
                f"{self.path.name} is not a kind of file that can be read. {first}Use .csv, .csv.gz, .parquet, .arrow or "
                ".feather."
            )
        if kind != "csv" and self.dialect != DEFAULT:
            raise InvalidInput(
                f"{self.path.name} is not a CSV file, so its cells have no separators. Leave out `separator` and `decimal`."
            )
        return kind

    def columns(self) -> list[str]:
        """Names of the columns."""
        types = self.types()
        if types is None:
            raise InvalidInput(f"{self.path.name} has no rows. Give a file with one row per person.")
        return [name for name, _ in types]

    def types(self) -> list[tuple[str, str]] | None:
        """Names of the columns and their types; None if there are no rows."""
        if self.format == "parquet":
            metadata = next(self._translated(self._metadata()))
            return _named(metadata.schema.to_arrow_schema()) if metadata.num_rows else None
        for batch, _ in self._open(None):
            with contextlib.suppress(UnicodeDecodeError):
                return _named(batch.schema)
            raise InvalidInput(f"the header of {self.path.name} is not in UTF-8. Save it in that encoding.")
        return None

    def record_batches(
        self, columns: Sequence[str], *, numbers: Collection[str] = ()
    ) -> "Iterator[tuple[pa.RecordBatch, float]]":
        """Record batches with these columns, each with the share of the file read so far.

        CSV cells are texts, those of columns with numbers with a point before decimals.
        """
        row, pa = 0, arrow()
        for batch, share in self._open(list(dict.fromkeys(columns)), lonely=len(self.columns()) == 1):
            if self.untyped and numbers:
                names = batch.schema.names
                cells = [
                    self.dialect.pointed(batch.column(name), row) if name in numbers else batch.column(name)
                    for name in names
                ]
                yield pa.RecordBatch.from_arrays(cells, names), share
            else:
                yield batch, share
            row += batch.num_rows

    def hint(self, name: str) -> str:
        """Which separator to try if a column is not there; names that are no part of the data are shown."""
        if self.format != "csv":
            return Table.hint(self, name)
        nearly = "A column has nearly that name: compare it with the header." if Table.hint(self, name) else ""
        return self._csv().separator_hint() or nearly

    def _csv(self) -> CsvFile:
        return CsvFile(path=self.path, multiline=self.multiline, labels=self.labels, dialect=self.dialect)

    def splits(self, columns: Sequence[str]) -> list[TableSplit] | None:
        """The row groups of a Parquet file, small ones together; one that is very large is better read in order."""
        if self.format != "parquet":
            return None
        metadata = next(self._translated(self._metadata()))
        sizes = [metadata.row_group(j).num_rows for j in range(metadata.num_row_groups)]
        if max(sizes, default=0) > _LARGE:
            return None
        splits, groups, names = list[TableSplit](), list[int](), list(dict.fromkeys(columns))
        table = replace(self, path=self.path.absolute())  # whoever reads a split may be in another folder
        mapped = _Mapped(table.path)
        for j, _ in enumerate(sizes):
            groups.append(j)
            rows = sum(sizes[i] for i in groups)
            if rows >= self.together or j == len(sizes) - 1:
                splits.append(TableSplit(rows, partial(table._split, names, groups, metadata, mapped)))
                groups = []
        return splits

    def _split(
        self, columns: list[str], groups: list[int], metadata: Any, mapped: "_Mapped"
    ) -> "Iterator[pa.RecordBatch]":
        return self._translated(self._groups(columns, groups, metadata, mapped))

    def _groups(
        self, columns: list[str], groups: list[int], metadata: Any, mapped: "_Mapped"
    ) -> "Iterator[pa.RecordBatch]":
        pa = arrow()
        source = mapped.file()  # for as long as this reads
        with self._parquet_file(columns, metadata, source) as file:
            for batch in file.iter_batches(
                batch_size=self.together, row_groups=groups, columns=columns, use_threads=False
            ):
                yield pa.RecordBatch.from_arrays(batch.columns, batch.schema.names)

    def _open(self, columns: list[str] | None, *, lonely: bool = False) -> "Iterator[tuple[pa.RecordBatch, float]]":
        pa, kind = arrow(), self.format
        if kind == "csv":
            batches = self._csv().record_batches(columns, lonely=lonely)
        else:
            batches = (self._parquet if kind == "parquet" else self._ipc)(pa, columns)
        return self._translated(batches, columns, lonely=lonely)

    def _translated(
        self, steps: Iterator[_Step], columns: list[str] | None = None, *, lonely: bool = False
    ) -> Iterator[_Step]:
        """What goes wrong with a file, said without showing any of it, not even in an error's context."""
        pa = arrow()
        kind = self.format
        if not self.path.is_file():
            several = (
                "For several files give a pattern with --files, or a list in Python." if "*" in str(self.path) else ""
            )
            raise InvalidInput(f"there is no file {self.path}. {several or 'Check the path.'}")
        if self.path.stat().st_size == 0:
            raise InvalidInput(f"{self.path.name} is empty. Give a file with one row per person.")
        trouble = ""
        try:
            yield from steps
        except (OSError, EOFError) as error:
            trouble = f"cannot read {self.path}: {getattr(error, 'strerror', None) or 'it is damaged'}. Check the file."
        except (pa.ArrowException, UnicodeDecodeError):  # their messages may quote a cell
            trouble = f"{self.path.name} cannot be read as {kind}: it is damaged. Check it."
            if kind == "csv":
                trouble = self._csv().trouble(columns, lonely=lonely)
        if trouble:
            raise InvalidInput(trouble)

    def _parquet(self, pa: Any, columns: list[str] | None) -> "Iterator[tuple[pa.RecordBatch, float]]":
        with self._parquet_file(columns) as file:
            done, total = 0, max(1, file.metadata.num_rows)
            for batch in file.iter_batches(batch_size=self.together, columns=columns, use_threads=False):
                done += batch.num_rows
                yield pa.RecordBatch.from_arrays(batch.columns, batch.schema.names), done / total

    def _metadata(self) -> Iterator[Any]:
        from pyarrow import parquet

        yield parquet.read_metadata(self.path)

    def _parquet_file(self, columns: Collection[str] | None = (), metadata: Any = None, source: Any = None) -> Any:
        """The file, and the column that may come as codes: where it has them, they take a tenth of the time of its texts."""
        from pyarrow import parquet

        source = self.path if source is None else source
        if self.coded is None or self.coded not in (columns or ()):
            return parquet.ParquetFile(source, metadata=metadata, memory_map=True)
        if metadata is None:
            metadata = parquet.read_metadata(self.path)
        groups = range(metadata.num_row_groups)
        chunks = [metadata.row_group(j).column(i) for j in groups[:1] for i in range(metadata.num_columns)]
        coded = [
            chunk.path_in_schema
            for chunk in chunks
            if chunk.path_in_schema == self.coded
            and chunk.physical_type == "BYTE_ARRAY"
            and any("DICTIONARY" in encoding for encoding in chunk.encodings)
        ]
        return parquet.ParquetFile(source, metadata=metadata, memory_map=True, read_dictionary=coded)

    def _ipc(self, pa: Any, columns: list[str] | None) -> "Iterator[tuple[pa.RecordBatch, float]]":
        from pyarrow import ipc

        with pa.memory_map(str(self.path)) as file:
            size = file.size()
            batches: Iterator[Any]
            try:
                reader = ipc.open_file(file)
                batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
            except pa.ArrowInvalid:
                file.seek(0)
                batches = iter(ipc.open_stream(file))
            done = 0
            for batch in batches:
                done += batch.nbytes
                for start in range(0, batch.num_rows, self.together):
                    chunk = batch.slice(start, self.together)
                    yield chunk if columns is None else chunk.select(columns), min(1.0, done / size)


class _Mapped:
    """A file that its splits read through one map as long as one of them does: to map it for each takes longer.

    In another process it is mapped there.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept: Callable[[], Any] = lambda: None

    def file(self) -> Any:
        """The file, open until nobody holds it any more: there may be more files than a process may have open."""
        file = self._kept()
        if file is None:
            file = arrow().memory_map(str(self._path))
            self._kept = weakref.ref(file)
        return file

    def __reduce__(self) -> tuple[type[Self], tuple[Path]]:
        return type(self), (self._path,)


def _named(schema: Any) -> list[tuple[str, str]]:
    """Names and types; texts that are coded are texts."""
    pa = arrow()
    return [
        (field.name, str(field.type.value_type if pa.types.is_dictionary(field.type) else field.type))
        for field in schema
    ]
