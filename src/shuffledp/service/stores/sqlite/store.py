"""The shuffler's store in one SQLite file: ids of reports, their inner records until release, batches and released bytes."""

import os
import time
from contextlib import closing
from pathlib import Path

from shuffledp.core.files import alone_in
from shuffledp.service.stores.sqlite.records import Records
from shuffledp.service.stores.sqlite.store_files import becoming, settle
from shuffledp.service.stores.store import Ends


class SQLiteStore(Records):
    """A `Store` in one file."""


def restore(copy: Path, place: str, *, nothing_released_since: bool, ends: Ends) -> None:
    """Make the store `place` from a backup; what may have been released since is destroyed, whole or not at all."""
    store = Path(os.path.realpath(place))
    with alone_in(store.parent), becoming(store) as draft:  # with batches that may be out it must never be there
        with closing(SQLiteStore(copy, read_only=True, create=False)) as source:
            source.backup(draft)
        settle(draft, draft.name)
        if not nothing_released_since:
            with closing(SQLiteStore(draft, create=False)) as restored:
                restored.destroy_what_was_open(time.time(), ends)
