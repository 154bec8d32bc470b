"""Checking a document: its whole promise is proved anew, by other means than those it was found by."""

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MethodType
from typing import Any, Final, Literal

from shuffledp.certificates.certificate import KIND, Certificate
from shuffledp.certificates.proof_methods import METHODS
from shuffledp.certificates.prove_certificate import prove_certificate
from shuffledp.certificates.unverifiable import Unverifiable
from shuffledp.core.canonical import digest
from shuffledp.core.digits import counted, rounded_up
from shuffledp.core.files import read_json
from shuffledp.core.parsing import plain
from shuffledp.core.visible import visible
from shuffledp.errors import InvalidInput, NoClaim
from shuffledp.verification.promise import Claim, Promise

Verdict = Literal["confirmed", "refused", "cannot be verified"]
_NOT_PROVED: Final = "the claim could not be proved: at this epsilon, delta is not shown to be that small."
_LONGEST: Final = 200
"""Characters of a randomizer's document that are shown."""
_ONLY_NAMED: Final = (
    "which bound it comes from and which version made it",
    "what the inputs and messages of its randomizer are called",
)
"""What a certificate says besides its claim."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What could be confirmed of a document.

    Attributes:
        verdict: in a few words.
        reason: by which methods it was confirmed, or why not.
        claims: what was claimed, in words; empty if it cannot be read.
        proved: those of them that were proved, though another one may not be.
        unproved: what else the document says, which no proof here covers.
        certificate: of the first claim, or of the first that is not proved; None if there is none.
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

    @property
    def not_proved(self) -> list[str]:
        """What the document claims or says and is not shown here to be true."""
        return [*(claim for claim in self.claims if claim not in self.proved), *self.unproved]

    def __str__(self) -> str:
        lines = [f"{self.verdict}: {self.reason}", *(f"  proved: {claim}" for claim in self.proved)]
        if self.proved and self.certificate is not None:
            lines.append(f"  randomizer: {_in_short(self.certificate.randomizer)}")
        lines += [f"  not proved: {what}" for what in self.not_proved]
        if self.reached is not None:
            lines.append(f"  proved at this epsilon: delta <= {rounded_up(self.reached)}")
        return "\n".join(map(visible, lines))

    def __repr__(self) -> str:
        why = "" if self.confirmed else f": {visible(self.reason)}"
        proved = f"{counted(len(self.proved), 'claim')} proved, {len(self.not_proved)} not"
        return f"<Verification: {self.verdict}, {proved}{why}>"

    def document(self) -> dict[str, Any]:
        """The verdict and its reasons as JSON data."""
        return {
            "verdict": self.verdict,
            "reason": self.reason,
            "statement": self.claims[0] if self.claims else None,
            "claims": list(self.claims),
            "proved": list(self.proved),
            "not_proved": self.not_proved,
            "delta_proved": self.reached,
        }


def _in_short(randomizer: dict[str, Any]) -> str:
    """What the users run whom a claim is about: its document, or the hash of that if it is long."""
    whole = json.dumps(randomizer)
    return whole if len(whole) <= _LONGEST else f"the {randomizer['kind']} with SHA-256 {digest(randomizer)}"


def verify(document: object, tick: Callable[[], None] = lambda: None, *, beside: object = ()) -> Verification:
    """Prove all that a certificate, plan, task or result promises, in ball arithmetic, with none of the code that found it.

    Nothing is raised: any other document, or one that was edited so that its parts say different things, is refused. A result
    is compared with its plan and its task if these are `beside` it, one or several. Plans, results and certificates may
    be given as they are, or by the names of their files. `tick` is called now and then, for a progress bar.

    >>> verify({"kind": "something else"}).verdict
    'refused'
    """
    if not callable(tick):
        raise InvalidInput(
            f"`tick` must be a function; got a {type(tick).__name__}. Plans and tasks that belong to a result are given as "
            'beside, e.g. verify(result, beside="plan.json").'
        )
    try:
        promise = _promise(document, beside)
    except Unverifiable as unverifiable:
        return Verification(verdict="cannot be verified", reason=_no_method(unverifiable))
    except (InvalidInput, NoClaim) as error:
        return Verification(verdict="refused", reason=str(error))
    except RecursionError:
        return Verification(
            verdict="refused", reason="the document is nested too deeply. Give one that shuffledp wrote."
        )
    return _judged(promise, tick)


def _promise(document: object, beside: object) -> Promise:
    """What is promised. A certificate alone is read without the code that plans and runs: that is loaded if it is needed."""
    document = plain(_documented(document))
    if isinstance(document, dict) and "protocol" in document:
        from shuffledp.verification.plans import promise_of_plan

        return promise_of_plan(document)
    if isinstance(document, dict) and "shufflers" in document:
        from shuffledp.verification.plans import promise_of_task

        return promise_of_task(document)
    if isinstance(document, dict) and "estimate" in document:
        from shuffledp.verification.companion_documents import Beside
        from shuffledp.verification.results import promise_of_result

        return promise_of_result(document, Beside(tuple(map(_documented, _several(beside)))))
    if not isinstance(document, dict) or document.get("kind") != KIND:
        raise InvalidInput("this is not a certificate, plan, task or result. Give one that shuffledp wrote.")
    return Promise([Claim.of(Certificate.from_document(document))], _ONLY_NAMED)


def _several(beside: Any) -> Iterable[Any]:
    """Documents, or one that was given alone."""
    if isinstance(beside, str | os.PathLike | dict) or hasattr(beside, "document"):
        return (beside,)
    if not isinstance(beside, Iterable):
        raise InvalidInput(
            f"`beside` must be plans and tasks, or the names of their files; got a {type(beside).__name__}. Give one."
        )
    return beside


def _documented(thing: Any) -> Any:
    """What is in a file of this name; a plan, a result and a certificate say themselves what their document is."""
    if isinstance(thing, MethodType):
        raise InvalidInput(f"this is a method, not what it returns. Call it: {thing.__name__}().")
    if isinstance(thing, str | os.PathLike):
        return read_json(Path(thing), "a certificate, plan, task or result", "Give one of these.")
    document = None if isinstance(thing, type) else getattr(thing, "document", None)
    return document() if type(thing).__module__.startswith("shuffledp.") and callable(document) else thing


def _judged(promise: Promise, tick: Callable[[], None]) -> Verification:
    """Every claim is tried; the first that is not proved decides, and if there is none the whole promise is confirmed."""
    claims = [claim.statement for claim in promise.claims]
    proved, methods, failures = list[str](), list[str](), list[Verification]()
    for claim in promise.claims:
        judged = _tried(claim, tick)
        if isinstance(judged, Verification):
            failures.append(judged)
        else:
            proved.append(claim.statement)
            methods.append(METHODS[judged])
    verdict = failures[0] if failures else Verification(
        verdict="confirmed", reason="; ".join(dict.fromkeys(methods)), certificate=promise.claims[0].certificate
    )  # fmt: skip
    return replace(verdict, claims=claims, proved=proved, unproved=promise.unproved)


def _tried(claim: Claim, tick: Callable[[], None]) -> str | Verification:
    """By which method a claim is proved, or why it is not."""
    certificate = claim.certificate
    try:
        proof = prove_certificate(certificate, tick)
    except Unverifiable as unverifiable:
        return Verification(verdict="cannot be verified", reason=_no_method(unverifiable), certificate=certificate)
    except InvalidInput as error:
        return Verification(verdict="refused", reason=str(error), certificate=certificate)
    if proof.method is not None:
        return proof.method
    return Verification(verdict="refused", reason=_NOT_PROVED, certificate=certificate, reached=proof.reached)


def _no_method(unverifiable: Unverifiable) -> str:
    return f"there is no method here for {unverifiable}."
