"""What a shuffler keeps, where, and what it refuses to work with."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from oracles.clock import Clock
from oracles.shuffling import ANALYZER, RING, TASK, made, reports
from shuffledp import InvalidInput
from shuffledp.service.sealing.hpke import unseal
from shuffledp.service.sealing.keys import KeyRing
from shuffledp.service.shuffler.release import release
from shuffledp.service.shuffler.shuffler import Shuffler
from shuffledp.service.stores.batch import Batch
from shuffledp.service.stores.sqlite.store import SQLiteStore
from shuffledp.service.wire.record import encode_message


@pytest.fixture
def clock() -> Clock:
    return Clock(1000.0)


def test_a11_only_sealed_inner_records_are_kept_and_then_only_ids(tmp_path: Path, clock: Clock) -> None:
    secret = b"the secret of the permutation..."
    shuffler = made(tmp_path / "store.db", clock, secrets=lambda: secret)
    sent = reports(60)
    inners = [unseal(record, RING, TASK.id) for record in sent]
    shuffler.accept(TASK.id, sent)
    clock.now += 60
    batch = shuffler.close(TASK.id)
    assert isinstance(batch, Batch)
    released = b"".join(shuffler.fetch(batch.id) or [])
    columns = {
        row[1]
        for table in ("report", "sealed", "batch", "task", "piece", "spending", "spent")
        for row in _columns(tmp_path / "store.db", table)
    }
    assert columns == {
        "task",
        "id",
        "batch",
        "inner",
        "opened",
        "state",
        "count",
        "secret",
        "digest",
        "document",
        "number",
        "bytes",
        "hop",
        "window",
        "key",
        "fingerprint",
        "erased",
        "purged",
        "retired",
    }
    with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as connection:
        assert connection.execute("SELECT count(*) FROM sealed").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM batch WHERE secret IS NOT NULL").fetchone() == (0,)
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert secret not in stored
    for record, inner in zip(sent, inners, strict=True):
        assert isinstance(inner, bytes)
        assert record[7:39] not in stored
        assert record[39:] not in stored
        assert inner in released


def _columns(path: Path, table: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        return connection.execute(f"PRAGMA table_info({table})").fetchall()


# The store by itself


def test_stores_of_other_versions_and_things(tmp_path: Path, clock: Clock) -> None:
    SQLiteStore(tmp_path / "newer.db").close()
    with closing(sqlite3.connect(tmp_path / "newer.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(InvalidInput, match="newer version"):
        SQLiteStore(tmp_path / "newer.db")
    with closing(sqlite3.connect(tmp_path / "other.db", isolation_level=None)) as connection:
        connection.execute("CREATE TABLE x (y)")
    (tmp_path / "other.db").chmod(0o600)
    with pytest.raises(InvalidInput, match="something else"):
        SQLiteStore(tmp_path / "other.db")
    (tmp_path / "text.db").write_text("this is not a database at all, but a longer text")
    (tmp_path / "text.db").chmod(0o600)
    with pytest.raises(InvalidInput, match="not a store"):
        SQLiteStore(tmp_path / "text.db")
    shuffler = made(tmp_path / "altered.db", clock)
    shuffler.store.close()
    with closing(sqlite3.connect(tmp_path / "altered.db", isolation_level=None)) as connection:
        connection.execute("UPDATE task SET document = replace(document, '\"window\": 60', '\"window\": 1')")
    with pytest.raises(InvalidInput, match="altered"):
        made(tmp_path / "altered.db", clock)
    with pytest.raises(InvalidInput, match="keys belong to the analyzer"):
        Shuffler(store=SQLiteStore(":memory:"), ring=ANALYZER, clock=clock)


def test_the_schema_itself_forbids_what_must_not_be(tmp_path: Path, clock: Clock) -> None:
    """A negative count, a second open batch, a released batch with a secret: the database says no."""
    made(tmp_path / "store.db", clock).store.close()
    with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as connection:
        for statement in (
            "UPDATE batch SET count = -1",
            "INSERT INTO batch (task, opened, state, key, fingerprint) SELECT task, 0.0, 'OPEN', key, fingerprint FROM batch",
            "UPDATE batch SET state = 'RELEASED', secret = x'00', digest = 'x'",
            "UPDATE batch SET state = 'RELEASED'",
            "UPDATE batch SET state = 'LOST'",
        ):
            with pytest.raises(sqlite3.IntegrityError):
                connection.execute(statement)


def test_unknown_batches_and_tasks() -> None:
    store = SQLiteStore(":memory:")
    assert store.batch(7) is None
    assert store.tasks() == {}
    with pytest.raises(InvalidInput, match="does not know"):
        store.open_batch("t")
    with pytest.raises(InvalidInput, match="no such batch"):
        release(store, 7)
    assert encode_message(5) == b"\0" * 7 + b"\x05" + b"\0" * 8


def test_openers_can_be_elsewhere(tmp_path: Path, clock: Clock) -> None:
    """The state machine does not care where records are opened."""
    calls: list[int] = []

    def unsealer(records: Any, ring: KeyRing, task_id: str, hop: int) -> list[Any]:
        calls.append(len(records))
        return [unseal(record, ring, task_id, hop=hop) for record in records]

    shuffler = made(tmp_path / "store.db", clock, unsealer=unsealer)
    assert shuffler.accept(TASK.id, [*reports(4), b"short"])[-1] == "invalid_message"
    assert calls == [4]
    assert shuffler.tasks[TASK.id] == TASK
