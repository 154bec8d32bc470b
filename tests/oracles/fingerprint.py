"""What shows that the same rows have the same messages, whoever made them. Executors import this file too."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.counts import Counts
from shuffledp.core.ragged import Ragged
from shuffledp.core.randomness import RandomSource, rows_from
from shuffledp.domains.domain import Domain

_DRAW = 1 << 62
"""A block of each row that no protocol uses: a function of the row's address alone."""
_PARTS = 4
"""Numbers below 2^32 for each row: their sums fit where counts do."""


def fingerprinted(protocol: Any) -> Any:
    """A protocol as engines see it, but that counts are fingerprints of all messages."""
    return Fingerprinted(protocol)


@dataclass(frozen=True)
class Fingerprinted:
    """Counts add up a hash of (address, messages) of every row.

    Sums do not depend on the order. So if they are equal, every address has the same messages, but for a chance of about 2^-128.
    """

    inner: Any

    @property
    def domain(self) -> Domain:
        found: Domain = self.inner.domain
        return found

    @property
    def counters(self) -> int:
        return _PARTS

    @property
    def messages_per_user(self) -> float:
        return float(self.inner.messages_per_user)

    def truth(self, values: NDArray[Any]) -> Any:
        return self.inner.truth(values)

    def randomize(self, values: NDArray[Any], randomness: RandomSource, *, first_row: int) -> NDArray[np.uint32]:
        addresses = randomness.blocks(rows_from(first_row, len(values)), _DRAW)
        messages = self.inner.randomize(values, randomness, first_row=first_row)
        hashes = [
            hashlib.blake2b(message, key=address, digest_size=4 * _PARTS).digest()
            for address, message in zip(_written(addresses), _written(messages), strict=True)
        ]
        return np.frombuffer(b"".join(hashes), dtype="<u4").reshape(-1, _PARTS)

    def select(self, hashes: NDArray[np.uint32], rows: NDArray[np.bool_]) -> NDArray[np.uint32]:
        return hashes[rows]

    def joined(self, parts: Sequence[NDArray[np.uint32]]) -> NDArray[np.uint32]:
        return np.concatenate(parts)

    def count(self, hashes: NDArray[np.uint32]) -> Counts:
        return Counts(hashes.sum(axis=0, dtype=np.int64))


def _written(messages: Any) -> Iterator[bytes]:
    """The messages of each row as bytes, whatever they are kept in."""
    if isinstance(messages, tuple):
        yield from map(b"|".join, zip(*map(_written, messages), strict=True))
    elif isinstance(messages, Ragged):
        ends = np.cumsum(messages.each, dtype=np.int64)
        values = np.asarray(messages.values, dtype=np.int64)
        for start, end in zip(ends - messages.each, ends, strict=True):
            yield values[start:end].tobytes()
    else:
        rows = np.asarray(messages)
        if np.issubdtype(rows.dtype, np.integer):  # some are kept in fewer bytes than others
            rows = rows.astype(np.int64)
        data, each = rows.tobytes(), rows.nbytes // max(1, len(rows))
        for row in range(len(rows)):
            yield data[row * each : (row + 1) * each]
