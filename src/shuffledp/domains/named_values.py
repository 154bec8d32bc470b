"""Several values of one person, each with a name."""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.document import Document, fields, several, text
from shuffledp.core.parsing import Unreadable, parse_exactly
from shuffledp.domains.columns import is_arrow
from shuffledp.domains.domain import (
    AS_LABEL,
    AS_VALUE,
    NO_VALUE,
    OR_SKIP,
    STRICT,
    Clean,
    Domain,
    Mask,
    Policy,
    refusal,
    what_if_missing,
)
from shuffledp.domains.grouped_rows import VALUE, Rows, line
from shuffledp.errors import InvalidInput

Found = TypeVar("Found")


class Field(NamedTuple):
    """One of the values."""

    name: str
    domain: Domain


@dataclass(frozen=True, slots=True)
class Record(Domain):
    """One value for each name.

    A raw row is a dict, the same as a JSON text, or a row of a table with columns of these names, and of the groups that a
    value is asked by. A clean value is a row of a structured array, with a field for each name in their order (`column`).

    >>> from shuffledp.domains.labels import Labels
    >>> pair = Record((Field("smokes", Labels(("no", "yes"))), Field("sex", Labels(("f", "m")))))
    >>> pair.column(pair.clean([{"smokes": "yes", "sex": "f"}, '{"smokes": "no", "sex": "m"}']).values, 0).tolist()
    [1, 0]
    """

    fields: tuple[Field, ...]
    kind = "record"

    def __post_init__(self) -> None:
        names = [one.name for one in self.fields]
        if not names or len(set(names)) < len(names) or not all(name and name == name.strip() for name in names):
            raise InvalidInput("each value of a record needs its own name, without surrounding spaces. Name each one.")
        if any(isinstance(one.domain, Record) for one in self.fields):
            raise _nested()
        for one in self._cells:
            if any(other.name == one.name and other.domain != one.domain for other in self._cells):
                raise InvalidInput(
                    f"the column {one.name!r} has different values for two questions. Give both the same."
                )

    @property
    def _cells(self) -> tuple[Field, ...]:
        """What a row consists of: a value may have groups beside it, which other values may share."""
        return tuple(cell for one in self.fields for cell in cells(one))

    @property
    def table_columns(self) -> tuple[str, ...]:
        """One for each value, and for the groups beside it."""
        return tuple(dict.fromkeys(cell.name for cell in self._cells))

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(label for one in self.fields for label in one.domain.labels))

    @property
    def can_list_more(self) -> bool:
        return any(one.domain.can_list_more for one in self.fields)

    def is_number(self, column: str) -> bool:
        """As the value of that name says."""
        return any(cell.name == column and cell.domain.is_number(column) for cell in self._cells)

    def column(self, values: NDArray[Any], place: int) -> NDArray[Any]:
        """The clean values of one name."""
        names = values.dtype.names
        if names is None and len(values) == 0:
            return self.fields[place].domain.clean([]).values
        if names is None or len(names) != len(self.fields):
            raise InvalidInput("these are not records of the plan. Clean the rows first.")
        return values[names[place]]

    def joined(self, columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Clean records of the clean values of each name."""
        kinds = np.dtype([(f"value{j}", column.dtype) for j, column in enumerate(columns)])
        rows = np.empty(len(columns[0]), dtype=kinds)
        for j, column in enumerate(columns):
            rows[f"value{j}"] = column
        return rows

    def check(self, policy: Policy) -> None:
        """What stands in for missing or other values is a record itself; numbers of some value may be clamped."""
        for one, mine in zip(self.fields, self._policies(policy), strict=True):
            _about(one.name, partial(one.domain.check, mine))

    def clean(self, raw: Any, policy: Policy = STRICT, first_row: int | None = None) -> Clean:
        """All values of every row; a row that lacks one is treated as the policy says of missing values."""
        self.check(policy)
        rows = self._rows(raw, policy, first_row)
        columns, keep = list[NDArray[Any]](), np.ones(rows.rows, dtype=np.bool_)
        if rows.skipped is not None:
            keep &= ~rows.skipped
        adjusted = Counter(rows.adjusted)
        for one, mine in zip(self.fields, self._policies(policy), strict=True):
            try:
                cleaned = _about(one.name, partial(one.domain.clean, rows.of(one), mine, first_row))
            except InvalidInput as refused:
                raise self._with_all_that_do_not_fit(refused, one.name, rows, policy) from None
            columns.append(cleaned.values)
            adjusted.update(cleaned.adjusted)
            if cleaned.keep is not None:
                keep &= cleaned.keep
        left_out = int(np.count_nonzero(~keep))
        return Clean(
            values=self.joined(columns),
            keep=keep if left_out else None,
            rejected=Counter(missing=left_out) if left_out else Counter(),
            adjusted=adjusted,
        )

    def _with_all_that_do_not_fit(
        self, refused: InvalidInput, name: str, rows: "_Rows", policy: Policy
    ) -> InvalidInput:
        """The refusal, whose remedies name the columns of all missing values and labels, so that following them is enough."""
        complaint = str(refused)
        group = re.match(r".*?: in the column '(.*?)':", complaint)
        first = group[1] if group else name
        each = {cell.name: cell.domain for cell in self._cells}
        cleaned = {one: _leniently(domain, rows.columns[one], policy.match) for one, domain in each.items()}
        lacking = [one for one, clean in cleaned.items() if clean is not None and clean.rejected]
        strange = [one for one, clean in cleaned.items() if clean is not None and clean.adjusted["other"]]
        if AS_VALUE in complaint:
            lacking = [one for one in each if one == first or one in lacking]
            complaint = complaint.replace(AS_VALUE, _stand_ins_for("missing_as", lacking))
            others = self._stand_ins(policy.other, "other") or {}
            if not set(strange) <= set(others):
                complaint += (
                    f" The plan does not list all labels of {_all_of(strange)}, either: plan with all of them, or use "
                    f"{_stand_ins_for('other', strange, 'LABEL')}."
                )
        elif AS_LABEL in complaint:
            strange = [one for one in each if one == first or one in strange]
            complaint = complaint.replace(AS_LABEL, _stand_ins_for("other", strange, "LABEL"))
            stand_ins = self._stand_ins(policy.missing_as, "missing_as") or {}
            if policy.missing == "refuse" and not set(lacking) <= set(stand_ins):
                instead = _stand_ins_for("missing_as", lacking)
                complaint += f" Some value of {_all_of(lacking)} {NO_VALUE}, too: use {OR_SKIP}{instead}."
        return InvalidInput(complaint)

    def samples(self) -> list[str]:
        """As JSON texts, the samples of each value in turn."""
        each = {cell.name: cell.domain.samples() for cell in self._cells}
        most = max(len(samples) for samples in each.values())
        return [json.dumps({name: samples[j % len(samples)] for name, samples in each.items()}) for j in range(most)]

    def document(self) -> Document:
        """Names and domains, in their order."""
        return {
            "kind": self.kind,
            "names": [one.name for one in self.fields],
            "domains": [one.domain.document() for one in self.fields],
        }

    @classmethod
    def from_document(cls, document: object) -> Self:
        members = fields(document, cls.kind, names=several(text), domains=several(_domain))
        if len(members["names"]) != len(members["domains"]):
            raise InvalidInput("a record needs a name for each domain. Give as many names as domains.")
        return cls(tuple(map(Field, members["names"], members["domains"])))

    def _policies(self, policy: Policy) -> list[Policy]:
        """What the policy means for each value."""
        missing_as, other = self._stand_ins(policy.missing_as, "missing_as"), self._stand_ins(policy.other, "other")
        clamped = [policy.outside == "clamp" and _takes(one.domain, Policy(outside="clamp")) for one in self.fields]
        if policy.outside == "clamp" and not any(clamped):
            raise InvalidInput("`outside='clamp'` is for numbers, and no value is one. Leave it out.")
        for given in (missing_as, other):
            if given is not None and not set(given) <= set(self.table_columns):
                raise InvalidInput("a stand-in has a name that the plan does not have. Check the names.")
        return [
            Policy(
                missing=policy.missing,
                missing_as=_named(one, missing_as),
                outside="clamp" if clamps else "refuse",
                other=None if other is None else _other(one, other),
                match=policy.match,
            )
            for one, clamps in zip(self.fields, clamped, strict=True)
        ]

    def _stand_ins(self, given: str | None, option: str) -> Mapping[str, Any] | None:
        """What stands in for values, by their names: a JSON object, or NAME=VALUE for a single one."""
        if given is None:
            return None
        parsed, (name, equals, value) = _parsed(given), given.partition("=")
        several = any(re.search(rf",\s*{re.escape(column)}\s*=", value) for column in self.table_columns)
        if isinstance(parsed, _Strange) and equals and not several and name.strip() in self.table_columns:
            parsed = {name.strip(): value.strip()}
        if not isinstance(parsed, Mapping):
            able = [cell.name for cell in self._cells if _stands_in(cell.domain, option, given)]
            able = list(dict.fromkeys(able)) or [
                cell.name for cell in self._cells if option == "missing_as" or cell.domain.labels
            ]
            raise InvalidInput(
                f"there are several values, so `{option}` says for each what stands in for it: give "
                f"{_stand_ins_for(option, able[:2], 'LABEL' if option == 'other' else 'VALUE')}. It can be given for "
                f"{', '.join(able)}."
            )
        return parsed

    def _rows(self, raw: Any, policy: Policy, first_row: int | None) -> "_Rows":
        """A raw column for each name."""
        if is_arrow(raw):
            if hasattr(raw, "combine_chunks") and hasattr(raw, "chunks"):
                raw = raw.combine_chunks()
            if not hasattr(raw, "field"):
                return self._listed(_texts(raw), policy, first_row)
            present = {child.name for child in raw.type}
            if not set(self.table_columns) <= present or raw.null_count:
                return self._listed(raw.to_pylist(), policy, first_row)
            return _Rows({name: raw.field(name) for name in self.table_columns}, len(raw))
        if (
            isinstance(raw, np.ndarray)
            and raw.dtype.names is not None
            and set(self.table_columns) <= set(raw.dtype.names)
        ):
            return _Rows({name: raw[name] for name in self.table_columns}, len(raw))
        if isinstance(raw, np.ndarray) and raw.ndim != 1:
            raise InvalidInput("rows are dicts or JSON texts, one per person. Give a list of them.")
        return self._listed(list(raw), policy, first_row)

    def _listed(self, raw: list[Any], policy: Policy, first_row: int | None) -> "_Rows":
        """Rows one by one; those that are missing, or no records at all, are settled here."""
        parsed = [_parsed(row) for row in raw]
        missing = np.array([row is None for row in parsed], dtype=np.bool_)
        strange = np.array([isinstance(row, _Strange) for row in parsed], dtype=np.bool_)
        adjusted, stand_in = Counter[str](), parse_exactly(self.samples()[0])
        if strange.any():
            other = self._stand_ins(policy.other, "other")
            if other is None or set(other) != set(self.table_columns):
                raise refusal(
                    f"is not a record of {', '.join(self.table_columns)}",
                    strange,
                    first_row,
                    "Leave out `column` if the table has these columns, or give a JSON object with these names",
                )
            parsed = [other if isinstance(row, _Strange) else row for row in parsed]
            adjusted["other"] += int(strange.sum())
        skipped = None
        if missing.any():
            missing_as = self._stand_ins(policy.missing_as, "missing_as")
            if missing_as is None and policy.missing == "refuse":
                raise refusal(NO_VALUE, missing, first_row, what_if_missing(policy, "RECORD"))
            skipped = missing if missing_as is None else None
            if missing_as is not None:
                adjusted["missing"] += int(missing.sum())
                stand_in = missing_as
        rows: list[Mapping[str, Any]] = [stand_in if row is None else row for row in parsed]  # type: ignore[misc]
        columns = {name: [row.get(name) for row in rows] for name in self.table_columns}
        return _Rows(columns, len(rows), skipped, adjusted)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows as raw columns.

    Attributes:
        columns: by name.
        rows: how many.
        skipped: rows that are missing altogether.
        adjusted: rows that were replaced altogether, by reason.
    """

    columns: dict[str, Any]
    rows: int
    skipped: Mask | None = None
    adjusted: Counter[str] = field(default_factory=Counter)

    def of(self, one: Field) -> Any:
        """The raw values of one name; with groups, records of these and the value."""
        if not one.domain.beside:
            return self.columns[one.name]
        names = (*one.domain.beside, VALUE)
        columns = [self.columns[cell.name] for cell in cells(one)]
        if all(map(is_arrow, columns)):
            import pyarrow as pa

            return pa.StructArray.from_arrays(columns, names=list(names))
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


class _Strange:
    """A row that is no record."""


def _parsed(row: Any) -> Mapping[str, Any] | _Strange | None:
    if row is None or (isinstance(row, float) and math.isnan(row)):
        return None
    if isinstance(row, str):
        try:
            row = parse_exactly(row)
        except Unreadable:
            return _Strange()
    return row if isinstance(row, Mapping) else _Strange()


def cells(one: Field) -> tuple[Field, ...]:
    """The columns of a table that a value is made of: itself, after its groups."""
    if isinstance(one.domain, Rows):
        return tuple(Field(one.name if name == VALUE else name, domain) for name, domain in one.domain.columns)
    return (one,)


def _named(one: Field, given: Mapping[str, Any] | None) -> str | None:
    """What stands in for this value, if something does: what is missing of others may still be refused."""
    return None if given is None or not any(cell.name in given for cell in cells(one)) else _stand_in(one, given)


def _stand_in(one: Field, given: Mapping[str, Any]) -> str:
    texts = [str(given.get(cell.name, "")) for cell in cells(one)]
    return line(texts) if one.domain.beside else texts[0]


def _stand_ins_for(option: str, names: Sequence[str], what: str = "VALUE") -> str:
    """How to say what stands in for the values of these names."""
    return f"`{option}={{{', '.join(f'{json.dumps(name, ensure_ascii=False)}: {what}' for name in names)}}}`"


def _stands_in(domain: Domain, option: str, given: str) -> bool:
    """Whether this may stand in for values of one column: a label that it has, or a number."""
    return _takes(domain, Policy(other=given) if option == "other" else Policy(missing_as=given))


def _all_of(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _leniently(domain: Domain, raw: Any, match: Literal["exactly", "loosely"]) -> Clean | None:
    """What becomes of a column if nothing is refused that a policy can settle; None if something is all the same."""
    with suppress(InvalidInput):  # refused for another reason, which is told once this one is settled
        return domain.clean(raw, domain.lenient(Policy(missing="skip", match=match)))
    return None


def _other(one: Field, given: Mapping[str, Any]) -> str | None:
    """What counts as another label; for numbers, which are in a range or not, nothing does."""
    taken = {}
    for cell in cells(one):
        if cell.name in given and _takes(cell.domain, Policy(other=str(given[cell.name]))):
            taken[cell.name] = given[cell.name]
        elif cell.name in given:
            _about(cell.name, partial(cell.domain.clean, [given[cell.name]]))
    return _stand_in(one, taken) if taken else None


def _takes(domain: Domain, policy: Policy) -> bool:
    try:
        domain.check(policy)
    except InvalidInput:
        return False
    return True


def _texts(raw: Any) -> list[Any]:
    try:
        return list(raw.to_pylist())
    except UnicodeDecodeError:
        raise InvalidInput("a row is not text in UTF-8. Save the file in that encoding.") from None


def _about(name: str, find: Callable[[], Found]) -> Found:
    """Say which value an error is about."""
    try:
        return find()
    except InvalidInput as error:
        complaint = str(error)
    raise InvalidInput(f"{name}: {complaint}")


def _domain(document: object) -> Domain:
    from shuffledp.domains.registry import from_document

    if isinstance(document, dict) and document.get("kind") == Record.kind:
        raise _nested()
    return from_document(document)


def _nested() -> InvalidInput:
    return InvalidInput("a record cannot contain records. Name the values themselves.")
