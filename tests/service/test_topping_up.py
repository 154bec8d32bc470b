"""Batches that stay too small are released among dummies, with a guarantee of their own: the same bytes whatever happens."""

import json
import math
import os
import signal
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oracles.parties import ANALYZER, LABELS, PARTIES, SHUFFLER, sealed
from oracles.postgres import PostgresServer
from oracles.process import called
from oracles.scale import full
from shuffledp import InvalidInput, Result, plan, verify
from shuffledp.core.guarantee import SHUFFLER_NOISE
from shuffledp.figures.result_page import page
from shuffledp.protocols.topped_up import ToppedUp
from shuffledp.randomizers.geometric_noise import TwoSidedGeometric
from shuffledp.service.analyzer.analyzer import analyze
from shuffledp.service.analyzer.batch_fetcher import AnnouncedBatch, BatchFetcher
from shuffledp.service.analyzer.ledger import Ledger
from shuffledp.service.sealing.hpke import wrap
from shuffledp.service.sealing.keys import KeyRing
from shuffledp.service.shuffler.release import release
from shuffledp.service.shuffler.shuffler import PERSISTENCE, Shuffler
from shuffledp.service.stores.batch import Batch
from shuffledp.service.stores.crash_points import POINTS, Point, pass_by
from shuffledp.service.stores.registry import open_store
from shuffledp.service.task import Task
from shuffledp.service.wire.bundle import COUNT
from shuffledp.service.wire.record import SEALED, report_id
from shuffledp.service.wire.released_batch import ReleasedBatch

PLANNED = plan("histogram", labels=LABELS[:3], n=400, epsilon=1.0, delta=1e-6, honest_fraction=0.9)
TASK = Task(plan=PLANNED, window=60, max_age=600, on_expiry="top-up", **PARTIES | {"honest_fraction": 0.9})
FEW = [0] * 20 + [1] * 10


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def shuffler_of(clock: Clock, url: str = ":memory:", **more: Any) -> Shuffler:
    found = Shuffler(
        store=open_store(url, reached=more.get("reached", pass_by)), ring=SHUFFLER, clock=clock, steady=clock,
        secrets=lambda: bytes(range(32)), **more,
    )  # fmt: skip
    found.serve(TASK, ANALYZER.public())
    return found


def expired(shuffler: Shuffler, clock: Clock) -> list[Batch]:
    """What ends when the batch is too old, and that has lasted."""
    clock.now = 700.0
    assert shuffler.tick() == []
    clock.now += PERSISTENCE
    return shuffler.tick()


def collected(reports: list[bytes]) -> tuple[Batch, bytes]:
    clock = Clock()
    shuffler = shuffler_of(clock)
    shuffler.accept(TASK.id, reports)
    [batch] = expired(shuffler, clock)
    return batch, b"".join(shuffler.fetch(batch.id) or ())


def records(data: bytes) -> list[bytes]:
    return [data[start : start + SEALED] for start in range(COUNT, len(data), SEALED)]


def test_thirty_people_get_an_answer_with_a_guarantee_of_its_own(tmp_path: Path) -> None:
    batch, data = collected([sealed(message, TASK) for message in FEW])
    assert (batch.state, batch.count) == ("RELEASED", 30)
    assert int.from_bytes(data[:COUNT], "big") == 30
    ledger = Ledger(tmp_path / "ledger.json", epsilon=3.0, delta=1e-5)
    answer = analyze(data, TASK, ANALYZER, ledger=ledger)
    assert answer.n == answer.received == 30
    assert answer.guarantee is not None
    assert answer.guarantee.caveat == SHUFFLER_NOISE
    assert (answer.guarantee.epsilon, answer.guarantee.delta, answer.guarantee.n) == (1.0, 1e-6, 1)
    assert answer.realised_epsilon == 1.0
    assert isinstance(answer.plan.protocol, ToppedUp)
    for shown in (str(answer), page(answer.whole())):
        assert "topped the batch up" in shown
        assert "against it nothing" not in shown
    assert answer.document()["guarantee"]["epsilon_if_shuffler_and_analyzer_collude"] == PLANNED.epsilon0
    assert 2 < PLANNED.epsilon0 < 3
    answer.save(tmp_path / "answer.json")
    (tmp_path / "task.json").write_text(json.dumps(TASK.document()))
    found = verify(tmp_path / "answer.json", beside=[tmp_path / "task.json"])
    assert found.confirmed
    assert len(found.claims) == 3  # what is promised, the same of these reports, and what is left of each by itself
    alone = verify(tmp_path / "answer.json")
    assert not alone.confirmed
    assert "give its task as well" in alone.reason
    assert verify(tmp_path / "task.json").confirmed
    assert Result.load(tmp_path / "answer.json").guarantee == answer.guarantee
    booked = json.loads((tmp_path / "ledger.json").read_text().splitlines()[-1])
    assert "shuffler-noise" in json.dumps(booked)
    forged = json.loads((tmp_path / "answer.json").read_text()) | {"received": 400}
    (tmp_path / "answer.json").write_text(json.dumps(forged))
    assert not verify(tmp_path / "answer.json", beside=[tmp_path / "task.json"]).confirmed


def test_the_truth_is_inside_the_intervals() -> None:
    """From reports that are randomized anew each time; the estimate is unbiased."""
    truth, inside, errors = np.array([20, 10, 0]), 0, []
    runs, words = full(60, 600), np.random.default_rng(3)
    gamma = PLANNED.protocol.gamma  # type: ignore[attr-defined]
    for _ in range(runs):
        lies = words.random(30) < gamma
        said = np.where(lies, words.integers(0, 3, 30), FEW)
        clock = Clock()
        shuffler = shuffler_of(clock)
        shuffler.secrets = lambda: words.bytes(32)
        shuffler.accept(TASK.id, [sealed(int(message), TASK) for message in said])
        [batch] = expired(shuffler, clock)
        answer = analyze(b"".join(shuffler.fetch(batch.id) or ()), TASK, ANALYZER)
        low, high = answer.estimate.interval(0.95)
        inside += int(((low <= truth) & (truth <= high)).sum())
        errors.append(answer.estimate.value - truth)
    assert inside >= 0.95 * 3 * runs - 6.2 * math.sqrt(3 * runs * 0.95 * 0.05)
    deviation = math.sqrt(answer.plan.protocol.variance(np.array([30.0]), 30)[0])  # type: ignore[attr-defined]
    assert abs(np.array(errors).mean()) < 6.2 * deviation / math.sqrt(3 * runs)


def test_a_batch_that_is_large_enough_is_released_as_planned() -> None:
    """Without a dummy, by the plan; the number of reports is stated all the same, so that both kinds can be told apart."""
    clock = Clock()
    shuffler = shuffler_of(clock)
    shuffler.accept(TASK.id, [sealed(j % 3, TASK) for j in range(400)])
    batch = shuffler.close(TASK.id, ignore_window=True)
    assert isinstance(batch, Batch)
    data = b"".join(shuffler.fetch(batch.id) or ())
    assert len(records(data)) == int.from_bytes(data[:COUNT], "big") == 400
    answer = analyze(data, TASK, ANALYZER)
    assert answer.plan == PLANNED
    assert answer.guarantee == PLANNED.guarantee
    assert not any("topped" in note for note in answer.notes)


def test_nothing_is_topped_up_early_or_because_a_clock_was_wrong() -> None:
    clock = Clock()
    shuffler = shuffler_of(clock)
    shuffler.accept(TASK.id, [sealed(message, TASK) for message in FEW])
    assert shuffler.close(TASK.id, ignore_window=True) == "batch_too_small"
    clock.now = 599.0
    assert shuffler.tick() == []
    clock.now = 600.0
    assert shuffler.tick() == []
    clock.now += PERSISTENCE - 1
    assert shuffler.tick() == []
    clock.now += 1
    assert [batch.state for batch in shuffler.tick()] == ["RELEASED"]


def test_nobody_is_told_which_records_are_dummies() -> None:
    """Not by a length, a header or the answer to one that is sent in again."""
    clock = Clock()
    shuffler = shuffler_of(clock)
    reports = [sealed(message, TASK) for message in FEW]
    shuffler.accept(TASK.id, reports)
    [batch] = expired(shuffler, clock)
    found = records(b"".join(shuffler.fetch(batch.id) or ()))
    assert len(found) > 60
    assert len({one[:7] for one in found}) == 1
    from oracles.parties import announced

    again = [announced(shuffler, TASK).wrapped(one, TASK) for one in found]
    assert set(shuffler.accept(TASK.id, again)) == {"report_replayed"}
    assert len({report_id(one) for one in found}) == len(found)


class Died(Exception):  # noqa: N818
    """A shuffler that is stopped."""


def killed_at(point: Point, url: str, reports: list[bytes]) -> None:
    """A process of its own collects these reports, waits until they are to be topped up, and is killed at that point."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # nothing here waits for another thread
        child = os.fork()
    if child == 0:
        try:
            clock = Clock()

            def reached(found: Point) -> None:
                if found == point:
                    os.kill(os.getpid(), signal.SIGKILL)

            shuffler = shuffler_of(clock, url, reached=reached)
            shuffler.accept(TASK.id, reports)
            expired(shuffler, clock)
        finally:
            os._exit(3)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == signal.SIGKILL


def test_a_kill_anywhere_while_topping_up_changes_no_byte(tmp_path: Path) -> None:
    """Killed at each point and taken up again; a shuffler that does not know the task yet releases nothing."""
    reports = [sealed(message, TASK) for message in FEW]
    finished: dict[Point, bytes] = {}
    for point in POINTS:
        if not point.startswith(("close", "release")) or point in ("release: about to answer", "close: asked"):
            continue
        url = str(tmp_path / f"{POINTS.index(point)}.db")
        killed_at(point, url, reports)
        clock = Clock()
        clock.now = 700.0 + PERSISTENCE
        ignorant = Shuffler(store=open_store(url), ring=SHUFFLER, clock=clock)
        ignorant.tick()
        for batch in ignorant.store.unfinished():
            assert batch.state in ("CLOSING", "RELEASED")
        ignorant.shut_down()
        again = shuffler_of(clock, url)
        again.resume()
        again.tick()
        clock.now += PERSISTENCE
        again.tick()
        [batch] = again.store.batches(TASK.id, "RELEASED")
        finished[point] = b"".join(again.fetch(batch.id) or ())
        again.shut_down()
    assert len(finished) > 7
    assert len(set(finished.values())) == 1
    [data] = set(finished.values())
    assert analyze(data, TASK, ANALYZER).n == 30


def test_software_that_knows_no_topping_up_releases_nothing(tmp_path: Path) -> None:
    """It releases what waits for noise only with noise, and finds no such task: a batch that was closing stays as it is."""

    def die(found: Point) -> None:
        if found == "release: gathered":
            raise Died

    clock, url = Clock(), str(tmp_path / "store.db")
    first = shuffler_of(clock, url, reached=die)
    first.accept(TASK.id, [sealed(message, TASK) for message in FEW])
    with pytest.raises(Died):
        expired(first, clock)
    first.shut_down()
    store = open_store(url)
    [closing] = store.unfinished()
    assert release(store, closing.id).state == "CLOSING"  # as former software calls it
    document = TASK.document()
    known = {"version", "plan", "window", "max_age", "shufflers", "analyzer", "honest_fraction", "on_expiry",
             "release_margin", "allow_same_operator"}  # fmt: skip
    assert set(document) - known == {"top_up"}  # what former software refuses as one field too many


def test_every_store_tops_up(postgres: PostgresServer) -> None:
    clock = Clock()
    shuffler = shuffler_of(clock, postgres.place("topping"))
    shuffler.accept(TASK.id, [sealed(message, TASK) for message in FEW])
    [batch] = expired(shuffler, clock)
    assert analyze(b"".join(shuffler.fetch(batch.id) or ()), TASK, ANALYZER).n == 30
    shuffler.shut_down()


def test_a_batch_that_lacks_its_dummies_is_refused_unopened() -> None:
    from shuffledp.service.sealing.hpke import seal_inner

    bare = [seal_inner(message, TASK, ANALYZER.public()) for message in FEW]
    with pytest.raises(InvalidInput, match="what should hide these people is missing"):
        analyze(len(bare).to_bytes(COUNT, "big") + b"".join(bare), TASK, ANALYZER)
    with pytest.raises(InvalidInput, match=r"400 reports have 30 messages"):
        analyze((400).to_bytes(COUNT, "big") + b"".join(bare), TASK, ANALYZER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Handed(BatchFetcher):
    """Gets these bytes, if they are no more than it would take."""

    data: bytes

    def _download(self, announced: AnnouncedBatch, shortest: int, *, most: int) -> ReleasedBatch:
        assert len(self.data) <= most
        return ReleasedBatch.of(self.data)


def test_an_analyzer_fetches_what_was_announced() -> None:
    _, data = collected([sealed(message, TASK) for message in FEW])
    fetcher = Handed(url="http://localhost:1", token="", data=data)
    announced = AnnouncedBatch(batch=1, task=TASK.id, reports=30, sha256="00" * 32)
    assert analyze(fetcher.download(TASK, announced), TASK, ANALYZER).n == 30
    with pytest.raises(InvalidInput, match="not of the 31 reports"):
        fetcher.download(TASK, replace(announced, reports=31))


def test_reports_that_nobody_can_open_any_more_are_destroyed() -> None:
    clock = Clock()
    shuffler = shuffler_of(clock)
    shuffler.accept(TASK.id, [sealed(message, TASK) for message in FEW])
    shuffler.seal_to(TASK.id, KeyRing.fresh("analyzer").public())
    states = [batch.state for batch in expired(shuffler, clock)]
    assert states == ["DESTROYED"]


def test_what_a_task_says_about_it() -> None:
    assert "A batch that stays below 400 reports is topped up: Alpha adds dummies of every answer" in TASK.trust
    assert "does not see the answer; otherwise epsilon0 = " in TASK.trust
    assert Task.from_document(json.loads(json.dumps(TASK.document()))) == TASK
    assert TASK.top_up == TwoSidedGeometric.least(1.0, 1e-7)
    usual = replace(TASK, on_expiry="destroy", top_up=None)
    assert "top_up" not in usual.document()
    assert "topped up" not in usual.trust
    for document, why in (
        (TASK.document() | {"on_expiry": "destroy"}, "one too many"),
        ({name: value for name, value in TASK.document().items() if name != "top_up"}, "lacks a field"),
        (TASK.document() | {"top_up": TASK.document()["top_up"] | {"peak": 24}}, "do not give the plan's guarantee"),
    ):
        with pytest.raises(InvalidInput, match=why):
            Task.from_document(document)
    assert TASK.topped_up is not None
    with pytest.raises(InvalidInput, match="Make a task of the plan it was collected by"):
        replace(TASK, plan=TASK.topped_up, on_expiry="destroy", top_up=None, honest_fraction=1.0)
    with pytest.raises(InvalidInput, match="Use one shuffler"):
        replace(TASK, shufflers=("Alpha", "Gamma"))


@pytest.mark.parametrize("kept", [False, True])
def test_a_restored_store_tells_nobody_which_records_are_dummies(kept: bool, tmp_path: Path) -> None:
    """It knows the ids of reports and not those of dummies, so it takes no more records of the task."""
    clock, url = Clock(), f"sqlite:///{tmp_path}/store.db"
    shuffler = shuffler_of(clock, url)
    shuffler.accept(TASK.id, [sealed(message, TASK) for message in FEW])
    shuffler.store.backup(tmp_path / "copy.db")
    (batch,) = expired(shuffler, clock)
    found = records(b"".join(shuffler.fetch(batch.id) or ()))
    shuffler.store.close()
    command = ["shuffler", "restore", f"{tmp_path}/copy.db", f"{tmp_path}/new.db", *["--nothing-released-since"] * kept]
    assert called(command).returncode == 0
    restored = Shuffler(store=open_store(f"{tmp_path}/new.db"), ring=SHUFFLER, clock=clock, steady=clock)
    assert (TASK.id in restored.store.tasks()) == kept
    if not kept:
        with pytest.raises(InvalidInput, match="retired"):
            restored.serve(TASK, ANALYZER.public())
        announced = SHUFFLER.public()
        assert len(found) > 40
        assert restored.accept(TASK.id, [wrap(one, TASK, [announced]) for one in found]) == "task_unknown"
