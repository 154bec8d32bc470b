"""A closed interval that provably contains a number."""

import math
from dataclasses import dataclass

from shuffledp.errors import Contradiction


@dataclass(frozen=True, slots=True)
class Enclosure:
    """`lower <= truth <= upper`. A privacy claim uses `upper`; -inf and inf mean "nothing known on that side"."""

    lower: float
    upper: float

    def __post_init__(self) -> None:
        if math.isnan(self.lower) or math.isnan(self.upper) or self.lower > self.upper:
            raise Contradiction(
                f"a lower end {self.lower} is above its upper end {self.upper}: one of them is wrong. Please report this."
            )
