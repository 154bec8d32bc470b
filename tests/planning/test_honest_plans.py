"""What every plan promises and forecasts, recomputed from what was asked: liars, people who drop out, rounds, errors."""

import json
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from shuffledp import InvalidInput, Plan, account, compose, plan, run
from shuffledp.accounting.account import bound_named
from shuffledp.accounting.composition import Collection
from shuffledp.accounting.composition import compose as composed
from shuffledp.core.population import Population
from shuffledp.planning.concerns import concerns
from shuffledp.planning.error_targets import epsilon_possible, users_needed
from shuffledp.planning.over_time import OverTime
from shuffledp.planning.release_cost import Spend
from shuffledp.planning.rounds import choices, plan_rounds

pytestmark = pytest.mark.filterwarnings("ignore::shuffledp.errors.PlanWarning")
TWO = [{"name": "a", "ask": "histogram", "labels": ["x", "y", "z"]}, {"name": "b", "ask": "mean", "low": 3, "high": 9}]
QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    ("histogram", {"labels": ["a", "b", "c"]}),
    ("histogram", {"size": 5, "low": 2.0, "high": 7.0, "by": {"sex": ["f", "m"]}}),
    ("histogram", {"size": 12, "messages_per_user": 3}),
    ("histogram", {"size": 400}),
    ("mean", {"low": 2.0, "high": 5.0}),
    ("sum", {"low": -7.0, "high": -4.0, "by": {"sex": ["f", "m"], "old": ["no", "yes", "very"]}}),
    ("query", {"precision": 3}),
    ("distribution", {"low": 3.0, "high": 9.0, "resolution": 12}),
    ("texts", {"candidates": ["a", "b"]}),
    ("survey", {"questions": TWO, "way": "one"}),
    ("survey", {"questions": TWO, "way": "table"}),
]
CROWDS = [(1999, 0.7, 0.0, 1e-6), (3001, 1.0, 0.35, 1e-3), (2500, 0.45, 0.2, 1e-5)]


def floor(*factors: float | Fraction) -> int:
    """The product of a whole number and decimal fractions, rounded down exactly."""
    return math.floor(math.prod(Fraction(str(factor)) for factor in factors))


@pytest.mark.parametrize(("question", "options"), QUESTIONS, ids=lambda x: x if isinstance(x, str) else ", ".join(x))
@pytest.mark.parametrize(("n", "honest", "dropout", "delta"), CROWDS)
def test_a_plan_relies_on_the_honest_of_those_who_answer(
    question: str, options: dict[str, Any], n: int, honest: float, dropout: float, delta: float
) -> None:
    """The accountant, asked anew with what is left of the crowd, grants the promise, and not much less."""
    made = plan(question, n=n, epsilon=2.0, delta=delta, honest_fraction=honest, dropout=dropout, **options)
    reports = floor(n, Fraction(1) - Fraction(str(dropout)))
    assert (made.min_batch, made.guarantee.n) == (reports, floor(reports, honest))
    assert (made.guarantee.epsilon, made.guarantee.delta) == (2.0, delta)
    randomizer, relied = made.protocol.randomizer, made.guarantee.n
    if question != "survey":  # which is composed, or of many pairs: a second
        least = account(randomizer, n=relied, delta=delta).epsilon
        assert 0.97 * 2.0 < least <= 2.0 * (1 + 1e-5)  # the solver's own precision
    assert made.holds()
    fewer = 9 * relied // 10
    for other in (fewer, 2 * relied):
        assert made.epsilon_at(other) == account(randomizer, n=other, delta=delta).epsilon
    assert made.epsilon_at(fewer) > 2.0 > made.epsilon_at(2 * relied)
    assert not replace(made, guarantee=replace(made.guarantee, n=fewer)).holds()
    assert not replace(made, guarantee=replace(made.guarantee, n=reports + 1)).holds()
    for many in (1, 7, reports - 1, reports, reports + 1, 3 * reports + 2):
        assert made.honest_of(many) == many * relied // reports
    spent = Spend.of(made)
    assert (spent.n, spent.bound, spent.randomizer) == (relied, made.guarantee.bound, randomizer.document())
    certificate = made.certificate()
    stated = certificate.honest, certificate.reports, certificate.epsilon, certificate.delta
    assert stated == (relied, reports, 2.0, delta)


@pytest.mark.parametrize(("question", "options"), QUESTIONS, ids=lambda x: x if isinstance(x, str) else ", ".join(x))
def test_what_is_forecast_is_the_error_at_the_worst_data_of_all_reports(question: str, options: dict[str, Any]) -> None:
    """Liars are counted among those whose reports are estimated from, and hide nobody: the error is that of all reports."""
    made = plan(question, n=2000, epsilon=2.0, delta=1e-5, honest_fraction=0.6, dropout=0.1, **options)
    protocol, reports = made.protocol, 1800
    worst = protocol.expected_error(protocol.worst(reports))
    if question != "texts":  # of which the forecast is about all keys, not about this one
        assert made.mean_squared_error == pytest.approx(worst, rel=1e-9)
    assert made.mean_squared_error == protocol.mean_squared_error(reports)
    assert made.rmse == pytest.approx(math.sqrt(made.mean_squared_error), rel=1e-9)
    assert made.rmse_share == pytest.approx(made.rmse / (1 if question in ("mean", "query") else reports), rel=1e-12)
    forecast = made.document()["forecast"]
    assert (forecast["mean_squared_error"], forecast["rmse"]) == (made.mean_squared_error, made.rmse)
    by_share = {one["share"]: one["standard_error"] for one in forecast.get("by_share", [])}
    assert by_share == protocol.forecast(reports).by_share
    for share, error in by_share.items():
        variance: Any = getattr(protocol, "variance", None)
        if variance is not None and question == "histogram":
            assert error**2 == pytest.approx(variance(np.array([share * reports]), reports)[0], rel=1e-9)
    assert forecast.get("by_question", {}) == protocol.forecast(reports).by_question
    errors: Any = getattr(protocol, "errors", lambda _: [])
    for (name, error), squared in zip(protocol.forecast(reports).by_question.items(), errors(reports), strict=True):
        entries = sum(entry.startswith(f"{name}: ") for entry in protocol.names)
        assert error == pytest.approx(math.sqrt(squared / entries))


ERRORS: list[tuple[str, dict[str, Any]]] = [
    ("histogram", {"size": 4}),
    ("mean", {"low": -3.0, "high": 9.0}),
    ("sum", {"low": 2.0, "high": 4.0}),
    ("histogram", {"size": 6, "messages_per_user": 4}),
]


@pytest.mark.parametrize(("question", "options"), ERRORS)
@pytest.mark.parametrize("honest", [1.0, 0.6])
def test_an_error_is_met_with_the_reports_that_come_and_proved_of_the_honest_ones(
    question: str, options: dict[str, Any], honest: float
) -> None:
    asked = {"delta": 1e-6, "honest_fraction": honest, **options}
    per_user = 1.0 if question == "mean" else 1 / 2800
    wanted = 0.05 if question == "mean" else 20.0
    found = plan(question, n=4000, rmse=wanted, dropout=0.3, **asked)
    assert (found.min_batch, found.guarantee.n) == (2800, floor(2800, honest))
    assert found.rmse == pytest.approx(wanted, rel=1e-6)
    assert found.rmse <= wanted * (1 + 1e-12)
    least = account(found.protocol.randomizer, n=found.guarantee.n, delta=1e-6).epsilon
    assert found.guarantee.epsilon == pytest.approx(least, rel=1e-9)
    assert plan(question, n=4000, rmse_share=wanted * per_user, dropout=0.3, **asked).rmse == pytest.approx(
        wanted, rel=1e-6
    )
    assert epsilon_possible(question, n=2800, rmse=wanted, **asked).promise() == found.promise()


@pytest.mark.parametrize(("question", "options"), ERRORS[:2])
def test_liars_are_among_the_users_that_an_error_needs(question: str, options: dict[str, Any]) -> None:
    """Half of them honest: the error is a share of all reports, and so few users would not do."""
    asked = {"epsilon": 1.0, "delta": 1e-6, "honest_fraction": 0.5, **options}
    share = 0.02 * options.get("high", 1.0)
    found = users_needed(question, rmse_share=share, **asked)
    n = found.min_batch
    assert found.guarantee.n == n // 2
    assert found.rmse_share <= share
    assert plan(question, n=math.ceil(0.99 * n), **asked).rmse_share > share
    assert plan(question, n=math.ceil(0.9 * n), **asked | {"honest_fraction": 1.0}).rmse_share <= share


@pytest.mark.parametrize(("honest", "dropout", "per_person"), [(0.7, 0.25, 3), (0.8, 0.1, 1)])
def test_all_rounds_together_are_what_the_honest_of_a_rounds_part_of_the_people_give(
    honest: float, dropout: float, per_person: int
) -> None:
    """Recomputed: who answers, the part that is asked in a round, the honest of these, so many times."""
    asked: dict[str, Any] = {"low": 2.0, "high": 6.0, "precision": 2, "honest_fraction": honest}
    made = plan(
        "mean", n=9001, epsilon=2.0, delta=1e-5, rounds=5, rounds_per_person=per_person, dropout=dropout, **asked
    )
    answering = floor(9001, Fraction(1) - Fraction(str(dropout)))
    reports = answering * per_person // 5
    relied = floor(reports, honest)
    assert (made.min_batch, made.guarantee.n) == (reports, relied)
    total = made.over_time
    assert total is not None
    assert (total.rounds, total.per_person, total.epsilon, total.delta) == (5, per_person, 2.0, 1e-5)
    entry = Collection(
        blanket=made.protocol.randomizer.blanket(), n=relied, rounds=per_person, bound=bound_named("numeric")
    )
    together = composed([entry]).epsilon(1e-5)
    assert 0.98 * 2.0 <= together <= 2.0 * (1 + 1e-6) or per_person == 1
    assert compose(made).epsilon(1e-5) == pytest.approx(together, rel=5e-3)
    assert compose(made).rounds == per_person


def test_a_table_of_rounds_has_the_plan_itself_and_the_errors_about_those_who_answer() -> None:
    """Three of five rounds, which the usual steps leave out; a quarter of the people do not answer."""
    asked: dict[str, Any] = {"low": 2.0, "high": 6.0, "precision": 2, "honest_fraction": 0.7}
    made = plan_rounds("mean", n=9000, epsilon=2.0, delta=1e-5, rounds=5, rounds_per_person=3, dropout=0.25, **asked)
    table = choices(made, "mean", n=9000, dropout=0.25, **asked)
    assert [row.per_person for row in table] == [5, 3, 1]
    assert table[1].plan == made
    for row in table:
        assert row.plan is not None
        one: Any = row.plan.protocol
        reports = 6750 * row.per_person // 5
        assert row.plan.min_batch == reports
        worst = max(
            6750 / reports * one.expected_error(held) + (1 / reports - 1 / 6750) * spread(held)
            for held in (two_ends(6750, place) for place in np.linspace(2.0, 4.0, 201))
        )
        assert row.rmse == pytest.approx(math.sqrt(worst), rel=1e-3)


def two_ends(n: int, place: float) -> Population:
    """Half of the people at a number between 2 and 6, half as far from the other end."""
    return Population(values=np.array([place, 8.0 - place]), users=np.array([n - n // 2, n // 2]))


def spread(held: Population) -> float:
    """The variance of their numbers."""
    return float(np.var(np.repeat(held.values, held.users), ddof=1))


def test_answers_and_plans_are_composed_with_their_own_numbers_of_honest_reports() -> None:
    """Two deltas, two crowds, one answer with more reports than planned: each counts as what it promised."""
    small = plan("histogram", size=3, n=700, epsilon=1.0, delta=1e-4, honest_fraction=0.5)
    large = plan("mean", low=2, high=5, n=5000, epsilon=0.5, delta=1e-7, dropout=0.2)
    answer = run(small, [j % 3 for j in range(1100)])
    entries = [
        Collection(blanket=small.protocol.randomizer.blanket(), n=350, rounds=2, bound=bound_named("best")),
        Collection(blanket=large.protocol.randomizer.blanket(), n=4000, rounds=3, bound=bound_named("best")),
    ]
    expected = composed(entries)
    for parts in ([large, [answer, large], small, Spend.of(large)], [small, answer, large, large, large], [*entries]):
        found = compose(*parts)
        assert found.rounds == 5
        for delta in (1e-5, 1e-8):
            assert found.epsilon(delta) == pytest.approx(expected.epsilon(delta), rel=1e-6)
    assert answer.spend == Spend.of(small)


def warned(made: Plan) -> list[str]:
    return [sentence.split(" is ")[0].split(" = ")[0] for sentence in concerns(made)]


def test_concerns_are_about_all_rounds_and_all_people() -> None:
    """Of one round there are fewer people, and it spends less."""
    one = plan("histogram", n=2000, epsilon=0.5, delta=1e-6, size=2)  # of 20,000
    often = OverTime(rounds=20, per_person=2, epsilon=1.0, delta=4e-5)
    for total, expected in (
        (often, []),
        (replace(often, delta=6e-5), ["delta"]),
        (replace(often, per_person=20), []),
        (replace(often, per_person=20, delta=6e-4), ["delta"]),
        (replace(often, epsilon=12.0), ["epsilon"]),
    ):
        assert warned(replace(one, over_time=total)) == expected, total
    assert warned(plan("histogram", n=20_000, epsilon=1.0, delta=6e-5, size=2)) == ["delta"]
    assert warned(plan("histogram", n=20_000, epsilon=1.0, delta=4e-5, size=2)) == []


@pytest.mark.parametrize("low", [0.0, 500.0, -900.0])
@pytest.mark.parametrize("question", ["sum", "mean"])
def test_an_error_says_nothing_if_it_is_large_beside_the_range_wherever_that_begins(question: str, low: float) -> None:
    for n, says in ((12, True), (400, False)):
        made = plan(question, n=n, epsilon=0.5, delta=1e-9, low=low, high=low + 10)
        assert (made.rmse_share / 10 > 0.5) == says
        assert ("of the whole range" in " ".join(concerns(made))) == says


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("mean", {"low": 0, "high": 7, "by": {"sex": ["f", "m"]}}),
        ("sum", {"low": 0, "high": 7, "by": {"sex": ["f", "m"]}}),
        ("distribution", {"low": 0, "high": 10, "resolution": 2000}),
        (
            "survey",
            {
                "questions": [
                    {"name": "spent", "ask": "sum", "low": 0, "high": 10**6},
                    {"name": "age", "ask": "mean", "low": 0, "high": 100},
                ]
            },
        ),
    ],
)
def test_an_error_is_that_of_what_is_answered(question: str, asked: dict[str, Any]) -> None:
    """Of a group, a quartile, a question: not of counts that these are made of, nor in another's unit."""
    for n, says in ((20, True), (6000, False)):
        made = plan(question, n=n, epsilon=0.5, delta=1e-6, **asked)
        assert ("of the whole range" in " ".join(concerns(made))) == says, n


def test_a_document_with_fewer_honest_than_one_is_refused() -> None:
    made = plan("histogram", n=100, epsilon=4.0, delta=1e-3, size=2)
    for n in (0, -1, 101):
        with pytest.raises(InvalidInput):
            Plan.from_document(json.loads(json.dumps(replace(made, guarantee=replace(made.guarantee, n=n)).document())))
