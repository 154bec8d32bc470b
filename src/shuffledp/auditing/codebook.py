"""Messages as numbers, whatever they are: learned from examples."""

import contextlib
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_BINS: Final = 100
"""Into which numbers are put that hardly occur twice."""


class Codebook:
    """Different messages by number; numbers that hardly occur twice by the range they are in. What was never met is the last.

    >>> book = Codebook([np.array([b"yes", b"no", b"yes", b"no"])])
    >>> book.size, book.coded(np.array([b"yes", b"maybe"])).tolist()
    (3, [1, 2])
    """

    def __init__(self, examples: Sequence[NDArray[Any]]) -> None:
        every = np.concatenate(list(examples))
        known, often = np.unique(every, return_counts=True)
        self._known, self._edges = known, None
        numbers = _numbers(every) if 2 * np.count_nonzero(often == 1) > len(known) > _BINS else None
        if numbers is not None:
            self._edges = np.unique(np.quantile(numbers, np.linspace(0, 1, _BINS + 1)[1:-1]))
        self.size = (len(known) if self._edges is None else len(self._edges) + 1) + 1

    def coded(self, messages: NDArray[Any]) -> NDArray[np.int64]:
        """The number of each message."""
        if self._edges is not None:
            numbers = _numbers(messages)
            if numbers is None:
                return np.full(len(messages), self.size - 1)
            return np.searchsorted(self._edges, numbers, side="right").astype(np.int64)
        if messages.dtype.kind == "S" and messages.dtype.itemsize > self._known.dtype.itemsize:
            known = self._known.astype(messages.dtype)  # so that longer ones are not cut to fit
        else:
            known = self._known
        places = np.minimum(np.searchsorted(known, messages), len(known) - 1)
        return np.where(known[places] == messages, places, self.size - 1).astype(np.int64)


def _numbers(messages: NDArray[Any]) -> NDArray[np.float64] | None:
    """Messages as numbers; None if some are none."""
    with contextlib.suppress(ValueError):
        found = messages.astype(np.float64)
        return found if np.isfinite(found).all() else None
    return None
