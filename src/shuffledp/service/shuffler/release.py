"""Releasing a batch: its records in the order that `permutation` gives, whatever store they are in.

Bundles are taken apart first, and all their messages are permuted together, so that nothing links those of one user. How many
reports they were is stated before them: nobody could count them afterwards. The same holds where dummies are added: a batch
that waits for noise says so itself, and is not released without.
"""

import hashlib
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import InvalidInput
from shuffledp.service.sealing.dummies import Dummies
from shuffledp.service.shuffler.permutation import order
from shuffledp.service.stores.batch import Batch, Contents
from shuffledp.service.stores.crash_points import Reached, pass_by
from shuffledp.service.stores.store import Store
from shuffledp.service.wire.bundle import COUNT, WAITING, is_compact
from shuffledp.service.wire.record import ID, SEALED
from shuffledp.service.wire.released_batch import report_ids

CHUNK: Final = 1 << 16
"""Records in one piece of a released batch."""


def release(
    store: Store, batch_id: int, reached: Reached = pass_by, dummies: Dummies | None = None, enough: int | None = None
) -> Batch:
    """Permute a closing batch by its secret, write the released bytes, and erase secret and records.

    In short steps, so that others can write meanwhile. Doing it again changes nothing, and another process may do it at the same
    time: the same secret gives the same bytes. Of a destroyed batch only the erasing is finished.

    A batch that waits for noise stays as it is unless `dummies` are given. With `enough` reports it needs none.
    """
    contents = store.contents(batch_id)
    if contents is not None:
        dummies = dummies if _waits_for_noise(contents) else None
        if enough is not None and len(contents.ids) >= enough:
            dummies = None
        elif dummies is None and _waits_for_noise(contents):
            store.let_go(batch_id)
            return _unchanged(store, batch_id)
        leaving = _leaving(contents, dummies)
        reached("release: gathered")
        if len(
            leaving.added
        ):  # reports beside dummies, in one order: when a row was written must not tell which is which
            every = np.concatenate([contents.ids, leaving.added])
            store.remember(batch_id, sorted(name.tobytes() for name in every))
        places = order(leaving.ids, contents.secret)
        reached("release: permuted")
        digest = hashlib.sha256()
        for number, start in enumerate(range(0, max(1, len(places)), CHUNK)):
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
    """What is released: first `head`, then the permuted records, whose ids decide their places.

    `added` are the ids of those that are no reports. They must be known as ids before anybody sees the batch: the answer to a
    record that is sent in a second time must not tell a dummy from a report.
    """

    head: bytes
    ids: NDArray[np.uint8]
    records: NDArray[np.uint8]
    added: NDArray[np.uint8] = np.zeros((0, ID), np.uint8)


def _waits_for_noise(contents: Contents) -> bool:
    """All reports of a batch say the same: they are of one task."""
    return is_compact(int(contents.lengths[0])) and contents.records[int(contents.lengths[0]) - 1] == WAITING


def _unchanged(store: Store, batch_id: int) -> Batch:
    batch = store.batch(batch_id)
    if batch is None:
        raise InvalidInput("there is no such batch to release. Close one first.")
    return batch


def _leaving(contents: Contents, dummies: Dummies | None) -> _Leaving:
    reports, lengths = len(contents.ids), contents.lengths
    if not is_compact(int(lengths[0])):
        return _Leaving(b"", contents.ids, contents.records.reshape(reports, -1))
    head = reports.to_bytes(COUNT, "big")
    if dummies is not None:
        return _among(dummies, contents, head)
    records = np.delete(contents.records, np.cumsum(lengths) - 1).reshape(-1, SEALED)
    return _Leaving(head, _ids(records), records)


def _among(dummies: Dummies, contents: Contents, head: bytes) -> _Leaving:
    """The reports that are kept, each one record, and dummies; a report's id is its record's."""
    kept = dummies.kept(len(contents.ids), contents.secret)
    reports = contents.records.reshape(len(contents.ids), SEALED + 1)[kept, :SEALED]
    added = dummies.records(contents.secret)
    ids = _ids(added)
    return _Leaving(head, np.concatenate([contents.ids[kept], ids]), np.concatenate([reports, added]), ids)


def _ids(records: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.frombuffer(report_ids(records).tobytes(), np.uint8).reshape(-1, ID)
