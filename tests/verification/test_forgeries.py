"""Every field of plans, tasks and results, edited and sealed again: nothing false is confirmed, and what is is stated."""

import json
import math
from collections.abc import Callable, Iterator
from decimal import ROUND_CEILING, Context, Decimal
from functools import cache
from typing import Any

import pandas as pd
import pytest

from oracles.forgery import Place, forged, resealed
from oracles.parties import ANALYZER, PARTIES, released, sealed, serving
from oracles.scale import full
from shuffledp import Plan, plan, run, verify
from shuffledp.planning.rounds import plan_rounds
from shuffledp.service.analyzer.analyzer import analyze
from shuffledp.service.analyzer.ledger import Ledger
from shuffledp.service.task import Task
from shuffledp.verification.verify import Verification

NUMBERS: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6}
HERE = "(replace-one neighbours, number of users public)"
SAYS = "-differentially private after shuffling"
LOCALLY = "differentially private for whoever sees messages before they are shuffled"
Document = dict[str, Any]


@cache
def planned(name: str) -> Plan:
    if name == "labels":
        made = plan("histogram", n=3000, labels=["a", "b", "c"], honest_fraction=0.8, **NUMBERS)
        return made.worded(title="Letters")
    if name == "rounds":
        rounds: dict[str, Any] = {"rounds": 4, "rounds_per_person": 2, "epsilon": 4.0, "delta": 1e-2}
        return plan_rounds("histogram", n=60, labels=["a", "b"], **rounds)
    return plan("histogram", n=2000, labels=["no", "yes"], **NUMBERS)


def as_file(document: Any) -> Document:
    found: Document = json.loads(json.dumps(document))
    return found


@cache
def task_and_result() -> tuple[Task, Document, Document]:
    """A task of the service, and its answer with a ledger."""
    task = Task(
        plan=plan("histogram", n=50, epsilon=1.0, delta=1e-2, labels=["a", "b"]).worded(title="Letters"),
        window=60, max_age=600, **PARTIES,
    )  # fmt: skip
    shuffler = serving(task)
    shuffler.accept(task.id, [sealed(record % 2, task) for record in range(60)])
    _, batch = released(shuffler, task)
    return task, as_file(task.document()), as_file(analyze(batch, task, ANALYZER).document())


@cache
def result_of_a_run() -> Document:
    values = ["a", "b", "c"] * 1100
    return as_file(run(planned("labels"), values, truth=True).document())


@cache
def result_of_people_with_several_rows() -> Document:
    people = pd.DataFrame({"letter": ["a", "b", "c"] * 1100, "who": [j // 3 for j in range(3300)]})
    answer = run(planned("labels"), people, column="letter", user="who", max_rows_per_user=3)
    assert answer.certificate is None
    return as_file(answer.document())


# What is expected to be stated


def up(value: float) -> str:
    """Seven digits, rounded up."""
    return f"{Decimal(value).normalize(Context(prec=7, rounding=ROUND_CEILING)):g}"


def crowd(honest: int, reports: int) -> str:
    return f"{honest:,} honest reports" + ("" if honest == reports else f" among {reports:,} or more")


def locally(epsilon: float | None) -> list[str]:
    return [] if epsilon is None or math.isinf(epsilon) else [f"({up(epsilon)}, 0)-{LOCALLY}"]


def promised(document: Document) -> list[str]:
    """All that a plan promises, in words, from its own fields."""
    promise = document["guarantee"]
    who = crowd(int(promise["n"]), int(document["min_batch"]))
    found = [f"({up(promise['epsilon'])}, {up(promise['delta'])}){SAYS} {who} {HERE}"]
    if "over_time" in document:
        total = document["over_time"]
        often = "" if total["per_person"] == 1 else f", over {total['per_person']:,} rounds"
        whom = f", for whoever takes part in at most {total['per_person']:,} of {total['rounds']:,} rounds"
        said = f"({up(total['epsilon'])}, {up(total['delta'])}){SAYS} {who}{often} {HERE}"
        found.append(said + ("" if total["per_person"] == total["rounds"] else whom))
    size, gamma = (int(document["protocol"]["randomizer"][name]) for name in ("size", "threshold"))
    blanket = gamma / 2**64 / size
    found += locally(math.log((1 - gamma / 2**64 + blanket) / blanket))
    return found


def told(document: Document) -> list[str]:
    """All that a result promises people with one row each, from its own fields and its certificate's."""
    said, claim, served = document["guarantee"], document["certificate"]["claim"], document["task"] is not None
    shuffled = document["received" if served else "n"]
    found = [
        f"({up(said['epsilon'])}, {up(said['delta'])}){SAYS} {crowd(int(claim['honest']), int(claim['reports']))} {HERE}",
        f"({up(said['realised_epsilon'])}, {up(said['delta'])}){SAYS} {crowd(said['realised_honest'], shuffled)} {HERE}",
    ]
    return [*dict.fromkeys(found), *locally(said["epsilon_if_shuffler_and_analyzer_collude"])]


def same_words(found: list[str], expected: list[str]) -> bool:
    """Equal, but for the last digit of a local epsilon, which is computed here in doubles."""
    if found[:-1] != expected[:-1]:
        return False
    (left, ours), (right, theirs) = (one[-1].removeprefix("(").split(", ", 1) for one in (found, expected))
    return ours == theirs and math.isclose(float(left), float(right), rel_tol=1e-6)


# What is still true


def true_of_a_plan(at: Place, made: Document, honest: Document) -> bool:
    """Whether what an edited plan says follows from what the honest one promises truly."""
    new, old = made["guarantee"], honest["guarantee"]
    one = new["epsilon"] >= old["epsilon"] and new["delta"] >= old["delta"] and new["n"] >= old["n"]
    drawn = [each["protocol"]["randomizer"] for each in (made, honest)]
    noisier = int(drawn[0]["threshold"]) >= int(drawn[1]["threshold"]) and drawn[0]["size"] <= drawn[1]["size"]
    many = "over_time" not in made or (
        made["over_time"]["epsilon"] >= honest["over_time"]["epsilon"]
        and made["over_time"]["delta"] >= honest["over_time"]["delta"]
        and made["over_time"]["per_person"] <= honest["over_time"]["per_person"]
    )
    shown = at[0] not in ("local", "forecast", "certificate") or at[0] not in made or "made_with" in at
    return one and many and noisier and shown and new["n"] <= made["min_batch"] and new["adjacency"] == "replace-one"


@pytest.mark.parametrize("certified", [True, False], ids=["certified", "bare"])
@pytest.mark.parametrize("name", ["labels", "rounds", "coin"])
def test_a_plan_that_was_edited_is_confirmed_only_if_it_is_true(name: str, certified: bool) -> None:
    made = planned(name)
    honest = as_file(made.document() if certified else made.promise())
    before = verify(honest)
    assert before.confirmed
    assert same_words(list(before.proved), promised(honest))
    tried, confirmed = 0, 0
    for number, (at, edited) in enumerate(forged(honest)):
        if name == "rounds" and (at[0] not in ("over_time", "certificate") or number % 4) and not full(0, 1):
            continue  # to prove rounds takes a moment
        tried += 1
        found = verify(edited)
        if found.confirmed:
            confirmed += 1
            assert true_of_a_plan(at, edited, honest), (at, found)
            assert same_words(list(found.proved), promised(edited)), (at, found)
        else:
            assert found.reason
    assert tried >= (full(10, 40) if name == "rounds" else 120)
    assert confirmed >= (
        full(2, 8) if name == "rounds" else 8
    )  # a larger epsilon is still true, and is said to be just that


FIELDS_OF_NO_PLAN = ("window", "max_age", "shufflers", "analyzer", "honest_fraction", "on_expiry", "release_margin")


def test_a_task_that_was_edited_is_confirmed_only_if_it_is_true() -> None:
    task, honest, _ = task_and_result()
    assert verify(honest).confirmed
    tried, confirmed = 0, 0
    for at, edited in forged(honest):
        tried += 1
        found = verify(edited)
        if not found.confirmed:
            continue
        confirmed += 1
        assert true_of_a_plan(at[1:] or at, edited["plan"], honest["plan"]), (at, found)
        assert same_words(list(found.proved), promised(edited["plan"])), (at, found)
        assert edited["honest_fraction"] * edited["plan"]["min_batch"] >= edited["plan"]["guarantee"]["n"]
        assert any("do not collude" in one for one in found.unproved)
    assert tried >= 200
    assert confirmed >= 10
    assert task.id


def test_a_task_of_one_party_says_against_whom_it_promises_nothing() -> None:
    _, honest, _ = task_and_result()
    alone = honest | {"analyzer": honest["shufflers"][0]}
    assert verify(alone).verdict == "refused"
    found = verify(alone | {"allow_same_operator": True})
    assert found.confirmed
    assert "whoever runs more than one part" in found.unproved[0]
    assert "whoever runs more than one part" not in " ".join(verify(honest).unproved)


# Results

NAMED = {
    "estimate": "the estimates", "also": "the estimates", "max_shift_per_false_report": "what a false report changes",
    "notes": "the notes", "truth": "exact answer", "adjusted": "exact numbers", "rejected": "exact numbers",
    "batch": "batch", "ledger": "ledger", "question": "question", "measure": "question", "measures": "question",
    "wording": "question", "plan": "the plan it names", "trust": "whom to trust", "task": "of the task it names",
}  # fmt: skip
"""Fields of a result that no proof is about, and what is said to be unproved then."""


def true_of_a_result(at: Place, made: Document, honest: Document, found: Verification) -> bool:
    """Whether an edited result says nothing but the truth, or is said to be unproved where it may not."""
    new, old, alone = made["guarantee"], honest["guarantee"], "epsilon_if_shuffler_and_analyzer_collude"
    if at[0] in NAMED:
        return made[at[0]] is None or any(NAMED[str(at[0])] in one for one in found.unproved)
    if at[0] == "certificate":
        return "made_with" in at
    if at == ("guarantee", "unit"):
        return any(f"({new['unit']})" in one for one in found.unproved)
    larger = new["realised_epsilon"] >= old["realised_epsilon"] and new["realised_honest"] >= old["realised_honest"] - 1
    local = new[alone] is None or new[alone] >= old[alone]
    return larger and local and at[0] == "guarantee"


def cases() -> Iterator[tuple[str, Document, list[Document]]]:
    """Results, and what is beside them."""
    task, agreed, served = task_and_result()
    yield "run", result_of_a_run(), []
    yield "run beside its plan", result_of_a_run(), [as_file(planned("labels").document())]
    yield "service", served, []
    yield "service beside its task", served, [agreed]
    yield "several rows", result_of_people_with_several_rows(), [as_file(planned("labels").document())]
    assert task.id == served["task"]


@pytest.mark.parametrize("case", range(5))
def test_a_result_that_was_edited_is_confirmed_only_if_it_is_true(case: int) -> None:
    name, honest, beside = list(cases())[case]
    before = verify(honest, beside=beside)
    assert before.confirmed, before
    if name != "several rows":
        assert same_words(list(before.proved), told(honest))
    tried, known = 0, bool(beside)
    for number, (at, edited) in enumerate(forged(honest)):
        if at[0] in NAMED and len(at) > 1 and number % full(5, 1):
            continue  # every fifth within what is unproved anyway
        tried += 1
        found = verify(edited, beside=beside)
        if not found.confirmed:
            continue
        assert true_of_a_result(at, edited, honest, found), (at, found)
        if name != "several rows":
            assert same_words(list(found.proved), told(edited)), (at, found)
        if known:
            assert at[0] not in ("question", "measure", "measures", "wording", "trust")
    assert tried >= 140


def test_people_with_several_rows_need_the_plan() -> None:
    honest = result_of_people_with_several_rows()
    found = verify(honest)
    assert found.verdict == "cannot be verified"
    assert "give the plan" in found.reason
    proved = verify(honest, beside=[as_file(planned("labels").document())]).proved
    said = honest["guarantee"]
    assert proved[0] == (
        f"({up(said['epsilon'])}, 0.000001)-differentially private after shuffling 2,640 honest rows among 3,300 or more, for "
        "people with at most 3 rows (neighbours differ in all rows of one person, number of rows public)"
    )
    assert proved[1].endswith("before they are shuffled, of a person with at most 3 rows")
    for name, value in (("epsilon", said["epsilon"] * 0.98), ("unit", "one person = at most 4 rows")):
        forgery = as_file(honest)
        forgery["guarantee"] |= {name: value} | ({"realised_epsilon": value} if name == "epsilon" else {})
        if name == "unit":
            forgery["guarantee"] |= {
                "bound": "best, group of 4", "adjacency": "replace one person's rows, at most 4",
            }  # fmt: skip
        refused = verify(forgery, beside=[as_file(planned("labels").document())])
        assert refused.verdict == "refused"
        assert "could not be proved" in refused.reason


def test_a_result_is_compared_with_its_plan_and_its_task() -> None:
    honest, beside = result_of_a_run(), [as_file(planned("labels").document())]
    assert not any("the plan it names" in one for one in verify(honest, beside=beside).unproved)
    assert any("the plan it names" in one for one in verify(honest).unproved)
    for edited in (
        honest | {"question": "mean"},
        honest | {"wording": {"title": "Votes", "question": None, "unit": None}},
        honest | {"measure": "mean"},
        honest | {"plan": planned("coin").sha256},
    ):
        assert verify(edited, beside=[*beside, as_file(planned("coin").document())]).verdict == "refused"
    task, agreed, served = task_and_result()
    assert verify(served, beside=[agreed]).confirmed
    assert verify(served, beside=[as_file(task.plan.document())]).confirmed
    assert verify(served | {"trust": "Nobody needs to be trusted."}, beside=[agreed]).verdict == "refused"
    assert any("whom to trust" in one for one in verify(served).unproved)
    forged_plan = as_file(planned("labels").document()) | {"min_batch": 2}
    assert verify(honest, beside=[forged_plan]).verdict == "refused"  # it claims the hash and does not have it
    stranger: list[Any] = [None, 7, [], {"protocol": 1}, {"shufflers": "\ud800"}, {"shufflers": float("nan")}]
    for strange in stranger:
        assert verify(served, beside=[strange]).confirmed


@pytest.mark.parametrize("beside", [False, True])
def test_a_result_counts_no_more_of_its_reports_as_honest_than_its_plan_does(beside: bool) -> None:
    """What it would promise if all were honest is true of them, but not what its plan relies on."""
    honest, made = result_of_a_run(), planned("labels")
    plans = [as_file(made.document())] if beside else []
    assert (honest["n"], honest["guarantee"]["realised_honest"]) == (3300, 2640)
    for relied, verdict in ((2639, "confirmed"), (2640, "confirmed"), (2641, "refused"), (3300, "refused")):
        said = {"realised_honest": relied, "realised_epsilon": made.epsilon_at(relied)}
        found = verify(honest | {"guarantee": honest["guarantee"] | said}, beside=plans)
        assert found.verdict == verdict, relied
        assert found.confirmed or "more honest reports than its plan does" in found.reason


def test_one_document_beside_a_result_is_as_good_as_a_list_of_it(tmp_path: Any) -> None:
    honest, made = result_of_a_run(), planned("labels")
    made.save(tmp_path / "plan.json")
    expected = verify(honest, beside=[made])
    for one in (made, as_file(made.document()), tmp_path / "plan.json", str(tmp_path / "plan.json")):
        assert verify(honest, beside=one) == expected
    assert expected.confirmed
    assert expected.proved != verify(honest).proved or expected.unproved != verify(honest).unproved
    nothing = verify(honest, beside=7)
    assert (nothing.verdict, "`beside` must be plans and tasks" in nothing.reason) == ("refused", True)


def test_what_a_ledger_says_is_not_proved(tmp_path: Any) -> None:
    task, _, _ = task_and_result()
    shuffler = serving(task)
    shuffler.accept(task.id, [sealed(record % 2, task) for record in range(60)])
    _, batch = released(shuffler, task)
    ledger = Ledger(tmp_path / "ledger", epsilon=2.0, delta=1e-2)
    answer = as_file(analyze(batch, task, ANALYZER, ledger=ledger).document())
    found = verify(answer)
    assert found.confirmed
    assert any("ledger" in one for one in found.unproved)


def test_a_simulation_promises_nothing() -> None:
    assert verify(result_of_a_run() | {"guarantee": None}).verdict == "cannot be verified"


# Documents of several kinds


def test_a_document_that_is_several_at_once_is_none() -> None:
    made, result = as_file(planned("labels").document()), result_of_a_run()
    _, task, served = task_and_result()
    certificate = made["certificate"]
    whole = [made, result, task, served, certificate]
    for one in whole:
        assert verify(one).confirmed
        for other in whole:
            if one is not other:
                for mixed in (one | other, other | one):
                    assert not verify(mixed).confirmed or mixed in (one, other)
        assert verify(one | {"note": "(0.01, 1e-9)-differentially private"}).verdict == "refused"


def test_the_forgeries_of_old_are_refused() -> None:
    """Each of these was confirmed once."""
    honest = as_file(planned("rounds").document())
    truthful = as_file(honest)
    truthful["protocol"]["randomizer"]["threshold"] = "1"
    every_day = as_file(honest)
    every_day["over_time"] |= {"rounds": 365, "per_person": 365}
    others = as_file(honest)
    others["guarantee"]["adjacency"] = "add-remove"
    few = as_file(planned("labels").document())
    few["min_batch"] = 2
    for made in (truthful, every_day, others, few):
        assert verify(resealed(made)).verdict == "refused"
    assert verify(result_of_a_run() | {"n": 3}).verdict == "refused"


def test_what_is_proved_is_said_even_where_something_else_is_not() -> None:
    """A round is proved, all rounds together are not, and both are said."""
    made = as_file(planned("rounds").promise())
    made["over_time"]["epsilon"] *= 0.9
    one, all_rounds, _ = promised(made)
    honest = verify(as_file(planned("rounds").promise()))
    assert honest.not_proved == []
    found = verify(resealed(made))
    assert found.verdict == "refused"  # the accountant refuses it, so that nothing is said of a claim
    lower = result_of_a_run()
    lower["guarantee"]["realised_epsilon"] *= 0.5
    found = verify(lower)
    assert found.verdict == "refused"
    assert found.proved == [told(lower)[0], found.claims[-1]]
    assert found.not_proved[0] == told(lower)[1]
    assert found.document()["not_proved"] == found.not_proved
    assert found.reached is not None
    assert found.reached > lower["guarantee"]["delta"]
    assert one != all_rounds


def test_there_are_five_hundred_forgeries_without_those_of_certificates() -> None:
    documents: list[Callable[[], Document]] = [
        lambda: as_file(planned("labels").promise()),
        lambda: as_file(planned("coin").promise()),
        lambda: task_and_result()[1],
        result_of_a_run,
        lambda: task_and_result()[2],
    ]
    count = 0
    for document in documents:
        for at, _ in forged(document()):
            count += "certificate" not in at
    assert count >= 500
