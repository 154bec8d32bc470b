"""What the symbols of a histogram stand for. Bins are public: they come from the plan, never from the data."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import checks
from shuffledp.errors import InvalidInput

Symbols = NDArray[np.unsignedinteger]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bins:
    """Labels, or equal intervals of [low, high], or just the numbers 0 ... size - 1.

    >>> Bins(size=2, labels=("no", "yes")).encode(["yes", "no", "yes"]).tolist()
    [1, 0, 1]
    >>> Bins(size=4, low=0.0, high=1.0).names
    ('[0, 0.25)', '[0.25, 0.5)', '[0.5, 0.75)', '[0.75, 1]')
    """

    size: int
    labels: tuple[str, ...] | None = None
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        checks.size(self.size)
        if self.labels is not None and not (
            len(self.labels) == len(set(self.labels)) == self.size and all(isinstance(x, str) for x in self.labels)
        ):
            raise InvalidInput(f"labels must be {self.size} different texts. Say each one once.")
        if (self.low is None) != (self.high is None) or (self.labels is not None and self.low is not None):
            raise InvalidInput("bins have labels, or both low and high, or neither. Leave one out.")
        if self.low is not None and self.high is not None:
            interval(self.low, self.high)

    @property
    def numeric(self) -> bool:
        """Whether bins are intervals of a range of numbers."""
        return self.low is not None

    @property
    def names(self) -> tuple[str, ...]:
        """One name a bin."""
        if self.labels is not None:
            return self.labels
        if not self.numeric:
            return tuple(str(j) for j in range(self.size))
        edges = next(
            texts
            for digits in range(6, 18)
            if len(set(texts := [f"{edge:.{digits}g}" for edge in self.edges])) == len(texts) or digits == 17
        )
        ends = [")"] * (self.size - 1) + ["]"]
        return tuple(f"[{edges[j]}, {edges[j + 1]}{ends[j]}" for j in range(self.size))

    @property
    def edges(self) -> NDArray[np.float64]:
        """The size + 1 ends of the intervals; for other bins the positions between them."""
        if self.low is None or self.high is None:
            return np.arange(self.size + 1, dtype=np.float64) - 0.5
        j = np.arange(self.size + 1, dtype=np.float64)
        edges = np.asarray((self.low * (self.size - j) + self.high * j) / self.size)
        edges[0], edges[-1] = self.low, self.high  # rounding must not leave an end outside
        return edges

    def index(self, name: str) -> int:
        """The bin of that name."""
        if name not in self.names:
            raise InvalidInput(f"{name!r} is not a bin of the plan. Its bins are {_some(self.names)}.")
        return self.names.index(name)

    def encode(self, values: Any) -> Symbols:
        """The bins of clean values; a value in none of them is refused without being shown."""
        if self.labels is not None:
            where = {label: j for j, label in enumerate(self.labels)}
            found = [where.get(value, -1) if isinstance(value, str) else -1 for value in values]
            if -1 in found:
                raise InvalidInput("a value is not one of the plan's labels. Map it to a label or drop it first.")
            return np.array(found, dtype=np.min_scalar_type(self.size - 1))
        if self.numeric:
            return self.place(checks.numbers(values))
        return checks.symbols(np.asarray(values), self.size)

    def place(self, values: NDArray[np.float64]) -> Symbols:
        """The intervals of numbers in [low, high]."""
        low, high = self.low or 0.0, self.high or 0.0
        if len(values) and not (values.min() >= low and values.max() <= high):
            raise InvalidInput(f"a value is outside [{low}, {high}] or not a number. Clamp or drop it first.")
        edges = self.edges
        found = np.minimum((values - low) / (high - low) * self.size, self.size - 1).astype(np.int64)
        # rounding may be off by one bin: the edges decide
        found -= values < edges[found]
        found += (values >= edges[found + 1]) & (found < self.size - 1)
        return found.astype(np.min_scalar_type(self.size - 1))


def interval(low: float, high: float) -> tuple[float, float]:
    """A range of numbers wide enough to divide and narrow enough to measure."""
    for name, value in (("low", low), ("high", high)):
        if not abs(checks.real(value, name)) <= 1e100:
            raise InvalidInput(
                f"{name} must be a number from -1e100 to 1e100; got {value}. Give the range of the values."
            )
    if not high - low >= 1e-100:
        raise InvalidInput(f"low must be below high; got {low} and {high}. Give the range of the values.")
    return low, high


def _some(names: tuple[str, ...]) -> str:
    shown = ", ".join(repr(name) for name in names[:8])
    return shown if len(names) <= 8 else f"{shown}, ... ({len(names)} in all)"
