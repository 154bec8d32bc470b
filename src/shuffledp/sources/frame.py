"""Tables in data frames: of pandas, polars, Arrow, or anything else that shows its columns to Arrow.

Only the columns that are asked for are converted, by the libraries' own code: no value passes through Python by itself.
"""

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shuffledp.domains.domain import Domain
from shuffledp.domains.raw_value import is_missing, label_of
from shuffledp.errors import InvalidInput
from shuffledp.sources.source import CHUNK
from shuffledp.sources.table import Table, arrow
from shuffledp.sources.table_source import TableSource

if TYPE_CHECKING:
    import pyarrow as pa


def is_frame(data: Any) -> bool:
    """Whether this is a table, with named columns, and not one column of values."""
    if isinstance(data, np.ndarray):
        return data.dtype.names is not None
    names = ("collect_schema", "columns", "column_names", "__dataframe__")
    return isinstance(data, Mapping) or any(hasattr(data, name) for name in names)


class Frame(Table):
    """A table in memory.

    Args:
        data: a data frame, an Arrow table, a structured array, or a dict of columns.
    """

    __slots__ = ("_data",)

    def __init__(self, data: Any) -> None:
        self._data = (
            data.collect() if hasattr(data, "collect_schema") and hasattr(data, "collect") else data
        )  # lazy ones

    @property
    def name(self) -> str:
        return "the table"

    def columns(self) -> list[str]:
        """Names of the columns."""
        data = self._data
        if isinstance(data, np.ndarray):
            return list(data.dtype.names or ())
        names = data.keys() if isinstance(data, Mapping) else getattr(data, "column_names", None)
        if names is None:
            names = data.columns if hasattr(data, "columns") else data.__dataframe__().column_names()
        columns = list(names() if callable(names) else names)
        if not all(isinstance(name, str) for name in columns):
            raise InvalidInput("the table has columns whose names are not texts. Name them.")
        return columns

    def record_batches(
        self,
        columns: Sequence[str],
        *,
        numbers: Collection[str] = (),  # noqa: ARG002
    ) -> "Iterator[tuple[pa.RecordBatch, float]]":
        """Chunks of a bounded size. Their types say what is a number."""
        table = self._arrow(list(dict.fromkeys(columns)))
        done = 0
        for batch in table.to_batches(max_chunksize=CHUNK):
            done += batch.num_rows
            yield batch, done / table.num_rows

    def _arrow(self, columns: list[str]) -> Any:
        """These columns as an Arrow table. What goes wrong may quote a cell, so only its kind is told."""
        pa = arrow()
        failure = ""
        try:
            return _converted(pa, self._data, columns)
        except Exception as error:
            failure = type(error).__name__
        raise InvalidInput(
            f"the table cannot be read ({failure}): columns of different lengths or of mixed types. Make its columns plain ones."
        )


class FrameSource(TableSource):
    """A data frame in memory.

    Args:
        data: the frame.
        columns: as for any table.
    """

    in_file = True

    def __init__(self, data: Any, **columns: Any) -> None:
        super().__init__(**columns)
        self._frame = Frame(data)

    def _table(self, domain: Domain) -> Frame:  # noqa: ARG002
        return self._frame

    def __str__(self) -> str:
        return self._frame.name


def _converted(pa: Any, data: Any, columns: list[str]) -> Any:
    if isinstance(data, Mapping | np.ndarray):
        return pa.table({name: _column(pa, data[name]) for name in columns})
    if isinstance(data, pa.Table | pa.RecordBatch):
        chosen = data.select(columns)
        return pa.Table.from_batches([chosen]) if isinstance(chosen, pa.RecordBatch) else chosen.unify_dictionaries()
    if hasattr(data, "dtypes") and hasattr(data, "iloc"):  # pandas: NaN is missing
        return pa.table({name: _column(pa, data[name]) for name in columns})
    if hasattr(data, "__arrow_c_stream__"):
        return pa.table(data).select(columns).unify_dictionaries()
    return pa.interchange.from_dataframe(data).select(columns).unify_dictionaries()


def _is_foreign(kind: Any) -> bool:
    return isinstance(kind, np.dtype) and not kind.isnative


def _column(pa: Any, values: Any) -> Any:
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if _is_foreign(getattr(values, "dtype", None)):
        values = values.astype(values.dtype.newbyteorder("="))
    with contextlib.suppress(pa.ArrowException):
        return pa.array(values, from_pandas=True)
    # of mixed types: as they would be written in a file, so that every domain reads them by its own rules
    texts = [None if is_missing(value) else label_of(value) for value in values]
    if any(text is None and not is_missing(value) for text, value in zip(texts, values, strict=True)):
        raise TypeError
    return pa.array(texts, pa.string())
