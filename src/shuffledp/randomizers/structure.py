"""The interface of a design: which messages belong to which value, so that any two values share equally many."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, Self, runtime_checkable

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from shuffledp.core.document import Written

Wholes = NDArray[np.uint32]


def ball(value: Fraction | float) -> arb:
    """A fraction, as exactly as the precision allows."""
    fraction = Fraction(value)
    return arb(fmpq(fraction.numerator, fraction.denominator))


class Design(Protocol):
    """What privacy depends on."""

    @property
    def share(self) -> Fraction:
        """Of all messages, those that belong to a value: s."""
        ...

    @property
    def overlap(self) -> Fraction:
        """Of all messages, those that belong to two different values, or the fewest of any two: o."""
        ...

    @property
    def triple(self) -> Fraction | None:
        """Of all messages, those that belong to three values that share o by two; None if that is not known."""
        ...

    @property
    def label(self) -> str:
        """In words."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A design of which nothing else is said."""

    share: Fraction
    overlap: Fraction
    label: str
    triple: Fraction | None = None


class Structure(Written, ABC):
    """A set S_v of messages for every value v, all of one size."""

    __slots__ = ()

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
    def triple(self) -> Fraction | None:
        """Of all messages, those that belong to three values, chosen to tell much from below; None if that is not known."""

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

    def totals_of(self, counts: NDArray[np.int64], values: NDArray[np.integer]) -> NDArray[np.int64]:
        """The same for some values only: one look-up per message that belongs to each."""
        found = np.zeros(len(values), dtype=np.int64)
        for choice in range(self.choices):
            found += counts[self.member(values, np.full(len(values), choice, dtype=np.uint32))]
        return found

    @property
    def decoding_memory(self) -> int:
        """About how many bytes `totals` takes."""
        return 48 * self.values


class Geometry(Structure):
    """Points and hyperplanes over a finite field: there is one for every prime, and all totals are decoded at once."""

    __slots__ = ()

    @abstractmethod
    def smaller(self, share: float, values: int) -> Self | None:
        """The structure of the largest order up to `share` times this one's; None if it does not hold so many values."""


class AmongValues:
    """A randomizer of the values of a structure, with its messages."""

    __slots__ = ()
    structure: Structure

    @property
    def symbols(self) -> int:
        """Number of values."""
        return self.structure.values

    @property
    def messages(self) -> int:
        """Number of messages."""
        return self.structure.messages


@runtime_checkable
class OnStructure(Protocol):
    """A randomizer whose messages belong to values, unless it ignores the value."""

    @property
    def structure(self) -> Structure:
        """Which messages belong to which value."""
        ...

    @property
    def gamma_as_run(self) -> float:
        """The probability of ignoring the value, to the nearest double."""
        ...
