"""A range of numbers, cut into equal intervals."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import checks
from shuffledp.core.document import Document, fields, number, whole
from shuffledp.domains.domain import STRICT, Clean, Policy
from shuffledp.domains.listed import Listed, Reals, Symbols
from shuffledp.domains.reals import RealRange


@dataclass(frozen=True, slots=True)
class Intervals(Listed):
    """One of `pieces` equal intervals of [low, high].

    >>> Intervals(4, 0.0, 1.0).names
    ('[0, 0.25)', '[0.25, 0.5)', '[0.5, 0.75)', '[0.75, 1]')
    """

    pieces: int
    low: float
    high: float
    kind = "intervals"

    def __post_init__(self) -> None:
        ends = RealRange(self.low, self.high)
        checks.settle(self, pieces=checks.size(self.pieces), low=ends.low, high=ends.high)

    @property
    def size(self) -> int:
        """How many there are."""
        return self.pieces

    @property
    def range(self) -> RealRange:
        """The numbers that are in some interval."""
        return RealRange(self.low, self.high)

    @property
    def names(self) -> tuple[str, ...]:
        """Both ends of each."""
        edges, ends = self.edge_names, [")"] * (self.size - 1) + ["]"]
        return tuple(f"[{edges[j]}, {edges[j + 1]}{ends[j]}" for j in range(self.size))

    @property
    def edge_names(self) -> tuple[str, ...]:
        """The ends of the intervals with as many digits as tell them apart."""
        return next(
            tuple(texts)
            for digits in range(6, 18)
            if len(set(texts := [f"{edge:.{digits}g}" for edge in self.edges])) == len(texts) or digits == 17
        )

    @property
    def width(self) -> float:
        """How wide each interval is."""
        return (self.high - self.low) / self.size

    @property
    def edges(self) -> Reals:
        """The size + 1 ends of the intervals."""
        j = np.arange(self.size + 1, dtype=np.float64)
        edges = np.asarray((self.low * (self.size - j) + self.high * j) / self.size)
        edges[0], edges[-1] = self.low, self.high  # rounding must not leave an end outside
        return edges

    def check(self, policy: Policy) -> None:
        """As for the numbers."""
        self.range.check(policy)

    def clean(self, raw: Any, policy: Policy = STRICT, first_row: int | None = None) -> Clean:
        """The intervals that the numbers are in."""
        clean = self.range.clean(raw, policy, first_row)
        return Clean(
            values=self._place(clean.values), keep=clean.keep, rejected=clean.rejected, adjusted=clean.adjusted
        )

    def read(self, texts: Sequence[str]) -> NDArray[Any]:
        """An interval by its name, or by a number in it."""
        names = {name: j for j, name in enumerate(self.names)}
        return np.array(
            [names[text] if text in names else int(self.clean([text]).values[0]) for text in texts], dtype=np.int64
        )

    def samples(self) -> list[float]:
        """Where the first intervals begin, and the end."""
        return [*self.edges[: min(4, self.size)].tolist(), self.high]

    def _place(self, values: Reals) -> Symbols:
        edges = self.edges
        places = np.minimum((values - self.low) / (self.high - self.low) * self.size, self.size - 1).astype(np.int64)
        # rounding may be off by one interval: the edges decide
        places -= values < edges[places]
        places += (values >= edges[places + 1]) & (places < self.size - 1)
        return places.astype(np.min_scalar_type(self.size - 1))

    def document(self) -> Document:
        """How many, and of which range."""
        return {"kind": self.kind, "size": self.size, "low": self.low, "high": self.high}

    @classmethod
    def from_document(cls, document: object) -> Self:
        members = fields(document, cls.kind, size=whole, low=number, high=number)
        return cls(members["size"], members["low"], members["high"])
