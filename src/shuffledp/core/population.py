"""Who holds what: the data of a simulation."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Population:
    """How many users hold each of some clean values of a protocol's domain."""

    values: NDArray[Any] = field(repr=False)
    users: NDArray[np.int64] = field(repr=False)

    @property
    def n(self) -> int:
        """How many users there are."""
        return int(self.users.sum())


def users_at(wanted: NDArray[Any], places: NDArray[Any], users: NDArray[np.integer]) -> NDArray[np.int64]:
    """How many users are at each wanted place, if `users` of them are at each of `places`.

    >>> users_at(np.array([7, 5, 7]), np.array([5, 6, 5]), np.array([1, 10, 100])).tolist()
    [0, 101, 0]
    """
    different, which = np.unique(wanted, return_inverse=True)
    nearest = np.minimum(np.searchsorted(different, places), max(0, len(different) - 1))
    here = different[nearest] == places if len(different) else np.zeros(len(places), dtype=np.bool_)
    total = np.zeros(len(different), dtype=np.int64)
    np.add.at(total, nearest[here], users[here])
    return np.asarray(total[which])
