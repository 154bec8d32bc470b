"""The cells of a table: every combination of groups and a listed value."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import checks
from shuffledp.core.document import Document, fields, several
from shuffledp.domains.domain import STRICT, Clean, Policy
from shuffledp.domains.grouped_rows import Rows, group_document, group_of, line
from shuffledp.domains.intervals import Intervals
from shuffledp.domains.labels import Labels
from shuffledp.domains.listed import Listed
from shuffledp.domains.whole_numbers import WholeNumbers
from shuffledp.errors import InvalidInput

_VALUES: Final[dict[str, type[Listed]]] = {kind.kind: kind for kind in (Labels, WholeNumbers, Intervals)}


@dataclass(frozen=True, slots=True)
class CrossTable(Rows, Listed):
    """One cell of a two-way table, or of one with more ways.

    >>> CrossTable((("sex", Labels(("f", "m"))),), Labels(("no", "yes"))).names
    ('f, no', 'f, yes', 'm, no', 'm, yes')
    """

    by: tuple[tuple[str, Labels], ...]
    value: Listed
    kind = "cross-table"

    def __post_init__(self) -> None:
        self.check_columns()
        checks.size(self.size, name="the number of cells")

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values each column has."""
        return tuple(column.size for column in self._lists)

    @property
    def size(self) -> int:
        """How many cells there are."""
        return math.prod(self.shape)

    @property
    def names(self) -> tuple[str, ...]:
        """A line for each cell."""
        return tuple(line(cells) for cells in product(*(column.names for column in self._lists)))

    @property
    def _lists(self) -> tuple[Listed, ...]:
        return (*(labels for _, labels in self.by), self.value)

    def clean(self, raw: Any, policy: Policy = STRICT, first_row: int | None = None) -> Clean:
        """The cells that rows are in."""
        values, keep, rejected, adjusted = self.clean_columns(raw, policy, first_row)
        symbols = np.ravel_multi_index(tuple(column.astype(np.int64) for column in values), self.shape)
        return Clean(
            values=symbols.astype(np.min_scalar_type(self.size - 1)), keep=keep, rejected=rejected, adjusted=adjusted
        )

    def read(self, texts: Sequence[str]) -> NDArray[Any]:
        """A cell by its line."""
        places = {name: j for j, name in enumerate(self.names)}
        return np.array(
            [places[text] if text in places else int(self.clean([text]).values[0]) for text in texts], dtype=np.int64
        )

    def samples(self) -> list[str]:
        """Lines of cells that differ in all columns."""
        lists = self._lists
        cells = [
            [str(sample) for sample in (column.samples() if column is self.value else column.names)] for column in lists
        ]
        return list(dict.fromkeys(line(column[j % len(column)] for column in cells) for j in range(4)))

    def document(self) -> Document:
        """The groups and the values."""
        return {"kind": self.kind, "by": [group_document(*group) for group in self.by], "value": self.value.document()}

    @classmethod
    def from_document(cls, document: object) -> Self:
        return cls(**fields(document, cls.kind, by=several(group_of), value=_listed))


def _listed(document: Any) -> Listed:
    kind = document.get("kind") if isinstance(document, dict) else None
    if not isinstance(kind, str) or kind not in _VALUES:
        raise InvalidInput(f"the values of a table are of the kind {', '.join(_VALUES)}. Use one of these.")
    return _VALUES[kind].from_document(document)
