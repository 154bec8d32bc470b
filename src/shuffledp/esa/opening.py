"""Opening many records, here or spread over processes: opening is what costs, and threads do not help.

Little is imported, so that a process starts quickly.
"""

import os
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from types import TracebackType
from typing import Final, Self

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from shuffledp.esa.crypto import unseal
from shuffledp.esa.keys import KeyRing, PrivateKey, Role, State
from shuffledp.esa.wire import Reason

Opener = Callable[[Sequence[bytes], KeyRing, str, int], list[bytes | Reason]]
WORTH_ASKING: Final = 128
"""Records that are worth asking other processes for."""
_MOST: Final = 512
"""Records given to a process at once."""
_Secrets = tuple[Role, list[tuple[int, State, bytes]]]


def open_here(records: Sequence[bytes], ring: KeyRing, task_id: str, hop: int) -> list[bytes | Reason]:
    """Open records one after the other in this process; each fails by itself."""
    return [unseal(record, ring, task_id, hop=hop) for record in records]


class Openers:
    """Processes that open records; started when first needed, started anew if one is killed."""

    def __init__(self, processes: int) -> None:
        self._processes = processes
        self._pool: ProcessPoolExecutor | None = None

    def __call__(self, records: Sequence[bytes], ring: KeyRing, task_id: str, hop: int) -> list[bytes | Reason]:
        """What is in each record, or why it is not known."""
        if self._processes <= 1 or len(records) < WORTH_ASKING:
            return open_here(records, ring, task_id, hop)
        if self._pool is None:  # spawned: a fork of a process with threads may hang
            self._pool = ProcessPoolExecutor(
                self._processes, mp_context=get_context("spawn"), initializer=_serve_parent
            )
        step = min(_MOST, max(WORTH_ASKING // 2, -(-len(records) // self._processes)))
        keys = [(key.key_id, key.state, key.private.private_bytes_raw()) for key in ring.keys]
        secrets: _Secrets = (ring.role, keys)
        try:
            parts = [
                self._pool.submit(_open_there, records[start : start + step], secrets, task_id, hop)
                for start in range(0, len(records), step)
            ]
            return [opened for part in parts for opened in part.result()]
        except BrokenProcessPool:
            self.close()
            return open_here(records, ring, task_id, hop)

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


def _open_there(records: Sequence[bytes], secrets: _Secrets, task_id: str, hop: int) -> list[bytes | Reason]:
    role, keys = secrets
    private = (PrivateKey(key_id=i, state=s, private=X25519PrivateKey.from_private_bytes(raw)) for i, s, raw in keys)
    return open_here(records, KeyRing(role=role, keys=tuple(private)), task_id, hop)
