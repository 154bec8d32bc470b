"""One of several questions: a user draws which, by public weights, and answers that one alone."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, product
from typing import Any, ClassVar, Final, Self

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from shuffledp.core import checks
from shuffledp.core.attacker_view import AttackerView
from shuffledp.core.blanket import AmplificationVariable, Blanket, RandomizerFamily
from shuffledp.core.digits import rounded_up
from shuffledp.core.document import Document, fields, several, whole
from shuffledp.core.pair import Pair
from shuffledp.core.randomizer import RunnableRandomizer, Tunable
from shuffledp.core.randomness import PART, RandomSource, choose_below
from shuffledp.errors import InvalidInput
from shuffledp.randomizers.design_response import DesignResponse
from shuffledp.randomizers.of_blanket import OfBlanket
from shuffledp.randomizers.response import RandomizedResponse
from shuffledp.randomizers.structures import AffineSpace

_MOST_PAIRS: Final = 4096
"""Combinations of the parts' pairs of inputs that are looked at; all of them must be."""
_MOST_MESSAGES: Final = 1 << 32
"""What fits a report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MixtureBlanket(Blanket):
    """Blanket of a mixture: that of part t, with probability w_t.

    Formula: with eta((t, y)) = w_t eta_t(y), the ratio (mu_x - a mu_x') / eta does not contain w_t, so that its law is the
    mixture of the parts' laws: atoms side by side, masses times w_t. gamma = sum w_t gamma_t, epsilon0 = max epsilon0_t.
    Legend: w_t = weights, which sum to 1; an input is one input for each part, and two inputs may agree in some of them.
    Reference: docs/maths/mixtures.md.
    """

    parts: tuple[tuple[Fraction, Blanket], ...]

    @classmethod
    def of(cls, weights: Sequence[Fraction], parts: Sequence[Blanket]) -> Self:
        """Parts of one law whose worst pair is one and the same are one part.

        Others are kept apart: two people may differ in one way in one question and in another way in the next.
        """
        merged: dict[object, tuple[Fraction, Blanket]] = {}
        for t, (weight, part) in enumerate(zip(weights, parts, strict=True)):
            alike = not part.agreements() and len(part.pairs()) == 1
            before, _ = merged.get(part if alike else t, (Fraction(0), part))
            merged[part if alike else t] = (before + weight, part)
        return cls(parts=tuple(merged.values()))

    @property
    def label(self) -> str:
        """The parts in words."""
        return f"mixture of {', '.join(part.label for _, part in self.parts)}"

    @property
    def bounded(self) -> bool:
        """Whether the parts are."""
        return all(part.bounded for _, part in self.parts)

    @property
    def caveat(self) -> str | None:
        """What any of the parts assumes."""
        return next((part.caveat for _, part in self.parts if part.caveat), None)

    def gamma(self) -> arb:
        """The probability of ignoring the value, whichever part is drawn."""
        return sum((_ball(weight) * part.gamma() for weight, part in self.parts), arb(0))

    def epsilon0(self) -> arb | None:
        """The largest of the parts'."""
        largest = arb(0)
        for _, part in self.parts:
            found = part.epsilon0()
            if found is None:
                return None
            largest = largest.max(found)
        return largest

    def amplification(self, epsilon: arb) -> Sequence[AmplificationVariable]:
        """One law covers all pairs: the parts' widest range, and their largest second moments added up.

        Two inputs that agree in a part are covered too (docs/maths/mixtures.md).
        """
        mean = -epsilon.expm1()
        if not self.bounded:
            return [
                AmplificationVariable(mean=mean, lower=arb.neg_inf(), upper=arb.pos_inf(), second_moment=arb.pos_inf())
            ]
        gamma, lower, upper, square = self.gamma(), arb.pos_inf(), arb.neg_inf(), arb(0)
        for weight, part in self.parts:
            scale, largest = gamma / part.gamma(), arb(0)
            for law in part.amplification(epsilon):
                lower, upper = lower.min(scale * law.lower), upper.max(scale * law.upper)
                largest = largest.max(law.second_moment)
            square += _ball(weight) * scale * largest
        return [AmplificationVariable(mean=mean, lower=lower, upper=upper, second_moment=square)]

    def pairs(self) -> Sequence[Sequence[Pair]]:
        """Every combination of the parts' pairs, and of inputs that agree in a part where no pair is above that."""
        return _mixed_pairs(self)

    def witnesses(self) -> Sequence[Pair]:
        """The parts' witnesses side by side: all others hold the third input of each part."""
        found = [part.witnesses() for _, part in self.parts]
        if not all(found):
            return []
        most = max(len(some) for some in found)
        return [self._beside([some[j % len(some)] for some in found]) for j in range(most)]

    def _beside(self, pairs: Sequence[Pair]) -> Pair:
        """One pair for each part, masses times the weight."""
        weights = [float(weight) for weight, _ in self.parts]

        def joined(name: str, *, weighted: bool) -> NDArray[np.float64]:
            columns = [getattr(pair, name) for pair in pairs]
            return np.concatenate(
                [w * column if weighted else column for w, column in zip(weights, columns, strict=True)]
            )

        return Pair(
            joined("difference", weighted=False),
            joined("second", weighted=False),
            joined("masses", weighted=True),
            joined("bare_first", weighted=True),
            joined("bare_second", weighted=True),
            ulps=max(pair.ulps for pair in pairs) + (0 if len(pairs) == 1 else 2),
        )


@lru_cache(maxsize=8)
def _mixed_pairs(blanket: MixtureBlanket) -> list[list[Pair]]:
    choices = [[options[0] for options in part.pairs()] + list(part.agreements()) for _, part in blanket.parts]
    if math.prod(len(found) for found in choices) > _MOST_PAIRS:
        raise InvalidInput(
            f"a mixture of channels with more than {_MOST_PAIRS:,} combinations of pairs cannot be accounted for. Use fewer "
            "parts, or randomized response."
        )
    return [[blanket._beside(chosen)] for chosen in product(*choices)]


class OfParts(OfBlanket):
    """A randomizer of one symbol for each part, whose messages are those of the first part, then those of the next."""

    __slots__ = ()
    parts: tuple[RunnableRandomizer, ...]

    @property
    def symbols(self) -> int:
        """Number of inputs: of all combinations."""
        return math.prod(part.symbols for part in self.parts)

    @property
    def messages(self) -> int:
        """Number of different messages, of all parts together."""
        return sum(part.messages for part in self.parts)

    @property
    def offsets(self) -> tuple[int, ...]:
        """The first message of each part, and the number of messages."""
        return (0, *accumulate(part.messages for part in self.parts))

    def check_messages(self) -> None:
        """Refuse more than fit a report."""
        if self.messages > _MOST_MESSAGES:
            raise InvalidInput(f"{self.messages:,} messages do not fit 32 bits. Use fewer or smaller parts.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixture(OfParts):
    """Part t with probability weights[t] / sum(weights), then a message of part t.

    A symbol is one symbol for each part: an array to randomize has a column per part. Where few are possible they may also be
    numbered, the last part changing fastest. A message is a number too: those of the first part come first.

    >>> Mixture(weights=(1, 3), parts=(RandomizedResponse(size=2, gamma=0.5), RandomizedResponse(size=5, gamma=0.5))).messages
    7
    """

    kind: ClassVar[str] = "mixture"

    weights: tuple[int, ...]
    parts: tuple[RunnableRandomizer, ...] = field(repr=False)

    def __post_init__(self) -> None:
        if not (self.parts and len(self.weights) == len(self.parts)):
            raise InvalidInput("a mixture has parts, and a weight for each. Give as many weights as parts.")
        if not all(type(weight) is int and weight > 0 for weight in self.weights) or sum(self.weights) > 1 << 32:
            raise InvalidInput("weights are whole numbers of at least 1, at most 2^32 in all. Use smaller ones.")
        if not all(isinstance(part, RunnableRandomizer) and not isinstance(part, Mixture) for part in self.parts):
            raise _no_part()
        self.check_messages()

    @classmethod
    def of(cls, weights: Sequence[int], parts: Sequence[RunnableRandomizer]) -> Self:
        """Of parts that may be mixtures themselves: their parts, each as often as it is drawn in all."""
        inner = [part.weights if isinstance(part, Mixture) else (1,) for part in parts]
        common = math.lcm(*map(sum, inner))
        often = [
            weight * one * (common // sum(within))
            for weight, within in zip(weights, inner, strict=True)
            for one in within
        ]
        whole_number = math.gcd(*often)
        return cls(
            weights=tuple(one // whole_number for one in often),
            parts=tuple(one for part in parts for one in (part.parts if isinstance(part, Mixture) else (part,))),
        )

    @staticmethod
    def family(weights: Sequence[int], families: Sequence[RandomizerFamily]) -> RandomizerFamily:
        """Parts with one common parameter that is left open."""
        shares, first = _shares(weights), families[0]
        if any((one.parameter, one.more_private) != (first.parameter, first.more_private) for one in families):
            raise InvalidInput("the parts of a mixture are solved for one parameter together. Leave the same one open.")
        return RandomizerFamily(
            parameter=first.parameter,
            blanket=lambda value: MixtureBlanket.of(shares, [one.blanket(value) for one in families]),
            low=max(one.low for one in families),
            high=min(one.high for one in families),
            more_private=first.more_private,
        )

    def blanket(self) -> MixtureBlanket:
        """The privacy blanket, of the very laws and weights that run."""
        return MixtureBlanket.of(_shares(self.weights), [part.blanket() for part in self.parts])

    @property
    def columns(self) -> tuple[int, ...]:
        """The symbols of each part."""
        return tuple(part.symbols for part in self.parts)

    def share(self, part: int) -> float:
        """How often a part is drawn."""
        return self.weights[part] / sum(self.weights)

    def sentence(self) -> str:
        """What a user does with a symbol."""
        local = "" if self.epsilon0 is None else f" (local epsilon0 = {rounded_up(self.epsilon0)})"
        return f"draws one of {len(self.parts)} questions at random and answers it by that question's randomizer{local}"

    def randomize(
        self, symbols: NDArray[np.integer], randomness: RandomSource, *, first_row: int
    ) -> NDArray[np.unsignedinteger]:
        """One message per row; a pure function of the symbols and the words at rows first_row, first_row + 1, ...

        Which part a row answers is drawn from words of its own, which no part uses. A row answers one part only, so that
        parts may use the same words.
        """
        columns = self._columns(symbols)
        rows = len(columns[0])
        drawn = choose_below(sum(self.weights), rows, randomness, first_row=first_row, lane=PART)
        chosen = np.searchsorted(np.array(list(accumulate(self.weights)), dtype=np.int64), drawn, side="right")
        messages = np.zeros(rows, dtype=np.min_scalar_type(self.messages - 1))
        for part, where in self._alike().items():
            mine = np.zeros(rows, dtype=np.uint32)
            answering = np.zeros(rows, dtype=np.bool_)
            for t in where:
                here = chosen == t
                mine[here] = columns[t][here]
                answering |= here
            found = part.randomize(mine, randomness, first_row=first_row).astype(messages.dtype)
            messages[answering] = found[answering]
        offsets = np.array(self.offsets[:-1], dtype=messages.dtype)
        return np.asarray(messages + offsets[chosen])

    def with_gamma(self, gamma: float) -> Self:
        """The blankets of all parts in the same proportions, none above 1."""
        own, parts = self.gamma, list[RunnableRandomizer]()
        for part in self.parts:
            if not isinstance(part, Tunable):
                raise InvalidInput(
                    "a part of this mixture has no other blanket. Use parts that have, or plan it on its own."
                )
            parts.append(part.with_gamma(part.gamma / own * gamma))
        return replace(self, parts=tuple(parts))

    def probability(self, message: NDArray[np.integer] | int, symbol: int | NDArray[np.integer]) -> NDArray[np.float64]:
        """mu_symbol(message); the symbol by its number, or one for each part."""
        wanted = np.asarray(message)
        found = np.zeros(wanted.shape)
        for t, column in enumerate(self._columns(np.array([symbol]))):
            inside = (wanted >= self.offsets[t]) & (wanted < self.offsets[t + 1])
            found[inside] = self.share(t) * self.parts[t].probability(wanted[inside] - self.offsets[t], int(column[0]))
        return found

    def attacker_view(self) -> AttackerView:
        """The law of the message, for one symbol of each part."""
        return AttackerView(messages=self.messages, law=lambda row: self.probability(np.arange(self.messages), row[0]))

    def document(self) -> Document:
        """Weights and parts as JSON data."""
        return {
            "kind": self.kind,
            "weights": list(self.weights),
            "parts": [part.document() for part in self.parts],
        }

    @classmethod
    def from_document(cls, document: object) -> Self:
        """From its document."""
        found: dict[str, Any] = fields(document, cls.kind, weights=several(whole), parts=several(part_of))
        return cls(**found)

    @classmethod
    def examples(cls) -> list[Self]:
        """Parts that are alike, parts that are not, and a part without symmetry."""
        from shuffledp.randomizers.lattice import LatticeChannel

        plane = DesignResponse.private(AffineSpace(prime=2), gamma=0.3)
        coin = RandomizedResponse.of_threshold(size=2, threshold=1 << 62)
        return [
            cls(weights=(1, 1), parts=(plane, plane)),
            cls(weights=(1, 2), parts=(coin, DesignResponse.private(AffineSpace(prime=3), gamma=0.5))),
            cls(weights=(3, 2), parts=(coin, LatticeChannel.examples()[1])),
        ]

    def _alike(self) -> dict[RunnableRandomizer, list[int]]:
        """Which parts have the same law: they are randomized together."""
        found: dict[RunnableRandomizer, list[int]] = {}
        for t, part in enumerate(self.parts):
            found.setdefault(part, []).append(t)
        return found

    def _columns(self, symbols: NDArray[np.integer]) -> list[NDArray[np.unsignedinteger]]:
        """The symbols of each part."""
        given = np.asarray(symbols)
        if given.ndim == 2 and given.shape[1] == len(self.parts):
            return [checks.symbols(given[:, t], part.symbols) for t, part in enumerate(self.parts)]
        if given.ndim != 1 or self.symbols > 1 << 63:
            raise InvalidInput("symbols of a mixture have a column for each of its parts. Encode values first.")
        rest, found = checks.symbols(given, self.symbols), []
        for part in reversed(self.parts):
            rest, column = np.divmod(rest, np.asarray(part.symbols, dtype=np.uint64))
            found.append(column.astype(np.uint32))
        return found[::-1]


def part_of(document: object) -> RunnableRandomizer:
    """A part from its document; not a mixture, however deep."""
    from shuffledp.randomizers.registry import from_document

    if isinstance(document, dict) and document.get("kind") == Mixture.kind:
        raise _no_part()
    found = from_document(document)
    if not isinstance(found, RunnableRandomizer):
        raise _no_part()
    return found


def _no_part() -> InvalidInput:
    return InvalidInput("the parts of a mixture must be randomizers that run, not mixtures. List their parts.")


def _shares(weights: Sequence[int]) -> list[Fraction]:
    return [Fraction(weight, sum(weights)) for weight in weights]


def _ball(value: Fraction) -> arb:
    return arb(fmpq(value.numerator, value.denominator))
