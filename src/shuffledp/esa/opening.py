"""Opening many records, here or spread over processes: opening is what costs, and threads do not help.

Little is imported, so that a process starts quickly.
"""

import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from types import TracebackType
from typing import Final, Self, TypeVar

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from shuffledp.esa.crypto import unseal
from shuffledp.esa.keys import KeyRing, PrivateKey, Role, State
from shuffledp.esa.wire import Reason, decode_message

Opener = Callable[[Sequence[bytes], KeyRing, str, int], list[bytes | Reason]]
WORTH_ASKING: Final = 128
"""Records that are worth asking other processes for."""
_MOST: Final = 512
"""Records given to a process at once."""
T = TypeVar("T")
_Secrets = tuple[Role, list[tuple[int, State, bytes]]]


def open_here(records: Sequence[bytes], ring: KeyRing, task_id: str, hop: int) -> list[bytes | Reason]:
    """Open records one after the other in this process; each fails by itself."""
    return [unseal(record, ring, task_id, hop=hop) for record in records]


def tally_here(records: Sequence[bytes], ring: KeyRing, task_id: str, size: int) -> Counter[int | Reason]:
    """How often each message is in the analyzer's records, and each reason why there is none."""
    found: Counter[int | Reason] = Counter()
    for opened in open_here(records, ring, task_id, 1):
        message = decode_message(opened, size) if isinstance(opened, bytes) else opened
        found["out_of_domain" if message is None else message] += 1
    return found


class Openers:
    """Processes that open records; started when first needed, started anew if one is killed."""

    def __init__(self, processes: int) -> None:
        self._processes = processes
        self._pool: ProcessPoolExecutor | None = None

    def __call__(self, records: Sequence[bytes], ring: KeyRing, task_id: str, hop: int) -> list[bytes | Reason]:
        """What is in each record, or why it is not known."""
        parts = self._parts(partial(open_here, task_id=task_id, hop=hop), records, ring)
        return [opened for part in parts for opened in part]

    def tallies(
        self, records: Sequence[bytes], ring: KeyRing, task_id: str, size: int
    ) -> Iterator[Counter[int | Reason]]:
        """How often there is what, part after part: processes that count send back little."""
        return self._parts(partial(tally_here, task_id=task_id, size=size), records, ring)

    def _parts(
        self, job: Callable[[Sequence[bytes], KeyRing], T], records: Sequence[bytes], ring: KeyRing
    ) -> Iterator[T]:
        """A job done for all records in their order; what a killed process leaves is done here."""
        alone = self._processes <= 1 or len(records) < WORTH_ASKING
        step = _MOST if alone else min(_MOST, max(WORTH_ASKING // 2, -(-len(records) // self._processes)))
        parts = [records[start : start + step] for start in range(0, len(records), step)]
        done = 0
        if not alone:
            pool = self._started()
            keys = [(key.key_id, key.state, key.private.private_bytes_raw()) for key in ring.keys]
            try:
                for answer in [pool.submit(_there, job, part, (ring.role, keys)) for part in parts]:
                    yield answer.result()
                    done += 1
            except BrokenProcessPool:
                self.close()
        for part in parts[done:]:
            yield job(part, ring)

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:  # spawned: a fork of a process with threads may hang
            self._pool = ProcessPoolExecutor(
                self._processes, mp_context=get_context("spawn"), initializer=_serve_parent
            )
        return self._pool

    def close(self) -> None:
        """Let the processes go."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self.close()


def _serve_parent() -> None:
    """An interrupt is the parent's to handle; and if it is killed, its helpers go with it, and their copies of the keys."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=lambda: (wait([parent.sentinel]), os._exit(1)), daemon=True).start()


def _there(job: Callable[[Sequence[bytes], KeyRing], T], part: Sequence[bytes], secrets: _Secrets) -> T:
    role, keys = secrets
    private = (PrivateKey(key_id=i, state=s, private=X25519PrivateKey.from_private_bytes(raw)) for i, s, raw in keys)
    return job(part, KeyRing(role=role, keys=tuple(private)))
