"""Microsoft's 1BitMean: one bit that leans towards the value.

P[1] = 1 / (e^eps0 + 1) + x (e^eps0 - 1) / (e^eps0 + 1) (Ding, Kulkarni, Yekhanin 2017) is rounding x to 0 or 1 and randomized
response on two symbols: our summation with one step, so it has its law, its exact error and, when shuffled, its blanket
(gamma = 2 / (e^eps0 + 1)). Cheu et al.'s one-bit protocol is the same, with gamma set for the crowd.
"""

from typing import Self

from shuffledp.errors import InvalidInput
from shuffledp.protocols.family import Family
from shuffledp.protocols.options import HIGH, LOW
from shuffledp.protocols.question import Question
from shuffledp.protocols.summation import Summation, SummationFamily, span
from shuffledp.randomizers.response import RandomizedResponse
from shuffledp.references import cite


class OneBitMean(Summation):
    """The summation with one step, under its published name."""

    __slots__ = ()
    kind = "one-bit-mean"
    reference = cite("DKY17")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.precision != 1:
            raise InvalidInput(f"a one-bit mean has one step; got {self.precision}. Use a summation.")

    @classmethod
    def examples(cls) -> list[Self]:
        """Of numbers, and of answers."""
        return [
            cls(randomizer=RandomizedResponse(size=2, epsilon0=1.5).as_run()),
            cls(randomizer=RandomizedResponse(size=2, gamma=0.3).as_run(), total="query"),
        ]


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
