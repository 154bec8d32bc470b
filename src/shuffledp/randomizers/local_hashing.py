"""Local hashing: a user draws a hash function of a few values, and sends it with the hash of the own value."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.arithmetic.primes import is_prime, prime_from
from shuffledp.core.document import Readers, whole
from shuffledp.errors import InvalidInput
from shuffledp.randomizers.structure import Structure, Wholes

LARGEST_PRIME = 2_147_483_647
"""Below 2^31, so that products fit 64 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalHashing(Structure):
    """Values are the numbers below a prime, messages a hash function and one of its values.

    Formula: the functions are f(x) = ((a x + b) mod p) mod h, 0 < a < p, 0 <= b < p. For x != x' the pair (a x + b, a x' + b) is
    each pair of different numbers once, so any two values have the same hash under sum r (r - 1) of the p (p - 1) functions,
    summed over the h residues, r of the p numbers leaving each.
    Legend: p = prime, h = range. A message is ((a - 1) p + b) h + f(x).
    Reference: WBLJ17 (local hashing), with the universal family of Carter and Wegman (1979).
    """

    prime: int
    range: int
    kind = "local-hashing"
    readers: ClassVar[Readers] = {"prime": whole, "range": whole}

    def __post_init__(self) -> None:
        if type(self.prime) is not int or not is_prime(self.prime):
            raise InvalidInput(f"hash functions are modulo a prime number; got {self.prime!r}. Use e.g. 1597.")
        if self.prime > LARGEST_PRIME:
            raise InvalidInput(f"local hashing is for up to {LARGEST_PRIME:,} values. Use fewer.")
        if type(self.range) is not int or not 2 <= self.range <= self.prime:
            raise InvalidInput(
                f"a hash function has 2 to {self.prime:,} values, as many as there are; got {self.range!r}. Use e.g. 4."
            )

    @classmethod
    def holding(cls, size: int, values: int) -> Self:
        """For so many values, hashed to `values` ones."""
        if not 2 <= size <= LARGEST_PRIME:
            raise InvalidInput(f"local hashing is for 2 to {LARGEST_PRIME:,} values; got {size:,}. Use another size.")
        return cls(prime=prime_from(size), range=values)

    @property
    def values(self) -> int:
        """All residues."""
        return self.prime

    @property
    def choices(self) -> int:
        """One per function."""
        return self.prime * (self.prime - 1)

    @property
    def messages(self) -> int:
        """Every function with every hash."""
        return self.choices * self.range

    @property
    def shared(self) -> int:
        """Functions under which two values have the same hash."""
        few, more = divmod(self.prime, self.range)
        return more * (few + 1) * few + (self.range - more) * few * (few - 1)

    @property
    def triple(self) -> None:
        """Three values differ in that."""
        return

    @property
    def label(self) -> str:
        """In words."""
        return f"local hashing to {self.range:,} values"

    def hashed(self, values: NDArray[np.integer], a: NDArray[np.integer], b: NDArray[np.integer]) -> NDArray[np.uint64]:
        """The hashes of the values under the functions a x + b."""
        p, h = np.uint64(self.prime), np.uint64(self.range)
        return (a.astype(np.uint64) * values.astype(np.uint64) + b.astype(np.uint64)) % p % h

    def member(self, values: NDArray[np.integer], choice: Wholes) -> Wholes:
        """A function and its value."""
        a, b = np.divmod(choice.astype(np.uint64), np.uint64(self.prime))
        found = self.hashed(values, a + np.uint64(1), b)
        return (choice.astype(np.uint64) * np.uint64(self.range) + found).astype(np.uint32)

    def totals(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """One look-up per value and function."""
        return self.totals_of(counts, np.arange(self.values))
