"""Any finite randomizer, given by its matrix of probabilities."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, permutations
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import ArrayLike, NDArray

from shuffledp.core.blanket import AmplificationVariable, Blanket
from shuffledp.core.document import Document, fields, number, several
from shuffledp.core.pair import Pair, doubles
from shuffledp.errors import InvalidInput, NotDefined
from shuffledp.randomizers.hull import corners
from shuffledp.randomizers.of_blanket import OfBlanket

if TYPE_CHECKING:
    from shuffledp.randomizers.lattice import LatticeChannel

_ROW_SUM_TOLERANCE = 1e-9
_SMALLEST = 1e-300
"""Below it doubles lose digits."""
_MOST_ENTRIES = 20_000
"""Of all triples that are looked at for a lower bound."""
_MOST_CROWDS = 8
"""Inputs of a channel whose mixed crowds are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelBlanket(Blanket):
    """Blanket of a finite channel, from its exact rational probabilities.

    Formula: eta(y) = min_x mu_x(y), gamma = sum eta, omega = eta / gamma, L(y) = gamma (mu_x - a mu_x')(y) / eta(y).
    Legend: mu_x(y) = rows[x][y], a = e^epsilon.
    Reference: BBGN19, Lemma 5.3.
    """

    rows: tuple[tuple[fmpq, ...], ...] = field(repr=False)
    name: str

    @property
    def label(self) -> str:
        """The channel in words."""
        return self.name

    @property
    def bounded(self) -> bool:
        """Whether every message that some input can send can be sent by all."""
        return all(min(column) > 0 or max(column) == 0 for column in zip(*self.rows, strict=True))

    def gamma(self) -> arb:
        """The probability of ignoring the value."""
        return arb(sum(self._floor(), fmpq(0)))

    def epsilon0(self) -> arb | None:
        """The largest log-ratio of two inputs' probabilities of a message; None if one of them can be 0."""
        worst = fmpq(1)
        for column in zip(*self.rows, strict=True):
            if max(column) > 0:
                if min(column) == 0:
                    return None
                worst = max(worst, max(column) / min(column))
        return arb(worst).log()

    def coins(self) -> tuple[arb, arb] | None:
        """Of the two messages that somebody can send, if there are only two; None if an input can send just one of them."""
        columns = [column for column in zip(*self.rows, strict=True) if max(column) > 0]
        if len(columns) != 2 or not self.bounded:
            return None
        return arb(max(columns[1])), arb(min(columns[1]))

    def amplification(self, epsilon: arb) -> Sequence[AmplificationVariable]:
        """The exact law of L of every ordered pair: range and second moment."""
        a, mean = epsilon.exp(), -epsilon.expm1()
        if not self.bounded:
            unbounded = AmplificationVariable(
                mean=mean, lower=arb.neg_inf(), upper=arb.pos_inf(), second_moment=arb.pos_inf()
            )
            return [unbounded]
        gamma, ratios, products = _forms(_corners(self.rows), ctx.prec)
        laws = []
        for x, over_x in enumerate(ratios):
            for z, over_z in enumerate(ratios):
                if x != z:
                    values = [u - a * v for u, v in zip(over_x, over_z, strict=True)]
                    square = products[x][x] - 2 * a * products[x][z] + a**2 * products[z][z]
                    laws.append(
                        AmplificationVariable(
                            mean=mean,
                            lower=gamma * _least(values),
                            upper=-gamma * _least([-v for v in values]),
                            second_moment=gamma * square,
                        )
                    )
        return laws

    def chi_squared(self) -> arb:
        """The largest over all triples of inputs."""
        return _chi_squared(_corners(self.rows))

    def pairs(self) -> Sequence[Sequence[Pair]]:
        """Every ordered pair of inputs that are no mixtures of others, with the largest measure below all inputs."""
        return _channel_pairs(_corners(self.rows))

    def crowds(self) -> Sequence[Sequence[Pair]]:
        """Every ordered pair relative to every input, if all can send every message and few are no mixtures of others."""
        rows = _corners(self.rows)
        return _crowds(rows) if len(rows) <= _MOST_CROWDS and self.bounded else ()

    def witnesses(self) -> Sequence[Pair]:
        """Ordered triples (x, x', x'') of inputs: all, or those whose l varies most."""
        return _channel_witnesses(self.rows)

    def agreements(self) -> Sequence[Pair]:
        """Every input with itself."""
        floor = self._floor()
        return [_exact_pair(tuple((u, u, low) for u, low in zip(row, floor, strict=True) if u)) for row in self.rows]

    def _floor(self) -> list[fmpq]:
        return [min(column) for column in zip(*self.rows, strict=True)]


@lru_cache(maxsize=8)
def _corners(rows: tuple[tuple[fmpq, ...], ...]) -> tuple[tuple[fmpq, ...], ...]:
    """The rows that are no mixtures of others; two at least."""
    left = corners(rows)
    return left if len(left) > 1 else rows[:2]


@lru_cache(maxsize=8)
def _forms(
    rows: tuple[tuple[fmpq, ...], ...],
    bits: int,  # noqa: ARG001 - the balls depend on the working precision
) -> tuple[arb, list[list[arb]], list[list[arb]]]:
    """Gamma, the ratios mu_x / eta, and the products sum_y mu_x mu_z / eta."""
    columns = [column for column in zip(*rows, strict=True) if min(column) > 0]
    gamma = arb(sum((min(column) for column in columns), fmpq(0)))
    masses = [[arb(column[x]) for column in columns] for x in range(len(rows))]
    ratios = [[arb(column[x] / min(column)) for column in columns] for x in range(len(rows))]
    products = [[sum((m * r for m, r in zip(mx, rz, strict=True)), arb(0)) for rz in ratios] for mx in masses]
    return gamma, ratios, products


@lru_cache(maxsize=8)
def _channel_pairs(rows: tuple[tuple[fmpq, ...], ...]) -> list[list[Pair]]:
    floor = [min(column) for column in zip(*rows, strict=True)]
    distinct: dict[tuple[tuple[fmpq, fmpq, fmpq], ...], list[Pair]] = {}
    for first, second in permutations(rows, 2):
        key = tuple(sorted((u, v, low) for u, v, low in zip(first, second, floor, strict=True) if u or v))
        if key not in distinct:
            distinct[key] = [_exact_pair(key)]
    return list(distinct.values())


@lru_cache(maxsize=8)
def _crowds(rows: tuple[tuple[fmpq, ...], ...]) -> list[list[Pair]]:
    columns = [column for column in zip(*rows, strict=True) if max(column) > 0]
    laws = np.array([[float(column[z]) for column in columns] for z in range(len(rows))])
    found = []
    for x, w in permutations(range(len(rows)), 2):
        gap = np.array([float(column[x] - column[w]) for column in columns])
        found.append([Pair(gap / law, laws[w] / law, law, ulps=4.0) for law in laws])
    return found


@lru_cache(maxsize=8)
def _chi_squared(rows: tuple[tuple[fmpq, ...], ...]) -> arb:
    """The sum of (mu_x - mu_x')^2 / mu_x'', the largest: differences are exact, and the rest loses no digits."""
    columns = np.array([[float(entry) for entry in row] for row in rows])
    largest = 0.0
    for first, second in combinations(rows, 2):
        squares = np.array([float(u - v) for u, v in zip(first, second, strict=True)]) ** 2
        if ((columns == 0) & (squares > 0)).any():
            return arb.pos_inf()
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(squares > 0, squares / columns, 0.0)
        largest = max(largest, float(terms.sum(axis=1).max()))
    return arb(largest, largest * (len(rows[0]) + 16) * 2.0**-52)


@lru_cache(maxsize=8)
def _channel_witnesses(rows: tuple[tuple[fmpq, ...], ...]) -> list[Pair]:
    table = np.array([[float(entry) for entry in row] for row in rows])
    scored = []
    for x, z in permutations(range(len(rows)), 2):
        gap = (table[x] - table[z]) ** 2
        for w in range(len(rows)):
            reach = (table[x] > 0) | (table[z] > 0)
            if (table[w][reach] > 0).all():
                spread = float((gap[reach] / table[w][reach]).sum())
                scored.append((spread, x, z, w))
    scored.sort(reverse=True)
    distinct: dict[tuple[tuple[fmpq, fmpq, fmpq], ...], None] = {}
    for _, x, z, w in scored[: max(8, _MOST_ENTRIES // len(rows[0]))]:
        distinct[tuple(sorted((u, v, low) for u, v, low in zip(rows[x], rows[z], rows[w], strict=True) if u or v))] = (
            None
        )
    return [_exact_pair(key) for key in distinct]


def _exact_pair(cells: tuple[tuple[fmpq, fmpq, fmpq], ...]) -> Pair:
    """From the exact (mu_x, mu_x', eta) of each message; equal likelihood ratios are merged, which changes nothing."""
    merged: dict[tuple[fmpq, fmpq], fmpq] = {}
    for u, v, low in cells:
        if low > 0:
            key = (u / low, v / low)
            merged[key] = merged.get(key, fmpq(0)) + low
    bare = [(u, v) for u, v, low in cells if low == 0]
    with ctx.workprec(128):
        return Pair(
            doubles([arb(u - v) for u, v in merged]),
            doubles([arb(v) for _, v in merged]),
            doubles([arb(mass) for mass in merged.values()]),
            doubles([arb(u) for u, _ in bare]),
            doubles([arb(v) for _, v in bare]),
        )


def _least(values: list[arb]) -> arb:
    least = values[0]
    for value in values[1:]:
        least = least.min(value)
    return least


@dataclass(frozen=True, slots=True)
class Channel(OfBlanket):
    """Inputs by rows, messages by columns; entries are probabilities and each row sums to 1.

    Rows may miss 1 by 1e-9, as decimal text does; the law accounted for is the row divided by its exact sum.
    To sample from it, `LatticeChannel.of(channel)` is the nearest channel with 64-bit integer probabilities.

    >>> Channel([[0.75, 0.25], [0.25, 0.75]]).gamma
    0.5
    """

    kind: ClassVar[str] = "channel"

    matrix: NDArray[np.float64] = field(repr=False)

    def __init__(self, matrix: ArrayLike) -> None:
        try:
            entries = np.array(matrix, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise InvalidInput("a channel is a table of numbers with rows of one length. Fix the matrix.") from None
        if entries.ndim != 2 or entries.shape[0] < 2 or entries.shape[1] < 2:
            raise InvalidInput(
                f"a channel needs at least 2 rows and 2 columns; got shape {entries.shape}. "
                "Give one row per input and one column per message."
            )
        if not np.isfinite(entries).all() or (entries < 0).any():
            raise InvalidInput("a channel's entries must be finite and at least 0. They are probabilities.")
        if ((entries > 0) & (entries < _SMALLEST)).any():
            raise InvalidInput("a channel has an entry that is too small to compute with. Use 0, or at least 1e-300.")
        sums = [math.fsum(row) for row in entries]
        if any(abs(total - 1) > _ROW_SUM_TOLERANCE for total in sums) and all(
            abs(math.fsum(column) - 1) <= _ROW_SUM_TOLERANCE for column in entries.T
        ):
            raise InvalidInput(
                "the columns of this channel sum to 1, and its rows must: each row is an input, each column a message. "
                "Transpose the matrix."
            )
        for index, total in enumerate(sums):
            if abs(total - 1) > _ROW_SUM_TOLERANCE:
                raise InvalidInput(
                    f"row {index} of the channel sums to {total:.12g}, not 1. Divide the row by its sum."
                )
        entries.setflags(write=False)
        object.__setattr__(self, "matrix", entries)

    def __repr__(self) -> str:
        return f"<Channel: {self.symbols} inputs, {self.messages} messages>"

    @classmethod
    def from_document(cls, document: object) -> Self:
        """The channel of a document."""
        return cls(**fields(document, cls.kind, matrix=several(several(number))))

    def document(self) -> Document:
        """Its matrix as JSON data."""
        return {"kind": self.kind, "matrix": self.matrix.tolist()}

    @classmethod
    def examples(cls) -> list[Self]:
        """Pairs of inputs that agree on some messages, and a message that one input cannot send."""
        return [cls([[0.75, 0.25], [0.5, 0.5], [0.25, 0.75]]), cls([[0.5, 0.5, 0.0], [0.25, 0.5, 0.25]])]

    def blanket(self) -> ChannelBlanket:
        """The privacy blanket of the exactly normalised matrix."""
        rows = []
        for row in self.matrix:
            exact = [Fraction(float(entry)) for entry in row]
            total = sum(exact)
            rows.append(tuple(fmpq((e / total).numerator, (e / total).denominator) for e in exact))
        return ChannelBlanket(rows=tuple(rows), name=self.label)

    def as_run(self) -> "LatticeChannel":
        """The nearest channel with whole numbers of 2^-64."""
        from shuffledp.randomizers.lattice import LatticeChannel

        return LatticeChannel.of(self)

    @property
    def label(self) -> str:
        """The channel in words."""
        return f"{self.symbols} x {self.messages} channel"

    @property
    def symbols(self) -> int:
        """Number of inputs."""
        return int(self.matrix.shape[0])

    @property
    def messages(self) -> int:
        """Number of outputs."""
        return int(self.matrix.shape[1])

    def probability(self, message: NDArray[np.integer] | int, symbol: int) -> NDArray[np.float64]:
        """mu_symbol(message)."""
        return np.asarray(self.matrix[symbol][message])

    def omega(self, message: NDArray[np.integer] | int) -> NDArray[np.float64]:
        """The blanket's probability of a message."""
        floor = self.matrix.min(axis=0)
        if not floor.sum() > 0:
            raise NotDefined("gamma is 0: no message is common to all inputs, so there is no blanket.")
        return np.asarray((floor / floor.sum())[message])

    def left_over(self, message: NDArray[np.integer] | int, symbol: int) -> NDArray[np.float64]:
        """nu_symbol(message) = (mu_symbol - gamma omega) / (1 - gamma)."""
        floor = self.matrix.min(axis=0)
        if not floor.sum() < 1:
            raise NotDefined("gamma is 1: all inputs send the same messages and nothing is left over.")
        return np.asarray(((self.matrix[symbol] - floor) / (1 - floor.sum()))[message])
