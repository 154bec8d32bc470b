"""What protocols have in common that count, for each value, the messages that belong to it in a structure."""

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from shuffledp.protocols.batched import Batched
from shuffledp.protocols.estimator import Reals
from shuffledp.randomizers.design_response import DesignResponse
from shuffledp.randomizers.dummies import Dummies


class DecodedTotals(Batched):
    """Decoded all at once, one run after the other."""

    __slots__ = ()
    randomizer: DesignResponse | Dummies

    @property
    def decoding_memory(self) -> int:
        return self.randomizer.structure.decoding_memory

    def debias(self, counts: NDArray[np.int64], n: int) -> Reals:
        if counts.ndim > 1:
            return np.stack([self.decoded(row, n) for row in counts])
        return self.decoded(counts, n)

    @abstractmethod
    def decoded(self, counts: NDArray[np.int64], n: int) -> Reals:
        """Unbiased answers of one run."""
