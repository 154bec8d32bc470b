"""Microsoft's 1BitMean: one bit that leans towards the value.

P[1] = 1 / (e^eps0 + 1) + x (e^eps0 - 1) / (e^eps0 + 1) (Ding, Kulkarni, Yekhanin 2017) is rounding x to 0 or 1 and randomized
response on two symbols: our summation with one step, so it has its law, its exact error and, when shuffled, its blanket
(gamma = 2 / (e^eps0 + 1)). Cheu et al.'s one-bit protocol is the same, with gamma set for the crowd.
"""

from shuffledp.planning.families.randomized_response import least_blanket
from shuffledp.planning.families.summation import SumQuestion
from shuffledp.planning.family import Family
from shuffledp.protocols.one_bit_mean import OneBitMean
from shuffledp.randomizers.response import RandomizedResponse


class OneBitMeans(Family[SumQuestion]):
    """One bit, private by itself."""

    name, trust, accounted_by = "1BitMean", "nobody", "epsilon0"
    question_type = SumQuestion

    def propose(self, question: SumQuestion) -> OneBitMean:
        """With the question's epsilon as epsilon0."""
        low, high = question.domain.low, question.domain.high
        randomizer = RandomizedResponse(size=2, epsilon0=question.epsilon).as_run()
        return OneBitMean(randomizer=randomizer, low=low, high=high, total=question.total)


class ShuffledOneBitMeans(Family[SumQuestion]):
    """One bit with the crowd's blanket."""

    name, trust, accounted_by = "1BitMean, shuffled (= Cheu et al., one bit)", "the shuffler", "its blanket"
    question_type = SumQuestion

    def propose(self, question: SumQuestion) -> OneBitMean:
        """The least blanket on two messages."""
        low, high = question.domain.low, question.domain.high
        return OneBitMean(randomizer=least_blanket(question, 2), low=low, high=high, total=question.total)
