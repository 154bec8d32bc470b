"""Whether a batch may be released: the only place that decides it. `release` does it, once the store has counted again."""

from typing import Literal

from shuffledp.service.stores.batch import Batch
from shuffledp.service.task import Task

Refusal = Literal["task_unknown", "batch_too_small", "batch_too_young"]


def why_not_release(task: Task, batch: Batch, *, now: float, ignore_window: bool) -> Refusal | None:
    """Why an open batch stays open; None if it may be released."""
    if now < batch.opened + task.window and not ignore_window:
        return "batch_too_young"
    if batch.count < task.release_size:
        return "batch_too_small"
    return None
