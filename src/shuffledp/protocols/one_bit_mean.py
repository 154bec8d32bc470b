"""A mean or a share from one bit of each user: the summation with one step, under the name that it was published by.

It is loaded wherever plans are, since it can be collected by the service; nobody plans it, `compare` lists it.
"""

from typing import Self

from shuffledp.errors import InvalidInput
from shuffledp.protocols.summation import Summation
from shuffledp.randomizers.response import RandomizedResponse
from shuffledp.references import cite


class OneBitMean(Summation):
    """The summation with one step, under its published name."""

    __slots__ = ()
    kind = "one-bit-mean"
    reference = cite("DKY17")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.precision != 1:
            raise InvalidInput(f"a one-bit mean has one step; got {self.precision}. Use a summation.")

    @classmethod
    def examples(cls) -> list[Self]:
        return [
            cls(randomizer=RandomizedResponse(size=2, epsilon0=1.5).as_run()),
            cls(randomizer=RandomizedResponse(size=2, gamma=0.3).as_run(), total="query"),
        ]
