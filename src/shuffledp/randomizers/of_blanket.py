"""What its blanket says of a randomizer, as numbers that are rounded to the safe side."""

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

from flint import arb

from shuffledp.arithmetic.balls import evaluate
from shuffledp.core.blanket import Blanket
from shuffledp.core.document import Readers, Written, number


class GammaOfBlanket(ABC):
    """A randomizer with a blanket."""

    __slots__ = ()

    @abstractmethod
    def blanket(self) -> Blanket:
        """The privacy blanket."""

    @property
    def gamma(self) -> float:
        """The probability of ignoring the value, rounded down: less blanket, less privacy claimed."""
        return max(0.0, evaluate(lambda: self.blanket().gamma()).lower)


class OfBlanket(GammaOfBlanket):
    """One that is private by itself, or may be."""

    __slots__ = ()

    @property
    def epsilon0(self) -> float | None:
        """The local privacy parameter, rounded up; None if there is none."""
        blanket = self.blanket()
        return None if blanket.epsilon0() is None else evaluate(lambda: blanket.epsilon0() or arb(0)).upper


class OfPureBlanket(OfBlanket):
    """One that is private by itself."""

    __slots__ = ()

    @property
    def epsilon0(self) -> float:
        """The local privacy parameter, rounded up."""
        local = super().epsilon0
        return math.inf if local is None else local


class ByEpsilon0(GammaOfBlanket, Written):
    """One that is settled by its epsilon0."""

    __slots__ = ()
    readers: ClassVar[Readers] = {"epsilon0": number}
    epsilon0: float

    @classmethod
    def examples(cls) -> list[Self]:
        """Small, usual and large."""
        of: Any = cls  # each is a dataclass of this one field
        return [of(epsilon0=epsilon0) for epsilon0 in (0.3, 1.0, 4.0)]
