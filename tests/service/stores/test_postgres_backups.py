"""Backups of a PostgreSQL store: what they say, that they are whole, and stores that move from one kind to the other."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from psycopg import errors

from oracles.store_suite import KEY, KEYS, SECRET, closed, name, released, reports, started
from shuffledp import InvalidInput
from shuffledp.service.shuffler.release import release
from shuffledp.service.stores.postgres.store import PostgresStore
from shuffledp.service.stores.registry import open_store, restore_store


def test_a28_a_backup_of_an_open_batch_says_nothing_about_the_order_of_arrival(
    store: PostgresStore, tmp_path: Path
) -> None:
    arrivals = [os.urandom(16) for _ in range(30)]  # one page holds all
    for report in arrivals:
        store.add_reports("t", [(report, bytes(71))], keys=KEYS)
    store.backup(tmp_path / "copy.db")
    data = (tmp_path / "copy.db").read_bytes()
    assert sorted(arrivals, key=data.index) in (sorted(arrivals), sorted(arrivals, reverse=True))
    assert (tmp_path / "copy.db").stat().st_mode & 0o077 == 0


def test_a_backup_that_was_in_the_way_of_others_begins_again(
    store: PostgresStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table was dropped under its hands, when a part was in the copy already."""
    store.add_reports("t", [(name(1), bytes(71))], keys=KEYS)
    read, asked = store._copy_out, list[str]()

    def dropped_once(query: str, types: Any) -> Any:
        asked.append(query)
        if "FROM sealed_" in query and sum(one == query for one in asked) == 1:
            raise errors.UndefinedTable
        return read(query, types)

    monkeypatch.setattr(store, "_copy_out", dropped_once)
    store.backup(tmp_path / "copy.db")
    assert sum("FROM task" in one for one in asked) == 2
    with closing(sqlite3.connect(tmp_path / "copy.db")) as copy:
        assert copy.execute("SELECT id FROM sealed").fetchall() == [(name(1),)]


@pytest.mark.parametrize("first", ["sqlite", "postgresql"])
def test_a_store_moves_from_one_kind_to_the_other(first: str, url: str, tmp_path: Path) -> None:
    """Open, closing, released, purged, rolled over and destroyed batches, spent credentials: all of it, there and back."""
    file = f"sqlite:///{tmp_path}/store.db"
    here, there = (file, url) if first == "sqlite" else (url, file)
    store = started(open_store(here))
    batches = list[int]()
    for j in range(3):
        store.add_reports("t", reports(2 * j, 2 * j + 1), [name(100 + 2 * j), name(101 + 2 * j)], keys=KEYS)
        batches.append(closed(store).id)
        if j < 2:
            release(store, batches[-1])
    store.purge(batches[0])
    store.add_reports("t", reports(8), keys=KEYS)
    store.end(store.open_batch("t").id, below=9, roll_over=True, key=KEY, now=3.0)
    store.add_task("gone", "{}", hop=1, key=KEY, now=0.0)
    store.retire("gone", at_most=0)
    store.backup(tmp_path / "copy.db")
    restore_store(tmp_path / "copy.db", there, nothing_released_since=True)
    with closing(open_store(there, create=False)) as moved:
        assert moved.history() == store.history()
        assert moved.tasks() == store.tasks()
        assert [batch.id for batch in moved.unfinished()] == [batches[2]]
        for one in (store, moved):
            release(one, batches[2])
        assert [released(moved, batch) for batch in batches] == [released(store, batch) for batch in batches]
        spending = [name(102), name(200), name(201)]
        assert moved.add_reports("t", reports(0, 4, 8), keys=KEYS) == ["report_replayed"] * 3
        assert moved.add_reports("t", reports(20, 21, 22), spending, keys=KEYS) == [
            "not_admitted",
            "accepted",
            "accepted",
        ]
        again = moved.start_closing(moved.open_batch("t").id, at_least=3, secret=SECRET, key=KEY, now=4.0)
        assert again is not None
        assert moved.open_batch("t").id > max(batch.id for batch in store.history())  # numbers are not used again
        release(moved, again.id)
        assert sorted(released(moved, again.id)) == [8, 21, 22]
    store.close()


def test_a_restore_that_fails_leaves_nothing(url: str, tmp_path: Path) -> None:
    (tmp_path / "copy.db").write_bytes(b"not a store at all, but long enough to be one, as one might think" * 20)
    (tmp_path / "copy.db").chmod(0o600)
    with pytest.raises(InvalidInput, match="not a store"):
        restore_store(tmp_path / "copy.db", url, nothing_released_since=True)
    with pytest.raises(InvalidInput, match="there is no store"):
        open_store(url, create=False)
