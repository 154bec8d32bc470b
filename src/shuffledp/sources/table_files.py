"""Many files that are one table: their rows one after the other, in the order of their names."""

import glob
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from shuffledp.errors import InvalidInput
from shuffledp.sources.table import Table, TableSplit
from shuffledp.sources.table_file import TableFile

if TYPE_CHECKING:
    import pyarrow as pa


def files_like(pattern: str) -> list[Path]:
    """The files whose names match a pattern, in their order; `**` stands for folders in folders."""
    paths = sorted(path for path in map(Path, glob.glob(pattern, recursive=True)) if path.is_file())  # noqa: PTH207
    if not paths:
        raise InvalidInput(f"no file matches {pattern}. Check the pattern, and put it in quotation marks.")
    return paths


class TableFiles(Table):
    """Files of the same kind, with the same columns.

    Args:
        tables: in the order of their rows; those without rows are left out.
    """

    __slots__ = ("_columns", "_tables")

    def __init__(self, tables: Sequence[TableFile]) -> None:
        kinds = [(table, table.types()) for table in tables]
        full = [(table, dict(types), [name for name, _ in types]) for table, types in kinds if types is not None]
        if not full:
            raise InvalidInput("the files have no rows. Give files with one row per person.")
        first, types, self._columns = full[0]
        for table, others, names in full:
            if (table.format, sorted(names)) != (first.format, sorted(self._columns)) or others != types:
                raise InvalidInput(
                    f"{table.name} has other columns, or columns of other types, than {first.name}. Give files that are alike."
                )
        self._tables = [table for table, _, _ in full]

    @property
    def name(self) -> str:
        return self._tables[0].name

    @property
    def untyped(self) -> bool:
        """As each of them."""
        return self._tables[0].untyped

    def columns(self) -> list[str]:
        """Names of the columns."""
        return self._columns

    def hint(self, name: str) -> str:
        """As for the first."""
        return self._tables[0].hint(name)

    def record_batches(
        self, columns: Sequence[str], *, numbers: Collection[str] = ()
    ) -> "Iterator[tuple[pa.RecordBatch, float]]":
        """Those of each file."""
        for done, table in enumerate(self._tables):
            for batch, share in table.record_batches(columns, numbers=numbers):
                yield batch, (done + share) / len(self._tables)

    def splits(self, columns: Sequence[str]) -> list[TableSplit] | None:
        """Those of each file, if all have some."""
        of_each = [table.splits(columns) for table in self._tables]
        if any(splits is None for splits in of_each):
            return None
        return [split for splits in of_each if splits is not None for split in splits]
