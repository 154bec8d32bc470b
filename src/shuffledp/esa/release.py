"""Releasing a batch: its records in the order that `permutation` gives, whatever store they are in."""

import hashlib
from typing import Final

from shuffledp.esa.permutation import order
from shuffledp.stores.batch import Batch
from shuffledp.stores.checkpoints import Reached, pass_by
from shuffledp.stores.store import Store

CHUNK: Final = 1 << 16
"""Records in one piece of a released batch."""


def release(store: Store, batch_id: int, reached: Reached = pass_by) -> Batch:
    """Permute a closing batch by its secret, write the released bytes, and erase secret and records.

    In short steps, so that others can write meanwhile. Doing it again changes nothing, and another process may do it at the same
    time: the same secret gives the same bytes. Of a destroyed batch only the erasing is finished.
    """
    contents = store.contents(batch_id)
    if contents is not None:
        places = order(contents.ids, contents.secret)
        reached("release: permuted")
        digest = hashlib.sha256()
        for number, start in enumerate(range(0, len(places), CHUNK)):
            piece = contents.records[places[start : start + CHUNK]].tobytes()
            digest.update(piece)
            store.add_piece(batch_id, number, piece)
            reached("release: a piece written")
        reached("release: all pieces written")
        store.mark_released(batch_id, digest.hexdigest())
    batch = store.erase(batch_id)
    reached("release: log emptied")
    return batch
