"""Something that there is only so much of, shared between senders: when it is used up, whoever has most of it gives way.

A sender alone may have all of it. Senders are the names of `rate_limit.network`: here only as long as they have something.
"""

from collections import Counter


class FairShares:
    """How much of one thing each sender has.

    Attributes:
        most: how much there is; None is no limit.
        total: how much everybody has together.
    """

    def __init__(self, most: float | None) -> None:
        self.most, self.total = most, 0
        self._amounts: Counter[str] = Counter()

    def take(self, sender: str, amount: int) -> None:
        """Let a sender have more, whether or not there is enough."""
        self._amounts[sender] += amount
        self.total += amount

    def give_back(self, sender: str, amount: int) -> None:
        """Let a sender have less; one that has nothing is forgotten."""
        self.total -= amount
        self._amounts[sender] -= amount
        if not self._amounts[sender]:
            del self._amounts[sender]

    def of(self, sender: str) -> int:
        """How much a sender has."""
        return self._amounts.get(sender, 0)

    def lack(self, amount: int) -> bool:
        """Whether there is not enough left for this."""
        return self.most is not None and self.total + amount > self.most

    def giving_way(self, sender: str, amount: int) -> str:
        """Who gives way if a sender wants more than is left: who has most, or the sender if it would then have as much.

        >>> shares = FairShares(100)
        >>> shares.take("a", 60); shares.take("b", 40)
        >>> shares.giving_way("c", 10), shares.giving_way("b", 10), shares.giving_way("b", 20)
        ('a', 'a', 'b')
        """
        greatest = max(self._amounts, key=self._amounts.__getitem__, default=sender)
        return greatest if self.of(sender) + amount < self.of(greatest) else sender
