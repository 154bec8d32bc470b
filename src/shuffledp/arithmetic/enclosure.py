"""A closed interval that provably contains a number."""

import math
from dataclasses import dataclass

from shuffledp.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Enclosure:
    """`lower <= truth <= upper`. A privacy claim uses `upper`; -inf and inf mean "nothing known on that side"."""

    lower: float
    upper: float

    def __post_init__(self) -> None:
        if math.isnan(self.lower) or math.isnan(self.upper) or self.lower > self.upper:
            raise InvalidInput(f"an enclosure needs lower <= upper; got [{self.lower}, {self.upper}].")
