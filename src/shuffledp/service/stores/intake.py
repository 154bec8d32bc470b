"""Which open batch takes which reports, and what becomes of each: decided here for every kind of store."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from shuffledp.core.report_outcome import Outcome
from shuffledp.service.stores.batch import Batch, NextKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    """Batches that take reports now, by the id of their key; and what becomes of reports that none of them takes."""

    batches: Mapping[int, Batch]
    missed: Outcome


def announced(batches: Sequence[Batch], keys: Mapping[int, NextKey], window: int | None) -> Intake:
    """Only the batch that is announced, which is the newest open one whose key is listed; and only if it is of this window."""
    found = _by_listed_key(batches, keys)
    newest = max(found.values(), key=lambda batch: batch.id, default=batches[-1] if batches else None)
    if newest is None or window not in (None, newest.window):
        return Intake(batches={}, missed=Outcome.BATCH_COLLECTED)
    return Intake(batches={newest.key.id: newest} if newest in found.values() else {}, missed=Outcome.OUTDATED_KEY)


def one_for_each_key(
    batches: Sequence[Batch],
    keys: Mapping[int, NextKey],
    reports: Sequence[tuple[bytes, bytes]],
    opened: Callable[[NextKey], Batch],
) -> Intake:
    """A batch for each listed key that a report names: an open one, or else one that is `opened` now."""
    found = _by_listed_key(batches, keys)
    for named in {record[0] for _, record in reports} & set(keys) - set(found):
        found[named] = opened(keys[named])
    return Intake(batches=found, missed=Outcome.OUTDATED_KEY)


def _by_listed_key(batches: Sequence[Batch], keys: Mapping[int, NextKey]) -> dict[int, Batch]:
    """The open batches whose key is listed, by its id."""
    return {batch.key.id: batch for batch in batches if keys.get(batch.key.id) == batch.key}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sorted:
    """What becomes of reports that were sent together.

    Attributes:
        outcomes: one for each report, as they were sent.
        records: ids and inner records to keep, by batch, in increasing order of ids.
        credentials: to mark as spent, by batch, in increasing order.
    """

    outcomes: list[Outcome]
    records: Mapping[int, list[tuple[bytes, bytes]]] = field(repr=False)
    credentials: Mapping[int, list[bytes]] = field(repr=False)


def sort_reports(
    reports: Sequence[tuple[bytes, bytes]],
    credentials: Sequence[bytes] | None,
    intake: Intake,
    *,
    known: set[bytes],
    spent: set[bytes],
) -> Sorted:
    """Decide about each report; `known` are those of their ids, and `spent` those of the credentials, that the store has."""
    known, spent = set(known), set(spent)
    outcomes: dict[int, Outcome] = {}
    records: defaultdict[int, list[tuple[bytes, bytes]]] = defaultdict(list)
    spending: defaultdict[int, list[bytes]] = defaultdict(list)
    for j in sorted(range(len(reports)), key=lambda j: (reports[j][0], j)):  # not in the order of arrival
        name, record = reports[j]
        batch = intake.batches.get(record[0])
        if name in known:
            outcomes[j] = Outcome.REPORT_REPLAYED
        elif batch is None:  # said only of reports that are not here: whoever hears it may seal the same message anew
            outcomes[j] = intake.missed
        elif credentials is not None and credentials[j] in spent:
            outcomes[j] = Outcome.NOT_ADMITTED
        else:
            outcomes[j] = Outcome.ACCEPTED
            known.add(name)
            records[batch.id].append((name, record))
            if credentials is not None:
                spent.add(credentials[j])
                spending[batch.id].append(credentials[j])
    return Sorted(
        outcomes=[outcomes[j] for j in range(len(reports))],
        records=records,
        credentials={batch: sorted(of_batch) for batch, of_batch in spending.items()},
    )
