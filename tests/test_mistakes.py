"""Mistakes that people make in Python, each with what its error must say; most were tried by hand first."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import shuffledp
from shuffledp import Guarantee, InvalidInput, Session, compose, plan
from shuffledp.service.task import Task

DOOR: Any = shuffledp
ASK: Any = plan
ASKED: dict[str, Any] = {"n": 1000, "epsilon": 1, "delta": 1e-6}
COUNT = plan.histogram(labels=["no", "yes"], **ASKED)
MEAN = plan.mean(low=0, high=99, **ASKED)
PEOPLE = ["no", "yes"] * 500
TABLE = pd.DataFrame({"answer": PEOPLE, "age": range(1000)})
SMOKES = {"name": "smokes", "ask": "histogram", "labels": ["no", "yes"]}
PROMISE = {"bound": "best", "reference": ""}

PLANS: list[tuple[Callable[[], Any], str]] = [
    # questions
    (lambda: ASK("median", **ASKED), "A distribution has the median"),
    (lambda: ASK("std", **ASKED), "the mean of the squares less the square of the mean"),
    (lambda: ASK("corr", **ASKED), "shows how two columns go together"),
    (lambda: ASK("mean", 1000, 1, 1e-6), "Write e.g. plan('mean', n=1000"),
    (lambda: ASK.histogram(["no", "yes"], **ASKED), "Write e.g. plan.histogram(labels=..., n=1000)"),
    (lambda: ASK.mean(0, 99, **ASKED), "Write e.g. plan.mean(low=..., n=1000)"),
    # names
    (lambda: ASK.mean(eps=1, n=1000, delta=1e-6), "a mean has no `eps`: no question does. Did you mean 'epsilon'?"),
    (lambda: ASK.mean(N=1000, epsilon=1, delta=1e-6), "Did you mean 'n'?"),
    (lambda: ASK.mean(min=0, max=9, **ASKED), "Did you mean 'low'?"),
    (lambda: ASK.histogram(bins=5, **ASKED), "Did you mean 'size'?"),
    (lambda: ASK.histogram(categories=["a", "b"], **ASKED), "Did you mean 'labels'?"),
    (lambda: ASK.mean(group_by="city", **ASKED), "Did you mean 'by'?"),
    (lambda: ASK("mean", honest=0.9, **ASKED), "Did you mean 'honest_fraction'?"),
    (lambda: ASK("mean", labels=["a", "b"], **ASKED), "a mean has no `labels`: it is for histogram"),
    (lambda: ASK("mean", frobnicate=1, **ASKED), "no question does. Leave it out."),
    # units and numbers
    (lambda: plan.mean(honest_fraction=90, **ASKED), "follow the protocol: 0.9 for 90 %"),
    (lambda: plan.mean(dropout=20, **ASKED), "do not answer: 0.2 for 20 %"),
    (lambda: plan.mean(precision=0, **ASKED), "`precision` must be at least 1"),
    (lambda: plan.mean(rounds=12, rounds_per_person=13, **ASKED), "`rounds_per_person` must be from 1 to 12"),
    (lambda: plan.mean(rounds_per_person=2, **ASKED), "Add `rounds`"),
    (lambda: plan.mean(n=1000, delta=1e-6, rmse=0.1, rmse_share=0.1), "the same error in two units"),
    (lambda: plan.mean(n=1000, delta=1e-6, rmse=0.1, paper=True), "Leave out `paper`"),
    (lambda: plan.mean(delta=1e-6, rmse=0.1), "Give the other one"),
    # labels and groups
    (lambda: plan.histogram(**ASKED), "Give `labels`, or `size`"),
    (lambda: plan.histogram(labels=[], **ASKED), "there is no label. Name at least two"),
    (lambda: ASK.histogram(labels="no,yes", **ASKED), "got a str. Give a list of them"),
    (lambda: ASK.histogram(labels={"no", "yes"}, **ASKED), "labels must be in an order, and a set has none"),
    (lambda: ASK.histogram(labels=TABLE, **ASKED), "got a DataFrame"),
    (lambda: ASK.histogram(labels=np.array([["a", "b"]]), **ASKED), "got a ndarray"),
    (lambda: ASK.histogram(labels=["a", float("nan")], **ASKED), "none of them missing"),
    (lambda: plan.histogram(labels=TABLE["answer"], **ASKED), "'no' is listed twice"),
    (lambda: plan.histogram(labels=["a", "b"], low=0, high=1, **ASKED), "labels are not a range of numbers"),
    (lambda: plan.histogram(size=3, high=1, **ASKED), "Give both `low` and `high`"),
    (lambda: plan.mean(by={"city": ["Bern"]}, **ASKED), "column 'city': there is only one label"),
    (lambda: plan.mean(by={"city": []}, **ASKED), "column 'city': there is no label"),
    # texts and surveys
    (lambda: plan.heavy_hitters(max_length=0, **ASKED), "`max_length` must be from 1"),
    (lambda: plan.heavy_hitters(max_length=5, alphabet="", **ASKED), "`alphabet` has no letters"),
    (lambda: plan.survey(questions=[SMOKES, "age"], **ASKED), 'e.g. {"name": "smokes"'),  # type: ignore[list-item]
    (lambda: plan.survey(questions=[SMOKES, {"name": "a", "ask": "median"}], **ASKED), "'a': there is no question 'median'"),
    (lambda: plan.survey(questions=[SMOKES, {"name": "a", "ask": "mean", "max": 1}], **ASKED), "Did you mean 'high'?"),
]  # fmt: skip
OTHERS: list[tuple[Callable[[], Any], str]] = [
    (lambda: Guarantee(epsilon=-1, delta=1e-6, n=100, **PROMISE), "epsilon must be at least 0"),
    (lambda: Guarantee(epsilon=1, delta=2, n=100, **PROMISE), "delta must be from 0 to 1"),
    (lambda: Guarantee(epsilon=1, delta=1e-6, n=0, **PROMISE), "n must be from 1"),
    (lambda: DOOR.account(DOOR.Laplace(epsilon0=1), n=1000), "`epsilon` and `delta` are left out"),
    (lambda: DOOR.account(DOOR.Laplace(epsilon0=1), **ASKED), "Leave out one"),
    (lambda: DOOR.run_file(COUNT, "folder.csv", column="answer"), "there is no file"),
    (lambda: DOOR.run_file(COUNT, "*.csv", column="answer"), "a list in Python"),
    (lambda: DOOR.run_file(COUNT, "people.xlsx", column="answer"), 'save it as "CSV UTF-8"'),
    (lambda: DOOR.run_file(COUNT, "people.zip", column="answer"), "Unpack it."),
    (lambda: DOOR.run_file(COUNT, "answer\nyes\nno\n", column="answer"), "`path` is a long string"),
    (lambda: DOOR.run(COUNT, TABLE), "Give `column` or `query`"),
    (lambda: DOOR.Plan.from_document(DOOR.run(COUNT, PEOPLE).document()), "this is not a plan but an answer"),
    (lambda: DOOR.Plan.from_document(COUNT.certificate().document()), "this is not a plan but a certificate"),
    (lambda: Task.from_document(COUNT.document()), "Make one of it with shuffledp task new"),
    (lambda: DOOR.run(MEAN, TABLE.assign(age="1,5"), column="age"), "decimal commas"),
    (lambda: compose(0.5), "not a float"),  # type: ignore[arg-type]
]  # fmt: skip


@pytest.mark.parametrize(("call", "said"), PLANS + OTHERS)
def test_what_to_do_is_said(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        call()
    assert said in str(refused.value)


def test_what_is_no_question_of_the_planner_is_named_by_the_one_that_answers_it() -> None:
    with pytest.raises(AttributeError, match="A distribution has the median"):
        ASK.median(**ASKED)
    assert not hasattr(plan, "__wrapped__")


def test_a_randomizer_that_hides_nobody_needs_other_probabilities_and_not_more_users() -> None:
    identity = DOOR.Channel(matrix=[[1, 0], [0, 1]])
    with pytest.raises(DOOR.NoClaim, match="hide nobody, however many they are"):
        DOOR.account(identity, n=1000, delta=1e-6)


def test_a_session_counts_no_try_that_is_refused_before_anything_is_read() -> None:
    session: Any = Session(epsilon=1.5, delta=1e-6)
    tries: list[Callable[[], Any]] = [
        lambda: session.run(COUNT, PEOPLE, missing="drop"),
        lambda: session.run(COUNT, PEOPLE, missing_as="maybe"),
        lambda: session.run(PEOPLE, COUNT),
        lambda: session.run("plan.json", PEOPLE),
        lambda: session.run(COUNT, PEOPLE, mising="skip"),
        lambda: session.run_file(COUNT, "people.csv", sep=";"),
    ]
    for one in tries:
        with pytest.raises((InvalidInput, TypeError)):
            one()
    assert session.spent == 0
    with pytest.raises(InvalidInput, match="The session counts this attempt"):
        session.run(COUNT, PEOPLE[:3])
    assert session.spent > 0


def test_a_result_beside_another_plan_is_not_confirmed() -> None:
    answer = DOOR.run(COUNT, PEOPLE)
    assert DOOR.verify(answer).confirmed
    assert DOOR.verify(answer, beside=[COUNT, MEAN]).confirmed
    other = DOOR.verify(answer, beside=[MEAN])
    assert not other.confirmed
    assert "none of the plans and tasks given" in other.reason


def test_the_content_of_a_file_given_as_its_name_is_not_shown() -> None:
    for call in (DOOR.Plan.load, DOOR.Result.load, lambda text: DOOR.run_file(COUNT, text, column="answer")):
        with pytest.raises(InvalidInput) as refused:
            call("answer\nsecret\n")
        assert "secret" not in str(refused.value)
