"""Whoever composes the rounds of a plan says the same: the plan, its table, `compose`, a session's budget and the ledger."""

from math import log
from pathlib import Path
from typing import Any

import pytest

from shuffledp import Plan, compose
from shuffledp.accounting.account import bound_named
from shuffledp.accounting.releases import composition
from shuffledp.core.digits import rounded_up
from shuffledp.planning import registry
from shuffledp.planning.from_targets import plan_from_targets
from shuffledp.planning.release_cost import Spend
from shuffledp.planning.rounds import rounds_possible, spent
from shuffledp.results.budget import Budget
from shuffledp.service.analyzer.ledger import Ledger, LedgerEntry
from shuffledp.verification.verify import verify

YES_OR_NO: dict[str, Any] = {"ask": "histogram", "labels": ["no", "yes"]}
ASKED: dict[str, dict[str, Any]] = {
    "histogram": {"labels": ["no", "yes"]},
    "mean": {"low": 0, "high": 10},
    "sum": {"precision": 1},
    "query": {"by": {"sex": ["f", "m"]}},
    "distribution": {"low": 0, "high": 8, "resolution": 8},
    "texts": {"candidates": ["a", "b"], "share": 0.1},
    "heavy-hitters": {"max_length": 1, "alphabet": "a-d"},
    "vector": {"dimension": 2},
    "moments": {"ranges": {"age": [0, 100]}},
    "regression": {"ranges": {"age": [0, 100], "rooms": [0, 9]}, "target": "rooms"},
    "survey": {"questions": [YES_OR_NO | {"name": "smokes"}, {"name": "hours", "ask": "mean"}], "way": "all"},
}
ROUNDS = 2
TERMS: dict[str, Any] = {"n": 4000, "delta": 1e-6, "rounds": ROUNDS}


def epsilons(made: Plan, rounds: int, folder: Path) -> set[str]:
    """The epsilon of so many rounds, as everybody who composes them prints it."""
    one, total = Spend.of(made), made.over_time
    assert total is not None
    ledger = Ledger(folder / f"{rounds}.jsonl", epsilon=10.0, delta=total.delta)
    balance = [ledger.book(LedgerEntry(task="t", batch=str(i), spend=one)) for i in range(rounds)][-1]
    found = [
        spent(made, [rounds])[rounds],
        compose([one] * rounds).epsilon(total.delta),
        Budget(epsilon=10.0, delta=total.delta).spent([one] * rounds),
        balance.spent_epsilon,
    ]
    return set(map(rounded_up, found))


def test_every_question_is_here() -> None:
    assert ASKED.keys() == set(registry.questions())


@pytest.mark.parametrize("question", registry.questions())
def test_one_round_and_all_rounds_cost_the_same_wherever_they_are_composed(question: str, tmp_path: Path) -> None:
    made = plan_from_targets(question, {**ASKED[question], **TERMS, "epsilon": 1.0})
    assert epsilons(made, 1, tmp_path) == {rounded_up(made.guarantee.epsilon)}
    assert epsilons(made, ROUNDS, tmp_path) == {"1"}
    assert rounded_up(compose(made).epsilon(1e-6)) == "1"


def test_rounds_for_an_error_cost_the_same_wherever_they_are_composed(tmp_path: Path) -> None:
    made = rounds_possible("histogram", labels=["no", "yes"], rmse=60.0, n=4000, delta=1e-6, rounds=ROUNDS)
    assert made.over_time is not None
    assert epsilons(made, ROUNDS, tmp_path) == {rounded_up(made.over_time.epsilon)}
    assert Plan.from_document(made.document()) == made


def test_a_yes_or_no_question_is_asked_weekly_for_a_year() -> None:
    """The tight composition of two messages: by the blanket the answer would err by 41.9, and four questions by 12.0."""
    weekly = plan_from_targets(
        "histogram", {"labels": ["no", "yes"], "n": 27_000, "epsilon": 1.0, "delta": 1e-6, "rounds": 52}
    )
    assert weekly.rmse / 2**0.5 <= 31.2
    four = {"questions": [YES_OR_NO | {"name": f"q{i}"} for i in range(4)], "way": "all"}
    survey = plan_from_targets("survey", {**four, "n": 10_000, "epsilon": 1.0, "delta": 1e-6})
    assert all(error / 2**0.5 <= 9.5 for error in survey.forecast.by_question.values())


def test_the_tight_composition_is_verified() -> None:
    """By a cover of the verifier's own, of every epsilon."""
    made = plan_from_targets(
        "histogram", {"labels": ["no", "yes"], "n": 40, "epsilon": 3.0, "delta": 1e-3, "rounds": 2}
    )
    assert verify(made.document()).confirmed


def test_what_other_numbers_of_reports_cost_is_read_off_their_composition() -> None:
    """And not searched for in tails that nobody asked about: the least epsilon at which the accountant proves delta."""
    questions = [YES_OR_NO | {"name": "smokes"}, YES_OR_NO | {"name": "drinks"}]
    made = plan_from_targets("survey", {"questions": questions, "way": "all", "n": 1000, "epsilon": 1.0, "delta": 1e-6})
    blanket, best = made.protocol.randomizer.blanket(), bound_named("best")
    for n in (700, 1400):
        found = made.epsilon_at(n)
        assert found == pytest.approx(composition(blanket, n, best).epsilon(1e-6), rel=1e-8)
        assert best.claim(blanket, n=n, epsilon=found, side="upper").log_delta.upper <= log(1e-6)
        assert best.claim(blanket, n=n, epsilon=found * (1 - 1e-4), side="upper").log_delta.upper > log(1e-6)
