"""Tasks, the keys of both parties, a shuffler in memory, and the files of one that runs."""

import json
from pathlib import Path
from typing import Any

from shuffledp import plan
from shuffledp.service.client.client import Announcement
from shuffledp.service.sealing.hpke import seal_message
from shuffledp.service.sealing.keys import KeyRing
from shuffledp.service.shuffler.shuffler import Shuffler
from shuffledp.service.stores.batch import Batch
from shuffledp.service.stores.registry import open_store
from shuffledp.service.task import Task

SHUFFLER, ANALYZER = KeyRing.fresh("shuffler"), KeyRing.fresh("analyzer")
PARTIES: dict[str, Any] = {"shufflers": ("Alpha",), "analyzer": "Beta", "honest_fraction": 1.0}
"""Who runs what, in most tests."""
LABELS = ["a", "b", "c", "d", "e", "f", "g", "h"]
EIGHT = Task(
    plan=plan("histogram", n=50, epsilon=0.5, delta=1e-2, labels=LABELS, honest_fraction=0.9),
    window=60,
    max_age=600,
    **PARTIES,
)
MEAN = Task(plan=plan("mean", n=200, epsilon=1.0, delta=1e-3, high=10.0), window=60, max_age=600, **PARTIES)
SIXTEEN = Task(plan=plan("histogram", n=100, epsilon=8.0, delta=1e-2, size=16), window=3600, max_age=7200, **PARTIES)


def sealed(message: int, task: Task) -> bytes:
    return seal_message(message, task, ANALYZER.public(), [SHUFFLER.public()])


def serving(task: Task, store: str = ":memory:", **more: Any) -> Shuffler:
    shuffler = Shuffler(store=open_store(store), ring=SHUFFLER, clock=lambda: 0.0, **more)
    shuffler.serve(task, (ANALYZER if task.hops == 1 else SHUFFLER).public())
    return shuffler


def announced(shuffler: Shuffler, task: Task) -> Announcement:
    """What the shuffler would tell everybody over HTTP."""
    batch = shuffler.current(task.id)
    assert batch is not None
    key = shuffler.announced(batch)
    assert key is not None
    return Announcement(
        window=batch.window, keys=shuffler.ring.public(), key_id=key.id, next_keys=shuffler.next_keys(task.id)
    )


def released(shuffler: Shuffler, task: Task) -> tuple[Batch, bytes]:
    batch = shuffler.close(task.id, ignore_window=True)
    assert isinstance(batch, Batch)
    return batch, b"".join(shuffler.fetch(batch.id) or ())


def prepared(folder: Path, task: Task, ring: KeyRing) -> Path:
    """What a shuffler and its users find in a folder."""
    folder.mkdir(exist_ok=True)
    (folder / "task.json").write_text(json.dumps(task.document()))
    ring.save(folder / "shuffler.key")
    ANALYZER.save(folder / "analyzer.key")
    (folder / "analyzer.pub.json").write_text(json.dumps(ANALYZER.public().document()))
    return folder
