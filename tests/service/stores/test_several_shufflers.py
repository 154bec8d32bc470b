"""Several shufflers on one PostgreSQL database."""

import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from oracles.parties import ANALYZER, SHUFFLER, SIXTEEN, prepared, sealed
from oracles.server import Server, in_open_batches, inner_records
from oracles.store_suite import KEYS, closed, reports, started
from shuffledp.service.analyzer.analyzer import open_batch
from shuffledp.service.analyzer.batch_fetcher import BatchFetcher
from shuffledp.service.client.sender import NotDelivered, Sender
from shuffledp.service.shuffler.release import release
from shuffledp.service.stores.postgres.store import PostgresStore
from shuffledp.service.stores.registry import open_store


def test_processes_that_open_a_new_store_at_once(url: str) -> None:
    barrier = threading.Barrier(6)

    def open_it(_: int) -> int:
        barrier.wait()
        with closing(open_store(url)) as store:
            return len(started(store).batches("t", "OPEN"))

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(open_it, range(6))) == [1] * 6


def test_a_batch_that_somebody_releases_is_left_to_them(store: PostgresStore, url: str) -> None:
    store.add_reports("t", reports(1, 2), keys=KEYS)
    batch = closed(store)
    other = PostgresStore(url)
    assert other.unfinished() == []
    store.close()  # or its process dies
    assert [one.id for one in other.unfinished()] == [batch.id]
    assert release(other, batch.id).state == "RELEASED"
    other.close()


def test_two_shufflers_on_one_database_one_of_them_killed(url: str, tmp_path: Path) -> None:
    """Everybody sends to either until it is acknowledged; one dies: nothing is lost or counted twice, and released once."""
    folder, n = prepared(tmp_path, SIXTEEN, SHUFFLER), 400
    sent = [sealed(j % 16, SIXTEEN) for j in range(n)]
    first, second = Server(folder, store=url), Server(folder, store=url)
    half = threading.Event()
    acknowledged = list[str]()

    def client(number: int) -> None:
        senders = [Sender(url=server.url, attempts=1) for server in (first, second)]
        for turn, start in enumerate(range(10 * number, n, 40)):
            for sender in (senders[turn % 2], senders[1], senders[1]):  # the second one lives
                try:
                    outcomes = sender.send(SIXTEEN, sent[start : start + 10])
                except NotDelivered:
                    continue
                assert all(outcome.arrived for outcome in outcomes)
                acknowledged.extend(outcomes)
                break
            if turn > 3:
                half.set()

    with ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(client, number) for number in range(4)]
        assert half.wait(120)
        first.stop(signal.SIGKILL)
        for job in jobs:
            job.result()
    try:
        assert len(acknowledged) == n
        assert in_open_batches(url) == inner_records(url) == n
        operator = BatchFetcher(url=second.url, token=(folder / "operator.token").read_text())
        done = operator.close(SIXTEEN)
        third = Server(folder, store=url)
        try:
            for server in (second, third):  # the same batch, wherever it is asked for
                analyst = BatchFetcher(url=server.url, token=(folder / "analyzer.token").read_text())
                opened = open_batch(analyst.fetch(SIXTEEN, done.batch).content.tobytes(), SIXTEEN, ANALYZER)
                assert opened.counts.values.tolist() == [n // 16] * 16
        finally:
            third.stop()
    finally:
        second.stop()
    with closing(open_store(url, create=False)) as store:
        assert [batch.count for batch in store.batches(SIXTEEN.id, "RELEASED")] == [n]


def test_a_shuffler_that_is_frozen_holds_nobody_up_for_ever(store: PostgresStore) -> None:
    assert store._read("SHOW idle_in_transaction_session_timeout") == [("30s",)]
    assert store._read("SHOW lock_timeout") == [("5s",)]


def test_uploads_go_on_while_ids_are_copied(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Erasing locks a task only when its long work is done: another shuffler takes reports meanwhile."""
    store.add_reports("t", reports(*range(20)), keys=KEYS)
    batch, taken = closed(store), list[Any]()
    other = store.twin()
    lock = store._lock

    def meanwhile(task: str) -> int | None:
        if not taken:  # if anything were held it would be refused after five seconds
            taken.append(other.add_reports("t", reports(3, 77), keys=KEYS))
        return lock(task)

    monkeypatch.setattr(store, "_lock", meanwhile)
    release(store, batch.id)
    assert taken == [["report_replayed", "accepted"]]
    other.close()
