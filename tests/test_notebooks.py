"""What things show of themselves in a notebook."""

import re
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import polars as pl
import pytest

from shuffledp import Guarantee, InvalidInput, NoClaim, Plan, RandomizedResponse, Result, Session, compare, plan, run
from shuffledp.accounting.account import bound_named
from shuffledp.accounting.solve import Problem, solve


@pytest.fixture(scope="module")
def poll() -> Plan:
    return plan("histogram", n=1000, epsilon=0.5, delta=1e-6, labels=["<b>no</b>", "yes & more", "'perhaps'"])


@pytest.fixture(scope="module")
def answer(poll: Plan) -> Result:
    return run(poll, ["<b>no</b>", "yes & more", "'perhaps'"] * 500, truth=True)


def parsed(html: str) -> ElementTree.Element:
    """Well formed, so that no label can break out of its place."""
    return ElementTree.fromstring(f"<div>{html}</div>")


def test_an_answer_as_a_frame(answer: Result) -> None:
    frame = answer.to_frame(confidence=0.99)
    assert list(frame.columns) == ["name", "estimate", "standard_error", "low", "high", "truth"]
    assert frame["name"].tolist() == list(answer.names)
    assert np.array_equal(frame["estimate"], answer.estimate.value)
    low, high = answer.estimate.interval(0.99)
    assert np.array_equal(frame["low"], low)
    assert np.array_equal(frame["high"], high)
    assert frame.equals(pl.DataFrame(answer.columns(confidence=0.99)).to_pandas().astype(frame.dtypes))
    assert isinstance(frame, pd.DataFrame)


def test_an_answer_draws_its_bars_and_keeps_labels_in_their_place(answer: Result) -> None:
    page = parsed(answer._repr_html_())
    assert len(page.findall(".//rect")) == 3
    cells = [cell.text for cell in page.findall(".//tbody/tr/th")]
    assert cells == list(answer.names)
    assert "differentially private" in "".join(page.itertext())
    assert "<b>" not in answer._repr_html_()


def test_of_many_entries_the_largest_are_shown() -> None:
    many = plan("histogram", n=1000, epsilon=1.0, delta=1e-6, size=200)
    result = run(many, [7] * 1000 + [150] * 500)
    page = parsed(result._repr_html_())
    shown = [cell.text for cell in page.findall(".//tbody/tr/th")]
    assert len(shown) == 30
    assert shown[:2] == ["7", "150"]
    assert "and 170 smaller ones" in "".join(page.itertext())


def test_a_comparison_lists_every_row() -> None:
    found = compare("histogram", n=10**4, epsilon=1.0, delta=1e-6, only=("shuffledp", "discrete Laplace"), size=4)
    assert len(parsed(found._repr_html_()).findall(".//tbody/tr")) == len(found) >= 1
    assert found[0].rmse == min(row.rmse for row in found if row.rmse is not None)


def test_guarantees_solutions_and_plans_say_what_they_are(poll: Plan) -> None:
    problem = Problem(randomizer=RandomizedResponse(size=3, epsilon0=1.0).blanket(), n=1000, delta=1e-6)
    solution = solve(bound_named("best"), problem)
    for thing, word in ((poll.guarantee, "differentially private"), (poll, "each user"), (solution, "upper end")):
        assert word in "".join(parsed(thing._repr_html_()).itertext())


def test_an_attacker_is_right_as_often_as_the_guarantee_allows_and_no_more() -> None:
    """Randomized response attains its epsilon0, so its hits are the bound; a smaller epsilon would be wrong."""
    for epsilon, delta in ((0.0, 1e-6), (0.1, 0.0), (1.0, 1e-6), (3.0, 0.2), (900.0, 1e-6)):
        promise = Guarantee(epsilon=epsilon, delta=delta, n=100, bound="best", reference="")
        at = np.linspace(0.0, 1.0, 2001)
        best = max((promise.hits(a) + 1 - a) / 2 for a in at)
        assert best <= promise.success <= best + 1e-3
        assert promise.hits(0.0) == pytest.approx(delta)
        assert promise.hits(1.0) == 1.0
    truth = np.exp(1.0) / (1 + np.exp(1.0))
    answered = Guarantee(epsilon=1.0, delta=0.0, n=1, bound="best", reference="")
    assert truth <= answered.success < truth + 1e-12
    assert answered.hits(1 - truth) == pytest.approx(truth)


def test_everything_draws_itself(poll: Plan, answer: Result) -> None:
    blanket = RandomizedResponse(size=3, epsilon0=1.0).blanket()
    solution = solve(bound_named("best"), Problem(randomizer=blanket, n=1000, delta=1e-6))
    formula = solve(bound_named("bennett"), Problem(randomizer=blanket, n=1000, delta=1e-6))
    drawings: dict[str, list[Any]] = {
        "polygon": [poll.guarantee, poll],
        "rect": [solution, formula, answer, compare("mean", n=1000, epsilon=1.0, delta=1e-6, only=("shuffledp",))],
    }
    for shape, things in drawings.items():
        for thing in things:
            html = thing._repr_html_()
            assert parsed(html).find(f".//svg/{shape}") is not None
            assert "currentColor" in html
            assert not re.search(r"(?:fill|stroke|color)\s*[=:]\s*'?(?:black|#000)", html)
            png, about = thing.plot()._repr_png_()
            assert png.startswith(b"\x89PNG")
            assert 200 < about["width"] < 800
    assert "not known" in formula._repr_html_()


def test_a_distribution_shows_its_curve_and_quartiles() -> None:
    asked = plan("distribution", n=1000, epsilon=2.0, delta=1e-6, low=0, high=10, resolution=50)
    result = run(asked, np.linspace(0, 10, 1500))
    page = parsed(result._repr_html_())
    assert page.find(".//svg/polygon") is not None
    assert [cell.text for cell in page.findall(".//tbody/tr/th")] == ["0.25", "0.5", "0.75"]
    axis = result.plot().axes[0]
    assert axis.get_ylabel() == "users below (%)"


def test_the_questions_of_a_survey_have_scales_of_their_own() -> None:
    questions = [
        {"name": "stars", "ask": "histogram", "labels": ["1", "2", "3"]},
        {"name": "share", "ask": "mean", "precision": 3},
    ]
    asked = plan("survey", n=1000, epsilon=2.0, delta=1e-6, questions=questions, way="table")
    drawings = parsed(run(asked, {"stars": [1, 2, 3] * 400, "share": [0.5] * 1200})._repr_html_()).findall(".//svg")
    assert [len(drawing.findall("rect")) for drawing in drawings] == [3, 1]
    assert (
        max(float(rect.get("width", 0)) for rect in drawings[1].findall("rect")) > 300
    )  # beside 400 users it would vanish


def test_numbers_show_as_many_decimals_as_their_errors_are_worth(answer: Result) -> None:
    cells = [cell.text or "" for cell in parsed(answer._repr_html_()).findall(".//tbody/tr/td")]
    assert len(cells) == 3 * 5
    decimals = 2 if answer.estimate.standard_error.min() < 10 else 1  # three digits of the least error
    assert {len(cell.partition(".")[2]) for cell in cells} == {decimals}
    assert cells[4::5] == [f"{500:.{decimals}f}"] * 3  # the truth


def test_what_can_be_plotted_is(answer: Result, poll: Plan) -> None:
    from shuffledp.figures.plot import plot

    bars = answer.plot()
    assert len(bars.axes[0].patches) >= 3
    curve = poll.plot().axes[0].lines[0].get_xydata()
    assert (np.diff(curve[:, 1]) < 0).all()  # more reports, more privacy
    assert curve[curve[:, 0] == 1000][0, 1] == pytest.approx(0.5, rel=1e-3)
    rows = compare("mean", n=1000, epsilon=1.0, delta=1e-6, only=("shuffledp", "discrete Laplace"))
    assert len(rows.plot().axes[0].patches) == sum(row.rmse is not None for row in rows)
    with pytest.raises(InvalidInput, match="no picture of a int"):
        plot(7)


def test_a_session_answers_within_its_budget_only(poll: Plan) -> None:
    people = ["yes & more"] * 1000
    with Session(epsilon=0.8, delta=1e-6) as session:
        session.run(poll, people)
        one = session.spent
        session.run(poll, people)
        assert one == pytest.approx(0.5, rel=1e-3)
        assert one < session.spent <= 0.8  # by adding up it would be 1
        with pytest.raises(NoClaim, match="the budget is spent"):
            session.run(poll, people)
        assert session.spent <= 0.8
        with pytest.raises(InvalidInput, match="one row per person"):
            session.run(poll, {"answer": people}, column="answer", user="who", max_rows_per_user=2)
    with pytest.raises(InvalidInput, match="has ended"):
        session.run(poll, people)
    assert re.search(r"2 answers: epsilon = 0\.\d+ of 0.8", "".join(parsed(session._repr_html_()).itertext()))


def test_an_answer_that_fails_is_booked(poll: Plan) -> None:
    session = Session(epsilon=1.0, delta=1e-6)
    with pytest.raises(InvalidInput, match="not one of the plan's bins"):
        session.run(poll, ["unheard of"] * 1000)
    assert session.spent > 0
