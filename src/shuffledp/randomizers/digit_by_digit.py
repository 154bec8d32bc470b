"""Digits and dummies: a user sends every digit of a number as a message of its own, each among uniform dummies.

The digits are shuffled apart from each other, so that they are as many releases as digits, each of `dummies` with messages of
their own. Together they are composed (docs/maths/digits.md). One user's messages by themselves hide nothing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import checks
from shuffledp.core.attacker_view import AttackerView
from shuffledp.core.blanket import Blanket
from shuffledp.core.counts import Counts
from shuffledp.core.document import Readers, Written, number, several, whole
from shuffledp.core.ragged import Ragged
from shuffledp.core.randomness import RandomSource, randomness_of
from shuffledp.errors import InvalidInput
from shuffledp.randomizers.dummies import Dummies
from shuffledp.randomizers.identity import Identity
from shuffledp.randomizers.together import TogetherBlanket
from shuffledp.randomizers.truthful import Truthful

MOST_LEVELS: Final = 1 << 30
"""The most levels of a number: rounding to one of more could not be told from none."""
_MOST_MESSAGES: Final = 1 << 32
"""What fits a report."""
_MOST_COUNTED: Final = 1 << 16
"""Numbers that are counted as such, and then by their digits."""


@dataclass(frozen=True, kw_only=True)
class Digits(Truthful, Written):
    """The digits of a number in some base, the least significant first, each a message beside about `dummies[j]` uniform ones.

    A symbol is the number; if there are groups, that of the group comes before its digits, and every message carries the group.
    Messages are numbered: those of the least significant digit come first.

    >>> Digits(base=12, dummies=(0.0065, 0.00054)).symbols
    144
    """

    kind: ClassVar[str] = "digits"
    readers: ClassVar[Readers] = {"base": whole, "groups": whole, "dummies": several(number)}

    base: int
    dummies: tuple[float, ...]
    groups: int = 1
    parts: tuple[Dummies, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        base, groups = checks.size(self.base, name="base"), checks.whole(self.groups, "groups", "Give e.g. 3.")
        if not (isinstance(self.dummies, Sequence) and self.dummies and base ** len(self.dummies) <= MOST_LEVELS):
            raise InvalidInput(
                "a number has at least one digit and at most 2^30 levels. Give dummies for fewer digits."
            )
        if groups < 1:
            raise InvalidInput(f"groups must be at least 1; got {groups}. Leave them out for one.")
        if len(self.dummies) * groups * base > _MOST_MESSAGES:
            raise InvalidInput("the messages of all digits do not fit 32 bits. Use fewer groups or a smaller base.")
        parts = tuple(Dummies(structure=Identity(size=groups * base), dummies=rate) for rate in self.dummies)
        for name, value in (
            ("base", base), ("groups", groups), ("parts", parts), ("dummies", tuple(part.dummies for part in parts)),
        ):  # fmt: skip
            object.__setattr__(self, name, value)

    def blanket(self) -> Blanket:
        """What hides a user, of the very laws that run: dummies of every digit."""
        blankets = tuple(part.blanket() for part in self.parts)
        return TogetherBlanket(parts=blankets) if len(blankets) > 1 else blankets[0]

    @property
    def digits(self) -> int:
        """How many true messages a user sends."""
        return len(self.dummies)

    @property
    def levels(self) -> int:
        """How many numbers there are."""
        return int(self.base**self.digits)

    @property
    def symbols(self) -> int:
        """Number of inputs: of groups and numbers."""
        return self.groups * self.levels

    @property
    def messages(self) -> int:
        """Number of messages, of all digits together."""
        return self.digits * self.groups * self.base

    @property
    def true_messages(self) -> int:
        """How many messages a user sends besides dummies."""
        return self.digits

    @property
    def dummies_per_user(self) -> float:
        """How many dummies a user sends on average."""
        return math.fsum(self.dummies)

    @cached_property
    def most(self) -> int:
        """How many dummies a user sends at most."""
        return sum(part.most for part in self.parts)

    def sentence(self) -> str:
        """What a user does with a symbol."""
        sent = (
            "this number itself, and beside it"
            if self.digits == 1
            else f"each of the {self.digits} digits of this number in base {self.base} as a message of its own, and beside these"
        )
        with_group = f", the group with {'it' if self.digits == 1 else 'each'}," if self.groups > 1 else ""
        sent = sent.replace(", and", f"{with_group or ','} and")
        return (
            f"sends {sent} {self.dummies_per_user:.6g} uniformly random messages on average, at most {self.most} "
            "(no local guarantee)"
        )

    def digits_of(self, symbols: NDArray[np.integer]) -> list[NDArray[np.unsignedinteger]]:
        """The messages that stand for each digit, numbered within it."""
        values = checks.symbols(symbols, self.symbols)
        group, rest = np.divmod(values, self.levels) if self.groups > 1 else (None, values)
        small, found = np.min_scalar_type(self.groups * self.base - 1), list[NDArray[np.unsignedinteger]]()
        for _ in range(self.digits):
            above, digit = np.divmod(rest, self.base) if self.digits > 1 else (rest, rest)
            found.append(
                digit.astype(small)
                if group is None
                else group.astype(small) * small.type(self.base) + digit.astype(small)
            )
            rest = above
        return found

    def randomize(self, symbols: NDArray[np.integer], randomness: RandomSource, *, first_row: int) -> Ragged:
        """The true message and the dummies of each digit; each digit has words of its own."""
        values = checks.symbols(symbols, self.symbols)
        dummies = [
            part.beside(len(values), randomness_of(j, randomness), first_row=first_row)
            for j, part in enumerate(self.parts)
        ]
        return DigitMessages(self, values, dummies)

    def attacker_view(self) -> AttackerView:
        """As many releases as digits, and the dummies of each."""
        releases = (self.groups * self.base,) * self.digits
        return AttackerView(messages=self.messages, law=self.true_law, releases=releases, dummies=self.dummies)

    def true_law(self, symbol: NDArray[np.integer]) -> NDArray[np.float64]:
        """How likely each message is to be a true one of a symbol, in an array of one: there is one for each digit."""
        law = np.zeros(self.messages)
        each = self.groups * self.base
        law[[j * each + int(digit[0]) for j, digit in enumerate(self.digits_of(symbol))]] = 1.0
        return law

    @classmethod
    def examples(cls) -> list[Self]:
        """One digit, several, and those of groups; few dummies and many."""
        return [
            cls(base=4, dummies=(0.4,)),
            cls(base=3, dummies=(3.0, 1.0)),
            cls(base=2, dummies=(0.8, 0.4, 0.2), groups=3),
        ]


class DigitMessages(Ragged):
    """What users send: put side by side, row by row, only where somebody looks at single messages.

    Dummies are few, and all true messages of a digit are counted by counting numbers.
    """

    __slots__ = ("_dummies", "_randomizer", "_rows", "_symbols")
    _randomizer: Digits
    _symbols: NDArray[np.unsignedinteger]
    _dummies: Sequence[tuple[NDArray[np.intp], NDArray[np.uint32]]]
    _rows: Ragged | None

    def __init__(
        self,
        randomizer: Digits,
        symbols: NDArray[np.unsignedinteger],
        dummies: Sequence[tuple[NDArray[np.intp], NDArray[np.uint32]]],
    ) -> None:
        for name, value in (("_randomizer", randomizer), ("_symbols", symbols), ("_dummies", dummies), ("_rows", None)):
            object.__setattr__(self, name, value)

    @property
    def values(self) -> NDArray[np.unsignedinteger]:
        """The messages of the first row, then those of the second, ..."""
        return self._side_by_side.values

    @property
    def each(self) -> NDArray[np.integer]:
        """How many a row has."""
        return self._side_by_side.each

    def __len__(self) -> int:
        return len(self._symbols)

    def __getitem__(self, rows: NDArray[np.bool_] | NDArray[np.integer] | slice) -> Ragged:  # type: ignore[override]
        if not (isinstance(rows, np.ndarray) and rows.dtype == np.bool_):
            return self._side_by_side[rows]
        places = np.cumsum(rows) - 1
        kept = [(places[whose[mine]], sent[mine]) for whose, sent in self._dummies for mine in [rows[whose]]]
        return DigitMessages(self._randomizer, self._symbols[rows], kept)

    def counts(self, size: int) -> NDArray[np.int64]:
        randomizer, each = self._randomizer, self._randomizer.groups * self._randomizer.base
        if size != randomizer.messages:
            raise InvalidInput("these are the messages of other digits. They belong to another protocol.")
        if randomizer.symbols <= _MOST_COUNTED:
            shape = (randomizer.groups, *(randomizer.base,) * randomizer.digits)
            numbers, axes = Counts.of(self._symbols, randomizer.symbols).values.reshape(shape), range(1, len(shape))
            true = [numbers.sum(axis=tuple(a for a in axes if a != axis)).ravel() for axis in reversed(axes)]
        else:
            true = [Counts.of(digit, each).values for digit in randomizer.digits_of(self._symbols)]
        return np.concatenate(
            [held + np.bincount(sent, minlength=each) for held, (_, sent) in zip(true, self._dummies, strict=True)]
        )

    @property
    def _side_by_side(self) -> Ragged:
        if self._rows is None:
            each = self._randomizer.groups * self._randomizer.base
            digits = zip(self._randomizer.digits_of(self._symbols), self._dummies, strict=True)
            found = Ragged.beside(
                [
                    Ragged.around(digit.astype(np.uint32) + np.uint32(j * each), whose, sent + np.uint32(j * each))
                    for j, (digit, (whose, sent)) in enumerate(digits)
                ]
            )
            object.__setattr__(self, "_rows", found)
            return found
        return self._rows
