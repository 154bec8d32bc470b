"""What every registered domain must do: one meaning for a value, whatever it is written in; what does not fit is not shown.

Domains are judged as protocols use them: each registered one must be that of some protocol's example.
"""

import json
import math
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from oracles.mutation import check_strict
from shuffledp import InvalidInput, Policy
from shuffledp.baselines.registry import protocols
from shuffledp.core.canonical import canonical
from shuffledp.domains import named_values
from shuffledp.domains.domain import STRICT, Clean, Domain
from shuffledp.domains.grouped_rows import Rows, line, split_line
from shuffledp.domains.labels import Labels
from shuffledp.domains.listed import Listed
from shuffledp.domains.named_values import Record
from shuffledp.domains.reals import RealRange
from shuffledp.domains.registry import DOMAINS, from_document
from shuffledp.domains.texts import Texts
from shuffledp.domains.vectors import Vectors
from shuffledp.domains.whole_numbers import WholeNumbers

EXAMPLES = list(dict.fromkeys(example.domain for kind in protocols().values() for example in kind.examples()))
SECRET = "31337"
FOREIGN: dict[type, Any] = {str: SECRET, int: 31337, float: 31337.0}
"""What no domain of such samples takes."""


def takes_any_text(domain: Domain) -> bool:
    """Nothing is strange to it: a text that is no sample is a value too."""
    return isinstance(domain, Texts)


def strange(domain: Domain) -> Any:
    """What the domain does not take; for one that takes any text, another missing value."""
    if isinstance(domain, Rows):  # one cell of a row is enough
        cells = split_line(domain.samples()[0])
        assert cells is not None
        return line([SECRET, *cells[1:]])
    if isinstance(domain, Vectors):
        return line([SECRET] * domain.width)
    return None if takes_any_text(domain) else FOREIGN[type(domain.samples()[0])]


def replacing(domain: Domain) -> Policy:
    """A policy under which everything is some value: the first sample."""
    text = str(domain.samples()[0])
    if takes_any_text(domain):
        return Policy(missing_as=text)
    if isinstance(domain, Rows):
        return Policy(missing_as=text, other=text.split(",")[0])
    for policy in (Policy(missing_as=text, other=text), Policy(missing_as=text, outside="clamp")):
        try:
            domain.check(policy)
        except InvalidInput:
            continue
        return policy
    raise AssertionError("no policy replaces both what is missing and what is strange")


def same(first: Clean, second: Clean) -> bool:
    kept = (first.keep is None) == (second.keep is None) and (
        first.keep is None or second.keep is None or np.array_equal(first.keep, second.keep)
    )
    return (
        kept and np.array_equal(first.values, second.values) and first.values.dtype == second.values.dtype
        and first.rejected == second.rejected and first.adjusted == second.adjusted
    )  # fmt: skip


def columns(rows: list[Any]) -> list[Any]:
    """The same column in everything that one can be made of."""
    texts = [None if row is None else str(row) for row in rows]
    kind = type(next(row for row in rows if row is not None))
    found = [
        rows,
        texts,
        tuple(rows),
        np.array(rows, dtype=object),
        pa.array(rows),
        pa.array(texts),
        pa.array(texts).dictionary_encode(),
    ]
    if None in rows:  # missing in both ways that a column with codes has
        names = [*dict.fromkeys(text for text in texts if text is not None), None]
        first = texts.index(None)
        codes = [None if j == first else names.index(text) for j, text in enumerate(texts)]
        found += [pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(names))]
    else:
        found += [np.array(rows)]
        if kind is int:
            found += [np.array(rows, dtype=kind) for kind in (np.uint16, np.int64, np.float64)]
            found += [pa.array(rows, type=kind) for kind in (pa.int32(), pa.uint64(), pa.float64())]
    if kind is float:
        found += [np.array([math.nan if row is None else row for row in rows])]
    return found


# The checks


def check_one_meaning(domain: Domain) -> None:
    """A list, an array, an Arrow column and texts agree; so does each value by itself, and reading twice."""
    rows = domain.samples()
    assert len(set(rows)) == len(rows) > 1
    expected = domain.clean(rows)
    assert expected.keep is None
    assert not expected.rejected
    assert not expected.adjusted
    assert len(expected.values) == len(rows)
    for column in columns(rows):
        assert same(domain.clean(column), expected), type(column)
        assert same(domain.clean(column), expected), type(column)
    for j, row in enumerate(rows):
        for one in ([row], [str(row)], pa.array([row])):
            assert np.array_equal(domain.clean(one).values, expected.values[j : j + 1])
    assert len(domain.clean([]).values) == 0
    assert domain.clean([]).values.dtype == expected.values.dtype
    if isinstance(domain, Listed):
        assert len(domain.names) == len(set(domain.names)) == domain.size == len(domain.edges) - 1
        assert domain.read(domain.names).tolist() == list(range(domain.size))
        assert [domain.index(name) for name in domain.names] == list(range(domain.size))


def check_clean_is_clean(domain: Domain) -> None:
    """Clean numbers stay as they are, and so does the raw column."""
    values = domain.clean(domain.samples()).values
    if isinstance(domain, RealRange | WholeNumbers):
        assert np.array_equal(domain.clean(values).values, values)
    before = list(domain.samples())
    domain.clean(before)
    array = np.array(domain.samples())
    kept = array.copy()
    domain.clean(array, replacing(domain))
    assert np.array_equal(array, kept)
    assert before == domain.samples()


def check_refusals(domain: Domain) -> None:
    """By the row's number if it is in a file; never with the value."""
    rows = domain.samples()
    for bad, why in ((strange(domain), ""), (None, "missing")):
        spoilt = [*rows, bad, *rows]
        for column in columns(spoilt):
            for first_row, where in ((None, "a value"), (1000, f"in data row {1001 + len(rows):,} the value")):
                with pytest.raises(InvalidInput) as refused:
                    domain.clean(column, STRICT, first_row)
                shown = f"{refused.value} {refused.value.__context__!r} {refused.value.__cause__!r}"
                assert SECRET not in shown
                assert where in shown
                assert why in shown
        with pytest.raises(InvalidInput) as refused:
            domain.clean([bad])
        assert SECRET not in str(refused.value)
    for odd in ([[1.0]] * 3, [b"\xff"] * 3, [object()] * 2, np.zeros((2, 2)), pa.array([[1]]), pa.array([{"a": 1}])):
        with pytest.raises(InvalidInput):
            domain.clean(odd)
    assert SECRET not in repr(domain.clean([*rows, strange(domain)], replacing(domain)))


def check_policies(domain: Domain) -> None:
    """Every row is kept, adjusted or rejected, and counted as such; none of it depends on how rows are cut."""
    rows = [*domain.samples(), strange(domain), None, *domain.samples(), None, strange(domain)]
    size, policy = len(domain.samples()), replacing(domain)
    missing = rows.count(None)
    assert missing == (4 if takes_any_text(domain) else 2)
    skipping = Policy(missing="skip", outside=policy.outside, other=policy.other)
    for column in columns(rows):
        found = domain.clean(column, policy)
        assert found.keep is None
        assert not found.rejected
        assert found.adjusted.total() == 4
        assert found.adjusted["missing"] == missing
        first = domain.clean(rows[:1]).values
        assert np.array_equal(found.values[[size + 1, -2]], first.repeat(2))
        skipped = domain.clean(column, skipping)
        assert skipped.rejected == Counter(missing=missing)
        assert skipped.adjusted.total() == 4 - missing
        assert skipped.keep is not None
        assert np.flatnonzero(~skipped.keep).tolist() == [j for j, row in enumerate(rows) if row is None]
        for cleaned in (found, skipped):
            assert np.array_equal(cleaned.values[:size], domain.clean(domain.samples()).values)
            assert len(cleaned.values) == len(rows)
    for cut in (0, size + 1, size + 2):
        parts = [domain.clean(part, skipping) for part in (rows[:cut], rows[cut:])]
        whole = domain.clean(rows, skipping)
        assert np.array_equal(np.concatenate([part.values for part in parts]), whole.values)
        assert parts[0].rejected + parts[1].rejected == whole.rejected
        assert parts[0].adjusted + parts[1].adjusted == whole.adjusted
    if takes_any_text(domain):
        domain.check(Policy(missing_as="nothing of the kind"))
        assert domain.clean([SECRET]).values.tolist() not in [
            [value] for value in domain.clean(domain.samples()).values
        ]
    else:
        with pytest.raises(InvalidInput):
            domain.check(Policy(missing_as="nothing of the kind"))
    with pytest.raises(InvalidInput):
        domain.check(Policy(outside="clamp", other="x"))


def cells_of(domain: Domain) -> list[tuple[str, Domain]]:
    """The columns that a value is made of."""
    if isinstance(domain, Record):
        return list(
            dict.fromkeys((cell.name, cell.domain) for one in domain.fields for cell in named_values.cells(one))
        )
    return [(column.name, column.domain) for column in domain.columns] if isinstance(domain, Rows) else [("", domain)]


def takes(domain: Domain, **policy: Any) -> bool:
    try:
        domain.check(Policy(**policy))
    except InvalidInput:
        return False
    return True


def check_stand_ins(domain: Domain) -> None:
    """Each cell that is missing, unknown, too low or too high becomes what is said of its column and kind, wherever it stands."""
    chance, columns = random.Random(8), cells_of(domain)
    samples = {name: column.samples() for name, column in columns}
    lists = [name for name, column in columns if takes(column, other=str(samples[name][-1]))]
    ends = {
        name: (min(samples[name]), max(samples[name]))
        for name, column in columns
        if name not in lists and takes(column, outside="clamp") and not isinstance(column, Vectors)
    }
    missing_as = {name: found[1] for name, found in samples.items()}
    other = {name: samples[name][-1] for name in lists}

    def row(cells: dict[str, Any]) -> Any:
        return cells if len(columns) > 1 else cells[""]

    def stand_in(cells: dict[str, Any]) -> str | None:
        if isinstance(domain, Record):
            return json.dumps(cells) if cells else None
        if isinstance(domain, Vectors):  # whose rows are lines themselves
            return cells.get("")
        return line([str(cells.get(name, "")) for name, _ in columns]) if cells else None

    given, settled, gaps, changed = list[Any](), list[Any](), list[int](), Counter[str]()
    for _ in range(80):
        cells = {name: chance.choice(found) for name, found in samples.items()}
        good, gap = dict(cells), 0
        for name in samples:
            what = chance.choice(["as it is"] * 5 + ["missing", "odd"])
            if what == "missing":
                cells[name], good[name], gap = None, missing_as[name], 1
            elif what == "odd" and name in lists:
                cells[name], good[name] = FOREIGN[type(samples[name][0])], other[name]
                changed["other"] += 1
            elif what == "odd" and name in ends:
                side = chance.randrange(2)
                cells[name], good[name] = (-31337.0, 31337.0)[side], ends[name][side]
                changed["clamped"] += 1
        given.append(row(cells))
        settled.append(row(good))
        gaps.append(gap)
    rest = Policy(outside="clamp" if ends else "refuse", other=stand_in(other))
    expected, kept = domain.clean(settled).values, np.array(gaps) == 0
    for raw in (given, pa.array(given)):
        found = domain.clean(raw, replace(rest, missing_as=stand_in(missing_as)))
        assert found.keep is None
        assert not found.rejected
        assert np.array_equal(found.values, expected)
        skipped = domain.clean(raw, replace(rest, missing="skip"))
        assert skipped.keep is not None
        assert np.array_equal(skipped.keep, kept)
        assert skipped.rejected == Counter(missing=sum(gaps))
        assert np.array_equal(skipped.values[kept], expected[kept])
        if not isinstance(domain, Record):  # which counts a cell for each question that asks for it
            assert found.adjusted == Counter(missing=sum(gaps)) + changed
            assert skipped.adjusted == changed


def check_document(domain: Domain) -> None:
    """Written, read back, and the same; anything else is refused or is a document of its own."""
    document = domain.document()
    for text in (json.dumps(document, allow_nan=False), canonical(document).decode()):
        assert from_document(json.loads(text)) == domain
    for found in check_strict(from_document, document):
        assert isinstance(found, Domain)


CHECKS: list[Callable[[Domain], None]] = [
    check_one_meaning, check_clean_is_clean, check_refusals, check_policies, check_stand_ins, check_document,
]  # fmt: skip


@pytest.mark.parametrize("domain", EXAMPLES, ids=lambda domain: domain.kind)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_every_domain(domain: Domain, check: Callable[[Domain], None]) -> None:
    check(domain)


def test_every_registered_domain_is_used_by_a_protocol() -> None:
    assert {domain.kind for domain in EXAMPLES} == set(DOMAINS)
    with pytest.raises(InvalidInput, match="no such kind of domain"):
        from_document({"kind": "colours"})


# Wrong ones


class TellsTextsAndNumbersApart(RealRange):
    """Texts are all the same to it."""

    __slots__ = ()

    def clean(self, raw: Any, policy: Policy = STRICT, first_row: int | None = None) -> Clean:
        if any(isinstance(value, str) for value in raw):
            return super().clean([self.low] * len(raw), policy, first_row)
        return super().clean(raw, policy, first_row)


class ShowsTheValue(RealRange):
    __slots__ = ()

    def clean(self, raw: Any, policy: Policy = STRICT, first_row: int | None = None) -> Clean:
        try:
            return super().clean(raw, policy, first_row)
        except InvalidInput as refused:
            raise InvalidInput(f"{refused} It was one of {list(raw)}.") from None


class ClampsSilently(RealRange):
    __slots__ = ()

    def clean(self, raw: Any, policy: Policy = STRICT, first_row: int | None = None) -> Clean:
        found = super().clean(raw, policy, first_row)
        return Clean(values=found.values, keep=found.keep, rejected=found.rejected)


class ForgetsAnEnd(RealRange):
    __slots__ = ()

    def document(self) -> dict[str, Any]:
        return RealRange(self.low, self.high + 1).document()


class CountsFromOne(Labels):
    """Its symbols depend on how many rows there are."""

    __slots__ = ()

    def _find(self, raw: Any, first_row: int | None) -> tuple[NDArray[np.integer], Any, Any]:
        found, unknown, missing = super()._find(raw, first_row)
        return (found + (len(raw) == 1)) % self.size, unknown, missing


class NumbersRowsFromZero(Labels):
    __slots__ = ()

    def clean(self, raw: Any, policy: Policy = STRICT, first_row: int | None = None) -> Clean:
        return super().clean(raw, policy, None if first_row is None else first_row - 1)


@pytest.mark.parametrize(
    ("wrong", "check"),
    [
        (TellsTextsAndNumbersApart(-2.0, 3.0), check_one_meaning),
        (ShowsTheValue(-2.0, 3.0), check_refusals),
        (ClampsSilently(-2.0, 3.0), check_policies),
        (ForgetsAnEnd(-2.0, 3.0), check_document),
        (CountsFromOne(("red", "green", "blue")), check_one_meaning),
        (NumbersRowsFromZero(("red", "green", "blue")), check_refusals),
    ],
    ids=lambda case: type(case).__name__ if isinstance(case, Domain) else "",
)
def test_wrong_domains_are_found_out(wrong: Domain, check: Callable[[Domain], None]) -> None:
    check(RealRange(-2.0, 3.0))
    check(Labels(("red", "green", "blue")))
    with pytest.raises(AssertionError):
        check(wrong)
