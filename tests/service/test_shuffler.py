"""The shuffler as a state machine: nothing early, nothing lost, nothing twice, nothing but sealed inner records kept."""

import sqlite3
import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from oracles.clock import Clock
from oracles.server import Place
from oracles.shuffling import ANALYZER, RING, TASK, made, messages, reports
from shuffledp import InvalidInput
from shuffledp.service.sealing.hpke import seal_inner, seal_message, unseal, wrap
from shuffledp.service.shuffler.admission import OneTimeTokens
from shuffledp.service.shuffler.release import release
from shuffledp.service.shuffler.shuffler import PERSISTENCE, Shuffler
from shuffledp.service.stores.batch import Batch, NextKey
from shuffledp.service.stores.sqlite.store import SQLiteStore
from shuffledp.service.stores.store import Store, StoreUnavailable
from shuffledp.service.wire.record import report_id


@pytest.fixture
def clock() -> Clock:
    return Clock(1000.0)


def test_a_batch_comes_out_whole_once_and_the_same_each_time(tmp_path: Path, clock: Clock) -> None:
    shuffler = made(tmp_path / "store.db", clock)
    assert shuffler.accept(TASK.id, reports(60)) == ["accepted"] * 60
    assert shuffler.close(TASK.id) == "batch_too_young"
    clock.now += 60
    batch = shuffler.close(TASK.id)
    assert isinstance(batch, Batch)
    assert sorted(messages(shuffler, batch)) == list(range(60))
    first = b"".join(shuffler.fetch(batch.id) or [])
    assert b"".join(shuffler.fetch(batch.id) or []) == first
    assert shuffler.close(TASK.id) == "batch_too_young"
    clock.now += 60
    assert shuffler.close(TASK.id) == "batch_too_small"
    shuffler.store.close()
    again = made(tmp_path / "store.db", clock)
    assert b"".join(again.fetch(batch.id) or []) == first


def test_a3_nothing_below_min_batch_is_ever_released(tmp_path: Path, clock: Clock, place: Place) -> None:
    """One report too few, past the deadline, across a restart and 100 concurrent closes; one more gives exactly one release."""
    url = place(tmp_path / "store.db")
    shuffler = made(url, clock)
    shuffler.accept(TASK.id, reports(49))
    clock.now += 100
    assert shuffler.close(TASK.id) == "batch_too_small"
    assert shuffler.close(TASK.id, ignore_window=True) == "batch_too_small"
    assert shuffler.tick() == []
    clock.now += 600
    (ended,) = shuffler.tick()
    assert ended.state == "ROLLED_OVER"
    shuffler.store.close()

    def attack(expected: int) -> list[object]:
        outcomes: list[object] = []

        def closer() -> None:
            mine = made(url, clock)
            for _ in range(10):
                try:
                    outcomes.append(mine.close(TASK.id, ignore_window=True))
                except StoreUnavailable:
                    outcomes.append("busy")
            mine.store.close()

        threads = [threading.Thread(target=closer) for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(outcomes) == 100
        assert sum(isinstance(found, Batch) for found in outcomes) == expected
        return outcomes

    attack(0)
    again = made(url, clock)
    assert again.accept(TASK.id, reports(1, first=49)) == ["accepted"]
    (released,) = [found for found in attack(1) if isinstance(found, Batch)]
    assert sorted(messages(again, released)) == list(range(50))
    assert len(again.store.batches(TASK.id, "RELEASED")) == 1


def test_the_store_is_asked_for_the_whole_minimum(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was counted before the batch is closed may be out of date: the store counts again, up to the same number."""
    shuffler, asked = made(tmp_path / "store.db", clock), list[int]()
    close: Any = type(shuffler.store).start_closing

    def spy(store: Store, batch_id: int, *, at_least: int, **rest: Any) -> Any:
        asked.append(at_least)
        return close(store, batch_id, at_least=at_least, **rest)

    monkeypatch.setattr(type(shuffler.store), "start_closing", spy)
    shuffler.accept(TASK.id, reports(50))
    assert isinstance(shuffler.close(TASK.id, ignore_window=True), Batch)
    assert asked == [TASK.release_size] == [50]


def test_each_batch_is_permuted_by_a_secret_of_its_own(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All 32 bytes of it, as they were drawn, and no more than once."""
    drawn, used = [bytes([k]) * 16 + bytes([k + 1]) * 16 for k in range(3)], list[bytes]()
    left = iter(drawn)
    shuffler = made(tmp_path / "store.db", clock, secrets=lambda: next(left))
    close: Any = type(shuffler.store).start_closing

    def spy(store: Store, batch_id: int, *, secret: bytes, **rest: Any) -> Any:
        used.append(secret)
        return close(store, batch_id, secret=secret, **rest)

    monkeypatch.setattr(type(shuffler.store), "start_closing", spy)
    for turn in range(3):
        shuffler.accept(TASK.id, reports(50, turn * 50))
        assert isinstance(shuffler.close(TASK.id, ignore_window=True), Batch)
    assert used == drawn


def test_every_report_of_an_upload_spends_the_token_that_it_came_with(tmp_path: Path, clock: Clock) -> None:
    """Also beside reports that are not admitted, or that cannot be opened: and none of another."""
    admission = OneTimeTokens(b"k" * 32)
    shuffler = made(tmp_path / "store.db", clock, admission=admission)
    tokens = [admission.issue(TASK.id) for _ in range(4)]
    forged, sent = OneTimeTokens(b"x" * 32).issue(TASK.id), reports(12)
    bad = sent[1][:-1] + bytes([sent[1][-1] ^ 1])
    upload = [forged + sent[0], tokens[0] + bad, tokens[1] + sent[2], tokens[2] + sent[3]]
    assert shuffler.accept(TASK.id, upload) == ["not_admitted", "decrypt_error", "accepted", "accepted"]
    again = [token + report for token, report in zip(tokens, sent[4:], strict=False)]
    assert shuffler.accept(TASK.id, again) == ["accepted", "not_admitted", "not_admitted", "accepted"]
    assert shuffler.store.open_batch(TASK.id).count == 4


def test_a_clock_that_stepped_back_when_a_batch_was_closed_shortens_no_window(tmp_path: Path, clock: Clock) -> None:
    """An operator closes whatever the window: the next one begins no earlier than this one did."""
    shuffler = made(tmp_path / "store.db", clock)
    shuffler.accept(TASK.id, reports(50))
    before = shuffler.store.open_batch(TASK.id).opened
    clock.now -= 500
    assert isinstance(shuffler.close(TASK.id, ignore_window=True), Batch)
    assert shuffler.store.open_batch(TASK.id).opened == before
    shuffler.accept(TASK.id, reports(50))
    clock.now += 500 + TASK.window - 1
    assert shuffler.close(TASK.id) == "batch_too_young"
    clock.now += 1
    assert isinstance(shuffler.close(TASK.id), Batch)


def test_a_report_that_arrives_while_a_tick_looks_makes_the_batch_no_younger(tmp_path: Path, clock: Clock) -> None:
    """Another process takes it after this one has seen an empty batch: the window that it belongs to goes on."""
    shuffler, other = made(tmp_path / "store.db", clock), made(tmp_path / "store.db", clock)
    opened = shuffler.store.open_batch(TASK.id).opened
    clock.now += TASK.window
    seen: Any = type(shuffler.store).batches

    def late(store: Store, task_id: str, state: Any = None) -> list[Batch]:
        found: list[Batch] = seen(store, task_id, state)
        other.accept(TASK.id, reports(1))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(shuffler.store), "batches", late)
        assert shuffler.tick() == []
    batch = shuffler.store.open_batch(TASK.id)
    assert (batch.count, batch.opened) == (1, opened)
    clock.now += TASK.window
    assert shuffler.tick() == []
    assert shuffler.store.open_batch(TASK.id).opened == opened


def test_a_key_that_is_not_in_use_yet_is_never_announced(tmp_path: Path, clock: Clock) -> None:
    """Nor is a report that is sealed to it kept: it would tell its sender from everybody else."""
    shuffler = made(tmp_path / "store.db", clock)
    soon = ANALYZER.introduced().public()
    shuffler.seal_to(TASK.id, soon)
    (pending,) = [key for key in soon.keys if key.state == "PENDING"]
    batch = shuffler.store.open_batch(TASK.id)
    assert shuffler.announced(batch) == batch.key
    early = NextKey(id=pending.key_id, fingerprint=soon.fingerprint(pending))
    assert shuffler.announced(replace(batch, key=early)) is None
    sealed = wrap(seal_inner(3, TASK, soon, pending), TASK, [RING.public()])
    assert shuffler.accept(TASK.id, [sealed]) == ["outdated_key"]
    assert shuffler.store.open_batch(TASK.id).count == 0


def test_a7_malformed_records_fail_by_themselves(tmp_path: Path, clock: Clock, place: Place) -> None:
    shuffler = made(place(tmp_path / "store.db"), clock)
    good = reports(3)
    other = replace(TASK, window=61)
    kinds: list[tuple[bytes, str]] = [
        (good[0][:-1], "invalid_message"),
        (good[0] + b"x", "invalid_message"),
        (b"", "invalid_message"),
        (bytes([9]) + good[0][1:], "outdated_config"),
        (seal_message(1, other, ANALYZER.public(), [RING.public()]), "decrypt_error"),
        (good[0][:-1] + bytes([good[0][-1] ^ 1]), "decrypt_error"),
        (good[0][:1] + b"\xff\xff" + good[0][3:], "invalid_message"),
    ]
    batch = [good[0], *(record for record, _ in kinds), good[1], good[2]]
    assert shuffler.accept(TASK.id, batch) == ["accepted", *(why for _, why in kinds), "accepted", "accepted"]
    assert shuffler.counters[TASK.id] == Counter(["accepted"] * 3 + [why for _, why in kinds])
    assert shuffler.store.open_batch(TASK.id).count == 3
    assert shuffler.accept("00" * 32, good) == "task_unknown"
    assert shuffler.accept(TASK.id, []) == []


# Crashes


class Crash(Exception):  # noqa: N818
    """A stand-in for kill -9 at a named point."""


@pytest.mark.parametrize(
    "statement", ["INSERT OR IGNORE INTO piece", "DELETE FROM sealed", "UPDATE batch SET state = 'RELEASED'", "COMMIT"]
)
def test_a5_a_crash_while_releasing_changes_nothing_but_the_time(
    tmp_path: Path, clock: Clock, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every step of the release: after a restart the batch comes out whole, with the permutation that was chosen before."""
    shuffler = made(tmp_path / "store.db", clock, secrets=lambda: b"s" * 32)
    sent = reports(60)
    shuffler.accept(TASK.id, sent)
    clock.now += 60
    store: Any = shuffler.store
    assert (
        store.start_closing(
            store.open_batch(TASK.id).id,
            at_least=50,
            secret=b"s" * 32,
            key=store.open_batch(TASK.id).key,
            now=clock.now,
        )
        is not None
    )
    before = {b.state for b in store.batches(TASK.id)}
    assert before == {"CLOSING", "OPEN"}

    class Dying:
        def __init__(self, connection: sqlite3.Connection) -> None:
            self._connection = connection

        def __getattr__(self, name: str) -> Any:
            return getattr(self._connection, name)

        def execute(self, sql: str, *values: Any) -> Any:
            if sql.startswith(statement):
                raise Crash
            return self._connection.execute(sql, *values)

    closing = store.batches(TASK.id, "CLOSING")[0]
    monkeypatch.setattr(store, "_connection", Dying(store._connection))
    with pytest.raises(Crash):
        release(store, closing.id)
    store._connection._connection.close()  # and the process is gone
    again = made(tmp_path / "store.db", clock)
    (batch,) = again.store.batches(TASK.id, "RELEASED")
    assert sorted(messages(again, batch)) == list(range(60))
    inners = [inner for record in sent if isinstance(inner := unseal(record, RING, TASK.id), bytes)]
    ordered = sorted(inners, key=_place)
    assert b"".join(again.fetch(batch.id) or []) == b"".join(ordered)
    assert again.accept(TASK.id, sent) == ["report_replayed"] * 60


def _place(inner: bytes) -> bytes:
    """The permutation, said once more: AES-256 of the id under the batch's secret."""
    return Cipher(algorithms.AES256(b"s" * 32), modes.ECB()).encryptor().update(report_id(inner))


def test_a_full_disk_or_lock_acknowledges_nothing(tmp_path: Path, clock: Clock) -> None:
    shuffler = made(tmp_path / "store.db", clock)
    sent = reports(5)
    blocker = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    store: Any = shuffler.store
    store._connection.execute("PRAGMA busy_timeout = 50")
    with pytest.raises(StoreUnavailable):
        shuffler.accept(TASK.id, sent)
    blocker.execute("ROLLBACK")
    blocker.close()
    pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
    store._connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreUnavailable):
        store.add_reports(
            TASK.id,
            [(j.to_bytes(16, "big"), bytes(71)) for j in range(2000)],
            keys={0: store.open_batch(TASK.id).key},
        )
    assert store.open_batch(TASK.id).count == 0
    store._connection.execute("PRAGMA max_page_count = 1000000")
    assert shuffler.accept(TASK.id, sent) == ["accepted"] * 5


# Time


def test_a_clock_that_steps_back_closes_nothing_early(tmp_path: Path, clock: Clock) -> None:
    shuffler = made(tmp_path / "store.db", clock)
    shuffler.accept(TASK.id, reports(60))
    clock.now -= 10_000
    assert shuffler.close(TASK.id) == "batch_too_young"
    assert shuffler.tick() == []
    clock.now += 10_059
    assert shuffler.close(TASK.id) == "batch_too_young"
    clock.now += 1
    (released,) = shuffler.tick()
    assert released.state == "RELEASED"


def test_old_small_batches_roll_over_or_are_destroyed(tmp_path: Path, clock: Clock) -> None:
    for expiry, after, state in (("roll-over", 30, "ROLLED_OVER"), ("destroy", 0, "DESTROYED")):
        task = replace(TASK, on_expiry=expiry)  # type: ignore[arg-type]
        shuffler = Shuffler(store=SQLiteStore(tmp_path / f"{expiry}.db"), ring=RING, clock=clock, steady=clock)
        shuffler.serve(task, ANALYZER.public())
        sent = [seal_message(j, task, ANALYZER.public(), [RING.public()]) for j in range(30)]
        shuffler.accept(task.id, sent)
        clock.now += 599
        assert shuffler.tick() == []
        clock.now += 1
        if expiry == "destroy":  # a clock is believed when it has said so for a minute
            assert shuffler.tick() == []
            clock.now += 60
        (ended,) = shuffler.tick()
        assert (ended.state, ended.count) == (state, 30)
        assert shuffler.store.open_batch(task.id).count == after
        assert shuffler.accept(task.id, sent) == ["report_replayed"] * 30
        assert shuffler.fetch(ended.id) is None


@pytest.mark.parametrize("expiry", ["roll-over", "destroy"])
@pytest.mark.parametrize("count", [49, 50, 59, 60])
def test_a_batch_within_the_margin_is_too_small_too(tmp_path: Path, clock: Clock, expiry: Any, count: int) -> None:
    """It has what the plan needs, not what the task wants: it is never released, and ends like a smaller one."""
    task = replace(TASK, on_expiry=expiry, release_margin=10)
    shuffler = Shuffler(store=SQLiteStore(tmp_path / "store.db"), ring=RING, clock=clock, steady=clock)
    shuffler.serve(task, ANALYZER.public())
    shuffler.accept(task.id, [seal_message(j, task, ANALYZER.public(), [RING.public()]) for j in range(count)])
    clock.now += 60
    assert [batch.state for batch in shuffler.tick()] == ["RELEASED"] * (count == 60)
    assert shuffler.close(task.id, ignore_window=True) == "batch_too_small"
    clock.now += 540
    assert shuffler.tick() == [] or expiry == "roll-over"
    clock.now += 60
    ended = [
        batch for batch in shuffler.store.batches(task.id) + shuffler.tick() if batch.state not in ("OPEN", "RELEASED")
    ]
    expected = {"roll-over": "ROLLED_OVER", "destroy": "DESTROYED"}[expiry]
    assert {(batch.state, batch.count) for batch in ended} == ({(expected, count)} if count < 60 else set())


def test_a_quiet_time_makes_no_first_report_old(tmp_path: Path, clock: Clock) -> None:
    """An empty batch begins anew with each window, so what comes after a long quiet is not destroyed at once."""
    task = replace(TASK, on_expiry="destroy")
    shuffler = Shuffler(store=SQLiteStore(tmp_path / "store.db"), ring=RING, clock=clock, steady=clock)
    shuffler.serve(task, ANALYZER.public())
    for _ in range(100):
        clock.now += 59
        assert shuffler.tick() == []
    assert shuffler.accept(task.id, [seal_message(1, task, ANALYZER.public(), [RING.public()])]) == ["accepted"]
    clock.now += 530
    assert shuffler.tick() == []
    assert shuffler.store.open_batch(task.id).count == 1
    clock.now += 70
    assert shuffler.tick() == []
    clock.now += 60
    assert [batch.state for batch in shuffler.tick()] == ["DESTROYED"]


def test_a29_a_clock_that_is_wrong_for_three_seconds_destroys_and_stalls_nothing(tmp_path: Path, clock: Clock) -> None:
    """Ten years ahead for three looks, then right again: the reports are there, and the batch is released in time."""
    steady = Clock(1000.0)
    task = replace(TASK, on_expiry="destroy")
    shuffler = Shuffler(store=SQLiteStore(tmp_path / "store.db"), ring=RING, clock=clock, steady=steady)
    shuffler.serve(task, ANALYZER.public())
    sent = [seal_message(j, task, ANALYZER.public(), [RING.public()]) for j in range(60)]
    assert shuffler.accept(task.id, sent[:30]) == ["accepted"] * 30
    for _ in range(3):
        clock.now += 3e8
        assert shuffler.tick() == []
        clock.now -= 3e8 - 1
        steady.now += 1
    assert shuffler.tick() == []
    assert shuffler.accept(task.id, sent) == ["report_replayed"] * 30 + ["accepted"] * 30
    clock.now += 60
    assert [(batch.state, batch.count) for batch in shuffler.tick()] == [("RELEASED", 60)]
    # the next batch begins while the clock is ahead: it is not released ten years late
    clock.now += 3e8
    assert shuffler.tick() == []
    shuffler.store.restart_window(shuffler.store.open_batch(task.id).id, now=clock.now)
    clock.now -= 3e8
    assert shuffler.accept(task.id, [seal_message(j, task, ANALYZER.public(), [RING.public()]) for j in range(60)])
    for _ in range(62):
        assert shuffler.tick() == []
        steady.now += 1
        clock.now += 1
    clock.now += 60
    assert [(batch.state, batch.count) for batch in shuffler.tick()] == [("RELEASED", 60)]
    # a clock that is right says for a minute that a batch is too old: then it is destroyed, and counted
    shuffler.accept(task.id, [seal_message(1, task, ANALYZER.public(), [RING.public()]) for _ in range(7)])
    clock.now += 600
    assert shuffler.tick() == []
    steady.now += 59
    assert shuffler.tick() == []
    steady.now += 1
    assert [(batch.state, batch.count) for batch in shuffler.tick()] == [("DESTROYED", 7)]


def test_a_retired_task_is_served_no_more(tmp_path: Path, clock: Clock) -> None:
    """Another process retires it: the running shuffler learns it at its next tick, and takes nothing before."""
    shuffler = made(tmp_path / "store.db", clock)
    assert shuffler.accept(TASK.id, reports(5)) == ["accepted"] * 5
    other = SQLiteStore(tmp_path / "store.db")
    assert other.retire(TASK.id, at_most=5) == 5
    other.close()
    assert shuffler.accept(TASK.id, reports(5)) == ["batch_collected"] * 5
    assert shuffler.tick() == []
    assert shuffler.accept(TASK.id, reports(5)) == "task_unknown"
    with pytest.raises(InvalidInput, match="is retired"):
        shuffler.serve(TASK, ANALYZER.public())


def test_a_release_that_failed_is_finished_at_the_next_tick(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    shuffler = made(tmp_path / "store.db", clock)
    shuffler.accept(TASK.id, reports(60))
    clock.now += 60

    def full(*_: Any) -> None:
        raise StoreUnavailable("full")

    with monkeypatch.context() as patch:
        patch.setattr(SQLiteStore, "add_piece", full)
        with pytest.raises(StoreUnavailable):
            shuffler.tick()
        with pytest.raises(StoreUnavailable):
            shuffler.tick()
    assert [batch.state for batch in shuffler.store.batches(TASK.id)] == ["CLOSING", "OPEN"]
    (released,) = shuffler.tick()
    assert sorted(messages(shuffler, released)) == list(range(60))


def test_late_reports_go_to_the_next_batch(tmp_path: Path, clock: Clock) -> None:
    shuffler = made(tmp_path / "store.db", clock)
    shuffler.accept(TASK.id, reports(60))
    clock.now += 60
    batch = shuffler.close(TASK.id)
    assert isinstance(batch, Batch)
    before = b"".join(shuffler.fetch(batch.id) or [])
    assert shuffler.accept(TASK.id, reports(5)) == ["accepted"] * 5
    assert b"".join(shuffler.fetch(batch.id) or []) == before
    assert shuffler.store.open_batch(TASK.id).count == 5


def test_what_was_not_true_for_a_moment_has_not_lasted() -> None:
    """A clock that steps back and forth, or a key that is missing from one list, ends no batch."""
    now = [0.0]
    shuffler: Any = SimpleNamespace(_since={}, steady=lambda: now[0])
    batch: Any = SimpleNamespace(id=1)

    def lasting(at: float, holds: bool, what: str = "old") -> bool:
        now[0] = at
        return Shuffler._lasting(shuffler, what, batch, holds)

    assert [lasting(0, True), lasting(PERSISTENCE - 1, True), lasting(PERSISTENCE, True)] == [False, False, True]
    assert not lasting(PERSISTENCE + 1, False)
    start = PERSISTENCE + 2
    assert [lasting(start + wait, True) for wait in (0, PERSISTENCE - 1, PERSISTENCE)] == [False, False, True]
    assert not lasting(start + PERSISTENCE, True, "ahead")
    assert not lasting(start + PERSISTENCE, False, "never")
