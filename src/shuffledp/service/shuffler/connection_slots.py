"""How many connections a server has at the same time, shared between those who connect.

When all slots are taken, whoever has most loses the connection that has been waiting for its client for longest. So connections
from one address, however many and silent, keep nobody from connecting from another.
"""

from typing import Final, Protocol

from shuffledp.service.shuffler.fair_shares import FairShares

SURPLUS: Final = 50
"""Connections without a slot that are answered with a refusal; the connections beyond these are closed at once."""


class SlotHolder(Protocol):
    """A connection that takes a slot."""

    @property
    def sender(self) -> str:
        """The sender whose connection it is."""
        ...

    def silent_since(self) -> float | None:
        """When it began to wait for its client; None if its client is waiting for an answer."""
        ...

    def hang_up(self) -> object:
        """End the connection at once."""
        ...


class ConnectionSlots:
    """Slots for connections.

    Args:
        most: how many; None is no limit.
    """

    def __init__(self, most: int | None) -> None:
        self._room = FairShares(most)
        self._held: dict[str, set[SlotHolder]] = {}
        self._surplus: set[SlotHolder] = set()

    def arrive(self, holder: SlotHolder) -> None:
        """Give a connection a slot; without one it stays until it is refused, unless too many are waiting for that."""
        if self.has_slot(holder):
            return
        if len(self._surplus) < SURPLUS:
            self._surplus.add(holder)
        else:
            holder.hang_up()

    def has_slot(self, holder: SlotHolder) -> bool:
        """Whether a connection has a slot, or gets one now."""
        if holder in self._held.get(holder.sender, ()):
            return True
        if self._room.lack(1) and not self._clear(self._room.giving_way(holder.sender, 1), holder.sender):
            return False
        self._surplus.discard(holder)
        self._room.take(holder.sender, 1)
        self._held.setdefault(holder.sender, set()).add(holder)
        return True

    def _clear(self, sender: str, wanted_by: str) -> bool:
        """Free a slot of a sender that has more than the one that wants it."""
        holders = self._held.get(sender, set()) if sender != wanted_by else set()
        silent = {holder: since for holder in holders if (since := holder.silent_since()) is not None}
        if not silent:
            return False
        longest = min(silent, key=silent.__getitem__)
        self.leave(longest)
        longest.hang_up()
        return True

    def leave(self, holder: SlotHolder) -> None:
        """A connection is over, or as good as over."""
        self._surplus.discard(holder)
        holders = self._held.get(holder.sender, set())
        if holder in holders:
            holders.remove(holder)
            self._room.give_back(holder.sender, 1)
        if not holders:
            self._held.pop(holder.sender, None)
