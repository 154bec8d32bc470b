"""The shuffler as a state machine: nothing early, nothing lost, nothing twice, nothing but sealed insides kept."""

import os
import random
import sqlite3
import threading
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from oracles.parties import PARTIES
from shuffledp import InvalidInput, account, plan
from shuffledp.core.outcome import Outcome
from shuffledp.esa.analyzer import analyze, open_batch
from shuffledp.esa.crypto import seal_inner, seal_message, unseal, wrap, wrap_once
from shuffledp.esa.keys import KeyRing
from shuffledp.esa.release import release
from shuffledp.esa.shuffler import Shuffler
from shuffledp.esa.task import Task
from shuffledp.esa.wire import Header, decode_message, encode_message, record_length, report_id
from shuffledp.stores.batch import Batch
from shuffledp.stores.sqlite.store import SQLiteStore
from shuffledp.stores.store import StoreUnavailable

TASK = Task(plan=plan("histogram", n=50, epsilon=3.0, delta=1e-2, size=64), window=60, max_age=600, **PARTIES)
RING, ANALYZER = KeyRing.fresh("shuffler"), KeyRing.fresh("analyzer")


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def reports(count: int, first: int = 0) -> list[bytes]:
    """Sealed reports, each with a message of its own while they last."""
    return [seal_message((first + j) % 64, TASK, ANALYZER.public(), [RING.public()]) for j in range(count)]


def made(path: Path | str, clock: Clock, **more: Any) -> Shuffler:
    shuffler = Shuffler(store=SQLiteStore(path), ring=RING, clock=clock, **more)
    shuffler.serve(TASK, ANALYZER.public())
    return shuffler


def messages(shuffler: Shuffler, batch: Batch) -> list[int]:
    pieces = shuffler.fetch(batch.id)
    assert pieces is not None
    data = b"".join(pieces)
    found = []
    for start in range(0, len(data), record_length(1)):
        payload = unseal(data[start : start + record_length(1)], ANALYZER, TASK.id)
        assert isinstance(payload, bytes)
        message = decode_message(payload, 64)
        assert message is not None
        found.append(message)
    return found


@pytest.fixture
def clock() -> Clock:
    return Clock()


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


def test_a3_nothing_below_min_batch_is_ever_released(tmp_path: Path, clock: Clock) -> None:
    """One report too few, past the deadline, across a restart and 100 concurrent closes; one more gives exactly one release."""
    shuffler = made(tmp_path / "store.db", clock)
    shuffler.accept(TASK.id, reports(49))
    clock.now += 100
    assert shuffler.close(TASK.id) == "batch_too_small"
    assert shuffler.close(TASK.id, whatever_the_window=True) == "batch_too_small"
    assert shuffler.tick() == []
    clock.now += 600
    (ended,) = shuffler.tick()
    assert ended.state == "ROLLED_OVER"
    shuffler.store.close()

    def attack(expected: int) -> list[object]:
        outcomes: list[object] = []

        def closer() -> None:
            mine = made(tmp_path / "store.db", clock)
            for _ in range(10):
                try:
                    outcomes.append(mine.close(TASK.id, whatever_the_window=True))
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
    again = made(tmp_path / "store.db", clock)
    assert again.accept(TASK.id, reports(1, first=49)) == ["accepted"]
    (released,) = [found for found in attack(1) if isinstance(found, Batch)]
    assert sorted(messages(again, released)) == list(range(50))
    assert len(again.store.batches(TASK.id, "RELEASED")) == 1


def test_a7_malformed_records_fail_by_themselves(tmp_path: Path, clock: Clock) -> None:
    shuffler = made(tmp_path / "store.db", clock)
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
    steady = Clock()
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
    shuffler.store.renew(shuffler.store.open_batch(task.id).id, now=clock.now)
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


# One key for everybody in a batch


def test_a25_after_any_rotation_a_batch_has_one_key_and_nothing_is_lost(tmp_path: Path, clock: Clock) -> None:
    """Clients on every list ever published: one with the old list and 199 with the new were one batch with a person alone."""
    shuffler, rings = made(tmp_path / "store.db", clock), [ANALYZER]
    generator, acknowledged, batches = random.Random(25), 0, list[Batch]()
    for _ in range(40):
        if generator.random() < 0.3:
            change = generator.choice([KeyRing.introduced, KeyRing.rotated])
            rings.append(change(rings[-1]))
            shuffler.seal_to(TASK.id, rings[-1].public())
        lists = [generator.choice(rings).public() for _ in range(20)]
        sent = [seal_message(j, TASK, keys, [RING.public()]) for j, keys in enumerate(lists)]
        announced = shuffler.announced(shuffler.store.open_batch(TASK.id))
        assert announced is not None
        outcomes = shuffler.accept(TASK.id, sent)
        assert outcomes == ["accepted" if keys.active.key_id == announced.id else "outdated_key" for keys in lists]
        acknowledged += outcomes.count(Outcome.ACCEPTED)
        clock.now += generator.choice([1, 61])
        batches += [batch for batch in shuffler.tick() if batch.state == "RELEASED"]
    assert len(rings) > 5
    assert len(batches) > 3
    for batch in batches:
        data = b"".join(shuffler.fetch(batch.id) or [])
        assert {data[start] for start in range(0, len(data), 71)} == {batch.key.id}
        assert batch.count >= TASK.plan.min_batch
        result = analyze(data, TASK, rings[-1]).document()
        assert (result["n"], result["rejected"]) == (batch.count, {})
        # the printed epsilons are the accountant's for this very batch
        randomizer, delta = TASK.plan.protocol.randomizer, TASK.plan.guarantee.delta
        assert result["guarantee"]["realised_epsilon"] == account(randomizer, n=batch.count, delta=delta).epsilon
        assert result["guarantee"]["epsilon"] == TASK.plan.guarantee.epsilon
    assert TASK.plan.holds()
    assert sum(batch.count for batch in batches) + shuffler.store.open_batch(TASK.id).count == acknowledged


def test_rotation_ends_the_window(tmp_path: Path, clock: Clock) -> None:
    """An empty batch takes the new key at once, one that is large enough is released, one that is not goes on under its key."""
    shuffler, rotated = made(tmp_path / "store.db", clock), ANALYZER.rotated()

    def sealed_to(ring: KeyRing, count: int) -> list[bytes]:
        return [seal_message(j % 64, TASK, ring.public(), [RING.public()]) for j in range(count)]

    assert shuffler.accept(TASK.id, sealed_to(rotated, 1)) == ["outdated_key"]
    window = shuffler.store.open_batch(TASK.id).window
    shuffler.seal_to(TASK.id, rotated.public())
    assert shuffler.tick() == []
    assert shuffler.accept(TASK.id, sealed_to(ANALYZER, 1)) == ["outdated_key"]
    assert shuffler.accept(TASK.id, sealed_to(ANALYZER, 1), window) == [
        "batch_collected"
    ]  # another key, another window
    assert shuffler.accept(TASK.id, sealed_to(rotated, 40)) == ["accepted"] * 40
    again = rotated.rotated()
    shuffler.seal_to(TASK.id, again.public())
    assert shuffler.tick() == []
    assert shuffler.accept(TASK.id, sealed_to(again, 1)) == ["outdated_key"]
    assert shuffler.accept(TASK.id, sealed_to(rotated, 10)) == ["accepted"] * 10
    (batch,) = shuffler.tick()  # long before the window is over
    assert (batch.state, batch.count) == ("RELEASED", 50)
    assert shuffler.accept(TASK.id, sealed_to(again, 1)) == ["accepted"]


def test_a_list_with_another_key_under_the_same_id_takes_nothing_into_a_batch(tmp_path: Path, clock: Clock) -> None:
    """The shuffler cannot see which key a record is for, so it pins the fingerprint that was announced for the batch."""
    shuffler, other = made(tmp_path / "store.db", clock), KeyRing.fresh("analyzer")
    assert shuffler.accept(TASK.id, reports(10)) == ["accepted"] * 10
    shuffler.seal_to(TASK.id, other.public())
    assert shuffler.announced(shuffler.store.open_batch(TASK.id)) is None
    assert shuffler.accept(TASK.id, reports(5)) == ["outdated_key"] * 5
    assert shuffler.store.open_batch(TASK.id).count == 10
    shuffler.seal_to(TASK.id, ANALYZER.public())
    assert shuffler.accept(TASK.id, reports(5)) == ["accepted"] * 5
    with pytest.raises(InvalidInput, match="Give the analyzer's published list"):
        shuffler.seal_to(TASK.id, RING.public())


def test_t29_garbage_inside_does_not_count_and_a_margin_makes_up_for_what_cannot_be_seen(
    tmp_path: Path, clock: Clock
) -> None:
    """Any 71 bytes counted towards the minimum. What looks like a record still does: so a task can ask for more."""
    task = replace(TASK, release_margin=5)
    shuffler = Shuffler(store=SQLiteStore(tmp_path / "store.db"), ring=RING, clock=clock)
    shuffler.serve(task, ANALYZER.public())
    garbage = [wrap(os.urandom(71), task, [RING.public()]) for _ in range(200)]
    assert set(shuffler.accept(task.id, garbage)) <= {"invalid_message"}
    assert shuffler.store.open_batch(task.id).count == 0
    well_formed = [wrap(Header(0).encode() + os.urandom(64), task, [RING.public()]) for _ in range(4)]
    honest = [seal_message(j, task, ANALYZER.public(), [RING.public()]) for j in range(51)]
    assert set(shuffler.accept(task.id, [*well_formed, *honest[:50]])) == {"accepted"}
    assert shuffler.close(task.id, whatever_the_window=True) == "batch_too_small"
    assert shuffler.accept(task.id, honest[50:]) == ["accepted"]
    batch = shuffler.close(task.id, whatever_the_window=True)
    assert isinstance(batch, Batch)
    opened = open_batch(b"".join(shuffler.fetch(batch.id) or []), task, ANALYZER)
    assert (opened.counts.total, opened.rejected) == (51, {"decrypt_error": 4})


def test_an_inner_shuffler_has_a_batch_for_each_key(tmp_path: Path, clock: Clock) -> None:
    """What another shuffler forwards was sealed under the keys of its time; a straggler with an old key holds nobody up."""
    task = replace(TASK, shufflers=("Alpha", "Gamma"))
    shuffler = Shuffler(store=SQLiteStore(tmp_path / "store.db"), ring=RING, clock=clock)
    rotated = ANALYZER.rotated()
    shuffler.serve(task, rotated.public(), hop=1)

    def from_outside(ring: KeyRing, count: int) -> list[bytes]:
        return [wrap_once(seal_inner(j, task, ring.public()), task, RING.public(), 1) for j in range(count)]

    batch = [*from_outside(rotated, 3), *from_outside(ANALYZER, 57)]
    assert shuffler.accept(task.id, batch) == ["accepted"] * 60
    (ended,) = shuffler.tick()
    assert (ended.state, ended.count, ended.key.id) == ("RELEASED", 57, 0)
    assert shuffler.accept(task.id, batch) == ["report_replayed"] * 60
    for _ in range(3):
        assert shuffler.accept(task.id, [*from_outside(rotated, 60), *from_outside(ANALYZER, 1)]) == ["accepted"] * 61
        clock.now += 700
        ended_batches = {one.state: one.count for one in shuffler.tick()}
        assert ended_batches["RELEASED"] >= 60


def test_a_batch_whose_key_is_listed_no_more_does_not_close_the_task(tmp_path: Path, clock: Clock) -> None:
    """Its reports can never be opened; after a while a window of the active key opens beside it, and it ends at max_age."""
    shuffler = made(tmp_path / "store.db", clock, steady=clock)
    shuffler.accept(TASK.id, reports(1))
    ring = ANALYZER.rotated().destroyed(0)
    shuffler.seal_to(TASK.id, ring.public())
    assert shuffler.tick() == []
    clock.now += 61
    assert shuffler.tick() == []
    found = shuffler.current(TASK.id)
    assert found is not None
    assert shuffler.announced(found) is not None
    new = [seal_message(j, TASK, ring.public(), [RING.public()]) for j in range(50)]
    assert shuffler.accept(TASK.id, new, found.window) == ["accepted"] * 50
    clock.now += 60
    assert [(batch.state, batch.count) for batch in shuffler.tick()] == [("RELEASED", 50)]
    clock.now += 600
    shuffler.tick()
    clock.now += 60
    assert [(batch.state, batch.count) for batch in shuffler.tick()] == [("DESTROYED", 1)]


def test_a25_a_delayed_copy_is_taken_by_no_server_once_it_was_refused(tmp_path: Path, clock: Clock) -> None:
    """Two servers on one store, one of which has not read the new list: the first copy of a resealed report comes late."""
    ahead, behind = made(tmp_path / "store.db", clock), made(tmp_path / "store.db", clock)
    window = ahead.store.open_batch(TASK.id).window
    (first,) = reports(1)  # sent, and lost on the way for a while
    rotated = ANALYZER.rotated()
    ahead.seal_to(TASK.id, rotated.public())
    ahead.tick()
    assert ahead.accept(TASK.id, [first], window) == ["batch_collected"]  # so the client seals the same message anew
    again = seal_message(0, TASK, rotated.public(), [RING.public()])
    now = ahead.store.open_batch(TASK.id).window
    assert ahead.accept(TASK.id, [again], now) == ["accepted"]
    assert behind.accept(TASK.id, [first], window) == ["batch_collected"]
    assert ahead.store.open_batch(TASK.id).count == 1


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


# What is kept


def test_a11_only_sealed_insides_are_kept_and_then_only_names(tmp_path: Path, clock: Clock) -> None:
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
    with pytest.raises(InvalidInput, match="keys of the analyzer"):
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

    def opener(records: Any, ring: KeyRing, task_id: str, hop: int) -> list[Any]:
        calls.append(len(records))
        return [unseal(record, ring, task_id, hop=hop) for record in records]

    shuffler = made(tmp_path / "store.db", clock, opener=opener)
    assert shuffler.accept(TASK.id, [*reports(4), b"short"])[-1] == "invalid_message"
    assert calls == [4]
    assert shuffler.tasks[TASK.id] == TASK
