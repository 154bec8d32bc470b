"""Bundles: the sealed messages of one report, side by side, which the shuffler next to the analyzer takes apart.

A bundle has a slot for each message that a user may send. What is left is zeros, so all bundles of a task have one length.
Where users send one message there is one slot, and the bundle is just the sealed message.

Behind several slots is a salt, which only the sender and this shuffler ever see. Without it, whoever holds released records could
put some of them into a bundle, send it, and learn from its being a replay that just these came from one user.

The shuffler sees how many slots are in use. That number does not depend on the user's value, and the sum over all users can be
seen in the batch anyway. Nobody before it sees the number: whoever did could let only those through who send few messages, and
the others' messages are what hides each of them. Messages are in increasing order: their places do not tell which one is true.
"""

import os
from collections.abc import Sequence
from typing import Final

from shuffledp.errors import InvalidInput
from shuffledp.service.wire.record import SALT, SEALED, key_id_of, split

WAITING: Final = 1
"""The last byte of a report in a store if its batch must get noise before it is released."""
COUNT: Final = 8
"""Bytes in which a batch of bundles states, before its records, the number of reports."""


def bundled(sealed: Sequence[bytes], slots: int, salt: bytes | None = None) -> bytes:
    """The sealed messages of a report in this number of slots, and behind several a salt: fresh, unless given."""
    if not 1 <= len(sealed) <= slots:
        raise InvalidInput(f"a report of this task has 1 to {slots} messages; got {len(sealed)}. Check the protocol.")
    records = b"".join(sealed).ljust(slots * SEALED, b"\0")
    return records if slots == 1 else records + (os.urandom(SALT) if salt is None else salt)


def is_bundle(data: bytes) -> bool:
    """Whether slots in use come first, each with a record of our suite, all of them for one key and no two the same."""
    records = split(_in_use(data), SEALED) or []
    keys = {key_id_of(record) for record in records}
    return len(keys) == 1 and None not in keys and len(set(records)) == len(records)


def compact(bundle: bytes, *, noise: bool = False) -> bytes:
    """As a store keeps it: the records, and one byte, so that its length tells it from a record that is released as it is.

    The byte is 1 if the batch must not leave without noise: whoever releases it learns that from the batch itself.
    """
    return _in_use(bundle) + bytes([WAITING if noise else 0])


def is_compact(length: int) -> bool:
    """Whether this is the length of a bundle that is kept; no record, whatever its layers, has such a length."""
    return length % SEALED == 1


def _in_use(bundle: bytes) -> bytes:
    """The slots that are, if those come first: not the salt, which ends with the batch."""
    slots = bundle[: len(bundle) // SEALED * SEALED]  # a salt is shorter than a slot
    used = -(-len(slots.rstrip(b"\0")) // SEALED)  # no header is all zeros
    return slots[: used * SEALED]
