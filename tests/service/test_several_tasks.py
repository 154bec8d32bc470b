"""One shuffler for several tasks: nothing of one has to do with another, in whichever order they were added."""

from collections.abc import Callable
from pathlib import Path

import pytest

from oracles.clock import Clock
from oracles.parties import PARTIES
from shuffledp import plan
from shuffledp.service.sealing.hpke import seal_inner, unseal, wrap_once
from shuffledp.service.sealing.keys import KeyRing
from shuffledp.service.shuffler.admission import OneTimeTokens
from shuffledp.service.shuffler.shuffler import PERSISTENCE, Shuffler
from shuffledp.service.stores.sqlite.store import SQLiteStore
from shuffledp.service.task import Task

RING, INNER = KeyRing.fresh("shuffler"), KeyRing.fresh("shuffler").rotated()
ANALYZERS = {"young": KeyRing.fresh("analyzer"), "old": KeyRing.fresh("analyzer").rotated().rotated()}
PLAN = plan("histogram", n=50, epsilon=3.0, delta=1e-2, size=64)
TASKS = {
    "young": Task(plan=PLAN, window=60, max_age=200, on_expiry="destroy", **PARTIES),
    "old": Task(plan=PLAN, window=600, max_age=900, release_margin=20, **PARTIES),
    "inner": Task(plan=PLAN, window=60, max_age=6000, **PARTIES | {"shufflers": ("Alpha", "Gamma", "Delta")}),
}
"""The last one is served at its second hop of three."""
LEAST = {"young": 50, "old": 70, "inner": 50}
OPENED_BY = {"young": ANALYZERS["young"], "old": ANALYZERS["old"], "inner": INNER}
TOKENS = OneTimeTokens(b"k" * 32)


def reports(name: str, count: int, ring: KeyRing | None = None) -> list[bytes]:
    """As they arrive: sealed under the keys of whoever opens them next, and under those of this shuffler."""
    task, found = TASKS[name], list[bytes]()
    following = (ring or OPENED_BY[name]).public()
    for j in range(count):
        if name == "inner":
            below = wrap_once(seal_inner(j % 64, task, ANALYZERS["old"].public()), task, following, 1)
            found.append(wrap_once(below, task, RING.public(), 2))
        else:
            found.append(wrap_once(seal_inner(j % 64, task, following), task, RING.public(), 1))
    return found


def with_tokens(name: str, uploads: list[bytes], issued_for: str) -> list[bytes]:
    return [TOKENS.issue(TASKS[issued_for].id) + upload for upload in uploads]


TURNS = [*TASKS] * 2


@pytest.fixture(params=[TURNS[j : j + 3] for j in range(3)], ids=", ".join)
def opening(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Clock, OneTimeTokens | None], Shuffler]:
    """A shuffler of all tasks, served in some order."""

    def opened(clock: Clock, admission: OneTimeTokens | None) -> Shuffler:
        shuffler = Shuffler(
            store=SQLiteStore(tmp_path / "store.db"), ring=RING, clock=clock, steady=clock, admission=admission
        )
        for name in request.param:
            shuffler.serve(TASKS[name], OPENED_BY[name].public(), hop=2 if name == "inner" else None)
        return shuffler

    return opened


def states(shuffler: Shuffler, name: str) -> list[tuple[str, int]]:
    return [(batch.state, batch.count) for batch in shuffler.store.batches(TASKS[name].id)]


def test_a_token_is_for_the_task_that_it_was_issued_for(
    opening: Callable[[Clock, OneTimeTokens | None], Shuffler],
) -> None:
    shuffler = opening(Clock(1000.0), TOKENS)
    for name in TASKS:
        for issued_for in TASKS:
            expected = "accepted" if issued_for == name else "not_admitted"
            uploads = with_tokens(name, reports(name, 2), issued_for)
            assert shuffler.accept(TASKS[name].id, uploads) == [expected] * 2
            assert shuffler.upload_length(TASKS[name].id) == len(uploads[0])


def test_each_task_has_its_own_minimum_window_age_keys_and_end(
    opening: Callable[[Clock, OneTimeTokens | None], Shuffler],
) -> None:
    clock = Clock(1000.0)
    shuffler, begin = opening(clock, None), clock.now
    for name, least in LEAST.items():
        assert shuffler.accept(TASKS[name].id, reports(name, least - 1)) == ["accepted"] * (least - 1)
    assert shuffler.accept(TASKS["inner"].id, reports("inner", 50, INNER.rotated())) == ["outdated_key"] * 50
    shuffler.seal_to(TASKS["inner"].id, INNER.rotated().public())
    assert shuffler.accept(TASKS["inner"].id, reports("inner", 50, INNER.rotated())) == ["accepted"] * 50
    shuffler.tick()
    assert states(shuffler, "inner") == [("OPEN", 49), ("OPEN", 50)]  # each key has a batch of its own
    clock.now = begin + 60
    assert [batch.task for batch in shuffler.tick()] == [TASKS["inner"].id]  # where alone nothing is missing
    assert states(shuffler, "inner")[:2] == [("OPEN", 49), ("RELEASED", 50)]
    clock.now = begin + 200
    shuffler.tick()
    clock.now += PERSISTENCE
    shuffler.tick()
    assert states(shuffler, "young")[0] == ("DESTROYED", 49)
    assert states(shuffler, "old") == [("OPEN", 69)]
    assert shuffler.accept(TASKS["young"].id, reports("young", 50)) == ["accepted"] * 50
    assert shuffler.accept(TASKS["old"].id, reports("old", 1)) == ["accepted"]
    clock.now = begin + 599
    assert [batch.task for batch in shuffler.tick()] == [TASKS["young"].id]
    clock.now = begin + 600
    (late,) = shuffler.tick()
    assert (late.task, late.count) == (TASKS["old"].id, 70)
    for name, ring in ANALYZERS.items():
        (batch,) = shuffler.store.batches(TASKS[name].id, "RELEASED")
        data = b"".join(shuffler.fetch(batch.id) or ())
        records = [data[start : start + 71] for start in range(0, len(data), 71)]
        assert len(records) == batch.count == LEAST[name]
        assert all(isinstance(unseal(record, ring, TASKS[name].id), bytes) for record in records)


def test_a_list_of_keys_is_for_the_task_that_it_was_given_for(
    opening: Callable[[Clock, OneTimeTokens | None], Shuffler],
) -> None:
    shuffler = opening(Clock(1000.0), None)
    before = {name: shuffler.store.open_batch(task.id) for name, task in TASKS.items()}
    shuffler.seal_to(TASKS["old"].id, ANALYZERS["old"].rotated().public())
    shuffler.tick()
    for name, task in TASKS.items():
        now = shuffler.current(task.id)
        assert now is not None
        assert shuffler.announced(now) == now.key
        if name != "old":
            assert now == before[name]
    after = shuffler.current(TASKS["old"].id)
    assert after is not None
    assert (after.key.id, after.window > before["old"].window) == (
        ANALYZERS["old"].rotated().public().active.key_id,
        True,
    )
