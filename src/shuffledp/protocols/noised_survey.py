"""Several questions with noise from the shuffler: everybody sends the true cell of the table of all of them."""

import math
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.domains.intervals import Intervals
from shuffledp.domains.labels import Labels
from shuffledp.errors import InvalidInput
from shuffledp.protocols.estimator import Reals
from shuffledp.protocols.noised import NoisedCounts
from shuffledp.protocols.noised_distribution import NoisedDistribution
from shuffledp.protocols.noised_messages import NOISE_NOTE, NoisedMessages
from shuffledp.protocols.survey import Asked, WholeSurveyReading
from shuffledp.protocols.survey_table import MOST_CELLS, SurveyTable
from shuffledp.randomizers.geometric_noise import ThinnedGeometric, TwoSidedGeometric
from shuffledp.randomizers.shuffler_noise import ShufflerNoise


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisedTable(SurveyTable, NoisedMessages):
    """Each person sends the true cell of the table, and the shuffler adds dummies of every cell.

    What is released are the counts of the cells, so that the guarantee is that of one histogram. The count of a question's value
    has the dummies of all cells that it is in: with M cells and K values, M / K of them.
    Reference: MSE25, on the product of the questions' values; docs/maths/shuffler-noise.md.
    """

    questions: tuple[Asked, ...]
    randomizer: ShufflerNoise = field(init=False, repr=False, compare=False)
    kind = "survey-table-with-shuffler-noise"
    way = "table"

    def __post_init__(self) -> None:
        self.check_questions()
        cells = math.prod(self.shape)
        each = [one.protocol for one in self.questions if isinstance(one.protocol, NoisedCounts | NoisedDistribution)]
        noises = {protocol.noise for protocol in each}
        if len(noises) != 1 or cells > MOST_CELLS:
            raise InvalidInput("one table has one noise and at most 2^20 cells. Make the plan with shuffledp plan.")
        with_cells = [replace(protocol, cells=cells // protocol.size) for protocol in each]
        asked = [replace(one, protocol=protocol) for one, protocol in zip(self.questions, with_cells, strict=True)]
        object.__setattr__(self, "questions", tuple(asked))
        object.__setattr__(self, "randomizer", ShufflerNoise(size=cells, noise=noises.pop()))

    @classmethod
    def takes(cls, protocol: Any) -> bool:
        """Counts of true messages."""
        return isinstance(protocol, NoisedCounts | NoisedDistribution)

    @classmethod
    def of(cls, questions: tuple[Asked, ...]) -> Self:
        return cls(questions=questions)

    def sentence(self) -> str:
        """One of the cells."""
        return f"{self.where} and sends it, and {self.noise.sentence()} (no local guarantee)"

    @property
    def reading(self) -> "NoisedTableReading":
        """What each question reads."""
        return NoisedTableReading(self)

    def debias(self, counts: NDArray[np.int64], n: int) -> Reals:
        users = counts[..., -1:]
        sums = zip(self.questions, self.sums(counts[..., :-1]), strict=True)
        return np.concatenate(
            [one.protocol.debias(np.concatenate([mine, users], axis=-1), n) for one, mine in sums], axis=-1
        )

    @classmethod
    def examples(cls) -> list[Self]:
        """Two counts; a count and a distribution, without a chance of failure."""
        usual, pure = TwoSidedGeometric.least(1.0, 1e-6), ThinnedGeometric.least(2.0)
        sex, diet = Labels(("female", "male")), Labels(("meat", "fish", "plants"))
        hours = NoisedDistribution(randomizer=ShufflerNoise(size=4, noise=pure), domain=Intervals(4, 0.0, 8.0))

        def counts(domain: Labels, noise: Any) -> NoisedCounts:
            return NoisedCounts(randomizer=ShufflerNoise(size=domain.size, noise=noise), domain=domain)

        return [
            cls(
                questions=(
                    Asked(name="sex", protocol=counts(sex, usual)),
                    Asked(name="diet", protocol=counts(diet, usual)),
                )
            ),
            cls(
                questions=(
                    Asked(name="diet", protocol=counts(diet, pure)),
                    Asked(name="hours", protocol=hours, weight=2),
                )
            ),
        ]


class NoisedTableReading(WholeSurveyReading):
    """What each question reads."""

    __slots__ = ()

    def notes(self) -> tuple[str, ...]:
        return (NOISE_NOTE,)
