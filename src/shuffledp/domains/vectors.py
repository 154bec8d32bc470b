"""Rows of numbers, all equally long: points of a ball, or of a box, and what becomes of those outside."""

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import checks
from shuffledp.core.digits import about
from shuffledp.core.document import Document, fields, number, several, text, whole
from shuffledp.domains.domain import STRICT, Clean, Mask, Numeric, Policy, refusal, what_if_missing
from shuffledp.domains.vector_rows import matrix_of
from shuffledp.errors import InvalidInput

Reals = NDArray[np.float64]
MOST_ENTRIES: Final = 1 << 20
"""The most entries of a row: with more, inner products of whole numbers would not stay exact."""
_LARGEST: Final = 1e100


class Vectors(Numeric):
    """Rows of `dimension` numbers, each of a column that may have a name.

    A clean value has one field, "row", whose numbers are in the units they were given in. What a protocol averages are entries of
    or made of them (`averaged`), which it works with as a point of the unit ball (`into_ball`).
    """

    __slots__ = ()
    columns: tuple[str, ...]

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Entries that are averaged."""

    @property
    def width(self) -> int:
        """Numbers in a row."""
        return self.dimension

    @property
    @abstractmethod
    def middle(self) -> Reals:
        """What becomes the middle of the unit ball, in one number or in one for each entry."""

    @property
    def centre(self) -> Reals:
        """The row in the middle of all that are possible, likewise."""
        return self.middle

    @property
    @abstractmethod
    def radii(self) -> Reals:
        """How much of each entry is 1 in the unit ball."""

    @property
    def diameter(self) -> float:
        """How far apart the entries of two rows can be."""
        return 2 * math.sqrt(self.squares[1])

    @property
    def squares(self) -> tuple[float, float]:
        """The least and the greatest square of the distance of a row's entries from the middle."""
        return 0.0, float(np.square(self.radii).mean())

    @property
    @abstractmethod
    def most_squares(self) -> Reals:
        """The greatest square of each entry of a point of the unit ball."""

    @abstractmethod
    def off_by(self, share: float) -> str:
        """An error of one entry, given in radii of the unit ball, in words."""

    @abstractmethod
    def _outside(self, rows: Reals) -> NDArray[np.bool_]:
        """Which rows are no points of the ball or box."""

    @abstractmethod
    def _moved_in(self, rows: Reals) -> Reals:
        """The nearest points of the ball or box."""

    @property
    @abstractmethod
    def limits(self) -> str:
        """Where rows must be, in words."""

    @property
    def names(self) -> tuple[str, ...]:
        """One for each entry."""
        return self.columns or tuple(f"x{j + 1}" for j in range(self.dimension))

    @property
    def row_length(self) -> int:
        return self.dimension

    @property
    def table_columns(self) -> tuple[str, ...]:
        """Those that have names; a table without them has one column of lists."""
        return self.columns

    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy type of clean values: a row of numbers."""
        return np.dtype([("row", np.float64, (self.width,))])

    def rows(self, values: NDArray[Any]) -> Reals:
        """The numbers of clean values, a row each."""
        if values.dtype.names != ("row",) or values.dtype["row"].shape != (self.width,):
            if len(values) == 0:
                return np.empty((0, self.width))
            raise InvalidInput("these are not rows of the plan. Clean the rows first.")
        return np.asarray(values["row"])

    def averaged(self, values: NDArray[Any]) -> Reals:
        """The entries of clean values whose means are asked for, a row each."""
        return self.rows(values)

    def into_ball(self, values: NDArray[Any]) -> Reals:
        """Clean values as points of the unit ball."""
        return (self.averaged(values) - self.middle) / self.radii

    def clean(self, raw: Any, policy: Policy = STRICT, first_row: int | None = None) -> Clean:
        """The rows, all in the ball or box. One that lacks a number is missing; one that is infinite is refused."""
        self.check(policy)
        rows = matrix_of(raw, self.width, self.columns, first_row)
        missing: Mask = np.asarray(np.isnan(rows).any(axis=1))
        adjusted, rejected = Counter[str](), Counter[str]()
        if missing.any():
            stand_in = self._stand_in(policy)
            if stand_in is None and policy.missing == "refuse":
                raise refusal("is missing", missing, first_row, what_if_missing(policy, "ROW"))
            rows = np.where(missing[:, None], 0.0 + self.centre if stand_in is None else stand_in, rows)
            (rejected if stand_in is None else adjusted)["missing"] += int(missing.sum())
        infinite: Mask = np.asarray(np.isinf(rows).any(axis=1))
        if infinite.any():
            raise refusal("is infinite", infinite, first_row, "Give finite numbers")
        outside = self._outside(rows)
        if outside.any():
            if policy.outside == "refuse":
                raise refusal(f"is outside {self.limits}", outside, first_row, "Use `outside='clamp'`, or a wider plan")
            rows = rows.copy()
            rows[outside] = self._moved_in(rows[outside])
            adjusted["clamped"] += int(outside.sum())
        return Clean(
            values=self._cleaned(rows),
            keep=~missing if rejected else None,
            rejected=rejected,
            adjusted=adjusted,
        )

    def samples(self) -> list[str]:
        """Two opposite points, the middle, and one beside it, as lines of text."""
        return [",".join(map(repr, point.tolist())) for point in self.rows(self.landmarks())]

    def landmarks(self) -> NDArray[Any]:
        """Two opposite points, the middle, and one beside it, as clean values."""
        return self._cleaned(self.centre + np.outer((1.0, -1.0, 0.0, 0.3), self._edge()))

    def _cleaned(self, rows: Reals) -> NDArray[Any]:
        return np.ascontiguousarray(rows).view(self.dtype).reshape(-1)

    @abstractmethod
    def _edge(self) -> Reals:
        """From the middle to a point that is as far from it as any, and whose opposite is another one."""

    def _stand_in(self, policy: Policy) -> Reals | None:
        if policy.missing_as is None:
            return None
        try:
            row = matrix_of([policy.missing_as], self.width, self.columns, None)
        except InvalidInput:
            row = np.full((1, self.width), np.nan)
        if not np.isfinite(row).all() or self._outside(row).any():
            raise InvalidInput(
                f"`missing_as` must be {self.width:,} numbers with commas between, in {self.limits}. Write such a row."
            )
        return np.asarray(row[0])


@dataclass(frozen=True, slots=True)
class Ball(Vectors):
    """Rows that are at most `norm` long.

    >>> Ball(2, 5.0).rows(Ball(2, 5.0).clean([[6.0, 8.0]], Policy(outside="clamp")).values).tolist()
    [[3.0, 4.0]]
    """

    size: int
    norm: float = 1.0
    columns: tuple[str, ...] = ()
    kind = "ball"

    def __post_init__(self) -> None:
        checks.settle(self, size=entries(self.size), norm=checks.real(self.norm, "norm"))
        if not 1 / _LARGEST <= self.norm <= _LARGEST:
            raise InvalidInput(f"`norm` must be above 0; got {self.norm}. Give the length that hardly any row exceeds.")
        _check_names(self.columns, self.size)

    @property
    def dimension(self) -> int:
        return self.size

    @property
    def middle(self) -> Reals:
        return np.zeros(1)

    @property
    def radii(self) -> Reals:
        return np.full(1, self.norm)

    @property
    def most_squares(self) -> Reals:
        return np.ones(1)

    @property
    def limits(self) -> str:
        return f"the ball of radius {self.norm:.6g}"

    def off_by(self, share: float) -> str:
        return f"one entry is off by at most {about(share * self.norm)}"

    def _outside(self, rows: Reals) -> NDArray[np.bool_]:
        return np.asarray(_lengths(rows, self.norm) > 1 + 1e-12)

    def _moved_in(self, rows: Reals) -> Reals:
        """Rows that are too long, cut to the longest that is allowed in their direction."""
        scaled = rows / np.abs(rows).max(axis=1)[:, None]  # whose squares are not too large
        return np.asarray(scaled / _lengths(scaled, 1.0)[:, None] * self.norm)

    def _edge(self) -> Reals:
        """Along the first axis, but for a hundredth, so that no entry is constant."""
        way = np.full(self.size, 0.01)
        way[0] = 1.0
        return np.asarray(way / np.linalg.norm(way) * self.norm * (1 - 1e-9))

    def document(self) -> Document:
        return {"kind": self.kind, "dimension": self.size, "norm": self.norm, "columns": list(self.columns)}

    @classmethod
    def from_document(cls, document: object) -> Self:
        found = fields(document, cls.kind, dimension=whole, norm=number, columns=several(text))
        return cls(found["dimension"], found["norm"], found["columns"])


@dataclass(frozen=True, slots=True)
class Box(Vectors):
    """Rows each of whose columns has a range of its own. The box is scaled into the ball that touches its corners.

    >>> Box((0.0, 0.0), (1.0, 100.0), ("share", "age")).into_ball(Box((0.0, 0.0), (1.0, 100.0)).clean(["0.5,50"]).values).tolist()
    [[0.0, 0.0]]
    """

    lows: tuple[float, ...]
    highs: tuple[float, ...]
    columns: tuple[str, ...] = ()
    _ends: tuple[Reals, Reals] = field(init=False, repr=False, compare=False)
    kind = "box"

    def __post_init__(self) -> None:
        lows, highs = (
            tuple(checks.real(end, "the end of a range") for end in ends) for ends in (self.lows, self.highs)
        )
        checks.settle(self, lows=lows, highs=highs, _ends=(np.array(lows), np.array(highs)))
        entries(len(lows))
        if len(lows) != len(highs):
            raise InvalidInput("every column needs a range, from its least to its greatest value. Give both for each.")
        for low, high in zip(lows, highs, strict=True):
            if not (abs(low) <= _LARGEST and abs(high) <= _LARGEST and high - low >= 1 / _LARGEST):
                raise InvalidInput(f"a range is from a number to a larger one; got {low} and {high}. Give such ends.")
        _check_names(self.columns, len(lows))

    @property
    def dimension(self) -> int:
        return len(self.lows)

    @property
    def middle(self) -> Reals:
        return self.centre

    @property
    def centre(self) -> Reals:
        return np.asarray((self._ends[0] + self._ends[1]) / 2)

    @property
    def halves(self) -> Reals:
        """Half of each range."""
        return np.asarray((self._ends[1] - self._ends[0]) / 2)

    @property
    def radii(self) -> Reals:
        """Half of each range, times the root of their number: corners are 1 from the middle."""
        return self.halves * math.sqrt(self.dimension)

    @property
    def most_squares(self) -> Reals:
        return np.full(1, 1 / self.dimension)

    @property
    def limits(self) -> str:
        return "the ranges of the columns"

    def off_by(self, share: float) -> str:
        """In words, an error that is this share of each column's range."""
        return f"each column is off by at most {about(50 * share * math.sqrt(self.dimension))} % of its range"

    def _outside(self, rows: Reals) -> NDArray[np.bool_]:
        return np.asarray(((rows < self._ends[0]) | (rows > self._ends[1])).any(axis=1))

    def _moved_in(self, rows: Reals) -> Reals:
        return np.clip(rows, *self._ends)

    def _edge(self) -> Reals:
        return self.halves

    def document(self) -> Document:
        return {"kind": self.kind, "lows": list(self.lows), "highs": list(self.highs), "columns": list(self.columns)}

    @classmethod
    def from_document(cls, document: object) -> Self:
        numbers = several(number)
        return cls(**fields(document, cls.kind, lows=numbers, highs=numbers, columns=several(text)))


def entries(dimension: Any) -> int:
    """How many numbers rows have: from 1 to about a million."""
    count = checks.whole(dimension, "`dimension`", "Give how many numbers a row has, e.g. 10.")
    if not 1 <= count <= MOST_ENTRIES:
        raise InvalidInput(f"rows have 1 to {MOST_ENTRIES:,} numbers; got {count:,}. Give another `dimension`.")
    return count


def _lengths(rows: Reals, norm: float) -> Reals:
    """How long rows are, in units of a norm: entries are scaled first, so that no square is too large."""
    with np.errstate(over="ignore"):
        scaled = rows / norm
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", scaled, scaled)))


def _check_names(columns: Sequence[str], dimension: int) -> None:
    if columns and len(columns) != dimension:
        raise InvalidInput(
            f"rows have {dimension:,} numbers, and {len(columns):,} columns are named. Name all or none."
        )
    if len(set(columns)) < len(columns) or not all(name and name == name.strip() for name in columns):
        raise InvalidInput("columns have different names, without space around. Name each one.")
