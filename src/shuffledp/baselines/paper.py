"""The paper's own recipe, to compare: gamma of Theorem 3.1 and, for sums, the precision of Theorem 4.1."""

from shuffledp.accounting.histogram_theorem import PAPER_BOUND
from shuffledp.protocols.deployable import Deployable
from shuffledp.protocols.family import Family, PlannedFamily
from shuffledp.protocols.question import Question


class PaperParameters(Family):
    """What a planned family proposes if the paper's theorem must prove it."""

    name, trust, accounted_by = "privacy blanket, the paper's parameters", "the shuffler", PAPER_BOUND

    def __init__(self, family: PlannedFamily) -> None:
        self._family = family
        self.questions, self.options = family.questions, family.options  # type: ignore[misc]

    def propose(self, question: Question) -> Deployable:
        """By the paper's theorems."""
        return self._family.propose(question.at(bound=PAPER_BOUND))
