"""The affine plane and space, and every structure of a design response by kind."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.arithmetic.primes import is_prime, prime_from
from shuffledp.core.document import Readers, whole
from shuffledp.errors import InvalidInput
from shuffledp.randomizers.hadamard_design import Hadamard
from shuffledp.randomizers.identity import Identity
from shuffledp.randomizers.local_hashing import LocalHashing
from shuffledp.randomizers.structure import Geometry, Structure, Wholes

DIMENSIONS: Final = (2, 3)
"""Of an affine space."""
_LOOKUPS_PER_VALUE: Final = 16
"""About as many look-ups take as long as decoding one more value by FFT."""
_AT_ONCE: Final = 1 << 16
"""Look-ups made together: enough that Python costs little, few enough for the processor's cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AffineSpace(Geometry):
    """Values are the points of the affine plane or space over F_q, messages its lines or planes.

    Legend: q = prime. A message is q d + b, the points x with a_d . x = b; the normals a_d are, in this order,
    (-d, 1) for d < q and (1, 0) in the plane; (-d // q, -d % q, 1) for d < q^2, (-(d - q^2), 1, 0), (1, 0, 0) in space.
    A point is on (q^D - 1) / (q - 1) hyperplanes, one per normal; two points share (q^(D-1) - 1) / (q - 1).
    Reference: FNNT22 (projective geometry response), in its affine form.
    """

    prime: int
    dimension: int = 2
    kind = "affine"
    readers: ClassVar[Readers] = {"prime": whole, "dimension": whole}

    def __post_init__(self) -> None:
        if type(self.prime) is not int or not is_prime(self.prime):
            raise InvalidInput(f"the order of a plane must be a prime number; got {self.prime!r}. Use e.g. 1597.")
        if self.dimension not in DIMENSIONS:
            raise InvalidInput(f"points have 2 or 3 coordinates; got {self.dimension!r}. Use 2.")
        if self.messages > 1 << 32:
            raise InvalidInput(
                f"{self.messages:,} messages do not fit 32 bits. Use a prime of at most {65521 if self.dimension == 2 else 1621}."
            )

    @classmethod
    def from_order(cls, order: int, dimension: int) -> Self | None:
        """With the least prime from this order on; None if its messages do not fit 32 bits."""
        prime, most = prime_from(order), 65521 if dimension == 2 else 1621
        return None if prime > most else cls(prime=prime, dimension=dimension)

    def smaller(self, share: float, values: int) -> Self | None:
        """By trying every order below."""
        prime = min(math.floor(self.prime * share), self.prime - 1)
        while prime >= 2 and prime**self.dimension >= values:
            if is_prime(prime):
                return replace(self, prime=prime)
            prime -= 1
        return None

    @property
    def values(self) -> int:
        """All points."""
        return int(self.prime**self.dimension)

    @property
    def choices(self) -> int:
        """As many as normals."""
        return (self.values - 1) // (self.prime - 1)

    @property
    def messages(self) -> int:
        """Parallel hyperplanes for each normal."""
        return self.prime * self.choices

    @property
    def shared(self) -> int:
        """Hyperplanes through two points."""
        return int(self.prime ** (self.dimension - 1) - 1) // (self.prime - 1)

    @property
    def triple(self) -> Fraction:
        """Hyperplanes through three points that are not on a line."""
        return Fraction((self.prime ** (self.dimension - 2) - 1) // (self.prime - 1), self.messages)

    @property
    def label(self) -> str:
        """In words."""
        return f"{'plane' if self.dimension == 2 else 'space'} response of order {self.prime:,}"

    def member(self, values: NDArray[np.integer], choice: Wholes) -> Wholes:
        """The hyperplane of a normal that a point is on."""
        if self.dimension == 2:
            return self._line(values, choice)
        q = self.prime
        numbers = values.astype(np.uint64)
        high, w = numbers // np.uint64(q * q), numbers % np.uint64(q)
        v = numbers // np.uint64(q) % np.uint64(q)
        d = choice.astype(np.uint64)
        first, second = d // np.uint64(q), d % np.uint64(q)
        space = (w + (q - high) * first + (q - v) * second) % np.uint64(q)
        plane = (v + (q - high) * (d - np.uint64(q * q))) % np.uint64(q)
        offset = np.where(d < q * q, space, np.where(d < q * q + q, plane, high))
        return (d * np.uint64(q) + offset).astype(np.uint32)

    def _line(self, values: NDArray[np.integer], choice: Wholes) -> Wholes:
        """W - d u modulo q in 32 bits: q^2 + q fits. Dividing by a constant is fast, taking remainders is not."""
        q = np.uint32(self.prime)
        points = values.astype(np.uint32, copy=False)
        u = points // q
        offset = (q - u) * choice
        offset += points - u * q
        offset -= offset // q * q
        vertical = np.flatnonzero(choice == q)
        offset[vertical] = u[vertical]
        offset += choice * q
        return offset

    def totals(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """All at once: a normal's counts only have frequencies along that normal (the projection-slice theorem)."""
        return _totals(counts.reshape(self.choices, self.prime), self.dimension).ravel()

    def totals_of(self, counts: NDArray[np.int64], values: NDArray[np.integer]) -> NDArray[np.int64]:
        """One look-up per hyperplane through the point; for many points decoding all is faster."""
        if len(values) * self.choices > _LOOKUPS_PER_VALUE * self.values:
            return np.asarray(self.totals(counts)[values])
        found = np.zeros(len(values), dtype=np.int64)
        together = max(1, _AT_ONCE // max(1, len(values)))
        for first in range(0, self.choices, together):
            choices = np.arange(first, min(first + together, self.choices), dtype=np.uint32)
            lines = self.member(np.tile(values, len(choices)), np.repeat(choices, len(values)))
            found += counts[lines].reshape(len(choices), len(values)).sum(axis=0)
        return found


def _totals(counts: NDArray[np.int64], dimension: int) -> NDArray[np.int64]:
    """Sums over the hyperplanes through every point. Normals that end in 1 come first; the others are those of one less."""
    q = counts.shape[1]
    if dimension == 1:
        return np.asarray(counts[0])
    steep = counts[: q ** (dimension - 1)]
    slices = np.fft.rfft(steep, axis=1)
    m = np.arange(1, slices.shape[1])
    normals = np.stack(np.unravel_index(np.arange(len(steep)), (q,) * (dimension - 1)), axis=0)
    spectrum = np.zeros((q,) * (dimension - 1) + (len(m) + 1,), dtype=np.complex128)
    spectrum[(*((-normals[:, :, None] * m) % q), m)] = slices[:, 1:]
    spectrum[(0,) * dimension] = slices[:, 0].sum()
    found = np.fft.irfftn(spectrum, s=(q,) * dimension, axes=tuple(range(dimension)))
    found *= float(len(steep))
    flat = _totals(counts[len(steep) :], dimension - 1)
    return np.asarray(np.rint(found).astype(np.int64) + flat[..., None])


STRUCTURES: Final[dict[str, type[Structure]]] = {
    kind.kind: kind for kind in (Identity, AffineSpace, Hadamard, LocalHashing)
}


def structure_of(document: object) -> Structure:
    """The structure that a document describes."""
    kind = document.get("kind") if isinstance(document, dict) else None
    if not isinstance(kind, str) or kind not in STRUCTURES:
        raise InvalidInput(f"there is no such kind of structure. Use one of {', '.join(STRUCTURES)}.")
    return STRUCTURES[kind].from_document(document)
