"""Raw rows of numbers, whatever they are written in, as a matrix. Nothing here shows a value."""

import contextlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import checks
from shuffledp.core.parsing import Unreadable, parse_exactly
from shuffledp.domains.columns import is_arrow, numbers
from shuffledp.domains.domain import refusal
from shuffledp.domains.raw_value import is_missing, number_of
from shuffledp.errors import InvalidInput

Reals = NDArray[np.float64]


def matrix_of(raw: Any, dimension: int, columns: Sequence[str], first_row: int | None) -> Reals:
    """A row of doubles for each value; what is missing is NaN. What is no row of that many numbers is refused."""
    if is_arrow(raw):
        return _arrow(raw, dimension, columns, first_row)
    if isinstance(raw, np.ndarray):
        if raw.dtype.names is not None:
            return _side_by_side([raw[name] for name in _present(columns, raw.dtype.names)], dimension, first_row)
        if raw.ndim == 1 and dimension == 1 and raw.dtype.kind in "biuf":
            raw = raw[:, None]
        if raw.ndim == 2:
            _check_width(raw.shape[1], dimension)
            flat = numbers(raw.reshape(-1), None if first_row is None else 0)
            return flat.reshape(raw.shape)
        if raw.ndim != 1 or raw.dtype.kind not in "OU":
            raise _no_rows(dimension)
    return _listed(list(raw), dimension, columns, first_row)


def _listed(raw: list[Any], dimension: int, columns: Sequence[str], first_row: int | None) -> Reals:
    """Rows one by one: lists, texts with commas between numbers, JSON, or mappings by column."""
    if not raw:
        return np.empty((0, dimension))
    if not any(isinstance(row, str | Mapping | bytes) for row in raw):
        with contextlib.suppress(Exception):  # whatever a value's own methods raise may show it
            whole = np.asarray(raw)
            if whole.dtype.kind in "biuf" and whole.shape == (len(raw), dimension):
                return whole.astype(np.float64)
    rows = [_row(value, dimension, columns) for value in raw]
    bad = np.array([row is None for row in rows], dtype=np.bool_)
    if bad.any():
        raise refusal(
            f"is no row of {dimension:,} numbers", bad, first_row, f"Give {dimension:,} numbers for each person"
        )
    return np.array(rows, dtype=np.float64).reshape(len(raw), dimension)


def _row(value: Any, dimension: int, columns: Sequence[str]) -> Sequence[float] | None:
    """The numbers of one row, NaN where they are missing; None if it is none."""
    if isinstance(value, str):
        if value.lstrip().startswith(("{", "[")):
            try:
                value = parse_exactly(value)
            except Unreadable:
                return None
        else:
            value = value.split(",")
    if isinstance(value, Mapping):
        if not set(columns) <= value.keys() or not columns:
            return None
        value = [value[name] for name in columns]
    with contextlib.suppress(Exception):  # whatever a value's own methods raise may show it
        if value is None or (not isinstance(value, list | tuple | np.ndarray) and is_missing(value)):
            return [math.nan] * dimension
        if dimension == 1 and not hasattr(value, "__len__"):
            value = [value]
        cells = None if isinstance(value, bytes) else [_cell(cell) for cell in value]
        if cells is not None and len(cells) == dimension and None not in cells:
            return cells  # type: ignore[return-value]
    return None


def _cell(cell: Any) -> float | None:
    if is_missing(cell) or cell == "":
        return math.nan
    if isinstance(cell, str):
        return number_of(cell)
    return float(cell) if isinstance(cell, bool | np.bool_) else checks.real(cell, "a value")


def _arrow(raw: Any, dimension: int, columns: Sequence[str], first_row: int | None) -> Reals:
    """Lists of numbers, records of columns, or texts."""
    import pyarrow as pa

    array = raw.combine_chunks() if isinstance(raw, pa.ChunkedArray) else raw
    if isinstance(array, pa.ChunkedArray):  # of no chunks, in some versions
        array = pa.array([], array.type)
    array = array.storage if isinstance(array, pa.ExtensionArray) else array
    kind = array.type
    if pa.types.is_dictionary(kind):
        return _arrow(array.dictionary_decode(), dimension, columns, first_row)
    if pa.types.is_struct(kind):
        present = _present(columns, [child.name for child in kind])
        rows = _side_by_side([array.field(name) for name in present], dimension, first_row)
        return _with_gaps(rows, array)
    if pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _lists(array, dimension, first_row)
    if dimension == 1 and (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
        return numbers(array, first_row)[:, None]
    if (
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_string_view(kind)
        or pa.types.is_null(kind)
    ):
        texts = None
        with contextlib.suppress(UnicodeDecodeError):
            texts = array.to_pylist()
        if texts is None:
            raise InvalidInput("a row is not text in UTF-8. Save the file in that encoding.")
        return _listed(texts, dimension, columns, first_row)
    raise InvalidInput(f"a column of type {kind} has no rows of numbers. Use a column of lists, or name the columns.")


def _lists(array: Any, dimension: int, first_row: int | None) -> Reals:
    """A column of lists: those that are there lie side by side."""
    import pyarrow as pa
    import pyarrow.compute as pc

    there = array.is_valid().to_numpy(zero_copy_only=False)
    if pa.types.is_fixed_size_list(array.type):
        _check_width(array.type.list_size, dimension)
    else:
        lengths = pc.list_value_length(array).fill_null(dimension).to_numpy(zero_copy_only=False)
        if (lengths != dimension).any():
            raise refusal(
                f"is no row of {dimension:,} numbers", lengths != dimension, first_row,
                f"Give {dimension:,} numbers for each person",
            )  # fmt: skip
    cells = numbers(array.drop_null().flatten(), None).reshape(-1, dimension)
    if there.all():
        return cells
    rows = np.full((len(array), dimension), np.nan)
    rows[there] = cells
    return rows


def _with_gaps(rows: Reals, array: Any) -> Reals:
    """Rows that are missing as a whole have no numbers, whatever their columns hold."""
    if array.null_count:
        rows[array.is_null().to_numpy(zero_copy_only=False)] = np.nan
    return rows


def _side_by_side(columns: Sequence[Any], dimension: int, first_row: int | None) -> Reals:
    rows = np.empty((len(columns[0]) if columns else 0, dimension))
    for j, column in enumerate(columns):
        rows[:, j] = numbers(column, first_row)
    return rows


def _present(columns: Sequence[str], there: Sequence[str]) -> Sequence[str]:
    if not columns or not set(columns) <= set(there):
        raise InvalidInput(
            "rows by column need the names of the plan's columns. Plan with `columns`, or give rows of numbers."
        )
    return columns


def _check_width(found: int, dimension: int) -> None:
    if found != dimension:
        raise InvalidInput(f"rows have {found:,} numbers, and the plan is for {dimension:,}. Give rows of that many.")


def _no_rows(dimension: int) -> InvalidInput:
    return InvalidInput(f"values are rows of {dimension:,} numbers. Give a two-dimensional array, or a list of rows.")
