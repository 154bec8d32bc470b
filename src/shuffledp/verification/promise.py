"""What a document promises, taken apart into claims that can be proved one by one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from shuffledp.certificates.certificate import Certificate, rounded_up
from shuffledp.verification.group import of_one_row

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
    def local(cls, certificate: Certificate, epsilon: float, *, rows: int = 1) -> "Claim":
        """That all messages of a user with so many rows are that private before they are shuffled, by the same randomizer."""
        alone = replace(certificate, honest=1, reports=1, rounds=1, epsilon=epsilon, delta=0.0)
        whose = "" if rows == 1 else f", of a person with at most {rows:,} rows"
        return cls(
            of_one_row(alone, rows),
            f"({rounded_up(epsilon)}, 0)-differentially private for whoever sees messages before they are shuffled{whose}",
        )

    @classmethod
    def of_group(cls, certificate: Certificate, rows: int) -> "Claim":
        """The certificate's numbers as a promise to people with so many rows, each of which is a report."""
        given = "".join(f"; {assumption}" for assumption in certificate.assumes)
        return cls(
            of_one_row(certificate, rows),
            f"({rounded_up(certificate.epsilon)}, {rounded_up(certificate.delta)})-differentially private after shuffling "
            f"{certificate.honest:,} honest rows among {certificate.reports:,} or more, for people with at most {rows:,} rows "
            f"(neighbours differ in all rows of one person, number of rows public{given})",
        )


@dataclass(frozen=True, slots=True)
class Promise:
    """All that a document promises.

    Attributes:
        claims: every one must be proved.
        unproved: what else the document says, which no proof here covers.
    """

    claims: Sequence[Claim]
    unproved: Sequence[str] = ()
