"""What every store must do, whatever it is made of: checks that each take something that opens stores."""

import hashlib
import random
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pytest

from shuffledp import InvalidInput
from shuffledp.service.shuffler.permutation import order
from shuffledp.service.shuffler.release import release
from shuffledp.service.stores.batch import Batch, NextKey
from shuffledp.service.stores.crash_points import POINTS, Point, Reached, pass_by
from shuffledp.service.stores.store import Store

KEY, OTHER = NextKey(id=0, fingerprint="f" * 64), NextKey(id=1, fingerprint="e" * 64)
KEYS, BOTH = {0: KEY}, {0: KEY, 1: OTHER}
SECRET = b"the secret of the permutation..."


class Opening(Protocol):
    """Opens a store by name: the same name is the same store."""

    def __call__(self, name: str = "store", reached: Reached = pass_by) -> Store: ...


def name(number: int) -> bytes:
    return number.to_bytes(16, "big")


def inner(number: int, key: int = 0) -> bytes:
    return (key << 560 | number).to_bytes(71, "big")


def reports(*numbers: int) -> list[tuple[bytes, bytes]]:
    return [(name(j), inner(j)) for j in numbers]


def released(store: Store, batch: int) -> list[int]:
    data = b"".join(store.pieces(batch))
    return [int.from_bytes(data[start : start + 71], "big") for start in range(0, len(data), 71)]


def started(store: Store) -> Store:
    store.add_task("t", "{}", hop=1, key=KEY, now=0.0)
    return store


def closed(store: Store, *, at_least: int = 1) -> Batch:
    batch = store.start_closing(store.open_batch("t").id, at_least=at_least, secret=SECRET, key=KEY, now=1.0)
    assert batch is not None
    return batch


# The checks: each takes something that opens stores


class Model:
    """A store in a few sets."""

    def __init__(self) -> None:
        self.names: set[int] = set()
        self.spent: set[int] = set()
        self.open: set[int] = set()
        self.closing: dict[int, set[int]] = {}
        self.released: dict[int, set[int]] = {}

    def add(self, numbers: list[int], spending: list[int] | None) -> list[str]:
        kept = {}
        for report, j in sorted((report, j) for j, report in enumerate(numbers)):  # not in the order of arrival
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
        return [kept[j] for j in range(len(numbers))]


def does_what_its_model_does(opening: Opening, seed: int = 0) -> None:
    """Random reports, credentials, closings, releases, roll-overs, destructions and restarts."""
    chance, model, store = random.Random(seed), Model(), started(opening())
    store.add_task("other", "{}", hop=2, key=KEY, now=0.0)
    for step in range(60):
        match chance.choice(["add", "add", "add", "close", "release", "roll over", "destroy", "restart"]):
            case "add":
                numbers = [chance.randrange(120) for _ in range(chance.randrange(1, 12))]
                spending = [chance.randrange(60) for _ in numbers] if chance.random() < 0.5 else None
                credentials = None if spending is None else [name(j) for j in spending]
                kept = store.add_reports("t", reports(*numbers), credentials, keys=KEYS)
                assert kept == model.add(numbers, spending)
            case "close":
                least = chance.randrange(1, 20)
                found = store.start_closing(
                    store.open_batch("t").id, at_least=least, secret=chance.randbytes(32), key=KEY, now=float(step)
                )
                assert (found is not None) == (len(model.open) >= least)
                if found is not None:
                    assert found.state == "CLOSING"
                    model.closing[found.id], model.open = model.open, set()
            case "release":
                for batch in list(model.closing):
                    assert release(store, batch).state == "RELEASED"
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
        assert release(store, number).state == "RELEASED"  # again: nothing changes
        assert sorted(released(store, number)) == sorted(held)
    assert store.tasks() == {"t": ("{}", 1), "other": ("{}", 2)}
    assert [batch.id for batch in store.history()] == sorted(batch.id for batch in store.history())
    store.close()


class SeveralTasks:
    """A store of several tasks, keys and windows in a few dicts; nothing of one task has to do with another."""

    def __init__(self, tasks: list[str]) -> None:
        self.known: dict[str, set[int]] = {task: set() for task in tasks}
        self.spent: dict[str, set[int]] = {task: set() for task in tasks}
        self.retired: set[str] = set()
        self.batches: dict[int, Batch] = {}
        self.held: dict[int, set[bytes]] = {}
        self.ended = 0

    def open(self, task: str) -> list[Batch]:
        return [batch for batch in self.batches.values() if (batch.task, batch.state) == (task, "OPEN")]

    def change(self, number: int, **what: Any) -> None:
        self.batches[number] = replace(self.batches[number], **what)

    def opened(self, batch: Batch) -> None:
        """What the store says of a batch that it opened, unless it is open already."""
        same = [one for one in self.open(batch.task) if one.key == batch.key]
        if same:
            assert batch == same[0]
            return
        assert batch.id > max(self.batches, default=0)
        assert (batch.state, batch.count, batch.window, batch.digest) == ("OPEN", 0, batch.id, None)
        self.batches[batch.id], self.held[batch.id] = batch, set()

    def add(
        self, store: Store, task: str, sent: list[tuple[int, int]], spending: list[int] | None, keys: dict[int, NextKey],
        window: int | None, now: float | None,
    ) -> None:  # fmt: skip
        """Reports (number, id of a key) as a store and this take them."""
        names = None if spending is None else [name(one) for one in spending]
        records = [(name(number), inner(number, key)) for number, key in sent]
        kept = store.add_reports(task, records, names, keys=keys, window=window, opened_at=now)
        listed = [batch for batch in self.open(task) if keys.get(batch.key.id) == batch.key]
        if now is not None and self.open(task):
            for batch in store.batches(task, "OPEN"):
                if batch.id not in self.batches:  # opened for a report: it was empty before
                    assert keys[batch.key.id] == batch.key
                    assert batch.key.id in {key for _, key in sent}
                    self.opened(replace(batch, count=0))
            takes = {batch.key.id: batch.id for batch in self.open(task) if keys.get(batch.key.id) == batch.key}
            missed = "outdated_key"
        else:
            newest = next(reversed(listed or self.open(task)), None)
            of_window = newest is not None and window in (None, newest.window)
            takes = {newest.key.id: newest.id} if newest is not None and of_window and newest in listed else {}
            missed = "outdated_key" if of_window else "batch_collected"
        for j in sorted(range(len(sent)), key=lambda j: (sent[j][0], j)):
            number, key = sent[j]
            if number in self.known[task]:
                expected = "report_replayed"
            elif key not in takes:
                expected = missed
            elif spending is not None and spending[j] in self.spent[task]:
                expected = "not_admitted"
            else:
                expected = "accepted"
                self.known[task].add(number)
                self.held[takes[key]].add(inner(number, key))
                self.change(takes[key], count=self.batches[takes[key]].count + 1)
                if spending is not None:
                    self.spent[task].add(spending[j])
            assert kept[j] == expected

    def check(self, store: Store) -> None:
        """Everything that the store says."""
        assert {batch.id: batch for batch in store.history()} == self.batches
        assert store.instance().generation == self.ended
        interrupted = [batch for batch in self.batches.values() if batch.state == "CLOSING"]
        assert store.unfinished() == interrupted  # of all others that ended the records are erased
        assert set(store.tasks()) == set(self.known) - self.retired
        for task in self.known:
            mine = [batch for batch in self.batches.values() if batch.task == task]
            assert store.batches(task) == mine
            for state in ("OPEN", "CLOSING", "RELEASED", "ROLLED_OVER", "DESTROYED"):
                assert store.batches(task, state) == [batch for batch in mine if batch.state == state]


def keeps_tasks_keys_and_windows_apart(opening: Opening, seed: int = 0) -> None:
    """Random histories of three tasks whose reports and credentials have the same names, with several keys each."""
    chance, store = random.Random(100 + seed), opening()
    every = [NextKey(id=j, fingerprint=f"{j}" * 64) for j in range(3)]
    tasks = ["a", "b", "c"]
    model = SeveralTasks(tasks)
    for task in tasks:
        store.add_task(task, f"of {task}", hop=1, key=every[0], now=0.0)
        model.opened(store.open_batch(task))
    for step in range(1, 70):
        now, key = float(step), chance.choice(every)
        task = chance.choice([task for task in tasks if task not in model.retired or chance.random() < 0.1] or ["a"])
        mine = model.open(task)
        batch = chance.choice(mine) if mine else None
        does = chance.choice(
            ["add"] * 6 + ["close", "close", "release", "end", "window", "purge", "restart", "retire", "renew"]
        )
        if does == "add":
            listed = {one.id: one for one in every if chance.random() < 0.8}
            if chance.random() < 0.1:
                listed[0] = NextKey(id=0, fingerprint="f" * 64)
            sent = [(chance.randrange(90), chance.choice([0, 0, 1, 2])) for _ in range(chance.randrange(1, 12))]
            spending = [chance.randrange(60) for _ in sent] if chance.random() < 0.5 else None
            windows = [None, None, *(one.window for one in model.batches.values() if one.task == task)]
            model.add(store, task, sent, spending, listed, chance.choice(windows), chance.choice([None, None, now]))
        elif does == "release":
            for one in store.unfinished():
                found = release(store, one.id)
                data = b"".join(store.pieces(one.id))
                assert {data[start : start + 71] for start in range(0, len(data), 71)} == model.held[one.id]
                assert len(data) == 71 * one.count
                assert found.digest == hashlib.sha256(data).hexdigest()
                model.change(one.id, state="RELEASED", digest=found.digest)
        elif does == "purge":
            for one in [one for one in model.batches.values() if one.state == "RELEASED" and chance.random() < 0.3]:
                model.change(one.id, purged=True)
                assert store.purge(one.id) == model.batches[one.id]
        elif does == "restart":
            store.close()
            store = opening()
        elif batch is None:
            assert task in model.retired
            with pytest.raises(InvalidInput, match="retired"):
                store.retire(task, at_most=99)
        elif does == "close":
            least = chance.randrange(1, 15)
            closed_ = store.start_closing(batch.id, at_least=least, secret=chance.randbytes(32), key=key, now=now)
            assert (closed_ is not None) == (batch.count >= least)
            if closed_ is not None:
                model.change(batch.id, state="CLOSING")
                model.ended += 1
                model.opened(next(one for one in store.batches(task, "OPEN") if one.key == key))
        elif does == "end":
            below, roll_over = chance.randrange(1, 15), chance.random() < 0.5
            ended = store.end(batch.id, below=below, roll_over=roll_over, key=key, now=now)
            assert (ended is not None) == (batch.count < below)
            if ended is not None and roll_over:
                assert ended == replace(batch, id=ended.id, state="ROLLED_OVER")
                model.batches[ended.id] = ended
                model.change(batch.id, opened=now)
            elif ended is not None:
                model.change(batch.id, state="DESTROYED")
                assert ended == model.batches[batch.id]
                model.ended += 1
                model.opened(next(one for one in store.batches(task, "OPEN") if one.key == key))
        elif does == "window":
            found = store.open_window(task, key=key, now=now)
            for one in mine:
                if one.count == 0 and one.key != key:
                    model.change(one.id, state="ROLLED_OVER")
            model.opened(found)
        elif does == "renew":
            empty = chance.random() < 0.5
            store.restart_window(batch.id, now=now, empty=empty)
            if not batch.count or not empty:
                model.change(batch.id, opened=now)
        elif does == "retire" and step > 40:
            most = chance.randrange(0, 40)
            destroyed = store.retire(task, at_most=most)
            held = sum(one.count for one in mine)
            assert destroyed == (held if held <= most else None)
            if destroyed is not None:
                model.retired.add(task)
                model.ended += 1
                for one in mine:
                    model.change(one.id, state="DESTROYED")
        model.check(store)
    for one in model.batches.values():
        data = b"".join(store.pieces(one.id))
        expected = model.held[one.id] if one.state == "RELEASED" and not one.purged else set()
        assert {data[start : start + 71] for start in range(0, len(data), 71)} == expected
    for batch_id in [one.id for one in store.unfinished()]:
        release(store, batch_id)
    if "a" not in model.retired:
        store.retire("a", at_most=1 << 40)
    with tempfile.TemporaryDirectory() as folder:  # a backup is the same of all kinds of stores
        store.backup(Path(folder) / "copy")
        with closing(sqlite3.connect(Path(folder) / "copy")) as copy:
            collecting = copy.execute("SELECT batch, count(*) FROM sealed GROUP BY batch").fetchall()
            spending = copy.execute("SELECT count(*) FROM spending JOIN task ON number = task WHERE retired").fetchone()
    opened = [one for task in tasks for one in store.batches(task, "OPEN")]
    assert dict(collecting) == {one.id: one.count for one in opened if one.count}  # nothing is left of any other
    assert spending == (0,)
    for task in tasks:  # whatever became of them, the names of its own reports are known, and no others
        kept = store.add_reports(task, reports(*range(90)), keys={})
        assert {j for j in range(90) if kept[j] == "report_replayed"} == model.known[task]
    store.close()


def releases_nothing_below_the_minimum(opening: Opening) -> None:
    store = started(opening())
    store.add_reports("t", reports(*range(49)), keys=KEYS)
    first = store.open_batch("t").id
    assert store.start_closing(first, at_least=50, secret=SECRET, key=KEY, now=1.0) is None
    assert store.open_batch("t").id == first
    assert store.contents(first) is None
    with pytest.raises(InvalidInput, match="no such batch"):
        release(store, first)
    store.mark_released(first, "0" * 64)  # asked too early: nothing happens
    assert [batch.state for batch in store.batches("t")] == ["OPEN"]
    store.add_reports("t", reports(49), keys=KEYS)
    assert closed(store, at_least=50).count == 50
    store.close()


def releases_in_the_order_that_the_permutation_gives(opening: Opening) -> None:
    """Decided by ids and secret alone, whatever the order of arrival."""
    numbers = random.Random(3).sample(range(1 << 60), 40)
    ids = np.frombuffer(b"".join(map(name, numbers)), np.uint8).reshape(-1, 16)
    expected = [numbers[j] for j in order(ids, SECRET)]
    for arrival in (numbers, numbers[::-1], sorted(numbers)):
        store = started(opening(f"{arrival[0]}"))
        for number in arrival:
            store.add_reports("t", reports(number), keys=KEYS)
        batch = closed(store)
        release(store, batch.id)
        assert released(store, batch.id) == expected
        store.close()


def takes_up_an_interrupted_release(opening: Opening) -> None:
    """Stopped at any point, and then asked again: the same bytes, nothing lost, nothing twice."""
    expected: list[int] = []
    for point in [None, *(point for point in POINTS if point.startswith("release") and "answer" not in point)]:
        stopped = list[Point]()

        def reached(found: Point, point: str | None = point, stopped: list[Point] = stopped) -> None:
            if found == point and not stopped:
                stopped.append(found)
                raise InterruptedError

        store = started(opening(f"at {point}", reached))
        store.add_reports("t", reports(*range(30)), keys=KEYS)
        batch = closed(store)
        if point is not None:
            with pytest.raises(InterruptedError):
                release(store, batch.id, reached)
            store.close()
            store = opening(f"at {point}")
            assert [one.id for one in store.unfinished()] in ([batch.id], [])
        release(store, batch.id)
        expected = expected or released(store, batch.id)
        assert released(store, batch.id) == expected
        assert sorted(expected) == list(range(30))
        assert store.unfinished() == []
        assert store.add_reports("t", reports(3), keys=KEYS) == ["report_replayed"]
        store.close()


def gives_bundles_of_all_lengths_back(opening: Opening) -> None:
    """Records of one to five messages: each once in the release, and their messages permuted together."""
    store, chance = started(opening()), random.Random(5)
    sealed = [[b"\0" + chance.randbytes(70) for _ in range(j % 5 + 1)] for j in range(20)]
    for j, records in enumerate(sealed):
        store.add_reports("t", [(name(j), b"".join(records) + b"\0")], keys=KEYS)
    batch = closed(store)
    contents = store.contents(batch.id)
    assert contents is not None
    assert contents.lengths.tolist() == [71 * len(records) + 1 for records in sealed]
    assert contents.records.tobytes() == b"".join(b"".join(records) + b"\0" for records in sealed)
    release(store, batch.id)
    data = b"".join(store.pieces(batch.id))
    every = [record for records in sealed for record in records]
    ids = np.frombuffer(b"".join(hashlib.sha256(record).digest()[:16] for record in every), np.uint8).reshape(-1, 16)
    assert data == (20).to_bytes(8, "big") + b"".join(every[place] for place in order(ids, SECRET))
    store.close()


def keeps_all_or_nothing_of_an_upload(opening: Opening) -> None:
    for point in ("accept: first report written", "accept: all reports written", "accept: committed"):

        def reached(found: Point, point: str = point) -> None:
            if found == point:
                raise InterruptedError

        started(opening(point)).close()
        store = opening(point, reached)
        with pytest.raises(InterruptedError):
            store.add_reports("t", reports(1, 2), keys=KEYS)
        store.close()
        store = opening(point)
        kept = point == "accept: committed"
        assert store.open_batch("t").count == (2 if kept else 0)
        assert store.add_reports("t", reports(1, 2), keys=KEYS) == ["report_replayed" if kept else "accepted"] * 2
        store.close()


def has_one_key_per_batch(opening: Opening) -> None:
    """Fixed when it opens, whatever else is sent: another id, or another key under the same id."""
    store, new = started(opening()), (name(5), inner(5, key=1))
    assert store.add_reports("t", [*reports(1), new], keys=BOTH) == ["accepted", "outdated_key"]
    assert store.open_batch("t").key == KEY
    assert store.add_reports("t", reports(6, 1), keys={1: OTHER}) == ["outdated_key", "report_replayed"]
    forged = {0: NextKey(id=0, fingerprint="0" * 64)}
    assert store.add_reports("t", reports(6), keys=forged) == ["outdated_key"]
    assert store.open_batch("t").count == 1
    store.end(store.open_batch("t").id, below=9, roll_over=True, key=OTHER, now=1.0)
    assert store.open_batch("t").key == KEY  # rolled over, they are still sealed to it
    store.end(store.open_batch("t").id, below=9, roll_over=False, key=OTHER, now=1.0)
    assert store.open_batch("t").key == OTHER
    assert store.add_reports("t", [new], keys=BOTH) == ["accepted"]
    store.close()


def opens_another_window_for_another_key(opening: Opening) -> None:
    """What was sealed for the first is refused for ever: whoever heard that may seal the same message anew."""
    store = started(opening())
    first = store.open_batch("t")
    second = store.open_window("t", key=OTHER, now=1.0)
    assert (second.key, second.count) == (OTHER, 0)
    assert second.window > first.window
    assert store.open_window("t", key=OTHER, now=2.0) == second  # again: nothing changes
    for keys in (KEYS, BOTH):  # a server that has not read the new list yet, and one that has
        assert store.add_reports("t", reports(1), keys=keys, window=first.window) == ["batch_collected"]
    assert [batch.state for batch in store.batches("t")] == ["ROLLED_OVER", "OPEN"]
    store.close()


def has_a_batch_for_each_key_of_forwarded_reports(opening: Opening) -> None:
    store = opening()
    store.add_task("t", "{}", hop=1, key=OTHER, now=0.0)
    mixed = [*reports(1, 2), (name(5), inner(5, key=1)), (name(6), inner(5, key=2))]
    assert store.add_reports("t", mixed, keys=BOTH, opened_at=1.0) == [*["accepted"] * 3, "outdated_key"]
    assert {batch.key.id: batch.count for batch in store.batches("t", "OPEN")} == {0: 2, 1: 1}
    assert store.add_reports("t", mixed, keys=BOTH, opened_at=2.0) == [*["report_replayed"] * 3, "outdated_key"]
    store.close()


def keeps_a_report_in_its_window(opening: Opening) -> None:
    """Batches that are rolled over are one window: nobody who reports once per window is twice in a batch."""
    store = started(opening())
    first = store.open_batch("t")
    assert store.add_reports("t", reports(1), window=first.window, keys=KEYS) == ["accepted"]
    assert store.add_reports("t", reports(2), window=first.window + 1, keys=KEYS) == ["batch_collected"]
    store.end(first.id, below=5, roll_over=True, key=KEY, now=1.0)
    rolled = store.open_batch("t")
    assert (rolled.id, rolled.window, rolled.count, rolled.opened) == (first.id, first.window, 1, 1.0)
    assert [(batch.state, batch.count) for batch in store.batches("t")] == [("OPEN", 1), ("ROLLED_OVER", 1)]
    assert store.add_reports("t", reports(2), window=first.window, keys=KEYS) == ["accepted"]
    assert store.start_closing(rolled.id, at_least=1, secret=SECRET, key=KEY, now=2.0) is not None
    again = store.open_batch("t")
    assert again.window > first.window
    assert store.add_reports("t", reports(1, 3), window=first.window, keys=KEYS) == [
        "report_replayed",
        "batch_collected",
    ]
    release(store, rolled.id)
    assert store.add_reports("t", reports(1, 3), window=first.window, keys=KEYS) == [
        "report_replayed",
        "batch_collected",
    ]
    spending = [b"x", b"y"]
    assert store.add_reports("t", reports(1, 3), spending, window=again.window, keys=KEYS) == [
        "report_replayed",
        "accepted",
    ]
    store.end(again.id, below=5, roll_over=False, key=KEY, now=3.0)
    assert store.open_batch("t").window > again.window
    store.close()


def restarts_an_empty_batch_only(opening: Opening) -> None:
    store = started(opening())
    first = store.open_batch("t")
    store.restart_window(first.id, now=100.0)
    assert store.open_batch("t").opened == 100.0
    store.add_reports("t", reports(1), keys=KEYS)
    store.restart_window(first.id, now=200.0)  # no longer empty
    assert store.open_batch("t").opened == 100.0
    store.restart_window(first.id, now=200.0, empty=False)
    assert store.open_batch("t").opened == 200.0
    assert store.end(first.id, below=5, roll_over=False, key=KEY, now=300.0) is not None
    # what another process ended meanwhile is not ended, or closed, in the name of the next
    assert store.end(first.id, below=5, roll_over=False, key=KEY, now=400.0) is None
    assert store.start_closing(first.id, at_least=0, secret=SECRET, key=KEY, now=400.0) is None
    assert store.add_reports("t", reports(1), keys=KEYS) == ["report_replayed"]
    store.close()


def remembers_ids_that_nobody_sent(opening: Opening) -> None:
    """Of a batch that is closing, for ever; told twice they are known once, and a batch that is not closing takes none."""
    store = started(opening())
    store.add_reports("t", reports(1, 2), keys=KEYS)
    first = store.open_batch("t")
    store.remember(first.id, [name(8)])
    assert store.add_reports("t", reports(8), keys=KEYS) == ["accepted"]
    batch = closed(store)
    for _ in range(2):
        store.remember(batch.id, [name(9), name(2), name(9)])
    release(store, batch.id)
    store.remember(batch.id, [name(10)])
    outcomes = store.add_reports("t", reports(1, 2, 8, 9, 10), keys=KEYS)
    assert outcomes == ["report_replayed"] * 4 + ["accepted"]
    store.close()


def purged_once_released(store: Store, batch: Batch) -> Batch:
    """Without its bytes, but with their hash."""
    with pytest.raises(InvalidInput, match="not a released batch"):
        store.purge(batch.id)
    release(store, batch.id)
    purged = store.purge(batch.id)
    assert purged.purged
    assert purged.digest is not None
    return purged


def forgets_purged_bytes_and_no_report(opening: Opening) -> None:
    store = started(opening())
    store.add_reports("t", reports(3), [name(77)], keys=KEYS)
    batch = closed(store)
    purged = purged_once_released(store, batch)
    for found in (store.batch(batch.id), release(store, batch.id)):  # and it does not come back
        assert found == purged
        assert list(store.pieces(batch.id)) == []
    assert store.add_reports("t", reports(3), [name(78)], keys=KEYS) == ["report_replayed"]
    assert store.add_reports("t", reports(4), [name(77)], keys=KEYS) == ["not_admitted"]
    store.close()


def takes_nothing_for_a_retired_task(opening: Opening) -> None:
    store = started(opening())
    store.add_reports("t", reports(*range(7)), keys=KEYS)
    assert store.retire("t", at_most=6) is None
    assert store.open_batch("t").count == 7
    assert store.retire("t", at_most=7) == 7
    assert [(batch.state, batch.count) for batch in store.batches("t")] == [("DESTROYED", 7)]
    assert store.tasks() == {}
    for opened_at in (None, 5.0):  # also what an earlier shuffler forwards
        assert store.add_reports("t", reports(3, 9), keys=KEYS, opened_at=opened_at) == [
            "report_replayed",
            "batch_collected",
        ]
    with pytest.raises(InvalidInput, match="is retired"):
        store.add_task("t", "{}", hop=1, key=KEY, now=1.0)
    store.close()


def says_what_it_does_not_know(opening: Opening) -> None:
    store = opening()
    store.check()
    free = store.free_bytes()
    assert free is None or free > 0
    assert (store.tasks(), store.history(), store.unfinished()) == ({}, [], [])
    for number in (0, 7, 10**30):
        assert store.batch(number) is None
    with pytest.raises(InvalidInput, match="does not know"):
        store.open_batch("t")
    with pytest.raises(InvalidInput, match="no such batch"):
        release(store, 7)
    store.close()


def is_the_same_for_every_thread(opening: Opening) -> None:
    store = started(opening())
    twin = store.twin()
    assert twin.add_reports("t", reports(1), keys=KEYS) == ["accepted"]
    assert store.add_reports("t", reports(1), keys=KEYS) == ["report_replayed"]
    assert twin.open_batch("t") == store.open_batch("t")
    for handle in (twin, store):
        handle.close()


CHECKS = [
    does_what_its_model_does, keeps_tasks_keys_and_windows_apart, releases_nothing_below_the_minimum,
    releases_in_the_order_that_the_permutation_gives,
    takes_up_an_interrupted_release, gives_bundles_of_all_lengths_back, keeps_all_or_nothing_of_an_upload, has_one_key_per_batch,
    opens_another_window_for_another_key, has_a_batch_for_each_key_of_forwarded_reports, keeps_a_report_in_its_window,
    restarts_an_empty_batch_only, remembers_ids_that_nobody_sent, forgets_purged_bytes_and_no_report,
    takes_nothing_for_a_retired_task,
    says_what_it_does_not_know, is_the_same_for_every_thread,
]  # fmt: skip
