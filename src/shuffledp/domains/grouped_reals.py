"""A group and a number."""

import math
from dataclasses import dataclass
from itertools import product
from typing import Any, Self

import numpy as np

from shuffledp.core import checks
from shuffledp.core.document import Document, fields, several
from shuffledp.domains.domain import STRICT, Clean, Policy
from shuffledp.domains.grouped_rows import Rows, group_document, group_of, line
from shuffledp.domains.labels import Labels
from shuffledp.domains.reals import RealRange


@dataclass(frozen=True, slots=True)
class GroupedReals(Rows):
    """A number of a range, and the group of whoever holds it: one label, or one of each of several columns.

    A clean value has the fields "group", counted through all combinations of labels, and "value".

    >>> GroupedReals((("carrier", Labels(("AA", "DL"))),), RealRange(0.0, 60.0)).clean(["DL, 12.5"]).values.tolist()
    [(1, 12.5)]
    """

    by: tuple[tuple[str, Labels], ...]
    value: RealRange
    kind = "grouped-reals"

    def __post_init__(self) -> None:
        self.check_columns()
        checks.size(self.groups, name="the number of groups")

    @property
    def groups(self) -> int:
        """How many there are."""
        return math.prod(labels.size for _, labels in self.by)

    @property
    def group_names(self) -> tuple[str, ...]:
        """A label, or several with commas between them."""
        return tuple(line(cells) for cells in product(*(labels.names for _, labels in self.by)))

    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy type of clean values: a group and a number."""
        return np.dtype([("group", np.min_scalar_type(self.groups - 1)), ("value", np.float64)])

    def clean(self, raw: Any, policy: Policy = STRICT, first_row: int | None = None) -> Clean:
        (*groups, numbers), keep, rejected, adjusted = self.clean_columns(raw, policy, first_row)
        values = np.empty(len(numbers), dtype=self.dtype)
        shape = tuple(labels.size for _, labels in self.by)
        values["group"] = np.ravel_multi_index(tuple(column.astype(np.int64) for column in groups), shape)
        values["value"] = numbers
        return Clean(values=values, keep=keep, rejected=rejected, adjusted=adjusted)

    def samples(self) -> list[str]:
        """Both ends and some between, in different groups."""
        names = self.group_names
        return [f"{names[j % len(names)]}, {number!r}" for j, number in enumerate(self.value.samples())]

    def document(self) -> Document:
        """The groups and the range."""
        return {"kind": self.kind, "by": [group_document(*group) for group in self.by], "value": self.value.document()}

    @classmethod
    def from_document(cls, document: object) -> Self:
        return cls(**fields(document, cls.kind, by=several(group_of), value=RealRange.from_document))
