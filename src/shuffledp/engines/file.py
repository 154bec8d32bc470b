"""Tables with one row per report, in a file or in memory: a column of it, or an SQL expression of each row."""

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from shuffledp.core import checks
from shuffledp.domains.domain import Domain
from shuffledp.domains.rows import VALUE
from shuffledp.engines.dialect import Dialect
from shuffledp.engines.expression import Expression
from shuffledp.engines.frame import Frame
from shuffledp.engines.person_rows import surplus
from shuffledp.engines.source import NOBODY, Piece, Source
from shuffledp.engines.table import Table
from shuffledp.engines.tabular import Tabular, records
from shuffledp.errors import InvalidInput


class Rows(Source):
    """A table, read in batches.

    Args:
        column: with the values; or
        query: an SQL expression of the row's columns; or neither, if the plan names its columns.
        user: column that says whose row it is; a second row of the same person is refused, unless
        max_rows_per_user: says how many may take part.
    """

    def __init__(
        self,
        *,
        column: str | None = None,
        query: str | None = None,
        user: str | None = None,
        max_rows_per_user: int | None = None,
    ) -> None:
        if column is not None and query is not None:
            raise _one_of_two()
        if max_rows_per_user is not None and user is None:
            raise InvalidInput(
                "rows per person can only be limited if it is known whose they are. Give the user column."
            )
        if max_rows_per_user is not None and checks.whole(max_rows_per_user, "max_rows_per_user", "Use e.g. 1.") < 1:
            raise InvalidInput("a person has at least one row. Give max_rows_per_user of 1 or more.")
        self._column, self._query = column, query
        self._user, self._limit = user, max_rows_per_user
        self.rows_per_person, self.knows_people = max_rows_per_user or 1, user is not None

    @abstractmethod
    def _table(self, domain: Domain) -> Tabular:
        """The table."""

    def pieces(self, domain: Domain) -> Iterator[Piece]:
        """One per batch of the table."""
        named = domain.table_columns if self._column is None and self._query is None else ()
        if self._column is None and self._query is None and not named:
            raise _one_of_two()
        table = self._table(domain)
        expression = Expression(self._query) if self._query is not None else None
        columns = [table.column(name) for name in (named if self._column is None else (self._column,))]
        if expression is not None:
            columns = expression.columns(table)
        beside = [table.column(name) for name in domain.beside]
        numbers = {name for name in columns if expression is not None or domain.is_number(name)} - {*beside}
        with ExitStack() as stack:
            extra = None
            if self._user is not None:
                extra = stack.enter_context(surplus(table, self._user, self.rows_per_person))
            row = 0
            for batch, share in table.batches([*columns, *beside], numbers=numbers):
                if row == 0 and expression is not None:
                    expression.check(batch, texts=table.untyped)
                raw = expression.evaluate(batch, row) if expression else batch.column(columns[0])
                if named:
                    raw = batch.select(columns).to_struct_array()
                if beside:
                    raw = records([*(batch.column(name) for name in beside), raw], [*beside, VALUE])
                leave_out = NOBODY if extra is None else extra.before(row + len(raw)) - row
                if self._limit is None and len(leave_out):
                    raise InvalidInput(
                        f"in data row {row + int(leave_out[0]) + 1:,} a user appears again. Keep one row per person, or use "
                        "--max-rows-per-user."
                    )
                yield Piece(raw, row, leave_out, share)
                row += len(raw)


def _one_of_two() -> InvalidInput:
    return InvalidInput("the values come from either a column or a query. Give one of the two.")


class File(Rows):
    """A CSV, Parquet or Arrow file, read in batches.

    Args:
        path: of the file.
        multiline: whether cells of a CSV file may contain line breaks.
        separator: the character between its cells.
        decimal: the mark before its decimals, a point or a comma.
        columns: as for any table.
    """

    in_file = True

    def __init__(
        self, path: Path | str, *, multiline: bool = False, separator: str = ",", decimal: str = ".", **columns: Any
    ) -> None:
        super().__init__(**columns)
        self._path, self._multiline = Path(path), multiline
        self._dialect = Dialect(separator=separator, decimal=decimal)

    def _table(self, domain: Domain) -> Table:
        return Table(path=self._path, multiline=self._multiline, labels=domain.labels, dialect=self._dialect)

    def __str__(self) -> str:
        return self._path.name


class FrameRows(Rows):
    """A data frame in memory.

    Args:
        data: the frame.
        columns: as for any table.
    """

    def __init__(self, data: Any, **columns: Any) -> None:
        super().__init__(**columns)
        self._frame = Frame(data)

    def _table(self, domain: Domain) -> Frame:  # noqa: ARG002
        return self._frame

    def __str__(self) -> str:
        return self._frame.name
