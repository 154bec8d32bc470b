"""The shuffler's store in one SQLite file: ids of reports, their inner records until release, batches and released bytes."""

import time
from pathlib import Path
from typing import Final

from shuffledp.core.files import sync_folder
from shuffledp.errors import InvalidInput
from shuffledp.stores.sqlite.collecting import Collecting
from shuffledp.stores.sqlite.ending import Ending

_ENDINGS: Final = ("", "-wal", "-shm", "-journal")
"""Of the files that SQLite keeps beside a database."""


class SQLiteStore(Collecting, Ending):
    """A `Store` in one file."""


def restore(copy: Path, place: str, *, nothing_released_since: bool) -> None:
    """Make the store `place` from a backup; batches that may have been released since are destroyed, whole or not at all."""
    store = Path(place)
    for path in (store.with_name(store.name + ending) for ending in _ENDINGS):
        if path.exists():  # SQLite would put what is in a log that was left into the restored store
            raise InvalidInput(f"{path} exists. Move it away, or choose another file.")
    draft = store.with_name(f".{store.name}.restoring")  # a store with batches that may be out must never be there
    draft.unlink(missing_ok=True)
    source = SQLiteStore(copy, create=False)
    source.backup(draft)
    source.close()
    restored = SQLiteStore(draft, create=False)
    for batch in [] if nothing_released_since else restored.history():
        if batch.state == "OPEN":
            restored.end(batch.id, below=1 << 62, roll_over=False, key=batch.key, now=time.time())
    restored.close()
    draft.rename(store)
    sync_folder(store)
