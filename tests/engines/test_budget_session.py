"""A session: everything that is asked is booked before it is answered, whoever asks and however it ends."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oracles.people import write
from shuffledp import InvalidInput, NoClaim, Plan, Result, Session, plan
from shuffledp.accounting.composition import compose
from shuffledp.errors import ShuffledpError
from shuffledp.planning.release_cost import Spend

PEOPLE = np.arange(2000) % 4
ONE = plan("histogram", n=2000, epsilon=0.5, delta=1e-7, size=4)
OTHER = plan("histogram", n=1000, epsilon=0.7, delta=1e-6, size=4, honest_fraction=0.8)
Ask = Callable[..., Result]


def together(*asked: Plan, delta: float = 1e-6) -> float:
    """What the accountant says, each with a crowd of its own."""
    return compose([part for made in asked for part in Spend.of(made).collections()]).epsilon(delta)


@pytest.fixture
def people(tmp_path: Path) -> Path:
    return write(tmp_path / "people.csv", {"x": PEOPLE})


@pytest.fixture(params=["run", "run_file"])
def way(request: pytest.FixtureRequest, people: Path) -> Callable[[Session, Plan], Result]:
    """Both ways to ask."""
    if request.param == "run":
        return lambda session, made: session.run(made, PEOPLE)
    return lambda session, made: session.run_file(made, people, column="x")


def test_a_table_of_messages_is_booked_as_an_answer_is(tmp_path: Path) -> None:
    first, second = tmp_path / "first.parquet", tmp_path / "second.parquet"
    with Session(epsilon=0.8, delta=1e-6) as session:
        session.export(ONE, PEOPLE, first)
        assert session.spent == together(ONE)
        with pytest.raises(NoClaim, match="budget is spent"):
            session.export(OTHER, PEOPLE, second)
        with pytest.raises(InvalidInput, match="The session counts this attempt"):
            Session(epsilon=0.8, delta=1e-6).export(ONE, [7] * 2000, second)
    assert first.exists()
    assert not second.exists()


def test_what_is_spent_is_what_the_accountant_says_of_all_answers(way: Callable[[Session, Plan], Result]) -> None:
    """At the session's delta, not at those of the plans."""
    session, asked = Session(epsilon=5.0, delta=1e-6), list[Plan]()
    assert session.spent == 0.0
    for made in (ONE, OTHER, ONE):
        assert way(session, made).guarantee == made.guarantee
        asked.append(made)
        assert session.spent == pytest.approx(together(*asked), rel=1e-3)


def test_a_budget_is_spent_to_its_end_and_no_further(way: Callable[[Session, Plan], Result]) -> None:
    exactly = together(ONE)
    session = Session(epsilon=exactly, delta=1e-6)
    way(session, ONE)
    with pytest.raises(NoClaim, match="the budget is spent"):
        way(session, ONE)
    assert session.spent == exactly
    with pytest.raises(NoClaim, match="this release alone would be"):
        way(Session(epsilon=float(np.nextafter(exactly, 0)), delta=1e-6), ONE)


def test_a_budget_has_room_for_a_plan_of_its_size() -> None:
    """What everybody types first: the same epsilon and delta twice."""
    asked = {"epsilon": 1, "delta": 1e-6, "n": 2000}
    survey = [{"name": name, "ask": "mean", "low": 0, "high": 3} for name in ("x", "y")]
    for made, people in (
        (plan("histogram", labels=[0, 1, 2, 3], **asked), PEOPLE),
        (plan("mean", low=0, high=3, **asked), PEOPLE),
        (plan("survey", questions=survey, **asked), {"x": PEOPLE, "y": PEOPLE}),
    ):
        with Session(epsilon=1, delta=1e-6) as session:
            session.run(made, people)
            assert session.spent <= 1
            with pytest.raises(NoClaim, match="the budget is spent"):
                session.run(made, people)


def test_an_answer_that_fails_on_the_way_is_counted(tmp_path: Path) -> None:
    """Values were read by then, and whoever asks sees how it ended."""
    bad = write(tmp_path / "bad.csv", {"x": [9] * 2000})
    failing: list[tuple[Callable[[Session], Result], str]] = [
        (lambda session: session.run(ONE, np.full(2000, 9)), "not one of the plan's bins"),
        (lambda session: session.run(ONE, PEOPLE[:100]), "fewer than the plan's"),
        (lambda session: session.run_file(ONE, bad, column="x"), "not one of the plan's bins"),
        (lambda session: session.run_file(ONE, tmp_path / "nowhere.csv", column="x"), "no file"),
    ]  # fmt: skip
    for ask, error in failing:
        session = Session(epsilon=1.2 * together(ONE), delta=1e-6)
        with pytest.raises(
            InvalidInput, match=f"{error}.*The session counts this attempt.*1 answer: epsilon = 0.442492 of"
        ):
            ask(session)
        assert session.spent == together(ONE)
        with pytest.raises(NoClaim, match="the budget is spent"):
            session.run(ONE, PEOPLE)


@pytest.mark.parametrize("state", ["spent", "ended"])
def test_nothing_is_read_that_may_not_be_answered(tmp_path: Path, state: str) -> None:
    """The refusal comes before a file is looked for, and before a query is asked of anybody."""
    with Session(epsilon=0.1, delta=1e-6) as session:
        error = "this release alone would be"
        if state == "spent":
            refused_all(session, tmp_path, NoClaim, error)
    if state == "ended":
        refused_all(session, tmp_path, InvalidInput, "has ended")
    assert session.spent == 0.0


def refused_all(session: Session, folder: Path, kind: type[ShuffledpError], error: str) -> None:
    asked = list[Any]()

    def query(person: Any) -> float:
        asked.append(person)
        return 1.0

    yes = plan("query", n=1000, epsilon=0.5, delta=1e-6)
    with pytest.raises(kind, match=error):
        session.run(yes, PEOPLE, query=query)
    with pytest.raises(kind, match=error):
        session.run_file(ONE, folder / "nowhere.csv", column="x")
    assert asked == []


@pytest.mark.parametrize("most", [1, 2])
def test_several_rows_of_a_person_are_not_composed(people: Path, most: int) -> None:
    """Whatever their number: what is booked is one row of each."""
    session = Session(epsilon=9.0, delta=1e-6)
    table = {"x": PEOPLE, "who": np.arange(2000) // most}
    path = write(people.with_name("who.parquet"), table)
    with pytest.raises(InvalidInput, match="one row per person"):
        session.run(ONE, table, column="x", user="who", max_rows_per_user=most)
    with pytest.raises(InvalidInput, match="one row per person"):
        session.run_file(ONE, path, column="x", user="who", max_rows_per_user=most)
    assert session.spent == 0.0
