"""The interface of a domain: which values a protocol understands, and what becomes of the others."""

import json
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.argument import one_of, truth
from shuffledp.core.document import Document
from shuffledp.domains.raw_value import label_of
from shuffledp.errors import InvalidInput

Mask = NDArray[np.bool_]
_MISSING: Final = ("refuse", "skip")
_OUTSIDE: Final = ("refuse", "clamp")
_MATCH: Final = ("exactly", "loosely")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
"""Halves of characters, which UTF-8 does not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What to do with awkward values.

    Attributes:
        missing: refuse the data, or skip the person. Who is skipped is then not protected: only their value would be.
        missing_as: or let them count as this bin or number; of several columns, a dict with those that have one, or its JSON.
        outside: refuse numbers outside the range, or clamp them to it.
        match: compare labels exactly, letter by letter, or loosely: without regard to case, blanks around them, and ".0".
        other: let values that the plan does not list count as this one; of several columns likewise.
        explain_errors: whether errors say which value does not fit and why, and results how many were adjusted. Where values are
            answers to a query, which somebody may have written to learn about one person, they do so only if this is True.
    """

    missing: Literal["refuse", "skip"] = "refuse"
    missing_as: str | None = None
    outside: Literal["refuse", "clamp"] = "refuse"
    other: str | None = None
    match: Literal["exactly", "loosely"] = "exactly"
    explain_errors: bool | None = None

    def __post_init__(self) -> None:
        for name, words in (("missing", _MISSING), ("outside", _OUTSIDE), ("match", _MATCH)):
            one_of(getattr(self, name), name, words)
        if self.explain_errors is not None:
            truth(self.explain_errors, "explain_errors")
        for name, stand_in in (("missing_as", self.missing_as), ("other", self.other)):
            if isinstance(stand_in, Mapping):
                object.__setattr__(self, name, _as_text(name, stand_in))
            elif stand_in is not None and not isinstance(stand_in, str):
                raise InvalidInput(
                    f"`{name}` is one label or number, or a dict with one for each of several columns; got a "
                    f"{type(stand_in).__name__}. Give e.g. {{'age': 40}}."
                )
            elif stand_in is not None and _SURROGATE.search(stand_in):
                raise InvalidInput(
                    f"`{name}` stands in for other values, so it must be valid UTF-8. Give another text."
                )
        if self.missing == "skip" and self.missing_as is not None:
            raise InvalidInput(
                "missing values are skipped or counted as something. Give one of `missing`, `missing_as`."
            )

    @property
    def adjusts(self) -> bool:
        """Whether values may be changed to fit."""
        return (
            self.missing_as is not None or self.outside == "clamp" or self.other is not None or self.match == "loosely"
        )

    def of(self, *, query: bool) -> Self:
        """What it means for values as they are; or for answers to a query: how many are released depends on none of these."""
        if not query:
            return replace(self, explain_errors=None)
        if self.missing == "skip":
            raise InvalidInput(
                "a query that leaves people out reveals exactly how many they are. Count them as something with `missing_as`, or "
                "say in the query what a missing value means (COALESCE)."
            )
        return replace(self, explain_errors=self.explain_errors is True)


def _as_text(name: str, stand_ins: Mapping[Any, Any]) -> str:
    """What stands in for the values of several columns, as a JSON text."""
    texts = {column: label_of(value) for column, value in stand_ins.items()}
    if not texts or not all(isinstance(text, str) for both in texts.items() for text in both):
        raise InvalidInput(f"`{name}` has a label or a number for each column that it names. Give e.g. {{'age': 40}}.")
    return json.dumps(texts)


STRICT: Final = Policy()
"""Refuse whatever does not fit."""
NO_ANSWER: Final = (
    "the query has no answer for some row, or one that does not fit the plan. Say what such rows count as, with `missing_as` and "
    "`outside` or `other`; if the rows are yours alone, see which one it is with `explain_errors`."
)
"""All that an error says of answers to a query, unless more is asked for."""
OR_SKIP: Final = "`missing='skip'` or "
"""A remedy where people without a value may be left out."""
Label = str | int | float
"""A label, or a number that is one."""
StandIn = Label | Mapping[str, Label]
"""What values count as: one label, or one for each of several columns."""
ALIKE: Final = "alike"
"""Why values were adjusted that are labels but for case, blanks and ".0"."""
NO_VALUE: Final = "is missing"
"""What errors say of a value that there is not."""
AS_VALUE: Final = "`missing_as=VALUE`"
AS_LABEL: Final = "`other=LABEL`"
"""The remedies that name no column."""


def policy_of(policy: Policy, **changes: Any) -> Policy:
    """The policy with what was said besides; None: as it is.

    >>> policy_of(STRICT, missing="skip", other=None) == Policy(missing="skip")
    True
    """
    if not isinstance(policy, Policy):
        raise InvalidInput(
            f"a policy is made with Policy(...); got a {type(policy).__name__}. Say e.g. missing='skip'."
        )
    given = {name: value for name, value in changes.items() if value is not None}
    for name in ("missing_as", "other"):
        if name in given and not isinstance(given[name], Mapping):
            given[name] = label_of(given[name]) or given[name]
    return replace(policy, **given)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clean:
    """Clean values, one per row.

    Attributes:
        values: what the protocol encodes; a row that is not kept has a stand-in.
        keep: which rows take part; None for all.
        rejected: rows that do not, by reason.
        adjusted: values that were changed to fit, by reason.
        within: a range that all values were found to be in; None if nobody has looked.
    """

    values: NDArray[Any] = field(repr=False)
    keep: Mask | None = field(default=None, repr=False)
    rejected: Counter[str] = field(default_factory=Counter)
    adjusted: Counter[str] = field(default_factory=Counter)
    within: tuple[float, float] | None = None


class Domain(ABC):
    """Values that users may hold."""

    __slots__ = ()
    kind: ClassVar[str]
    """Its name in documents and in the registry."""

    @abstractmethod
    def check(self, policy: Policy) -> None:
        """Refuse a policy that makes no sense here, before anything is read."""

    @abstractmethod
    def clean(self, raw: Any, policy: Policy = STRICT, first_row: int | None = None) -> Clean:
        """Clean values of a list, an array or an Arrow column; what does not fit is settled by the policy.

        Values are never shown. `first_row` is the row of the first one in a file, for errors; None for values in memory.
        """

    def lenient(self, policy: Policy) -> Policy:
        """This policy, but every value counts as something, so that only missing ones can be refused."""
        changes: list[dict[str, Any]] = [{"other": str(self.samples()[0])}, {"outside": "clamp"}]
        for change in changes:
            with suppress(InvalidInput):  # numbers have no labels, and labels no range
                self.check(replace(policy, **change))
                policy = replace(policy, **change)
        return policy

    def read(self, texts: Sequence[str]) -> NDArray[Any]:
        """Clean values that people wrote down, e.g. in a table of how many users hold which."""
        return self.clean(list(texts)).values

    @abstractmethod
    def samples(self) -> list[Any]:
        """A few different raw values, at least two: what the conformance suites run protocols on."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Texts that are values even if they look like "missing"."""
        return ()

    @property
    def can_list_more(self) -> bool:
        """Whether another plan can have a label for whoever has no value: numbers have none."""
        return bool(self.labels)

    @property
    def row_length(self) -> int:
        """How many numbers a value has, so that no more rows are read at once than fit."""
        return 1

    @property
    def table_columns(self) -> tuple[str, ...]:
        """Names of the columns of a table that a person's value is made of; none if it is a single one, whatever its name."""
        return ()

    @property
    def beside(self) -> tuple[str, ...]:
        """Columns of a table that belong to a value, beside the one that is named when the table is read."""
        return ()

    def is_number(self, column: str) -> bool:  # noqa: ARG002
        """Whether cells of this column of a table are numbers, however they are written; others are texts as they stand."""
        return True

    @abstractmethod
    def document(self) -> Document:
        """JSON data from which `from_document` builds the same domain."""

    @classmethod
    @abstractmethod
    def from_document(cls, document: object) -> Self:
        """The domain of a document; anything unexpected in it is refused."""


class Numeric(Domain):
    """Numbers. They are not listed, so none is another one's name."""

    __slots__ = ()

    def check(self, policy: Policy) -> None:
        if policy.other is not None:
            raise InvalidInput("`other` is for histograms with labels; for numbers use `outside='clamp'`.")
        self._stand_in(policy)

    @abstractmethod
    def _stand_in(self, policy: Policy) -> Any:
        """What a missing value counts as; None if nothing was said. Refused if that is none of the numbers."""


def settle_missing(
    values: NDArray[Any], missing: Mask | None, policy: Policy, *, stand_in: Any, blank: Any, first_row: int | None
) -> Clean:
    """Replace, skip or refuse what is missing. `stand_in` is the policy's missing_as as a clean value; `blank` is any."""
    if missing is None or not missing.any():
        return Clean(values=values)
    count = int(missing.sum())
    if policy.missing_as is None and policy.missing == "refuse":
        raise refusal(NO_VALUE, missing, first_row, what_if_missing(policy))
    skipped = policy.missing_as is None
    return Clean(
        values=np.where(missing, blank if skipped else stand_in, values).astype(values.dtype, copy=False),
        keep=~missing if skipped else None,
        rejected=Counter(missing=count) if skipped else Counter(),
        adjusted=Counter() if skipped else Counter(missing=count),
    )


def what_if_missing(policy: Policy, stand_in: str = "VALUE") -> str:
    """The remedy, in an error that names its row."""
    if policy.explain_errors is not None:
        return f"The query fails there, or a column that it names is empty. Use `missing_as={stand_in}`"
    return f"Use {OR_SKIP}`missing_as={stand_in}`"


def refusal(what: str, where: Mask, first_row: int | None, remedy: str) -> InvalidInput:
    """An error about the first of the marked rows that does not show its value."""
    if first_row is None:
        if len(where) == 1:
            return InvalidInput(f"the value {what}. Give another one.")
        return InvalidInput(f"a value {what}. {remedy}.")
    first = int(np.argmax(where)) if where.any() else 0
    return InvalidInput(f"in data row {first_row + first + 1:,} the value {what}. {remedy}.")
