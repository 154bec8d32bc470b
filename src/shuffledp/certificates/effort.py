"""How much work a proof may take: counted, so that every document is settled in bounded time, alike on every machine."""

import math
from collections.abc import Callable
from typing import Final

from shuffledp.certificates.unverifiable import Unverifiable

MOST: Final = 1_000_000_000
"""Terms in the proof of one claim: a few minutes. Of honest claims the longest had a sixth of that."""


class Effort:
    """The terms that may still be summed up; `tick` is called now and then, for a progress bar."""

    __slots__ = ("_left", "_tick")

    def __init__(self, tick: Callable[[], None] = lambda: None, most: float = MOST) -> None:
        self._tick, self._left = tick, most

    def spend(self, terms: float) -> None:
        """Before so many terms are summed up; raises Unverifiable if that is too much."""
        self._tick()
        self._left -= terms
        if not self._left >= 0:
            raise Unverifiable(f"a claim whose proof has more than {MOST:,} terms")


def unbounded() -> Effort:
    """For sums of a bearable size."""
    return Effort(most=math.inf)
