"""What a plan or a task promises: in each round and over all of them, by the randomizer that its protocol runs."""

import math
from dataclasses import replace
from typing import Any, Final

from shuffledp.certificates.certificate import Certificate
from shuffledp.errors import InvalidInput
from shuffledp.planning.plan import Plan
from shuffledp.verification.promise import EDITED, Claim, Promise

_PRECISION: Final = 1e-6
"""Within which two machines compute the same forecast."""
_MADE_OTHERWISE: Final = "It was edited, or a version with other formulas made it."
_WORDS: Final = "what its title, question and unit say"
_PARTIES: Final = (
    "who runs the shufflers and the analyzer, that they do not collude, and how many of their users are honest"
)
_ONE_PARTY: Final = "anything against whoever runs more than one part, except what holds before messages are shuffled"


def promise_of_plan(document: dict[str, Any]) -> Promise:
    """What the plan in this document promises; refused if anything in it is not the plan's."""
    plan = Plan.from_document(document)
    certificate = plan.certificate()
    if "certificate" in document and _ignoring_version(document["certificate"]) != _ignoring_version(
        certificate.document()
    ):
        raise InvalidInput(f"the certificate in this plan is not about what its protocol runs. {EDITED}")
    if "forecast" in document and not _alike(document["forecast"], plan.document()["forecast"]):
        raise InvalidInput(f"the forecast in this plan is not what its protocol gives. {_MADE_OTHERWISE}")
    return Promise(_claims(plan), _words(plan))


def promise_of_task(document: dict[str, Any]) -> Promise:
    """What the task in this document promises, if its shufflers and its analyzer do as it says."""
    from shuffledp.service.task import Task

    task = Task.from_document(document)
    unproved = [_ONE_PARTY] if task.same_operator else []
    topped_up = [] if task.topped_up is None else [Claim.of(task.topped_up.certificate())]
    return Promise([*_claims(task.plan), *topped_up], [*unproved, _PARTIES, *_words(task.plan)])


def _words(plan: Plan) -> list[str]:
    return [_WORDS] if plan.wording.document() else []


def _claims(plan: Plan) -> list[Claim]:
    """One round, all rounds of a person, and a user's messages by themselves."""
    certificate = plan.certificate()
    claims = [Claim.of(certificate)]
    if plan.over_time is not None:
        claims.append(_rounds(certificate, plan))
    if math.isfinite(plan.epsilon0):
        claims.append(Claim.local(plan.local_certificate(), plan.epsilon0))
    return claims


def _rounds(certificate: Certificate, plan: Plan) -> Claim:
    total = plan.over_time
    if total is None:
        raise InvalidInput("this plan says nothing about rounds. Plan with `rounds`.")
    together = replace(certificate, rounds=total.per_person, epsilon=total.epsilon, delta=total.delta)
    statement = together.statement
    if total.per_person < total.rounds:
        statement += f", for whoever takes part in at most {total.per_person:,} of {total.rounds:,} rounds"
    return Claim(together, statement)


def _ignoring_version(certificate: Any) -> Any:
    """A certificate without the version that made it and the hash over that: neither is part of what is claimed."""
    if not isinstance(certificate, dict):
        return certificate
    Certificate.from_document(certificate)  # refuses one that was damaged
    return {name: value for name, value in certificate.items() if name not in ("made_with", "sha256")}


def _alike(stated: Any, expected: Any) -> bool:
    """Whether two documents are the same, but for the last digits of numbers."""
    if isinstance(expected, dict):
        return (
            isinstance(stated, dict)
            and stated.keys() == expected.keys()
            and all(_alike(stated[name], expected[name]) for name in expected)
        )
    if isinstance(expected, list | tuple):
        return isinstance(stated, list) and len(stated) == len(expected) and all(map(_alike, stated, expected))
    if isinstance(expected, float) and isinstance(stated, int | float) and not isinstance(stated, bool):
        return math.isclose(stated, expected, rel_tol=_PRECISION)
    return type(stated) is type(expected) and bool(stated == expected)
