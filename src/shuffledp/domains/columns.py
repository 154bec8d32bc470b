"""Raw columns, whatever they are made of, as numbers or as positions in a list. Nothing here shows a value.

Arrow is imported only if a column is Arrow's: a client that reports one value needs none of it.
"""

import contextlib
import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import checks
from shuffledp.domains.domain import Mask, refusal
from shuffledp.domains.raw_value import is_missing, label_of, number_of
from shuffledp.errors import InvalidInput

Reals = NDArray[np.float64]
NOT_A_NUMBER = "is not a number"
_WRITE_NUMBERS = (
    "Write numbers like 1234.5, with no mark between thousands (for a CSV file with decimal commas: `decimal=','`), or use "
    "another column"
)
NOT_UTF8 = "is not text in UTF-8"


def is_arrow(raw: Any) -> bool:
    """Whether this is an Arrow array."""
    return type(raw).__module__.split(".")[0] == "pyarrow"


def numbers(raw: Any, first_row: int | None) -> Reals:
    """Doubles; missing values are NaN. Texts are read as numbers, as the cells of a CSV file must be."""
    if is_arrow(raw):
        return _arrow_numbers(_column(raw), first_row)
    given = raw if isinstance(raw, np.ndarray) else None
    if given is None and not any(isinstance(value, str) for value in raw):
        with contextlib.suppress(Exception):  # whatever a value's own methods raise may show it
            given = np.asarray(raw)
    if given is not None and given.dtype.kind not in "OU":
        return checks.numbers(given)
    if given is not None and given.ndim != 1:
        raise InvalidInput("values must be one column. Give an array of one dimension.")
    read = [_number(value) for value in raw]
    bad = np.array([number is None for number in read], dtype=np.bool_)
    if bad.any():
        raise refusal(NOT_A_NUMBER, bad, first_row, "Use another column")
    return np.array(read, dtype=np.float64)


def _number(value: Any) -> float | None:
    """NaN for what is missing, None for what is no number."""
    if is_missing(value):
        return math.nan
    if isinstance(value, str):
        return number_of(value)
    with contextlib.suppress(Exception):  # whatever a value's own methods raise may show it
        return float(value) if isinstance(value, bool) else checks.real(value, "a value")
    return None


def whole_numbers(raw: Any) -> NDArray[np.integer] | None:
    """An array or an Arrow column of whole numbers, none of them missing, as it is; None if it is something else."""
    if is_arrow(raw):
        import pyarrow as pa

        column = _one_array(raw)
        whole = pa.types.is_integer(column.type) and column.null_count == 0
        return np.asarray(column.to_numpy(zero_copy_only=False)) if whole else None
    plain = isinstance(raw, np.ndarray) and not isinstance(raw, np.ma.MaskedArray)
    return raw if plain and raw.dtype.kind in "iu" and raw.ndim == 1 else None  # lengths of time are integers to numpy


def positions(raw: Any, names: tuple[str, ...]) -> tuple[NDArray[np.integer], Mask | None]:
    """Where each text is in the list, -1 for none; and which are missing, None if none is."""
    if is_arrow(raw):
        return _arrow_positions(_one_array(raw), names)
    if isinstance(raw, np.ndarray) and raw.ndim != 1:
        raise InvalidInput("values must be one column. Give an array of one dimension.")
    if isinstance(raw, np.ndarray) and raw.dtype.kind in "biufU":  # each different value once
        different, places = np.unique(raw, return_inverse=True)
        which, missing = positions(list(different), names)
        return which[places], None if missing is None else missing[places]
    where = _places(names)
    which = np.array([where.get(value if type(value) is str else label_of(value), -1) for value in raw], dtype=np.int64)
    if which.size == 0 or which.min() >= 0:
        return which, None
    missing = np.array([is_missing(value) for value in raw], dtype=np.bool_)
    return which, missing if missing.any() else None


@lru_cache(maxsize=4)
def _places(names: tuple[str, ...]) -> dict[str | None, int]:
    return {name: j for j, name in enumerate(names)}


class DistinctTexts(NamedTuple):
    """The different texts of a column in UTF-8; which of them each row has; which rows are missing, None if none is."""

    texts: list[bytes]
    places: NDArray[np.int64]
    missing: Mask | None


def distinct_texts(raw: Any, first_row: int | None) -> DistinctTexts:
    """The texts of a column, each once: Arrow finds them without making an object of every row."""
    if is_arrow(raw):
        return _arrow_texts(_one_array(raw), first_row)
    place_of: dict[str, int] = {}
    missing = np.array([is_missing(value) for value in raw], dtype=np.bool_)
    labels = [None if gone else label_of(value) for value, gone in zip(raw, missing, strict=True)]
    places = np.array(
        [-1 if label is None else place_of.setdefault(label, len(place_of)) for label in labels], dtype=np.int64
    )
    if ((places < 0) & ~missing).any():
        raise refusal("is not a text", (places < 0) & ~missing, first_row, "Use another column")
    texts = [text.encode(errors="surrogatepass") for text in place_of]
    _check_utf8(texts, places, first_row)
    return DistinctTexts(texts, np.where(missing, 0, places), missing if missing.any() else None)


def _arrow_texts(column: Any, first_row: int | None) -> DistinctTexts:
    """The distinct texts of a column that may be dictionary-encoded already; then only the entries in use count."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        column = _as_texts(column, "texts").dictionary_encode()
    missing = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    places = column.indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    entries = _as_texts(column.dictionary, "texts")
    if entries.null_count:  # an entry that stands for "missing"
        empty = entries.is_null().to_numpy(zero_copy_only=False)[places]
        missing = empty if missing is None else missing | empty
    if missing is not None and not missing.all():  # what a missing row would stand for is not in use
        places = np.where(missing, places[int(np.argmin(missing))], places)
    used = np.bincount(places, minlength=len(entries)) > 0
    if not used.all():
        entries, places = entries.filter(pa.array(used)), (np.cumsum(used) - 1)[places]
    texts = [text or b"" for text in entries.cast(pa.binary()).to_pylist()] if len(places) else []
    _check_utf8(texts, places if missing is None else np.where(missing, -1, places), first_row)
    return DistinctTexts(texts, places, missing)


def _check_utf8(texts: list[bytes], places: NDArray[np.int64], first_row: int | None) -> None:
    bad = [place for place, text in enumerate(texts) if not _is_utf8(text)]
    if bad:
        raise refusal(NOT_UTF8, np.isin(places, bad), first_row, "Save the file in that encoding")


def _is_utf8(text: bytes) -> bool:
    if text.isascii():
        return True
    with contextlib.suppress(UnicodeDecodeError):
        text.decode()
        return True
    return False


def _one_array(raw: Any) -> Any:
    import pyarrow as pa

    if isinstance(raw, pa.ChunkedArray):
        raw = raw.combine_chunks()
    if not isinstance(raw, pa.Array):
        raise InvalidInput("values must be one column. Give an array of it.")
    return raw


def _column(raw: Any) -> Any:
    """One Arrow array; what is dictionary-encoded is decoded."""
    import pyarrow as pa

    array = _one_array(raw)
    if not pa.types.is_dictionary(array.type):
        return array
    entries = array.dictionary
    if pa.types.is_string_view(entries.type):  # which Arrow cannot take from
        entries = entries.cast(pa.string())
    return entries.take(array.indices)


def _arrow_numbers(column: Any, first_row: int | None) -> Reals:
    import pyarrow as pa

    kind = column.type
    if pa.types.is_boolean(kind):
        column = column.cast(pa.uint8())
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        parsed = _cast(column)
        if parsed is None:
            bad = np.array([_cast(column[j : j + 1]) is None for j in range(len(column))])
            raise refusal(
                NOT_A_NUMBER,
                bad,
                first_row,
                _WRITE_NUMBERS,
            )
        column = parsed
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind)
              or pa.types.is_boolean(kind)):  # fmt: skip
        raise InvalidInput(
            f"a column of type {kind} has no numbers. Use another column, or a query that makes numbers."
        )
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)


def _cast(column: Any) -> Any:
    """Texts as doubles, None if one is no number: Arrow's own message would quote it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    with contextlib.suppress(pa.ArrowException):
        return column.cast(pa.float64())
    with contextlib.suppress(pa.ArrowException):
        return pc.utf8_trim_whitespace(column.cast(pa.string())).cast(pa.float64())
    return None


def _arrow_positions(column: Any, names: tuple[str, ...]) -> tuple[NDArray[np.integer], Mask | None]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        return _coded_positions(column, names)
    texts = _as_texts(column, "labels")
    places = pc.index_in(texts, value_set=pa.array(names, type=pa.string()))
    missing = texts.is_null().to_numpy(zero_copy_only=False) if texts.null_count else None
    return places.fill_null(-1).to_numpy(zero_copy_only=False), missing


def _coded_positions(column: Any, names: tuple[str, ...]) -> tuple[NDArray[np.integer], Mask | None]:
    """Positions of a dictionary-encoded column: each entry is looked up once, and rows are known by their codes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    entries, unset = _arrow_positions(column.dictionary, names)
    codes = column.indices
    missing = codes.is_null().to_numpy(zero_copy_only=False) if codes.null_count else None
    if missing is not None:
        codes = codes.fill_null(0)
    if len(entries) == 0:
        return np.full(len(codes), -1), missing
    places = codes.to_numpy(zero_copy_only=False)
    # a damaged file can have any; numpy sees that sooner than Arrow, which looks at each when it takes it
    if len(places) and not (places.min() >= 0 and places.max() < len(entries)):
        raise InvalidInput("a column has codes that stand for nothing, so it is damaged. Write it again.")
    if unset is not None:
        empty = unset[places]
        missing = empty if missing is None else missing | empty
    kind = np.int8 if len(names) <= 1 << 7 else np.int64  # what is looked up for every row should stay small
    taken = pc.take(pa.array(entries.astype(kind)), codes, boundscheck=False)
    return taken.to_numpy(zero_copy_only=False), missing


def _as_texts(column: Any, what: str) -> Any:
    """A column of texts; numbers as they are written, and what is no number is missing."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        coded = column.dictionary_encode()
        texts = [None if is_missing(value) else label_of(value) for value in coded.dictionary.to_pylist()]
        return pa.array(texts, type=pa.string()).take(coded.indices)
    if not pa.types.is_timestamp(kind):  # nobody writes days with their nanoseconds
        with contextlib.suppress(pa.ArrowException):
            return column.cast(pa.string())
    raise InvalidInput(f"a column of type {kind} has no {what}. Use one of texts or whole numbers.")
