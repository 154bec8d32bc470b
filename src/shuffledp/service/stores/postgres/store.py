"""The shuffler's store in a PostgreSQL database: the same promises as in a file, for several shufflers at once."""

import time
from pathlib import Path

from shuffledp.service.stores.postgres.address import shown
from shuffledp.service.stores.postgres.collecting import Collecting
from shuffledp.service.stores.postgres.ending import Ending
from shuffledp.service.stores.postgres.portable import Portable

__all__ = ["PostgresStore", "restore", "shown"]


class PostgresStore(Collecting, Ending, Portable):
    """A `Store` in one schema of a database."""


def restore(copy: Path, url: str, *, nothing_released_since: bool) -> None:
    """Make the store `url` from a backup; batches that may have been released since are destroyed, whole or not at all."""

    def filled(store: PostgresStore) -> None:
        store.load(copy)
        for batch in [] if nothing_released_since else store.history():
            if batch.state == "OPEN":
                store.end(batch.id, below=1 << 62, roll_over=False, key=batch.key, now=time.time())

    PostgresStore(url, filled=filled).close()
