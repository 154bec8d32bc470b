"""Histograms of any size by design response: the plane, or the space, whose order errs least."""

from collections.abc import Iterable

from shuffledp.errors import InvalidInput
from shuffledp.planning.families.design_response import DesignFamily, orders
from shuffledp.planning.families.histogram import HistogramQuestion
from shuffledp.protocols.frequencies import Frequencies
from shuffledp.randomizers.design_response import DesignResponse
from shuffledp.randomizers.structures import AffineSpace


class FrequenciesFamily(DesignFamily[HistogramQuestion]):
    """All values are points of the plane or space."""

    name = "shuffledp, plane"
    question_type = HistogramQuestion

    def structures(self, question: HistogramQuestion) -> Iterable[AffineSpace]:
        """All that hold the values."""
        return orders(question.domain.size)

    def build(self, question: HistogramQuestion, randomizer: DesignResponse) -> Frequencies:
        """On the values that were asked for."""
        return Frequencies(randomizer=randomizer, domain=question.domain)

    def too_many(self, question: HistogramQuestion) -> InvalidInput:
        """They are listed, so they must fit."""
        return InvalidInput(
            f"{question.domain.size:,} values are too many for a plane that fits in memory. Hash them to fewer."
        )
