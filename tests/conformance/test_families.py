"""What every registered family must do: answer the question, privately; what `plan` may choose is certified."""

from collections.abc import Callable
from typing import Any

import pytest

from shuffledp import InvalidInput, NoClaim, Plan, account
from shuffledp.baselines.registry import FAMILIES as OTHERS
from shuffledp.baselines.registry import families, protocols
from shuffledp.core.randomness import WORD
from shuffledp.domains.reals import RealRange
from shuffledp.planning.ask import ask
from shuffledp.planning.choose import certified
from shuffledp.planning.families.distribution import DistributionQuestion
from shuffledp.planning.families.grouped import GroupedSumQuestion
from shuffledp.planning.families.heavy_hitters import HeavyHittersQuestion
from shuffledp.planning.families.histogram import HistogramFamily, HistogramQuestion
from shuffledp.planning.families.moments import MomentsQuestion, RegressionQuestion
from shuffledp.planning.families.summation import SummationFamily, SumQuestion
from shuffledp.planning.families.survey import SurveyQuestion
from shuffledp.planning.families.vector import VectorQuestion
from shuffledp.planning.family import Family, PlannedFamily
from shuffledp.planning.question import Question
from shuffledp.planning.registry import FAMILIES, options, questions
from shuffledp.planning.registry import families as planned
from shuffledp.protocols.deployable import Deployable
from shuffledp.protocols.summation import Summation
from shuffledp.randomizers.response import RandomizedResponse

CASES = [(family, name) for family in (*OTHERS, *FAMILIES.values()) for name in family.question_type.called]
FEWER: dict[str, dict[str, Any]] = {
    name: {"n": 100, "delta": 1e-2}
    for name in ("Cheu et al., many messages", *(f"shuffledp, {t} messages" for t in (4, 16, 64)))
} | {"shuffledp, digits": {"n": 100_000}}
"""Composition of a larger crowd's messages takes ten seconds; tests/baselines/test_compare.py does that. Digits are asked for
among more users: of fewer, the messages allowed and not the error may decide how many dummies there are."""
PLANNED = [(family, name) for family, name in CASES if isinstance(family, PlannedFamily)]


def label(case: Any) -> str:
    return case if isinstance(case, str) else f"{case.name}, trust {case.trust}"


SAID: dict[type[Question], dict[str, Any]] = {
    HistogramQuestion: {"size": 4},
    DistributionQuestion: {"low": -1.0, "high": 2.0, "resolution": 20},
    HeavyHittersQuestion: {"alphabet": "ab", "max_length": 4},
    VectorQuestion: {"dimension": 3, "norm": 2.0},
    MomentsQuestion: {"ranges": {"age": [0, 100], "rooms": [1, 9]}},
    RegressionQuestion: {"ranges": {"age": [0, 100], "rooms": [1, 9]}, "target": "rooms"},
    GroupedSumQuestion: {"by": {"group": ["a", "b", "c"]}},
    SurveyQuestion: {
        "questions": [
            {"name": "smokes", "ask": "histogram", "labels": ["no", "yes"], "weight": 2},
            {"name": "hours", "ask": "mean", "low": -1.0, "high": 2.0, "precision": 4},
        ]
    },
}
"""What each kind of question must be told."""
WITH_NOISE = "shuffledp, joint table with the shuffler's noise"
TOLD: dict[str, dict[str, Any]] = {
    WITH_NOISE: {
        "noise": "shuffler",
        "questions": [
            {"name": "smokes", "ask": "histogram", "labels": ["no", "yes"], "weight": 2},
            {"name": "hours", "ask": "distribution", "low": -1.0, "high": 2.0, "resolution": 4},
        ],
    }
}
"""What families must be told that take only some questions of their kind."""


def asked(family: Family[Any], name: str, **changes: Any) -> Any:
    """A small question."""
    given = TOLD.get(family.name, SAID.get(family.question_type, {})) | (
        {"low": -1.0, "high": 2.0} if name in ("sum", "mean") else {}
    )
    numbers = {"n": 10_000, "epsilon": 1.0, "delta": 1e-6} | FEWER.get(family.name, {}) | changes
    question = ask(name, options=given, **numbers)
    assert family.answers(question)
    return family.compared(question)


def check_proposal(family: Family[Any], name: str) -> None:
    """It answers what was asked, on the values that were asked about, and is private if nobody need be trusted."""
    question = asked(family, name)
    found = family.propose(question)
    assert protocols()[found.kind] is type(found)
    assert found.description.question == name
    if hasattr(question, "domain"):
        assert found.domain == question.domain
    assert found.mean_squared_error(question.n) > 0
    if family.trust == "nobody":
        assert found.epsilon0 is not None
        assert found.epsilon0 <= question.epsilon * (1 + 1e-9)


def check_certified(family: PlannedFamily[Any], name: str) -> None:
    """The accountant proves what is proposed, with liars among the users too, and the plan survives its file."""
    for honest_fraction in (1.0, 0.5):
        question = asked(family, name, honest_fraction=honest_fraction)
        proposal = family.propose(question)
        assert question.averages(name) == proposal.reading.averages
        try:
            found = certified(question, proposal)
        except NoClaim as refused:
            raise AssertionError from refused
        assert Plan.from_document(found.document()) == found
        assert found.epsilon_at(question.honest) == pytest.approx(question.epsilon, rel=1e-4)
        floor = question.error_floor()
        assert floor is None or floor.rmse <= found.rmse


def check_error(
    family: PlannedFamily[Any], name: str, propose: Callable[[Any, float], Deployable] | None = None
) -> float:
    """An error is met, and only just; epsilon is returned."""
    question = asked(family, name)
    wanted = 1.7 * question.cost(family.propose(question))
    found = (propose or family.propose_for_error)(question, wanted)
    assert found.description.question == name
    assert question.cost(found) <= wanted
    assert question.cost(found) >= wanted * 0.95
    epsilon = account(found.randomizer, n=question.honest, delta=question.delta).epsilon
    assert epsilon < question.epsilon
    with pytest.raises(InvalidInput, match="that small"):
        (propose or family.propose_for_error)(question, 1e-40 * wanted)
    return epsilon


@pytest.mark.parametrize(("family", "name"), CASES, ids=label)
def test_every_family_answers_its_questions(family: Family[Any], name: str) -> None:
    check_proposal(family, name)


@pytest.mark.parametrize(("family", "name"), PLANNED, ids=label)
def test_what_is_planned_is_certified(family: PlannedFamily[Any], name: str) -> None:
    check_certified(family, name)


@pytest.mark.parametrize(("family", "name"), PLANNED, ids=label)
def test_an_error_is_met(family: PlannedFamily[Any], name: str) -> None:
    check_error(family, name)


def test_a_family_that_knows_no_better_meets_an_error_too() -> None:
    """The search of the interface, on a family that has another: the same epsilon."""
    family = HistogramFamily()
    default = check_error(family, "histogram", lambda *given: PlannedFamily.propose_for_error(family, *given))
    assert default == pytest.approx(check_error(family, "histogram"), rel=1e-3)


def test_the_registry_knows_every_question_and_option() -> None:
    for name in questions():
        assert planned(name)
        assert set(planned(name)) <= set(families(name))
    assert {family.name for family in FAMILIES.values()} == {
        "shuffledp",
        "shuffledp, plane",
        "shuffledp, dummies",
        "shuffledp, shuffler's noise",
        "shuffledp, digits",
        "shuffledp, one grid",
        "shuffledp, one of several grids",
        "shuffledp, one question each",
        "shuffledp, all questions",
        "shuffledp, joint table",
        WITH_NOISE,
    }
    assert {option.name for option in options()} >= {"size", "labels", "low", "high", "precision"}
    with pytest.raises(InvalidInput, match="no question 'median'"):
        families("median")


# Wrong ones


class LessBlanket(HistogramFamily):
    """Proposes one percent less noise than is private."""

    def propose(self, question: HistogramQuestion) -> Deployable:
        found = super().propose(question)
        threshold = int(found.randomizer.document()["threshold"]) * 99 // 100
        return self.build(question, RandomizedResponse.of_threshold(size=found.alphabet, threshold=threshold))


class IgnoresLiars(HistogramFamily):
    """Relies on everybody."""

    def propose(self, question: HistogramQuestion) -> Deployable:
        return super().propose(question.at(honest_fraction=1.0))


class AlwaysASum(SummationFamily):
    """Takes a mean for a sum."""

    def build(self, question: SumQuestion, randomizer: RandomizedResponse) -> Summation:
        return super().build(question.at(name="sum"), randomizer)


class ForgetsTheRange(SummationFamily):
    """Takes every range for [0, 1]."""

    def build(self, question: SumQuestion, randomizer: RandomizedResponse) -> Summation:
        return super().build(question.at(domain=RealRange()), randomizer)


class MissesTheError(HistogramFamily):
    """Takes a little more blanket than the error allows."""

    def propose_for_error(self, question: HistogramQuestion, cost: float) -> Deployable:
        return super().propose_for_error(question, 1.01 * cost)


class TakesMuchBlanket(HistogramFamily):
    """Meets no error at all."""

    def propose_for_error(self, question: HistogramQuestion, cost: float) -> Deployable:
        return self.build(question, RandomizedResponse.of_threshold(size=4, threshold=WORD // 2))


@pytest.mark.parametrize(
    ("wrong", "name", "check"),
    [
        (LessBlanket(), "histogram", check_certified),
        (IgnoresLiars(), "histogram", check_certified),
        (AlwaysASum(), "mean", check_proposal),
        (ForgetsTheRange(), "sum", check_proposal),
        (MissesTheError(), "histogram", check_error),
        (TakesMuchBlanket(), "histogram", check_error),
    ],
    ids=lambda case: type(case).__name__ if isinstance(case, Family) else "",
)
def test_wrong_families_are_found_out(wrong: Any, name: str, check: Callable[[Any, str], object]) -> None:
    with pytest.raises(AssertionError):
        check(wrong, name)
