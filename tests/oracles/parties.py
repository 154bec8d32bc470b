"""Two tasks, the keys of both parties, and a shuffler in memory."""

from typing import Any

from shuffledp import plan
from shuffledp.esa.crypto import seal_message
from shuffledp.esa.keys import KeyRing
from shuffledp.esa.shuffler import Shuffler
from shuffledp.esa.store import Batch, SQLiteStore
from shuffledp.esa.task import Task

SHUFFLER, ANALYZER = KeyRing.fresh("shuffler"), KeyRing.fresh("analyzer")
LABELS = ["a", "b", "c", "d", "e", "f", "g", "h"]
EIGHT = Task(plan=plan("histogram", n=50, epsilon=0.5, delta=1e-2, labels=LABELS), window=60, max_age=600)
MEAN = Task(plan=plan("mean", n=200, epsilon=1.0, delta=1e-3, high=10.0), window=60, max_age=600)


def sealed(message: int, task: Task) -> bytes:
    return seal_message(message, task, ANALYZER.public(), [SHUFFLER.public()])


def serving(task: Task, **more: Any) -> Shuffler:
    shuffler = Shuffler(store=SQLiteStore(":memory:"), ring=SHUFFLER, clock=lambda: 0.0, **more)
    shuffler.serve(task)
    return shuffler


def released(shuffler: Shuffler, task: Task) -> tuple[Batch, bytes]:
    batch = shuffler.close(task.id, whatever_the_window=True)
    assert isinstance(batch, Batch)
    return batch, b"".join(shuffler.fetch(batch.id) or ())
