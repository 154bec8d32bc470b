"""Where a population's budget stands."""

from dataclasses import dataclass

from shuffledp.core.digits import counted, rounded_up


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """What was spent at the budget's delta, and the hash of the ledger's last line."""

    spent_epsilon: float
    budget_epsilon: float
    delta: float
    releases: int
    head: str

    def __str__(self) -> str:
        spent, budget, delta = map(rounded_up, (self.spent_epsilon, self.budget_epsilon, self.delta))
        return (
            f"budget: epsilon = {spent} of {budget} spent at delta = {delta} in {counted(self.releases, 'release')}\n"
            f"ledger head {self.head}"
        )
