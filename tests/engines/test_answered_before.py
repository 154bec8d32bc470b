"""Whoever asks twice about the same data hears of it, in one program, however the data are given."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from oracles.people import write
from shuffledp import DataWarning, KeyedRandomness, Plan, Session, plan, run, run_file
from shuffledp.errors import InvalidInput

GIVEN: dict[str, Any] = {"n": 1000, "epsilon": 1, "delta": 1e-6}
POLL = plan.histogram(labels=["no", "yes"], **GIVEN)
_NEW = np.random.default_rng(20261119)


def answers() -> list[str]:
    """Answers of other people each time."""
    return [("no", "yes")[one] for one in _NEW.integers(2, size=1000)]


def said(ask: Callable[[], object]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        ask()
    return [str(one.message) for one in caught if issubclass(one.category, DataWarning)]


KINDS: dict[str, Callable[[list[str]], tuple[Any, dict[str, Any]]]] = {
    "a list": lambda people: (list(people), {}),
    "an array": lambda people: (np.array(people), {}),
    "an Arrow column": lambda people: (pa.array(people), {}),
    "a column of pandas": lambda people: (pd.DataFrame({"x": people})["x"], {}),
    "pandas": lambda people: (pd.DataFrame({"x": people}), {"column": "x"}),
    "polars": lambda people: (pl.DataFrame({"x": people}), {"column": "x"}),
    "an Arrow table": lambda people: (pa.table({"x": people}), {"column": "x"}),
    "columns": lambda people: ({"x": people}, {"column": "x"}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_values_are_noticed_though_they_were_made_anew(kind: str) -> None:
    one, other = answers(), answers()
    for people, again in ((one, False), (other, False), (one, True), (other, True)):
        values, options = KINDS[kind](people)
        heard = said(partial(run, POLL, values, **options))
        assert [("answered about before" in text) for text in heard] == [True] * again


def test_another_column_of_the_same_table_is_of_the_same_people() -> None:
    table = pd.DataFrame({"x": answers(), "y": answers()})
    assert not said(lambda: run(POLL, table, column="x"))
    assert said(lambda: run(POLL, table, column="y"))


def test_a_column_alone_and_of_its_table_is_the_same() -> None:
    for alone_first in (True, False):
        table = pd.DataFrame({"x": answers(), "y": answers()})
        asks = [lambda table=table: run(POLL, table["x"]), lambda table=table: run(POLL, table, column="x")]
        first, second = asks if alone_first else asks[::-1]
        assert [len(said(first)), len(said(second))] == [0, 1]


def test_the_rows_of_a_survey_are_noticed() -> None:
    questions = [{"name": name, "ask": "histogram", "labels": ["no", "yes"]} for name in ("x", "y")]
    survey = plan.survey(questions=questions, n=1000, epsilon=4, delta=1e-3)
    people = {"x": answers(), "y": answers()}
    assert [len(said(lambda: run(survey, dict(people)))) for _ in range(2)] == [0, 1]


def test_a_file_is_noticed_alone_and_among_others(tmp_path: Path) -> None:
    files = [write(tmp_path / f"{name}.csv", {"x": answers()}) for name in "ab"]
    assert not said(lambda: run_file(POLL, files[0], column="x"))
    assert said(lambda: run_file(POLL, files, column="x"))
    write(files[0], {"x": answers()})
    assert not said(lambda: run_file(POLL, files[0], column="x"))


def test_what_promises_nothing_or_is_booked_is_no_surprise() -> None:
    people, words = answers(), KeyedRandomness.fresh()
    run(POLL, people, randomness=words)
    assert not said(lambda: run(POLL, people, randomness=words.replayed()))
    with Session(epsilon=5, delta=1e-6) as session:
        assert not said(lambda: session.run(POLL, people))
    assert said(lambda: run(POLL, people))
    refused = answers()
    with pytest.raises(InvalidInput, match="fewer"):
        run(POLL, refused[:999])
    assert not said(lambda: run(replace(POLL, min_batch=1001), [*refused, "no"]))


def test_planned_rounds_are_counted_and_those_beyond_are_noticed() -> None:
    weekly: Plan = plan.histogram(labels=["no", "yes"], rounds=3, **GIVEN)
    same = answers()
    for people in (same, same, answers()):
        assert not said(partial(run, weekly, people))
    (heard,) = said(lambda: run(weekly, answers()))
    assert heard.startswith("The plan is one of 3 rounds, and this is answer 4 by it in this program")


def test_an_answer_by_a_plan_of_rounds_after_another_plan_is_noticed_in_either_order() -> None:
    """Rounds of the same plan are planned; what another plan answered about the same people is not."""
    weekly = plan.histogram(labels=["no", "yes"], rounds=7, **GIVEN)
    for order, heard in (((POLL, weekly), [0, 1]), ((weekly, POLL), [0, 1]), ((weekly, weekly), [0, 0])):
        table = pd.DataFrame({"x": answers(), "y": answers()})
        assert [
            len(said(partial(run, asked, table, column=column))) for asked, column in zip(order, "xy", strict=True)
        ] == heard
