"""What the SQLite store promises beyond any store: its file, its log, what is left on its pages."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from oracles.store_suite import purged_once_released
from oracles.tree import python_path
from shuffledp import InvalidInput
from shuffledp.service.shuffler import release as releasing
from shuffledp.service.shuffler.release import release
from shuffledp.service.stores.batch import Batch, NextKey
from shuffledp.service.stores.crash_points import Point
from shuffledp.service.stores.sqlite import records as sqlite_records
from shuffledp.service.stores.sqlite.store import SQLiteStore
from shuffledp.service.stores.store import Store, StoreUnavailable

KEY = NextKey(id=0, fingerprint="f" * 64)
KEYS = {0: KEY}


def name(number: int) -> bytes:
    return number.to_bytes(16, "big")


def inner(number: int) -> bytes:
    return number.to_bytes(71, "big")


def released(store: Store, batch: int) -> list[int]:
    data = b"".join(store.pieces(batch))
    return [int.from_bytes(data[start : start + 71], "big") for start in range(0, len(data), 71)]


def test_stores_of_an_earlier_schema_are_left_alone(tmp_path: Path) -> None:
    """Their tasks are of a version that is not read any more: nothing is migrated, nothing lost."""
    with closing(sqlite3.connect(tmp_path / "old.db", isolation_level=None)) as connection:
        connection.executescript("CREATE TABLE task (id TEXT); PRAGMA user_version = 2;")
    (tmp_path / "old.db").chmod(0o600)
    before = (tmp_path / "old.db").read_bytes()
    for read_only in (False, True):
        with pytest.raises(InvalidInput, match="earlier version"):
            SQLiteStore(tmp_path / "old.db", read_only=read_only)
    assert (tmp_path / "old.db").read_bytes() == before


def test_looking_changes_nothing(tmp_path: Path) -> None:
    """A store that is only looked at: no table is made, no write is possible."""
    (tmp_path / "empty.db").touch(mode=0o600)
    with pytest.raises(InvalidInput):
        SQLiteStore(tmp_path / "empty.db", read_only=True)
    assert (tmp_path / "empty.db").read_bytes() == b""
    SQLiteStore(tmp_path / "store.db").close()
    store = SQLiteStore(tmp_path / "store.db", read_only=True)
    assert store.tasks() == {}
    with pytest.raises(StoreUnavailable, match="read-only"):
        store.add_task("t", "{}", hop=1, key=KEY, now=0.0)
    store.close()


def test_messages_say_what_really_happened(tmp_path: Path) -> None:
    for path, why in ((tmp_path / "no" / "store.db", "No such file"), (tmp_path, "is not a file")):
        with pytest.raises(InvalidInput, match=why):
            SQLiteStore(path)
    store, batch = one_that_closes(tmp_path / "store.db")
    release(store, batch.id)
    store.close()
    (tmp_path / "store.db").chmod(0o640)
    with pytest.raises(InvalidInput, match="others can read the store"):
        SQLiteStore(tmp_path / "store.db")
    (tmp_path / "store.db").chmod(0o600)
    data = bytearray((tmp_path / "store.db").read_bytes())
    data[4096:] = bytes(len(data) - 4096)  # pages that a disk lost
    (tmp_path / "store.db").write_bytes(data)
    with pytest.raises(InvalidInput, match="damaged"):
        SQLiteStore(tmp_path / "store.db")


def test_a26_a_store_that_is_removed_or_replaced_acknowledges_nothing(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "store.db")
    store.add_task("t", "{}", hop=1, key=KEY, now=0.0)
    store.check()
    (tmp_path / "store.db").rename(tmp_path / "away.db")
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match="removed or replaced"):
            store.add_reports("t", [(name(1), inner(1))], keys=KEYS)
        with pytest.raises(StoreUnavailable, match="removed or replaced"):
            store.check()
        (tmp_path / "store.db").touch(mode=0o600)  # another file of that name
    (tmp_path / "away.db").rename(tmp_path / "store.db")
    assert store.add_reports("t", [(name(1), inner(1))], keys=KEYS) == ["accepted"]
    (tmp_path / "store.db-wal").unlink()  # what is acknowledged is here, until it is moved to the store
    with pytest.raises(StoreUnavailable, match="or its log was removed"):
        store.add_reports("t", [(name(2), inner(2))], keys=KEYS)
    store.close()


def test_purged_bytes_are_gone_and_their_reports_still_known(tmp_path: Path) -> None:
    canary = b"\0" + os.urandom(70)
    store = SQLiteStore(tmp_path / "store.db")
    store.add_task("t", "{}", hop=1, key=KEY, now=0.0)
    store.add_reports("t", [(name(3), canary)], keys=KEYS)
    batch = store.start_closing(store.open_batch("t").id, at_least=1, secret=SECRET, key=KEY, now=1.0)
    assert batch is not None
    purged_once_released(store, batch)
    assert list(store.pieces(batch.id)) == []
    assert release(store, batch.id).purged  # and it does not come back
    assert list(store.pieces(batch.id)) == []
    assert store.add_reports("t", [(name(3), inner(3))], keys=KEYS) == ["report_replayed"]
    store.close()
    assert not any(canary in path.read_bytes() for path in tmp_path.iterdir())


def test_a27_uploads_go_on_between_the_steps_of_a_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At every step of a release of many pieces another handle of the store takes a report at once."""
    monkeypatch.setattr(releasing, "CHUNK", 10)
    monkeypatch.setattr(sqlite_records, "STEP", 10)
    taken, busy = 0, list[bool]()

    def meanwhile(point: Point) -> None:
        nonlocal taken
        free = not (store._connection.in_transaction or other._connection.in_transaction or busy)
        if point.startswith("release") and free:
            busy.append(True)
            taken += 1
            kept = other.add_reports("t", [(name(1000 + taken), inner(taken))], [name(1000 + taken)], keys=KEYS)
            assert kept == ["accepted"]
            busy.pop()

    store = SQLiteStore(tmp_path / "store.db", reached=meanwhile)
    other = store.twin()
    store.add_task("t", "{}", hop=1, key=KEY, now=0.0)
    store.add_reports("t", [(name(j), inner(j)) for j in range(100)], [name(j) for j in range(100)], keys=KEYS)
    batch = store.start_closing(store.open_batch("t").id, at_least=1, secret=SECRET, key=KEY, now=1.0)
    assert batch is not None
    other._connection.execute("PRAGMA busy_timeout = 0")  # no waiting: refused if anything is held
    assert release(store, batch.id, meanwhile).state == "RELEASED"
    assert taken > 100 // 10
    assert sorted(released(store, batch.id)) == list(range(100))
    assert store.open_batch("t").count == taken
    for handle in (store, other):
        handle.close()


def test_who_looks_at_a_store_in_use_takes_nothing_away(tmp_path: Path) -> None:
    """Another process opens and closes it between the handles' writes: the log stays, and all that was acknowledged with it.

    (A handle that opened and closed the file by itself would drop the locks that keep others from removing the log.)
    """
    asked = "SELECT count(*) FROM sealed"
    path = str(tmp_path / "store.db")
    look = f"import sqlite3; c = sqlite3.connect({path!r}); print(c.execute({asked!r}).fetchone()[0]); c.close()"
    store = SQLiteStore(tmp_path / "store.db")
    store.add_task("t", "{}", hop=1, key=KEY, now=0.0)
    handles = [store, store.twin(), SQLiteStore(tmp_path / "store.db")]
    for number in range(6):
        assert handles[number % 3].add_reports("t", [(name(number), inner(number))], keys=KEYS) == ["accepted"]
        seen = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True).stdout
        assert int(seen) == number + 1
    for handle in handles:
        handle.close()


def test_a28_a_backup_of_an_open_batch_says_nothing_about_the_order_of_arrival(tmp_path: Path) -> None:
    arrivals = [os.urandom(16) for _ in range(30)]  # one page holds all
    store = SQLiteStore(tmp_path / "store.db")
    store.add_task("t", "{}", hop=1, key=KEY, now=0.0)
    for report in arrivals:
        store.add_reports("t", [(report, bytes(71))], keys=KEYS)
    store.backup(tmp_path / "copy.db")
    store.close()
    data = (tmp_path / "copy.db").read_bytes()
    assert sorted(arrivals, key=data.index) in (sorted(arrivals), sorted(arrivals, reverse=True))
    assert (tmp_path / "copy.db").stat().st_mode & 0o077 == 0


def test_processes_that_open_a_new_store_at_once(tmp_path: Path) -> None:
    barrier = threading.Barrier(6)

    def open_it(_: int) -> int:
        barrier.wait()
        store = SQLiteStore(tmp_path / "store.db")
        store.add_task("t", "{}", hop=1, key=KEY, now=0.0)
        found = len(store.batches("t", "OPEN"))
        store.close()
        return found

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(open_it, range(6))) == [1] * 6


SECRET = b"the secret of the permutation..."


def one_that_closes(path: Path) -> tuple[SQLiteStore, Batch]:
    """A store whose batch of ten is about to be released."""
    store = SQLiteStore(path)
    store.add_task("t", "{}", hop=1, key=KEY, now=0.0)
    store.add_reports("t", [(name(j), inner(j)) for j in range(10)], keys=KEYS)
    batch = store.start_closing(store.open_batch("t").id, at_least=1, secret=SECRET, key=KEY, now=1.0)
    assert batch is not None
    return store, batch


def test_a_log_that_a_crash_left_is_emptied(tmp_path: Path) -> None:
    """The secret of a released batch is in no file, even if the process died before the log was emptied."""
    dying = (
        "from oracles.dying import dying_at; from oracles.store_suite import *; "
        "from shuffledp.service.stores.registry import open_store; "
        f"store = started(open_store({str(tmp_path / 'store.db')!r}, reached=dying_at('release: committed', 1))); "
        "store.add_reports('t', reports(*range(10)), keys=KEYS); release(store, closed(store).id)"
    )
    environment = {**os.environ, "PYTHONPATH": python_path()}
    assert subprocess.run([sys.executable, "-c", dying], env=environment, check=False).returncode == -signal.SIGKILL
    assert SECRET in (tmp_path / "store.db-wal").read_bytes()
    again = SQLiteStore(tmp_path / "store.db")
    again.tidy()
    assert not any(SECRET in path.read_bytes() for path in tmp_path.glob("store.db*"))
    assert sorted(released(again, again.history()[0].id)) == list(range(10))
    again.close()


def test_a_log_that_a_reader_holds_is_emptied_later(tmp_path: Path) -> None:
    store, batch = one_that_closes(tmp_path / "store.db")
    with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM batch").fetchone()
        assert release(store, batch.id).state == "RELEASED"  # a reader does not keep it from happening
        store.tidy()
        assert SECRET in (tmp_path / "store.db-wal").read_bytes()
        reader.execute("COMMIT")
    store.tidy()
    assert not any(SECRET in path.read_bytes() for path in tmp_path.glob("store.db*"))
    store.close()


def test_a11_after_release_no_page_remembers_the_order_of_arrival(tmp_path: Path) -> None:
    """SQLite leaves rows of a page where they came: for names and credentials that is their own order, not their arrival's."""
    arrivals = [(os.urandom(16), os.urandom(16)) for _ in range(150)]  # one page holds all
    store = SQLiteStore(tmp_path / "store.db")
    store.add_task("t", "{}", hop=1, key=KEY, now=0.0)
    for report, credential in arrivals:
        store.add_reports("t", [(report, b"\0" + os.urandom(70))], [credential], keys=KEYS)
    batch = store.start_closing(store.open_batch("t").id, at_least=1, secret=b"s" * 32, key=KEY, now=1.0)
    assert batch is not None
    release(store, batch.id)
    store.close()
    data = (tmp_path / "store.db").read_bytes()
    for names in zip(*arrivals, strict=True):
        assert all(data.count(name) == 1 for name in names)
        assert sorted(names, key=data.index) in (sorted(names), sorted(names, reverse=True))


def test_the_file_is_its_owners_and_durable(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "store.db")
    store.add_task("t", "{}", hop=1, key=KEY, now=0.0)
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert set(modes.values()) == {0o600}, modes
    pragmas = {"synchronous": 2, "journal_mode": "wal", "secure_delete": 1, "temp_store": 2, "foreign_keys": 1}
    connection: Any = store._connection
    for pragma, value in pragmas.items():
        assert connection.execute(f"PRAGMA {pragma}").fetchone() == (value,), pragma
    store.close()


def test_backups_do_not_overwrite(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "store.db")
    (tmp_path / "there.db").write_text("x")
    with pytest.raises(InvalidInput, match="exists"):
        store.backup(tmp_path / "there.db")
    with pytest.raises(InvalidInput, match="cannot write"):
        store.backup(tmp_path / "no" / "folder.db")
    store.close()


class Asked:
    """A lock that says when another thread asks for it."""

    def __init__(self, lock: Any) -> None:
        self._lock, self.asked = lock, threading.Event()

    def __enter__(self) -> None:
        self.asked.set()
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def test_in_memory_no_thread_reads_what_another_has_not_committed() -> None:
    store = SQLiteStore(":memory:")
    before = store._read("PRAGMA application_id")
    with ThreadPoolExecutor(1) as pool:
        with suppress(KeyError), store._transaction() as connection:
            connection.execute("PRAGMA application_id = 7")
            lock = Asked(store._turn)
            store._turn = lock  # type: ignore[assignment]
            reading = pool.submit(store._read, "PRAGMA application_id")
            while not (lock.asked.is_set() or reading.done()):
                threading.Event().wait(0.001)
            raise KeyError
        assert reading.result() == before
