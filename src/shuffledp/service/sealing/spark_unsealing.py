"""Opening records on Apache Spark: as `unsealing` does with processes, on the executors of a cluster.

Only the costly part is done there. What is refused, booked, remembered, kept once and released in which order is decided here,
by the same code as without Spark. Executors get the records, and those keys that the records name.
"""

import pickle
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, Final

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from shuffledp.cluster.pieces import answers, sums_of
from shuffledp.cluster.spark_session import check_carries_secrets
from shuffledp.cluster.sums import Found, Noted
from shuffledp.core.core_dumps import forbid_core_dumps
from shuffledp.core.report_outcome import Outcome
from shuffledp.errors import InvalidInput
from shuffledp.service.sealing.keys import KeyRing, PrivateKey, Role, State
from shuffledp.service.sealing.unsealing import LOG, Unsealer, Unsealers, tally_here, unseal_here
from shuffledp.service.wire.record import key_id_of

_AT_ONCE: Final = 1 << 19
"""Records sent to the executors together."""
_BYTES: Final = 1 << 26
"""Their bytes at most: the driver's heap holds them a few times over."""
_TOGETHER: Final = 1 << 10
"""Records in one piece of work."""
_FEW: Final = 1 << 16
"""Counters that one task adds up."""
_MOST_COUNTED: Final = 1 << 32
"""Different messages that there may be for Spark to count them."""
WORTH_A_JOB: Final = 1 << 12
"""Records that take longer to open than a job of Spark to start."""
_PAUSE: Final = 60.0
_Secrets = tuple[Role, list[tuple[int, State, bytes]]]


class SparkUnsealers:
    """Tasks of Spark that open records.

    Args:
        session: of Spark, classic or Connect. One that would send keys over a network in clear is refused.
    """

    def __init__(self, session: Any) -> None:
        check_carries_secrets(session)
        self._session = session

    def __call__(self, records: Sequence[bytes], ring: KeyRing, task_id: str, hop: int) -> list[bytes | Outcome]:
        """The plaintext of each record, or why there is none."""
        found: list[bytes | Outcome] = []
        for some in _sent_at_once(records):
            work = partial(_opened, _secrets(some, ring), task_id, hop)
            for answer in answers(self._session, _pieces(some), work):
                found += pickle.loads(answer)  # noqa: S301 - our own executors'
        return found

    def tallies(
        self, records: Sequence[bytes], ring: KeyRing, task_id: str, size: int
    ) -> Iterator[Counter[int | Outcome]]:
        """How often each message and refusal occurs, part by part."""
        if size > _MOST_COUNTED:
            raise InvalidInput("so many different messages are not counted on Spark. Leave out the cluster.")
        for some in _sent_at_once(records):
            work = partial(_tallied, _secrets(some, ring), task_id, size)
            found = sums_of(self._session, _pieces(some), work, size, partitions=1 + size // _FEW)
            messages = np.flatnonzero(found.counts)
            tally: Counter[int | Outcome] = Counter(
                dict(zip(messages.tolist(), found.counts[messages].tolist(), strict=True))
            )
            tally.update({Outcome(why): often for (_, why), often in found.notes.items()})
            if tally.total() != len(some):
                raise InvalidInput("Spark did not open every record once, so nothing is released. Please report this.")
            yield tally


class SparkFirst(Unsealers):
    """For a service: many reports are opened on Spark, few of them by processes of this machine.

    Spark is dispensable: if it fails, or does not answer in time, the reports are opened here, and it is left alone for a while.

    Args:
        spark: tasks that open records.
        processes: of this machine.
        patience: seconds that Spark may take.
        timeout: seconds that a process may take for a part.
        clock: seconds.
    """

    def __init__(
        self, spark: Unsealer, processes: int, *, patience: float, timeout: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        super().__init__(processes, timeout=timeout, clock=clock)
        self._spark, self._patience = spark, patience
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="spark")
        self._asked: Future[list[bytes | Outcome]] | None = None
        self._ask_again = float("-inf")

    def __call__(self, records: Sequence[bytes], ring: KeyRing, task_id: str, hop: int) -> list[bytes | Outcome]:
        """The plaintext of each record, or why there is none."""
        busy = self._asked is not None and not self._asked.done()
        if len(records) >= WORTH_A_JOB and not busy and self.clock() >= self._ask_again:
            self._asked = self._thread.submit(self._spark, records, ring, task_id, hop)
            try:
                return self._asked.result(self._patience)
            except (InvalidInput, TimeoutError) as error:
                why = "did not answer in time" if isinstance(error, TimeoutError) else "failed"
                LOG.warning("Spark %s; this machine opens the reports itself for %g s", why, _PAUSE)
                self._ask_again = self.clock() + _PAUSE
        return super().__call__(records, ring, task_id, hop)

    def close(self) -> None:
        """Let go of processes and threads, without waiting for what they do."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        super().close()


def _secrets(records: Sequence[bytes], ring: KeyRing) -> _Secrets:
    """The keys that these records name: no other leaves this machine."""
    named = {key_id_of(record) for record in records}
    keys = [(key.key_id, key.state, key.private.private_bytes_raw()) for key in ring.keys if key.key_id in named]
    return ring.role, keys


def _sent_at_once(records: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    longest = max(map(len, records), default=1)
    return _cut(records, max(1, min(_AT_ONCE, _BYTES // max(1, longest))))


def _pieces(records: Sequence[bytes]) -> list[bytes]:
    return [pickle.dumps(list(some)) for some in _cut(records, _TOGETHER)]


def _cut(records: Sequence[bytes], size: int) -> Iterator[Sequence[bytes]]:
    return (records[start : start + size] for start in range(0, len(records), size))


# In a task


def _ring(secrets: _Secrets) -> KeyRing:
    forbid_core_dumps()
    role, keys = secrets
    private = (PrivateKey(key_id=i, state=s, private=X25519PrivateKey.from_private_bytes(raw)) for i, s, raw in keys)
    return KeyRing(role=role, keys=tuple(private))


def _opened(secrets: _Secrets, task_id: str, hop: int, piece: bytes) -> bytes:
    return pickle.dumps(unseal_here(pickle.loads(piece), _ring(secrets), task_id, hop))  # noqa: S301 - our own driver's


def _tallied(secrets: _Secrets, task_id: str, size: int, pieces: Iterator[bytes]) -> Iterator[Found | Noted]:
    ring, found = _ring(secrets), Counter[int | Outcome]()
    for piece in pieces:
        found.update(tally_here(pickle.loads(piece), ring, task_id, size))  # noqa: S301 - our own driver's
    messages = sorted(what for what in found if isinstance(what, int))
    yield Found(np.array(messages, dtype=np.int64), np.array([found[what] for what in messages], dtype=np.int64))
    for why in sorted(what for what in found if isinstance(what, Outcome)):
        yield Noted(0, str(why), found[why])
