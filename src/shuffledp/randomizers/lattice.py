"""Channels that run: every probability is a whole number of 2^-64, so sampler and accountant agree bit for bit."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import ClassVar, Self

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from shuffledp.core import checks
from shuffledp.core.document import Document, fields, number, several, text, word
from shuffledp.core.randomness import WORD, RandomSource, rows_from
from shuffledp.errors import InvalidInput
from shuffledp.randomizers.channel import Channel, ChannelBlanket
from shuffledp.randomizers.of_blanket import OfBlanket


@dataclass(frozen=True, slots=True, kw_only=True)
class LatticeChannel(OfBlanket):
    """Input symbol s sends message m with probability counts[s][m] / 2^64, by table look-up of one random word.

    Attributes:
        counts: one row of integers summing to 2^64 per symbol.
        inputs: the real value each symbol stands for.
        outputs: the real value each message stands for.
        label: in words.
    """

    kind: ClassVar[str] = "lattice"

    counts: tuple[tuple[int, ...], ...] = field(repr=False)
    inputs: tuple[float, ...] = field(repr=False)
    outputs: tuple[float, ...] = field(repr=False)
    label: str

    def __post_init__(self) -> None:
        whole = all(isinstance(count, int) for row in self.counts for count in row)
        if len(self.counts) < 2 or len(self.counts) != len(self.inputs) or not whole:
            raise InvalidInput("a lattice channel needs at least two rows of whole numbers, one row per input.")
        if any(sum(row) != WORD or min(row) < 0 or len(row) != len(self.outputs) for row in self.counts):
            raise InvalidInput("each row of counts needs one entry of at least 0 per message and the sum 2^64.")

    @classmethod
    def of(cls, channel: Channel) -> Self:
        """The nearest channel that runs. Possible messages stay possible and impossible ones impossible."""
        rows = channel.blanket().rows
        return cls(
            counts=tuple(_integer_cells(list(accumulate(row))[:-1], row) for row in rows),
            inputs=tuple(float(i) for i in range(len(rows))),
            outputs=tuple(float(j) for j in range(len(rows[0]))),
            label=f"{channel.label} on 64-bit words",
        )

    @classmethod
    def from_document(cls, document: object) -> Self:
        """The channel that runs, from its document."""
        numbers, table = several(number), several(several(word))
        return cls(**fields(document, cls.kind, counts=table, inputs=numbers, outputs=numbers, label=text))

    def document(self) -> Document:
        """All of it as JSON data."""
        return {
            "kind": self.kind,
            "counts": [[str(count) for count in row] for row in self.counts],
            "inputs": list(self.inputs),
            "outputs": list(self.outputs),
            "label": self.label,
        }

    @classmethod
    def examples(cls) -> list[Self]:
        """A channel with an impossible message, and one of no symmetry."""
        matrices = (
            [[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]],
            [[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4], [0.7, 0.1, 0.1, 0.1]],
        )
        return [cls.of(Channel(matrix)) for matrix in matrices]

    @property
    def symbols(self) -> int:
        """Number of inputs."""
        return len(self.counts)

    @property
    def messages(self) -> int:
        """Number of outputs."""
        return len(self.outputs)

    def blanket(self) -> ChannelBlanket:
        """The blanket of exactly the probabilities that are sampled."""
        rows = tuple(tuple(fmpq(count, WORD) for count in row) for row in self.counts)
        return ChannelBlanket(rows=rows, name=self.label)

    def probability(self, message: NDArray[np.integer] | int, symbol: int) -> NDArray[np.float64]:
        """mu_symbol(message)."""
        return np.asarray(np.array(self.counts[symbol], dtype=np.float64)[message] / WORD)

    def randomize(self, symbols: NDArray[np.integer], randomness: RandomSource, *, first_row: int) -> NDArray[np.int64]:
        """One message per row; a pure function of the symbols and the words at rows first_row, first_row + 1, ...

        Under one key no row may be used for two people or two questions: they would share their coins.
        """
        symbols = checks.symbols(symbols, len(self.counts))
        drawn = randomness.blocks(rows_from(first_row, len(symbols)), 0)[:, 0]
        messages = np.empty(len(symbols), dtype=np.int64)
        for symbol in np.unique(symbols):
            mine = symbols == symbol
            # A boundary at 2^64 does not fit a word, and no word reaches it.
            marks = [mark for mark in accumulate(self.counts[int(symbol)]) if mark < WORD]
            boundaries = np.array(marks, dtype=np.uint64)
            messages[mine] = np.searchsorted(boundaries, drawn[mine], side="right")
        return messages


def discretize(cdf: Callable[[arb], arb], *, inputs: int, outputs: int, reach: float, label: str) -> LatticeChannel:
    """An additive-noise mechanism on [0, 1] as a channel: round its output to a lattice, clamping at both ends.

    Rounding is post-processing, so the ideal channel is at least as private as the continuous law; the integer
    counts are a third thing, and the one whose blanket is accounted for. Real inputs are rounded stochastically to
    the lattice, which makes them mixtures of its rows: by joint convexity the worst pair is a pair of rows.
    """
    checks.size(inputs, name="inputs")
    checks.size(outputs, name="outputs")
    if not 0 < reach < 1e12:
        raise InvalidInput(f"reach must be above 0 and below 1e12; got {reach}. It is how far outputs leave [0, 1].")
    points = [-reach + (1 + 2 * reach) * j / (outputs - 1) for j in range(outputs)]
    values = [i / (inputs - 1) for i in range(inputs)]
    with ctx.workprec(192):
        edges = [(arb(left) + arb(right)) / 2 for left, right in pairwise(points)]
        counts = tuple(_integer_cells([cdf(edge - arb(value)) for edge in edges]) for value in values)
    return LatticeChannel(counts=counts, inputs=tuple(values), outputs=tuple(points), label=label)


def _integer_cells(boundaries: Sequence[arb | fmpq], support: Sequence[fmpq] | None = None) -> tuple[int, ...]:
    """Cells of a CDF in units of 2^-64, each possible one at least 1; what is owed is taken from the largest."""
    with ctx.workprec(192):
        marks = [
            0,
            *(int((arb(b) * WORD + 0.5).mid().floor().unique_fmpz() or 0) for b in boundaries),
            WORD,
        ]
    possible = [support is None or support[j] > 0 for j in range(len(marks) - 1)]
    cells = [max(1, right - left) if ok else 0 for (left, right), ok in zip(pairwise(marks), possible, strict=True)]
    cells[cells.index(max(cells))] += WORD - sum(cells)
    return tuple(cells)
