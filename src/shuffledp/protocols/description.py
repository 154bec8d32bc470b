"""What a page needs of a protocol: what it is about, in words."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What an answer is about.

    Attributes:
        question: what is asked, in a word: histogram, sum, ...
        measure: what the numbers of the estimate are, for an axis or a heading; the question, if nothing is said.
        measures: the same for each of several questions, by its name.
        asked: whether values are answers to a question that must be asked of each person.
        errors_are_bounds: whether standard errors are those at the worst data, so that the true ones may be smaller.
    """

    question: str
    measure: str = ""
    measures: Mapping[str, str] = field(default_factory=dict)
    asked: bool = False
    errors_are_bounds: bool = False

    def __post_init__(self) -> None:
        if not self.measure:
            object.__setattr__(self, "measure", self.question)


class Described(ABC):
    """It can be shown to people."""

    __slots__ = ()
    reference: ClassVar[str]
    """Where it comes from."""

    @property
    @abstractmethod
    def description(self) -> Description:
        """What its answer is about."""

    @abstractmethod
    def sentence(self) -> str:
        """What one user does, in one sentence."""
