"""Which open batch takes which reports, whatever store they are in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shuffledp.core.outcome import Outcome
from shuffledp.service.stores.batch import Batch, NextKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    """Batches that take reports now, by the id of their key; and what becomes of reports that none of them takes."""

    batches: Mapping[int, Batch]
    missed: Outcome


def listed(opened: Sequence[Batch], keys: Mapping[int, NextKey]) -> dict[int, Batch]:
    """The open batches whose key is listed, by its id."""
    return {batch.key.id: batch for batch in opened if keys.get(batch.key.id) == batch.key}


def announced(opened: Sequence[Batch], keys: Mapping[int, NextKey], window: int | None) -> Intake:
    """Only the batch that is announced, which is the newest whose key is listed; and only if it is of this window."""
    found = listed(opened, keys)
    newest = max(found.values(), key=lambda batch: batch.id, default=opened[-1] if opened else None)
    if newest is None or window not in (None, newest.window):
        return Intake(batches={}, missed=Outcome.BATCH_COLLECTED)
    return Intake(batches={newest.key.id: newest} if newest in found.values() else {}, missed=Outcome.OUTDATED_KEY)
