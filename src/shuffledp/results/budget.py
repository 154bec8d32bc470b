"""A population's budget: the only place that decides whether another release fits into it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from shuffledp.core import checks
from shuffledp.core.digits import counted, rounded_up
from shuffledp.errors import InvalidInput, NoClaim
from shuffledp.planning.release_cost import Spend, composed

LARGEST_DELTA: Final = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What may be spent in all."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        checks.settle_promise(self)
        if self.delta > LARGEST_DELTA:
            raise InvalidInput(
                f"a budget's delta must be at most {LARGEST_DELTA}; got {self.delta}. Delta is how often everything about a "
                "person may come out; a usual choice is 1e-6."
            )

    def spent(self, releases: Sequence[Spend]) -> float:
        """The epsilon of all these releases together, at the budget's delta."""
        return composed(releases, self.delta)

    def with_another(self, releases: Sequence[Spend], more: Spend) -> float:
        """The epsilon of these releases and one more; refused if that is beyond the budget."""
        together = self.spent([*releases, more])
        if not together <= self.epsilon:
            done = f"the budget is spent: {counted(len(releases), 'release')} and this one"
            raise NoClaim(
                f"{done if releases else 'nothing is spent, but this release alone'} would be "
                f"epsilon = {rounded_up(together)} at delta = {rounded_up(self.delta)}, "
                f"above {rounded_up(self.epsilon)}. Use another population, or ask for less."
            )
        return together

    def __str__(self) -> str:
        return f"epsilon = {rounded_up(self.epsilon)} at delta = {rounded_up(self.delta)}"
