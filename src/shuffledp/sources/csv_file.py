"""CSV files: cells are texts, rows have numbers, and no error shows what a cell holds."""

import contextlib
import csv as standard_csv
import gzip
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shuffledp.errors import InvalidInput
from shuffledp.sources.csv_dialect import Dialect
from shuffledp.sources.missing_markers import missing_markers
from shuffledp.sources.table import arrow

if TYPE_CHECKING:
    import pyarrow as pa

_BLOCK: Final = 1 << 22
_LONGEST_HEADER: Final = 1 << 20
_ROW: Final = re.compile(r"Row #(\d+): (?:Expected (\d+) columns, got (\d+)|CSV conversion)")


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvFile:
    """One CSV file, perhaps gzipped.

    Attributes:
        path: of the file.
        multiline: whether cells may contain line breaks.
        labels: cells that are values even if they look like "missing".
        dialect: how it is written.
    """

    path: Path
    multiline: bool
    labels: Collection[str]
    dialect: Dialect

    def record_batches(self, columns: list[str] | None, *, lonely: bool) -> "Iterator[tuple[pa.RecordBatch, float]]":
        """Record batches with these columns, or all, each with the share of the file read so far; `lonely` if there is just one.

        Texts, if columns are named. Guessing their type would let one cell change what all others mean.
        """
        rows, file = 0, self._file()
        size = file.size()
        for batch in self._reader(file, columns, lonely=lonely, threads=True):
            rows += batch.num_rows
            yield batch, min(1.0, file.tell() / size)
        if columns is not None and not self.multiline and rows + 1 != self._lines(count_empty=lonely):
            broken = self._first_with_break()
            where = "" if broken is None else f" (data row {broken:,})"
            raise InvalidInput(
                f"{self.path.name} has cells with line breaks, or a quotation mark that is never closed{where}, which would hide "
                "rows. Fix it, or use `multiline` if the breaks are intended."
            )

    def trouble(self, columns: list[str] | None, *, lonely: bool) -> str:
        """Why it cannot be read, and in which row: what Arrow says of that is taken apart, because it quotes the row."""
        pa, bad_row = arrow(), None
        try:  # one thread: several do not number rows
            for _ in self._reader(self._file(), columns, lonely=lonely, threads=False):
                pass
        except pa.ArrowException as error:
            bad_row = _ROW.search(str(error))
        with self._bytes() as opened:
            start = opened.read(2)
        if start in (b"\xff\xfe", b"\xfe\xff"):
            return f'{self.path.name} is in UTF-16. Save it in UTF-8, in a spreadsheet as "CSV UTF-8".'
        if bad_row is None:
            return f"{self.path.name} cannot be read as csv: damaged, not in UTF-8, or rows of different lengths. Check it."
        row, wanted, got = int(bad_row[1]) - 1, bad_row[2], bad_row[3]
        if wanted is None:
            return f"data row {row:,} of {self.path.name} is not in UTF-8. Save the file in that encoding."
        fix = (
            self.separator_hint()
            or "Fix that row; cells with the separator in them need quotation marks, which must be closed."
        )
        return f"rows of different lengths: data row {row:,} of {self.path.name} has {got} cells, and the header {wanted}. {fix}"

    def separator_hint(self) -> str:
        """Which separator to try, if the header has only one cell by this one."""
        with self._bytes() as file:
            header = file.readline(_LONGEST_HEADER).decode(errors="replace")
        return self.dialect.hint(header)

    def _file(self) -> Any:
        """The file, which Arrow closes with its last reader.

        A reader that is given up still reads ahead: whoever closed the file under its hands would let it read from the next
        one that is opened, which has the same number.
        """
        return arrow().OSFile(str(self.path))

    def _reader(self, file: Any, columns: list[str] | None, *, lonely: bool, threads: bool) -> Any:
        import pyarrow as pa
        from pyarrow import csv

        source = pa.CompressedInputStream(file, "gzip") if self.path.name.endswith(".gz") else file
        return csv.open_csv(
            source,
            read_options=csv.ReadOptions(block_size=_BLOCK, use_threads=threads),
            # in a file of one column an empty line is a missing value; elsewhere it is nothing
            parse_options=csv.ParseOptions(
                delimiter=self.dialect.separator, newlines_in_values=True, ignore_empty_lines=not lonely
            ),
            convert_options=csv.ConvertOptions(
                include_columns=columns,
                column_types={name: pa.string() for name in columns or ()},
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                null_values=missing_markers(self.labels),
            ),
        )

    def _bytes(self) -> Any:
        return gzip.open(self.path) if self.path.name.endswith(".gz") else self.path.open("rb")

    def _lines(self, *, count_empty: bool) -> int:
        """Lines of the file, with or without empty ones; -1 if readers disagree on what a line is."""
        lines, before = 0, b"\n\n"
        with self._bytes() as file:
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

    def _first_with_break(self) -> int | None:
        """The first data row that is more than a line; None if the standard reader finds none."""
        row = -1
        with self._bytes() as file:
            texts = (line.decode(errors="replace") for line in file)
            reader = standard_csv.reader(texts, delimiter=self.dialect.separator)
            lines = 0
            with contextlib.suppress(standard_csv.Error):  # a cell without end is too long
                for cells in reader:
                    row += bool(cells)
                    if reader.line_num - lines > 1:
                        return max(row, 1)
                    lines = reader.line_num
                return None
        return row + 1
