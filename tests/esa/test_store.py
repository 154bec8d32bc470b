"""What every store must do, whatever it is made of: a model of it, and the guarantees that a shuffler builds on."""

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from oracles.scale import examples
from shuffledp import InvalidInput
from shuffledp.esa import sqlite as module
from shuffledp.esa.sqlite import SQLiteStore
from shuffledp.esa.store import Batch, NextKey, Store, StoreUnavailable

Opening = Callable[[], Store]
"""Opens the same store again."""


@pytest.fixture(params=["sqlite"])
def opening(request: pytest.FixtureRequest, tmp_path: Path) -> Opening:
    """Another kind of store is one more parameter."""
    assert request.param == "sqlite"
    return lambda: SQLiteStore(tmp_path / "store.db")


KEY = NextKey(id=0, fingerprint="f" * 64)
KEYS = {0: KEY}


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
    store.add_task("t", "{}", hop=1, key=KEY, now=0.0)
    store.add_task("other", "{}", hop=2, key=KEY, now=0.0)
    for step in range(60):
        match chance.choice(["add", "add", "add", "close", "release", "roll over", "destroy", "restart"]):
            case "add":
                reports = [chance.randrange(120) for _ in range(chance.randrange(1, 12))]
                spending = [chance.randrange(60) for _ in reports] if chance.random() < 0.5 else None
                kept = store.add_reports(
                    "t",
                    [(name(j), inner(j)) for j in reports],
                    None if spending is None else [name(j) for j in spending],
                    keys=KEYS,
                )
                assert kept == model.add(reports, spending)
            case "close":
                least = chance.randrange(1, 20)
                closing_batch = store.start_closing(
                    store.open_batch("t").id, at_least=least, secret=chance.randbytes(32), key=KEY, now=float(step)
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
                ended = store.end(
                    store.open_batch("t").id, below=below, roll_over=how == "roll over", key=KEY, now=float(step)
                )
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
        store.add_task("t", "{}", hop=1, key=KEY, now=0.0)
        store.add_reports("t", [(name(j), inner(j)) for j in range(100)], keys=KEYS)
        batch = store.start_closing(store.open_batch("t").id, at_least=1, secret=secret * 32, key=KEY, now=1.0)
        assert batch is not None
        store.release(batch.id)
        orders.append(released(store, batch.id))
        store.close()
    assert orders[0] == orders[1]
    assert orders[0] != orders[2]
    assert orders[0] != sorted(orders[0])
    assert opening().tasks() == {}


# SQLite's own


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
    store.release(batch.id)
    store.close()
    (tmp_path / "store.db").chmod(0o640)
    with pytest.raises(InvalidInput, match="others can read the store"):
        SQLiteStore(tmp_path / "store.db")
    (tmp_path / "store.db").chmod(0o600)
    data = bytearray((tmp_path / "store.db").read_bytes())
    data[4096:] = bytes(len(data) - 4096)  # pages that a disk lost
    (tmp_path / "store.db").write_bytes(data)
    damaged = SQLiteStore(tmp_path / "store.db")
    with pytest.raises(StoreUnavailable, match="damaged"):
        damaged.open_batch("t")
    damaged.close()


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


def test_a_batch_has_one_key(opening: Opening) -> None:
    """Fixed when it opens, whatever else is sent: another id, or another key under the same id."""
    store, other = opening(), NextKey(id=1, fingerprint="e" * 64)
    store.add_task("t", "{}", hop=1, key=KEY, now=0.0)
    new = (1 << 560 | 5).to_bytes(71, "big")  # names key 1
    assert new[0] == 1
    both = {0: KEY, 1: other}
    assert store.add_reports("t", [(name(1), inner(1)), (name(5), new)], keys=both) == ["accepted", "outdated_key"]
    assert store.open_batch("t").key == KEY
    assert store.add_reports("t", [(name(6), inner(6)), (name(1), inner(1))], keys={1: other}) == [
        "outdated_key",
        "report_replayed",
    ]
    forged = {0: NextKey(id=0, fingerprint="0" * 64)}
    assert store.add_reports("t", [(name(6), inner(6))], keys=forged) == ["outdated_key"]
    assert store.open_batch("t").count == 1
    store.end(store.open_batch("t").id, below=9, roll_over=True, key=other, now=1.0)
    assert store.open_batch("t").key == KEY  # rolled over, they are still sealed to it
    store.end(store.open_batch("t").id, below=9, roll_over=False, key=other, now=1.0)
    assert store.open_batch("t").key == other
    assert store.add_reports("t", [(name(5), new)], keys=both) == ["accepted"]
    store.close()


def test_another_key_for_an_empty_batch_is_another_window(opening: Opening) -> None:
    """What was sealed for the first is refused for ever: whoever heard that may seal the same message anew."""
    store, other = opening(), NextKey(id=1, fingerprint="e" * 64)
    store.add_task("t", "{}", hop=1, key=KEY, now=0.0)
    first = store.open_batch("t")
    second = store.open_window("t", key=other, now=1.0)
    assert (second.key, second.count) == (other, 0)
    assert second.window > first.window
    assert store.open_window("t", key=other, now=2.0) == second  # again: nothing changes
    for keys in (KEYS, {0: KEY, 1: other}):  # a server that has not read the new list yet, and one that has
        assert store.add_reports("t", [(name(1), inner(1))], keys=keys, window=first.window) == ["batch_collected"]
    assert [batch.state for batch in store.batches("t")] == ["ROLLED_OVER", "OPEN"]
    store.close()


def test_forwarded_reports_have_a_batch_for_each_key(opening: Opening) -> None:
    store, other = opening(), NextKey(id=1, fingerprint="e" * 64)
    store.add_task("t", "{}", hop=1, key=other, now=0.0)
    new = (1 << 560 | 5).to_bytes(71, "big")
    strange = (2 << 560 | 5).to_bytes(71, "big")
    mixed = [(name(1), inner(1)), (name(2), inner(2)), (name(5), new), (name(6), strange)]
    both = {0: KEY, 1: other}
    assert store.add_reports("t", mixed, keys=both, several=1.0) == [*["accepted"] * 3, "outdated_key"]
    assert {batch.key.id: batch.count for batch in store.batches("t", "OPEN")} == {0: 2, 1: 1}
    assert store.add_reports("t", mixed, keys=both, several=2.0) == [*["report_replayed"] * 3, "outdated_key"]
    store.close()


def test_purged_bytes_are_gone_and_their_reports_still_known(tmp_path: Path) -> None:
    canary = b"\0" + os.urandom(70)
    store = SQLiteStore(tmp_path / "store.db")
    store.add_task("t", "{}", hop=1, key=KEY, now=0.0)
    store.add_reports("t", [(name(3), canary)], keys=KEYS)
    batch = store.start_closing(store.open_batch("t").id, at_least=1, secret=SECRET, key=KEY, now=1.0)
    assert batch is not None
    with pytest.raises(InvalidInput, match="not a released batch"):
        store.purge(batch.id)
    store.release(batch.id)
    purged = store.purge(batch.id)
    assert purged.purged
    assert purged.digest is not None
    assert list(store.pieces(batch.id)) == []
    assert store.release(batch.id).purged  # and it does not come back
    assert list(store.pieces(batch.id)) == []
    assert store.add_reports("t", [(name(3), inner(3))], keys=KEYS) == ["report_replayed"]
    store.close()
    assert not any(canary in path.read_bytes() for path in tmp_path.iterdir())


def test_a_retired_task_takes_nothing_more(opening: Opening) -> None:
    store = opening()
    store.add_task("t", "{}", hop=1, key=KEY, now=0.0)
    store.add_reports("t", [(name(j), inner(j)) for j in range(7)], keys=KEYS)
    assert store.retire("t", at_most=6) is None
    assert store.open_batch("t").count == 7
    assert store.retire("t", at_most=7) == 7
    assert [(batch.state, batch.count) for batch in store.batches("t")] == [("DESTROYED", 7)]
    assert store.tasks() == {}
    assert store.add_reports("t", [(name(3), inner(3)), (name(9), inner(9))], keys=KEYS) == [
        "report_replayed",
        "batch_collected",
    ]
    with pytest.raises(InvalidInput, match="is retired"):
        store.add_task("t", "{}", hop=1, key=KEY, now=1.0)
    store.close()


def test_a27_uploads_go_on_between_the_steps_of_a_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At every step of a release of many pieces another handle of the store takes a report at once."""
    monkeypatch.setattr(module, "CHUNK", 10)
    monkeypatch.setattr(module, "STEP", 10)
    store = SQLiteStore(tmp_path / "store.db")
    other = store.twin()
    store.add_task("t", "{}", hop=1, key=KEY, now=0.0)
    store.add_reports("t", [(name(j), inner(j)) for j in range(100)], [name(j) for j in range(100)], keys=KEYS)
    batch = store.start_closing(store.open_batch("t").id, at_least=1, secret=SECRET, key=KEY, now=1.0)
    assert batch is not None
    other._connection.execute("PRAGMA busy_timeout = 0")  # no waiting: refused if anything is held
    taken, busy = 0, list[bool]()

    def meanwhile(_: str) -> None:
        nonlocal taken
        if not (store._connection.in_transaction or other._connection.in_transaction or busy):
            busy.append(True)
            taken += 1
            kept = other.add_reports("t", [(name(1000 + taken), inner(taken))], [name(1000 + taken)], keys=KEYS)
            assert kept == ["accepted"]
            busy.pop()

    monkeypatch.setattr(module, "reached", meanwhile)
    assert store.release(batch.id).state == "RELEASED"
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
    first, batch = one_that_closes(tmp_path / "store.db")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "reached", died_when("release: committed"))
        with pytest.raises(InterruptedError):
            first.release(batch.id)
    for suffix in ("", "-wal"):  # what a dead process leaves
        shutil.copy(tmp_path / f"store.db{suffix}", tmp_path / f"dead.db{suffix}")
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
    store.add_task("t", "{}", hop=1, key=KEY, now=0.0)
    for report, credential in arrivals:
        store.add_reports("t", [(report, b"\0" + os.urandom(70))], [credential], keys=KEYS)
    batch = store.start_closing(store.open_batch("t").id, at_least=1, secret=b"s" * 32, key=KEY, now=1.0)
    assert batch is not None
    store.release(batch.id)
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


def test_an_empty_batch_begins_anew(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "store.db")
    store.add_task("t", "{}", hop=1, key=KEY, now=0.0)
    first = store.open_batch("t")
    store.renew(first.id, now=100.0)
    assert store.open_batch("t").opened == 100.0
    store.add_reports("t", [(name(1), inner(1))], keys=KEYS)
    store.renew(first.id, now=200.0)  # no longer empty
    assert store.open_batch("t").opened == 100.0
    assert store.end(first.id, below=5, roll_over=False, key=KEY, now=300.0) is not None
    # what another process ended meanwhile is not ended, or closed, in the name of the next
    assert store.end(first.id, below=5, roll_over=False, key=KEY, now=400.0) is None
    assert store.start_closing(first.id, at_least=0, secret=b"s" * 32, key=KEY, now=400.0) is None
    assert store.add_reports("t", [(name(1), inner(1))], keys=KEYS) == ["report_replayed"]
    store.close()


def test_a_report_for_a_window_is_kept_in_no_other(tmp_path: Path) -> None:
    """Batches that are rolled over are one window: nobody who reports once a window is twice in a batch."""
    store = SQLiteStore(tmp_path / "store.db")
    store.add_task("t", "{}", hop=1, key=KEY, now=0.0)
    first = store.open_batch("t")
    assert store.add_reports("t", [(name(1), inner(1))], window=first.window, keys=KEYS) == ["accepted"]
    assert store.add_reports("t", [(name(2), inner(2))], window=first.window + 1, keys=KEYS) == ["batch_collected"]
    store.end(first.id, below=5, roll_over=True, key=KEY, now=1.0)
    rolled = store.open_batch("t")
    assert (rolled.id, rolled.window, rolled.count, rolled.opened) == (first.id, first.window, 1, 1.0)
    assert [(batch.state, batch.count) for batch in store.batches("t")] == [("OPEN", 1), ("ROLLED_OVER", 1)]
    assert store.add_reports("t", [(name(2), inner(2))], window=first.window, keys=KEYS) == ["accepted"]
    assert store.start_closing(rolled.id, at_least=1, secret=b"s" * 32, key=KEY, now=2.0) is not None
    again = store.open_batch("t")
    assert again.window == again.id > first.window
    late = [(name(1), inner(1)), (name(3), inner(3))]
    assert store.add_reports("t", late, window=first.window, keys=KEYS) == ["report_replayed", "batch_collected"]
    store.release(rolled.id)
    assert store.add_reports("t", late, window=first.window, keys=KEYS) == ["report_replayed", "batch_collected"]
    assert store.add_reports("t", late, [b"x", b"y"], window=again.window, keys=KEYS) == ["report_replayed", "accepted"]
    store.end(again.id, below=5, roll_over=False, key=KEY, now=3.0)
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
