"""The unit of privacy is the person: rows of one person beyond the allowed number, found out of core."""

import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.installed import not_installed
from shuffledp.errors import InvalidInput
from shuffledp.sources.table import Table, arrow


class Surplus:
    """Numbers of the rows to leave out, increasing, taken as the rows are read."""

    def __init__(self, batches: Iterator[NDArray[np.int64]]) -> None:
        self._batches = batches
        self._next = np.empty(0, dtype=np.int64)

    def before(self, row: int) -> NDArray[np.int64]:
        """Those not taken yet that are below `row`."""
        taken = []
        while True:
            cut = int(np.searchsorted(self._next, row))
            taken.append(self._next[:cut])
            self._next = self._next[cut:]
            if len(self._next):
                break
            following = next(self._batches, None)
            if following is None:
                break
            self._next = following
        return np.concatenate(taken)


@contextmanager
def surplus(table: Table, user: str, most: int) -> Iterator[Surplus]:
    """The rows after each person's first `most`."""
    pa = arrow()
    try:
        import duckdb
    except ImportError:
        raise not_installed("telling people apart needs duckdb", "run") from None

    column = table.column(user)

    def rows() -> Iterator[Any]:
        first = 0
        for batch, _ in table.record_batches([column]):
            try:
                names = batch.column(column).cast(pa.string())
            except pa.ArrowException:
                names = None
            if names is None:
                raise InvalidInput(
                    f"column {user!r} does not hold names or numbers. Use one that says who a row belongs to."
                )
            if names.null_count:
                missing = first + int(np.argmax(names.is_null().to_numpy(zero_copy_only=False))) + 1
                raise InvalidInput(
                    f"column {user!r} does not say who a row belongs to in data row {missing:,}: it is empty there. Fill it in."
                )
            numbers = pa.array(np.arange(first, first + batch.num_rows))
            yield pa.RecordBatch.from_arrays([names, numbers], schema=schema)
            first += batch.num_rows

    salt = secrets.token_hex(16)
    schema = pa.schema([("person", pa.string()), ("number", pa.int64())])
    with tempfile.TemporaryDirectory(prefix="shuffledp-") as folder:
        settings: dict[str, Any] = {"memory_limit": "64MB", "temp_directory": folder, "threads": "1"}
        database = duckdb.connect(":memory:", config=settings)
        try:
            database.execute("CREATE TABLE rows (person UHUGEINT, number BIGINT)")
            for batch in rows():
                database.register("batch", pa.Table.from_batches([batch]))
                # what may spill to disk is a salted hash, not a name
                database.execute("INSERT INTO rows SELECT md5_number(? || person), number FROM batch", [salt])
            surplus_rows = database.sql(
                "SELECT number FROM (SELECT number, row_number() OVER (PARTITION BY person ORDER BY number) AS turn FROM rows) "
                "WHERE turn > ? ORDER BY number",
                params=[most],
            ).to_arrow_reader()
            yield Surplus(batch.column("number").to_numpy() for batch in surplus_rows)
        finally:
            database.close()
