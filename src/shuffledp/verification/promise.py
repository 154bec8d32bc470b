"""What a document promises, taken apart into claims that can be proved one by one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from shuffledp.certificates.certificate import Certificate, rounded_up

EDITED: Final = "It was edited."


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim.

    Attributes:
        certificate: what must be proved.
        statement: the claim in words, its numbers rounded up.
    """

    certificate: Certificate
    statement: str

    @classmethod
    def of(cls, certificate: Certificate) -> "Claim":
        """In the certificate's own words."""
        return cls(certificate, certificate.statement)

    @classmethod
    def local(cls, certificate: Certificate, epsilon: float) -> "Claim":
        """That the messages of one user are that private before they are shuffled, by the same randomizer."""
        alone = Certificate(
            randomizer=certificate.randomizer, honest=1, reports=1, epsilon=epsilon, delta=0.0,
            assumes=certificate.assumes, bound=certificate.bound,
        )  # fmt: skip
        return cls(
            alone,
            f"({rounded_up(epsilon)}, 0)-differentially private for whoever sees messages before they are shuffled",
        )


@dataclass(frozen=True, slots=True)
class Promise:
    """All that a document promises.

    Attributes:
        claims: every one must be proved.
        unproved: what the document says besides, which no proof here is about.
    """

    claims: Sequence[Claim]
    unproved: Sequence[str] = ()
