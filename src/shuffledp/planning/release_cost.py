"""What a release costs: the randomizer as it ran, and how many honest reports hid each other. Whatever has a blanket composes."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from shuffledp.accounting.account import bound_named
from shuffledp.accounting.composition import Collection, compose
from shuffledp.accounting.releases import releases
from shuffledp.core import checks
from shuffledp.core.canonical import canonical
from shuffledp.core.document import Document, members, text, whole
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
        checks.settle(self, n=checks.users(self.n))
        self.collections()  # refuses what cannot be accounted for

    @classmethod
    def from_document(cls, document: object) -> Self:
        """Read what results, ledgers and histories hold."""
        return cls(**members(document, "a spend", randomizer=lambda value: value, n=whole, bound=text))

    @classmethod
    def of(cls, plan: Plan) -> "Spend":
        """What releasing a batch of a plan costs."""
        return cls(randomizer=plan.protocol.randomizer.document(), n=plan.guarantee.n, bound=plan.guarantee.bound)

    def collections(self, rounds: int = 1) -> list[Collection]:
        """For the accountant: so many such releases. Messages that are shuffled apart are releases of their own."""
        return releases(registry.from_document(self.randomizer).blanket(), self.n, bound_named(self.bound), rounds)


def composed(spends: Iterable[Spend], delta: float) -> float:
    """The epsilon of all releases together, by the certified accountant."""
    found = merged((spend, 1) for spend in spends)
    return compose(found).epsilon(delta) if found else 0.0


def merged(spends: Iterable[tuple[Spend, int]]) -> list[Collection]:
    """Releases and how often each was made, for the accountant: equal ones are rounds of one collection."""
    found: dict[tuple[bytes, int, str], tuple[Spend, int]] = {}
    for spend, times in spends:
        key = canonical(spend.randomizer), spend.n, spend.bound
        found[key] = spend, found.get(key, (spend, 0))[1] + times
    return [collection for spend, rounds in found.values() for collection in spend.collections(rounds)]
