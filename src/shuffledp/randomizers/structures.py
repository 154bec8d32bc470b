"""Designs: which messages belong to which value, so that any two values share equally many."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, Self

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from shuffledp.core import checks
from shuffledp.core.document import Document, fields, whole
from shuffledp.errors import InvalidInput

Wholes = NDArray[np.uint32]


class Structure(ABC):
    """A set S_v of messages for every value v, all of one size."""

    __slots__ = ()
    kind: ClassVar[str]

    @property
    @abstractmethod
    def values(self) -> int:
        """How many values there are."""

    @property
    @abstractmethod
    def messages(self) -> int:
        """How many messages there are."""

    @property
    @abstractmethod
    def choices(self) -> int:
        """How many messages belong to a value."""

    @property
    def share(self) -> Fraction:
        """Of all messages, those that belong to a value: s."""
        return Fraction(self.choices, self.messages)

    @property
    @abstractmethod
    def shared(self) -> int:
        """How many messages belong to two different values, whichever they are."""

    @property
    def overlap(self) -> Fraction:
        """Of all messages, those that belong to two different values: o."""
        return Fraction(self.shared, self.messages)

    @property
    @abstractmethod
    def triple(self) -> Fraction:
        """Of all messages, those that belong to three values of some choice: the fewest possible."""

    @property
    @abstractmethod
    def label(self) -> str:
        """In words."""

    @abstractmethod
    def member(self, values: NDArray[np.integer], choice: Wholes) -> Wholes:
        """The messages with these numbers (0 ... choices - 1) that belong to these values."""

    @abstractmethod
    def totals(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """For every value, how many of the counted messages belong to it."""

    @abstractmethod
    def totals_of(self, counts: NDArray[np.int64], values: NDArray[np.integer]) -> NDArray[np.int64]:
        """The same for some values only."""

    @abstractmethod
    def document(self) -> Document:
        """As JSON data."""

    @classmethod
    @abstractmethod
    def from_document(cls, document: object) -> Self:
        """Of a document."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity(Structure):
    """Every value is its own and only message."""

    size: int
    kind = "identity"

    def __post_init__(self) -> None:
        checks.size(self.size)

    @property
    def values(self) -> int:
        """As many as are listed."""
        return self.size

    @property
    def messages(self) -> int:
        """As many as values."""
        return self.size

    @property
    def choices(self) -> int:
        """Just one."""
        return 1

    @property
    def shared(self) -> int:
        """None."""
        return 0

    @property
    def triple(self) -> Fraction:
        """None."""
        return Fraction(0)

    @property
    def label(self) -> str:
        """In words."""
        return f"response on {self.size:,} values"

    def member(self, values: NDArray[np.integer], choice: Wholes) -> Wholes:  # noqa: ARG002
        """The value itself."""
        return values.astype(np.uint32)

    def totals(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The counts."""
        return counts

    def totals_of(self, counts: NDArray[np.int64], values: NDArray[np.integer]) -> NDArray[np.int64]:
        """Some of the counts."""
        return np.asarray(counts[values])

    def document(self) -> Document:
        """Its size."""
        return {"kind": self.kind, "size": self.size}

    @classmethod
    def from_document(cls, document: object) -> Self:
        """Of a size."""
        return cls(**fields(document, cls.kind, size=whole))


@dataclass(frozen=True, slots=True, kw_only=True)
class AffineSpace(Structure):
    """Values are the points of the affine plane or space over F_q, messages its lines or planes.

    Legend: q = prime. A message is q d + b, the points x with a_d . x = b; the normals a_d are, in this order,
    (-d, 1) for d < q and (1, 0) in the plane; (-d // q, -d % q, 1) for d < q^2, (-(d - q^2), 1, 0), (1, 0, 0) in space.
    A point is on (q^D - 1) / (q - 1) hyperplanes, one per normal; two points share (q^(D-1) - 1) / (q - 1).
    Reference: FNNT22 (projective geometry response), in its affine form.
    """

    prime: int
    dimension: int = 2
    kind = "affine"

    def __post_init__(self) -> None:
        if type(self.prime) is not int or not is_prime(self.prime):
            raise InvalidInput(f"the order of a plane must be a prime number; got {self.prime!r}. Use e.g. 1597.")
        if self.dimension not in (2, 3):
            raise InvalidInput(f"points have 2 or 3 coordinates; got {self.dimension!r}. Use 2.")
        if self.messages > 1 << 32:
            raise InvalidInput(
                f"{self.messages:,} messages do not fit 32 bits. Use a prime of at most {65521 if self.dimension == 2 else 1621}."
            )

    @classmethod
    def from_order(cls, order: int, dimension: int) -> Self | None:
        """With the least prime from this order on; None if its messages do not fit 32 bits."""
        while not is_prime(order):
            order += 1
        most = 65521 if dimension == 2 else 1621
        return None if order > most else cls(prime=order, dimension=dimension)

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
        """One look-up per hyperplane through the point."""
        found = np.zeros(len(values), dtype=np.int64)
        for choice in range(self.choices):
            found += counts[self.member(values, np.full(len(values), choice, dtype=np.uint32))]
        return found

    def document(self) -> Document:
        """Its order and dimension."""
        return {"kind": self.kind, "prime": self.prime, "dimension": self.dimension}

    @classmethod
    def from_document(cls, document: object) -> Self:
        """Of an order and a dimension."""
        return cls(**fields(document, cls.kind, prime=whole, dimension=whole))


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


def is_prime(number: int) -> bool:
    """Whether a number below 2^32 is prime, by trial division.

    >>> [number for number in range(20) if is_prime(number)]
    [2, 3, 5, 7, 11, 13, 17, 19]
    """
    return number > 1 and all(number % divisor for divisor in range(2, int(number**0.5) + 1))


STRUCTURES: Final[dict[str, type[Structure]]] = {kind.kind: kind for kind in (AffineSpace, Identity)}


def ball(value: Fraction | float) -> arb:
    """A fraction, as exactly as the precision allows."""
    fraction = Fraction(value)
    return arb(fmpq(fraction.numerator, fraction.denominator))


def structure_of(document: object) -> Structure:
    """The structure that a document describes."""
    kind = document.get("kind") if isinstance(document, dict) else None
    if not isinstance(kind, str) or kind not in STRUCTURES:
        raise InvalidInput(f"there is no such kind of structure. Use one of {', '.join(STRUCTURES)}.")
    return STRUCTURES[kind].from_document(document)
