"""Sealed records, ids and released bytes in PostgreSQL.

Rows of PostgreSQL stand in its files in the order in which they were written, with the number of their transaction. So what is
being collected is in tables of its own for each batch, which are dropped when it ends; ids and spent credentials, which stay for
the life of a task, are first copied in their own order, by one transaction.
"""

from collections.abc import Sequence

from shuffledp.service.stores.batch import Batch, NextKey
from shuffledp.service.stores.batch_lifecycle import BatchLifecycle, Sealed
from shuffledp.service.stores.collecting import Collecting
from shuffledp.service.stores.postgres.database import Database
from shuffledp.service.stores.postgres.schema import tables_closing, tables_of


class Records(Database, Collecting, BatchLifecycle):
    """Nothing that takes long locks a task, so that uploads never wait long."""

    def _lock(self, task_id: str) -> int | None:
        found = self._run("SELECT number FROM task WHERE id = ? FOR NO KEY UPDATE", task_id)
        return int(found[0][0]) if found else None

    def _lock_tasks(self) -> None:
        self._run("LOCK TABLE task IN SHARE ROW EXCLUSIVE MODE")

    def _claimed(self, batch_id: int) -> bool:
        """The server forgets the claim with the connection, however that ends."""
        lock = "SELECT pg_try_advisory_lock('batch'::regclass::oid::integer, ?::integer)"
        if batch_id not in self._releasing and self._read(lock, batch_id % 2**31)[0][0]:
            self._releasing.add(batch_id)
        return batch_id in self._releasing

    def let_go(self, batch_id: int) -> None:
        """Leave an unfinished batch to whoever asks for it next."""
        if batch_id in self._releasing:
            self._releasing.discard(batch_id)
            self._read("SELECT pg_advisory_unlock('batch'::regclass::oid::integer, ?::integer)", batch_id % 2**31)

    def _insert_batch(self, task_id: str, key: NextKey, now: float) -> int:
        ((number,),) = self._run(
            'INSERT INTO batch (id, "window", task, opened, state, key, fingerprint) '
            "SELECT n, n, ?, ?, 'OPEN', ?, ? FROM nextval(pg_get_serial_sequence('batch', 'id')) AS n RETURNING id",
            task_id, now, key.id, key.fingerprint,
        )  # fmt: skip
        self._run(tables_of(number))
        return int(number)

    def open_window(self, task_id: str, *, key: NextKey, now: float) -> Batch:
        """Open a batch for this key; the tables of those that ended are dropped soon."""
        found = super().open_window(task_id, key=key, now=now)
        self._tidied = 0.0
        return found

    def _among(self, names: Sequence[bytes], task: int, *, kept: str, collecting: str) -> set[bytes]:
        if not names:
            return set()
        live = self._run(
            "SELECT id FROM batch WHERE task = (SELECT id FROM task WHERE number = ?) AND NOT erased", task
        )
        found = self._run(f"SELECT id FROM {kept} WHERE task = ? AND id = ANY(%b)", task, list(names))  # noqa: S608
        for (number,) in live:
            found += self._run(f"SELECT id FROM {collecting}_{number} WHERE id = ANY(%b)", list(names))  # noqa: S608
        return {row[0] for row in found}

    def _insert_records(self, _: int, batch_id: int, records: Sequence[tuple[bytes, bytes]]) -> None:
        self._copy_in(
            f"sealed_{batch_id}", ["bytea", "bytea"], records, lambda: self._reached("accept: first report written")
        )

    def _insert_spending(self, _: int, batch_id: int, credentials: Sequence[bytes]) -> None:
        self._copy_in(f"spending_{batch_id}", ["bytea"], ((name,) for name in credentials))

    def _mark_closing(self, batch_id: int, secret: bytes) -> None:
        self._run("UPDATE batch SET state = 'CLOSING' WHERE id = ?", batch_id)
        self._run(tables_closing(batch_id))
        self._run(f"INSERT INTO secret_{batch_id} VALUES (?)", secret.hex())  # noqa: S608

    def _mark_released(self, batch_id: int, digest: str) -> None:
        self._run(
            "UPDATE batch SET state = 'RELEASED', digest = ? WHERE id = ? AND state = 'CLOSING'", digest, batch_id
        )

    def _sealed(self, batch_id: int) -> Sealed | None:
        def read() -> Sealed | None:
            closing = (
                "SELECT count FROM batch WHERE id = ? AND state = 'CLOSING' FOR SHARE"  # it stays until this is read
            )
            found = self._run(closing, batch_id)
            if not found:
                return None
            ((secret,),) = self._run(f"SELECT secret FROM secret_{batch_id}")  # noqa: S608
            sealed = Sealed(count=found[0][0], secret=bytes.fromhex(secret))
            self._run("SET LOCAL enable_seqscan = on")
            every = f"SELECT id, record FROM sealed_{batch_id} ORDER BY id"  # noqa: S608
            for name, record in self._copy_out(every, ["bytea", "bytea"]):
                sealed.ids.extend(name)
                sealed.records.extend(record)
                sealed.lengths.append(len(record))
            return sealed

        return self._write(read)

    def add_piece(self, batch_id: int, number: int, piece: bytes) -> None:
        """Write one piece of the permuted bytes of a closing batch; a piece that is there stays as it is."""

        def add() -> None:
            if self._run("SELECT 1 FROM batch WHERE id = ? AND state = 'CLOSING' FOR SHARE", batch_id):
                self._run(
                    f"INSERT INTO piece_{batch_id} VALUES (?, %b) ON CONFLICT DO NOTHING",  # noqa: S608
                    number, piece,
                )  # fmt: skip

        self._write(add)

    def _keep_ids(self, batch: Batch) -> None:
        """Copy them, unless another process has: the tables of the batch are needed until then, and no more.

        Whoever is changing this batch is waited for: the tables are dropped after this.
        """

        def keep() -> None:
            ((erased,),) = self._run("SELECT erased FROM batch WHERE id = ? FOR UPDATE", batch.id)
            if erased:
                return
            self._run("SET LOCAL enable_seqscan = on")
            for source, target in ((f"sealed_{batch.id}", "report"), (f"spending_{batch.id}", "spent")):
                self._run(
                    f"INSERT INTO {target} SELECT number, source.id FROM {source} AS source, task WHERE task.id = ? "  # noqa: S608
                    "ORDER BY source.id ON CONFLICT DO NOTHING",  # ids among dummies are there already
                    batch.task,
                )
            self._lock(batch.task)  # only now, so that uploads do not wait for the copying
            self._run("UPDATE batch SET erased = true WHERE id = ?", batch.id)

        self._write(keep)

    def _drop_records(self, batch: Batch) -> None:
        self.let_go(batch.id)
        self._drop(f"sealed_{batch.id}", f"spending_{batch.id}", f"secret_{batch.id}")

    def _piece(self, batch_id: int, number: int) -> bytes | None:
        if not self._read("SELECT to_regclass(?) IS NOT NULL", f"piece_{batch_id}")[0][0]:
            return None
        found = self._read(f"SELECT bytes FROM piece_{batch_id} WHERE number = ?", number)  # noqa: S608
        return found[0][0] if found else None

    def _drop_pieces(self, batch_id: int) -> None:
        self._drop(f"piece_{batch_id}")
