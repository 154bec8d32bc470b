"""Proving the claim of a certificate, by other means than those it was found by."""

from collections.abc import Callable

from flint import ctx

from shuffledp.certificates.certificate import Certificate
from shuffledp.certificates.effort import Effort
from shuffledp.certificates.law import Law
from shuffledp.certificates.positive_part import BITS
from shuffledp.certificates.proof_methods import Proof, prove, prove_composed
from shuffledp.certificates.randomizers import law_of
from shuffledp.certificates.unverifiable import Unverifiable
from shuffledp.errors import InvalidInput


def prove_certificate(certificate: Certificate, tick: Callable[[], None] = lambda: None) -> Proof:
    """How the claim is proved, or how far the proof got; raises Unverifiable where there is no method."""
    with ctx.workprec(BITS):
        law = law_of(certificate.randomizer)
        if list(certificate.assumes) != ([] if law.caveat is None else [law.caveat]):
            raise InvalidInput("the certificate states other assumptions than its proof makes. It was edited.")
        try:
            return _proof(law, certificate, Effort(tick))
        except (ArithmeticError, ValueError):
            # doubles choose how a sum is cut; where they overflow nothing was claimed yet
            raise Unverifiable("numbers as extreme as these") from None


def _proof(law: Law, certificate: Certificate, effort: Effort) -> Proof:
    n, epsilon, delta = certificate.honest, certificate.epsilon, certificate.delta
    if certificate.rounds > 1 or law.parts:
        return prove_composed(law, n, certificate.rounds, epsilon, delta, effort)
    return prove(law, n, epsilon, delta, effort)
