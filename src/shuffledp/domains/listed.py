"""Domains with finitely many values, each with a name: their clean values are the symbols 0 ... size - 1."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.domains.domain import ALIKE, STRICT, Clean, Domain, Mask, Policy, refusal, settle_missing
from shuffledp.errors import InvalidInput

Reals = NDArray[np.float64]
Symbols = NDArray[np.unsignedinteger]


class Listed(Domain):
    """A list of values. It is public: it comes from the plan, never from the data."""

    __slots__ = ()

    @property
    @abstractmethod
    def size(self) -> int:
        """How many there are."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """One name per value."""

    @property
    def edges(self) -> Reals:
        """The size + 1 ends of the values on an axis."""
        return np.arange(self.size + 1, dtype=np.float64) - 0.5

    def index(self, name: str) -> int:
        """The symbol of that name."""
        if name not in self.names:
            raise InvalidInput(f"{name!r} is not a bin of the plan. Its bins are {_some(self.names)}.")
        return self.names.index(name)

    def read(self, texts: Sequence[str]) -> NDArray[Any]:
        """Symbols of names; what people wrote down themselves is shown if it is none."""
        places = {name: j for j, name in enumerate(self.names)}
        return np.array([places[text] if text in places else self.index(text) for text in texts], dtype=np.int64)


class Lookup(Listed):
    """A list whose values are looked up one by one."""

    __slots__ = ()

    @abstractmethod
    def _find(self, raw: Any, first_row: int | None) -> tuple[NDArray[np.integer], Mask | None, Mask | None]:
        """Symbols; which values are not in the list; which are missing. Their symbols mean nothing."""

    def check(self, policy: Policy) -> None:
        """Numbers are clamped; what a list does not have can only count as something it has."""
        if policy.outside == "clamp":
            raise InvalidInput("`outside='clamp'` is for numbers; for labels use `other=LABEL`.")
        for name in (policy.other, policy.missing_as):
            if name is not None:
                self.index(name)

    def clean(self, raw: Any, policy: Policy = STRICT, first_row: int | None = None) -> Clean:
        """The symbols of the values."""
        self.check(policy)
        found, unknown, missing = self._find(raw, first_row)
        others, alike = 0 if unknown is None else int(unknown.sum()), 0
        if unknown is not None and others and policy.match == "loosely":
            near = self._near(raw, first_row)
            nearly = unknown & (near >= 0)
            found, unknown = np.where(nearly, near, found), unknown & ~nearly
            alike, others = int(nearly.sum()), int(unknown.sum())
        if unknown is not None and others:
            if policy.other is None:
                raise refusal(
                    "is not one of the plan's bins", unknown, first_row, self._remedy(raw, unknown, first_row)
                )
            found = np.where(unknown, self.index(policy.other), found)
        if missing is not None:
            found = np.where(missing, 0, found)
        stand_in = None if policy.missing_as is None else self.index(policy.missing_as)
        symbols = found.astype(np.min_scalar_type(self.size - 1), copy=False)
        clean = settle_missing(symbols, missing, policy, stand_in=stand_in, blank=0, first_row=first_row)
        clean.adjusted.update({reason: count for reason, count in (("other", others), (ALIKE, alike)) if count})
        return clean

    def _near(self, raw: Any, first_row: int | None) -> NDArray[np.int64]:  # noqa: ARG002
        """Symbols of the values that are labels but for case, blanks and ".0"; -1 for others. Numbers have no case."""
        return np.full(len(raw), -1)

    def _remedy(self, raw: Any, unknown: Mask, first_row: int | None) -> str:  # noqa: ARG002
        return "Use another column, or `other=LABEL` to count all such values as one"


def _some(names: tuple[str, ...]) -> str:
    shown = ", ".join(repr(name) for name in names[:8])
    return shown if len(names) <= 8 else f"{shown}, ... ({len(names)} in all)"
