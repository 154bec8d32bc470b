"""Families of local randomizers: private by themselves, and the same ones behind a shuffler."""

import math
from abc import abstractmethod

from shuffledp.accounting.account import calibrate
from shuffledp.core import blanket
from shuffledp.planning.families.histogram import HistogramQuestion
from shuffledp.planning.families.summation import SumQuestion
from shuffledp.planning.family import Family, Trust
from shuffledp.protocols.counting import Counting
from shuffledp.protocols.histogram import Histogram
from shuffledp.protocols.summation import Summation
from shuffledp.randomizers.generic import Generic
from shuffledp.randomizers.response import RandomizedResponse


class LocalHistogram(Family[HistogramQuestion]):
    """Histograms by a local randomizer that epsilon0 decides; shuffled, epsilon0 is the largest that the crowd allows."""

    name: str
    shuffled_by = "generic"
    question_type = HistogramQuestion
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

    def propose(self, question: HistogramQuestion) -> Counting:
        """With the question's epsilon as epsilon0, or amplified."""
        size, epsilon0 = question.domain.size, question.epsilon
        if self._shuffled:
            epsilon0 = calibrate(self.family(size), n=question.n, epsilon=epsilon0, delta=question.delta)
        return self.private(size, epsilon0)


class LocalResponse(Family[HistogramQuestion]):
    """Randomized response that is private by itself, on bins."""

    name, trust, accounted_by = "local randomized response", "nobody", "epsilon0"
    question_type = HistogramQuestion

    def propose(self, question: HistogramQuestion) -> Histogram:
        """With the question's epsilon as epsilon0."""
        return Histogram(RandomizedResponse(size=question.domain.size, epsilon0=question.epsilon).as_run())


class LocalSum(Family[SumQuestion]):
    """Randomized response that is private by itself, on the best grid."""

    name, trust, accounted_by = "local randomized response", "nobody", "epsilon0"
    question_type = SumQuestion

    def propose(self, question: SumQuestion) -> Summation:
        """With the question's epsilon as epsilon0."""
        low, high = question.domain.low, question.domain.high
        grids = (
            Summation(
                randomizer=RandomizedResponse(size=k + 1, epsilon0=question.epsilon).as_run(), low=low, high=high,
                total=question.total,
            )
            for k in range(1, math.ceil(min(1000.0, 2 * math.exp(min(question.epsilon, 50.0) / 2))) + 2)
        )  # fmt: skip
        return min(grids, key=lambda protocol: protocol.mean_squared_error(question.n))
