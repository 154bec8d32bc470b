"""What an engine makes of data: counts of messages, and what became of every row. Tallies of chunks add up."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.counts import Counts
from shuffledp.core.randomness import RandomSource, RowWords, Words
from shuffledp.domains.domain import STRICT, Policy
from shuffledp.errors import InvalidInput
from shuffledp.protocols.protocol import ShuffleProtocol
from shuffledp.protocols.randomized import randomized
from shuffledp.sources.source import rows_at_once

_FEW = 1 << 16
"""Counters that every thread may have for itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """A monoid: the sum does not depend on how rows are cut into chunks, or in which order these are added.

    Attributes:
        rows: seen, whatever became of them.
        counts: of messages.
        rejected: rows that took no part, by reason.
        adjusted: values that were changed to fit the plan, by reason.
        truth: what the values add up to, if that was asked for. Not private.
    """

    rows: int
    counts: Counts
    rejected: Counter[str] = field(default_factory=Counter)
    adjusted: Counter[str] = field(default_factory=Counter)
    truth: NDArray[Any] | None = field(default=None, repr=False)

    @classmethod
    def empty(cls, protocol: ShuffleProtocol, *, truth: bool = False) -> Self:
        """What no rows give."""
        nothing = protocol.truth(np.empty(0, dtype=np.int64)) if truth else None
        return cls(rows=0, counts=Counts.none(protocol.counters), truth=nothing)

    def __add__(self, other: Self) -> Self:
        truth = None if self.truth is None or other.truth is None else self.truth + other.truth
        return type(self)(
            rows=self.rows + other.rows, counts=self.counts + other.counts, rejected=self.rejected + other.rejected,
            adjusted=self.adjusted + other.adjusted, truth=truth,
        )  # fmt: skip


class Tallying:
    """Clean, randomize, count: rows in, a tally out. Several threads may add rows at once."""

    def __init__(
        self,
        protocol: ShuffleProtocol,
        randomness: RandomSource,
        policy: Policy = STRICT,
        *,
        in_file: bool = False,
        truth: bool = False,
    ) -> None:
        self._protocol, self._words, self._policy, self._in_file = protocol, randomness, policy, in_file
        self._rest = Tally.empty(protocol, truth=truth)
        self._counts = np.zeros(protocol.counters, dtype=np.int64)
        self._rows = max(1, int(rows_at_once(protocol.domain) / protocol.messages_per_user))
        self._turn = Lock()

    def add(
        self,
        raw: Any,
        *,
        first_row: int = 0,
        leave_out: Sequence[int] | NDArray[np.int64] = (),
        addresses: Words | None = None,
    ) -> None:
        """Tally a column. The messages depend on the rows' addresses only, not on how the rows are cut into chunks.

        Rows not kept are randomized and dropped: their messages are nobody's. `leave_out` are indices of rows that are more
        than their person may have. Without `addresses`, they are first_row, first_row + 1, ...; no address may ever be given
        twice, which whoever calls this has checked (`Source.checked_chunks`, `check_distinct`).
        """
        if addresses is not None and len(addresses) != len(raw):
            raise InvalidInput("there is not one address for each row. Give one for each.")
        left_out = np.asarray(leave_out, dtype=np.int64)
        for start in range(0, max(1, len(raw)), self._rows):
            end = start + self._rows
            surplus = left_out[(left_out >= start) & (left_out < end)] - start if len(left_out) else left_out
            randomness = self._words
            if addresses is not None:
                randomness = RowWords(randomness, addresses[start:end], first_row + start)
            self._count(self._randomized(raw[start:end], randomness, first_row + start, surplus))

    def tally(self) -> Tally:
        """The tally of all rows that were added."""
        return replace(self._rest, counts=Counts(self._counts))

    def _randomized(self, raw: Any, randomness: RandomSource, first_row: int, surplus: NDArray[np.int64]) -> Any:
        """The messages of some rows, and what became of each of them added to the rest."""
        protocol = self._protocol
        clean, messages = randomized(
            protocol, raw, randomness, self._policy, first_row=first_row, in_file=self._in_file
        )
        values, keep, rejected = clean.values, clean.keep, clean.rejected
        if len(surplus):
            keep = np.ones(len(values), dtype=np.bool_) if keep is None else keep.copy()
            rejected = rejected + Counter({"more rows than allowed": int(keep[surplus].sum())})
            keep[surplus] = False
        truth = None if self._rest.truth is None else protocol.truth(values if keep is None else values[keep])
        with self._turn:
            rest = self._rest
            self._rest = replace(
                rest, rows=rest.rows + len(values), rejected=rest.rejected + rejected, adjusted=rest.adjusted + clean.adjusted,
                truth=None if rest.truth is None else rest.truth + truth,
            )  # fmt: skip
        return messages if keep is None else _some(messages, keep)

    def _count(self, messages: Any) -> None:
        protocol = self._protocol
        if protocol.counters <= _FEW:
            counts = protocol.count(messages).values
            with self._turn:
                self._counts += counts
        else:  # so many that there is room for one array of them only
            with self._turn:
                protocol.add(self._counts, messages)


def tally_rows(
    protocol: ShuffleProtocol,
    raw: Any,
    randomness: RandomSource,
    policy: Policy = STRICT,
    *,
    first_row: int = 0,
    in_file: bool = False,
    leave_out: Sequence[int] | NDArray[np.int64] = (),
    addresses: Words | None = None,
    truth: bool = False,
) -> Tally:
    """The tally of one column; with `in_file`, errors name rows."""
    rows = Tallying(protocol, randomness, policy, in_file=in_file, truth=truth)
    rows.add(raw, first_row=first_row, leave_out=leave_out, addresses=addresses)
    return rows.tally()


def _some(messages: Any, rows: NDArray[np.bool_]) -> Any:
    """The messages of some of the users."""
    return tuple(part[rows] for part in messages) if isinstance(messages, tuple) else messages[rows]
