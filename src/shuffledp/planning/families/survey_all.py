"""Surveys of which everybody answers all questions, by messages that nobody can connect: composition."""

import math
from collections.abc import Callable

from shuffledp.accounting.first_guess import share_of_budget
from shuffledp.accounting.releases import composition
from shuffledp.arithmetic.inversion import Search, search
from shuffledp.errors import NoClaim
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

        def excess(gamma: float) -> float:
            """How far the composed epsilon is above the one allowed, in logarithms."""
            blanket = Together(parts=scaled_randomizers(shares, gamma)).blanket()
            try:
                composed = composition(blanket, question.honest).epsilon(question.delta)
            except NoClaim:
                return math.inf
            return math.log(composed / question.epsilon) + 1e-6 if composed > 0 else -math.inf

        start = max(gamma_of(one) for one in shares)
        least = search(excess, Search(low=1e-15, high=1.0, towards="larger"), start=start, precision=3e-5)
        if least is None or not least < 1:
            raise says_nothing()
        return AllOfThem(questions=scaled(shares, least))


def _balanced(question: SurveyQuestion) -> list[Asked]:
    """From an equal part of the budget for each; together they leak about as much as is allowed."""
    epsilon = share_of_budget(question.epsilon, question.delta, len(question.parts))
    return balanced(planned_alone(question.parts, epsilon=epsilon), question.n, drawn=False)
