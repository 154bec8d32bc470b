"""Opening many records, here or spread over processes: opening is what costs, and threads do not help.

Little is imported, so that a process starts quickly.
"""

import logging
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from queue import SimpleQueue
from types import TracebackType
from typing import Final, Protocol, Self, TypeVar

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from shuffledp.core.core_dumps import forbid_core_dumps
from shuffledp.core.report_outcome import Outcome
from shuffledp.service.sealing.hpke import unseal
from shuffledp.service.sealing.keys import KeyRing, PrivateKey, Role, State
from shuffledp.service.wire.record import decode_message

Unsealer = Callable[[Sequence[bytes], KeyRing, str, int], list[bytes | Outcome]]
WORTH_ASKING: Final = 128
"""Records that are worth asking other processes for."""
_MOST: Final = 512
"""Records given to a process at once."""
_LONGEST_PAUSE: Final = 300.0
_REAPING: Final = 5.0
"""Seconds to wait for a process that was killed: only one that the system itself holds takes longer."""
LOG: Final = logging.getLogger("shuffledp.shuffler")
T = TypeVar("T")
_Secrets = tuple[Role, list[tuple[int, State, bytes]]]


class Tallier(Protocol):
    """Whoever opens the analyzer's records and counts what is in them."""

    def tallies(
        self, records: Sequence[bytes], ring: KeyRing, task_id: str, size: int
    ) -> Iterator[Counter[int | Outcome]]:
        """How often each message and refusal occurs, part by part."""
        ...


def unseal_here(records: Sequence[bytes], ring: KeyRing, task_id: str, hop: int) -> list[bytes | Outcome]:
    """Open records one after the other in this process; each fails by itself."""
    return [unseal(record, ring, task_id, hop=hop) for record in records]


def tally_here(records: Sequence[bytes], ring: KeyRing, task_id: str, size: int) -> Counter[int | Outcome]:
    """How often each message is in the analyzer's records, and each reason why there is none."""
    found: Counter[int | Outcome] = Counter()
    for opened in unseal_here(records, ring, task_id, 1):
        message = decode_message(opened, size) if isinstance(opened, bytes) else opened
        found[Outcome.OUT_OF_DOMAIN if message is None else message] += 1
    return found


class Unsealers:
    """Processes that open records: started when first needed, and dispensable.

    A helper that cannot start, dies, or does not answer in time costs time and nothing else: all are killed, what they have not
    done is done in this process, and they are not started again for a while, the longer the more often they failed.

    Attributes:
        processes: how many; with one, everything is opened here.
        timeout: seconds that a helper may take for a part (at most 512 records), its start included.
        pause: seconds after a first failure without helpers; doubled with each failure in a row, up to 300.
        clock: seconds.
    """

    def __init__(
        self,
        processes: int,
        *,
        timeout: float = 10.0,
        pause: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.processes, self.timeout, self.pause, self.clock = processes, timeout, pause, clock
        self._pool: _Pool | None = None
        self._failures, self._not_before = 0, float("-inf")

    def __call__(self, records: Sequence[bytes], ring: KeyRing, task_id: str, hop: int) -> list[bytes | Outcome]:
        """The plaintext of each record, or why there is none."""
        parts = self._parts(partial(unseal_here, task_id=task_id, hop=hop), records, ring)
        return [opened for part in parts for opened in part]

    def tallies(
        self, records: Sequence[bytes], ring: KeyRing, task_id: str, size: int
    ) -> Iterator[Counter[int | Outcome]]:
        """How often each message and refusal occurs, part by part: processes that count send back little."""
        return self._parts(partial(tally_here, task_id=task_id, size=size), records, ring)

    def _parts(
        self, job: Callable[[Sequence[bytes], KeyRing], T], records: Sequence[bytes], ring: KeyRing
    ) -> Iterator[T]:
        """A job done for all records in their order; what helpers fail to do is done here."""
        alone = self.processes <= 1 or len(records) < WORTH_ASKING or self.clock() < self._not_before
        step = _MOST if alone else min(_MOST, max(WORTH_ASKING // 2, -(-len(records) // self.processes)))
        parts = [records[start : start + step] for start in range(0, len(records), step)]
        done = 0
        if not alone:
            keys = [(key.key_id, key.state, key.private.private_bytes_raw()) for key in ring.keys]
            try:
                for answer in [self._started().ask(job, part, (ring.role, keys)) for part in parts]:
                    yield answer.result(self.timeout)
                    done += 1
                self._failures = 0
            except (OSError, EOFError, RuntimeError, CancelledError) as error:  # a time-out is an OSError
                self._failed(error)
        for part in parts[done:]:
            yield job(part, ring)

    def _started(self) -> "_Pool":
        if self._pool is None:
            self._pool = _Pool(self.processes)
        return self._pool

    def _failed(self, error: Exception) -> None:
        self.close()
        self._failures += 1
        pause = min(_LONGEST_PAUSE, self.pause * 2 ** min(self._failures - 1, 30))
        self._not_before = self.clock() + pause
        why = "did not answer in time" if isinstance(error, TimeoutError) else f"failed ({type(error).__name__})"
        LOG.warning("helper processes %s; this process opens the records itself for %g s", why, pause)

    def close(self) -> None:
        """End the processes, whatever they do: they hold nothing that is not here too."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self.close()


class _Pool:
    """Helpers, and for each a thread that waits for it: killing a helper wakes its thread."""

    def __init__(self, processes: int) -> None:
        self._helpers: list[tuple[BaseProcess, Connection]] = []
        self._free: SimpleQueue[Connection] = SimpleQueue()
        self._threads = ThreadPoolExecutor(processes, thread_name_prefix="helper")
        context = get_context("spawn")  # a fork of a process with threads may hang
        try:
            for _ in range(processes):
                ours, theirs = context.Pipe()
                with theirs:  # once only the helper has its end, its death is seen here
                    process = context.Process(target=_help, args=(theirs,), daemon=True)
                    self._helpers.append((process, ours))
                    process.start()
                self._free.put(ours)
        except BaseException:
            self.kill()
            raise

    def ask(
        self, job: Callable[[Sequence[bytes], KeyRing], T], part: Sequence[bytes], secrets: _Secrets
    ) -> "Future[T]":
        return self._threads.submit(self._ask, job, part, secrets)

    def _ask(self, job: Callable[[Sequence[bytes], KeyRing], T], part: Sequence[bytes], secrets: _Secrets) -> T:
        helper = self._free.get()  # there is one: as many threads as helpers
        try:
            helper.send((job, part, secrets))
            answer: T = helper.recv()
            return answer
        finally:  # also one that failed: whoever asks it next fails at once, and waits for nobody
            self._free.put(helper)

    def kill(self) -> None:
        for process, _ in self._helpers:
            if process.pid is not None:
                process.kill()
        self._threads.shutdown(wait=False, cancel_futures=True)
        for process, _ in self._helpers:  # their connections close when no thread uses them any more
            if process.pid is not None:
                process.join(_REAPING)


def _help(orders: Connection) -> None:
    """Open what is asked for until the parent is gone; what fails here is done there, where errors and interrupts are handled."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    forbid_core_dumps()
    with suppress(Exception):
        while True:
            job, part, (role, keys) = orders.recv()
            private = (
                PrivateKey(key_id=i, state=s, private=X25519PrivateKey.from_private_bytes(raw)) for i, s, raw in keys
            )
            orders.send(job(part, KeyRing(role=role, keys=tuple(private))))
