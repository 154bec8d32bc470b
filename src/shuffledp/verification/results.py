"""What a result promises: as its plan did, with the reports that came, and without a shuffler."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from shuffledp.certificates.certificate import ADJACENCY, Certificate
from shuffledp.certificates.unverifiable import Unverifiable
from shuffledp.core import checks
from shuffledp.core.document import Document, members, number, text, whole
from shuffledp.errors import InvalidInput
from shuffledp.planning.plan import Plan
from shuffledp.results.unit import CLIENT, ONE_EACH, REPORT
from shuffledp.verification.promise import EDITED, Claim, Promise

_FIELDS: Final = {
    "question", "measure", "measures", "wording", "estimate", "also", "guarantee", "certificate", "n", "received",
    "rejected", "adjusted", "truth", "max_shift_per_false_report", "plan", "spend", "task", "batch", "trust", "ledger",
    "notes",
}  # fmt: skip
_ADDED: Final = {"derived"}
"""What the command line adds if it is asked for."""
_UNPROVED: Final = ("the estimates and their errors", "the notes")


def promise_of_result(document: Document, plans: Mapping[str, Document]) -> Promise:
    """What the result promises; refused if its numbers do not belong together, or to its plan if that is known by its hash."""
    unknown = document.keys() - _FIELDS - _ADDED
    missing = _FIELDS - document.keys()
    if unknown or missing:
        name = sorted(unknown or missing)[0]
        raise InvalidInput(f"a result {'has no' if unknown else 'needs the'} field {str(name)!r}. {EDITED}")
    if document["guarantee"] is None:
        raise Unverifiable("a result that promises nothing: its randomness was not secret")
    if document["certificate"] is None:
        raise Unverifiable("a result that promises something else than its plan, such as to people with several rows")
    certificate = Certificate.from_document(document["certificate"])
    promised = _guarantee(document["guarantee"])
    _check_promise(promised, certificate, document["spend"])
    crowd = _crowd(document, promised, certificate)
    plan = plans.get(document["plan"]) if isinstance(document["plan"], str) else None
    if plan is not None:
        _check_plan(document, certificate, plan)
    return Promise(_claims(certificate, promised, crowd), [*_UNPROVED, *_besides(document, plan is not None)])


def _check_plan(document: Document, certificate: Certificate, given: Document) -> None:
    """The result promises what its plan does, and is an answer to the same question."""
    plan = Plan.from_document(given)
    said = {name: value for name, value in document["wording"].items() if value is not None}
    same = (plan.sha256, plan.question, plan.wording.document()) == (document["plan"], document["question"], said)
    if not same or plan.certificate().document()["claim"] != certificate.document()["claim"]:
        raise InvalidInput(f"the result is not an answer to its plan, which was given. {EDITED}")


def _guarantee(document: object) -> dict[str, Any]:
    found = members(
        document, "the guarantee of a result", epsilon=number, delta=number, n=whole, bound=text, adjacency=text, unit=text,
        realised_epsilon=number, realised_honest=whole,
        epsilon_if_shuffler_and_analyzer_collude=lambda value: None if value is None else number(value),
    )  # fmt: skip
    for name in ("realised_epsilon", "epsilon_if_shuffler_and_analyzer_collude"):
        if found[name] is not None:
            checks.epsilon(found[name], name)
    return found


def _check_promise(promised: Document, certificate: Certificate, spend: object) -> None:
    """The guarantee, its certificate and what is booked for it are about the same claim."""
    stated = promised["epsilon"], promised["delta"], promised["n"], promised["bound"]
    if stated != (certificate.epsilon, certificate.delta, certificate.honest, certificate.bound):
        raise InvalidInput(f"the certificate is not about the guarantee in this document. {EDITED}")
    if certificate.rounds != 1:
        raise InvalidInput(f"a result is of one round, and its certificate of {certificate.rounds:,}. {EDITED}")
    if promised["adjacency"] != ADJACENCY:
        raise InvalidInput(f"what is proved is about {ADJACENCY} neighbours, and the result names others. {EDITED}")
    if promised["unit"] not in ONE_EACH:
        raise InvalidInput(
            f"what is proved is about one report of a person, and the result names another unit. {EDITED}"
        )
    booked = members(spend, "the spend of a result", randomizer=lambda value: value, n=whole, bound=text)
    if booked != {"randomizer": certificate.randomizer, "n": certificate.honest, "bound": certificate.bound}:
        raise InvalidInput(f"what is booked for the result is not what its certificate is about. {EDITED}")


def _crowd(document: Document, promised: Document, certificate: Certificate) -> int:
    """How many reports the realised guarantee is about; refused if the numbers of reports cannot be those of a release."""
    counts = members(
        {name: document[name] for name in ("n", "received", "rejected")},
        "a result",
        n=whole,
        received=whole,
        rejected=_tally,
    )
    served, honest = document["task"] is not None, promised["realised_honest"]
    if served != (promised["unit"] in (CLIENT, REPORT)):
        raise InvalidInput(f"the result names a unit of the service without a task, or a task without one. {EDITED}")
    shuffled, relied = (counts["received"], certificate.honest) if served else (counts["n"], certificate.reports)
    if shuffled < certificate.reports or counts["n"] < relied:
        raise InvalidInput(
            f"the result states {counts['n']:,} valid reports of {counts['received']:,}, fewer than its guarantee needs. {EDITED}"
        )
    if not served and counts["n"] + sum(counts["rejected"].values()) != counts["received"]:
        raise InvalidInput(f"the valid and the rejected rows of the result are not those received. {EDITED}")
    if not 1 <= honest <= min(counts["n"], shuffled * certificate.honest // certificate.reports):
        raise InvalidInput(f"the result relies on more honest reports than its plan does among so many. {EDITED}")
    return int(shuffled)


def _tally(value: Any) -> dict[str, int]:
    if not isinstance(value, dict):
        raise ValueError("numbers by reason")
    found = {str(name): whole(often) for name, often in value.items()}
    if any(often < 0 for often in found.values()):
        raise ValueError("numbers by reason")
    return found


def _claims(certificate: Certificate, promised: Document, crowd: int) -> Sequence[Claim]:
    realised = replace(
        certificate, epsilon=promised["realised_epsilon"], honest=promised["realised_honest"], reports=crowd
    )
    local = promised["epsilon_if_shuffler_and_analyzer_collude"]
    return [
        Claim.of(certificate),
        Claim.of(realised),
        *([] if local is None else [Claim.local(certificate, local)]),
    ]


def _besides(document: Document, plan_known: bool) -> list[str]:
    """What else the result says, if it does."""
    found = []
    if not plan_known:
        found.append("that this is an answer to the plan it names (give the plan beside it)")
    if document["task"] is not None:
        found.append("its task, batch, trust and ledger")
    return found
