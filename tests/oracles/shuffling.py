"""A shuffler with a clock that tests set, reports for it, and what it releases."""

from pathlib import Path
from typing import Any

from oracles.clock import Clock
from oracles.parties import PARTIES
from shuffledp import plan
from shuffledp.service.sealing.hpke import seal_message, unseal
from shuffledp.service.sealing.keys import KeyRing
from shuffledp.service.shuffler.shuffler import Shuffler
from shuffledp.service.stores.batch import Batch
from shuffledp.service.stores.registry import open_store
from shuffledp.service.task import Task
from shuffledp.service.wire.record import decode_message, record_length

TASK = Task(plan=plan("histogram", n=50, epsilon=3.0, delta=1e-2, size=64), window=60, max_age=600, **PARTIES)
RING, ANALYZER = KeyRing.fresh("shuffler"), KeyRing.fresh("analyzer")


def reports(count: int, first: int = 0) -> list[bytes]:
    """Sealed reports, each with a message of its own while they last."""
    return [seal_message((first + j) % 64, TASK, ANALYZER.public(), [RING.public()]) for j in range(count)]


def made(path: Path | str, clock: Clock, **more: Any) -> Shuffler:
    shuffler = Shuffler(store=open_store(str(path)), ring=RING, clock=clock, **more)
    shuffler.serve(TASK, ANALYZER.public())
    return shuffler


def messages(shuffler: Shuffler, batch: Batch) -> list[int]:
    pieces = shuffler.fetch(batch.id)
    assert pieces is not None
    data = b"".join(pieces)
    found = []
    for start in range(0, len(data), record_length(1)):
        payload = unseal(data[start : start + record_length(1)], ANALYZER, TASK.id)
        assert isinstance(payload, bytes)
        message = decode_message(payload, 64)
        assert message is not None
        found.append(message)
    return found
