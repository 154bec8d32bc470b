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
        """All users."""
        return int(self.users.sum())
