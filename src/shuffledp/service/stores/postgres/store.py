"""The shuffler's store in a PostgreSQL database: the same promises as in a file, for several shufflers at once."""

import time
from pathlib import Path

from shuffledp.service.stores.postgres.address import shown
from shuffledp.service.stores.postgres.backup import Backups
from shuffledp.service.stores.store import Ends

__all__ = ["PostgresStore", "restore", "shown"]


class PostgresStore(Backups):
    """A `Store` in one schema of a database."""


def restore(copy: Path, url: str, *, nothing_released_since: bool, ends: Ends) -> None:
    """Make the store `url` from a backup; what may have been released since is destroyed, whole or not at all."""

    def filled(store: PostgresStore) -> None:
        store.load(copy)
        if not nothing_released_since:
            store.destroy_what_was_open(time.time(), ends)

    PostgresStore(url, filled=filled).close()
