"""Rows of several columns: a person's group, or groups, and a value.

A row is a record with a field for each column, or a line of text with a cell for each, as in a CSV file.
"""

import csv
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.document import Document, fields, several, text
from shuffledp.domains.columns import distinct_texts, is_arrow
from shuffledp.domains.domain import NO_VALUE, Domain, Mask, Policy, refusal, what_if_missing
from shuffledp.domains.labels import Labels
from shuffledp.errors import InvalidInput

VALUE: Final = "value"
"""What the column of values is called in a row, whatever it is called in a table."""


class Column(NamedTuple):
    """One cell of every row."""

    name: str
    domain: Domain


class CleanColumns(NamedTuple):
    """Clean values, column by column; which rows take part, None for all; what was rejected and adjusted."""

    values: list[NDArray[Any]]
    keep: Mask | None
    rejected: Counter[str]
    adjusted: Counter[str]


class Rows(Domain):
    """Several columns, of which the last holds the values."""

    __slots__ = ()
    by: tuple[tuple[str, Labels], ...]
    value: Domain

    @property
    def columns(self) -> tuple[Column, ...]:
        """All, in the order of their cells."""
        return (*(Column(name, labels) for name, labels in self.by), Column(VALUE, self.value))

    @property
    def beside(self) -> tuple[str, ...]:
        """The columns of the groups."""
        return tuple(name for name, _ in self.by)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(label for column in self.columns for label in column.domain.labels))

    @property
    def can_list_more(self) -> bool:
        return self.value.can_list_more

    def is_number(self, column: str) -> bool:
        return column not in self.beside and self.value.is_number(column)

    @abstractmethod
    def samples(self) -> list[str]:
        """Some values as lines of text, their columns separated by commas."""

    def check_columns(self) -> None:
        """Refuse groups that cannot be told apart."""
        names = self.beside
        if not names or not all(isinstance(name, str) and name.strip() for name in names):
            raise InvalidInput("the column of groups needs a name. Write e.g. by carrier=AA,DL.")
        if len({*names, VALUE}) <= len(names):
            raise InvalidInput(
                f"every column of groups needs a name of its own, and not {VALUE!r}. Rename or leave out one."
            )

    def check(self, policy: Policy) -> None:
        """What stands in for something else must be a cell of some column."""
        self._policies(policy)

    def clean_columns(self, raw: Any, policy: Policy, first_row: int | None) -> CleanColumns:
        """Each column by its own domain; a row with a missing cell is missing."""
        settled = self._policies(policy)
        values, skipped, replaced, adjusted = list[NDArray[Any]](), None, None, Counter[str]()
        for column, rule, cells in zip(self.columns, settled, _columns(raw, self.columns, first_row), strict=True):
            lenient = replace(rule, missing="skip", missing_as=None)
            try:
                cleaned = column.domain.clean(cells, lenient, first_row)
                if cleaned.keep is not None and rule.missing == "refuse" and rule.missing_as is None:
                    raise refusal(NO_VALUE, ~cleaned.keep, first_row, what_if_missing(policy))
            except InvalidInput as refused:
                raise _in_column(column, refused) from None
            clean = cleaned.values
            if cleaned.keep is not None:
                missing = ~cleaned.keep
                if rule.missing_as is None:
                    skipped = missing if skipped is None else skipped | missing
                else:
                    clean = np.where(missing, column.domain.clean([rule.missing_as]).values[0], clean)
                    clean = clean.astype(cleaned.values.dtype, copy=False)
                    replaced = missing if replaced is None else replaced | missing
            values.append(clean)
            adjusted += cleaned.adjusted
        if replaced is not None:
            stays = replaced if skipped is None else replaced & ~skipped
            adjusted += Counter(missing=int(stays.sum()))
        rejected = Counter() if skipped is None else Counter(missing=int(skipped.sum()))
        return CleanColumns(values, None if skipped is None else ~skipped, rejected, adjusted)

    def _policies(self, policy: Policy) -> list[Policy]:
        """What the policy says about each column: a text is a line with a cell for each, or one cell for those that have it."""
        policies = [Policy(missing=policy.missing)] * len(self.columns)
        changes: list[tuple[str, Any]] = []
        if policy.outside != "refuse":
            changes.append(("outside", [policy.outside] * len(policies)))
        for name, given in (("missing_as", policy.missing_as), ("other", policy.other)):
            if given is not None:
                changes.append((name, self._cells(given)))
        for name, cells in changes:
            taken = False
            refused = None
            for j, (column, cell) in enumerate(zip(self.columns, cells, strict=True)):
                if not cell:
                    continue
                try:
                    column.domain.check(Policy(**{name: cell}))
                except InvalidInput as error:
                    refused = error
                    if len(set(cells)) == 1:  # one cell for all columns that have it
                        continue
                    raise _in_column(column, error) from None
                taken, policies[j] = True, replace(policies[j], **{name: cell})
            if refused is not None and not taken:
                if name == "outside":
                    raise refused
                raise InvalidInput(
                    f"none of the columns {_listed(self.columns)} has {cells[0]!r}. Use a value that one of them has."
                )
        return policies

    def _cells(self, text: str) -> list[str | None]:
        cells = split_line(text)
        if cells is not None and len(cells) == 1:
            return [cells[0] or None] * len(self.columns)
        if cells is None or len(cells) != len(self.columns):
            raise InvalidInput(
                f"a row has the columns {_listed(self.columns)}. Give one cell, or a line with a cell for each."
            )
        return [cell or None for cell in cells]


def split_line(text: str) -> list[str] | None:
    """The cells of a line, None if it is none. Cells with commas are in quotation marks."""
    try:
        (cells,) = csv.reader([text], skipinitialspace=True, strict=True)
    except (ValueError, csv.Error):
        return None
    return [cell.strip() for cell in cells]


def line(cells: Iterable[str]) -> str:
    """The line with these cells.

    >>> line(["AA", "late, very"])
    'AA, "late, very"'
    """
    return ", ".join(f'"{cell.replace(chr(34), chr(34) * 2)}"' if {*cell} & {*'",\n\r'} else cell for cell in cells)


def _columns(raw: Any, columns: Sequence[Column], first_row: int | None) -> list[Any]:
    """The cells of rows, column by column. Missing ones are None."""
    names = [column.name for column in columns]
    shape = f"is not a row of the columns {_listed(columns)}"
    if is_arrow(raw):
        fields = _struct(raw, names)
        if fields is not None:
            return fields
    elif any(isinstance(row, Mapping) for row in raw):
        bad = np.array([row is not None and not (isinstance(row, Mapping) and {*names} <= row.keys()) for row in raw])
        if bad.any():
            raise refusal(shape, bad, first_row, "Fix the rows")
        return [[None if row is None else row[name] for row in raw] for name in names]
    texts, places, missing = distinct_texts(raw, first_row)
    lines = [split_line(text.decode()) for text in texts]
    wrong = np.array([cells is None or len(cells) != len(names) for cells in lines] or [False])[places]
    if missing is not None:
        wrong = wrong & ~missing
    if len(texts) and wrong.any():
        raise refusal(shape, wrong, first_row, "Write a line with a cell for each")
    absent = np.zeros(len(places), dtype=np.bool_) if missing is None else missing
    taken = list(zip(places.tolist(), absent.tolist(), strict=True))
    return [
        [None if gone else _cell(lines[place], j, column) for place, gone in taken] for j, column in enumerate(columns)
    ]


def _cell(cells: list[str] | None, j: int, column: Column) -> str | None:
    """A cell of a line; None if it is empty, and that is no label."""
    text = (cells or [])[j]
    return text if text or text in column.domain.labels else None


def _struct(raw: Any, names: list[str]) -> list[Any] | None:
    """The fields of an Arrow column of records; None if it has another type."""
    import pyarrow as pa

    if isinstance(raw, pa.ChunkedArray):
        raw = raw.combine_chunks()
    if not isinstance(raw, pa.StructArray):
        return None
    indices = [raw.type.get_field_index(name) for name in names]
    if min(indices) < 0:
        raise InvalidInput(f"a value is not a row of the columns {', '.join(names)}. Name them so.")
    fields = raw.flatten()  # what is missing in a whole row is missing in each
    return [fields[j] for j in indices]


def _in_column(column: Column, refused: InvalidInput) -> InvalidInput:
    """Which column of groups an error is about."""
    return refused if column.name == VALUE else InvalidInput(f"in the column {column.name!r}: {refused}")


def _listed(columns: Sequence[Column]) -> str:
    return ", ".join(column.name for column in columns)


def group_document(name: str, labels: Labels) -> Document:
    """One column of groups as JSON data."""
    return {"kind": "group", "column": name, "labels": list(labels.texts)}


def group_of(document: object) -> tuple[str, Labels]:
    """The column of groups of a document."""
    members = fields(document, "group", column=text, labels=several(text))
    return members["column"], Labels(members["labels"])
