"""Addresses of rows that are given, not counted: whole numbers, each of one row only.

Two rows with one address would have the same coins, and their messages would tell how their values differ.
"""

import contextlib
import tempfile
from collections.abc import Iterable
from itertools import chain
from typing import Any, Final

import numpy as np

from shuffledp.core.installed import not_installed
from shuffledp.core.randomness import KeyedRandomness, Words
from shuffledp.errors import InvalidInput
from shuffledp.sources.table import arrow

FEW: Final = 1 << 22
"""Addresses that are compared in memory."""


def addresses_of(column: Any, name: str) -> Words:
    """The addresses in an Arrow column; of a CSV file it has texts. No cell is shown."""
    pa = arrow()
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.dictionary_decode()
        kind = column.type
    texts = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    whole = pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.scale == 0)
    addresses = None
    if column.null_count == 0 and (texts or whole):
        with contextlib.suppress(pa.ArrowException):  # its message would quote a cell
            addresses = column.cast(pa.uint64())
    if addresses is None:
        raise InvalidInput(
            f"column {name!r} has row numbers that are missing, negative, too large or not whole. "
            "Use one with a whole number from 0 to 2^64 - 1 in every row."
        )
    return np.asarray(addresses.to_numpy(zero_copy_only=False), dtype=np.uint64)


class Rising:
    """Whether addresses always increase, so that none can come again."""

    def __init__(self) -> None:
        self.doubtful = False
        """Whether they did not."""
        self._last = -1
        self._given: bool | None = None

    def check(self, addresses: Words | None, rows: int) -> None:
        """The addresses of the next chunk; None if its rows are counted."""
        given = addresses is not None
        if self._given not in (None, given) or (addresses is not None and len(addresses) != rows):
            raise InvalidInput("only a part of the rows have addresses. Give one for each row, or none at all.")
        self._given = given
        if addresses is None or not rows:
            return
        if int(addresses[0]) <= self._last or bool((addresses[1:] <= addresses[:-1]).any()):
            self.doubtful = True
        self._last = int(addresses[-1])


def check_distinct(addresses: Iterable[Words], name: str) -> None:
    """Refuse an address that comes twice, however many there are: beyond some millions, out of core."""
    rest, some, held = iter(addresses), list[Words](), 0
    for more in rest:
        some.append(more)
        held += len(more)
        if held > FEW:
            again = _comes_again(chain(some, rest))
            break
    else:
        ordered = np.sort(np.concatenate(some)) if some else np.empty(0, dtype=np.uint64)
        again = bool((ordered[1:] == ordered[:-1]).any())
    if again:
        raise InvalidInput(
            f"{name} has two rows with the same row number, which would share their coins. Number each row once."
        )


def _comes_again(addresses: Iterable[Words]) -> bool:
    pa = arrow()
    try:
        import duckdb
    except ImportError:
        raise not_installed("telling rows apart needs duckdb", "run") from None
    # what may spill to disk is not an address, but a block of a cipher, a different one for each
    secret = KeyedRandomness.fresh()
    with tempfile.TemporaryDirectory(prefix="shuffledp-") as folder:
        settings: dict[str, Any] = {"memory_limit": "256MB", "temp_directory": folder, "threads": "1"}
        database = duckdb.connect(":memory:", config=settings)
        try:
            database.execute("CREATE TABLE rows (high UBIGINT, low UBIGINT)")
            for some in addresses:
                blocks = secret.blocks(some, 0)
                database.register("batch", pa.table({"high": blocks[:, 0].copy(), "low": blocks[:, 1].copy()}))
                database.execute("INSERT INTO rows SELECT high, low FROM batch")
            repeated = database.execute("SELECT 1 FROM rows GROUP BY high, low HAVING count(*) > 1 LIMIT 1").fetchall()
        finally:
            database.close()
    return bool(repeated)
