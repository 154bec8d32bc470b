"""Tables with one row per report, in a file or in memory: a column of it, or an SQL expression of each row."""

import contextlib
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from shuffledp.core import checks, given
from shuffledp.core.files import place_of
from shuffledp.core.words import Words
from shuffledp.domains.domain import Domain
from shuffledp.domains.rows import VALUE
from shuffledp.engines.addresses import addresses_of
from shuffledp.engines.dialect import Dialect
from shuffledp.engines.expression import Expression
from shuffledp.engines.frame import Frame
from shuffledp.engines.person_rows import surplus
from shuffledp.engines.source import NOBODY, Part, Piece, Source
from shuffledp.engines.table import Table
from shuffledp.engines.tables import Tables
from shuffledp.engines.tabular import TablePart, Tabular, records
from shuffledp.errors import InvalidInput


class Rows(Source):
    """A table, read in batches.

    Args:
        column: with the values; or
        query: an SQL expression of the row's columns; or neither, if the plan names its columns.
        user: column that says whose row it is; a second row of the same person is refused, unless
        max_rows_per_user: says how many may take part.
        row_id: column with a whole number for each row, another one for each: the address of its randomness. Without it,
            that is where the row stands in the table.
    """

    def __init__(
        self,
        *,
        column: str | None = None,
        query: str | None = None,
        user: str | None = None,
        max_rows_per_user: int | None = None,
        row_id: str | None = None,
    ) -> None:
        for name, what in (("column", column), ("query", query), ("user", user), ("row_id", row_id)):
            if what is not None:
                given.text(what, name, "answer")
        if column is not None and query is not None:
            raise _one_of_two()
        if max_rows_per_user is not None and user is None:
            raise InvalidInput(
                "rows per person can only be limited if it is known whose they are. Give the user column."
            )
        if max_rows_per_user is not None:
            max_rows_per_user = checks.whole(max_rows_per_user, "max_rows_per_user", "Use e.g. 1.")
        if max_rows_per_user is not None and max_rows_per_user < 1:
            raise InvalidInput("a person has at least one row. Give max_rows_per_user of 1 or more.")
        self._column, self._query, self.is_query = column, query, query is not None
        self._user, self._limit, self._row_id = user, max_rows_per_user, row_id
        self.rows_per_person, self.knows_people = max_rows_per_user or 1, user is not None

    @abstractmethod
    def _table(self, domain: Domain) -> Tabular:
        """The table."""

    def addresses(self, domain: Domain) -> Iterator[Words]:
        """Those of all rows, if there is a column with them."""
        if self._row_id is not None:
            table = self._table(domain)
            name = table.column(self._row_id)
            for batch, _ in table.batches([name]):
                yield addresses_of(batch.column(name), name)

    def parts(self, domain: Domain) -> Iterator[Part]:
        """As the table has them, unless rows must be read in their order: to tell people apart, or to ask a database."""
        parts = None
        if self._query is None and self._user is None and self._row_id is None:
            table = self._table(domain)
            read = Reading(table, domain, self._column)
            parts = table.parts(read.columns)
        if parts is None:
            yield from super().parts(domain)
            return
        row, total = 0, max(1, sum(part.rows for part in parts))
        for part in parts:
            yield Part(row, part.rows, partial(_pieces, read, part, row), (row + part.rows) / total)
            row += part.rows

    def pieces(self, domain: Domain) -> Iterator[Piece]:
        """One per batch of the table."""
        table = self._table(domain)
        expression = Expression(self._query) if self._query is not None else None
        read = Reading(table, domain, self._column, expression)
        row_id = [] if self._row_id is None else [table.column(self._row_id)]
        with ExitStack() as stack:
            extra = None
            if self._user is not None:
                extra = stack.enter_context(surplus(table, self._user, self.rows_per_person))
            row = 0
            for batch, share in table.batches([*read.columns, *row_id], numbers=read.numbers):
                if row == 0:
                    read.check(batch, domain, texts=table.untyped)
                raw = read.raw(batch)
                leave_out = NOBODY if extra is None else extra.before(row + len(raw)) - row
                if self._limit is None and len(leave_out):
                    raise InvalidInput(
                        f"in data row {row + int(leave_out[0]) + 1:,} a user appears again. Keep one row per person, or use "
                        "`max_rows_per_user`."
                    )
                addresses = addresses_of(batch.column(row_id[0]), row_id[0]) if row_id else None
                yield Piece(raw, row, leave_out, share, addresses)
                row += len(raw)


class Reading:
    """Which columns are read, and how they become one column of raw values."""

    def __init__(
        self, table: Tabular, domain: Domain, column: str | None, expression: Expression | None = None
    ) -> None:
        named = domain.table_columns if column is None and expression is None else ()
        if column is None and expression is None and not named:
            raise _one_of_two()
        self._expression, self._named = expression, bool(named)
        self._own = [table.column(name) for name in (named if column is None else (column,))]
        if expression is not None:
            self._own = expression.columns(table)
        self._beside = [table.column(name) for name in domain.beside]
        self.columns = [*self._own, *self._beside]
        mine = {name for name in self._own if expression is not None or domain.is_number(name)}
        self.numbers = mine - {*self._beside}
        """Those whose cells are numbers."""

    def check(self, batch: Any, domain: Domain, *, texts: bool) -> None:
        """Refuse a query that does not work on any row."""
        if self._expression is not None:
            self._expression.check(batch, texts=texts, numbers=not domain.table_columns and domain.is_number(VALUE))

    def raw(self, batch: Any) -> Any:
        """The raw values of a batch of the table."""
        raw = self._expression.evaluate(batch) if self._expression is not None else batch.column(self._own[0])
        if self._named:
            raw = batch.select(self._own).to_struct_array()
        if self._beside:
            raw = records([*(batch.column(name) for name in self._beside), raw], [*self._beside, VALUE])
        return raw


def _pieces(read: Reading, part: TablePart, row: int) -> Iterator[Piece]:
    for batch in part.read():
        yield Piece(read.raw(batch), row)
        row += batch.num_rows


def _one_of_two() -> InvalidInput:
    return InvalidInput("the values come from either a column or a query. Give one of the two.")


class File(Rows):
    """A CSV, Parquet or Arrow file, or several that are alike, read in batches.

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
        given.truth(multiline, "multiline")
        listed = [path] if isinstance(path, Path | str) or not isinstance(path, list | tuple) else path
        self._paths = [place_of(one) for one in listed]
        if len({one.resolve() for one in self._paths}) < max(1, len(self._paths)):
            raise InvalidInput(
                "there is no file, or one is named twice, so that people would count twice. Name each once."
            )
        self._multiline, self._dialect = multiline, Dialect(separator=separator, decimal=decimal)

    def _table(self, domain: Domain) -> Tabular:
        coded = self._column if self._query is None and not domain.beside else None
        tables = [
            Table(path=path, multiline=self._multiline, labels=domain.labels, dialect=self._dialect, coded=coded)
            for path in self._paths
        ]
        return tables[0] if len(tables) == 1 else Tables(tables)

    def identity(self) -> object:
        """Which files they are, how long, and when they were written last."""
        found = list[tuple[int, ...]]()
        for path in self._paths:
            with contextlib.suppress(OSError):  # whoever reads it says so
                seen = path.stat()
                found.append((seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns))
        return found

    def __str__(self) -> str:
        return self._paths[0].name if len(self._paths) == 1 else f"the table of {len(self._paths):,} files"


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
