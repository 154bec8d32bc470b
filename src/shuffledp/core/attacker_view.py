"""What an attacker may know of the messages of one user: whoever sends them says it, and audits read it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import InvalidInput

Reals = NDArray[np.float64]


class Total(NamedTuple):
    """What all messages say together, where one by itself says nothing.

    Attributes:
        of: that of the messages in each row.
        law: of so many users: totals, and how likely each is if one of them holds the last value, or, like all others, the first.
    """

    of: Callable[[NDArray[Any]], NDArray[np.int64]]
    law: Callable[[int], tuple[NDArray[np.int64], Reals, Reals]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackerView:
    """What is public about the messages of one user.

    Attributes:
        messages: how many different ones there are, if they are the numbers below that; None if they may be anything.
        law: how likely each of them is for one value, in an array of one; None if that is not known in closed form.
        releases: how many of the messages belong to each of several releases, one release after the other; empty if there is one.
        dummies: uniform messages that each user adds on average to each release, beside those that `law` is about; empty if none.
        apart: whether a row of several entries is as many messages, shuffled apart.
        total: what messages say that say something only all together; None if each says something.
        told: what of messages is looked at, as numbers below `messages`, where there are more messages than that.
    """

    messages: int | None = None
    law: Callable[[NDArray[Any]], Reals] | None = field(default=None, repr=False)
    releases: tuple[int, ...] = ()
    dummies: tuple[float, ...] = ()
    apart: bool = False
    total: Total | None = field(default=None, repr=False)
    told: Callable[[NDArray[Any]], NDArray[np.int64]] | None = field(default=None, repr=False)

    def dummies_of_each(self) -> Reals:
        """How often a user adds each message, on average."""
        if self.messages is None:
            raise InvalidInput("messages that may be anything are not uniform. Say how many there are.")
        sizes = self.releases or (self.messages,)
        rates = self.dummies or (0.0,) * len(sizes)
        return np.repeat([rate / size for rate, size in zip(rates, sizes, strict=True)], sizes)


@runtime_checkable
class Observable(Protocol):
    """Something whose messages are more to an attacker than one number per user with a known probability."""

    def attacker_view(self) -> AttackerView:
        """What is public about the messages of one user."""
        ...
