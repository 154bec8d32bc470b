"""Every field of plans, tasks and results, edited and sealed again: nothing false is confirmed, and what is is stated."""

import json
from decimal import ROUND_CEILING, Context, Decimal
from functools import cache
from typing import Any

import numpy as np
import pytest

from oracles.forgery import Place, forged, resealed
from oracles.parties import ANALYZER, PARTIES, released, sealed, serving
from shuffledp import Plan, plan, run, verify
from shuffledp.esa.analyzer import analyze
from shuffledp.esa.task import Task
from shuffledp.planning.rounds import plan_rounds

NUMBERS: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6}
HERE = "(replace-one neighbours, number of users public)"
SAYS = "-differentially private after shuffling"


@cache
def planned(name: str) -> Plan:
    if name == "labels":
        made = plan("histogram", n=3000, labels=["a", "b", "c"], honest_fraction=0.8, **NUMBERS)
        return made.worded(title="Letters")
    if name == "rounds":
        return plan_rounds("mean", n=4000, rounds=40, rounds_per_person=20, **NUMBERS)
    return plan("histogram", n=2000, labels=["no", "yes"], **NUMBERS)


def as_file(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(document))
    return found


def up(value: float) -> str:
    """Seven digits, rounded up."""
    return f"{Decimal(value).normalize(Context(prec=7, rounding=ROUND_CEILING)):g}"


def promised(document: dict[str, Any]) -> list[str]:
    """What a plan promises after shuffling, in words, from its own fields."""
    promise, least = document["guarantee"], int(document["min_batch"])
    honest = f"{int(promise['n']):,} honest reports" + ("" if promise["n"] == least else f" among {least:,} or more")
    found = [f"({up(promise['epsilon'])}, {up(promise['delta'])}){SAYS} {honest} {HERE}"]
    if "over_time" in document:
        total = document["over_time"]
        often = "" if total["per_person"] == 1 else f", over {total['per_person']:,} rounds"
        whom = f", for whoever takes part in at most {total['per_person']:,} of {total['rounds']:,} rounds"
        said = f"({up(total['epsilon'])}, {up(total['delta'])}){SAYS} {honest}{often} {HERE}"
        found.append(said + ("" if total["per_person"] == total["rounds"] else whom))
    return found


def weaker(document: dict[str, Any], honest: dict[str, Any]) -> bool:
    """Whether what a plan promises follows from what another promises truly, of the same randomizer or a noisier one."""
    new, old = document["guarantee"], honest["guarantee"]
    one = new["epsilon"] >= old["epsilon"] and new["delta"] >= old["delta"] and new["n"] >= old["n"]
    threshold = [int(each["protocol"]["randomizer"]["threshold"]) for each in (document, honest)]
    many = "over_time" not in document or (
        document["over_time"]["epsilon"] >= honest["over_time"]["epsilon"]
        and document["over_time"]["delta"] >= honest["over_time"]["delta"]
        and document["over_time"]["per_person"] <= honest["over_time"]["per_person"]
    )
    return one and many and new["n"] <= document["min_batch"] and threshold[0] >= threshold[1]


def no_promise(at: Place) -> bool:
    """Whether this place says nothing that a guarantee is about: which values there are, texts, and a version."""
    return at[0] == "wording" or (at[:2] == ("protocol", "domain") and len(at) > 2) or "made_with" in at


@pytest.mark.parametrize("name", ["labels", "rounds", "coin"])
def test_a_plan_beside_a_certificate_of_something_else_is_refused(name: str) -> None:
    honest, tried = as_file(planned(name).document()), 0
    assert verify(honest).confirmed
    for at, made in forged(honest):
        left = at[0] == "over_time" or (len(at) == 1 and at[0] in ("local", "forecast", "certificate"))
        if no_promise(at) or left:  # rounds are not in the certificate: the next test has them
            continue
        tried += 1
        found = verify(made)
        assert not found.confirmed, (at, found)
        assert not found.proved
    assert tried >= 150


@pytest.mark.parametrize("name", ["labels", "rounds", "coin"])
def test_a_plan_without_a_certificate_is_confirmed_only_if_it_is_true(name: str) -> None:
    honest, tried, true = as_file(planned(name).promise()), 0, 0
    for at, made in forged(honest):
        if no_promise(at) or (name == "rounds" and at[0] != "over_time"):  # to prove rounds takes a moment
            continue
        tried += 1
        found = verify(made)
        if found.confirmed:
            true += 1
            assert weaker(made, honest), (at, found)
            assert list(found.proved[: len(promised(made))]) == promised(made), at
    assert tried >= (30 if name == "rounds" else 60)
    assert true >= 3  # a larger epsilon or delta is still true, and is said to be just that


def test_the_forgeries_of_old_are_refused() -> None:
    """Each of these was confirmed once."""
    honest = as_file(planned("rounds").document())
    truthful = json.loads(json.dumps(honest))
    truthful["protocol"]["randomizer"]["threshold"] = "1"
    every_day = json.loads(json.dumps(honest))
    every_day["over_time"] |= {"rounds": 365, "per_person": 365}
    others = json.loads(json.dumps(honest))
    others["guarantee"]["adjacency"] = "add-remove"
    few = json.loads(json.dumps(as_file(planned("labels").document())))
    few["min_batch"] = 2
    for made in (truthful, every_day, others, few):
        assert verify(resealed(made)).verdict == "refused"


@pytest.mark.parametrize("name", ["labels", "rounds"])
def test_all_rounds_of_a_plan_are_proved(name: str) -> None:
    made = planned(name)
    found = verify(as_file(made.document()))
    assert [one for one in found.proved if "rounds" in one] == (
        promised(made.document())[1:] if name == "rounds" else []
    )


def of_the_service() -> tuple[Task, dict[str, Any]]:
    task = Task(
        plan=plan("histogram", n=50, epsilon=1.0, delta=1e-2, labels=["a", "b"]), window=60, max_age=600, **PARTIES
    )
    shuffler = serving(task)
    shuffler.accept(task.id, [sealed(record % 2, task) for record in range(60)])
    _, batch = released(shuffler, task)
    return task, as_file(analyze(batch, task, ANALYZER).document())


def of_a_run() -> tuple[Plan, dict[str, Any]]:
    made = planned("labels")
    return made, as_file(run(made, np.array(["a", "b", "c"] * 1100)).document())


UNPROVED = {
    "question", "measure", "measures", "wording", "estimate", "also", "adjusted", "truth", "max_shift_per_false_report",
    "plan", "batch", "trust", "ledger", "notes",
}  # fmt: skip
"""Fields of a result that no proof is about, which are named as such."""


@pytest.mark.parametrize("make", [of_a_run, of_the_service])
def test_a_result_that_was_edited_is_refused(make: Any) -> None:
    _, honest = make()
    assert verify(honest).confirmed, verify(honest)
    tried = 0
    for at, made in forged(honest):
        kept = at[0] in made  # a field that is missing is refused, whatever it says
        if (at[0] in UNPROVED and kept) or "made_with" in at:
            continue
        tried += 1
        found = verify(made)
        if found.confirmed:
            assert true_of_a_result(at, made, honest), (at, found)
            assert any(f"{made['guarantee']['realised_honest']:,} honest reports" in one for one in found.proved)
    assert tried >= 150


def true_of_a_result(at: Place, made: dict[str, Any], honest: dict[str, Any]) -> bool:
    """Whether an edited result still says nothing but the truth: a larger epsilon, or a larger crowd."""
    new, old, alone = made["guarantee"], honest["guarantee"], "epsilon_if_shuffler_and_analyzer_collude"
    larger = new["realised_epsilon"] >= old["realised_epsilon"]
    local = new[alone] is None or new[alone] >= old[alone]
    return bool(larger and local and made["n"] >= honest["n"]) and at[0] in (
        "guarantee",
        "n",
        "received",
        "rejected",
        "task",
    )


def test_a_result_is_compared_with_its_plan() -> None:
    made, honest = of_a_run()
    plans = {made.sha256: as_file(made.document())}
    found = verify(honest, plans=plans)
    assert found.confirmed
    assert not any("the plan it names" in one for one in found.unproved)
    assert any("the plan it names" in one for one in verify(honest).unproved)
    assert verify(honest | {"question": "mean"}, plans=plans).verdict == "refused"
    other = planned("coin")
    claimed = honest | {"plan": other.sha256}
    assert verify(claimed, plans={other.sha256: as_file(other.document())}).verdict == "refused"


def test_a_task_is_confirmed_only_with_a_true_plan() -> None:
    task, _ = of_the_service()
    honest, tried = as_file(task.document()), 0
    assert verify(honest).confirmed
    assert any("do not collude" in one for one in verify(honest).unproved)
    for at, made in forged(honest):
        if at[0] != "plan" or len(at) < 2 or no_promise(at[1:]):
            continue
        tried += 1
        found = verify(made)
        if found.confirmed:
            assert weaker(made["plan"], honest["plan"]), (at, found)
            assert found.proved[0] == promised(made["plan"])[0]
    assert tried >= 50
