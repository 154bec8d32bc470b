"""A table as a source: the values are one of its columns, or an SQL expression of each row."""

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any, Final

from shuffledp.core import argument, checks
from shuffledp.core.randomness import Words
from shuffledp.domains.domain import Domain
from shuffledp.domains.grouped_rows import VALUE
from shuffledp.errors import InvalidInput
from shuffledp.sources.expression import Expression
from shuffledp.sources.person_rows import surplus
from shuffledp.sources.row_addresses import addresses_of
from shuffledp.sources.source import NOBODY, Chunk, Source, Split
from shuffledp.sources.table import Table, TableSplit, records


class TableSource(Source):
    """A table with one row per report, read in chunks.

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
                argument.text(what, name, "answer")
        if column is not None and query is not None:
            raise _one_of_two()
        if max_rows_per_user is not None and user is None:
            raise InvalidInput(
                "rows per person can only be limited if each row says whose it is. Give the user column."
            )
        if max_rows_per_user is not None:
            max_rows_per_user = checks.whole(max_rows_per_user, "max_rows_per_user", "Use e.g. 1.")
        if max_rows_per_user is not None and max_rows_per_user < 1:
            raise InvalidInput("a person has at least one row. Give max_rows_per_user of 1 or more.")
        self._column, self._query, self.is_query = column, query, query is not None
        self._user, self._limit, self._row_id = user, max_rows_per_user, row_id
        self.rows_per_person, self.knows_people = max_rows_per_user or 1, user is not None

    @abstractmethod
    def _table(self, domain: Domain) -> Table:
        """The table whose rows these are."""

    def addresses(self, domain: Domain) -> Iterator[Words]:
        """Those of all rows, if there is a column with them."""
        if self._row_id is not None:
            table = self._table(domain)
            name = table.column(self._row_id)
            for batch, _ in table.record_batches([name]):
                yield addresses_of(batch.column(name), name)

    def splits(self, domain: Domain) -> Iterator[Split]:
        """As the table has them, unless rows must be read in their order: to tell people apart, or to ask a database."""
        splits = None
        if self._query is None and self._user is None and self._row_id is None:
            table = self._table(domain)
            read = ValueColumns(table, domain, self._column)
            splits = table.splits(read.columns)
        if splits is None:
            yield from super().splits(domain)
            return
        row, total = 0, max(1, sum(split.rows for split in splits))
        for split in splits:
            yield Split(row, split.rows, partial(_chunks, read, split, row), (row + split.rows) / total)
            row += split.rows

    def chunks(self, domain: Domain) -> Iterator[Chunk]:
        """One for each that the table has."""
        table = self._table(domain)
        expression = Expression(self._query) if self._query is not None else None
        read = ValueColumns(table, domain, self._column, expression)
        row_id = [] if self._row_id is None else [table.column(self._row_id)]
        with ExitStack() as stack:
            extra = None
            if self._user is not None:
                extra = stack.enter_context(surplus(table, self._user, self.rows_per_person))
            row = 0
            for batch, share in table.record_batches([*read.columns, *row_id], numbers=read.numbers):
                if row == 0:
                    read.check(batch, domain, texts=table.untyped)
                raw = read.raw(batch)
                leave_out = NOBODY if extra is None else extra.before(row + len(raw)) - row
                if self._limit is None and len(leave_out):
                    raise InvalidInput(
                        f"in data row {row + int(leave_out[0]) + 1:,} a user appears more than once. {ONE_ROW}"
                    )
                addresses = addresses_of(batch.column(row_id[0]), row_id[0]) if row_id else None
                yield Chunk(raw, row, leave_out, share, addresses)
                row += len(raw)


ONE_ROW: Final = (
    "Keep one row per person, or use `max_rows_per_user`, with which epsilon is at least as many times as large as with one "
    "row."
)
"""The remedy where somebody has several."""


class ValueColumns:
    """Which columns are read, and how they become one column of raw values."""

    def __init__(self, table: Table, domain: Domain, column: str | None, expression: Expression | None = None) -> None:
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
        """The raw values of a record batch of the table."""
        raw = self._expression.evaluate(batch) if self._expression is not None else batch.column(self._own[0])
        if self._named:
            raw = batch.select(self._own).to_struct_array()
        if self._beside:
            raw = records([*(batch.column(name) for name in self._beside), raw], [*self._beside, VALUE])
        return raw


def _chunks(read: ValueColumns, split: TableSplit, row: int) -> Iterator[Chunk]:
    for batch in split.read():
        yield Chunk(read.raw(batch), row)
        row += batch.num_rows


def _one_of_two() -> InvalidInput:
    return InvalidInput("the values come from either a column or a query. Give `column` or `query`.")
