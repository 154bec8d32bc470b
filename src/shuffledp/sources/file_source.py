"""Files as a source: CSV, Parquet or Arrow, one or several."""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shuffledp.core import argument
from shuffledp.core.files import place_of
from shuffledp.domains.domain import Domain
from shuffledp.errors import InvalidInput
from shuffledp.sources.csv_dialect import Dialect
from shuffledp.sources.source import rows_at_once
from shuffledp.sources.table import Table
from shuffledp.sources.table_file import TableFile
from shuffledp.sources.table_files import TableFiles
from shuffledp.sources.table_source import TableSource


class FileSource(TableSource):
    """A CSV, Parquet or Arrow file, or several that are alike, read in chunks.

    Args:
        path: of the file; or of all files, whose rows are numbered one after the other.
        multiline: whether cells of a CSV file may contain line breaks.
        separator: the character between its cells.
        decimal: the mark before its decimals, a point or a comma.
        columns: as for any table.
    """

    in_file = True

    def __init__(
        self,
        path: Path | str | Sequence[Path | str],
        *,
        multiline: bool = False,
        separator: str = ",",
        decimal: str = ".",
        **columns: Any,
    ) -> None:
        super().__init__(**columns)
        argument.truth(multiline, "multiline")
        listed = [path] if isinstance(path, Path | str) or not isinstance(path, list | tuple) else path
        self._paths = [place_of(path) for path in listed]
        if len({path.resolve() for path in self._paths}) < max(1, len(self._paths)):
            raise InvalidInput(
                "no file is named, or one is named twice and its people would count twice. Name each once."
            )
        self._multiline, self._dialect = multiline, Dialect(separator=separator, decimal=decimal)

    def _table(self, domain: Domain) -> Table:
        coded = self._column if self._query is None and not domain.beside else None
        tables = [
            TableFile(
                path=path,
                multiline=self._multiline,
                labels=domain.labels,
                dialect=self._dialect,
                coded=coded,
                together=rows_at_once(domain),
            )
            for path in self._paths
        ]
        return tables[0] if len(tables) == 1 else TableFiles(tables)

    def identity(self) -> list[tuple[int, ...]]:
        """Which files they are, how long, and when they were written last."""
        states = list[tuple[int, ...]]()
        for path in self._paths:
            with contextlib.suppress(OSError):  # whoever reads it says so
                seen = path.stat()
                states.append((seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns))
        return states

    def __str__(self) -> str:
        return self._paths[0].name if len(self._paths) == 1 else f"the table of {len(self._paths):,} files"
