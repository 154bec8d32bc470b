"""What every local randomizer offers: to the accountant, to a document, and to those who run it."""

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.blanket import Blanket
from shuffledp.core.document import Document
from shuffledp.core.randomness import RandomSource


class LocalRandomizer(Protocol):
    """A user's value in, one message out: what can be accounted for, written down and read back."""

    kind: ClassVar[str]
    """Its name in documents and in `randomizers.registry`."""

    @property
    def gamma(self) -> float:
        """The probability of ignoring the value, rounded down."""
        ...

    @property
    def epsilon0(self) -> float | None:
        """The local privacy parameter, rounded up; None if there is none."""
        ...

    def blanket(self) -> Blanket:
        """The part of its output that does not depend on the value: all that a bound sees of it."""
        ...

    def document(self) -> Document:
        """JSON data from which `from_document` builds the very law that runs."""
        ...

    @classmethod
    def from_document(cls, document: object) -> Self:
        """The randomizer of a document; anything unexpected in it is refused."""
        ...

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """A few of them, weak and strong: what the conformance suite judges."""
        ...


@runtime_checkable
class FiniteRandomizer(LocalRandomizer, Protocol):
    """A randomizer of finitely many symbols and messages."""

    @property
    def symbols(self) -> int:
        """Number of inputs: 0 ... symbols - 1."""
        ...

    @property
    def messages(self) -> int:
        """Number of outputs: 0 ... messages - 1."""
        ...

    def probability(self, message: NDArray[np.integer] | int, symbol: int) -> NDArray[np.float64]:
        """How likely this symbol becomes this message: mu_symbol(message)."""
        ...


@runtime_checkable
class Sampled(Protocol):
    """What can be run: one message of a finite alphabet for each symbol, or several (`core.ragged`)."""

    @property
    def symbols(self) -> int:
        """Number of inputs: 0 ... symbols - 1."""
        ...

    @property
    def messages(self) -> int:
        """Number of messages: 0 ... messages - 1."""
        ...

    def randomize(self, symbols: NDArray[np.integer], randomness: RandomSource, *, first_row: int) -> Any:
        """The messages of each row; a pure function of the symbols and the words at rows first_row, first_row + 1, ...

        Under one key no row may be used for two people or two questions: they would share their coins.
        """
        ...


class SampledRandomizer(LocalRandomizer, Sampled, Protocol):
    """A randomizer that can be run."""


class OwnMessages:
    """A randomizer of which every symbol is a message as well, and there are no others."""

    __slots__ = ()
    size: int

    @property
    def symbols(self) -> int:
        """Number of inputs."""
        return self.size

    @property
    def messages(self) -> int:
        """Number of outputs."""
        return self.size


@runtime_checkable
class Idealized(Protocol):
    """A law in real numbers, such as Laplace noise. What runs is another one, near it, on 64-bit words."""

    def as_run(self) -> SampledRandomizer:
        """What runs, with a blanket of its own."""
        ...


@runtime_checkable
class Thresholded(Protocol):
    """A randomizer that ignores the value where a random word is below a threshold."""

    @property
    def threshold(self) -> int:
        """The probability of ignoring the value, in units of 2^-64."""
        ...

    @property
    def gamma_as_run(self) -> float:
        """The probability of ignoring the value, to the nearest double."""
        ...


@runtime_checkable
class Columnar(Protocol):
    """A randomizer of several symbols at once: an array of them has a column for each."""

    @property
    def columns(self) -> tuple[int, ...]:
        """How many symbols each column has."""
        ...


@runtime_checkable
class RunnableRandomizer(FiniteRandomizer, Protocol):
    """A finite randomizer whose probabilities are whole numbers of 2^-64, so that it can be sampled exactly."""

    def randomize(self, symbols: NDArray[np.integer], randomness: RandomSource, *, first_row: int) -> NDArray[Any]:
        """One message per row; a pure function of the symbols and the words at rows first_row, first_row + 1, ...

        Under one key no row may be used for two people or two questions: they would share their coins.
        """
        ...


@runtime_checkable
class Tunable(Protocol):
    """A randomizer that is also there with more and with less blanket, so that it can share a guarantee with others."""

    def with_gamma(self, gamma: float) -> RunnableRandomizer:
        """The one that ignores the value with this probability, rounded up."""
        ...


def columns_of(randomizer: Any) -> tuple[int, ...]:
    """How many symbols each column of an array to randomize has; there is one column unless the randomizer says otherwise."""
    return randomizer.columns if isinstance(randomizer, Columnar) else (randomizer.symbols,)
