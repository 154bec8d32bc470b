"""The terms of a collection: each of them is part of what parties agree on, and each has its limits on both sides."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from oracles.parties import EIGHT, PARTIES
from shuffledp import InvalidInput, plan
from shuffledp.core.canonical import LARGEST
from shuffledp.service.task import Task

YEAR = 366 * 24 * 3600
OTHER: dict[str, Any] = {
    "plan": plan("histogram", n=50, epsilon=0.6, delta=1e-2, size=8, honest_fraction=0.9), "window": 59, "max_age": 601,
    "shufflers": ("Alpha", "Gamma"), "analyzer": "Gamma", "honest_fraction": 0.95, "on_expiry": "destroy", "release_margin": 1,
    "allow_same_operator": True,
}  # fmt: skip


@pytest.mark.parametrize("term", OTHER)
def test_whatever_is_agreed_on_has_another_name_if_it_is_another(term: str, tmp_path: Path) -> None:
    """The name is bound into every sealed report; and the file says the same as the task."""
    other = replace(EIGHT, **{term: OTHER[term]})
    assert other != EIGHT
    assert other.id != EIGHT.id
    assert other.document()[term] != EIGHT.document()[term]
    assert Task.from_document(other.document()) == other
    other.save(tmp_path / "task.json")
    assert Task.load(tmp_path / "task.json") == other


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ({"window": 1, "max_age": 1}, {"window": 0}),
        ({"window": 600}, {"window": 601}),
        ({"window": 60, "max_age": 60}, {"max_age": 59}),
        ({"window": YEAR, "max_age": YEAR}, {"max_age": YEAR + 1}),
        ({"shufflers": ("A", "B", "C", "D")}, {"shufflers": ("A", "B", "C", "D", "E")}),
        ({"analyzer": "B" * 200}, {"analyzer": "B" * 201}),
        ({"release_margin": LARGEST - 50}, {"release_margin": LARGEST - 49}),
        ({"release_margin": 0}, {"release_margin": -1}),
        ({"honest_fraction": 1.0}, {"honest_fraction": 1.1}),
        ({"honest_fraction": 0.9}, {"honest_fraction": 0.899}),
    ],
)
def test_every_term_has_limits_that_are_allowed_themselves(good: dict[str, Any], bad: dict[str, Any]) -> None:
    replace(EIGHT, **good)
    with pytest.raises(InvalidInput):
        replace(EIGHT, **bad)


@pytest.mark.parametrize("relied", [900, 901, 999, 1000])
def test_a_plan_relies_on_no_more_honest_reports_than_the_task_assumes(relied: int) -> None:
    """Not on one more."""
    made = plan("histogram", n=1000, epsilon=1.0, delta=1e-3, size=3, honest_fraction=relied / 1000)
    assert made.guarantee.n == relied
    task = Task(plan=made, window=60, max_age=60, **PARTIES | {"honest_fraction": relied / 1000})
    with pytest.raises(InvalidInput, match=rf"relies on {relied:,} honest reports of 1,000"):
        replace(task, honest_fraction=(relied - 1) / 1000)


SPELLED = ["beta", "BETA", "Beta ", "\uff22\uff45\uff54\uff41"]


@pytest.mark.parametrize("places", list(combinations(range(4), 2)), ids=str)
def test_one_party_in_any_two_places_is_told(places: tuple[int, int]) -> None:
    """However it is spelled: two shufflers, or one of them and the analyzer."""
    task = replace(EIGHT, shufflers=("Alpha", "Gamma", "Delta"))
    assert not task.same_operator
    for spelled in SPELLED:
        names = [*task.shufflers, task.analyzer]
        names[places[0]], names[places[1]] = "Beta", spelled
        changes: dict[str, Any] = {"shufflers": tuple(names[:3]), "analyzer": names[3]}
        with pytest.raises(InvalidInput, match="same operator"):
            replace(task, **changes)
        same = replace(task, **changes, allow_same_operator=True)
        assert same.same_operator
        assert same.trust.startswith("One operator runs more than one part")


@pytest.mark.parametrize("margin", [0, 1, 30])
@pytest.mark.parametrize("honest_fraction", [0.9, 1.0])
def test_what_is_trusted_is_what_the_plan_relies_on(margin: int, honest_fraction: float) -> None:
    """Whatever share the task assumes, and whatever it wants beyond the plan's minimum."""
    task = replace(EIGHT, honest_fraction=honest_fraction, release_margin=margin)
    assert task.release_size == 50 + margin
    assert "at least 45 of any 50 reports (90 %)" in task.trust
