"""Bundles: the sealed messages of one report, side by side, which the shuffler next to the analyzer takes apart.

A bundle has a slot for each message that a user may send. What is left is zeros, so all bundles of a task have one length.
Where users send one message there is one slot, and the bundle is just the sealed message.

The shuffler sees how many slots are in use. That number does not depend on the user's value, and the sum over all users can be
seen in the batch anyway. Nobody before it sees the number: whoever did could let only those through who send few messages, and
the others' messages are what hides each of them. Messages are in increasing order: their places do not tell which one is true.
"""

from collections.abc import Sequence
from typing import Final

from shuffledp.errors import InvalidInput
from shuffledp.service.wire.record import SEALED, key_id_of, split

WAITING: Final = 1
"""The last byte of a report in a store if its batch must get noise before it is released."""
COUNT: Final = 8
"""Bytes in which a batch of bundles states, before its records, the number of reports."""


def bundled(sealed: Sequence[bytes], slots: int) -> bytes:
    """The sealed messages of a report in this number of slots."""
    if not 1 <= len(sealed) <= slots:
        raise InvalidInput(f"a report of this task has 1 to {slots} messages; got {len(sealed)}. Check the protocol.")
    return b"".join(sealed).ljust(slots * SEALED, b"\0")


def is_bundle(data: bytes) -> bool:
    """Whether slots in use come first, each with a record of our suite, all of them for one key and no two the same."""
    records = split(data[: _in_use(data) * SEALED], SEALED) or []
    keys = {key_id_of(record) for record in records}
    return len(keys) == 1 and None not in keys and len(set(records)) == len(records)


def compact(bundle: bytes, *, noise: bool = False) -> bytes:
    """As a store keeps it: the records, and one byte, so that its length tells it from a record that is released as it is.

    The byte is 1 if the batch must not leave without noise: whoever releases it learns that from the batch itself.
    """
    return bundle[: _in_use(bundle) * SEALED] + bytes([WAITING if noise else 0])


def is_compact(length: int) -> bool:
    """Whether this is the length of a bundle that is kept; no record, whatever its layers, has such a length."""
    return length % SEALED == 1


def _in_use(bundle: bytes) -> int:
    """How many slots are, if those come first."""
    return -(-len(bundle.rstrip(b"\0")) // SEALED)  # no header is all zeros
