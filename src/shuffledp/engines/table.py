"""Files of people: CSV, Parquet and Arrow, read in batches so that any number of rows fits."""

import contextlib
import gzip
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shuffledp.engines.tabular import TablePart, Tabular, arrow
from shuffledp.errors import InvalidInput

if TYPE_CHECKING:
    import pyarrow as pa

ROWS: Final = 1 << 18
"""Rows of a batch; CSV batches are blocks of bytes instead."""
_BLOCK: Final = 1 << 22
_LARGE: Final = 1 << 22
"""Rows of a part that one thread may take."""
_MISSING: Final = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")
_FORMATS: Final = {
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(Tabular):
    """One file; its rows keep their order, and their numbers are the addresses of their randomness.

    Attributes:
        path: of the file.
        multiline: whether cells of a CSV file may contain line breaks. Then an unclosed quotation mark cannot be told from
            a long cell.
        labels: CSV cells that are values even if they look like "missing".
        coded: a column of texts that may come as codes and the texts they stand for, if the file has it so.
    """

    path: Path
    multiline: bool = False
    labels: Collection[str] = ()
    coded: str | None = None

    @property
    def name(self) -> str:
        """The file's."""
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
        if ending not in _FORMATS or (name != self.path.name and ending != ".csv"):
            raise InvalidInput(
                f"{self.path.name} is not a kind of file that can be read. Use .csv, .csv.gz, .parquet, .arrow or .feather."
            )
        return _FORMATS[ending]

    def columns(self) -> list[str]:
        """Names of the columns."""
        found = self.types()
        if found is None:
            raise InvalidInput(f"{self.path.name} has no rows. Give a file with one row per person.")
        return [name for name, _ in found]

    def types(self) -> list[tuple[str, str]] | None:
        """Names of the columns and their types; None if there are no rows."""
        if self.format == "parquet":
            with self._translated(), self._parquet_file() as file:
                return _named(file.schema_arrow) if file.metadata.num_rows else None
        for batch, _ in self._open(None):
            with contextlib.suppress(UnicodeDecodeError):
                return _named(batch.schema)
            raise InvalidInput(f"the header of {self.path.name} is not in UTF-8. Save it in that encoding.")
        return None

    def batches(self, columns: Sequence[str]) -> "Iterator[tuple[pa.RecordBatch, float]]":
        """Batches with these columns, each with the share of the file read so far.

        CSV cells are texts. Guessing their type would let one cell change what all others mean.
        """
        yield from self._open(list(dict.fromkeys(columns)), lonely=len(self.columns()) == 1)

    def parts(self, columns: Sequence[str]) -> list[TablePart] | None:
        """The row groups of a Parquet file, small ones together; one that is very large is better read in batches."""
        if self.format != "parquet":
            return None
        with self._translated(), self._parquet_file() as file:
            found = file.metadata
        sizes = [found.row_group(j).num_rows for j in range(found.num_row_groups)]
        if max(sizes, default=0) > _LARGE:
            return None
        parts, groups, names = list[TablePart](), list[int](), list(dict.fromkeys(columns))
        for j, _ in enumerate(sizes):
            groups.append(j)
            rows = sum(sizes[i] for i in groups)
            if rows >= ROWS or j == len(sizes) - 1:
                parts.append(TablePart(rows, partial(self._groups, names, groups, found)))
                groups = []
        return parts

    def _groups(self, columns: list[str], groups: list[int], metadata: Any) -> "Iterator[pa.RecordBatch]":
        pa = arrow()
        with self._translated(), self._parquet_file(columns, metadata) as file:
            for batch in file.iter_batches(batch_size=ROWS, row_groups=groups, columns=columns, use_threads=False):
                yield pa.RecordBatch.from_arrays(batch.columns, batch.schema.names)

    def _open(self, columns: list[str] | None, *, lonely: bool = False) -> "Iterator[tuple[pa.RecordBatch, float]]":
        pa = arrow()
        with self._translated():
            if self.format == "csv":
                yield from self._csv(pa, columns, lonely)
            else:
                yield from (self._parquet if self.format == "parquet" else self._ipc)(pa, columns)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """What may go wrong with a file, said without showing any of it."""
        pa = arrow()
        kind = self.format
        if not self.path.is_file():
            raise InvalidInput(f"there is no file {self.path}. Check the path.")
        if self.path.stat().st_size == 0:
            raise InvalidInput(f"{self.path.name} is empty. Give a file with one row per person.")
        trouble = ""
        try:
            yield
        except (OSError, EOFError) as error:
            trouble = f"cannot read {self.path}: {getattr(error, 'strerror', None) or 'it is damaged'}. Check the file."
        except (pa.ArrowException, UnicodeDecodeError):  # their messages may quote a cell
            trouble = f"{self.path.name} cannot be read as {kind}: damaged, not in UTF-8, or rows of different lengths. Check it."
        if trouble:
            raise InvalidInput(trouble)

    def _csv(self, pa: Any, columns: list[str] | None, lonely: bool) -> "Iterator[tuple[pa.RecordBatch, float]]":
        from pyarrow import csv

        with pa.OSFile(str(self.path)) as file:
            size = file.size()
            source = pa.CompressedInputStream(file, "gzip") if self.path.name.endswith(".gz") else file
            convert = csv.ConvertOptions(
                include_columns=columns,
                column_types={name: pa.string() for name in columns or ()},
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                null_values=[text for text in _MISSING if text not in self.labels],
            )
            # in a file of one column an empty line is a missing value; elsewhere it is nothing
            parse = csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=not lonely)
            reader = csv.open_csv(
                source, read_options=csv.ReadOptions(block_size=_BLOCK), parse_options=parse, convert_options=convert
            )
            rows = 0
            for batch in reader:
                rows += batch.num_rows
                yield batch, min(1.0, file.tell() / size)
        if columns is not None and not self.multiline and rows + 1 != self._lines(count_empty=lonely):
            raise InvalidInput(
                f"{self.path.name} has cells with line breaks, or a quotation mark that is never closed, which would hide rows. "
                "Fix it, or use --multiline if the breaks are intended."
            )

    def _lines(self, *, count_empty: bool) -> int:
        """Lines of the file, with or without empty ones; -1 if readers disagree on what a line is."""
        lines, before = 0, b"\n\n"
        with gzip.open(self.path) if self.path.name.endswith(".gz") else self.path.open("rb") as file:
            while block := file.read(_BLOCK):
                text = np.frombuffer(before + block, dtype=np.uint8)
                if ((text[1:-1] == 13) & (text[2:] != 10)).any():
                    return -1  # a carriage return by itself ends a row for some readers only
                ends = text[2:] == 10
                if not count_empty:
                    ends &= ~((text[1:-1] == 10) | ((text[1:-1] == 13) & (text[:-2] == 10)))
                lines += int(np.count_nonzero(ends))
                before = (before + block)[-2:]
        return lines + (before[-1:] != b"\n")

    def _parquet(self, pa: Any, columns: list[str] | None) -> "Iterator[tuple[pa.RecordBatch, float]]":
        with self._parquet_file(columns) as file:
            done, total = 0, max(1, file.metadata.num_rows)
            for batch in file.iter_batches(batch_size=ROWS, columns=columns, use_threads=False):
                done += batch.num_rows
                yield pa.RecordBatch.from_arrays(batch.columns, batch.schema.names), done / total

    def _parquet_file(self, columns: Collection[str] | None = (), metadata: Any = None) -> Any:
        """The file, and the column that may come as codes: where it has them, they take a tenth of the time of its texts."""
        from pyarrow import parquet

        if self.coded is None or self.coded not in (columns or ()):
            return parquet.ParquetFile(self.path, metadata=metadata, memory_map=True)
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
        return parquet.ParquetFile(self.path, metadata=metadata, memory_map=True, read_dictionary=coded)

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
                for start in range(0, batch.num_rows, ROWS):
                    part = batch.slice(start, ROWS)
                    yield part if columns is None else part.select(columns), min(1.0, done / size)


def _named(schema: Any) -> list[tuple[str, str]]:
    """Names and types; texts that are coded are texts."""
    pa = arrow()
    return [(one.name, str(one.type.value_type if pa.types.is_dictionary(one.type) else one.type)) for one in schema]
