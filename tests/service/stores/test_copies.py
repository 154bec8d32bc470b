"""Copies of a store, and files in which reports would be lost: refused, because a second release shows who came in between."""

import gzip
import os
import shutil
import sqlite3
import subprocess
import sys
import warnings
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from oracles.postgres import PostgresServer
from oracles.server import Place
from oracles.store_suite import KEYS, closed, name, released, reports, started
from oracles.tree import python_path
from shuffledp import InvalidInput
from shuffledp.service.shuffler.release import release
from shuffledp.service.stores.postgres.store import PostgresStore
from shuffledp.service.stores.registry import open_store, restore_store
from shuffledp.service.stores.sqlite import file_identity, store_files
from shuffledp.service.stores.sqlite.store import SQLiteStore
from shuffledp.service.stores.store import StoreUnavailable

GOLDEN = Path(__file__).parents[2] / "golden"
ENVIRONMENT = {**os.environ, "PYTHONPATH": python_path()}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A closed one with an open batch of three."""
    with closing(SQLiteStore(tmp_path / "store.db")) as made:
        started(made).add_reports("t", reports(1, 2, 3), keys=KEYS)
    return tmp_path / "store.db"


def written_by_schema_3(what: str, path: Path) -> Path:
    """A file of an earlier version: see tests/golden."""
    path.write_bytes(gzip.decompress((GOLDEN / f"sqlite-{what}-3.db.gz").read_bytes()))
    path.chmod(0o600)
    return path


# Backups


def test_a_backup_is_not_served_but_restored(place: Place, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with closing(started(open_store(place(tmp_path / "store")))) as store:
        store.add_reports("t", reports(1, 2, 3), keys=KEYS)
        store.backup(copy)
        before = copy.read_bytes()
        for _ in range(2):
            with pytest.raises(InvalidInput, match=r"is a backup, .* shuffledp shuffler restore .*copy\.db NEW"):
                open_store(str(copy))
        with closing(open_store(str(copy), read_only=True)) as looking:
            assert looking.open_batch("t").count == 3
            assert looking.instance() == store.instance()
            looking.backup(tmp_path / "copy of the copy.db")
        with pytest.raises(InvalidInput, match="is a backup"):
            open_store(str(tmp_path / "copy of the copy.db"))
    restore_store(copy, place(tmp_path / "again"), nothing_released_since=True)
    assert copy.read_bytes() == before
    assert [path.name for path in tmp_path.glob("copy.db*")] == ["copy.db"]
    with closing(open_store(place(tmp_path / "again"), create=False)) as again:
        assert again.open_batch("t").count == 3
        assert again.instance().id != store_id(copy)


def store_id(copy: Path) -> object:
    with closing(open_store(str(copy), read_only=True)) as looking:
        return looking.instance().id


def test_each_end_of_a_batch_takes_a_store_further(place: Place, tmp_path: Path) -> None:
    with closing(started(open_store(place(tmp_path / "store")))) as store:
        come = [store.instance().generation]

        def ended() -> bool:
            come.append(store.instance().generation)
            return come[-1] > come[-2]

        store.add_reports("t", reports(1, 2), keys=KEYS)
        assert not ended()
        batch = closed(store)
        assert ended()
        release(store, batch.id)
        assert not ended()
        store.add_reports("t", reports(3), keys=KEYS)
        current = store.open_batch("t")
        store.end(current.id, below=9, roll_over=True, key=current.key, now=1.0)
        store.end(current.id, below=9, roll_over=False, key=current.key, now=1.0)
        assert ended()
        store.add_reports("t", reports(4), keys=KEYS)
        assert store.retire("t", at_most=0) is None
        assert not ended()
        assert store.retire("t", at_most=1) == 1
        assert ended()


# Copies by other means


@pytest.mark.parametrize(
    "copied",
    [
        lambda store: store.with_name("other.db"),
        lambda store: store.parent / "elsewhere" / store.name,
        lambda store: store,
    ],
    ids=["another name", "another folder", "in its place"],
)
def test_a_copy_of_the_file_is_refused(store: Path, copied: Callable[[Path], Path]) -> None:
    copy = copied(store)
    copy.parent.mkdir(exist_ok=True)
    if copy == store:  # the original is gone, and a disk may give its number to the next file
        data = store.read_bytes()
        store.unlink()
        store.write_bytes(data)
        store.chmod(0o600)
    else:
        shutil.copy2(store, copy)
    with pytest.raises(InvalidInput, match=r"is a copy of a store, .* shuffledp shuffler restore"):
        SQLiteStore(copy)
    restore_store(copy, str(store.with_name("restored.db")), nothing_released_since=False)
    with closing(SQLiteStore(store.with_name("restored.db"), create=False)) as restored:
        assert restored.open_batch("t").count == 0
        assert restored.add_reports("t", reports(1), keys=KEYS) == ["report_replayed"]


def test_a_store_in_a_folder_that_is_called_otherwise_now_is_the_same(store: Path) -> None:
    folder = store.parent / "folder"
    folder.mkdir()
    store.rename(folder / store.name)
    folder.rename(store.parent / "volume")
    with closing(SQLiteStore(store.parent / "volume" / store.name)) as moved:
        assert moved.open_batch("t").count == 3


def test_a_store_that_was_renamed_would_not_find_its_log(tmp_path: Path) -> None:
    """What a process that died had written last is in the log of the former name."""
    writing = (
        "import os; from oracles.store_suite import *; from shuffledp.service.stores.registry import open_store; "
        f"store = started(open_store({str(tmp_path / 'store.db')!r})); store.add_reports('t', reports(1), keys=KEYS); os._exit(1)"
    )
    subprocess.run([sys.executable, "-c", writing], env=ENVIRONMENT, check=False)
    (tmp_path / "store.db").rename(tmp_path / "new.db")
    with pytest.raises(
        InvalidInput, match=r"was called store\.db, .* log of that name\. Give it and its log that name"
    ):
        SQLiteStore(tmp_path / "new.db")
    with pytest.raises(InvalidInput, match=r"store\.db-wal exists, and may hold what was written last"):
        SQLiteStore(tmp_path / "store.db")  # nor is a new one made, into which the log would be written
    (tmp_path / "new.db").rename(tmp_path / "store.db")
    with closing(SQLiteStore(tmp_path / "store.db")) as again:
        assert again.add_reports("t", reports(1, 2), keys=KEYS) == ["report_replayed", "accepted"]


def test_places_are_told_apart_by_birth_where_a_number_is_used_again(tmp_path: Path) -> None:
    (tmp_path / "a b%/").mkdir()
    (tmp_path / "a b%" / "store ü.db").touch()
    here = file_identity.FileIdentity.of(tmp_path / "a b%" / "store ü.db")
    assert here.born is not None  # Linux and macOS say so
    assert file_identity.FileIdentity.read(str(here)) == here
    other = file_identity.FileIdentity(name=here.name, inode=here.inode, born=here.born + 1)
    unknown = file_identity.FileIdentity(name=here.name, inode=here.inode, born=None)
    assert file_identity.FileIdentity.read(str(unknown)) == unknown
    assert [here.is_same_file(one) for one in (here, other, unknown)] == [True, False, True]
    assert not unknown.is_same_file(file_identity.FileIdentity(name=here.name, inode=here.inode + 1, born=None))


# Files with two names, and mounts


def test_a_file_with_two_names_is_refused_under_both(store: Path) -> None:
    """Each name would have a log of its own, and lose what is in the other."""
    alias = store.with_name("alias.db")
    with closing(SQLiteStore(store)) as serving:
        os.link(store, alias)
        for read_only in (False, True):
            for path in (alias, store):
                with pytest.raises(InvalidInput, match=r"has another name \(a hard link\).*Remove the other name"):
                    SQLiteStore(path, read_only=read_only)
        assert serving.add_reports("t", reports(4), keys=KEYS) == ["accepted"]  # it has the log, and is not disturbed
        alias.unlink()
        with closing(SQLiteStore(store)) as other:
            assert other.open_batch("t").count == 4
    assert [path.name for path in store.parent.iterdir()] == ["store.db"]


def test_a_symbolic_link_is_another_way_to_the_same_file(store: Path) -> None:
    folder = store.parent / "links"
    folder.mkdir()
    (folder / "link.db").symlink_to(store)
    with closing(SQLiteStore(folder / "link.db")) as one, closing(SQLiteStore(store)) as other:
        assert one.add_reports("t", reports(4), keys=KEYS) == ["accepted"]
        assert other.add_reports("t", reports(4, 5), keys=KEYS) == ["report_replayed", "accepted"]
        with closing(one.twin()) as twin:
            assert twin.open_batch("t").count == 5
        (store.parent / "store.db-wal").unlink()
        with pytest.raises(StoreUnavailable, match="or its log was removed"):
            one.add_reports("t", reports(6), keys=KEYS)
    assert [path.name for path in folder.iterdir()] == ["link.db"]
    (folder / "new.db").symlink_to(store.parent / "made.db")
    SQLiteStore(folder / "new.db").close()
    assert (store.parent / "made.db").is_file()


@pytest.mark.filterwarnings("default:NOT TESTED")
def test_a_file_that_is_mounted_by_itself_is_refused(store: Path) -> None:
    """As in a container: its log would be in the container, and gone with it."""
    folder = store.parent / "container"
    folder.mkdir()
    (folder / "store.db").touch(mode=0o600)
    opening = """
import sys
from shuffledp import InvalidInput
from shuffledp.service.stores.registry import open_store
try:
    open_store(sys.argv[1]).close()
except InvalidInput as error:
    print(error)
else:
    print("opened")
"""
    for mounted, target, expected in (
        (store, folder / "store.db", "is mounted as a single file, so its log would be elsewhere"),
        (store.parent, folder, "opened"),  # the folder is as it should be
    ):
        script = 'mount --bind "$1" "$2" && exec "$3" -c "$4" "$5"'
        words = ["sh", "-c", script, "sh", mounted, target, sys.executable, opening, folder / "store.db"]
        alone = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
        done = subprocess.run([*alone, *map(str, words)], capture_output=True, text=True, check=False, env=ENVIRONMENT)
        if not done.stdout:
            warnings.warn(f"NOT TESTED: this system does not let tests mount anything ({done.stderr})", stacklevel=1)
            return
        assert expected in done.stdout
    assert list(folder.iterdir()) == [folder / "store.db"]


def test_mounts_are_found_in_what_the_kernel_writes(tmp_path: Path) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "36 35 98:0 /mnt1 /var/lib/shuffledp rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n"
        "37 36 98:0 /x /var/lib/my\\040stores/store.db rw - ext4 /dev/vda rw\n"
    )
    for path, alone in (
        ("/var/lib/shuffledp/store.db", False),
        ("/var/lib/my stores/store.db", True),
        ("/var/lib/my\\040stores/store.db", False),
        ("/var/lib/shuffledp", True),
    ):
        assert file_identity.is_mounted_alone(Path(path), mounts) is alone
    (tmp_path / "store.db").touch()
    assert not file_identity.is_mounted_alone(
        tmp_path / "store.db", tmp_path / "none"
    )  # by its device, which is the folder's
    assert file_identity.is_mounted_alone(Path("/proc"), tmp_path / "none")


# What is no store


@pytest.mark.parametrize("content", [b"", b"x", b"\0", b"SQLite format 3\0"])
def test_a_file_that_is_hardly_there_is_not_a_store(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(content)
    path.chmod(0o600)
    ways: list[dict[str, Any]] = [{}, {"create": False}, {"read_only": True}]
    for how in ways:
        with pytest.raises(InvalidInput, match=r"is not a store|there is no store"):
            SQLiteStore(path, **how)
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_a_store_has_its_name_when_it_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def died(*_: object) -> None:
        raise InterruptedError

    with monkeypatch.context() as patch:
        patch.setattr(store_files, "settle", died)
        with pytest.raises(InvalidInput):
            SQLiteStore(tmp_path / "store.db")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / ".store.db.new").write_bytes(b"what a process that was killed has left")
    SQLiteStore(tmp_path / "store.db").close()
    assert [path.name for path in tmp_path.iterdir()] == ["store.db"]


# Stores of earlier versions


def test_a_store_of_schema_3_is_served_on(tmp_path: Path) -> None:
    path = written_by_schema_3("store", tmp_path / "store.db")
    before = path.read_bytes()
    with closing(SQLiteStore(path, read_only=True)) as looking:
        assert looking.instance().generation == 1
        seen = looking.instance()
        looking.backup(tmp_path / "copy.db")
    assert path.read_bytes() == before
    with pytest.raises(InvalidInput, match="is a backup"):
        SQLiteStore(tmp_path / "copy.db")
    for _ in range(2):
        with closing(SQLiteStore(path)) as store:
            assert store.instance() == seen
            assert [(batch.state, batch.count) for batch in store.history()] == [("RELEASED", 20), ("OPEN", 7)]
            assert sorted(released(store, 1)) == list(range(20))
            kept = store.add_reports("t", reports(3, 23, 90), [name(300), name(301), name(205)], keys=KEYS)
            assert kept == ["report_replayed", "report_replayed", "not_admitted"]
    shutil.copy(path, tmp_path / "by hand.db")
    with pytest.raises(InvalidInput, match="is a copy"):
        SQLiteStore(tmp_path / "by hand.db")
    with closing(SQLiteStore(path)) as store:
        batch = closed(store, at_least=7)
        release(store, batch.id)
        assert sorted(released(store, batch.id)) == list(range(20, 27))


def test_a_backup_of_schema_3_is_known_as_one(tmp_path: Path) -> None:
    """It has no mark, but was never in the mode in which stores are."""
    path = written_by_schema_3("backup", tmp_path / "copy.db")
    before = path.read_bytes()
    with pytest.raises(InvalidInput, match="is a backup"):
        SQLiteStore(path)
    for kept in (True, False):
        restored = tmp_path / f"{kept}.db"
        restore_store(path, str(restored), nothing_released_since=kept)
        with closing(SQLiteStore(restored, create=False)) as store:
            assert store.open_batch("t").count == 7 * kept
            assert store.add_reports("t", reports(3, 23), keys=KEYS) == ["report_replayed"] * 2
    assert path.read_bytes() == before


def test_copies_of_a_store_of_schema_3_are_the_same_store(tmp_path: Path) -> None:
    ids = set()
    for copy in ("a.db", "b.db"):
        with closing(SQLiteStore(written_by_schema_3("store", tmp_path / copy))) as store:
            ids.add(store.instance().id)
    assert len(ids) == 1
    with closing(sqlite3.connect(written_by_schema_3("store", tmp_path / "c.db"), isolation_level=None)) as other:
        other.execute("UPDATE batch SET opened = opened + 0.000001")
    with closing(SQLiteStore(tmp_path / "c.db")) as store:
        assert store.instance().id not in ids


# PostgreSQL


def test_a_copy_of_the_tables_is_refused(postgres: PostgresServer, tmp_path: Path) -> None:
    """In another schema of the same server, as pg_dump and a restore would make it."""
    original, copy = (postgres.place(tmp_path / which) for which in ("original", "copy"))
    with closing(PostgresStore(original)) as store:
        started(store).add_reports("t", reports(1, 2), keys=KEYS)
        (schema,) = store._read("SELECT current_schema()")[0]
    with closing(PostgresStore(copy)) as made:
        (target,) = made._read("SELECT current_schema()")[0]
    postgres.run(f"DROP SCHEMA {target} CASCADE", f"CREATE SCHEMA {target}")
    for (table,) in postgres.run(f"SELECT tablename FROM pg_tables WHERE schemaname = '{schema}'"):
        postgres.run(
            f"CREATE TABLE {target}.{table} (LIKE {schema}.{table} INCLUDING ALL)",
            f"INSERT INTO {target}.{table} SELECT * FROM {schema}.{table}",
        )
    with pytest.raises(InvalidInput, match=r"or a copy of its tables, .* restore that as a new store"):
        PostgresStore(copy)
    with closing(PostgresStore(copy, read_only=True)) as looking:
        looking.backup(tmp_path / "copy.db")
    restore_store(tmp_path / "copy.db", postgres.place(tmp_path / "new"), nothing_released_since=False)
    with closing(PostgresStore(postgres.place(tmp_path / "new"))) as store:
        assert store.add_reports("t", reports(1, 3), keys=KEYS) == ["report_replayed", "accepted"]


def test_a_store_of_schema_2_is_served_on(postgres: PostgresServer, tmp_path: Path) -> None:
    url = postgres.place(tmp_path)
    with closing(PostgresStore(url)) as store:
        started(store).add_reports("t", reports(1, 2), keys=KEYS)
        release(store, closed(store).id)
        own = store.instance().id
        store._write(lambda: store._run("UPDATE shuffledp SET schema = 2"))
        store._run("ALTER TABLE shuffledp DROP COLUMN generation, DROP COLUMN place")
    with closing(PostgresStore(url, read_only=True)) as looking:
        assert (looking.instance().id, looking.instance().generation) == (own, 1)
        looking.backup(tmp_path / "copy.db")
        assert looking._read("SELECT schema FROM shuffledp") == [(2,)]
    with closing(PostgresStore(url)) as store, closing(store.twin()) as twin:
        assert store.instance() == twin.instance()
        assert (store.instance().id, store.instance().generation) == (own, 1)
        assert store.add_reports("t", reports(1, 3), keys=KEYS) == ["report_replayed", "accepted"]
        closed(store)
        assert twin.instance().generation == 2
    with pytest.raises(InvalidInput, match="is a backup"):
        SQLiteStore(tmp_path / "copy.db")


def test_a_server_that_goes_back_under_a_shuffler_is_noticed(postgres: PostgresServer, tmp_path: Path) -> None:
    with closing(PostgresStore(postgres.place(tmp_path))) as store:
        started(store).add_reports("t", reports(1), keys=KEYS)
        closed(store)
        store.check()
        store._run("UPDATE shuffledp SET generation = 0")  # as after a start from an earlier snapshot
        for job in (store.check, lambda: store.add_reports("t", reports(2), keys=KEYS), lambda: closed(store)):
            with pytest.raises(StoreUnavailable, match="was recovered to an earlier time"):
                job()
