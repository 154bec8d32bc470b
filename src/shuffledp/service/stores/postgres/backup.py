"""Backups: the same file as that of an SQLite store, so that a store can move from one kind to the other."""

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from shuffledp.core.files import place_of
from shuffledp.errors import InvalidInput
from shuffledp.service.stores.postgres.records import Records
from shuffledp.service.stores.postgres.schema import tables_closing, tables_of
from shuffledp.service.stores.sqlite.schema import TABLES, why
from shuffledp.service.stores.sqlite.store import SQLiteStore
from shuffledp.service.stores.sqlite.store_files import copying_to

_TASK: Final = "id, document, hop, number, retired"
_BATCH: Final = 'id, task, "window", opened, state, count, key, fingerprint, digest, erased, purged'
_TASK_TYPES: Final = ["text", "text", "int4", "int4", "bool"]
_BATCH_TYPES: Final = [
    "int8", "text", "int8", "float8", "text", "int8", "int4", "text", "text", "bool", "bool",
]  # fmt: skip
_LIVE: Final = "SELECT number, batch.id FROM batch JOIN task ON task.id = batch.task WHERE NOT erased ORDER BY batch.id"
_WITH_PIECES: Final = "SELECT id FROM batch WHERE state IN ('CLOSING', 'RELEASED') AND NOT purged ORDER BY id"


class Backups(Records):
    """Reads and writes the file."""

    def backup(self, copy: Path | str) -> None:
        """Write a consistent copy while others write, with rows in the order of their keys, which is not that of arrival."""
        copy = place_of(copy)
        with copying_to(copy), closing(sqlite3.connect(copy, isolation_level=None)) as target:
            self._write(lambda: self._save(target), snapshot=True)

    def _save(self, target: sqlite3.Connection) -> None:
        live = [(number, batch) for number, batch in self._run(_LIVE)]
        for table in (table for _, batch in live for table in (f"sealed_{batch}", f"spending_{batch}")):
            self._run(f"LOCK TABLE {table} IN ACCESS SHARE MODE")  # nobody drops it before it is read
        secrets = {
            batch: bytes.fromhex(self._run(f"SELECT secret FROM secret_{batch}")[0][0])  # noqa: S608
            for (batch,) in self._run("SELECT id FROM batch WHERE state = 'CLOSING'")
        }
        self._run("SET LOCAL enable_seqscan = on")
        if target.in_transaction:  # a first attempt was in the way of others
            target.execute("ROLLBACK")
        target.execute("BEGIN")
        for statement in TABLES.split(";"):
            target.execute(statement)
        found = self.instance()
        _insert(target, "instance", [(str(found.id), found.generation, None)])  # a backup: it has no place
        _insert(target, "task", self._copy_out(f"SELECT {_TASK} FROM task ORDER BY number", _TASK_TYPES))  # noqa: S608
        batches = self._copy_out(f"SELECT {_BATCH} FROM batch ORDER BY id", _BATCH_TYPES)  # noqa: S608
        _insert(target, "batch", ((*row[:8], secrets.get(row[0]), *row[8:]) for row in batches))
        for table in ("report", "spent"):
            query = f"SELECT task, id FROM {table} ORDER BY task, id"  # noqa: S608
            _insert(target, table, self._copy_out(query, ["int4", "bytea"]))
        for number, batch in live:
            sealed = self._copy_out(f"SELECT id, record FROM sealed_{batch} ORDER BY id", ["bytea", "bytea"])  # noqa: S608
            _insert(target, "sealed", ((number, name, batch, record) for name, record in sealed))
            spending = self._copy_out(f"SELECT id FROM spending_{batch} ORDER BY id", ["bytea"])  # noqa: S608
            _insert(target, "spending", ((number, name) for (name,) in spending))
        for (batch,) in self._run(_WITH_PIECES):
            pieces = self._copy_out(f"SELECT number, bytes FROM piece_{batch} ORDER BY number", ["int4", "bytea"])  # noqa: S608
            _insert(target, "piece", ((batch, *row) for row in pieces))
        target.execute("COMMIT")

    def load(self, copy: Path) -> None:
        """Put what a backup has into new tables."""
        source = SQLiteStore(copy, read_only=True, create=False)
        try:
            self._load(source)
        except sqlite3.Error as error:
            raise InvalidInput(f"cannot read {copy}: {why(error)}") from None
        finally:
            source.close()

    def _load(self, source: SQLiteStore) -> None:
        read = source._connection.execute
        tasks = read(f"SELECT {_TASK} FROM task ORDER BY number")  # noqa: S608
        self._copy_in(f"task ({_TASK})", _TASK_TYPES, ((*row[:4], bool(row[4])) for row in tasks))
        rows = read(f"SELECT {_BATCH} FROM batch ORDER BY id").fetchall()  # noqa: S608
        # what is rolled over has no reports of its own
        batches = [(*row[:9], bool(row[9]) or row[4] == "ROLLED_OVER", bool(row[10])) for row in rows]
        self._copy_in(f"batch ({_BATCH})", _BATCH_TYPES, batches)
        self._run("SELECT setval(pg_get_serial_sequence('batch', 'id'), max(id)) FROM batch HAVING max(id) > 0")
        types = ["int4", "bytea"]
        self._copy_in("report", types, read("SELECT task, id FROM report ORDER BY task, id"))
        spent = "SELECT task, id FROM spent UNION SELECT task, id FROM spending ORDER BY task, id"
        self._copy_in("spent", types, read(spent))
        for batch, state, erased, purged in ((row[0], row[4], row[9], row[10]) for row in batches):
            if not erased:
                self._run(tables_of(batch))
                sealed = read("SELECT id, inner FROM sealed WHERE batch = ? ORDER BY id", (batch,))
                self._copy_in(f"sealed_{batch}", ["bytea", "bytea"], sealed)
            if state == "CLOSING" or (state == "RELEASED" and not purged):
                self._run(tables_closing(batch))
                pieces = read("SELECT number, bytes FROM piece WHERE batch = ? ORDER BY number", (batch,))
                self._copy_in(f"piece_{batch}", types, pieces)
            for (secret,) in read("SELECT secret FROM batch WHERE id = ? AND state = 'CLOSING'", (batch,)):
                self._run(f"INSERT INTO secret_{batch} VALUES (?)", secret.hex())  # noqa: S608


def _insert(target: sqlite3.Connection, table: str, rows: Iterable[Sequence[Any]]) -> None:
    """Rows of any length into a table."""
    width = len(target.execute(f"SELECT * FROM {table}").description)  # noqa: S608
    target.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * width)})", rows)  # noqa: S608
