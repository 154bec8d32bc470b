"""Surveys of which everybody answers all questions, by messages that nobody can connect: composition."""

from collections.abc import Callable
from typing import Final

from shuffledp.accounting.account import bound_named
from shuffledp.accounting.first_guess import share_of_budget
from shuffledp.accounting.releases import composition, excess
from shuffledp.arithmetic.inversion import Search, search
from shuffledp.planning.families.survey import (
    SurveyFamily,
    SurveyQuestion,
    balanced,
    gamma_of,
    planned_alone,
    scaled,
    scaled_randomizers,
)
from shuffledp.planning.family import says_nothing
from shuffledp.protocols.survey import Asked
from shuffledp.protocols.survey_all import AllOfThem
from shuffledp.randomizers.together import Together

_CLOSE: Final = 1.5e-5
"""By which share of it the composed epsilon may stay below the one that is allowed, about."""


class AllQuestions(SurveyFamily):
    """The least common scale of blankets whose composition is private enough."""

    name, way = "shuffledp, all questions", "all"

    def shape(self, question: SurveyQuestion) -> Callable[[float], AllOfThem]:
        """Blankets in the proportion that makes the sum of errors small."""
        shares = _balanced(question)
        return lambda gamma: AllOfThem(questions=scaled(shares, gamma))

    def private(self, question: SurveyQuestion) -> AllOfThem:
        """The least scale that composes to the epsilon allowed."""
        shares = _balanced(question)

        bound, axis = bound_named(question.bound), Search(low=1e-15, high=1.0, towards="larger")

        def too_much(gamma: float) -> float:
            blanket = Together(parts=scaled_randomizers(shares, gamma)).blanket()
            return excess(composition(blanket, question.honest, bound), question.delta, question.epsilon)

        gammas = [gamma_of(one) for one in shares]
        # an epsilon is about in the proportion of (1 - g) / sqrt(g)
        steepness = 0.5 + sum(g / (1 - g) for g in gammas) / len(gammas)
        least = search(too_much, axis, max(gammas), precision=_CLOSE / 2, steepness=steepness, close=_CLOSE)
        if least is None or not least < 1:
            raise says_nothing()
        return AllOfThem(questions=scaled(shares, least))


def _balanced(question: SurveyQuestion) -> list[Asked]:
    """From an equal part of the budget for each; together they leak about as much as is allowed."""
    epsilon = share_of_budget(question.epsilon, question.delta, len(question.parts))
    return balanced(planned_alone(question.parts, epsilon=epsilon), question.n, drawn=False)
