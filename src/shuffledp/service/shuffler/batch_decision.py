"""What becomes of an open batch: the only place that decides it. The store counts again before it is done (`release`, `end`)."""

from typing import Literal

from shuffledp.core.parsing import parse_json
from shuffledp.errors import InvalidInput
from shuffledp.service.stores.batch import Batch
from shuffledp.service.task import Task

Refusal = Literal["task_unknown", "batch_too_small", "batch_too_young"]
Ending = Literal["roll-over", "destroy", "top-up"]


def why_not_release(task: Task, batch: Batch, *, now: float, ignore_window: bool) -> Refusal | None:
    """Why an open batch stays open; None if it may be released."""
    if now < batch.opened + task.window and not ignore_window:
        return "batch_too_young"
    if batch.count < task.release_size:
        return "batch_too_small"
    return None


def how_to_end(task: Task, batch: Batch, *, now: float, key_is_announced: bool) -> Ending | None:
    """What becomes of reports that are too old to be released; None if there are none."""
    if not batch.count or now < batch.opened + task.max_age:
        return None
    # reports sealed to a key that nobody has any more could never be opened
    return task.on_expiry if key_is_announced else "destroy"


def enough_without_noise(task: Task) -> int | None:
    """A batch of so many reports is released as it is, although its shuffler can add noise; None if none ever is."""
    return None if task.topped_up is None else task.release_size


def ends_with_a_restore(document: str, hop: int) -> bool:
    """Whether a task must not go on in a store that lacks what was released since a backup.

    If this shuffler adds dummies, such a store knows the ids of reports and not those of dummies: whoever sent released records
    in again would learn which are which. A document that is no task is one that nothing serves.
    """
    if hop != 1:
        return False
    try:
        return Task.from_document(parse_json(document)).may_add_noise
    except (InvalidInput, ValueError):
        return False
