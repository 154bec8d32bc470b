"""True messages with noise from the shuffler: as many dummies as are private enough, for any number of people."""

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from shuffledp.core.captions import spoken
from shuffledp.errors import InvalidInput, NoClaim
from shuffledp.planning.families.distribution import DistributionQuestion
from shuffledp.planning.families.histogram import HistogramQuestion
from shuffledp.planning.families.survey import Part, SurveyFamily, SurveyQuestion
from shuffledp.planning.family import Asked, PlannedFamily, Trust
from shuffledp.planning.question import Question, Terms
from shuffledp.protocols.noised import NoisedCounts
from shuffledp.protocols.noised_distribution import NoisedDistribution
from shuffledp.protocols.noised_messages import NoisedMessages
from shuffledp.protocols.noised_survey import NoisedTable
from shuffledp.protocols.survey import Asked as QuestionAsked
from shuffledp.protocols.survey import Survey
from shuffledp.randomizers.geometric_noise import GeometricNoise, ThinnedGeometric, TwoSidedGeometric
from shuffledp.randomizers.shuffler_noise import ShufflerNoise

PURE = "shuffler-pure"
"""The noise that never fails."""
_USUAL = "shuffler"
_MOST_DUMMIES = 1 << 26
"""In all: more would be a burden for everybody."""


class TruthfulFamily(PlannedFamily[Asked]):
    """Only if it is asked for: whom people must trust is not the planner's choice."""

    name = "shuffledp, shuffler's noise"
    trust: Trust = "the shuffler's noise"

    def answers(self, question: Question) -> bool:
        """Any question of its kind, so that it is compared; what it proposes depends on whether it was asked for."""
        return isinstance(question, self.question_type)

    def compared(self, question: Asked) -> Asked:
        """With the usual noise, unless it is said which."""
        return question if question.noise is not None else question.at(noise=_USUAL)

    def guess(self, question: Asked) -> float | None:
        """Nothing to expect unless it is asked for."""
        return math.inf if question.noise is None else None

    def propose(self, question: Asked) -> NoisedMessages:
        """With the fewest dummies that are private enough."""
        if question.noise is None:
            raise InvalidInput("nobody asked for noise from the shuffler. Ask with `noise` if people may trust it.")
        return self.on(question, noised(question, self.size(question), question.noise))

    @abstractmethod
    def size(self, question: Asked) -> int:
        """How many symbols there are."""

    @abstractmethod
    def on(self, question: Asked, randomizer: ShufflerNoise) -> NoisedMessages:
        """The protocol with this noise."""


class NoisedFamily(TruthfulFamily[HistogramQuestion]):
    """Histograms."""

    question_type = HistogramQuestion

    def compared(self, question: HistogramQuestion) -> HistogramQuestion:
        """Without dummies of users."""
        return TruthfulFamily.compared(self, question).at(messages_per_user=None)

    def size(self, question: HistogramQuestion) -> int:
        """How many counts get dummies: one for each value."""
        return question.domain.size

    def on(self, question: HistogramQuestion, randomizer: ShufflerNoise) -> NoisedCounts:
        return NoisedCounts(randomizer=randomizer, domain=question.domain)


class NoisedDistributionFamily(TruthfulFamily[DistributionQuestion]):
    """Distributions, on one grid."""

    question_type = DistributionQuestion

    def size(self, question: DistributionQuestion) -> int:
        """How many counts get dummies: one for each interval."""
        return question.domain.size

    def on(self, question: DistributionQuestion, randomizer: ShufflerNoise) -> NoisedDistribution:
        return NoisedDistribution(randomizer=randomizer, domain=question.domain)


class NoisedTableFamily(SurveyFamily):
    """Surveys, as one table of all questions."""

    name, way, trust = "shuffledp, joint table with the shuffler's noise", "table", "the shuffler's noise"

    def answers(self, question: Question) -> bool:
        """Only if it is asked for."""
        return isinstance(question, SurveyQuestion) and question.noise is not None

    def private(self, question: SurveyQuestion) -> NoisedTable:
        """With the fewest dummies that are private enough."""
        asked = [(part, _truthful(part)) for part in question.parts]
        sizes = [family.size(part.question) for part, family in asked]
        noise = noised(question, math.prod(sizes), question.noise or _USUAL).noise
        return NoisedTable(
            questions=tuple(
                QuestionAsked(
                    name=part.name, weight=part.weight,
                    protocol=family.on(part.question, ShufflerNoise(size=size, noise=noise)),
                )
                for (part, family), size in zip(asked, sizes, strict=True)
            )
        )  # fmt: skip

    def shape(self, question: SurveyQuestion) -> Callable[[float], NoisedTable]:  # noqa: ARG002
        raise NoClaim("there is no blanket in noise from the shuffler. Plan for an epsilon.")

    def propose_for_error(self, question: SurveyQuestion, cost: float) -> Survey:
        return PlannedFamily.propose_for_error(self, question, cost)  # type: ignore[return-value]


def _truthful(part: Part) -> TruthfulFamily[Any]:
    """The family that counts the true answers to one question of several."""
    from shuffledp.planning import registry

    for family in registry.families(part.question.name):
        if isinstance(family, TruthfulFamily) and family.answers(part.question):
            return family
    raise InvalidInput(
        f"question {part.name!r}, {spoken(part.question.name)}, cannot be asked with noise from the shuffler. Ask for a "
        "histogram or a distribution, or plan it on its own."
    )


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
