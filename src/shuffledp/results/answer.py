"""How an answer is read in Python, whether it was just given or comes from a file."""

import math
import operator
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.data_frame import data_frame
from shuffledp.core.digits import counted, rounded_up
from shuffledp.core.display import figure_of, page_of
from shuffledp.core.document import Document
from shuffledp.core.estimate import Entry, Estimate
from shuffledp.core.files import place_of, save_json
from shuffledp.core.guarantee import Guarantee
from shuffledp.domains.raw_value import label_of
from shuffledp.errors import InvalidInput, unknown
from shuffledp.planning.release_cost import Spend
from shuffledp.results.text import in_words

_WHOLE: Final = re.compile(r"-?\d+")
_SHARE: Final = re.compile(r"0?\.\d+|median")
"""What people ask for who look for a quantile."""


_TABLES: Final = frozenset({".csv", ".tsv", ".parquet", ".feather", ".arrow", ".xlsx", ".xls"})


class Answer(ABC):
    """An answer's entries by name or place, as data, in words and as a picture."""

    __slots__ = ()
    estimate: Estimate
    guarantee: Guarantee | None
    unit: str | None
    truth: NDArray[np.float64] | None

    @property
    @abstractmethod
    def question(self) -> str:
        """The name of the question, e.g. histogram."""

    @property
    @abstractmethod
    def spend(self) -> Spend | None:
        """What the answer costs, for the accountant; None if it cannot compose it."""

    @abstractmethod
    def whole(self) -> Document:
        """All that is known of it as JSON data, with what is read off it."""

    @property
    def n(self) -> int:
        """Number of valid reports."""
        return self.estimate.n

    @property
    def names(self) -> tuple[str, ...]:
        """What each entry of the estimate is."""
        return self.estimate.names

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(
                f"an answer has no attribute {name!r}. Its numbers are its entries: answer.to_dict(), or answer[name] with one "
                "of answer.names."
            )

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.estimate.entries())

    def __getitem__(self, name: object) -> Entry:
        """The entry of this name, or at this place.

        A label that is a number or a truth value is found by it, and an entry of several labels by all of them: `answer[1]`,
        `answer[True]`, `answer["f", "yes"]`. A question of a survey that has one entry is found by its name. A whole number is
        a place only where no label is one.

        >>> from shuffledp import plan, run
        >>> answer = run(plan("query", n=1000, epsilon=1.0, delta=1e-6), [0, 1] * 500, query=float)
        >>> answer["query"].low < 0.5 < answer["query"].high
        True
        """
        entries, labels = (
            self.estimate.entries(),
            [label_of(label) for label in (name if isinstance(name, tuple) else [name])],
        )
        texts = [text.join(label or "" for label in labels) for text in (", ", ": ")]
        for text in texts:
            if text in self.names:
                return entries[self.names.index(text)]
        if not isinstance(name, str | bool | tuple) and not any(map(_WHOLE.fullmatch, self.names)):
            try:
                return entries[operator.index(name)]  # type: ignore[arg-type]
            except IndexError:
                raise InvalidInput(
                    f"there are {counted(len(entries), 'entry').replace('entrys', 'entries')}, counted from 0, and none at "
                    "this position. Ask for one of them, or for a name."
                ) from None
            except TypeError:
                pass
        if None in labels:
            raise InvalidInput(
                f"an entry is found by its name or position, not by a {type(name).__name__}. Ask for a name: names lists them."
            )
        return self._of_question(texts[0])

    def _of_question(self, name: str) -> Entry:
        """The only entry of a question of a survey; refused, with what to ask for, if there is none of this name."""
        inside = [entry.removeprefix(f"{name}: ") for entry in self.names if entry.startswith(f"{name}: ")]
        if len(inside) == 1:
            return self[name, inside[0]]
        if inside:
            raise InvalidInput(
                f"{name!r} has {len(inside)} entries. Ask for one of them, e.g. answer[{name!r}, {inside[0]!r}]."
            )
        if _SHARE.fullmatch(name) and hasattr(getattr(self, "statistics", None), "quantile"):
            raise InvalidInput(
                f"there is no entry {name!r}: entries are counts, e.g. answer[{self.names[0]!r}]. A quantile is "
                "answer.quantile(0.5)."
            )
        raise unknown("entry", name, self.names)

    def to_dict(
        self, *, confidence: float | None = None, simultaneous: bool | None = None
    ) -> dict[str, dict[str, Any]]:
        """The entries by name: estimate, standard error, interval, and the truth if it was asked for; None for no number."""
        entries = self.estimate.entries(**_given(confidence, simultaneous))
        truths = [{}] * len(entries) if self.truth is None else [{"truth": value} for value in self.truth.tolist()]
        return {
            entry.name: {key: _known(value) for key, value in (entry._asdict() | truth).items() if key != "name"}
            for entry, truth in zip(entries, truths, strict=True)
        }

    def columns(self, *, confidence: float | None = None, simultaneous: bool | None = None) -> dict[str, Any]:
        """The entries as columns, of which any library makes a data frame: name, estimate, standard error, interval, truth."""
        columns = self.estimate.columns(**_given(confidence, simultaneous))
        return columns | ({} if self.truth is None else {"truth": self.truth})

    def to_frame(self, *, confidence: float | None = None, simultaneous: bool | None = None) -> Any:
        """The entries as a data frame of pandas."""
        return data_frame(self.columns(confidence=confidence, simultaneous=simultaneous))

    def save(self, path: Path | str) -> None:
        """Write the answer to a file, whole or not at all, as `shuffledp run -o` does; `Result.load` reads it."""
        if place_of(path).suffix.lower() in _TABLES:
            raise InvalidInput(
                f"an answer is saved as JSON, and {place_of(path).name} is not a name for it. Use one that ends in .json; "
                "to_frame() gives the entries as a table."
            )
        save_json(path, self.whole())

    def plot(self) -> Any:
        """A picture of the estimates with their intervals."""
        return figure_of(self)

    def __str__(self) -> str:
        return in_words(self.whole(), self.unit, self.guarantee)

    def __repr__(self) -> str:
        promise = "no guarantee"
        if self.guarantee is not None:
            promise = f"epsilon = {rounded_up(self.guarantee.epsilon)}, delta = {rounded_up(self.guarantee.delta)}"
        return f"<{type(self).__name__}: {self.question} of {counted(self.n, 'report')}, {promise}>"

    def _repr_html_(self) -> str:
        return page_of(self)


def _given(confidence: float | None, simultaneous: bool | None) -> dict[str, Any]:
    given = {"confidence": confidence, "simultaneous": simultaneous}
    return {name: value for name, value in given.items() if value is not None}


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
