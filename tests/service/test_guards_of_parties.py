"""Every guard of shuffler and client on both sides: the last value that is refused, and the first that is not."""

import base64
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from oracles.clock import Clock
from oracles.parties import ANALYZER, EIGHT, SHUFFLER, announced, serving
from oracles.shuffling import TASK as MANY
from oracles.shuffling import made, reports
from shuffledp import InvalidInput
from shuffledp.service.client.client import Announcement, Client
from shuffledp.service.sealing.hpke import seal_inner, unseal, wrap
from shuffledp.service.sealing.keys import KeyRing
from shuffledp.service.shuffler.shuffler import PERSISTENCE, Shuffler
from shuffledp.service.stores.batch import Batch
from shuffledp.service.stores.registry import open_store
from shuffledp.service.wire.record import (
    record_length,
)

TWO = replace(EIGHT, shufflers=("Alpha", "Gamma"))


# The shuffler.


def test_a_window_ends_on_the_second_and_a_batch_ages_on_the_second(tmp_path: Path) -> None:
    clock = Clock(1000.0)
    shuffler = made(tmp_path / "store.db", clock)
    start = clock.now
    shuffler.accept(MANY.id, reports(49))
    clock.now = math.nextafter(start + MANY.max_age, 0)
    assert shuffler.tick() == []
    clock.now = start + MANY.max_age
    (ended,) = shuffler.tick()
    assert (ended.state, ended.count) == ("ROLLED_OVER", 49)
    opened = shuffler.store.open_batch(MANY.id).opened
    assert shuffler.accept(MANY.id, reports(1, 49)) == ["accepted"]
    clock.now = math.nextafter(opened + MANY.window, 0)
    assert shuffler.close(MANY.id) == "batch_too_young"
    assert shuffler.tick() == []
    clock.now = opened + MANY.window
    batch = shuffler.close(MANY.id)
    assert isinstance(batch, Batch)
    assert batch.count == 50


def test_an_operator_may_close_before_the_window_ends_and_never_below_the_minimum(tmp_path: Path) -> None:
    shuffler = made(tmp_path / "store.db", Clock(1000.0))
    shuffler.accept(MANY.id, reports(49))
    assert shuffler.close(MANY.id, ignore_window=True) == "batch_too_small"
    assert shuffler.close("no task") == "task_unknown"
    assert shuffler.accept("no task", reports(1)) == "task_unknown"
    shuffler.accept(MANY.id, reports(1, 49))
    assert isinstance(shuffler.close(MANY.id, ignore_window=True), Batch)


def test_an_empty_batch_starts_again_when_its_window_is_over_and_not_before(tmp_path: Path) -> None:
    clock = Clock(1000.0)
    shuffler = made(tmp_path / "store.db", clock)
    start = shuffler.store.open_batch(MANY.id).opened
    clock.now = math.nextafter(start + MANY.window, 0)
    shuffler.tick()
    assert shuffler.store.open_batch(MANY.id).opened == start
    clock.now = start + MANY.window
    shuffler.tick()
    assert shuffler.store.open_batch(MANY.id).opened == clock.now


def test_what_is_to_be_destroyed_is_destroyed_after_a_while_by_the_steady_clock(tmp_path: Path) -> None:
    clock, steady = Clock(1000.0), Clock(1000.0)
    task = replace(MANY, on_expiry="destroy")
    shuffler = Shuffler(store=open_store(str(tmp_path / "s.db")), ring=SHUFFLER, clock=clock, steady=steady)
    shuffler.serve(task, ANALYZER.public())
    assert shuffler.accept(task.id, [wrap(seal_inner(1, task, ANALYZER.public()), task, [SHUFFLER.public()])]) == [
        "accepted"
    ]
    clock.now += task.max_age
    assert shuffler.tick() == []
    steady.now += PERSISTENCE - 1
    assert shuffler.tick() == []
    steady.now += 1
    (ended,) = shuffler.tick()
    assert ended.state == "DESTROYED"


def test_a_shuffler_works_with_its_own_keys_and_hop_only(tmp_path: Path) -> None:
    store = open_store(":memory:")
    with pytest.raises(InvalidInput, match="keys belong to the analyzer"):
        Shuffler(store=store, ring=ANALYZER, clock=Clock(1000.0))
    for hop in (0, 3):
        with pytest.raises(InvalidInput, match=f"2 hops.*got {hop}"):
            Shuffler(store=open_store(":memory:"), ring=SHUFFLER, clock=Clock(1000.0)).serve(
                TWO, ANALYZER.public(), hop=hop
            )
    for hop, right, wrong in ((1, ANALYZER, SHUFFLER), (2, SHUFFLER, ANALYZER)):
        shuffler = Shuffler(store=open_store(":memory:"), ring=SHUFFLER, clock=Clock(1000.0))
        with pytest.raises(InvalidInput, match=f"what hop {hop} releases"):
            shuffler.serve(TWO, wrong.public(), hop=hop)
        shuffler.serve(TWO, right.public(), hop=hop)
        assert shuffler.is_inner(TWO.id) == (hop == 1)
        assert shuffler.upload_length(TWO.id) == record_length(hop + 1)
        other = 3 - hop
        with pytest.raises(InvalidInput, match=f"this store is of hop {hop}"):
            shuffler.serve(TWO, right.public(), hop=other)
        shuffler.serve(TWO, right.public())  # as before
    outer = Shuffler(store=open_store(":memory:"), ring=SHUFFLER, clock=Clock(1000.0))
    outer.serve(TWO, SHUFFLER.public())
    assert not outer.is_inner(TWO.id)


def test_an_empty_batch_follows_a_new_key_at_once_and_one_with_reports_keeps_its_key(tmp_path: Path) -> None:
    clock, steady, analyzer = Clock(1000.0), Clock(1000.0), KeyRing.fresh("analyzer")
    shuffler = Shuffler(store=open_store(":memory:"), ring=SHUFFLER, clock=clock, steady=steady)
    shuffler.serve(EIGHT, analyzer.public())
    first = shuffler.store.open_batch(EIGHT.id)
    newer = analyzer.introduced().rotated()
    shuffler.seal_to(EIGHT.id, newer.public())
    shuffler.tick()
    second = shuffler.store.open_batch(EIGHT.id)
    assert (first.key.id, second.key.id) == (0, 1)
    report = wrap(seal_inner(1, EIGHT, newer.public()), EIGHT, [SHUFFLER.public()])
    assert shuffler.accept(EIGHT.id, [report], second.window) == ["accepted"]
    newest = newer.introduced().rotated()
    shuffler.seal_to(EIGHT.id, newest.public())
    shuffler.tick()
    assert shuffler.store.open_batch(EIGHT.id).key == second.key == shuffler.announced(second)
    without = newest.destroyed(1)
    shuffler.seal_to(EIGHT.id, without.public())
    assert shuffler.announced(shuffler.store.open_batch(EIGHT.id)) is None
    for wait, key in ((0.0, 1), (PERSISTENCE - 1, 1), (PERSISTENCE, 2)):
        steady.now = 1000.0 + wait
        shuffler.tick()
        assert shuffler.store.open_batch(EIGHT.id).key.id == key
    current = shuffler.current(EIGHT.id)
    assert current is not None
    assert current.key.id == 2


# The client.


def client(folder: Path, clock: Clock) -> Client:
    return Client(task=EIGHT, analyzer=ANALYZER.public(), folder=folder, clock=clock)


def test_a_period_is_a_whole_window_by_the_users_own_clock(tmp_path: Path) -> None:
    clock = Clock(1000.0)
    mine, told = client(tmp_path, clock), announced(serving(EIGHT), EIGHT)
    start = clock.now
    mine.report("a", told)
    for late, allowed in ((EIGHT.window - 1e-6, False), (EIGHT.window, True), (2 * EIGHT.window - 1e-6, False)):
        clock.now = start + late
        window = replace(told, window=told.window + 1 + round(late))
        if allowed:
            assert mine.report("a", window) is not None
        else:
            with pytest.raises(InvalidInput, match="one report every 60 seconds"):
                mine.report("a", window)
    assert mine.reports == 2
    assert mine.waiting == [told.window, told.window + 61]


def test_only_what_waits_can_be_wrapped_again_or_move(tmp_path: Path) -> None:
    mine, told = client(tmp_path, Clock(1000.0)), announced(serving(EIGHT), EIGHT)
    later = replace(told, window=told.window + 1)
    with pytest.raises(InvalidInput, match="Make one first"):
        mine.rewrapped(told, window=told.window)
    with pytest.raises(InvalidInput, match="Make one first"):
        mine.moved(later, window=told.window)
    sent = mine.report("a", told, credential=b"token")
    assert mine.has(told.window)
    assert not mine.has(later.window)
    assert sent == mine.again(told.window) == mine.report("b", told)
    again = mine.rewrapped(told, window=told.window)
    assert again[:5] == b"token"
    assert again != sent
    assert unseal(again[5:], SHUFFLER, EIGHT.id) == unseal((sent or b"")[5:], SHUFFLER, EIGHT.id)
    moved = mine.moved(later, window=told.window)
    assert moved == again  # the key is the same: the same bytes
    assert mine.waiting == [later.window]
    mine.arrived(window=later.window)
    mine.arrived(window=77)
    assert (mine.waiting, mine.again(later.window), mine.report("c", later)) == ([], None, None)
    assert not mine.has(77)
    with pytest.raises(InvalidInput, match="Make one first"):
        mine.rewrapped(told, window=later.window)
    with pytest.raises(InvalidInput, match="Make one first"):
        mine.moved(told, window=later.window)
    assert mine.reports == 1


def with_memory(folder: Path) -> tuple[Client, Announcement, Path, dict[str, Any]]:
    """A client that reported, what it was told, and where it remembers what."""
    mine, told = client(folder, Clock(1000.0)), announced(serving(EIGHT), EIGHT)
    mine.report("a", told)
    (path,) = folder.glob("*.json")
    return mine, told, path, json.loads(path.read_text())


@pytest.mark.parametrize(
    "wrong",
    [
        {"fresh": 0}, {"fresh": 1.5}, {"fresh": True}, {"first": None}, {"first": "1"}, {"first": True}, {"period": 0.5},
            {"period": None},
        {"windows": []}, {"windows": {"x": {"sent": True}}},
    ],
)  # fmt: skip
def test_a_damaged_memory_of_a_client_is_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    mine, told, path, kept = with_memory(tmp_path)
    path.write_text(json.dumps(kept | wrong))
    with pytest.raises(InvalidInput, match="is damaged"):
        mine.report("a", told)
    path.write_text(json.dumps(kept | {"first": 5}))  # a whole number is a time as well
    assert mine.reports == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"sent": None}, {"sent": 0}, {"sent": 1}, {"inner": ""}, {"sealed": ""}, {"inner": "*"}, {"sealed": "a"},
            {"credential": "?"},
        {"messages": []}, {"messages": [1.5]}, {"messages": [True]}, {"messages": [1, "2"]}, {"key": None}, {"key": 5},
    ],
)  # fmt: skip
def test_a_damaged_report_of_a_client_is_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    mine, told, path, kept = with_memory(tmp_path)
    entry = kept["windows"][str(told.window)]
    for more in (wrong, None):
        broken = (
            {key: value for key, value in entry.items() if key != next(iter(wrong))} if more is None else entry | wrong
        )
        path.write_text(json.dumps(kept | {"windows": {"1": {"sent": True}, str(told.window): broken}}))
        with pytest.raises(InvalidInput, match="is damaged"):
            mine.again(told.window)
    path.write_text(json.dumps(kept | {"windows": {"1": {"sent": True}, str(told.window): entry | {"credential": ""}}}))
    assert mine.again(told.window) == base64.b64decode(entry["sealed"])


def test_a_client_knows_the_keys_of_as_many_shufflers_as_there_are(tmp_path: Path) -> None:
    keys = {"analyzer": ANALYZER.public(), "folder": tmp_path}
    for task, inner in ((EIGHT, (SHUFFLER.public(),)), (TWO, ()), (TWO, (SHUFFLER.public(),) * 2)):
        with pytest.raises(InvalidInput, match=f"{task.hops} shufflers; got the keys of {len(inner)} inner ones"):
            Client(task=task, inner_shufflers=inner, **keys)  # type: ignore[arg-type]
    Client(task=TWO, inner_shufflers=(SHUFFLER.public(),), **keys)  # type: ignore[arg-type]
    for count in (0, 2):
        with pytest.raises(InvalidInput, match=f"1 shufflers; got the keys of {count}"):
            wrap(b"x", EIGHT, [SHUFFLER.public()] * count)


def test_the_announced_key_is_the_users_own_to_the_last_bit(tmp_path: Path) -> None:
    told = announced(serving(EIGHT), EIGHT)
    trusted, other = ANALYZER.public(), KeyRing.fresh("analyzer").public()
    assert told.key_in(trusted).public == ANALYZER.public().active.public
    wrong: list[Announcement] = [
        replace(told, next_keys=other), replace(told, next_keys=SHUFFLER.public()), replace(told, key_id=(told.key_id + 1) % 256),
    ]  # fmt: skip
    for one in wrong:
        with pytest.raises(InvalidInput, match="not in your list"):
            one.key_in(trusted)
    with pytest.raises(InvalidInput, match="not in your list"):
        told.key_in(other)
