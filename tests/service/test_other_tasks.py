"""A13: a party with another task, down to a single field of it, opens nothing."""

import functools
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import pytest

from oracles.mutation import places, replaced, resigned
from oracles.parties import (
    ANALYZER,
    EIGHT,
    LABELS,
    MEAN,
    sealed,
    serving,
)
from shuffledp import InvalidInput, RandomizedResponse
from shuffledp.core.captions import Wording
from shuffledp.core.guarantee import Guarantee
from shuffledp.domains.labels import Labels
from shuffledp.planning.over_time import OverTime
from shuffledp.planning.plan import Plan
from shuffledp.randomizers.geometric_noise import TwoSidedGeometric
from shuffledp.service.analyzer.analyzer import open_batch, result_of
from shuffledp.service.sealing.hpke import seal_inner
from shuffledp.service.task import Task


def with_plan(task: Task, /, **change: Any) -> Task:
    return replace(task, plan=replace(task.plan, **change))


def with_guarantee(task: Task, **change: Any) -> Task:
    return with_plan(task, guarantee=replace(task.plan.guarantee, **change))


TASK_CHANGES: dict[str, Any] = {
    "window": 61, "max_age": 601, "shufflers": ("Alpha", "Gamma"), "on_expiry": "destroy", "analyzer": "A",
    "honest_fraction": 0.95, "release_margin": 1, "allow_same_operator": True,
}  # fmt: skip
_EIGHT: Any = EIGHT.plan.protocol
_MEAN: Any = MEAN.plan.protocol
PROTOCOL_CHANGES: dict[str, tuple[Task, Any]] = {
    "total": (MEAN, replace(_MEAN, total="sum")),
    "size": (MEAN, replace(_MEAN, randomizer=RandomizedResponse.of_threshold(
        size=_MEAN.randomizer.size + 1, threshold=_MEAN.randomizer.threshold))),
    "threshold": (EIGHT, replace(_EIGHT, randomizer=RandomizedResponse.of_threshold(
        size=8, threshold=_EIGHT.randomizer.threshold + 1))),
    "low": (MEAN, replace(_MEAN, low=-1.0)), "high": (MEAN, replace(_MEAN, high=10.5)),
    "labels": (EIGHT, replace(_EIGHT, domain=Labels(("z", *LABELS[1:])))),
}  # fmt: skip
GUARANTEE_CHANGES: dict[str, Any] = {
    "epsilon": 0.51, "delta": 2e-2, "n": 49, "bound": "hoeffding", "adjacency": "add-remove",
}  # fmt: skip
ONCE = OverTime(rounds=2, per_person=1, epsilon=EIGHT.plan.guarantee.epsilon, delta=EIGHT.plan.guarantee.delta)
ROUNDS_CHANGES: dict[str, Any] = {"rounds": 3, "per_person": 2, "epsilon": ONCE.epsilon + 0.01, "delta": 2e-2}


def other_tasks() -> Iterator[Any]:
    for name, value in TASK_CHANGES.items():
        yield pytest.param(EIGHT, replace(EIGHT, **{name: value}), id=name)
    topped_up = replace(EIGHT, on_expiry="top-up")
    yield pytest.param(topped_up, replace(topped_up, top_up=TwoSidedGeometric.least(0.5, 1e-9)), id="top_up")
    for name, (task, protocol) in PROTOCOL_CHANGES.items():
        yield pytest.param(task, with_plan(task, protocol=protocol), id=f"protocol {name}")
    yield pytest.param(EIGHT, with_plan(EIGHT, min_batch=49), id="plan min_batch")
    yield pytest.param(EIGHT, with_plan(EIGHT, over_time=ONCE), id="plan over_time")
    yield pytest.param(EIGHT, with_plan(EIGHT, wording=Wording(question="Really?")), id="plan wording")
    for name, value in ROUNDS_CHANGES.items():
        task = with_plan(EIGHT, over_time=ONCE)
        yield pytest.param(task, with_plan(task, over_time=replace(ONCE, **{name: value})), id=f"over_time {name}")
    for name, value in GUARANTEE_CHANGES.items():
        yield pytest.param(EIGHT, with_guarantee(EIGHT, **{name: value}), id=f"guarantee {name}")


@pytest.mark.parametrize(("task", "other"), list(other_tasks()))
def test_a13_a_party_with_another_task_opens_nothing(task: Task, other: Task) -> None:
    """Clients have one task, the shuffler or the analyzer another: not one report opens."""
    assert other.id != task.id
    records = [sealed(j % 4, task) for j in range(20)]
    outcomes = serving(other).accept(other.id, records)
    # with another number of layers even the length is wrong
    assert outcomes == ["invalid_message" if other.hops != task.hops else "decrypt_error"] * 20
    shuffler = serving(task)
    assert shuffler.accept(task.id, records) == ["accepted"] * 20
    stated = (20).to_bytes(8, "big") if task.may_add_noise else b""
    inners = stated + b"".join(seal_inner(j % 4, task, ANALYZER.public()) for j in range(20))
    opened = open_batch(inners, other, ANALYZER)
    assert (opened.counts.total, opened.rejected) == (0, {"decrypt_error": 20})
    with pytest.raises(InvalidInput, match="only 0 of the 20 reports received are valid"):
        result_of(opened, other, digest="d")


def test_a13_no_field_is_left_out() -> None:
    assert {field.name for field in fields(Task) if field.init} == {
        *TASK_CHANGES,
        "plan",
        "top_up",
    }  # its id is made of them
    told = {field.name for field in fields(Plan) if field.compare}
    assert told == {"protocol", "min_batch", "guarantee", "over_time", "wording"}
    assert {field.name for field in fields(Plan)} - told == {"dropout"}  # whom to ask, which no party is told
    assert with_plan(EIGHT, dropout=0.5).document() == EIGHT.document()
    assert {field.name for field in fields(OverTime)} == {*ROUNDS_CHANGES}
    shape = {field.name for field in (*fields(_MEAN), *fields(_EIGHT))}
    assert shape == {"randomizer", "low", "high", "total", "domain"}  # the randomizer is its size and threshold
    # where a bound is stated follows from its name, and what it assumes from the randomizer
    assert {field.name for field in fields(Guarantee)} == {*GUARANTEE_CHANGES, "reference", "caveat"}


@pytest.mark.parametrize("task", [EIGHT, MEAN], ids=["histogram", "mean"])
def test_a13_an_edited_file_is_refused_or_another_task(task: Task) -> None:
    """Every value in the file, changed and the plan's hash made right again."""
    document = task.document()
    for place in places(document):
        value = functools.reduce(lambda inside, name: inside[name], place, document)
        if isinstance(value, dict | list) or place == ("plan", "sha256"):
            continue
        changed = not value if isinstance(value, bool) else f"{value}'" if isinstance(value, str) else value + 1
        try:
            found = Task.from_document(resigned(replaced(document, place, changed)))
        except InvalidInput:
            continue
        assert found.id != task.id
