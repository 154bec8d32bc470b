"""Noise from the shuffler of a service: dummies are records like all others, the same after every crash, and never left out."""

import math
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare, ks_1samp

from oracles.chance import SIGNIFICANCE
from oracles.parties import ANALYZER, LABELS, PARTIES, SHUFFLER, announced, released, sealed, serving
from oracles.postgres import PostgresServer
from oracles.scale import full
from shuffledp import InvalidInput, Plan, plan
from shuffledp.auditing.audit import audit_service
from shuffledp.figures.result_page import page
from shuffledp.service.analyzer.analyzer import analyze
from shuffledp.service.analyzer.ledger import Ledger
from shuffledp.service.sealing.hpke import seal_again, seal_inner, seal_message, unseal
from shuffledp.service.sealing.keys import KeyRing
from shuffledp.service.shuffler.shuffler import Shuffler
from shuffledp.service.stores.batch import Batch
from shuffledp.service.stores.crash_points import POINTS, Point, pass_by
from shuffledp.service.stores.registry import open_store
from shuffledp.service.task import Task
from shuffledp.service.wire.bundle import COUNT
from shuffledp.service.wire.record import SEALED, encode_message, report_id

NOISED = plan("histogram", labels=LABELS[:5], n=50, epsilon=1.0, delta=1e-6, noise="shuffler")
PURE = plan("histogram", labels=LABELS[:5], n=50, epsilon=1.0, delta=1e-6, noise="shuffler-pure")
HELD = [0] * 20 + [1] * 20 + [2] * 10


def task_of(made: Plan, **more: object) -> Task:
    return Task(plan=made, **{"window": 60, "max_age": 600, **PARTIES, **more})


TASK = task_of(NOISED)


def records(data: bytes) -> list[bytes]:
    return [data[start : start + SEALED] for start in range(COUNT, len(data), SEALED)]


def test_fifty_people_from_their_reports_to_a_page() -> None:
    """Through sealing, shuffler and analyzer: unbiased, and the truth inside the intervals at the stated rate."""
    truth, inside, errors = np.array([20.0, 20, 10, 0, 0]), 0, []
    runs, reports = full(40, 400), [sealed(message, TASK) for message in HELD]
    for _ in range(runs):
        shuffler = serving(TASK)
        shuffler.accept(TASK.id, reports)
        _, data = released(shuffler, TASK)
        answer = analyze(data, TASK, ANALYZER)
        low, high = answer.estimate.interval(0.95)
        inside += int(((low <= truth) & (truth <= high)).sum())
        errors.append(answer.estimate.value - truth)
    assert inside >= 0.95 * 5 * runs - 6.2 * math.sqrt(5 * runs * 0.95 * 0.05)
    found, deviation = np.array(errors), 2.7989881132
    assert abs(found.mean()) < 6.2 * deviation / math.sqrt(5 * runs)
    assert found.std() == pytest.approx(deviation, rel=0.45 if runs < 400 else 0.15)
    assert answer.n == 50
    assert answer.max_shift == 1
    assert "A shuffler that sees this answer knows the exact counts" in page(answer.whole())


def test_an_analyzer_cannot_tell_dummies_from_reports() -> None:
    """Lengths, headers and places are alike, and no byte of either is likelier to be anything than any other."""
    mine: list[bytes] = []
    theirs: list[bytes] = []
    places, total = list[float](), 0
    for _ in range(full(12, 120)):
        shuffler = serving(TASK)
        inner = [seal_inner(message, TASK, ANALYZER.public()) for message in HELD]
        shuffler.accept(TASK.id, [announced(shuffler, TASK).wrapped(one, TASK) for one in inner])
        _, data = released(shuffler, TASK)
        own = set(map(report_id, inner))
        found = records(data)
        assert int.from_bytes(data[:COUNT], "big") == 50
        assert sum(report_id(one) in own for one in found) == 50
        for place, one in enumerate(found):
            dummy = report_id(one) not in own
            (mine if dummy else theirs).append(one)
            if dummy:
                places.append((place + 0.5) / len(found))
        total += len(found)
    assert {len(one) for one in mine} == {len(one) for one in theirs} == {SEALED}
    assert {one[:7] for one in mine} == {one[:7] for one in theirs}
    assert len({one[7:39] for one in mine + theirs}) == total  # no ephemeral key twice
    assert ks_1samp(places, lambda x: x).pvalue > SIGNIFICANCE
    for some in (mine, theirs):
        drawn = np.frombuffer(
            b"".join(one[7:38] + one[39:] for one in some), np.uint8
        )  # byte 38 has a bit that is always 0
        assert chisquare(np.bincount(drawn, minlength=256)).pvalue > SIGNIFICANCE
        assert max(one[38] for one in some) < 128
    sorted_first = [(place + 0.5) / 175 for place in range(125)] * 12  # a shuffler that puts dummies first
    assert ks_1samp(sorted_first, lambda x: x).pvalue < SIGNIFICANCE


def test_nobody_learns_from_sending_a_record_again_whether_it_is_a_dummy(tmp_path: Path) -> None:
    """The analyzer wraps what it got and reports it: all of it was sent before, also after a restart."""
    url = str(tmp_path / "store.db")
    shuffler = serving(TASK, url)
    shuffler.accept(TASK.id, [sealed(message, TASK) for message in HELD])
    _, data = released(shuffler, TASK)
    for restarted in (False, True):
        if restarted:
            shuffler.shut_down()
        again = serving(TASK, url) if restarted else shuffler
        outcomes = again.accept(TASK.id, [announced(again, TASK).wrapped(one, TASK) for one in records(data)])
        assert set(outcomes) == {"report_replayed"}
    assert again.store.open_batch(TASK.id).count == 0


def test_no_row_of_a_table_tells_a_dummy_from_a_report(postgres: PostgresServer) -> None:
    """Not by the transaction that wrote it, nor by its place: those who read the store and the records together learn nothing."""
    url = postgres.place("noise")
    shuffler = serving(TASK, url)
    shuffler.accept(TASK.id, [sealed(message, TASK) for message in HELD])
    _, data = released(shuffler, TASK)
    (schema,) = re.findall(r"search_path%3D(\w+)", url)
    rows = postgres.run(f"SET search_path = {schema}", "SELECT xmin::text, ctid::text, id FROM report")
    names: list[Any] = [row[2] for row in rows]
    assert set(names) == {report_id(one) for one in records(data)}
    assert len({row[0] for row in rows}) == 1
    assert names == sorted(names)
    shuffler.shut_down()


def test_how_many_dummies_there_are_is_what_the_plan_says() -> None:
    """Of every value, by the law of the plan, whether anybody holds it or not."""
    often = Counter[int]()
    for turn in range(full(20, 600)):
        shuffler = serving(TASK, secrets=lambda turn=turn: turn.to_bytes(32, "big"))
        shuffler.accept(TASK.id, [sealed(0, TASK)] * 1 + [sealed(1, TASK) for _ in range(49)])
        _, data = released(shuffler, TASK)
        said = [unseal(one, ANALYZER, TASK.id) for one in records(data)]
        counts = Counter(said)
        often.update(counts[encode_message(message)] for message in (2, 3, 4))
    mean = sum(number * count for number, count in often.items()) / often.total()
    assert abs(mean - 25) < 6.2 * 2.8 / math.sqrt(often.total())


class Died(Exception):  # noqa: N818
    """A shuffler that is stopped."""


def test_a_crash_anywhere_changes_no_byte(tmp_path: Path) -> None:
    """Stopped at each point of a release and taken up again, by the same store in other hands: the same bytes, nothing lost."""
    reports = [sealed(message, TASK) for message in HELD]
    finished: dict[Point, bytes] = {}
    for point in POINTS:
        if not point.startswith(("close", "release")) or point == "release: about to answer":
            continue

        def reached(found: Point, point: Point = point) -> None:
            if found == point:
                raise Died

        def shuffler(*, dying: bool, url: str = str(tmp_path / f"{POINTS.index(point)}.db")) -> Shuffler:
            here = reached if dying else pass_by
            found = Shuffler(
                store=open_store(url, reached=here), ring=SHUFFLER, clock=lambda: 0.0, secrets=lambda: bytes(range(32)),
                reached=here,
            )  # fmt: skip
            found.serve(TASK, ANALYZER.public())
            return found

        first = shuffler(dying=True)
        first.accept(TASK.id, reports)
        with pytest.raises(Died):
            first.close(TASK.id, ignore_window=True)
        first.shut_down()
        again = shuffler(dying=False)
        again.resume()
        again.close(TASK.id, ignore_window=True)
        [batch] = again.store.batches(TASK.id, "RELEASED")
        finished[point] = b"".join(again.fetch(batch.id) or ())
        assert finished[point] == b"".join(again.fetch(batch.id) or ())
        again.shut_down()
    assert len(finished) > 8
    assert len(set(finished.values())) == 1
    [data] = set(finished.values())
    assert analyze(data, TASK, ANALYZER).n == 50
    assert len(records(data)) > 100


def test_nothing_is_released_without_noise(tmp_path: Path) -> None:
    """A batch that was closing is not taken up by a shuffler that does not know its task, its key or how to add noise."""

    def die(found: Point) -> None:
        if found == "release: gathered":
            raise Died

    url = str(tmp_path / "store.db")
    shuffler = serving(TASK, url, reached=die)
    shuffler.accept(TASK.id, [sealed(message, TASK) for message in HELD])
    with pytest.raises(Died):
        shuffler.close(TASK.id, ignore_window=True)
    shuffler.shut_down()
    ignorant = Shuffler(store=open_store(url), ring=SHUFFLER, clock=lambda: 0.0)  # serves no task yet
    assert ignorant.tick() == []
    [batch] = ignorant.store.unfinished()
    assert batch.state == "CLOSING"
    ignorant.serve(TASK, KeyRing.fresh("analyzer").public())  # another key of the same number
    assert ignorant.tick() == []
    assert ignorant.store.batch(batch.id).state == "CLOSING"  # type: ignore[union-attr]
    ignorant.seal_to(TASK.id, ANALYZER.public())
    assert [one.id for one in ignorant.tick()] == [batch.id]
    assert len(records(b"".join(ignorant.fetch(batch.id) or ()))) > 100


def test_a_batch_whose_key_is_gone_stays_open() -> None:
    """Nobody could open it, and no dummy can be sealed for it."""
    shuffler = serving(TASK)
    shuffler.accept(TASK.id, [sealed(message, TASK) for message in HELD])
    shuffler.seal_to(TASK.id, KeyRing.fresh("analyzer").public())
    assert shuffler.close(TASK.id, ignore_window=True) == "batch_too_small"
    assert [batch.state for batch in shuffler.store.batches(TASK.id) if batch.count] == ["OPEN"]


def test_the_analyzer_refuses_what_has_too_few_dummies() -> None:
    """Unopened, and without booking anything: what a shuffler that forgets its noise would release."""
    bare = len(HELD).to_bytes(COUNT, "big") + b"".join(seal_inner(message, TASK, ANALYZER.public()) for message in HELD)
    with pytest.raises(InvalidInput, match="what should hide these people is missing"):
        analyze(bare, TASK, ANALYZER)


@pytest.mark.parametrize("made", [NOISED, PURE], ids=["usual", "pure"])
def test_what_is_not_valid_is_counted(made: Plan, tmp_path: Path) -> None:
    """A record that opens to no value is rejected; the ledger is booked once, at the plan's price."""
    task = task_of(made)
    shuffler = serving(task)
    good = [sealed(message, task) for message in HELD]
    bad = sealed(77, task)  # no such value
    shuffler.accept(task.id, [*good, bad])
    batch, data = released(shuffler, task)
    assert batch.count == 51
    ledger = Ledger(tmp_path / "ledger.json", epsilon=3.0, delta=1e-5)
    answer = analyze(data, task, ANALYZER, ledger=ledger)
    assert answer.received == 51
    assert answer.n in (50, 51)  # with `pure` it may have been dropped
    assert answer.provenance is not None
    assert answer.provenance.ledger is not None
    assert analyze(data, task, ANALYZER, ledger=ledger).estimate.value.tolist() == answer.estimate.value.tolist()


def test_only_the_shuffler_next_to_the_analyzer_adds_noise() -> None:
    """What the outer one releases are sealed reports, as many as came."""
    task = task_of(NOISED, shufflers=("Inner", "Outer"))
    outer_ring = KeyRing.fresh("shuffler")
    outer = Shuffler(store=open_store(":memory:"), ring=outer_ring, clock=lambda: 0.0)
    outer.serve(task, SHUFFLER.public())
    lists = [SHUFFLER.public(), outer_ring.public()]
    outer.accept(task.id, [seal_message(message, task, ANALYZER.public(), lists) for message in HELD])
    batch = outer.close(task.id, ignore_window=True)
    assert isinstance(batch, Batch)
    data = b"".join(outer.fetch(batch.id) or ())
    length = len(data) // 50
    inner = Shuffler(store=open_store(":memory:"), ring=SHUFFLER, clock=lambda: 0.0)
    inner.serve(task, ANALYZER.public(), hop=1)
    inner.accept(task.id, [data[start : start + length] for start in range(0, len(data), length)])
    last = inner.close(task.id, ignore_window=True)
    assert isinstance(last, Batch)
    answer = analyze(b"".join(inner.fetch(last.id) or ()), task, ANALYZER)
    assert answer.n == 50


def test_sealing_again_is_sealing() -> None:
    """Opened by another library's HPKE, as what users seal is; the same bytes twice, others under another ephemeral key."""
    key = ANALYZER.public().active
    one = seal_again(b"sixteen bytes ok", key, "analyzer", TASK.id, ephemeral=bytes(range(32)))
    assert unseal(one, ANALYZER, TASK.id) == b"sixteen bytes ok"
    assert one == seal_again(b"sixteen bytes ok", key, "analyzer", TASK.id, ephemeral=bytes(range(32)))
    assert one != seal_again(b"sixteen bytes ok", key, "analyzer", TASK.id, ephemeral=bytes(range(1, 33)))
    assert not isinstance(unseal(one, ANALYZER, "00" * 32), bytes)


def test_who_must_be_trusted_is_said() -> None:
    trust = TASK.trust
    assert re.search("The guarantee holds if Alpha, who adds dummies of every value", trust)
    assert "does not see the answer" in trust
    assert "It assumes nothing about other users" in trust
    alone = replace(TASK, analyzer=TASK.shufflers[0], allow_same_operator=True).trust
    assert f"if {TASK.shufflers[0]} adds dummies of every value as it should; otherwise the result is exact" in alone
    assert "follow the protocol" not in alone


def test_audits_say_what_they_cannot_look_at() -> None:
    with pytest.raises(InvalidInput, match="what the shuffler adds"):
        audit_service(NOISED, trials=100)
