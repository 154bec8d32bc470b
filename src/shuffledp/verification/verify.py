"""Checking a document: its whole promise is proved anew, by other means than those it was found by."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from shuffledp.certificates.certificate import KIND, Certificate
from shuffledp.certificates.proof import METHODS
from shuffledp.certificates.prove import prove_certificate
from shuffledp.certificates.unverifiable import Unverifiable
from shuffledp.errors import InvalidInput, NoClaim
from shuffledp.verification.promise import Claim, Promise

Verdict = Literal["confirmed", "refused", "cannot be verified"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What became of a document.

    Attributes:
        verdict: in a few words.
        reason: by which methods it was confirmed, or why not.
        claims: what was claimed, in words; empty if it cannot be read.
        proved: those of them that were proved.
        unproved: what the document says besides, which no proof here is about.
        certificate: the first claim; None if it cannot be read.
        reached: if it was refused, a delta that is proved at the claimed epsilon, rounded up; None if there is none.
    """

    verdict: Verdict
    reason: str
    claims: Sequence[str] = ()
    proved: Sequence[str] = ()
    unproved: Sequence[str] = ()
    certificate: Certificate | None = None
    reached: float | None = None

    @property
    def confirmed(self) -> bool:
        """Whether everything that is claimed is proved."""
        return self.verdict == "confirmed"

    def document(self) -> dict[str, Any]:
        """As JSON data."""
        return {
            "verdict": self.verdict,
            "reason": self.reason,
            "statement": None if self.certificate is None else self.certificate.statement,
            "claims": list(self.claims),
            "proved": list(self.proved),
            "not_proved": list(self.unproved),
            "delta_proved": self.reached,
        }


def verify(
    document: object, tick: Callable[[], None] = lambda: None, *, plans: Mapping[str, dict[str, Any]] | None = None
) -> Verification:
    """Prove all that a certificate, plan, task or result promises, in ball arithmetic, with none of the code that found it.

    Nothing is raised: any other document, or one that was edited so that its parts say different things, is refused. A result
    is compared with its plan if that is among `plans`, by their hashes. `tick` is called now and then, for a progress bar.

    >>> verify({"kind": "something else"}).verdict
    'refused'
    """
    promise = None
    try:
        promise = _promise(document, plans or {})
        return _proved(promise, tick)
    except Unverifiable as unverifiable:
        reason = f"there is no method here for {unverifiable}."
        return _unconfirmed("cannot be verified", reason, promise)
    except (InvalidInput, NoClaim) as error:
        return _unconfirmed("refused", str(error), promise)
    except RecursionError:
        return _unconfirmed("refused", "the document is nested too deeply. Give one that shuffledp wrote.", promise)


def _promise(document: object, plans: Mapping[str, dict[str, Any]]) -> Promise:
    """What is promised. A certificate alone is read without the code that plans and runs: that is loaded if it is needed."""
    if isinstance(document, dict) and "protocol" in document:
        from shuffledp.verification.plans import promise_of_plan

        return promise_of_plan(document)
    if isinstance(document, dict) and "shufflers" in document:
        from shuffledp.verification.plans import promise_of_task

        return promise_of_task(document)
    if isinstance(document, dict) and "estimate" in document:
        from shuffledp.verification.results import promise_of_result

        return promise_of_result(document, plans)
    if not isinstance(document, dict) or document.get("kind") != KIND:
        raise InvalidInput("this is no certificate, plan, task or result. Give one that shuffledp wrote.")
    return Promise([Claim.of(Certificate.from_document(document))])


def _proved(promise: Promise, tick: Callable[[], None]) -> Verification:
    """The first claim that is not proved decides; if there is none, all are."""
    methods = list[str]()
    for claim in promise.claims:
        found = prove_certificate(claim.certificate, tick)
        if found.method is None:
            return Verification(
                verdict="refused",
                reason="the claim could not be proved: at this epsilon, delta is not shown to be that small.",
                claims=[claim.statement],
                unproved=promise.unproved,
                certificate=claim.certificate,
                reached=found.reached,
            )
        methods.append(METHODS[found.method])
    statements = [claim.statement for claim in promise.claims]
    return Verification(
        verdict="confirmed",
        reason="; ".join(dict.fromkeys(methods)),
        claims=statements,
        proved=statements,
        unproved=promise.unproved,
        certificate=promise.claims[0].certificate,
    )


def _unconfirmed(verdict: Verdict, reason: str, promise: Promise | None) -> Verification:
    claims = [] if promise is None else promise.claims
    return Verification(
        verdict=verdict,
        reason=reason,
        claims=[claim.statement for claim in claims],
        unproved=() if promise is None else promise.unproved,
        certificate=claims[0].certificate if claims else None,
    )
