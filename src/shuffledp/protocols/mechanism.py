"""What a client needs of a protocol: how a value becomes messages, and what they give away by themselves."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

from numpy.typing import NDArray

from shuffledp.core.document import Document
from shuffledp.core.randomness import RandomSource
from shuffledp.domains.domain import Domain
from shuffledp.randomizers.geometric_noise import GeometricNoise


class Mechanism(ABC):
    """From values to messages. It is what users agree to, so it can be written down."""

    __slots__ = ()
    kind: ClassVar[str]
    """Its name in documents and in the registry."""

    @property
    @abstractmethod
    def domain(self) -> Domain:
        """The values that it takes."""

    @property
    @abstractmethod
    def epsilon0(self) -> float | None:
        """The local privacy parameter, rounded up; None if a user's messages are not private by themselves."""

    @property
    def messages_per_user(self) -> float:
        """How many messages a user sends, on average."""
        return 1

    @property
    def shuffler_noise(self) -> GeometricNoise | None:
        """What the shuffler adds to the messages of a batch; None if nothing."""
        return None

    @property
    @abstractmethod
    def bits(self) -> int:
        """How many bits all messages of a user have."""

    @abstractmethod
    def randomize(self, values: NDArray[Any], randomness: RandomSource, *, first_row: int) -> Any:
        """The messages of clean values, one row per user: a pure function of the values and the words of their rows.

        Under one key no row may be used for two people or two questions: they would share their coins.
        """

    @abstractmethod
    def document(self) -> Document:
        """JSON data from which `from_document` builds the very same protocol."""

    @classmethod
    @abstractmethod
    def from_document(cls, document: object) -> Self:
        """The protocol of a document; anything unexpected in it is refused."""
