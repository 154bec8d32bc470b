"""What every local randomizer offers: to the accountant, to a document, and to those who run it."""

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.blanket import Blanket
from shuffledp.core.document import Document
from shuffledp.core.words import WordSource


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
        """The privacy blanket."""
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
        """mu_symbol(message)."""
        ...


class SampledRandomizer(LocalRandomizer, Protocol):
    """A randomizer that can be run: one message of a finite alphabet for each symbol, or several (`core.ragged`)."""

    @property
    def symbols(self) -> int:
        """Number of inputs: 0 ... symbols - 1."""
        ...

    @property
    def messages(self) -> int:
        """Number of messages: 0 ... messages - 1."""
        ...

    def randomize(self, symbols: NDArray[np.integer], words: WordSource, *, first_row: int) -> Any:
        """The messages of each row; a pure function of the symbols and the words at rows first_row, first_row + 1, ...

        Under one key no row may be used for two people or two questions: they would share their coins.
        """
        ...


@runtime_checkable
class RunnableRandomizer(FiniteRandomizer, Protocol):
    """A finite randomizer whose probabilities are whole numbers of 2^-64, so that it can be sampled exactly."""

    def randomize(self, symbols: NDArray[np.integer], words: WordSource, *, first_row: int) -> NDArray[Any]:
        """One message per row; a pure function of the symbols and the words at rows first_row, first_row + 1, ...

        Under one key no row may be used for two people or two questions: they would share their coins.
        """
        ...
