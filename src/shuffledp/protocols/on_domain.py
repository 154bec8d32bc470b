"""Protocols that their randomizer and their domain settle, and that are written down as these two."""

from typing import ClassVar, Self

from shuffledp.core.document import Document, fields
from shuffledp.core.randomizer import LocalRandomizer
from shuffledp.domains.listed import Listed
from shuffledp.domains.registry import from_document as domain_of
from shuffledp.errors import InvalidInput
from shuffledp.protocols.batched import Batched


class OnDomain(Batched):
    """One kind of randomizer on one kind of domain: a list of values, unless another is named."""

    __slots__ = ()
    randomizer_type: ClassVar[type[LocalRandomizer]]
    domain_type: ClassVar[type] = Listed
    domain_in_words: ClassVar[str] = "counts are of a list of values"

    def document(self) -> Document:
        return {"kind": self.kind, "domain": self.domain.document(), "randomizer": self.randomizer.document()}

    @classmethod
    def from_document(cls, document: object) -> Self:
        found = fields(document, cls.kind, domain=domain_of, randomizer=cls.randomizer_type.from_document)
        if not isinstance(found["domain"], cls.domain_type):
            raise InvalidInput(f"{cls.domain_in_words}. Make the plan again with shuffledp plan.")
        return cls(**found)
