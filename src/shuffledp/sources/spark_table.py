"""Tables of Spark: rows that stay where they are, each with a number of its own."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.cluster.spark_session import quiet, setting
from shuffledp.core.randomness import Words
from shuffledp.domains.domain import Domain
from shuffledp.errors import InvalidInput
from shuffledp.sources.expression import Expression
from shuffledp.sources.row_addresses import addresses_of
from shuffledp.sources.source import NOBODY, Chunk, Split
from shuffledp.sources.table import Table, arrow
from shuffledp.sources.table_source import ONE_ROW, TableSource, ValueColumns

if TYPE_CHECKING:
    import pyarrow as pa

_FORGIVING: Final = ("spark.sql.files.ignoreCorruptFiles", "spark.sql.files.ignoreMissingFiles")
"""Settings under which Spark loses rows without a word."""


def is_spark_table(data: Any) -> bool:
    """Whether this is a DataFrame of Spark, classic or Connect."""
    kind = type(data)
    return kind.__module__.split(".")[0] == "pyspark" and kind.__name__ == "DataFrame" and hasattr(data, "sparkSession")


def spark_table(spark: Any, name: str) -> Any:
    """A table by its name."""
    failure = ""
    try:
        with quiet():
            table = spark.table(name)
            table.columns  # noqa: B018 - Connect looks it up only when it is asked about
            return table
    except Exception as error:
        failure = getattr(error, "getCondition", lambda: None)() or type(error).__name__
    raise InvalidInput(f"Spark has no table {name!r} that can be read ({failure}). Check the name and the catalog.")


class SparkSource(TableSource):
    """A DataFrame of Spark. Its rows have no order, so a column must number them.

    It is evaluated once, and everything is checked on what that evaluation gave: a table that is another one each time
    (`limit`, `rand`) is used as it was that once.

    Args:
        table: the DataFrame, classic or Connect.
        columns: as for any table; `row_id` is needed.
    """

    def __init__(self, table: Any, **columns: Any) -> None:
        super().__init__(**columns)
        if table.isStreaming:
            raise InvalidInput("a stream cannot be read again if a task fails. Write it to a table first.")
        if self._row_id is None:
            raise InvalidInput(
                "rows of a Spark table have no place of their own, so a task that is repeated could not give a person the same "
                "coins. Give `row_id`, a column with another whole number for each row."
            )
        self._data = table

    @property
    def session(self) -> Any:
        """That of the table."""
        return self._data.sparkSession

    def reading(self, domain: Domain) -> "SparkReading":
        """The columns that are needed, and what makes values of them."""
        for name in _FORGIVING:
            if setting(self.session, name) == "true":
                raise InvalidInput(f"with {name} Spark leaves out files that it cannot read. Set it to false.")
        from pyspark.sql import Window
        from pyspark.sql import functions as F  # noqa: N812 - its usual name

        names = self._table(domain)
        needed = self._needed(names, domain)
        row_id = self._row_id or ""
        own = [names.column(name) for name in dict.fromkeys([*needed, row_id])]
        # by position, so that no name is looked up: they may contain dots, or differ in case only
        place = {name: f"c{j}" for j, name in enumerate(names.columns())}
        table = self._data.toDF(*(f"c{j}" for j in range(len(names.columns()))))
        columns = [F.col(place[name]) for name in own]
        if self._user is not None:
            # a row number may be written as text, whose order is another one; what is no number is refused when it is read
            user = F.col(place[names.column(self._user)])
            number = F.col(place[names.column(row_id)]).try_cast("decimal(20, 0)")
            turn = F.row_number().over(Window.partitionBy(user).orderBy(number))
            columns.append(F.when(user.isNull(), F.lit(0)).otherwise(turn))
        table = table.select(*(column.alias(f"v{j}") for j, column in enumerate(columns)))
        reader = Reader(
            columns=names.columns(), own=own, domain=domain, column=self._column, query=self._query, row_id=row_id,
            user=self._user, limit=self._limit,
        )  # fmt: skip
        return SparkReading(table, reader)

    def _needed(self, names: Table, domain: Domain) -> list[str]:
        expression = None if self._query is None else Expression(self._query)
        return ValueColumns(names, domain, self._column, expression).columns

    def _table(self, domain: Domain) -> "ColumnNames":  # noqa: ARG002
        return ColumnNames(tuple(self._data.columns))

    def chunks(self, domain: Domain) -> Iterator[Chunk]:  # noqa: ARG002
        """They are not read here."""
        raise InvalidInput("only the engine spark reads tables of Spark. Use it.")

    def splits(self, domain: Domain) -> Iterator[Split]:  # noqa: ARG002
        """They are not read here."""
        raise InvalidInput("only the engine spark reads tables of Spark. Use it.")

    def __str__(self) -> str:
        return "the table"


class SparkReading(NamedTuple):
    """A table with the columns that are needed, and what reads its record batches."""

    table: Any
    reader: "Reader"


class RowsRead(NamedTuple):
    """Raw values of some rows, their addresses, and which are more than their person may have."""

    raw: Any
    addresses: Words
    leave_out: NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Makes raw values and addresses of record batches, in a task.

    Attributes:
        columns: names of all columns of the table.
        own: of those that a batch has, in their order; one more says the how-manieth row of a person it is.
        domain: that the values are for.
        column: with the values; or
        query: an SQL expression.
        row_id: column with the rows' numbers.
        user: column that says whose row it is.
        limit: rows of one person.
    """

    columns: Sequence[str]
    own: Sequence[str]
    domain: Domain = field(repr=False)
    column: str | None
    query: str | None
    row_id: str
    user: str | None
    limit: int | None

    def opened(self) -> Callable[[Any, int], RowsRead]:
        """Ready to read record batches that begin with a row."""
        expression = None if self.query is None else Expression(self.query)
        reading, pa = ValueColumns(ColumnNames(tuple(self.columns)), self.domain, self.column, expression), arrow()

        def read(batch: Any, row: int) -> RowsRead:
            named = pa.RecordBatch.from_arrays(batch.columns[: len(self.own)], list(self.own))
            if row == 0:
                reading.check(named, self.domain, texts=False)
            leave_out = NOBODY if self.user is None else self._surplus(batch.column(len(self.own)).to_numpy())
            return RowsRead(reading.raw(named), addresses_of(named.column(self.row_id), self.row_id), leave_out)

        return read

    def _surplus(self, turns: NDArray[np.int32]) -> NDArray[np.int64]:
        """Rows that are more than their person may have."""
        if (turns == 0).any():
            raise InvalidInput(
                f"column {self.user!r} does not say who a row belongs to: it is empty there. Fill it in."
            )
        beyond = np.flatnonzero(turns > (self.limit or 1))
        if self.limit is None and len(beyond):
            raise InvalidInput(f"a user appears more than once. {ONE_ROW}")
        return beyond


@dataclass(frozen=True, slots=True)
class ColumnNames(Table):
    """A table of which only the columns' names are known."""

    names: tuple[str, ...]

    @property
    def name(self) -> str:
        return "the table"

    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self.names)

    def record_batches(
        self, columns: Sequence[str], *, numbers: Collection[str] = ()
    ) -> "Iterator[tuple[pa.RecordBatch, float]]":
        """There are none here."""
        raise NotImplementedError
