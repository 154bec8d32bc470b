"""Where a population's budget stands."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """What was spent at the budget's delta, and the hash of the ledger's last line."""

    spent_epsilon: float
    budget_epsilon: float
    delta: float
    releases: int
    head: str
