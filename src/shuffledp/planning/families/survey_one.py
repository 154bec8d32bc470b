"""Surveys of which each person answers one question, drawn at random: a mixture."""

from collections.abc import Callable, Sequence

from shuffledp.accounting.account import calibrate
from shuffledp.core.blanket import Blanket, RandomizerFamily
from shuffledp.planning.families.survey import (
    SurveyFamily,
    SurveyQuestion,
    balanced,
    planned_alone,
    scaled,
    scaled_randomizers,
)
from shuffledp.planning.family import says_nothing
from shuffledp.protocols.survey import Asked
from shuffledp.protocols.survey_one import OneOfAll, as_sampleable
from shuffledp.randomizers.mixture import Mixture


class OneQuestionEach(SurveyFamily):
    """The least blankets of a mixture."""

    name, way = "shuffledp, one question each", "one"

    def shape(self, question: SurveyQuestion) -> Callable[[float], OneOfAll]:
        """Blankets in the proportion that makes the sum of errors small."""
        shares = balanced(_alone(question), question.n, drawn=True)
        return lambda gamma: OneOfAll(questions=scaled(shares, gamma))

    def private(self, question: SurveyQuestion) -> OneOfAll:
        """Blankets in the proportion that each question needs by itself, or that makes the sum of errors small."""
        alone = _alone(question)
        proportions = (alone, balanced(alone, question.n, drawn=True))
        return min((_calibrated(question, one) for one in proportions), key=lambda one: one.cost(question.n))


def _alone(question: SurveyQuestion) -> list[Asked]:
    """Each question planned by itself; all of them may be asked of a part of the people."""
    alone = planned_alone(question.parts)
    for one in alone:
        as_sampleable(one)  # refuses others
    return alone


def _calibrated(question: SurveyQuestion, questions: Sequence[Asked]) -> OneOfAll:
    weights = tuple(one.weight for one in questions)

    def blanket(gamma: float) -> Blanket:
        return Mixture.of(weights, scaled_randomizers(questions, gamma)).blanket()

    family = RandomizerFamily(parameter="gamma", blanket=blanket, low=1e-15, high=1.0, more_private="larger")
    gamma = calibrate(family, n=question.honest, epsilon=question.epsilon, delta=question.delta)
    if not gamma < 1:
        raise says_nothing()
    return OneOfAll(questions=scaled(questions, gamma))
