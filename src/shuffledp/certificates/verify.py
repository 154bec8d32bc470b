"""Checking a certificate: its claim is proved anew, by other means than those it was found by."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from flint import ctx

from shuffledp.certificates.certificate import Certificate
from shuffledp.certificates.positive_part import BITS
from shuffledp.certificates.proof import METHODS, prove
from shuffledp.certificates.randomizers import law_of
from shuffledp.certificates.unverifiable import Unverifiable
from shuffledp.errors import InvalidInput

Verdict = Literal["confirmed", "refused", "cannot be verified"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What became of a certificate.

    Attributes:
        verdict: in a few words.
        reason: by which method it was confirmed, or why not.
        certificate: what was claimed; None if it cannot be read.
        reached: if it was refused, a delta that is proved at the claimed epsilon, rounded up; None if there is none.
    """

    verdict: Verdict
    reason: str
    certificate: Certificate | None = None
    reached: float | None = None

    @property
    def confirmed(self) -> bool:
        """Whether the claim is proved."""
        return self.verdict == "confirmed"

    def document(self) -> dict[str, Any]:
        """As JSON data."""
        return {
            "verdict": self.verdict,
            "reason": self.reason,
            "statement": None if self.certificate is None else self.certificate.statement,
            "delta_proved": self.reached,
        }


def verify(document: object, tick: Callable[[], None] = lambda: None) -> Verification:
    """Prove the claim of a certificate in ball arithmetic, with none of the code that made it.

    Nothing is raised: a document that is no certificate, or was edited, is refused. A document with a certificate in its field
    "certificate" is as good as the certificate. `tick` is called now and then, for a progress bar.

    >>> verify({"kind": "something else"}).verdict
    'refused'
    """
    if isinstance(document, dict) and isinstance(document.get("certificate"), dict):
        document = document["certificate"]
    certificate = None
    try:
        certificate = Certificate.from_document(document)
        return _checked(certificate, tick)
    except Unverifiable as unverifiable:
        return Verification(
            verdict="cannot be verified", reason=f"there is no method here for {unverifiable}.", certificate=certificate
        )
    except InvalidInput as error:
        return Verification(verdict="refused", reason=str(error), certificate=certificate)


def _checked(certificate: Certificate, tick: Callable[[], None]) -> Verification:
    with ctx.workprec(BITS):
        law = law_of(certificate.randomizer)
        if law.caveat is not None and law.caveat not in certificate.assumes:
            raise InvalidInput("the certificate does not say what it assumes. It was edited.")
        if certificate.rounds > 1:
            raise Unverifiable("several rounds")
        if law.parts:
            raise Unverifiable("several messages per person")
        proof = prove(law, certificate.honest, certificate.epsilon, certificate.delta, tick)
    if proof.method is not None:
        return Verification(verdict="confirmed", reason=METHODS[proof.method], certificate=certificate)
    return Verification(
        verdict="refused",
        reason="the claim could not be proved: at this epsilon, delta is not shown to be that small.",
        certificate=certificate,
        reached=proof.reached,
    )
