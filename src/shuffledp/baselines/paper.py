"""The paper's own recipe, to compare: gamma of Theorem 3.1 and, for sums, the precision of Theorem 4.1."""

from shuffledp.accounting.histogram_theorem import PAPER_BOUND
from shuffledp.planning.family import Asked, Family, PlannedFamily
from shuffledp.protocols.deployable import Deployable


class PaperParameters(Family[Asked]):
    """What a planned family proposes if the paper's theorem must prove it."""

    name, trust, accounted_by = "privacy blanket, the paper's parameters", "the shuffler", PAPER_BOUND

    def __init__(self, family: PlannedFamily[Asked]) -> None:
        self._family, self.question_type = family, family.question_type

    def propose(self, question: Asked) -> Deployable:
        """By the paper's theorems."""
        return self._family.propose(question.at(bound=PAPER_BOUND))
