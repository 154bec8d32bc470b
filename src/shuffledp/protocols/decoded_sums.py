"""What codewords add up to, in whole numbers: sums of them, and of the products of their entries."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import InvalidInput
from shuffledp.protocols.estimator import Reals
from shuffledp.randomizers.codebook_response import CodebookResponse
from shuffledp.randomizers.codewords import unit_codewords

Wholes = NDArray[np.int64]
MOST_WITH_COVARIANCE: Final = 160
"""Entries of rows whose covariance is kept; of longer ones only the variances are."""
MOST_MESSAGES: Final = 1 << 33
"""That can be added up: sums have 63 bits."""
_SUM: Final = 1 << 28
"""Entries are added up as whole numbers of this part of 1, from -1 on, so that no sum is negative."""
_PRODUCT: Final = 1 << 14
"""Products are those of whole numbers of this part of 1."""
_WORTH_THREADS: Final = 1 << 22
"""Entries of codewords that take longer to make than threads to start."""
_BY_ONE_THREAD: Final = 250_000
"""Multiplications in a product of matrices that BLAS does not spread over threads, which here would only wait for each other."""
_HEAD: Final = 2
"""Counters before the sums: users, and messages."""


@dataclass(frozen=True, slots=True)
class DecodedSums:
    """Counts of a protocol whose messages name codewords: users, messages, sums of entries, sums of products of entries.

    Codewords are rounded before they are added, each by itself: then sums are exact, and it does not matter in which order or in
    which parts they are taken. Rounding is to 2^-28 for the mean and to 2^-14 for the products, far below a codeword's spread.
    """

    randomizer: CodebookResponse

    @property
    def dimension(self) -> int:
        """Entries of a row."""
        return self.randomizer.dimension

    @property
    def _pairs(self) -> int:
        d = self.dimension
        return d * (d + 1) // 2 if d <= MOST_WITH_COVARIANCE else d

    @property
    def counters(self) -> int:
        """How many numbers there are."""
        return _HEAD + self.dimension + self._pairs

    @property
    def memory(self) -> int:
        """About how many bytes decoding takes in a thread, whatever the number of messages."""
        return 4 * 8 * max(1 << 18, self.dimension + 1)

    def of(self, messages: NDArray[Any], *, users: int, threads: int = 1) -> Wholes:
        """What these messages add up to, worked out by so many threads."""
        given = np.asarray(messages)
        if len(given) and (
            given.dtype.kind not in "ui" or int(given.max()) >= self.randomizer.messages or int(given.min()) < 0
        ):
            raise InvalidInput("a message is not one of this protocol's. It belongs to another one.")
        seeds, numbers = self.randomizer.split(given)
        if threads > 1 and len(given) * (self.dimension + 1) > _WORTH_THREADS:
            parts = np.array_split(np.arange(len(given)), threads)
            with ThreadPoolExecutor(threads) as pool:
                total = sum(pool.map(lambda part: self._added(seeds[part], numbers[part]), parts), self._nothing())
        else:
            total = self._added(seeds, numbers)
        total[:_HEAD] = users, len(given)
        return total

    def _nothing(self) -> Wholes:
        return np.zeros(self.counters, dtype=np.int64)

    def _added(self, seeds: NDArray[np.uint64], numbers: NDArray[np.uint64]) -> Wholes:
        """The sums alone."""
        d, total = self.dimension, self._nothing()
        for _, rows in unit_codewords(seeds, numbers, d + 1):
            own = rows[:, :d]
            total[_HEAD : _HEAD + d] += np.rint(own * _SUM).sum(axis=0).astype(np.int64) + len(own) * _SUM
            coarse = np.rint(own * _PRODUCT)
            if d <= MOST_WITH_COVARIANCE:
                products = _products(coarse)[np.triu_indices(d)].astype(np.int64) + len(own) * _PRODUCT**2
            else:
                products = np.einsum("ij,ij->j", coarse, coarse).astype(np.int64)
            total[_HEAD + d :] += products
        return total

    def users(self, counts: Wholes) -> int:
        """How many users sent them."""
        return int(counts[0])

    def messages(self, counts: Wholes) -> int:
        """How many messages there are; refused if they are too many to be sure of the sums."""
        if counts[1] > MOST_MESSAGES:
            raise InvalidInput(f"{int(counts[1]):,} messages are too many to add up. Use at most {MOST_MESSAGES:,}.")
        return int(counts[1])

    def with_users(self, counts: Wholes, users: int) -> Wholes:
        """These sums, with so many users stated as their senders."""
        found = counts.copy()
        found[0] = users
        return found

    def mean(self, counts: Wholes) -> Reals:
        """The mean of the messages' codewords, one run per row."""
        messages = counts[..., 1:2]
        sums = counts[..., _HEAD : _HEAD + self.dimension] - messages * _SUM
        return np.asarray(sums / _SUM / np.maximum(1, messages))

    def products(self, counts: Wholes) -> Reals:
        """The mean products of their entries: a matrix, or only its diagonal."""
        d, messages = self.dimension, int(counts[1])
        sums = counts[_HEAD + d :]
        if d > MOST_WITH_COVARIANCE:
            return np.asarray(sums / _PRODUCT**2 / messages)
        found = np.empty((d, d))
        upper = np.triu_indices(d)
        found[upper] = (sums - messages * _PRODUCT**2) / _PRODUCT**2 / messages
        found.T[upper] = found[upper]
        return found


def _products(rows: Reals) -> Reals:
    """Rows' products summed, a few rows in one product of matrices: whole numbers, so that it does not matter how many."""
    d = rows.shape[1]
    each = max(1, min(64, _BY_ONE_THREAD // d**2))
    whole = len(rows) // each * each
    some = rows[:whole].reshape(-1, each, d)
    together = max(1, (1 << 19) // d**2)
    total: Reals = np.matmul(rows[whole:].T, rows[whole:])
    for start in range(0, len(some), together):
        part = some[start : start + together]
        total += np.matmul(part.transpose(0, 2, 1), part).sum(axis=0)
    return total
