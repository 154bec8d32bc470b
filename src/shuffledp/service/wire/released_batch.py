"""A released batch as its receiver holds it: records of one length, in memory or mapped from a file that has no name."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import InvalidInput
from shuffledp.service.wire.bundle import COUNT
from shuffledp.service.wire.record import HEADER, ID, SEALED, SUITE, report_id

Records = NDArray[np.uint8]
"""One row for each record."""
Ids = NDArray[np.bytes_]
"""One report id of 16 bytes for each record; such arrays are compared and sorted by their bytes."""
TOGETHER: Final = 1 << 16
"""Records that are Python objects at the same time."""


@dataclass(frozen=True, slots=True)
class ReleasedBatch:
    """The bytes of a batch and their SHA-256, which names it."""

    content: NDArray[np.uint8] = field(repr=False)
    sha256: str

    @classmethod
    def of(cls, data: bytes) -> Self:
        """A batch in memory."""
        return cls(np.frombuffer(data, dtype=np.uint8), hashlib.sha256(data).hexdigest())

    @classmethod
    def mapped(cls, file: IO[bytes], sha256: str) -> Self:
        """A batch in a file whose hash is known. The file may be closed afterwards, and its name may be gone."""
        empty = file.seek(0, 2) == 0  # nothing cannot be mapped
        return cls(np.zeros(0, np.uint8) if empty else np.memmap(file, dtype=np.uint8, mode="r"), sha256)

    def records(self, length: int) -> Records:
        """The records, which all have this length."""
        return _cut(self.content, length)

    @property
    def stated(self) -> int:
        """How many reports it says that it has, where it says so."""
        return int.from_bytes(self.content[:COUNT].tobytes(), "big")

    def reports(self, most_messages: int, *, noise: bool = False, stated: bool = False) -> "Reports":
        """The sealed messages of reports that have at most so many each, or that are among dummies.

        Where each has one there are as many as reports, and none are `stated` unless they might have been among dummies.
        """
        if most_messages == 1 and not noise and not stated:
            messages = self.records(SEALED)
            return Reports(len(messages), messages)
        number, rest = self.stated, self.content[COUNT:]
        if noise and len(self.content) == COUNT:  # all reports were dropped, and no dummy was drawn
            return Reports(number, np.zeros((0, SEALED), np.uint8))
        messages = _cut(rest, SEALED)
        if noise:
            return Reports(number, messages)
        if not number <= len(messages) <= number * most_messages:
            raise InvalidInput(
                f"this batch says that {number:,} reports have {len(messages):,} messages, and each must have 1 to "
                f"{most_messages}. Nothing was opened or booked; ask the shuffler's operator how this came about."
            )
        return Reports(number, messages)


class Reports(NamedTuple):
    """How many reports a batch is of, and their sealed messages, one row for each. Whose they are cannot be told."""

    number: int
    messages: Records

    @property
    def extra(self) -> int:
        """Messages beyond the first of each report."""
        return len(self.messages) - self.number


def _cut(content: NDArray[np.uint8], length: int) -> Records:
    if not len(content) or len(content) % length:
        raise InvalidInput("this is not a batch: its length is not a whole number of records. Fetch it again.")
    return content.reshape(-1, length)


def pieces(records: Records, only: NDArray[np.bool_] | None = None, together: int = TOGETHER) -> Iterator[list[bytes]]:
    """The records, or only some of them, as bytes: a bounded number at a time."""
    length = records.shape[1]
    for start in range(0, len(records), together):
        rows = records[start : start + together]
        data = (rows if only is None else rows[only[start : start + together]]).tobytes()
        yield [data[begin : begin + length] for begin in range(0, len(data), length)]


def report_ids(records: Records) -> Ids:
    """The id of each record."""
    ids = np.empty(len(records), dtype=f"S{ID}")
    done = 0
    for some in pieces(records):
        ids[done : done + len(some)] = np.frombuffer(b"".join(map(report_id, some)), dtype=ids.dtype)
        done += len(some)
    return ids


def key_ids(records: Records) -> dict[int, int]:
    """How many records name which key, the most frequent key first. Those of another suite name none."""
    suite = np.frombuffer(HEADER.pack(0, *SUITE)[1:], dtype=np.uint8)
    known = (records[:, 1 : HEADER.size] == suite).all(axis=1)
    often = np.bincount(records[known, 0], minlength=256)
    return {int(key): int(often[key]) for key in np.argsort(-often, kind="stable") if often[key]}
