"""How a released batch of a task is laid out: its reports, alone or among dummies."""

from shuffledp.service.task import Task
from shuffledp.service.wire.released_batch import ReleasedBatch, Reports


def reports_of(batch: ReleasedBatch, task: Task) -> Reports:
    """The sealed messages of its reports, among dummies if the shuffler added some to a batch of so many."""
    noise = task.may_add_noise and not task.plan_of(batch.stated).needs_crowd
    return batch.reports(task.plan.protocol.most_messages, noise=noise, stated=task.may_add_noise)
