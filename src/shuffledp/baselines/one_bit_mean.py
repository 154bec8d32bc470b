"""Microsoft's 1BitMean: one bit that leans towards the value.

P[1] = 1 / (e^eps0 + 1) + x (e^eps0 - 1) / (e^eps0 + 1) (Ding, Kulkarni, Yekhanin 2017) is rounding x to 0 or 1 and randomized
response on two symbols: our summation with one step, so it has its law, its exact error and, when shuffled, its blanket
(gamma = 2 / (e^eps0 + 1)). Cheu et al.'s one-bit protocol is the same, with gamma set for the crowd.
"""

from shuffledp.protocols.family import Family
from shuffledp.protocols.one_bit_mean import OneBitMean
from shuffledp.protocols.options import HIGH, LOW
from shuffledp.protocols.question import Question
from shuffledp.protocols.summation import SummationFamily, span
from shuffledp.randomizers.response import RandomizedResponse


class OneBitMeans(Family):
    """One bit, private by itself."""

    name, trust, accounted_by = "1BitMean", "nobody", "epsilon0"
    questions, options = ("sum", "mean", "query"), (LOW, HIGH)

    def propose(self, question: Question) -> OneBitMean:
        """With the question's epsilon as epsilon0."""
        low, high = span(question)
        randomizer = RandomizedResponse(size=2, epsilon0=question.epsilon).as_run()
        return OneBitMean(randomizer=randomizer, low=low, high=high, total=question.name)  # type: ignore[arg-type]


class ShuffledOneBitMeans(Family):
    """One bit with the crowd's blanket."""

    name, trust, accounted_by = "1BitMean, shuffled (= Cheu et al., one bit)", "the shuffler", "its blanket"
    questions, options = OneBitMeans.questions, OneBitMeans.options

    def propose(self, question: Question) -> OneBitMean:
        """The least blanket on two messages."""
        one = question.at(options={**question.options, "precision": 1})
        found = SummationFamily().propose(one)
        low, high = span(question)
        return OneBitMean(randomizer=found.randomizer, low=low, high=high, total=question.name)  # type: ignore[arg-type]
