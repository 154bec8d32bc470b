"""The analyzer: opens a released batch, counts, estimates, and says under which guarantee and trust.

The order is what makes it safe: whatever can be refused is refused while every report is still sealed; then the spend is
booked, then it is written down which reports are opened, and only then is one opened.
"""

import contextlib
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.counts import Counts
from shuffledp.core.digits import counted, rounded_up
from shuffledp.core.report_outcome import Outcome
from shuffledp.errors import InvalidInput
from shuffledp.planning.plan import Plan
from shuffledp.planning.release_cost import Spend
from shuffledp.protocols.deployable import Deployable
from shuffledp.results.assembly import assembled, check_enough
from shuffledp.results.balance import Balance
from shuffledp.results.privacy_unit import CLIENT, REPORT
from shuffledp.results.result import Provenance, Result
from shuffledp.service.analyzer.batch_format import reports_of
from shuffledp.service.analyzer.ledger import Ledger, LedgerEntry
from shuffledp.service.analyzer.opened_reports import OpenedOfTask, OpenedReports, first_of_each
from shuffledp.service.sealing.keys import KeyRing
from shuffledp.service.sealing.unsealing import Tallier, Unsealers
from shuffledp.service.task import Task
from shuffledp.service.wire.released_batch import Records, ReleasedBatch, Reports, key_ids, pieces, report_ids

NO_BUDGET: Final = "No ledger was given, so no budget is kept, and what else these people were asked is not counted."
_WORTH_A_POOL: Final = 1 << 14
"""Records that take longer to open than processes to start."""
_AT_ONCE: Final = 1 << 17
"""Records handed to the processes together: enough that they seldom wait for each other, and few enough to hold."""
_ON_A_CLUSTER: Final = 1 << 19
"""The same for a cluster, where there are more to share them."""
_COUNTED_TOGETHER: Final = 1 << 18
"""Different messages that wait to be counted: they take more room than their counts."""
Watch = Callable[[float], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedBatch:
    """What was in a batch.

    Attributes:
        received: reports.
        counts: what the valid messages add up to: how often each occurs, unless there are too many different ones for that.
        rejected: messages that are not valid, by reason.
        extra: messages received, valid or not, beyond one for each report.
        before: messages that were opened in another batch before. They may be of honest users, so fewer of the others are.
        messages: how many valid ones there are; None if `counts` adds up to that.
    """

    received: int
    counts: Counts
    rejected: dict[str, int]
    extra: int = 0
    before: int = 0
    messages: int | None = None

    @property
    def valid(self) -> int:
        """Reports that are certainly whole: whose a rejected message is cannot be told, so each spoils another report."""
        return max(0, (self.counts.total if self.messages is None else self.messages) - self.extra)


def analyze(
    batch: ReleasedBatch | bytes, task: Task, ring: KeyRing, *, ledger: Ledger | None = None,
    opened_reports: OpenedReports | None = None, processes: int = 1, watch: Watch | None = None,
    candidates: Sequence[str] | None = None, tallier: Tallier | None = None,
) -> Result:  # fmt: skip
    """What a batch says, about `candidates` if the plan takes any text; `watch` hears the share of reports that are opened.

    A batch that is too small, names several keys or repeats too much is refused before anything is opened or booked.
    If too few of the opened reports are valid there is no result either, but what was booked stays booked. A `tallier` opens
    records instead of processes of this machine.
    """
    task = replace(task, plan=task.plan.about(candidates))
    task.plan.check_memory()
    batch = ReleasedBatch.of(batch) if isinstance(batch, bytes) else batch
    reports = _reports(batch, task, ring)
    plan = task.plan_of(reports.number)
    _check_size(reports, plan)
    _check_keys(reports.messages, plan)
    with contextlib.nullcontext() if opened_reports is None else opened_reports.of(task.id) as remembered:
        fresh = _fresh(reports, batch.sha256, plan, remembered)
        balance = (
            None if ledger is None else ledger.book(LedgerEntry(task=task.id, batch=batch.sha256, spend=Spend.of(plan)))
        )
        if remembered is not None:
            remembered.remember(fresh.ids, batch.sha256)
    opened = _open(reports, task, ring, only=fresh.chosen, processes=processes, watch=watch, tallier=tallier)
    return result_of(replace(opened, before=fresh.before), task, digest=batch.sha256, balance=balance)


def open_batch(
    batch: ReleasedBatch | bytes, task: Task, ring: KeyRing, *, processes: int = 1, watch: Watch | None = None
) -> OpenedBatch:
    """Open every record of a batch and nothing else: no check of keys, repetitions or budget (`analyze` has them)."""
    batch = ReleasedBatch.of(batch) if isinstance(batch, bytes) else batch
    return _open(_reports(batch, task, ring), task, ring, processes=processes, watch=watch)


def result_of(opened: OpenedBatch, task: Task, *, digest: str, balance: Balance | None = None) -> Result:
    """What opened reports say; refused if fewer are valid than the guarantee relies on."""
    plan, n = task.plan_of(opened.received), opened.valid
    honest = min(n, plan.honest_of(opened.received - opened.before))
    check_enough(plan, honest, lambda: _too_few_valid(opened, plan.guarantee.n, booked=balance is not None))
    return assembled(
        plan, plan.protocol.tallied(opened.counts.values, n), honest=honest,
        unit=CLIENT if task.hops == 1 else REPORT, received=opened.received, rejected=opened.rejected,
        notes=(*_messages(opened, plan), *(() if balance is not None else (NO_BUDGET,))),
        provenance=Provenance(task=task.id, batch=digest, trust=task.trust, ledger=balance),
    )  # fmt: skip


# Before anything is opened


def check_role(ring: KeyRing) -> None:
    """Refuse keys of a shuffler."""
    if ring.role != "analyzer":
        raise InvalidInput(f"these keys belong to the {ring.role}. Give the analyzer's.")


def _reports(batch: ReleasedBatch, task: Task, ring: KeyRing) -> Reports:
    check_role(ring)
    return reports_of(batch, task)


def _check_size(reports: Reports, plan: Plan) -> None:
    """No shuffler that follows the protocol releases fewer reports, and no users who do send fewer messages beside one each."""
    if reports.number < plan.min_batch:
        raise InvalidInput(
            f"this batch has {counted(reports.number, 'report')}, and no shuffler may release fewer than {plan.min_batch:,}. "
            "Nothing was opened or booked; ask the shuffler's operator how this came about."
        )
    fewest = plan.protocol.fewest_records(reports.number, plan.guarantee.n)
    if len(reports.messages) < fewest and not plan.needs_crowd:
        raise InvalidInput(
            f"this batch of {counted(reports.number, 'report')} has {len(reports.messages):,} records, and with the dummies that "
            f"a shuffler adds there are at least {fewest:,}: what should hide these people is missing. Nothing was opened or "
            "booked; ask the shuffler's operator how this came about."
        )
    beside = fewest - reports.number
    if reports.extra < beside and plan.needs_crowd:
        raise InvalidInput(
            f"this batch has {reports.extra:,} messages beside one for each report, and {plan.guarantee.n:,} users who follow "
            f"the protocol send at least {beside:,}: what should hide these people is missing. Nothing was opened or booked; "
            "find out which clients send too little, or whether somebody let only reports with few messages through."
        )


def _check_keys(records: Records, plan: Plan) -> None:
    """Which key a record names is in clear, so it tells people apart.

    A record of another suite names no key and is never opened: it is rejected by itself.
    """
    found = key_ids(records)
    if len(found) > 1:
        groups = [
            f"{often:,} {'record names' if often == 1 else 'records name'} key {key}" for key, often in found.items()
        ]
        alone = (
            f"is protected by epsilon0 = {rounded_up(plan.epsilon0)} only"
            if math.isfinite(plan.epsilon0)
            else "is not protected at all"
        )
        raise InvalidInput(
            f"this batch mixes keys: {', '.join(groups[:-1])} and {groups[-1]}. "
            f"Everybody can see which key a record names, so a person who is alone with a key {alone}. "
            "Nothing was opened or booked; do not open it with other software either, and tell the shuffler's operator."
        )


@dataclass(frozen=True, slots=True)
class _Fresh:
    """Records to open: which they are, and their sorted ids; and how many others were opened before."""

    chosen: NDArray[np.bool_]
    ids: NDArray[np.bytes_]
    before: int


def _fresh(reports: Reports, digest: str, plan: Plan, remembered: OpenedOfTask | None) -> _Fresh:
    """The first of each record, unless it was opened in another batch."""
    ids = report_ids(reports.messages)
    places = first_of_each(ids)
    ids = ids[places]
    different = len(ids)
    if remembered is not None:
        new = ~remembered.among(ids, digest)
        places, ids = places[new], ids[new]
    whole = max(0, len(places) - reports.extra)  # each record that is not fresh may be of another report
    if whole < plan.guarantee.n:
        raise InvalidInput(
            f"only {whole:,} of the {reports.number:,} reports received are neither repeated nor opened before, and the "
            f"guarantee relies on {plan.guarantee.n:,} honest ones. "
            "Nothing was opened or booked; ask the shuffler's operator how reports came to be repeated."
        )
    before = different - len(ids)
    others = (
        reports.number - before
    )  # what was opened before may be honest, so how many of the others are is up to their number
    if others < plan.min_batch:
        raise InvalidInput(
            f"{before:,} of the {reports.number:,} reports received were opened before in another batch, and a batch needs "
            f"{plan.min_batch:,} others. Nothing was opened or booked; ask the shuffler's operator whether a copy or an earlier "
            "state of its store was served."
        )
    chosen = np.zeros(len(reports.messages), dtype=np.bool_)
    chosen[places] = True
    return _Fresh(chosen, ids, before)


# Opening


def _open(
    reports: Reports, task: Task, ring: KeyRing, *, only: NDArray[np.bool_] | None = None, processes: int,
    watch: Watch | None, tallier: Tallier | None = None,
) -> OpenedBatch:  # fmt: skip
    """Open records, each by itself: a bad one is counted and harms no other."""
    records = reports.messages
    wanted = len(records) if only is None else int(only.sum())
    protocol, rejected = task.plan.protocol, Counter[str]()
    totals, waiting = np.zeros(protocol.batch_counters, dtype=np.int64), Counter[int]()
    valid = done = 0
    with Unsealers(processes if wanted >= _WORTH_A_POOL else 1) as unsealers:
        for some in pieces(records, only, _AT_ONCE if tallier is None else _ON_A_CLUSTER):
            for tally in (tallier or unsealers).tallies(some, ring, task.id, protocol.alphabet):
                for what, often in tally.items():
                    if isinstance(what, int):
                        waiting[what] += often
                        valid += often
                    else:
                        rejected[what] += often
                done += tally.total()
                if len(waiting) >= _COUNTED_TOGETHER:
                    _count(protocol, totals, waiting)
                if watch is not None:
                    watch(done / wanted)
    _count(protocol, totals, waiting)
    if wanted < len(records):
        rejected[Outcome.REPORT_REPLAYED] = len(records) - wanted
    return OpenedBatch(
        received=reports.number, counts=Counts(totals), rejected=dict(rejected), extra=reports.extra, messages=valid
    )


def _count(protocol: Deployable, totals: NDArray[np.int64], waiting: Counter[int]) -> None:
    """Add the messages that wait to those of before."""
    messages = np.fromiter(waiting.keys(), dtype=np.uint64, count=len(waiting))
    protocol.add_batch(totals, messages, np.fromiter(waiting.values(), dtype=np.int64, count=len(waiting)))
    waiting.clear()


def _messages(opened: OpenedBatch, plan: Plan) -> tuple[str, ...]:
    """What is relied on if users send several messages."""
    if not plan.needs_crowd:
        return (
            f"Of the {opened.received:,} reports, as the shuffler counted them, it made {opened.received + opened.extra:,} "
            "records, dummies among them. Which these are cannot be told, so each record that is rejected counts as a report "
            "that is not valid.",
        )
    if plan.protocol.most_messages == 1:
        return ()
    return (
        f"The {opened.received:,} reports, as the shuffler counted them, have {opened.received + opened.extra:,} messages "
        f"together, at most {plan.protocol.most_messages} each. Nobody can tell who sent a message, so each rejected "
        "message counts as an invalid report.",
    )


def _too_few_valid(opened: OpenedBatch, needed: int, *, booked: bool) -> str:
    reasons = ", ".join(f"{often:,} {reason}" for reason, often in sorted(opened.rejected.items()))
    return (
        f"only {opened.valid:,} of the {opened.received:,} reports received are valid, and the guarantee relies on "
        f"{needed:,} honest ones (rejected: {reasons or 'none'}). No result is given"
        f"{', but the spend stays booked because the reports were opened' if booked else ''}. "
        "Find out why reports were rejected before you collect again."
    )
