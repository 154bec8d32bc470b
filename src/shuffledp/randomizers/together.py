"""All of several questions: a message for each, every one shuffled apart from the others of the same person."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, ClassVar, Self

import numpy as np
from flint import arb
from numpy.typing import NDArray

from shuffledp.core import checks
from shuffledp.core.attacker_view import AttackerView
from shuffledp.core.blanket import AmplificationVariable, Blanket
from shuffledp.core.digits import rounded_up
from shuffledp.core.document import Document, fields, several
from shuffledp.core.pair import Pair
from shuffledp.core.ragged import Ragged
from shuffledp.core.randomizer import Columnar, RunnableRandomizer, columns_of
from shuffledp.core.randomness import MOST_QUESTIONS, RandomSource, randomness_of
from shuffledp.errors import InvalidInput
from shuffledp.randomizers.mixture import Mixture, OfParts, part_of
from shuffledp.randomizers.response import RandomizedResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class TogetherBlanket(Blanket):
    """What hides a person who sends a message of each part: in every part the messages of the others.

    The messages of one part, shuffled, are one release; coins of different parts are independent, and who sent what to one part
    cannot be told from another. So all parts together are the composition of as many releases (docs/maths/mixtures.md).
    Whoever sees one person's messages, before they are shuffled, is held off by the sum of the parts' epsilon0.
    """

    parts: tuple[Blanket, ...]

    @property
    def label(self) -> str:
        """The parts in words."""
        return f"{', '.join(part.label for part in self.parts)}, all of them"

    @property
    def bounded(self) -> bool:
        """The formulas are about one message per person."""
        return False

    @property
    def caveat(self) -> str | None:
        """What any of the parts assumes."""
        return next((part.caveat for part in self.parts if part.caveat), None)

    def releases(self) -> Sequence[Blanket]:
        """The parts: what composes."""
        return self.parts

    def gamma(self) -> arb:
        """The probability of ignoring all values."""
        product = arb(1)
        for part in self.parts:
            product *= part.gamma()
        return product

    def epsilon0(self) -> arb | None:
        """The sum of the parts'."""
        total = arb(0)
        for part in self.parts:
            found = part.epsilon0()
            if found is None:
                return None
            total += found
        return total

    def amplification(self, epsilon: arb) -> Sequence[AmplificationVariable]:
        """Nothing is said of it."""
        low, high = arb.neg_inf(), arb.pos_inf()
        return [AmplificationVariable(mean=-epsilon.expm1(), lower=low, upper=high, second_moment=high)]

    def pairs(self) -> Sequence[Sequence[Pair]]:
        """None: a pair is of one message per person."""
        return []

    def witnesses(self) -> Sequence[Pair]:
        """None, likewise."""
        return []


@dataclass(frozen=True, slots=True, kw_only=True)
class Together(OfParts):
    """One message of each part, with coins of its own.

    A symbol is one symbol for each part: an array to randomize has a column per part, and one for each part of a mixture.
    Messages are numbered: those of the first part come first.

    >>> Together(parts=(RandomizedResponse(size=2, gamma=0.5), RandomizedResponse(size=5, gamma=0.5))).messages
    7
    """

    kind: ClassVar[str] = "together"

    parts: tuple[RunnableRandomizer, ...] = field(repr=False)

    def __post_init__(self) -> None:
        if not 1 <= len(self.parts) <= MOST_QUESTIONS:
            raise InvalidInput(f"a person sends a message of each of 1 to {MOST_QUESTIONS:,} parts. Give so many.")
        if not all(isinstance(part, RunnableRandomizer) for part in self.parts):
            raise InvalidInput("the parts are randomizers of one message that run. Use others.")
        self.check_messages()

    def blanket(self) -> TogetherBlanket:
        """What hides a person, of the very laws that run."""
        return TogetherBlanket(parts=tuple(part.blanket() for part in self.parts))

    @property
    def columns(self) -> tuple[int, ...]:
        """The symbols of each part, or of each part of one that is a mixture."""
        return tuple(size for part in self.parts for size in columns_of(part))

    def sentence(self) -> str:
        """What a user does with a symbol."""
        local = "" if self.epsilon0 is None else f" (local epsilon0 of all of them = {rounded_up(self.epsilon0)})"
        return f"answers each of {len(self.parts)} questions by its own message, shuffled separately from the others{local}"

    def randomize(self, symbols: NDArray[np.integer], randomness: RandomSource, *, first_row: int) -> Ragged:
        """As many messages per row as parts; each part has words of its own."""
        given, widths = np.asarray(symbols), [len(columns_of(part)) for part in self.parts]
        ends = list(accumulate(widths))
        if given.ndim != 2 or given.shape[1] != ends[-1]:
            raise InvalidInput("symbols have a column for each of several parts. Encode values first.")
        found = np.empty((len(given), len(self.parts)), dtype=np.uint32)
        for t, (part, offset) in enumerate(zip(self.parts, self.offsets, strict=False)):
            mine = given[:, ends[t] - widths[t] : ends[t]]
            if not isinstance(part, Columnar):
                mine = checks.symbols(mine[:, 0], part.symbols)
            found[:, t] = part.randomize(mine, randomness_of(t, randomness), first_row=first_row).astype(
                np.uint32
            ) + np.uint32(offset)
        return Ragged(found.reshape(-1), np.full(len(given), len(self.parts), dtype=np.int64))

    def attacker_view(self) -> AttackerView:
        """As many releases as parts."""
        releases = tuple(part.messages for part in self.parts)
        return AttackerView(messages=self.messages, law=self._law, releases=releases)

    def _law(self, row: NDArray[np.integer]) -> NDArray[np.float64]:
        """How likely each message of each part is, for one symbol of each, in an array of one row."""
        found, done = list[NDArray[np.float64]](), 0
        for part in self.parts:
            mine = row[0, done : done + len(columns_of(part))]
            done += len(mine)
            symbol: Any = mine if isinstance(part, Columnar) else int(mine[0])
            found.append(part.probability(np.arange(part.messages), symbol))
        return np.concatenate(found)

    def document(self) -> Document:
        """The parts as JSON data."""
        return {"kind": self.kind, "parts": [part.document() for part in self.parts]}

    @classmethod
    def from_document(cls, document: object) -> Self:
        """From its document."""
        found: dict[str, Any] = fields(document, cls.kind, parts=several(_part))
        return cls(**found)

    @classmethod
    def examples(cls) -> list[Self]:
        """Parts that are alike, and parts that are not."""
        coin, three = RandomizedResponse(size=2, gamma=0.25).as_run(), RandomizedResponse(size=3, gamma=0.5).as_run()
        return [cls(parts=(coin, coin)), cls(parts=(coin, three, coin)), cls(parts=(Mixture.examples()[1], coin))]


def _part(document: object) -> RunnableRandomizer:
    """A part from its document, perhaps a mixture."""
    if isinstance(document, dict) and document.get("kind") == Mixture.kind:
        return Mixture.from_document(document)
    return part_of(document)
