"""Log lines that repeat: a few of each kind in a minute, and then how many more there were."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

PERIOD: Final = 60.0
"""Seconds."""
_KINDS: Final = 1000
"""Kinds that are told apart; what is beyond that counts as one."""
NAMES: Final = ("shuffledp.shuffler", "uvicorn.error", "asyncio")
"""Of the logs that somebody who sends nonsense, or a full disk, can fill."""


@dataclass(slots=True)
class _Kind:
    since: float
    passed: int = 0
    held_back: int = 0
    last: str = ""


class LogThrottle(logging.Filter):
    """Lets warnings and errors of one kind pass a number of times in a period: whoever causes many must not fill a disk.

    A kind is a message and the texts in it, whatever its numbers are.

    Args:
        most: lines of one kind in a period.
        clock: seconds.
    """

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._most, self._clock = most, clock
        self._kinds: dict[tuple[str, ...], _Kind] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a line is written; the first one of a period says how many of the last were not."""
        if record.levelno < logging.WARNING:
            return True
        kind = self._kind(record)
        now = self._clock()
        if now - kind.since >= PERIOD:
            if kind.held_back:
                record.msg, record.args = f"{record.getMessage()} ({_more(kind.held_back)})", ()
            kind.since, kind.passed, kind.held_back = now, 0, 0
        kind.passed += 1
        if kind.passed <= self._most:
            return True
        kind.held_back += 1
        kind.last = record.getMessage()
        return False

    def _kind(self, record: logging.LogRecord) -> _Kind:
        values = record.args if isinstance(record.args, tuple) else ()
        name = (record.name, str(record.msg), *(value for value in values if isinstance(value, str)))
        if name not in self._kinds and len(self._kinds) >= _KINDS:
            name = ()
        return self._kinds.setdefault(name, _Kind(self._clock()))

    def sum_up(self) -> None:
        """Say what was held back, and begin anew."""
        held_back = [kind for kind in self._kinds.values() if kind.held_back]
        self._kinds = {}
        for kind in held_back:
            logging.getLogger(NAMES[0]).warning("%s (%s)", kind.last, _more(kind.held_back))


def _more(count: int) -> str:
    return f"{count:,} more like this were not logged"


@contextmanager
def throttled(throttle: LogThrottle) -> Iterator[None]:
    """Limit the logs of a server meanwhile."""
    logs = [logging.getLogger(name) for name in NAMES]
    for log in logs:
        log.addFilter(throttle)
    try:
        yield
    finally:
        for log in logs:
            log.removeFilter(throttle)
