"""The analyzer: opens a released batch, counts, estimates, and says under which guarantee and trust."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from shuffledp.core.counts import Counts
from shuffledp.engines.answer import Answer, estimated
from shuffledp.errors import InvalidInput
from shuffledp.esa.crypto import unseal
from shuffledp.esa.keys import KeyRing, PrivateKey
from shuffledp.esa.ledger import Balance, Ledger, Spend
from shuffledp.esa.task import Task
from shuffledp.esa.wire import decode_message, record_length
from shuffledp.planning.plan import epsilon_at

_AT_ONCE = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """What was in a batch: counts of valid messages, and of the others by reason."""

    received: int
    counts: Counts
    rejected: dict[str, int]


def open_batch(data: bytes, task: Task, ring: KeyRing, *, processes: int = 1) -> Opened:
    """Open all records of a batch, each by itself: a bad one is counted and harms no other."""
    if ring.role != "analyzer":
        raise InvalidInput(f"these are keys of the {ring.role}. Give the analyzer's.")
    length = record_length(1)
    if not data or len(data) % length:
        raise InvalidInput("this is not a batch: its length is not a whole number of records. Fetch it again.")
    keys = [(key.key_id, key.state, key.private.private_bytes_raw()) for key in ring.keys]
    step = _AT_ONCE * length
    parts = [(data[start : start + step], length, keys, task.id, task.plan.size) for start in range(0, len(data), step)]
    counts, rejected = Counts.none(task.plan.size), Counter[str]()
    for messages, bad in _mapped(parts, processes):
        counts += Counts.of(np.array(messages, dtype=np.int64), task.plan.size)
        rejected.update(bad)
    return Opened(received=len(data) // length, counts=counts, rejected=dict(rejected))


def _mapped(parts: list[tuple[Any, ...]], processes: int) -> Iterator[tuple[list[int], Counter[str]]]:
    if processes <= 1 or len(parts) == 1:
        yield from map(_open_part, parts)
        return
    with ProcessPoolExecutor(max_workers=processes) as pool:
        yield from pool.map(_open_part, parts)


def _open_part(part: tuple[bytes, int, list[tuple[int, Any, bytes]], str, int]) -> tuple[list[int], Counter[str]]:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    data, length, keys, task_id, size = part
    loaded = (PrivateKey(key_id=i, state=s, private=X25519PrivateKey.from_private_bytes(raw)) for i, s, raw in keys)
    ring = KeyRing(role="analyzer", keys=tuple(loaded))
    messages: list[int] = []
    rejected: Counter[str] = Counter()
    for start in range(0, len(data), length):
        payload = unseal(data[start : start + length], ring, task_id)
        if not isinstance(payload, bytes):
            rejected[payload] += 1
            continue
        message = decode_message(payload, size)
        if message is None:
            rejected["out_of_domain"] += 1
        else:
            messages.append(message)
    return messages, rejected


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
        realised_epsilon=epsilon_at(plan, plan.honest_of(n)), unit="one report = one person", rejected=opened.rejected,
    )  # fmt: skip
    result = answer.document(confidence=confidence)
    result["guarantee"]["epsilon_if_shuffler_and_analyzer_collude"] = plan.randomizer.epsilon0
    spent = None if balance is None else {
        "spent_epsilon": balance.spent_epsilon, "budget_epsilon": balance.epsilon, "delta": balance.delta,
        "releases": balance.releases, "head": balance.head,
    }  # fmt: skip
    return result | {
        "kind": plan.task, "low": plan.low, "high": plan.high,
        "task": task.id, "batch": digest, "received": opened.received, "trust": task.trust, "ledger": spent,
    }  # fmt: skip
