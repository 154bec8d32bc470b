"""Between clients and server: reports without their senders, in a secret order, or not at all if they are too few."""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shuffledp.federated.update_encoder import protocol_of
from shuffledp.planning.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ShuffledReports:
    """All that a server may see of a round.

    Attributes:
        plan: whose reports they are, by its SHA-256.
        messages: of all clients, in an order that says nothing; none if the reports are too few.
        clients: whose messages these are.
        rejected: reports that are none of the plan's. Whoever sent them changed nothing.
        enough: whether they reach the minimum of the plan.
    """

    plan: str
    messages: NDArray[np.uint64]
    clients: int
    rejected: int
    enough: bool

    def __repr__(self) -> str:
        return f"<ShuffledReports: {self.clients:,} clients, {self.rejected:,} rejected>"


def shuffled(plan: Plan, reports: Iterable[object]) -> ShuffledReports:
    """The reports of a round, one for each client, without their order. It sees who sent what: this is the party to trust.

    A report that is not a list of as many messages as the plan asks for, each one of the plan's, is rejected.
    """
    protocol = protocol_of(plan)
    given = list(reports)
    kept = [report for report in given if _is_report(report, protocol.repeats, protocol.randomizer.messages)]
    enough = plan.honest_of(len(kept)) >= plan.guarantee.n
    messages = [message for report in kept for message in report] if enough else []  # type: ignore[attr-defined]
    secrets.SystemRandom().shuffle(messages)
    return ShuffledReports(
        plan=plan.sha256,
        messages=np.array(messages, dtype=np.uint64),
        clients=len(kept),
        rejected=len(given) - len(kept),
        enough=enough,
    )


def _is_report(report: object, length: int, messages: int) -> bool:
    return (
        isinstance(report, list)
        and len(report) == length
        and all(type(message) is int and 0 <= message < messages for message in report)
    )
