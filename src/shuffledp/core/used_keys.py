"""Keys that this process has used. Words under one key are random once: used twice, they show how the two uses differ."""

import hashlib
import os
from collections.abc import Sequence
from threading import Lock
from typing import Final

COPIED: Final = -1
"""The generation of what came from elsewhere."""


class _Process:
    """Fingerprints of keys, none of which leaves the process, and how often it was forked on the way here."""

    def __init__(self) -> None:
        self.used = set[bytes]()
        self.generation = 0
        self._alone = Lock()

    def fork(self) -> None:
        """In a process that was forked: what was made before is a copy here, and what was used before stays so."""
        self.generation += 1
        self._alone = Lock()

    def use(self, keys: Sequence[bytes]) -> bool:
        """Whether none was used before. Of several threads, one is the first."""
        fingerprints = {hashlib.sha256(b"shuffledp key " + key).digest() for key in keys}
        with self._alone:
            new = self.used.isdisjoint(fingerprints)
            self.used |= fingerprints
        return new


_HERE = _Process()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_HERE.fork)


def generation() -> int:
    """A number that what is made now keeps: in a process that is forked later, there is another one."""
    return _HERE.generation


def first_use(keys: Sequence[bytes]) -> bool:
    """Remember that keys are used; whether that is the first time in this process."""
    return _HERE.use(keys)
