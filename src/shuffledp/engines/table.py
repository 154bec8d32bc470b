"""Files of people: CSV, Parquet and Arrow, read in batches so that any number of rows fits."""

import contextlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from shuffledp.engines.csv_file import CsvFile
from shuffledp.engines.dialect import DEFAULT, Dialect
from shuffledp.engines.tabular import Tabular, arrow
from shuffledp.errors import InvalidInput

if TYPE_CHECKING:
    import pyarrow as pa

ROWS: Final = 1 << 18
"""Rows of a batch; CSV batches are blocks of bytes instead."""
_FORMATS: Final = {
    ".csv": "csv",
    ".tsv": "csv",
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
        dialect: how a CSV file is written.
    """

    path: Path
    multiline: bool = False
    labels: Collection[str] = ()
    dialect: Dialect = DEFAULT

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
        kind = _FORMATS.get(ending)
        if kind is None or (name != self.path.name and kind != "csv"):
            raise InvalidInput(
                f"{self.path.name} is not a kind of file that can be read. Use .csv, .csv.gz, .parquet, .arrow or .feather."
            )
        if kind != "csv" and self.dialect != DEFAULT:
            raise InvalidInput(
                f"{self.path.name} is not a CSV file, so its cells have no separators. Leave out --separator and --decimal."
            )
        return kind

    def columns(self) -> list[str]:
        """Names of the columns."""
        for batch, _ in self._open(None):
            with contextlib.suppress(UnicodeDecodeError):
                return list(batch.schema.names)
            raise InvalidInput(f"the header of {self.path.name} is not in UTF-8. Save it in that encoding.")
        raise InvalidInput(f"{self.path.name} has no rows. Give a file with one row per person.")

    def batches(
        self, columns: Sequence[str], *, numbers: Collection[str] = ()
    ) -> "Iterator[tuple[pa.RecordBatch, float]]":
        """Batches with these columns, each with the share of the file read so far.

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

    def hint(self) -> str:
        """Which separator to try if a column is not there."""
        return self._csv().separator_hint() if self.format == "csv" else ""

    def _csv(self) -> CsvFile:
        return CsvFile(path=self.path, multiline=self.multiline, labels=self.labels, dialect=self.dialect)

    def _open(self, columns: list[str] | None, *, lonely: bool = False) -> "Iterator[tuple[pa.RecordBatch, float]]":
        pa = arrow()
        kind = self.format
        if not self.path.is_file():
            raise InvalidInput(f"there is no file {self.path}. Check the path.")
        if self.path.stat().st_size == 0:
            raise InvalidInput(f"{self.path.name} is empty. Give a file with one row per person.")
        trouble = ""
        try:
            if kind == "csv":
                yield from self._csv().batches(columns, lonely=lonely)
            else:
                yield from (self._parquet if kind == "parquet" else self._ipc)(pa, columns)
        except (OSError, EOFError) as error:
            trouble = f"cannot read {self.path}: {getattr(error, 'strerror', None) or 'it is damaged'}. Check the file."
        except (pa.ArrowException, UnicodeDecodeError):  # their messages may quote a cell
            trouble = f"{self.path.name} cannot be read as {kind}: it is damaged. Check it."
            if kind == "csv":
                trouble = self._csv().trouble(columns, lonely=lonely)
        if trouble:
            raise InvalidInput(trouble)

    def _parquet(self, pa: Any, columns: list[str] | None) -> "Iterator[tuple[pa.RecordBatch, float]]":
        from pyarrow import parquet

        with parquet.ParquetFile(self.path) as file:
            done, total = 0, max(1, file.metadata.num_rows)
            for batch in file.iter_batches(batch_size=ROWS, columns=columns, use_threads=False):
                done += batch.num_rows
                yield pa.RecordBatch.from_arrays(batch.columns, batch.schema.names), done / total

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
