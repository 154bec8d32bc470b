"""What the PostgreSQL store promises beyond any store: connections, passwords, what is left in its files."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import errors

from oracles.postgres import PostgresServer
from oracles.process import assert_refused, called
from oracles.server import inner_records
from oracles.store_suite import KEY, KEYS, SECRET, closed, released, reports, started
from shuffledp import InvalidInput
from shuffledp.service.shuffler.release import release
from shuffledp.service.stores import registry
from shuffledp.service.stores.postgres.address import parameters, shown
from shuffledp.service.stores.postgres.store import PostgresStore
from shuffledp.service.stores.registry import open_store, restore_store
from shuffledp.service.stores.store import StoreUnavailable


def cut(store: PostgresStore, postgres: PostgresServer) -> None:
    """Its connection, as by a restart of the server."""
    postgres.run(f"SELECT pg_terminate_backend({store._connection.info.backend_pid}, 5000)")


# Durable, or not acknowledged


def test_commits_are_durable_whatever_the_server_is_configured_to_do(postgres: PostgresServer, url: str) -> None:
    for user, setting in (("hasty", "off"), ("careful", "remote_apply")):
        postgres.run(
            f"DROP ROLE IF EXISTS {user}", f"CREATE ROLE {user} LOGIN SUPERUSER",
            f"ALTER ROLE {user} SET synchronous_commit = {setting}",
            f"ALTER ROLE {user} SET default_transaction_isolation = serializable",
        )  # fmt: skip
        with closing(PostgresStore(url.replace("postgres@", f"{user}@"))) as store:
            assert store._read("SHOW synchronous_commit") == [("on" if setting == "off" else setting,)]
            assert store._read("SHOW default_transaction_isolation") == [("read committed",)]


def test_what_is_acknowledged_survives_a_server_killed_dead(tmp_path: Path) -> None:
    server = PostgresServer()
    try:
        with closing(open_store(server.place(tmp_path))) as store:
            started(store).add_reports("t", reports(*range(50)), keys=KEYS)
            server.kill()
            with pytest.raises(StoreUnavailable, match="Check that it runs"):
                store.add_reports("t", reports(50), keys=KEYS)
            server.start()
            assert store.add_reports("t", reports(49, 50), keys=KEYS) == ["report_replayed", "accepted"]
            assert store.open_batch("t").count == inner_records(server.place(tmp_path)) == 51
    finally:
        server.stop()


def test_a_server_that_does_not_write_to_disk_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psycopg, "connect", lambda *_, **__: Pretending())
    with pytest.raises(InvalidInput, match="fsync turned off"):
        PostgresStore("postgresql:///x")


@pytest.mark.parametrize(
    ("user", "setting"), [("verbose", "log_statement = 'mod'"), ("talkative", "log_min_duration_statement = 1000")]
)
def test_a_server_that_logs_values_is_refused(postgres: PostgresServer, url: str, user: str, setting: str) -> None:
    """The log would have ids in the order of arrival, and the secret of the permutation."""
    postgres.run(f"CREATE ROLE {user} LOGIN SUPERUSER", f"ALTER ROLE {user} SET {setting}")
    logged = url.replace("postgres@", f"{user}@")
    with pytest.raises(InvalidInput, match="writes the values of statements to its log"):
        PostgresStore(logged)
    postgres.run(f"ALTER ROLE {user} SET log_parameter_max_length = 0")
    PostgresStore(logged).close()


def test_ids_are_kept_although_somebody_else_changes_the_batch_while_it_is_erased(
    postgres: PostgresServer, url: str
) -> None:
    with closing(PostgresStore(url)) as store, closing(store.twin()) as other, ThreadPoolExecutor(1) as pool:
        started(store).add_reports("t", reports(1, 2), keys=KEYS)
        batch = closed(store)
        store.add_piece(batch.id, 0, b"x")
        store.mark_released(batch.id, "d")
        other._connection.execute("BEGIN")
        other._connection.execute("SELECT 1 FROM batch WHERE id = %s FOR UPDATE", (batch.id,))
        erasing = pool.submit(store.erase, batch.id)
        with psycopg.connect(url.partition("?")[0], autocommit=True) as watching:
            waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
            while not erasing.done() and watching.execute(waiting).fetchone() == (0,):
                pass
        assert not erasing.done()
        other._connection.execute("COMMIT")
        erasing.result()
        assert store.add_reports("t", reports(1, 2, 3), keys=KEYS) == ["report_replayed"] * 2 + ["accepted"]


class Pretending:
    """A connection to a server that keeps nothing, in a process of this machine."""

    info = type("Info", (), {"dsn": "postgresql:///x", "host": "/run", "hostaddr": ""})
    pgconn = type("Raw", (), {"ssl_in_use": False})

    def execute(self, *_: object) -> Any:
        return type("Cursor", (), {"fetchone": lambda _: ("off", "on", "public", "-1", False)})()

    def close(self) -> None:
        """Nothing to do."""


# Connections


def test_a_lost_connection_costs_one_attempt_at_most(postgres: PostgresServer, store: PostgresStore) -> None:
    cut(store, postgres)  # between two uploads: nothing was asked, so nothing is refused
    assert store.add_reports("t", reports(1), keys=KEYS) == ["accepted"]
    cut(store, postgres)
    assert store.open_batch("t").count == 1

    def lost(point: str) -> None:
        if point == "accept: all reports written":
            store._reached = lambda _: None
            cut(store, postgres)

    store._reached = lost  # in the middle of one: not acknowledged, and not kept
    with pytest.raises(StoreUnavailable):
        store.add_reports("t", reports(2, 3), keys=KEYS)
    assert store.open_batch("t").count == 1
    assert store.add_reports("t", reports(2, 3), keys=KEYS) == ["accepted"] * 2


def test_what_is_in_the_way_of_others_is_done_again(store: PostgresStore) -> None:
    attempts = list[int]()

    def unlucky() -> int:
        attempts.append(len(attempts))
        if len(attempts) < 3:
            raise errors.SerializationFailure if len(attempts) == 1 else errors.DeadlockDetected
        return 7

    assert store._write(unlucky) == 7
    attempts.clear()

    def hopeless() -> None:
        attempts.append(0)
        raise errors.SerializationFailure

    with pytest.raises(StoreUnavailable, match="Try again"):
        store._write(hopeless)
    assert len(attempts) == 5


def test_a26_a_store_that_is_replaced_acknowledges_nothing(
    postgres: PostgresServer, store: PostgresStore, url: str, tmp_path: Path
) -> None:
    store.backup(tmp_path / "copy.db")
    store.add_reports("t", reports(1), keys=KEYS)
    (schema,) = store._read("SELECT current_schema()")[0]
    postgres.run(f"DROP SCHEMA {schema} CASCADE", f"CREATE SCHEMA {schema}")
    with pytest.raises(StoreUnavailable, match="a table is missing"):
        store.check()
    restore_store(tmp_path / "copy.db", url, nothing_released_since=True)
    for job in (store.check, lambda: store.add_reports("t", reports(2), keys=KEYS)):
        with pytest.raises(StoreUnavailable, match="was replaced while in use"):
            job()


def test_a_server_that_may_have_forgotten_a_release_is_refused_until_its_store_is_restored(tmp_path: Path) -> None:
    """A standby that lags when it is promoted has released batches open: to release them again would show who came later."""
    server = PostgresServer()
    try:
        url, new = server.place("old"), server.place("new")
        with closing(open_store(url)) as store:
            started(store).add_reports("t", reports(1, 2), keys=KEYS)
            os.kill(server.process.pid, signal.SIGINT)
            server.process.wait(60)
            (server.data / "standby.signal").touch()
            server.start()
            with pytest.raises(StoreUnavailable, match="read-only"):
                store.check()
            server.run("SELECT pg_promote()")
            for job in (store.check, lambda: store.add_reports("t", reports(3), keys=KEYS), lambda: closed(store)):
                with pytest.raises(StoreUnavailable, match="standby that was promoted"):
                    job()
        with pytest.raises(InvalidInput, match="restore that as a new store"):
            open_store(url)
        assert called(["shuffler", "backup", url, str(tmp_path / "copy.db")]).returncode == 0
        assert called(["shuffler", "restore", str(tmp_path / "copy.db"), new]).returncode == 0
        with closing(open_store(new)) as store:
            assert store.add_reports("t", reports(1, 3), keys=KEYS) == ["report_replayed", "accepted"]
            assert store.open_batch("t").count == 1
    finally:
        server.stop()


def test_a_table_that_somebody_reads_is_dropped_later(store: PostgresStore, url: str) -> None:
    store.add_reports("t", reports(1, 2), keys=KEYS)
    batch = closed(store)
    with psycopg.connect(url) as reader:
        reader.execute(f"SELECT count(*) FROM sealed_{batch.id}".encode())
        assert release(store, batch.id).state == "RELEASED"  # nobody waits for it
        assert store.add_reports("t", reports(2, 3), keys=KEYS) == ["report_replayed", "accepted"]
        assert inner_records(url) == 3
    store.tidy()
    assert inner_records(url) == 1
    assert sorted(released(store, batch.id)) == [1, 2]


# Passwords, and what errors say


def test_a_password_is_checked_and_shown_nowhere(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = postgres.data / "pg_hba.conf"
    before, secret = rules.read_text(), "pass/word@4711"
    postgres.run(
        "DROP SCHEMA IF EXISTS clerk CASCADE", "DROP ROLE IF EXISTS clerk", f"CREATE ROLE clerk LOGIN PASSWORD '{secret}'",
        "CREATE SCHEMA clerk AUTHORIZATION clerk",  # found by its name, as libpq's user
    )  # fmt: skip
    plain = postgres.url(user="clerk")
    wrong = plain.replace("clerk@", "clerk:wr0ng-4711@")
    try:
        rules.write_text("local all clerk scram-sha-256\n" + before)
        postgres.run("SELECT pg_reload_conf()")
        (tmp_path / "pgpass").write_text(f"*:*:*:clerk:{secret.replace(':', chr(92) + ':')}\n")
        (tmp_path / "pgpass").chmod(0o600)
        fine = plain.replace("clerk@", "clerk:pass%2Fword%404711@")
        for given, environment in (
            (fine, {}), (plain, {"PGPASSWORD": secret}), (plain, {"PGPASSFILE": str(tmp_path / "pgpass")}),
        ):  # fmt: skip
            with monkeypatch.context() as patch:
                for variable, value in environment.items():
                    patch.setenv(variable, value)
                with closing(open_store(given)) as store:
                    assert "4711" not in repr(store) + shown(given) + registry.shown(given)
                    with closing(store.twin()) as twin:
                        twin.check()
        started(made := open_store(fine)).close()
        done = called(["shuffler", "status", fine])
        assert (done.returncode, "4711" in done.stdout + done.stderr) == (0, False)
        assert called(["shuffler", "backup", fine, str(tmp_path / "copy.db")]).returncode == 0
        postgres.run("DROP SCHEMA clerk CASCADE", "CREATE SCHEMA clerk AUTHORIZATION clerk")
        done = called(["shuffler", "restore", str(tmp_path / "copy.db"), fine])
        assert done.stdout.startswith("restored postgresql://clerk@"), done.stderr
        assert "4711" not in done.stdout + done.stderr
        assert "4711" not in repr(made)
        for given in (wrong, plain):
            done = called(["shuffler", "status", given])
            assert_refused(done, "refuses this user or password")
            assert "4711" not in done.stdout + done.stderr
    finally:
        rules.write_text(before)
        postgres.run("SELECT pg_reload_conf()")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:pa/ss@host/db",
        "postgresql://u:12@pass@host/db",
        "postgresql://u:pass@h:pass/db",
        "postgresql://?pass=1",
    ],
)
def test_a_password_that_is_badly_written_is_not_shown_either(url: str) -> None:
    for ask in (lambda: shown(url), lambda: open_store(url)):
        with pytest.raises(InvalidInput, match="percent-encoded") as refused:
            ask()
        assert "pa" not in str(refused.value).replace("this is not", "").split("Write")[0]
        assert refused.value.__cause__ is None


def test_messages_say_what_really_happened(postgres: PostgresServer, url: str, tmp_path: Path) -> None:
    postgres.run("DROP ROLE IF EXISTS nobody", "CREATE ROLE nobody LOGIN", "DROP SCHEMA IF EXISTS theirs CASCADE")
    postgres.run("CREATE SCHEMA theirs", "CREATE TABLE theirs.customers (name text)")
    for given, why in (
        (f"postgresql://x@{'%2Fnowhere'}/db", "Check that it runs"),
        (url.replace("/postgres?", "/other?"), "there is no such database"),
        (postgres.url("missing"), "there is no schema"),
        (url.replace("postgres@", "stranger@"), "refuses this user"),
        (url.replace("postgres@", "nobody@"), "there is no schema|may not do that"),
        (postgres.url("theirs"), "tables of something else"),
    ):
        with pytest.raises(InvalidInput, match=why):
            open_store(given)
    with closing(PostgresStore(url)) as store:
        store._write(lambda: store._run("UPDATE shuffledp SET schema = 99"))
    with pytest.raises(InvalidInput, match="of another version"):
        open_store(url)


@pytest.mark.parametrize(
    ("host", "address"), [("db.example", ""), ("db.example", "192.0.2.1"), ("localhost", "192.0.2.1")]
)
def test_nothing_is_sent_in_clear_to_another_machine(host: str, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Far(Pretending):
        info = type("Info", (), {"dsn": "postgresql://db.example/x", "host": host, "hostaddr": address})

    monkeypatch.setattr(psycopg, "connect", lambda *_, **__: Far())
    with pytest.raises(InvalidInput, match="not encrypted"):
        PostgresStore("postgresql://db.example/x")
    monkeypatch.setenv("PGSSLMODE", "disable")  # said, and not by accident
    with pytest.raises(InvalidInput, match="fsync"):
        PostgresStore("postgresql://db.example/x")


def test_without_the_driver_it_is_said_how_to_get_it(tmp_path: Path) -> None:
    code = "import sys; sys.modules['psycopg'] = None; from shuffledp.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "shuffler", "status", "postgresql://u:secret@h/d"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert_refused(done, "needs psycopg, which is not installed. Install it: pip install 'psycopg[binary]>=")
    assert "secret" not in done.stderr


def test_a_server_that_hangs_is_not_waited_for_for_ever() -> None:
    assert parameters("postgresql://h/d")["connect_timeout"] == 5
    assert parameters("postgresql://h/d?connect_timeout=60")["connect_timeout"] == "60"


def test_looking_changes_nothing(store: PostgresStore, url: str) -> None:
    with closing(PostgresStore(url, read_only=True)) as looking:
        assert looking.tasks() == store.tasks()
        with pytest.raises(StoreUnavailable, match="read-only"):
            looking.add_task("u", "{}", hop=1, key=KEY, now=0.0)


# What is left in its files


def test_a11_after_release_nothing_remembers_the_order_of_arrival(
    postgres: PostgresServer, store: PostgresStore
) -> None:
    """Ids and credentials stand in their own order, written by one transaction; the tables of arrival have no files any more."""
    arrivals = [(os.urandom(16), os.urandom(16)) for _ in range(60)]
    for report, credential in arrivals:
        store.add_reports("t", [(report, b"\0" + report + bytes(54))], [credential], keys=KEYS)
    batch = closed(store)
    paths = [
        postgres.data / store._read("SELECT pg_relation_filepath(%s)", f"{table}_{batch.id}")[0][0]
        for table in ("sealed", "spending", "secret")
    ]
    postgres.run("CHECKPOINT")
    assert all(path.stat().st_size for path in paths)
    assert SECRET.hex().encode() in paths[-1].read_bytes()
    release(store, batch.id)
    assert not any(path.exists() and path.stat().st_size for path in paths)
    for names, table in zip(zip(*arrivals, strict=True), ("report", "spent"), strict=True):
        assert [row[0] for row in store._read(f"SELECT id FROM {table} ORDER BY ctid")] == sorted(names)
        assert len(store._read(f"SELECT DISTINCT xmin::text FROM {table}")) == 1
    postgres.run("CHECKPOINT")
    (path,) = store._read("SELECT pg_relation_filepath('batch')")[0]
    assert SECRET.hex().encode() not in (postgres.data / path).read_bytes()


def test_purged_bytes_are_gone(postgres: PostgresServer, store: PostgresStore) -> None:
    store.add_reports("t", reports(3), keys=KEYS)
    batch = closed(store)
    release(store, batch.id)
    path = postgres.data / store._read("SELECT pg_relation_filepath(%s)", f"piece_{batch.id}")[0][0]
    postgres.run("CHECKPOINT")
    assert path.stat().st_size
    store.purge(batch.id)
    assert not (path.exists() and path.stat().st_size)
