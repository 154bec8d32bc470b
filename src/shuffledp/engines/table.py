"""Files of people: CSV, Parquet and Arrow, read in batches so that any number of rows fits."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from shuffledp.errors import InvalidInput

if TYPE_CHECKING:
    import pyarrow as pa

ROWS: Final = 1 << 18
"""Rows of a batch; CSV batches are blocks of bytes instead."""
_BLOCK: Final = 1 << 22
_MISSING: Final = ["", "NA", "N/A", "NaN", "nan", "null", "NULL", "None"]
_FORMATS: Final = {
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}


@dataclass(frozen=True, slots=True)
class Table:
    """One file; its rows keep their order, and their numbers are the addresses of their randomness."""

    path: Path

    @property
    def format(self) -> str:
        """Csv, parquet or arrow, by the file's ending."""
        name = self.path.name.removesuffix(".gz")
        ending = Path(name).suffix.lower()
        if ending not in _FORMATS or (name != self.path.name and ending != ".csv"):
            raise InvalidInput(
                f"{self.path.name} is not a kind of file we read. Use .csv, .csv.gz, .parquet, .arrow or .feather."
            )
        return _FORMATS[ending]

    def columns(self) -> list[str]:
        """Names of the columns."""
        for batch, _ in self._open(None, as_text=True):
            return list(batch.schema.names)
        raise InvalidInput(f"{self.path.name} has no rows. Give a file with one row a person.")

    def batches(self, columns: Sequence[str], *, as_text: bool) -> "Iterator[tuple[pa.RecordBatch, float]]":
        """Batches with these columns, each with the share of the file read so far.

        CSV cells are texts if `as_text`, so that nothing is guessed; otherwise their type is inferred from the first block.
        """
        present = self.columns()
        for name in columns:
            if name not in present:
                shown = ", ".join(present[:12]) + (", ..." if len(present) > 12 else "")
                raise InvalidInput(f"{self.path.name} has no column {name!r}. Its columns are {shown}.")
        yield from self._open(list(dict.fromkeys(columns)), as_text=as_text, lonely=len(present) == 1)

    def _open(
        self, columns: list[str] | None, *, as_text: bool, lonely: bool = False
    ) -> "Iterator[tuple[pa.RecordBatch, float]]":
        pa = arrow()
        kind = self.format
        if not self.path.is_file():
            raise InvalidInput(f"there is no file {self.path}. Check the path.")
        if self.path.stat().st_size == 0:
            raise InvalidInput(f"{self.path.name} is empty. Give a file with one row a person.")
        read: Any = {"csv": self._csv, "parquet": self._parquet, "arrow": self._ipc}[kind]
        try:
            yield from (read(pa, columns, as_text, lonely) if kind == "csv" else read(pa, columns))
        except OSError as error:
            raise InvalidInput(f"cannot read {self.path}: {error.strerror or 'not a valid file'}.") from None
        except pa.ArrowException:  # its message may quote a cell
            raise InvalidInput(
                f"{self.path.name} cannot be read as {kind}: it is damaged, has rows of different lengths, or a column "
                "changes its type. Check it, or convert it to Parquet."
            ) from None

    def _csv(
        self, pa: Any, columns: list[str] | None, as_text: bool, lonely: bool
    ) -> "Iterator[tuple[pa.RecordBatch, float]]":
        from pyarrow import csv

        with pa.OSFile(str(self.path)) as file:
            size = file.size()
            source = pa.CompressedInputStream(file, "gzip") if self.path.name.endswith(".gz") else file
            convert = csv.ConvertOptions(
                include_columns=columns,
                column_types={name: pa.string() for name in columns} if as_text and columns else None,
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                null_values=_MISSING,
            )
            # in a file of one column an empty line is a missing value; elsewhere it is nothing
            parse = csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=not lonely)
            reader = csv.open_csv(
                source, read_options=csv.ReadOptions(block_size=_BLOCK), parse_options=parse, convert_options=convert
            )
            for batch in reader:
                yield batch, min(1.0, file.tell() / size)

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


def arrow() -> Any:
    """The pyarrow package, or how to get it."""
    try:
        import pyarrow as pa
    except ImportError:
        raise InvalidInput("reading files needs pyarrow, which is not installed. Install shuffledp[run].") from None
    return pa
