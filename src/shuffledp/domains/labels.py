"""Texts from a list."""

import contextlib
from collections import Counter
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import checks
from shuffledp.core.document import Document, fields, several, text
from shuffledp.domains.columns import distinct_texts, positions
from shuffledp.domains.domain import AS_LABEL, Mask
from shuffledp.domains.listed import Lookup
from shuffledp.domains.raw_value import loosened
from shuffledp.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Labels(Lookup):
    """One of these texts.

    >>> Labels(("no", "yes")).clean(["yes", "no", "yes"]).values.tolist()
    [1, 0, 1]
    """

    texts: tuple[str, ...]
    kind = "labels"

    def __post_init__(self) -> None:
        if not (isinstance(self.texts, tuple) and all(isinstance(text, str) for text in self.texts)):
            raise InvalidInput("labels must be strings. Give a list of strings.")
        if self.size < 2:
            few = "only one label, so that everybody's answer is known" if self.texts else "no label"
            raise InvalidInput(f"there is {few}. Name at least two.")
        checks.size(self.size)
        if len(set(self.texts)) < self.size:
            twice = next(text for text, often in Counter(self.texts).items() if often > 1)
            raise InvalidInput(f"labels must be different texts, and {twice!r} is listed twice. List each one once.")

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.texts)

    @property
    def names(self) -> tuple[str, ...]:
        return self.texts

    @property
    def labels(self) -> tuple[str, ...]:
        """A label may look like "missing"."""
        return self.texts

    def samples(self) -> list[str]:
        return list(self.texts[:5])

    def _find(self, raw: Any, first_row: int | None) -> tuple[NDArray[np.integer], Mask | None, Mask | None]:  # noqa: ARG002
        places, missing = positions(raw, self.texts)
        if missing is None and (len(places) == 0 or places.min() >= 0):
            return places, None, None
        unknown = places < 0 if missing is None else (places < 0) & ~missing
        return places, unknown, missing

    def _near(self, raw: Any, first_row: int | None) -> NDArray[np.int64]:
        """Each different value is compared once."""
        names = Counter(map(loosened, self.texts))
        if names.most_common(1)[0][1] > 1:
            raise InvalidInput(
                "two labels of the plan differ only by case, blanks or a final .0, so they cannot be matched loosely. "
                "Leave out `match='loosely'`."
            )
        texts, places, missing = distinct_texts(raw, first_row)
        where = {loosened(name): j for j, name in enumerate(self.texts)}
        near = np.array([where.get(loosened(text.decode()), -1) for text in texts] or [-1], dtype=np.int64)[places]
        return near if missing is None else np.where(missing, -1, near)

    def _remedy(self, raw: Any, unknown: Mask, first_row: int | None) -> str:
        """What to do about labels that are none; letting them count as another one is the last thing."""
        with contextlib.suppress(InvalidInput):
            texts, places, _ = distinct_texts(raw, first_row)
            if any(self._are_parts(texts[place].decode()) for place in np.unique(places[unknown])):
                return (
                    "Some values contain commas, and their parts are labels of the plan: plan again with such labels whole, on "
                    "the command line in quotation marks or with --labels-file"
                )
            if (self._near(raw, first_row)[unknown] >= 0).any():
                return (
                    "Labels are compared letter by letter, and some would match if case, surrounding blanks and a final .0 "
                    "were ignored: use `match='loosely'`"
                )
        return (
            f"Labels are compared letter by letter: plan with all labels that occur, or use {AS_LABEL} to count all such "
            "values as that label"
        )

    def _are_parts(self, text: str) -> bool:
        """Whether this was split at its commas when the labels were named."""
        parts = text.split(",")
        return len(parts) > 1 and all(part.strip() in self.texts for part in parts)

    def is_number(self, column: str) -> bool:  # noqa: ARG002
        """Texts, even if they look like numbers."""
        return False

    def document(self) -> Document:
        """The labels, in their order."""
        return {"kind": self.kind, "labels": list(self.texts)}

    @classmethod
    def from_document(cls, document: object) -> Self:
        return cls(fields(document, cls.kind, labels=several(text))["labels"])
