"""The shuffler's store in a PostgreSQL database: the same promises as in a file, for several shufflers at once."""

import time
from pathlib import Path

from shuffledp.service.stores.postgres.address import shown
from shuffledp.service.stores.postgres.backup import Backups

__all__ = ["PostgresStore", "restore", "shown"]


class PostgresStore(Backups):
    """A `Store` in one schema of a database."""


def restore(copy: Path, url: str, *, nothing_released_since: bool) -> None:
    """Make the store `url` from a backup; batches that may have been released since are destroyed, whole or not at all."""

    def filled(store: PostgresStore) -> None:
        store.load(copy)
        if not nothing_released_since:
            store.destroy_open_batches(time.time())

    PostgresStore(url, filled=filled).close()
