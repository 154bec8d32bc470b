"""Tallies add up: however rows are cut into parts and in whatever order these are added, policies and truth included."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from oracles.tallies import same
from shuffledp import Histogram, KeyedRandomness, Plan, Policy, RandomizedResponse, Summation, run, run_file
from shuffledp.domains.labels import Labels
from shuffledp.engines.tally import Tally, tally_rows
from shuffledp.protocols.one_message import OneMessage

WORDS = KeyedRandomness.seeded(3)
MEAN = Summation(randomizer=RandomizedResponse(size=6, gamma=0.2), low=-1.0, high=2.0, total="mean")
COLOURS = Histogram(RandomizedResponse(size=3, gamma=0.2), Labels(("red", "green", "blue")))


@st.composite
def cut_up(draw: st.DrawFn) -> tuple[OneMessage, Policy, list[list[Any]], list[int]]:
    """A protocol, a policy, rows in parts, and an order to add the parts in."""
    numbers = st.one_of(st.none(), st.floats(-3, 4), st.just(math.nan))
    names = st.sampled_from([None, "red", "green", "blue", "mauve", ""])
    cases: list[tuple[OneMessage, Any, Any]] = [
        (MEAN, numbers, {"outside": "clamp"}),
        (COLOURS, names, {"other": "blue"}),
    ]
    protocol, value, policies = draw(st.sampled_from(cases))
    missing: dict[str, Any] = draw(
        st.sampled_from([{"missing": "skip"}, {"missing_as": "0" if protocol is MEAN else "red"}])
    )
    parts = draw(st.lists(st.lists(value, max_size=12), min_size=1, max_size=6))
    return protocol, Policy(**policies, **missing), parts, draw(st.permutations(range(len(parts))))


@given(cut_up(), st.booleans())
def test_tallies_are_a_monoid(found: tuple[OneMessage, Policy, list[list[Any]], list[int]], truth: bool) -> None:
    protocol, policy, parts, order = found
    firsts = np.cumsum([0, *map(len, parts)]).tolist()
    rows = [value for part in parts for value in part]
    whole = tally_rows(protocol, rows, WORDS, policy, truth=truth)
    tallies = [
        tally_rows(protocol, part, WORDS, policy, first_row=first, truth=truth)
        for part, first in zip(parts, firsts[:-1], strict=True)
    ]
    total = Tally.empty(protocol, truth=truth)
    for j in order:
        total += tallies[j]
    assert same(total, whole)
    assert same(Tally.empty(protocol, truth=truth) + whole, whole)
    assert whole.rows == len(rows)
    assert whole.counts.total + whole.rejected.total() == len(rows)
    if len(tallies) > 2:
        assert same(tallies[0] + (tallies[1] + tallies[2]), (tallies[0] + tallies[1]) + tallies[2])


@given(cut_up(), st.sets(st.integers(0, 30)))
def test_rows_that_are_too_many_for_a_person_are_counted_once(
    found: tuple[OneMessage, Policy, list[list[Any]], list[int]], surplus: set[int]
) -> None:
    """A missing value of a surplus row is rejected for one reason, not two; nobody else's message changes."""
    protocol, policy, parts, _ = found
    rows = [value for part in parts for value in part]
    leave_out = sorted(j for j in surplus if j < len(rows))
    tally = tally_rows(protocol, rows, WORDS, policy, leave_out=leave_out, truth=True)
    assert tally.counts.total + tally.rejected.total() == len(rows)
    kept = Tally.empty(protocol, truth=True)
    for j in sorted(set(range(len(rows))) - set(leave_out)):
        kept += tally_rows(protocol, rows[j : j + 1], WORDS, policy, first_row=j, truth=True)
    assert (tally.counts.values == kept.counts.values).all()
    assert tally.truth is not None
    assert kept.truth is not None
    assert (tally.truth == kept.truth).all()


NUMBERS: list[Any] = [*np.round(np.random.default_rng(5).uniform(-1, 11, 1500), 3).tolist(), None, math.nan, -math.inf]
NAMES: list[Any] = [*np.random.default_rng(6).choice(["red", "green", "blue", "mauve"], 1500).tolist(), None, "", None]


@pytest.mark.parametrize(
    ("question", "policy"),
    [
        ("mean", Policy(missing="skip", outside="clamp")),
        ("mean", Policy(missing_as="2.5", outside="clamp")),
        ("histogram", Policy(missing="skip", other="blue")),
        ("histogram", Policy(missing_as="red", other="green")),
    ],
)
def test_policies_in_memory_agree_with_files(
    tmp_path: Path, mean: Plan, histogram: Plan, question: str, policy: Policy
) -> None:
    asked, values = (mean, NUMBERS) if question == "mean" else (histogram, NAMES)
    path = tmp_path / "people.parquet"
    parquet.write_table(pa.table({"value": pa.array(values, from_pandas=False)}), path)
    expected = run_file(asked, path, column="value", policy=policy, randomness=WORDS, truth=True)
    assert expected.adjusted
    for engine in ("memory", "arrow"):
        found = run(asked, values, policy=policy, randomness=WORDS, truth=True, engine=engine)
        assert found.document() == expected.document()
    assert expected.received == len(values)
    assert expected.n + sum(expected.rejected.values()) == len(values)


def test_a_skipped_value_in_memory_is_accounted_for(mean: Plan) -> None:
    found = run(mean, [*[5.0] * 1200, None], policy=Policy(missing="skip"))
    assert (found.n, found.received, found.rejected) == (1200, 1201, {"missing": 1})
    assert any("not covered" in note for note in found.notes)
