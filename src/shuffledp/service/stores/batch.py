"""Batches as every store describes them."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

BatchState = Literal["OPEN", "CLOSING", "RELEASED", "ROLLED_OVER", "DESTROYED"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NextKey:
    """The one key that all records of a batch are sealed to: anything else in clear would partition the batch."""

    id: int
    fingerprint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One batch. Batches that were rolled over into one another are one window.

    Attributes:
        count: reports in it; if it was rolled over or destroyed, the number of reports at that moment.
        key: what its records are sealed to: fixed when it is opened, because clients build on it.
        digest: SHA-256 of its released bytes, in hexadecimal.
        purged: whether its released bytes were erased.
    """

    id: int
    window: int
    task: str
    opened: float
    state: BatchState
    count: int
    key: NextKey
    digest: str | None
    purged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What a closing batch holds.

    Attributes:
        ids: one row per report, in increasing order.
        records: the bytes of all reports, one after the other, in the order of their ids.
        lengths: how many of them each report has.
        secret: decides the permutation.
    """

    ids: NDArray[np.uint8] = field(repr=False)
    records: NDArray[np.uint8] = field(repr=False)
    lengths: NDArray[np.int64] = field(repr=False)
    secret: bytes = field(repr=False)
