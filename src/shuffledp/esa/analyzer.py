"""The analyzer: opens a released batch, counts, estimates, and says under which guarantee and trust."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from shuffledp.core.counts import Counts
from shuffledp.engines.answer import Answer, estimated
from shuffledp.errors import InvalidInput
from shuffledp.esa.keys import KeyRing
from shuffledp.esa.ledger import Balance, Ledger, Spend
from shuffledp.esa.opening import Openers
from shuffledp.esa.task import Task
from shuffledp.esa.wire import Reason, record_length, split
from shuffledp.planning.plan import Plan, epsilon_at

_UNIT: Final = "one report = one person (clients report once a batch)"
_WORTH_A_POOL: Final = 1 << 14
"""Records that take longer to open than processes to start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """What was in a batch: counts of valid messages, and of the others by reason."""

    received: int
    counts: Counts
    rejected: dict[str, int]


def open_batch(
    data: bytes, task: Task, ring: KeyRing, *, processes: int = 1, watch: Callable[[float], None] | None = None
) -> Opened:
    """Open all records of a batch, each by itself: a bad one is counted and harms no other. `watch` hears the share done."""
    if ring.role != "analyzer":
        raise InvalidInput(f"these are keys of the {ring.role}. Give the analyzer's.")
    records = split(data, record_length(1))
    if records is None:
        raise InvalidInput("this is not a batch: its length is not a whole number of records. Fetch it again.")
    found, done = Counter[int | Reason](), 0
    with Openers(processes if len(records) >= _WORTH_A_POOL else 1) as openers:
        for some in openers.tallies(records, ring, task.id, task.plan.size):
            found.update(some)
            done += some.total()
            if watch is not None:
                watch(done / len(records))
    counts = np.zeros(task.plan.size, dtype=np.int64)
    rejected: dict[str, int] = {}
    for what, often in found.items():
        if isinstance(what, int):
            counts[what] = often
        else:
            rejected[what] = often
    return Opened(received=len(records), counts=Counts(counts), rejected=rejected)


def analyze(
    opened: Opened, task: Task, *, digest: str, ledger: Ledger | None = None, confidence: float = 0.95
) -> dict[str, Any]:
    """The result as JSON data. The budget is spent before this returns; too few valid reports give no result."""
    plan, n = task.plan, opened.counts.total
    if n < plan.min_batch:
        raise InvalidInput(
            f"only {n:,} of {opened.received:,} reports are valid, fewer than the plan's {plan.min_batch:,}. "
            "Nothing is released; look at why the others are not."
        )
    balance: Balance | None = None
    if ledger is not None:
        balance = ledger.spend(
            Spend(
                task=task.id,
                batch=digest,
                size=plan.size,
                threshold=plan.threshold,
                n=plan.guarantee.n,
                bound=plan.guarantee.bound,
            )
        )
    answer = Answer(
        plan=plan, estimate=estimated(plan, opened.counts, plan.guarantee), guarantee=plan.guarantee,
        realised_epsilon=epsilon_at(plan, plan.honest_of(n)), unit=_UNIT if task.hops == 1 else "one report",
        rejected=opened.rejected,
    )  # fmt: skip
    result = answer.document(confidence=confidence)
    result["guarantee"]["epsilon_if_shuffler_and_analyzer_collude"] = plan.randomizer.epsilon0
    spent = None if balance is None else {
        "spent_epsilon": balance.spent_epsilon, "budget_epsilon": balance.epsilon, "delta": balance.delta,
        "releases": balance.releases, "head": balance.head,
    }  # fmt: skip
    return result | {
        "kind": plan.task, "low": plan.low, "high": plan.high, "one_lie_shifts_by_at_most": one_lie(plan, n),
        "task": task.id, "batch": digest, "received": opened.received, "trust": task.trust, "ledger": spent,
    }  # fmt: skip


def one_lie(plan: Plan, n: int) -> float:
    """By how much one report that says what its sender likes, instead of what the plan says, moves an estimate at most.

    Formula: span / (1 - gamma), where span is 1 for a bin's count and high - low for a sum; for a mean over n of it.
    """
    span = 1.0 if plan.low is None or plan.high is None or plan.task == "histogram" else plan.high - plan.low
    return span / (1 - plan.threshold / 2**64) / (n if plan.is_mean else 1)
