"""The client's side of a round: an update is cut down to the plan's norm, and messages are sent in its place."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.ragged import Ragged
from shuffledp.core.randomness import RandomSource, SystemRandomness
from shuffledp.domains.domain import Policy
from shuffledp.errors import InvalidInput
from shuffledp.planning.plan import Plan
from shuffledp.protocols.randomized import randomized
from shuffledp.protocols.vector_mean import VectorMean, averages_updates

Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedUpdates:
    """What is sent in place of updates.

    Attributes:
        reports: the messages of each client.
        clipped: how many updates were longer than the norm. It depends on their values: it stays where they are.
        unusable: how many had entries that are no finite numbers, and count as no change. It stays, too.
    """

    reports: list[list[int]]
    clipped: int
    unusable: int


def protocol_of(plan: Plan) -> VectorMean:
    """The plan's protocol; refused if the plan is not about rows of numbers."""
    if not isinstance(plan, Plan):
        raise InvalidInput(f"the plan is a {type(plan).__name__}. Make one with plan.vector(...).")
    return averages_updates(plan.protocol)


class UpdateEncoder:
    """Randomizes updates at the clients that made them.

    >>> from shuffledp import plan
    >>> encoder = UpdateEncoder(plan.vector(dimension=3, norm=1.0, n=1000, epsilon=1.0, delta=1e-6))
    >>> encoded = encoder.encode([[0.0, 3.0, 4.0], [0.1, 0.0, 0.0]])
    >>> len(encoded.reports), encoded.clipped
    (2, 1)
    """

    def __init__(self, plan: Plan) -> None:
        self._protocol = protocol_of(plan)

    @property
    def dimension(self) -> int:
        """Entries of an update."""
        return self._protocol.domain.dimension

    def encode(self, updates: Any, *, randomness: RandomSource | None = None) -> EncodedUpdates:
        """The messages for updates, a row for each client; randomized by the operating system unless other words are given.

        Whether a client answers must not depend on its update. So one that has entries that are no finite numbers is replaced by
        the middle of the domain, which for a norm is no change at all, and one that is too long is cut down.
        """
        try:
            rows = np.array(updates, dtype=np.float64)
        except (TypeError, ValueError):
            rows = np.empty(0)
        if rows.ndim != 2 or rows.shape[1] != self.dimension:
            raise InvalidInput(
                f"updates are rows of {self.dimension:,} numbers, one for each client. Give a two-dimensional array."
            )
        source = SystemRandomness() if randomness is None else randomness
        source.reserve()
        usable = np.isfinite(rows).all(axis=1)
        rows[~usable] = self._protocol.domain.middle
        clean, sent = randomized(self._protocol, rows, source, Policy(outside="clamp"))
        messages = sent.values if isinstance(sent, Ragged) else sent
        return EncodedUpdates(
            reports=messages.reshape(len(rows), -1).tolist(),
            clipped=clean.adjusted["clamped"],
            unusable=int(np.count_nonzero(~usable)),
        )
