"""Keys that change while a shuffler runs: its own, and the published ones of whoever opens its batches."""

import logging
from collections.abc import Callable, Mapping
from typing import Final

from shuffledp.errors import InvalidInput
from shuffledp.service.sealing.keys import KeyList, KeyRing
from shuffledp.service.shuffler.shuffler import Shuffler

LOG: Final = logging.getLogger("shuffledp.shuffler")


class KeyRotation:
    """Where a shuffler's keys come from; those of `next_keys` are by task."""

    def __init__(
        self, shuffler: Shuffler, keys: Callable[[], KeyRing] | None, next_keys: Mapping[str, Callable[[], KeyList]]
    ) -> None:
        self._shuffler, self._keys, self._next_keys = shuffler, keys, next_keys

    def reload(self) -> int:
        """Use the current keys; returns how many files are damaged or gone, whose previous keys stay in use."""
        jobs = [lambda task_id=task_id: self._reload_next(task_id) for task_id in self._next_keys]
        bad = 0
        for job in [*jobs, self._reload_own]:
            try:
                job()
            except InvalidInput as error:
                bad += 1
                LOG.error("still using the previous keys: %s", error)
        return bad

    def _reload_next(self, task_id: str) -> None:
        found = self._next_keys[task_id]()
        if task_id in self._shuffler.tasks and found is not self._shuffler.next_keys(task_id):
            self._shuffler.seal_to(task_id, found)
            LOG.info("new next keys: %s", _states(found))

    def _reload_own(self) -> None:
        ring = self._shuffler.ring if self._keys is None else self._keys()
        if ring is not self._shuffler.ring:
            self._shuffler.ring = ring
            LOG.info("new keys: %s", _states(ring))


def _states(keys: KeyRing | KeyList) -> str:
    return ", ".join(f"{key.key_id} {key.state}" for key in keys.keys)
