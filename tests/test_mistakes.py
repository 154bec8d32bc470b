"""Mistakes that people make in Python, each with what its error must say; most were tried by hand first."""

from collections.abc import Callable
from pathlib import Path
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
    (lambda: ASK.vector(ranges={"income": 80_000}, **ASKED), "`ranges` has two numbers for each column"),
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


def test_a_result_is_verified_beside_what_it_names_by_name() -> None:
    answer = shuffledp.run(COUNT, PEOPLE)
    with pytest.raises(InvalidInput, match=r'verify\(result, beside="plan\.json"\)'):
        DOOR.verify(answer, "happy.json")
    assert "cannot read nofile.json" in repr(shuffledp.verify("nofile.json"))


def test_protocols_that_there_are_not_are_not_compared() -> None:
    with pytest.raises(InvalidInput, match=r"there is no protocol 'local'.* Use one of .*shuffledp"):
        shuffledp.compare.histogram(labels=["no", "yes"], only=["shuffledp", "local"], **ASKED)


def test_an_answer_is_not_saved_under_the_name_of_a_table(tmp_path: Path) -> None:
    answer = shuffledp.run(COUNT, PEOPLE)
    with pytest.raises(InvalidInput, match=r"saved as JSON.* Use one that ends in \.json"):
        answer.save(tmp_path / "answer.CSV")
    assert not list(tmp_path.iterdir())


def test_a_matrix_whose_columns_are_its_inputs_is_to_be_transposed() -> None:
    matrix = np.array([[0.75, 0.4], [0.25, 0.6]])
    with pytest.raises(InvalidInput, match="Transpose the matrix"):
        shuffledp.Channel(matrix)
    assert repr(shuffledp.Channel(matrix.T)) == "<Channel: 2 inputs, 2 messages>"
    with pytest.raises(InvalidInput, match=r"row 1 of the channel sums to 0\.9"):
        shuffledp.Channel([[0.5, 0.5], [0.5, 0.4]])
    with pytest.raises(InvalidInput, match=r"or Channel\(matrix\)"):
        DOOR.account([[0.75, 0.25], [0.25, 0.75]], n=1000, delta=1e-6)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("default = 'Yes'", 'A column of that name goes in double quotation marks: "default"'),
        ("group = 'Yes'", "goes in double quotation marks"),
        ('answer = "yes"', "Texts in a query need single quotation marks"),
        ("answer.str.len() > 3", "Write a function, e.g. length"),
    ],
)
def test_a_query_says_how_names_and_texts_are_quoted(query: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=said) as refused:
        shuffledp.run(plan("query", **ASKED), TABLE, query=query)
    assert "Binder" not in str(refused.value)


def test_numbers_with_a_mark_between_thousands_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("income\n1.500,5\n" + "3,5\n" * 999)
    with pytest.raises(InvalidInput, match="no mark between thousands"):
        shuffledp.run_file(MEAN, path, column="income", decimal=",", separator=";")


def test_a_release_that_no_budget_of_a_session_allows_spends_nothing() -> None:
    with (
        Session(epsilon=0.3, delta=1e-6) as session,
        pytest.raises(shuffledp.NoClaim, match="nothing is spent, but this"),
    ):
        session.run(COUNT, PEOPLE)


def test_a_plan_and_an_answer_say_what_people_ask_of_them() -> None:
    assert (COUNT.n, COUNT.epsilon, COUNT.delta) == (1000, COUNT.guarantee.epsilon, COUNT.guarantee.delta)
    answer: Any = shuffledp.run(COUNT, PEOPLE)
    with pytest.raises(AttributeError, match=r"no attribute 'mean'\. Its numbers are its entries: answer\.to_dict\(\)"):
        _ = answer.mean


def test_shares_and_quantiles_of_a_survey_are_those_of_one_question() -> None:
    asked: list[Any] = [SMOKES, {"name": "age", "ask": "mean", "low": 0, "high": 99}, {**SMOKES, "name": "votes"}]
    rows = pd.DataFrame({"smokes": PEOPLE, "age": 40, "votes": ["yes"] * 1000})
    answer = shuffledp.run(plan.survey(questions=asked, n=1000, epsilon=4, delta=1e-6), rows)
    shares = answer.frequencies("votes")
    assert shares.names == ("no", "yes")
    assert shares.value[1] == answer["votes", "yes"].estimate / 1000
    assert shares.standard_error[1] == answer["votes", "yes"].standard_error / 1000
    with pytest.raises(InvalidInput, match=r"Say which, e\.g\. answer\.frequencies\('smokes'\)"):
        answer.frequencies()
    with pytest.raises(InvalidInput, match="there is no question with shares 'age'"):
        answer.frequencies("age")
    with pytest.raises(InvalidInput, match="no question of this answer asks for a distribution"):
        answer.quantile(0.5, "age")
