"""Planning in Python: what people type first works, is documented, and is the same as on the command line."""

import inspect
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shuffledp
from shuffledp import Certificate, InvalidInput, Plan, PlanWarning, compose, plan, run
from shuffledp.planning import registry
from shuffledp.planning.planner import Asked, Planner

NUMBERS: dict[str, Any] = {"n": 2000, "epsilon": 1, "delta": 1e-6}
ANYTHING: list[Any] = [1000, None]
ASKED: dict[str, dict[str, Any]] = {
    "histogram": {"labels": ["no", "yes"]},
    "mean": {"low": 0, "high": 5},
    "sum": {"high": 2},
    "query": {},
    "distribution": {"low": 0, "high": 10, "resolution": 10},
    "vector": {"ranges": {"age": [0, 100]}, "columns": ["age"]},
    "moments": {"ranges": {"age": [0, 100]}},
    "regression": {"ranges": {"age": [0, 100], "rooms": [0, 9]}, "target": "rooms"},
    "texts": {"candidates": ["a", "b"]},
    "heavy_hitters": {"max_length": 2, "alphabet": "ab"},
    "survey": {"questions": [{"name": name, "ask": "histogram", "size": 2} for name in ("a", "b")], "way": "one"},
}


@pytest.mark.parametrize("question", registry.questions())
def test_every_question_has_a_function_that_lists_what_it_takes(question: str) -> None:
    name = question.replace("-", "_")
    method = getattr(plan, name)
    made, same = method(**ASKED[name], **NUMBERS), plan(question, **ASKED[name], **NUMBERS)
    assert made.explain() == same.explain()
    options = {option.name for option in registry.options_of(question)}
    options -= {"low", "high"} if question == "query" else set()  # it has its range already
    shown = inspect.signature(method).parameters
    assert set(shown) == options | set(Asked.__annotations__)
    described = inspect.getdoc(method) or ""
    assert all(f"{option}: " in described for option in options)
    assert all(f"{name}: " in (inspect.getdoc(Planner) or "") for name in Asked.__annotations__)


def test_a_name_with_either_stroke_is_a_question() -> None:
    assert plan("heavy_hitters", **ASKED["heavy_hitters"], **NUMBERS).question == "heavy-hitters"


def test_errors_and_rounds_are_planned_for() -> None:
    assert plan.mean(epsilon=1, delta=1e-6, rmse_share=0.01).rmse <= 0.01
    assert plan.mean(n=10_000, delta=1e-6, rmse=0.01).guarantee.epsilon < 1
    weekly = plan.mean(n=10_000, epsilon=1, delta=1e-6, rounds=52, rounds_per_person=4)
    assert weekly.over_time is not None
    assert (weekly.over_time.rounds, weekly.over_time.per_person) == (52, 4)


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda: plan(ANYTHING[0], n=1, epsilon=1, delta=1e-6), "the question must be a string"),
        (lambda: plan("histogram", size=2, n=1000, epsilon=1), "needs `delta`"),
        (lambda: plan("histogram", size=2, delta=1e-6), "needs `n` and `epsilon`"),
        (lambda: plan.mean(n=1000, epsilon=1, rmse=0.1, delta=1e-6), "takes the place of `n` or `epsilon`"),
        (lambda: plan("histogram", sizes=2, **NUMBERS), "has no `sizes`: no question does. Did you mean 'size'"),
        (lambda: plan.histogram(labels="no,yes", **NUMBERS), "labels must be several texts"),
        (lambda: plan.histogram(labels=["no", ANYTHING[1]], **NUMBERS), "none of them missing"),
    ],
)
def test_what_cannot_be_meant_is_said(call: Any, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        call()


def test_a_plan_is_saved_and_loaded(tmp_path: Path) -> None:
    made = plan.histogram(labels=[0, 1], **NUMBERS)
    made.save(tmp_path / "plan.json")
    made.save(str(tmp_path / "plan.json"))
    assert Plan.load(str(tmp_path / "plan.json")) == made
    assert json.loads((tmp_path / "plan.json").read_text()) == made.document()
    made.certificate().save(tmp_path / "certificate.json")
    assert Certificate.load(tmp_path / "certificate.json").statement == str(made.certificate())
    with pytest.raises(InvalidInput, match="cannot write"):
        made.save(tmp_path / "nowhere" / "plan.json")
    with pytest.raises(InvalidInput, match="cannot read"):
        Plan.load(tmp_path / "other.json")


def test_a_plan_prints_what_the_command_line_shows() -> None:
    made = plan.histogram(labels=[False, True], **NUMBERS)
    assert str(made) == made.explain()
    assert made.protocol.names == ("false", "true")
    assert repr(made) == "<Plan: histogram of 2,000 users, epsilon = 1, delta = 1e-6>"


def test_answers_are_read_by_name() -> None:
    answer = run(plan.histogram(labels=["no", "yes"], **NUMBERS), ["no", "yes"] * 1000)
    first = answer["no"]
    assert first == answer[0] == next(iter(answer))
    assert float(first) == answer.estimate.value[0]
    low, high = answer.estimate.interval()
    assert (first.low, first.high) == (low[0], high[0])
    assert [one.name for one in answer] == ["no", "yes"]
    wide = answer.to_dict(confidence=0.999)
    assert wide["yes"]["low"] < answer["yes"].low < answer["yes"].estimate == wide["yes"]["estimate"]
    with pytest.raises(InvalidInput, match=r"there is no entry 'yess'\. Did you mean 'yes'"):
        answer["yess"]


def test_plans_and_answers_are_composed() -> None:
    made = plan.query(n=1000, epsilon=0.5, delta=1e-6)
    answer = run(made, [0, 1] * 500, query=float)
    twice = compose(made, answer).epsilon(1e-6)
    assert twice == compose([made, made]).epsilon(1e-6)
    assert 0.5 < twice < 1
    rounds = plan.query(n=1000, epsilon=2, delta=1e-6, rounds=3)
    assert compose(rounds).epsilon(1e-6) == pytest.approx(2, rel=1e-3)
    for wrong in (made.guarantee, 0.5, "plan.json", None):
        with pytest.raises(InvalidInput, match="are composed, not a"):
            compose(made, wrong)  # type: ignore[arg-type]
    simulated = run(made, [0, 1] * 500, query=float, randomness=shuffledp.KeyedRandomness.seeded(1))
    with pytest.raises(InvalidInput, match="has no guarantee"):
        compose(simulated)


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"delta": 0.01}, "above 1/n"),
        ({"epsilon": 11}, "is large"),
        ({"n": 12, "epsilon": 0.1, "delta": 1e-9}, "of the whole range"),
    ],
)
def test_what_is_probably_not_meant_warns_once_at_the_line_that_asked(asked: dict[str, Any], why: str) -> None:
    for ask in (plan.query, lambda **given: plan("query", **given)):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            ask(**NUMBERS | asked)
        assert [(one.category, one.filename) for one in heard] == [(PlanWarning, __file__)]
        assert why in str(heard[0].message)


def test_a_sensible_plan_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plan.query(**NUMBERS)
        plan.mean(low=0, high=1000, **NUMBERS)
        plan.sum(high=1000, **NUMBERS)
        plan.query(n=np.int64(2000), epsilon=np.float32(1), delta=1e-6, rounds=4, rounds_per_person=1)


def test_the_package_shows_its_public_names_only() -> None:
    shown = dir(shuffledp)
    assert set(shuffledp.__all__) <= set(shown)
    assert [name for name in shown if not name.startswith("_") and name not in shuffledp.__all__] == []


def test_a_plan_for_those_who_answer_says_how_many_to_ask() -> None:
    made = plan.histogram(labels=["no", "yes"], n=1000, dropout=0.25, epsilon=1, delta=1e-6)
    assert str(made).endswith("for this, ask 1,000 people, because 25 % of them may not answer")
    assert made == Plan.from_document(made.document())
    assert "people to" not in str(Plan.from_document(made.document()))
