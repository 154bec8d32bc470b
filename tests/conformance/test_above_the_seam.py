"""What lives above the seam, once: a stranger's protocol, family or source cannot make the package claim too much."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from pyarrow import csv

from oracles.parties import EIGHT
from shuffledp import (
    Histogram,
    InvalidInput,
    KeyedRandomness,
    NoClaim,
    Plan,
    Policy,
    RandomizedResponse,
    plan,
    run,
    run_file,
)
from shuffledp.baselines.compare import compare
from shuffledp.core.blanket import Blanket
from shuffledp.core.randomness import RESPONSE, ROUNDING, EncodingRandomness, Lane, rows_from
from shuffledp.domains.domain import Domain
from shuffledp.engines.run import run_source
from shuffledp.planning import registry
from shuffledp.planning.families.histogram import HistogramQuestion
from shuffledp.planning.family import PlannedFamily
from shuffledp.planning.options import Option
from shuffledp.results.history import History
from shuffledp.service.analyzer.ledger import Ledger
from shuffledp.service.task import Task
from shuffledp.sources.source import Chunk, Source


@pytest.fixture(scope="module")
def small() -> Plan:
    return plan("histogram", n=1000, epsilon=1.0, delta=1e-6, size=3)


class Overlapping(Source):
    """Two people at every address."""

    def chunks(self, domain: Domain) -> Iterator[Chunk]:
        yield Chunk([0] * 600, 0)
        yield Chunk([1] * 600, 0)

    def __str__(self) -> str:
        return "a source"


def test_two_people_never_share_an_address(small: Plan, engine_name: str) -> None:
    with pytest.raises(InvalidInput, match="skips or repeats rows"):
        run_source(small, Overlapping(), engine=engine_name)


def test_encoders_get_no_word_of_the_randomizer() -> None:
    randomness = KeyedRandomness.seeded(1)
    seen, rows = EncodingRandomness(randomness), rows_from(0, 4)
    lanes: tuple[Lane, ...] = (RESPONSE, ROUNDING)
    for lane in lanes:
        assert (seen.stream(0, 100, lane) == randomness.stream(0, 100, ROUNDING)).all()
    for draw in (0, 1, 1 << 16):
        assert (seen.blocks(rows, draw) == randomness.blocks(rows, (1 << 32) + draw)).all()
        assert (seen.blocks(rows, draw) != randomness.blocks(rows, draw)).any()
    with pytest.raises(InvalidInput, match="below 2"):
        seen.blocks(rows, 1 << 33)


class Flattered(Histogram):
    """Almost no noise, and a blanket that says otherwise."""

    __slots__ = ()

    def blanket(self) -> Blanket:
        return RandomizedResponse(size=3, gamma=0.5).blanket()


class Miscounted(Histogram):
    """Says that a million reported."""

    __slots__ = ()

    def reports(self, counts: NDArray[np.int64]) -> int:  # type: ignore[misc]
        return 10**6


def test_a_claim_is_proved_from_the_randomizer_that_runs(small: Plan) -> None:
    flattered = Plan(
        protocol=Flattered(RandomizedResponse(size=3, gamma=1e-9)), guarantee=small.guarantee, min_batch=1000
    )
    assert not flattered.holds()
    assert flattered.epsilon_at(1000) > 1


def test_nothing_is_released_below_the_minimum_whatever_a_protocol_counts(small: Plan) -> None:
    lying = Plan(protocol=Miscounted(RandomizedResponse(size=3, gamma=0.5)), guarantee=small.guarantee, min_batch=1000)
    with pytest.raises(InvalidInput, match="nothing is released"):
        run(lying, [0, 1, 2])


class Careless(PlannedFamily[HistogramQuestion]):
    """Proposes what is not private enough."""

    name = "careless"
    question_type = HistogramQuestion

    def propose(self, question: HistogramQuestion) -> Histogram:
        return Histogram(RandomizedResponse(size=question.domain.size, gamma=1e-9))


def test_a_careless_family_wins_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its proposal is refused, and the others' stand."""
    numbers: dict[str, Any] = {"n": 1000, "epsilon": 1.0, "delta": 1e-6, "size": 3}
    before = plan("histogram", **numbers)
    monkeypatch.setattr(registry, "FAMILIES", {"Careless": Careless(), **registry.FAMILIES})
    assert plan("histogram", **numbers) == before
    row = next(row for row in compare("histogram", **numbers, only=("careless",)) if row.name == "careless")
    assert row.rmse is None
    assert "could not be certified" in row.note
    monkeypatch.setattr(registry, "FAMILIES", {"Careless": Careless()})
    with pytest.raises(NoClaim, match="could not be certified"):
        plan("histogram", **numbers)


def test_two_families_cannot_mean_different_things_by_an_option(monkeypatch: pytest.MonkeyPatch) -> None:
    class Shoes(HistogramQuestion):
        options = (Option("size", "real", "Of shoes."),)

    class Other(Careless):
        question_type = Shoes

    monkeypatch.setattr(registry, "FAMILIES", {"Other": Other(), **registry.FAMILIES})
    with pytest.raises(InvalidInput, match="different things by 'size'"):
        registry.options()


def test_what_is_shown_of_the_local_guarantee_is_true(small: Plan) -> None:
    document = small.document()
    with pytest.raises(InvalidInput, match="does not follow"):
        Plan.from_document(document | {"local": document["local"] | {"epsilon0": 1e-4}})
    task = EIGHT.document()
    with pytest.raises(InvalidInput, match="a field too many"):
        Task.from_document(task | {"plan": task["plan"] | {"forecast": {"rmse": 0.0}}})


def test_several_rows_of_a_person_are_as_many_local_guarantees(tmp_path: Path, small: Plan) -> None:
    path = tmp_path / "people.csv"
    csv.write_csv(pa.table({"who": np.arange(3600) // 3, "x": np.arange(3600) % 3}), path)
    result = run_file(small, path, column="x", user="who", max_rows_per_user=3)
    local = small.protocol.epsilon0
    assert local is not None
    stated = result.document()["guarantee"]["epsilon_if_shuffler_and_analyzer_collude"]
    assert stated == result.local_epsilon
    assert 3 * Fraction(local) <= Fraction(stated) <= 3 * Fraction(local) * (1 + Fraction(1, 10**12))
    for rows in range(1, 60):  # exactly: the nearest double would be too small for some of them
        several = replace(result, rows_per_person=rows).local_epsilon
        assert several is not None
        assert rows * Fraction(local) <= Fraction(several) <= rows * Fraction(local) * (1 + Fraction(1, 10**12))
    with pytest.raises(InvalidInput, match="whole number"):
        run_file(small, path, column="x", user="who", max_rows_per_user=1.5)  # type: ignore[arg-type]


def test_earlier_releases_count_whatever_is_in_the_history(tmp_path: Path, small: Plan) -> None:
    """Of a randomizer that is not known here, beside lines that cannot be read."""
    data, lines = tmp_path / "people.csv", tmp_path / "releases.jsonl"
    csv.write_csv(pa.table({"x": np.arange(1200) % 3}), data)
    result = run_file(small, data, column="x")
    assert History(lines).book(result, [data]) == []
    first = json.loads(lines.read_text())
    first["spend"]["randomizer"] = {"kind": "plugin"}
    broken = [json.dumps(first), "[" * 100_000, json.dumps(first | {"epsilon": -5.0}), "\ufffd"]
    lines.write_bytes("\n".join(broken).encode() + b"\xff\n")
    warned, unreadable = History(lines).book(result, [data])
    assert "already used once" in warned
    assert "by basic composition" in warned
    assert "3 line(s)" in unreadable


@pytest.mark.parametrize(
    ("wrong", "said"),
    [({"missing": "Refuse"}, "Did you mean 'refuse'"), ({"outside": "no"}, "'refuse' or 'clamp'; got 'no'")],
)
def test_a_policy_that_is_none_is_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        Policy(**wrong)


def test_a_ledger_line_says_its_randomizer_once(tmp_path: Path) -> None:
    path, budget = tmp_path / "ledger.jsonl", json.dumps({"version": 3, "epsilon": 9.0, "delta": 1e-6}, sort_keys=True)
    entry = {
        "task": "t", "batch": "one", "n": 1000, "bound": "best", "size": 5, "threshold": 1 << 64,
        "randomizer": {"kind": "response", "size": 5, "threshold": "1"},
        "previous": hashlib.sha256(budget.encode()).hexdigest(),
    }  # fmt: skip
    path.write_text(f"{budget}\n{json.dumps(entry, sort_keys=True)}\n")
    with pytest.raises(InvalidInput, match="altered"):
        Ledger(path).balance()


class Secretive:
    """A value whose own methods would show it."""

    def __float__(self) -> float:
        raise RuntimeError("SECRET")


def test_a_value_that_complains_is_not_heard() -> None:
    mean = plan("mean", n=1000, epsilon=1.0, delta=1e-6)
    with pytest.raises(InvalidInput) as refused:
        run(mean, [Secretive()] * 1000)
    assert "SECRET" not in str(refused.value)
    assert refused.value.__context__ is None
