"""The connections of a server: so many at the same time, shared between those who connect.

When all places are taken, whoever has most loses the connection that has been waiting for its client for longest. So connections
from one address, however many and silent, keep nobody from connecting from another.
"""

from typing import Final, Protocol

from shuffledp.service.shuffler.fair_shares import Shares

SURPLUS: Final = 50
"""Connections without a place that are told so; others are hung up on at once."""


class Guest(Protocol):
    """A connection that takes a place."""

    @property
    def sender(self) -> str:
        """Who connects."""
        ...

    def silent_since(self) -> float | None:
        """When it began to wait for its client; None if its client is waiting for an answer."""
        ...

    def hang_up(self) -> object:
        """End it."""
        ...


class Places:
    """Places for connections.

    Args:
        most: how many; None is no limit.
    """

    def __init__(self, most: int | None) -> None:
        self._room = Shares(most)
        self._seated: dict[str, set[Guest]] = {}
        self._surplus: set[Guest] = set()

    def arrive(self, guest: Guest) -> None:
        """Seat a connection; without a place it may stay to be told so, unless there are too many of those."""
        if self.seated(guest):
            return
        if len(self._surplus) < SURPLUS:
            self._surplus.add(guest)
        else:
            guest.hang_up()

    def seated(self, guest: Guest) -> bool:
        """Whether a connection has a place, or gets one now."""
        if guest in self._seated.get(guest.sender, ()):
            return True
        if self._room.lack(1) and not self._clear(self._room.giving_way(guest.sender, 1), guest.sender):
            return False
        self._surplus.discard(guest)
        self._room.take(guest.sender, 1)
        self._seated.setdefault(guest.sender, set()).add(guest)
        return True

    def _clear(self, sender: str, wanted_by: str) -> bool:
        """Free a place of a sender that has more than the one that wants it."""
        guests = self._seated.get(sender, set()) if sender != wanted_by else set()
        silent = {guest: since for guest in guests if (since := guest.silent_since()) is not None}
        if not silent:
            return False
        longest = min(silent, key=silent.__getitem__)
        self.leave(longest)
        longest.hang_up()
        return True

    def leave(self, guest: Guest) -> None:
        """A connection is over, or as good as over."""
        self._surplus.discard(guest)
        guests = self._seated.get(guest.sender, set())
        if guest in guests:
            guests.remove(guest)
            self._room.give_back(guest.sender, 1)
        if not guests:
            self._seated.pop(guest.sender, None)
