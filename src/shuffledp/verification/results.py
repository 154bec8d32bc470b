"""What a result promises: as its plan did, with the reports that came, and without a shuffler."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from shuffledp.certificates.certificate import ADJACENCY, Certificate
from shuffledp.certificates.unverifiable import Unverifiable
from shuffledp.core import checks
from shuffledp.core.canonical import digest
from shuffledp.core.document import Document, members, number, several, text, whole
from shuffledp.errors import InvalidInput
from shuffledp.planning.plan import Plan
from shuffledp.planning.release_cost import Spend
from shuffledp.results.privacy_unit import CLIENT, REPORT, rows_of_unit
from shuffledp.verification.companion_documents import Beside
from shuffledp.verification.promise import EDITED, Claim, Promise

if TYPE_CHECKING:
    from shuffledp.service.task import Task

NOISE: Final = "shuffler-noise"
"""The randomizer of which nothing is private by itself."""


def promise_of_result(document: Document, beside: Beside) -> Promise:
    """What the result promises; refused if its numbers do not belong together, or to its plan or task, if these are at hand."""
    result = _result(document)
    if result["guarantee"] is None:
        raise Unverifiable("a result that promises nothing: its randomness was not secret")
    promised = _guarantee(result["guarantee"])
    task = beside.task(result["task"])
    plan = _plan_of(task, result) if task is not None else beside.plan(result["plan"])
    if task is not None:
        _check_task(result, promised, task)
    if plan is not None:
        _check_plan(result, plan)
    elif beside.has_plans:
        raise InvalidInput(
            "none of the plans and tasks given is the one that the result names. Give that one, or none."
        )
    rows = rows_of_unit(promised["unit"])
    claims = _claims_of_group(result, promised, plan, rows) if rows > 1 else _claims(result, promised, plan)
    return Promise(claims, _unproved(result, promised, plan, task))


def _result(document: Document) -> Document:
    """Its fields, those that a proof is about read strictly."""
    others = ("measures", "estimate", "also", "guarantee", "certificate", "truth", "spend", "ledger")
    return members(
        {"derived": None} | document, "a result", question=text, measure=text, wording=_wording, n=whole, received=whole,
        rejected=_tally, adjusted=_tally, max_shift_per_false_report=number, plan=_hash, task=_or_none(_hash),
        batch=_or_none(_hash), trust=_or_none(text), notes=several(text), derived=_anything,
        **dict.fromkeys(others, _anything),
    )  # fmt: skip


def _guarantee(document: object) -> Document:
    stated = members(
        document, "the guarantee of a result", epsilon=number, delta=number, n=whole, bound=text, adjacency=text, unit=text,
        realised_epsilon=number, realised_honest=whole, epsilon_if_shuffler_and_analyzer_collude=_or_none(number),
    )  # fmt: skip
    checks.epsilon(stated["epsilon"])
    checks.epsilon(stated["realised_epsilon"], "realised_epsilon")
    checks.probability(stated["delta"], "delta")
    checks.users(stated["n"])
    if stated["epsilon_if_shuffler_and_analyzer_collude"] is not None:
        checks.epsilon(stated["epsilon_if_shuffler_and_analyzer_collude"])
    return stated


# What belongs together


def _plan_of(task: "Task", result: Document) -> Plan:
    """The task's, or that of its batches that are topped up."""
    return task.plan_of(result["received"])


def _check_task(result: Document, promised: Document, task: "Task") -> None:
    """Which plan the task has, and who must be trusted for what."""
    unit = CLIENT if task.hops == 1 else REPORT
    if (result["plan"], result["trust"], promised["unit"]) != (_plan_of(task, result).sha256, task.trust, unit):
        raise InvalidInput(f"the result does not say what its task does, which is at hand. {EDITED}")


def _check_plan(result: Document, plan: Plan) -> None:
    """The answer is one to the same question, and as uncertain at least."""
    said = {name: value for name, value in result["wording"].items() if value is not None}
    same = (
        result["plan"] == plan.sha256
        and (result["question"], result["measure"]) == (plan.question, plan.protocol.description.measure)
        and digest(result["measures"]) == digest(dict(plan.protocol.description.measures))
        and said == plan.wording.document()
    )
    if not same:
        raise InvalidInput(f"the result is not an answer to its plan, which is at hand. {EDITED}")


def _claims(result: Document, promised: Document, plan: Plan | None) -> Sequence[Claim]:
    """As the plan promised, with all reports that came, and by each report itself: of people with one report each."""
    if result["certificate"] is None:
        raise InvalidInput(f"the result has a guarantee and no certificate of it. {EDITED}")
    certificate = Certificate.from_document(result["certificate"])
    if plan is not None and plan.certificate().document()["claim"] != certificate.document()["claim"]:
        raise InvalidInput(f"the result does not promise what its plan does, which is at hand. {EDITED}")
    stated = promised["epsilon"], promised["delta"], promised["n"], promised["bound"], 1
    if stated != (
        certificate.epsilon, certificate.delta, certificate.honest, certificate.bound, certificate.rounds,
    ):  # fmt: skip
        raise InvalidInput(f"the certificate is not about the guarantee in this document. {EDITED}")
    if promised["adjacency"] != ADJACENCY:
        raise InvalidInput(f"what is proved is about {ADJACENCY} neighbours, and the result names others. {EDITED}")
    booked = Spend.from_document(result["spend"])
    if booked != Spend(randomizer=certificate.randomizer, n=certificate.honest, bound=certificate.bound):
        raise InvalidInput(f"what is booked for the result is not what its certificate is about. {EDITED}")
    crowd = _crowd(result, promised, certificate)
    realised = replace(
        certificate, epsilon=promised["realised_epsilon"], honest=promised["realised_honest"], reports=crowd
    )
    return [
        Claim.of(certificate),
        *([] if realised == certificate else [Claim.of(realised)]),
        *_local(promised, _alone(promised, certificate, plan)),
    ]


def _claims_of_group(result: Document, promised: Document, plan: Plan | None, rows: int) -> Sequence[Claim]:
    """What a result promises people with several rows: which randomizer ran is only known from the plan."""
    if result["certificate"] is not None or result["spend"] is not None:
        raise InvalidInput(f"a promise to people with several rows has no certificate, and none is booked. {EDITED}")
    if plan is None:
        raise Unverifiable("a promise to people with several rows alone: give the plan of the result as well")
    certificate, honest = plan.certificate(), plan.honest_of(result["n"])
    expected = {
        "delta": certificate.delta, "n": honest, "bound": f"{certificate.bound}, group of {rows}",
        "adjacency": f"replace one person's rows, at most {rows}", "realised_epsilon": promised["epsilon"],
        "realised_honest": honest,
    }  # fmt: skip
    if any(promised[name] != value for name, value in expected.items()):
        raise InvalidInput(f"the guarantee is not one to people with at most {rows:,} rows by its plan. {EDITED}")
    crowd = _crowd(result, promised, certificate)
    together = replace(certificate, epsilon=promised["epsilon"], honest=honest, reports=crowd)
    return [Claim.of_group(together, rows), *_local(promised, certificate, rows)]


def _alone(promised: Document, certificate: Certificate, plan: Plan | None) -> Certificate:
    """By what a user's messages are private by themselves: of a batch that was topped up, not by what its guarantee is."""
    if plan is not None:
        return plan.local_certificate()
    if promised["epsilon_if_shuffler_and_analyzer_collude"] is not None and certificate.randomizer["kind"] == NOISE:
        raise Unverifiable(
            "what is left if shuffler and analyzer collude, of a batch that was topped up alone: give its task as well"
        )
    return certificate


def _local(promised: Document, certificate: Certificate, rows: int = 1) -> list[Claim]:
    epsilon = promised["epsilon_if_shuffler_and_analyzer_collude"]
    return [] if epsilon is None else [Claim.local(certificate, epsilon, rows=rows)]


def _crowd(result: Document, promised: Document, certificate: Certificate) -> int:
    """How many reports were shuffled; refused if the numbers of reports cannot be those of a release."""
    served, valid, received = result["task"] is not None, result["n"], result["received"]
    alike = {name: result[name] is not None for name in ("task", "batch", "trust")}
    if len(set(alike.values())) > 1 or served != (promised["unit"] in (CLIENT, REPORT)):
        raise InvalidInput(f"the result states both that it is from the service and that it is not. {EDITED}")
    if valid + sum(result["rejected"].values()) != received:
        raise InvalidInput(f"the valid and the rejected reports of the result are not those received. {EDITED}")
    shuffled, relied = (received, certificate.honest) if served else (valid, certificate.reports)
    if shuffled < certificate.reports or valid < relied:
        raise InvalidInput(
            f"the result states {valid:,} valid reports of {received:,}, fewer than its guarantee needs. {EDITED}"
        )
    most = min(valid, shuffled * certificate.honest // certificate.reports)
    if not 1 <= promised["realised_honest"] <= most:
        raise InvalidInput(f"the result relies on more honest reports than its plan does among so many. {EDITED}")
    return int(shuffled)


# What is said besides


def _unproved(result: Document, promised: Document, plan: Plan | None, task: "Task | None") -> list[str]:
    served, unit, rounds = result["task"] is not None, promised["unit"], plan is not None and plan.over_time is not None
    said = [
        (True, "the estimates, their errors, what a false report changes, and the notes"),
        (result["derived"] is not None, "what is derived from the estimates"),
        (not served, f"that each row belongs to the person it should ({unit})"),
        (served, f"that people report as often as it says ({unit})"),
        (plan is None, "that it is an answer to the question and the plan it names: give the plan as well"),
        (rounds, "what all rounds of its plan guarantee together: verify the plan"),
        (served and task is None, "that it is of the task it names, and whom to trust: give the task as well"),
        (served, "that its batch was released, and that shufflers and analyzer do not collude"),
        (result["ledger"] is not None, "what its ledger says of the budget"),
        (result["truth"] is not None, "that its exact answer is private: it is not"),
        (bool(result["rejected"] or result["adjusted"]), "that its exact numbers of rejected and adjusted values are private"),
    ]  # fmt: skip
    return [what for is_said, what in said if is_said]


# Fields


_HEXADECIMAL: Final = re.compile("[0-9a-f]{64}")


def _anything(value: Any) -> Any:
    return value


def _or_none(read: Any) -> Any:
    return lambda value: None if value is None else read(value)


def _hash(value: Any) -> str:
    if not isinstance(value, str) or not _HEXADECIMAL.fullmatch(value):
        raise ValueError("64 hexadecimal digits")
    return value


def _wording(value: Any) -> Document:
    return members(value, "the wording of a result", **dict.fromkeys(("title", "question", "unit"), _or_none(text)))


def _tally(value: Any) -> dict[str, int]:
    if not isinstance(value, dict):
        raise ValueError("numbers by reason")
    tally = {str(name): whole(often) for name, often in value.items()}
    if any(often < 0 for often in tally.values()):
        raise ValueError("numbers by reason")
    return tally
