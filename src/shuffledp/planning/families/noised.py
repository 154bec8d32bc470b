"""True messages with noise from the shuffler: as many dummies as are private enough, for any number of people."""

import math

from shuffledp.errors import InvalidInput, NoClaim
from shuffledp.planning.families.histogram import HistogramQuestion
from shuffledp.planning.family import PlannedFamily, Trust
from shuffledp.planning.question import Question, Terms
from shuffledp.protocols.noised import NoisedCounts
from shuffledp.randomizers.geometric_noise import GeometricNoise, ThinnedGeometric, TwoSidedGeometric
from shuffledp.randomizers.shuffler_noise import ShufflerNoise

PURE = "shuffler-pure"
"""The noise that never fails."""
_USUAL = "shuffler"
_MOST_DUMMIES = 1 << 26
"""In all: more would be a burden for everybody."""


class NoisedFamily(PlannedFamily[HistogramQuestion]):
    """Only if it is asked for: whom people must trust is not the planner's choice."""

    name = "shuffledp, shuffler's noise"
    trust: Trust = "the shuffler's noise"
    question_type = HistogramQuestion

    def answers(self, question: Question) -> bool:
        """Any histogram, so that it is compared; what it proposes depends on whether it was asked for."""
        return isinstance(question, self.question_type)

    def compared(self, question: HistogramQuestion) -> HistogramQuestion:
        """With the usual noise, unless it is said which."""
        return question if question.noise is not None else question.at(noise=_USUAL, messages_per_user=None)

    def guess(self, question: HistogramQuestion) -> float | None:
        """Nothing to expect unless it is asked for."""
        return math.inf if question.noise is None else None

    def propose(self, question: HistogramQuestion) -> NoisedCounts:
        """With the fewest dummies that are private enough."""
        if question.noise is None:
            raise InvalidInput("nobody asked for noise from the shuffler. Ask with `noise` if people may trust it.")
        return NoisedCounts(randomizer=noised(question, question.domain.size, question.noise), domain=question.domain)


def noised(terms: Terms, size: int, noise: str) -> ShufflerNoise:
    """True messages of so many symbols with the least noise that these terms allow."""
    if terms.bound != "best":
        raise NoClaim(f"the bound {terms.bound} is not for noise from the shuffler. Use the best one.")
    law: GeometricNoise = (
        ThinnedGeometric.least(terms.epsilon) if noise == PURE else TwoSidedGeometric.least(terms.epsilon, terms.delta)
    )
    if size * law.mean > _MOST_DUMMIES:
        raise InvalidInput(
            f"{size:,} values would take {size * law.mean:,.0f} dummies, more than a shuffler can be asked to add. Use fewer "
            "values or a larger epsilon, or let users hide each other."
        )
    return ShufflerNoise(size=size, noise=law)
