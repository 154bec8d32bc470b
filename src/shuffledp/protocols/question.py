"""What a protocol is asked for: which answer, from how many users, how private."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from shuffledp.core import checks
from shuffledp.core.honest import honest_reports


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question, checked as far as all have it in common.

    Attributes:
        name: histogram, sum, mean, query, or what else a registered family answers.
        n: reports required before anything is released.
        epsilon: of the central guarantee.
        delta: of the central guarantee.
        honest_fraction: the share of the reports that may be relied on.
        bound: that must prove the guarantee.
        options: what else is known of the answer: size, labels, low, high, ...
    """

    name: str
    n: int
    epsilon: float
    delta: float
    honest_fraction: float = 1.0
    bound: str = "best"
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        checks.settle(
            self,
            n=checks.users(self.n),
            epsilon=checks.epsilon(self.epsilon, positive=True),
            delta=checks.probability(self.delta, "delta"),
        )
        honest_reports(self.n, self.honest_fraction)

    @property
    def honest(self) -> int:
        """Honest reports relied on."""
        return honest_reports(self.n, self.honest_fraction)

    def option(self, name: str, default: Any = None) -> Any:
        """What was said about this, if anything was."""
        found = self.options.get(name)
        return default if found is None else found

    def at(self, **changes: Any) -> Self:
        """The same question with other numbers."""
        return replace(self, **changes)


def spoken(name: str) -> str:
    """The name of a question with an article.

    >>> spoken("sum"), spoken("texts")
    ('a sum', 'a plan of texts')
    """
    return f"a plan of {name}" if name.endswith("s") else f"a {name}"
