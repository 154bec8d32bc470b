"""What every store must do, whatever it is made of: a model of it, and the guarantees that a shuffler builds on."""

import os
import random
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from oracles.parties import PARTIES
from oracles.scale import examples
from shuffledp import InvalidInput, plan
from shuffledp.esa import sqlite as module
from shuffledp.esa.sqlite import SCHEMA, SQLiteStore
from shuffledp.esa.store import Batch, NextKey, Store
from shuffledp.esa.task import Task

Opening = Callable[[], Store]
"""Opens the same store again."""


@pytest.fixture(params=["sqlite"])
def opening(request: pytest.FixtureRequest, tmp_path: Path) -> Opening:
    """Another kind of store is one more parameter."""
    assert request.param == "sqlite"
    return lambda: SQLiteStore(tmp_path / "store.db")


KEY = NextKey(id=0, fingerprint="f" * 64)


def name(number: int) -> bytes:
    return number.to_bytes(16, "big")


def inner(number: int) -> bytes:
    return number.to_bytes(71, "big")


def released(store: Store, batch: int) -> list[int]:
    data = b"".join(store.pieces(batch))
    return [int.from_bytes(data[start : start + 71], "big") for start in range(0, len(data), 71)]


class Model:
    """A store in a few sets."""

    def __init__(self) -> None:
        self.names: set[int] = set()
        self.spent: set[int] = set()
        self.open: set[int] = set()
        self.closing: dict[int, set[int]] = {}
        self.released: dict[int, set[int]] = {}

    def add(self, reports: list[int], spending: list[int] | None) -> list[str]:
        kept = {}
        for report, j in sorted((report, j) for j, report in enumerate(reports)):  # not in the order of arrival
            if report in self.names:
                kept[j] = "report_replayed"
            elif spending is not None and spending[j] in self.spent:
                kept[j] = "not_admitted"
            else:
                self.names.add(report)
                self.open.add(report)
                if spending is not None:
                    self.spent.add(spending[j])
                kept[j] = "accepted"
        return [kept[j] for j in range(len(reports))]


@pytest.mark.parametrize("seed", range(examples(10)))
def test_a_store_does_what_its_model_does(opening: Opening, seed: int) -> None:
    """Random reports, credentials, closings, releases, roll-overs, destructions and restarts."""
    chance, model, store = random.Random(seed), Model(), opening()
    store.add_task("t", "{}", hop=1, now=0.0)
    store.add_task("other", "{}", hop=2, now=0.0)
    for step in range(60):
        match chance.choice(["add", "add", "add", "close", "release", "roll over", "destroy", "restart"]):
            case "add":
                reports = [chance.randrange(120) for _ in range(chance.randrange(1, 12))]
                spending = [chance.randrange(60) for _ in reports] if chance.random() < 0.5 else None
                kept = store.add_reports(
                    "t",
                    [(name(j), inner(j)) for j in reports],
                    None if spending is None else [name(j) for j in spending],
                    key=KEY,
                )
                assert kept == model.add(reports, spending)
            case "close":
                least = chance.randrange(1, 20)
                closing_batch = store.start_closing(
                    store.open_batch("t").id, at_least=least, secret=chance.randbytes(32), now=float(step)
                )
                assert (closing_batch is not None) == (len(model.open) >= least)
                if closing_batch is not None:
                    assert closing_batch.state == "CLOSING"
                    model.closing[closing_batch.id], model.open = model.open, set()
            case "release":
                for batch in list(model.closing):
                    assert store.release(batch).state == "RELEASED"
                    model.released[batch] = model.closing.pop(batch)
            case "roll over" | "destroy" as how:
                below = chance.randrange(1, 20)
                ended = store.end(store.open_batch("t").id, below=below, roll_over=how == "roll over", now=float(step))
                assert (ended is not None) == (len(model.open) < below)
                if ended is not None and how == "destroy":
                    model.open = set()
            case "restart":
                store.close()
                store = opening()
        assert store.open_batch("t").count == len(model.open)
        assert {batch.id for batch in store.batches("t", "CLOSING")} == set(model.closing)
        assert {batch.id: batch.count for batch in store.batches("t", "RELEASED")} == {
            number: len(held) for number, held in model.released.items()
        }
        assert store.open_batch("other").count == 0
    for number, held in model.released.items():
        assert sorted(released(store, number)) == sorted(held)
        assert store.release(number).state == "RELEASED"  # again: nothing changes
        assert sorted(released(store, number)) == sorted(held)
    assert store.tasks() == {"t": ("{}", 1), "other": ("{}", 2)}
    store.close()


def test_the_same_secret_gives_the_same_order(opening: Opening, tmp_path: Path) -> None:
    """And another secret, or another batch, another one."""
    orders = []
    for path, secret in (("a.db", b"s"), ("b.db", b"s"), ("c.db", b"t")):
        store = SQLiteStore(tmp_path / path)
        store.add_task("t", "{}", hop=1, now=0.0)
        store.add_reports("t", [(name(j), inner(j)) for j in range(100)], key=KEY)
        batch = store.start_closing(store.open_batch("t").id, at_least=1, secret=secret * 32, now=1.0)
        assert batch is not None
        store.release(batch.id)
        orders.append(released(store, batch.id))
        store.close()
    assert orders[0] == orders[1]
    assert orders[0] != orders[2]
    assert orders[0] != sorted(orders[0])
    assert opening().tasks() == {}


# SQLite's own


def test_stores_of_the_first_schema_are_migrated(tmp_path: Path) -> None:
    """With everything that was in them: an open batch, and one that was being released."""
    task = Task(
        plan=plan("histogram", n=20, epsilon=4.0, delta=1e-2, size=8),
        window=60,
        max_age=600,
        **PARTIES | {"shufflers": ("A", "C")},
    )
    document = task.canonical().decode()
    with closing(sqlite3.connect(tmp_path / "old.db", isolation_level=None)) as connection:
        connection.executescript(f"{module._FIRST_TABLES} PRAGMA user_version = 1;")
        connection.execute("INSERT INTO task VALUES (?, ?)", (task.id, document))
        connection.execute("INSERT INTO batch VALUES (1, ?, 0.0, 'CLOSING', 2, ?, NULL)", (task.id, b"s" * 32))
        connection.execute("INSERT INTO batch VALUES (2, ?, 1.0, 'OPEN', 1, NULL, NULL)", (task.id,))
        for number, batch in ((1, 1), (2, 1), (3, 2)):
            connection.execute("INSERT INTO report VALUES (?, ?, ?, ?)", (task.id, name(number), batch, inner(number)))
    store = SQLiteStore(tmp_path / "old.db")
    assert store.tasks() == {task.id: (document, 2)}
    assert store.open_batch(task.id).count == 1
    store.release(1)
    assert sorted(released(store, 1)) == [1, 2]
    assert store.add_reports(task.id, [(name(3), inner(3)), (name(4), inner(4))], [b"a", b"b"], key=KEY) == [
        "report_replayed",
        "accepted",
    ]
    store.close()
    with closing(sqlite3.connect(tmp_path / "old.db", isolation_level=None)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA,)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        migrated = connection.execute("SELECT name FROM sqlite_master ORDER BY name").fetchall()
    SQLiteStore(tmp_path / "new.db").close()
    with closing(sqlite3.connect(tmp_path / "new.db", isolation_level=None)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master ORDER BY name").fetchall() == migrated


def test_processes_that_open_a_new_store_at_once(tmp_path: Path) -> None:
    barrier = threading.Barrier(6)

    def open_it(_: int) -> int:
        barrier.wait()
        store = SQLiteStore(tmp_path / "store.db")
        store.add_task("t", "{}", hop=1, now=0.0)
        found = len(store.batches("t", "OPEN"))
        store.close()
        return found

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(open_it, range(6))) == [1] * 6


SECRET = b"the secret of the permutation..."


def one_that_closes(path: Path) -> tuple[SQLiteStore, Batch]:
    """A store whose batch of ten is about to be released."""
    store = SQLiteStore(path)
    store.add_task("t", "{}", hop=1, now=0.0)
    store.add_reports("t", [(name(j), inner(j)) for j in range(10)], key=KEY)
    batch = store.start_closing(store.open_batch("t").id, at_least=1, secret=SECRET, now=1.0)
    assert batch is not None
    return store, batch


def test_a_log_that_a_crash_left_is_emptied(tmp_path: Path) -> None:
    """The secret of a released batch is in no file, even if the process died before the log was emptied."""
    first, batch = one_that_closes(tmp_path / "store.db")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "reached", died_when("release: committed"))
        with pytest.raises(InterruptedError):
            first.release(batch.id)
    for suffix in ("", "-wal"):  # what a dead process leaves
        (tmp_path / f"dead.db{suffix}").write_bytes((tmp_path / f"store.db{suffix}").read_bytes())
    assert SECRET in (tmp_path / "dead.db-wal").read_bytes()
    first.close()
    again = SQLiteStore(tmp_path / "dead.db")
    again.tidy()
    assert not any(SECRET in path.read_bytes() for path in tmp_path.glob("dead.db*"))
    assert sorted(released(again, batch.id)) == list(range(10))
    again.close()


def test_a_log_that_a_reader_holds_is_emptied_later(tmp_path: Path) -> None:
    store, batch = one_that_closes(tmp_path / "store.db")
    with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM batch").fetchone()
        assert store.release(batch.id).state == "RELEASED"  # a reader does not keep it from happening
        store.tidy()
        assert SECRET in (tmp_path / "store.db-wal").read_bytes()
        reader.execute("COMMIT")
    store.tidy()
    assert not any(SECRET in path.read_bytes() for path in tmp_path.glob("store.db*"))
    store.close()


def died_when(point: str) -> Callable[[str], None]:
    def reached(found: str) -> None:
        if found == point:
            raise InterruptedError

    return reached


def test_a11_after_release_no_page_remembers_the_order_of_arrival(tmp_path: Path) -> None:
    """SQLite leaves rows of a page where they came: for names and credentials that is their own order, not their arrival's."""
    arrivals = [(os.urandom(16), os.urandom(16)) for _ in range(150)]  # one page holds all
    store = SQLiteStore(tmp_path / "store.db")
    store.add_task("t", "{}", hop=1, now=0.0)
    for report, credential in arrivals:
        store.add_reports("t", [(report, os.urandom(71))], [credential], key=KEY)
    batch = store.start_closing(store.open_batch("t").id, at_least=1, secret=b"s" * 32, now=1.0)
    assert batch is not None
    store.release(batch.id)
    store.close()
    data = (tmp_path / "store.db").read_bytes()
    for names in zip(*arrivals, strict=True):
        assert all(data.count(name) == 1 for name in names)
        assert sorted(names, key=data.index) in (sorted(names), sorted(names, reverse=True))


def test_the_file_is_its_owners_and_durable(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "store.db")
    store.add_task("t", "{}", hop=1, now=0.0)
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert set(modes.values()) == {0o600}, modes
    pragmas = {"synchronous": 2, "journal_mode": "wal", "secure_delete": 1, "temp_store": 2, "foreign_keys": 1}
    connection: Any = store._connection
    for pragma, value in pragmas.items():
        assert connection.execute(f"PRAGMA {pragma}").fetchone() == (value,), pragma
    store.close()


def test_an_empty_batch_begins_anew(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "store.db")
    store.add_task("t", "{}", hop=1, now=0.0)
    first = store.open_batch("t")
    store.renew(first.id, now=100.0)
    assert store.open_batch("t").opened == 100.0
    store.add_reports("t", [(name(1), inner(1))], key=KEY)
    store.renew(first.id, now=200.0)  # no longer empty
    assert store.open_batch("t").opened == 100.0
    assert store.end(first.id, below=5, roll_over=False, now=300.0) is not None
    # what another process ended meanwhile is not ended, or closed, in the name of the next
    assert store.end(first.id, below=5, roll_over=False, now=400.0) is None
    assert store.start_closing(first.id, at_least=0, secret=b"s" * 32, now=400.0) is None
    assert store.add_reports("t", [(name(1), inner(1))], key=KEY) == ["report_replayed"]
    store.close()


def test_a_report_for_a_window_is_kept_in_no_other(tmp_path: Path) -> None:
    """Batches that are rolled over are one window: nobody who reports once a window is twice in a batch."""
    store = SQLiteStore(tmp_path / "store.db")
    store.add_task("t", "{}", hop=1, now=0.0)
    first = store.open_batch("t")
    assert store.add_reports("t", [(name(1), inner(1))], window=first.window, key=KEY) == ["accepted"]
    assert store.add_reports("t", [(name(2), inner(2))], window=first.window + 1, key=KEY) == ["batch_collected"]
    store.end(first.id, below=5, roll_over=True, now=1.0)
    rolled = store.open_batch("t")
    assert (rolled.id, rolled.window, rolled.count) == (first.id + 1, first.window, 1)
    assert store.add_reports("t", [(name(2), inner(2))], window=first.window, key=KEY) == ["accepted"]
    assert store.start_closing(rolled.id, at_least=1, secret=b"s" * 32, now=2.0) is not None
    again = store.open_batch("t")
    assert again.window == again.id > first.window
    late = [(name(1), inner(1)), (name(3), inner(3))]
    assert store.add_reports("t", late, window=first.window, key=KEY) == ["report_replayed", "batch_collected"]
    store.release(rolled.id)
    assert store.add_reports("t", late, window=first.window, key=KEY) == ["report_replayed", "batch_collected"]
    assert store.add_reports("t", late, [b"x", b"y"], window=again.window, key=KEY) == ["report_replayed", "accepted"]
    store.end(again.id, below=5, roll_over=False, now=3.0)
    assert store.open_batch("t").window == store.open_batch("t").id
    store.close()


def test_backups_do_not_overwrite(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "store.db")
    (tmp_path / "there.db").write_text("x")
    with pytest.raises(InvalidInput, match="exists"):
        store.backup(tmp_path / "there.db")
    with pytest.raises(InvalidInput, match="cannot write"):
        store.backup(tmp_path / "no" / "folder.db")
    store.close()
