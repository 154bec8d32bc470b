"""What a release costs: the randomizer as it ran, and how many honest reports hid each other. Whatever has a blanket composes."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from shuffledp.accounting.account import bound_named
from shuffledp.accounting.composition import Collection, compose
from shuffledp.core import checks
from shuffledp.core.canonical import canonical
from shuffledp.core.document import Document
from shuffledp.planning.plan import Plan
from shuffledp.randomizers import registry


@dataclass(frozen=True, slots=True, kw_only=True)
class Spend:
    """One release.

    Attributes:
        randomizer: its document.
        n: honest reports relied on.
        bound: that proves the guarantee.
    """

    randomizer: Document
    n: int
    bound: str

    def __post_init__(self) -> None:
        checks.users(self.n)
        self.collection()  # refuses what cannot be accounted for

    @classmethod
    def of(cls, plan: Plan) -> "Spend":
        """What releasing a batch of a plan costs."""
        return cls(randomizer=plan.protocol.randomizer.document(), n=plan.guarantee.n, bound=plan.guarantee.bound)

    def collection(self) -> Collection:
        """For the accountant."""
        randomizer = registry.from_document(self.randomizer)
        return Collection(blanket=randomizer.blanket(), n=self.n, rounds=1, bound=bound_named(self.bound))


def composed(spends: Iterable[Spend], delta: float) -> float:
    """The epsilon of all releases together, by the certified accountant."""
    merged: dict[tuple[bytes, int, str], Collection] = {}
    for spend in spends:  # equal releases are rounds of one collection
        key = canonical(spend.randomizer), spend.n, spend.bound
        found = merged.get(key)
        merged[key] = spend.collection() if found is None else replace(found, rounds=found.rounds + 1)
    return compose(list(merged.values())).epsilon(delta) if merged else 0.0
