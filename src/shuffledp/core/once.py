"""Keys that this process has used. Words under one key are random once: used twice, they show how the two uses differ."""

import hashlib
import os
from collections.abc import Sequence
from threading import Lock


class _Process:
    """A name that no other process has, and fingerprints of keys, none of which leaves it."""

    def __init__(self) -> None:
        self.used = set[bytes]()
        self.renew()

    def renew(self) -> None:
        """In a process that was forked: another one, which knows what was used before."""
        self.name = os.urandom(16)
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
    os.register_at_fork(after_in_child=_HERE.renew)


def this_process() -> bytes:
    """Its name, for what must not be used in another one."""
    return _HERE.name


def first_use(keys: Sequence[bytes]) -> bool:
    """Remember that keys are used; whether that is the first time in this process."""
    return _HERE.use(keys)
