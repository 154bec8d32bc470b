"""A protocol whose messages are kept as they are counted, for tables of messages that are more than their counts."""

from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.counts import Counts
from shuffledp.core.ragged import Ragged
from shuffledp.protocols.deployable import Deployable


class Kept:
    """In all else it is the protocol; messages of rows that take no part are counted by nobody, and so are not kept."""

    def __init__(self, protocol: Deployable) -> None:
        self._protocol = protocol
        self._kept = list[NDArray[np.unsignedinteger]]()
        self._turn = Lock()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._protocol, name)

    def count(self, messages: Any) -> Counts:
        """The protocol's counts."""
        with self._turn:
            self._kept.append(messages.values if isinstance(messages, Ragged) else messages)
        return self._protocol.count(messages)

    def add(self, counts: NDArray[np.int64], messages: Any) -> None:
        """Counted like the others."""
        counts += self.count(messages).values

    def messages(self) -> NDArray[np.unsignedinteger]:
        """All of them; their order says who sent what, and must not be shown."""
        return np.concatenate([np.empty(0, dtype=np.uint64), *self._kept])
