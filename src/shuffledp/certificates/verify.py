"""Checking a certificate: its claim is proved anew, by other means than those it was found by."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from flint import ctx

from shuffledp.certificates.certificate import Certificate
from shuffledp.certificates.positive_part import BITS
from shuffledp.certificates.proof import METHODS, prove, prove_composed
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

    Nothing is raised: a document that is no certificate, or was edited, is refused. Plans and results, which have one in their
    field "certificate", are as good as a certificate. `tick` is called now and then, for a progress bar.

    >>> verify({"kind": "something else"}).verdict
    'refused'
    """
    certificate = None
    try:
        certificate = _certificate_in(document)
        return _checked(certificate, tick)
    except Unverifiable as unverifiable:
        return Verification(
            verdict="cannot be verified", reason=f"there is no method here for {unverifiable}.", certificate=certificate
        )
    except InvalidInput as error:
        return Verification(verdict="refused", reason=str(error), certificate=certificate)


def _certificate_in(document: object) -> Certificate:
    """The one that the document is, or has in its field "certificate": then its guarantee must be the same."""
    if not isinstance(document, dict) or not isinstance(document.get("certificate"), dict):
        return Certificate.from_document(document)
    certificate = Certificate.from_document(document["certificate"])
    if "guarantee" in document:
        claimed, promise = (certificate.epsilon, certificate.delta, certificate.honest), document["guarantee"]
        if not isinstance(promise, dict) or tuple(promise.get(name) for name in ("epsilon", "delta", "n")) != claimed:
            raise InvalidInput("the certificate is not about the guarantee in this document. It was edited.")
    return certificate


def _checked(certificate: Certificate, tick: Callable[[], None]) -> Verification:
    with ctx.workprec(BITS):
        law = law_of(certificate.randomizer)
        if law.caveat is not None and law.caveat not in certificate.assumes:
            raise InvalidInput("the certificate does not say what it assumes. It was edited.")
        n, epsilon, delta = certificate.honest, certificate.epsilon, certificate.delta
        if certificate.rounds > 1 or law.parts:
            proof = prove_composed(law, n, certificate.rounds, epsilon, delta, tick)
        else:
            proof = prove(law, n, epsilon, delta, tick)
    if proof.method is not None:
        return Verification(verdict="confirmed", reason=METHODS[proof.method], certificate=certificate)
    return Verification(
        verdict="refused",
        reason="the claim could not be proved: at this epsilon, delta is not shown to be that small.",
        certificate=certificate,
        reached=proof.reached,
    )
