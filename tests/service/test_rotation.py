"""One key for everybody in a batch, however the keys of analyzer and shuffler change."""

import os
import random
from dataclasses import replace
from pathlib import Path

import pytest

from oracles.clock import Clock
from oracles.shuffling import ANALYZER, RING, TASK, made, reports
from shuffledp import InvalidInput, account
from shuffledp.core.report_outcome import Outcome
from shuffledp.service.analyzer.analyzer import analyze, open_batch
from shuffledp.service.sealing.hpke import seal_inner, seal_message, wrap, wrap_once
from shuffledp.service.sealing.keys import KeyRing
from shuffledp.service.shuffler.shuffler import PERSISTENCE, Shuffler
from shuffledp.service.stores.batch import Batch
from shuffledp.service.stores.sqlite.store import SQLiteStore
from shuffledp.service.wire.record import Header


@pytest.fixture
def clock() -> Clock:
    return Clock(1000.0)


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


@pytest.mark.parametrize("reports_before", [0, 49, 50])
def test_a_key_is_known_by_its_fingerprint_not_by_its_number(tmp_path: Path, clock: Clock, reports_before: int) -> None:
    """Another key of the same number, as after a new ring: it ends the window, and no batch mixes the two."""
    shuffler, other = made(tmp_path / "store.db", clock, steady=clock), KeyRing.fresh("analyzer")
    assert other.public().active.key_id == ANALYZER.public().active.key_id
    former = [seal_message(j % 64, TASK, ANALYZER.public(), [RING.public()]) for j in range(reports_before)]
    assert shuffler.accept(TASK.id, former) == ["accepted"] * reports_before
    before = shuffler.store.open_batch(TASK.id)
    shuffler.seal_to(TASK.id, other.public())
    assert shuffler.announced(before) is None
    late = [seal_message(1, TASK, ANALYZER.public(), [RING.public()])]
    assert shuffler.accept(TASK.id, late) == ["outdated_key"]
    ended = shuffler.tick()
    assert [(batch.state, batch.count, batch.key) for batch in ended] == [("RELEASED", 50, before.key)] * (
        reports_before == 50
    )
    clock.now += PERSISTENCE + 1
    shuffler.tick()
    clock.now += PERSISTENCE + 1
    shuffler.tick()
    batch = shuffler.current(TASK.id)
    assert batch is not None
    assert batch.key.fingerprint == other.public().fingerprint(other.public().active)
    assert batch.count == 0
    assert shuffler.accept(TASK.id, [seal_message(1, TASK, other.public(), [RING.public()])]) == ["accepted"]


def test_of_two_open_batches_the_newest_is_announced(tmp_path: Path, clock: Clock) -> None:
    """A key was left out of the list for a while and came back: whoever reports now does so for the key that is in use."""
    shuffler, rotated = made(tmp_path / "store.db", clock, steady=clock), ANALYZER.rotated().public()
    former, latest = rotated.keys
    assert shuffler.accept(TASK.id, reports(10)) == ["accepted"] * 10
    old = shuffler.store.open_batch(TASK.id)
    shuffler.seal_to(TASK.id, replace(rotated, keys=(latest,)))
    for _ in range(3):
        shuffler.tick()
        clock.now += PERSISTENCE
    shuffler.seal_to(TASK.id, rotated)
    batches = shuffler.store.batches(TASK.id, "OPEN")
    assert [batch.key.id for batch in batches] == [former.key_id, latest.key_id]
    assert all(shuffler.announced(batch) == batch.key for batch in batches)
    current = shuffler.current(TASK.id)
    assert current is not None
    assert current.key.id == latest.key_id
    assert shuffler.accept(TASK.id, reports(1), old.window) == ["batch_collected"]
    sent = [seal_message(1, TASK, rotated, [RING.public()])]
    assert shuffler.accept(TASK.id, sent, current.window) == ["accepted"]


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
    shuffler, other = made(tmp_path / "store.db", clock, steady=clock), KeyRing.fresh("analyzer")
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
    assert shuffler.close(task.id, ignore_window=True) == "batch_too_small"
    assert shuffler.accept(task.id, honest[50:]) == ["accepted"]
    batch = shuffler.close(task.id, ignore_window=True)
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
