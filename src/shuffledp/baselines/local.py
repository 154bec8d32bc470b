"""Families of local randomizers: private by themselves, and the same ones behind a shuffler."""

import math
from abc import abstractmethod

from shuffledp.accounting.account import calibrate
from shuffledp.core import blanket
from shuffledp.protocols.bins import listed
from shuffledp.protocols.counting import Counting
from shuffledp.protocols.family import Family, Trust
from shuffledp.protocols.histogram import Histogram
from shuffledp.protocols.options import BY, HIGH, LOW, SIZE
from shuffledp.protocols.question import Question
from shuffledp.protocols.summation import Summation, span
from shuffledp.randomizers.generic import Generic
from shuffledp.randomizers.response import RandomizedResponse


class LocalHistogram(Family):
    """Histograms by a local randomizer that epsilon0 decides; shuffled, epsilon0 is the largest that the crowd allows."""

    name: str
    shuffled_by = "generic"
    questions, options = ("histogram",), (SIZE, BY)
    trust: Trust

    def __init__(self, *, shuffled: bool) -> None:
        self._shuffled = shuffled
        self.trust, self.accounted_by = ("the shuffler", self.shuffled_by) if shuffled else ("nobody", "epsilon0")
        if shuffled:
            self.name = f"{self.name}, shuffled"

    @abstractmethod
    def private(self, size: int, epsilon0: float) -> Counting:
        """The most accurate one that is epsilon0-LDP."""

    def family(self, size: int) -> blanket.RandomizerFamily:  # noqa: ARG002
        """What the shuffled one is accounted as: any epsilon0-LDP randomizer, unless more is known."""
        return Generic.family()

    def propose(self, question: Question) -> Counting:
        """With the question's epsilon as epsilon0, or amplified."""
        size, epsilon0 = listed(question).size, question.epsilon
        if self._shuffled:
            epsilon0 = calibrate(self.family(size), n=question.n, epsilon=epsilon0, delta=question.delta)
        return self.private(size, epsilon0)


class LocalResponse(Family):
    """Randomized response that is private by itself, on bins."""

    name, trust, accounted_by = "local randomized response", "nobody", "epsilon0"
    questions, options = ("histogram",), (SIZE, BY)

    def propose(self, question: Question) -> Histogram:
        """With the question's epsilon as epsilon0."""
        return Histogram(RandomizedResponse(size=listed(question).size, epsilon0=question.epsilon).as_run())


class LocalSum(Family):
    """Randomized response that is private by itself, on the best grid."""

    name, trust, accounted_by = "local randomized response", "nobody", "epsilon0"
    questions, options = ("sum", "mean", "query"), (LOW, HIGH)

    def propose(self, question: Question) -> Summation:
        """With the question's epsilon as epsilon0."""
        low, high = span(question)
        grids = (
            Summation(
                randomizer=RandomizedResponse(size=k + 1, epsilon0=question.epsilon).as_run(), low=low, high=high,
                total=question.name,  # type: ignore[arg-type]
            )
            for k in range(1, math.ceil(min(1000.0, 2 * math.exp(min(question.epsilon, 50.0) / 2))) + 2)
        )  # fmt: skip
        return min(grids, key=lambda protocol: protocol.mean_squared_error(question.n))
