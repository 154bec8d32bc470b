"""The server's side of training: each round is booked before a client is asked, and gives one mean update."""

import secrets

import numpy as np

from shuffledp.core.estimate import Estimate
from shuffledp.errors import InvalidInput
from shuffledp.federated.shuffling import ShuffledReports
from shuffledp.federated.update_encoder import protocol_of
from shuffledp.planning.plan import Plan
from shuffledp.planning.release_cost import Spend
from shuffledp.results.balance import Balance
from shuffledp.service.analyzer.ledger import Ledger, LedgerEntry


class Rounds:
    """Rounds of one plan within the budget of a ledger.

    Args:
        plan: of one round: the mean of the clients' updates.
        ledger: of the clients. Whatever else they are asked is booked there, too.
    """

    def __init__(self, plan: Plan, ledger: Ledger) -> None:
        self._protocol = protocol_of(plan)
        self.plan, self._ledger = plan, ledger
        self._name, self._begun, self._open = secrets.token_hex(16), 0, False
        ledger.check()

    def begin(self) -> Balance:
        """Book another round, before anybody is asked; refused, with nothing booked, if the budget does not allow it.

        A round that fails afterwards stays booked, because its messages were sent.
        """
        number = self._begun + 1
        entry = LedgerEntry(task=self.plan.sha256, batch=f"{self._name}-{number}", spend=Spend.of(self.plan))
        balance = self._ledger.book(entry)
        self._begun, self._open = number, True
        return balance

    def mean(self, reports: ShuffledReports) -> Estimate:
        """The mean update of the round that was begun, with its standard errors. A round gives one."""
        if reports.plan != self.plan.sha256:
            raise InvalidInput(
                "these reports were shuffled under another plan. Shuffle them under the plan of these rounds."
            )
        if not self._open:
            raise InvalidInput("no round was begun, so nothing is released. Book one with begin().")
        self._open = False
        if not reports.enough or self.plan.honest_of(reports.clients) < self.plan.guarantee.n:
            raise InvalidInput(
                f"only {reports.clients:,} clients sent a report and the plan needs {self.plan.min_batch:,}, so nothing is "
                "released. Ask more clients, or plan for fewer."
            )
        totals = np.zeros(self._protocol.batch_counters, dtype=np.int64)
        self._protocol.add_batch(totals, reports.messages, np.ones(len(reports.messages), dtype=np.int64))
        return self._protocol.estimate(self._protocol.tallied(totals, reports.clients), guarantee=self.plan.guarantee)
