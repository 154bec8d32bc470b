"""Releasing a batch: its records in the order that `permutation` gives, whatever store they are in.

Bundles are taken apart first, and all their messages are permuted together, so that nothing links those of one user. How many
reports they were is stated before them: nobody could count them afterwards.
"""

import hashlib
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.service.shuffler.permutation import order
from shuffledp.service.stores.batch import Batch, Contents
from shuffledp.service.stores.checkpoints import Reached, pass_by
from shuffledp.service.stores.store import Store
from shuffledp.service.wire.bundle import COUNT, is_compact
from shuffledp.service.wire.record import ID, SEALED
from shuffledp.service.wire.released_batch import report_ids

CHUNK: Final = 1 << 16
"""Records in one piece of a released batch."""


def release(store: Store, batch_id: int, reached: Reached = pass_by) -> Batch:
    """Permute a closing batch by its secret, write the released bytes, and erase secret and records.

    In short steps, so that others can write meanwhile. Doing it again changes nothing, and another process may do it at the same
    time: the same secret gives the same bytes. Of a destroyed batch only the erasing is finished.
    """
    contents = store.contents(batch_id)
    if contents is not None:
        leaving = _leaving(contents)
        places = order(leaving.ids, contents.secret)
        reached("release: permuted")
        digest = hashlib.sha256()
        for number, start in enumerate(range(0, len(places), CHUNK)):
            piece = leaving.records[places[start : start + CHUNK]].tobytes()
            piece = piece if number else leaving.head + piece
            digest.update(piece)
            store.add_piece(batch_id, number, piece)
            reached("release: a piece written")
        reached("release: all pieces written")
        store.mark_released(batch_id, digest.hexdigest())
    batch = store.erase(batch_id)
    reached("release: log emptied")
    return batch


class _Leaving(NamedTuple):
    """What is released: first `head`, then the permuted records, whose ids decide their places."""

    head: bytes
    ids: NDArray[np.uint8]
    records: NDArray[np.uint8]


def _leaving(contents: Contents) -> _Leaving:
    reports, lengths = len(contents.ids), contents.lengths
    if not is_compact(int(lengths[0])):
        return _Leaving(b"", contents.ids, contents.records.reshape(reports, -1))
    records = np.delete(contents.records, np.cumsum(lengths) - 1).reshape(-1, SEALED)
    ids = np.frombuffer(report_ids(records).tobytes(), np.uint8).reshape(-1, ID)
    return _Leaving(reports.to_bytes(COUNT, "big"), ids, records)
