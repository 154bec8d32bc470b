"""Several questions, whose answers everybody sends as one message: a cell of the table of all of them."""

import math
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.population import Population
from shuffledp.core.randomizer import Thresholded
from shuffledp.core.randomness import RandomSource
from shuffledp.domains.labels import Labels
from shuffledp.errors import InvalidInput
from shuffledp.protocols.estimator import Reals
from shuffledp.protocols.histogram import Histogram
from shuffledp.protocols.one_message import OneMessage, OneSymbol, Symbols
from shuffledp.protocols.summation import Summation
from shuffledp.protocols.survey import Asked, Survey, WholeSurveyReading, own_errors
from shuffledp.randomizers.response import RandomizedResponse

MOST_CELLS = 1 << 20


class SurveyTable(Survey, OneSymbol):
    """A message is a cell, and the answers to a question are the sums of the cells along all others."""

    __slots__ = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values each question has."""
        return tuple(one.protocol.randomizer.symbols for one in self.questions)

    @property
    def where(self) -> str:
        """What a user does first."""
        cells = f"the table of all {len(self.questions)} questions, with {math.prod(self.shape):,} cells"
        return f"each user finds the cell of their answers in {cells}"

    def encode(self, values: NDArray[Any], randomness: RandomSource, *, first_row: int) -> Symbols:
        """Cells are numbered, the last question changing fastest."""
        columns = self.symbols_of(values, randomness, first_row, apart=True)
        cells = np.ravel_multi_index(tuple(columns.T.astype(np.int64)), self.shape)
        return np.asarray(cells, dtype=np.min_scalar_type(math.prod(self.shape) - 1))

    @property
    def reading(self) -> WholeSurveyReading:
        """What each question reads."""
        return WholeSurveyReading(self)

    def sums(self, cells: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """How often each value of each question is in the messages; one run per row."""
        first = cells.ndim - 1
        table = cells.reshape(*cells.shape[:-1], *self.shape)
        axes = range(first, first + len(self.shape))
        return [table.sum(axis=tuple(axis for axis in axes if axis != first + t)) for t in range(len(self.shape))]

    def standard_error(self, value: Reals, n: int) -> Reals:
        return own_errors(self, value, n)

    def errors_for(self, population: Population) -> list[float]:
        parts = self.parts_of(population)
        return [one.protocol.expected_error(part) for one, part in zip(self.questions, parts, strict=True)]

    def max_shift(self, n: int) -> float:
        return max(one.protocol.max_shift(n) for one in self.questions)


@dataclass(frozen=True, slots=True, kw_only=True)
class JointTable(SurveyTable, OneMessage):
    """Each person sends the true cell of the table, or a uniformly random one, by randomized response.

    A uniform cell is uniform in each question, so that the messages of one question are those of randomized response on its
    values alone, with the same gamma: the error of a question is its protocol's own.
    Reference: BBGN19, Algorithm 1, on the product of the questions' values.
    """

    questions: tuple[Asked, ...]
    randomizer: RandomizedResponse = field(init=False, repr=False, compare=False)
    kind = "survey-table"
    way = "table"

    def __post_init__(self) -> None:
        self.check_questions()
        thresholds = set()
        for one in self.questions:
            asked = one.protocol.randomizer
            if not isinstance(asked, Thresholded) or asked.blanket().uniform_size is None:
                raise InvalidInput(f"question {one.name!r} is not asked by randomized response. Ask it on its own.")
            thresholds.add(asked.threshold)
        if len(thresholds) != 1 or math.prod(self.shape) > MOST_CELLS:
            raise InvalidInput("one table has one blanket and at most 2^20 cells. Make the plan with shuffledp plan.")
        table = RandomizedResponse.of_threshold(size=math.prod(self.shape), threshold=thresholds.pop())
        object.__setattr__(self, "randomizer", table)

    @classmethod
    def of(cls, questions: tuple[Asked, ...]) -> Self:
        return cls(questions=questions)

    def sentence(self) -> str:
        """One of the cells."""
        return f"{self.where}, then {self.randomizer.sentence()}"

    def symbol_law(self, value: NDArray[Any]) -> list[tuple[Any, float]]:
        """Questions are rounded independently."""
        each = [one.by_one_message.symbol_law(self.domain.column(value, t)) for t, one in enumerate(self.questions)]
        return [
            (
                int(np.ravel_multi_index([symbol for symbol, _ in cell], self.shape)),
                math.prod(often for _, often in cell),
            )
            for cell in product(*each)
        ]

    def debias(self, counts: NDArray[np.int64], n: int) -> Reals:
        sums = zip(self.questions, self.sums(counts), strict=True)
        return np.concatenate([one.protocol.debias(mine, n) for one, mine in sums], axis=-1)

    @classmethod
    def examples(cls) -> list[Self]:
        """Two counts; a count and a mean."""
        sex = Histogram(RandomizedResponse(size=2, gamma=0.25), Labels(("female", "male")))
        diet = Histogram(RandomizedResponse(size=3, gamma=0.25), Labels(("meat", "fish", "plants")))
        hours = Summation(randomizer=RandomizedResponse(size=3, gamma=0.25), low=-2.0, high=8.0, total="mean")
        return [
            cls(questions=(Asked(name="sex", protocol=sex), Asked(name="diet", protocol=diet))),
            cls(questions=(Asked(name="diet", protocol=diet), Asked(name="hours", protocol=hours, weight=2))),
        ]
