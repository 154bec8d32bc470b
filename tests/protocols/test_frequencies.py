"""Frequencies of many values: planned as accurately as known, unbiased through every path, refused where they do not fit."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from oracles.documented import schema, validate
from oracles.parties import ANALYZER, PARTIES, announced, released, serving
from shuffledp import InvalidInput, KeyedRandomness, NoClaim, Plan, plan, run
from shuffledp.core.population import Population
from shuffledp.planning.families.frequencies import FrequenciesFamily
from shuffledp.planning.families.histogram import HistogramFamily
from shuffledp.planning.question import Question
from shuffledp.protocols.frequencies import Frequencies
from shuffledp.service.analyzer.analyzer import analyze
from shuffledp.service.analyzer.ledger import Ledger
from shuffledp.service.client.client import Client
from shuffledp.service.task import Task

N, VALUES = 10**6, 1_800_000


@pytest.fixture(scope="module")
def large() -> Plan:
    return plan("histogram", n=N, epsilon=1.0, delta=1e-6, size=VALUES)


def errors(found: Plan, *shares: float) -> list[float]:
    protocol: Any = found.protocol
    variance = protocol.variance(np.array(shares) * found.min_batch, found.min_batch)
    return [math.sqrt(one) for one in variance]


def test_two_million_values_are_as_accurate_as_known(large: Plan) -> None:
    assert isinstance(large.protocol, Frequencies)
    absent, held = errors(large, 0, 0.01)
    assert absent <= 29
    assert held <= 38
    assert Plan.from_document(large.document()) == large


def test_simulated_runs_agree(large: Plan) -> None:
    """A value that nobody holds, one of 1 % and one of 10 %, within 3 %; 10 % off is noticed."""
    protocol: Any = large.protocol
    p1, p0 = protocol.law
    generator = np.random.default_rng(1)
    for share, error in zip((0.0, 0.01, 0.1), errors(large, 0.0, 0.01, 0.1), strict=True):
        users = int(share * N)
        totals = generator.binomial(users, p1, 20_000) + generator.binomial(N - users, p0, 20_000)
        found = float(np.std(protocol.law.unbiased(totals, N)))
        assert found == pytest.approx(error, rel=0.03)
        assert found != pytest.approx(1.1 * error, rel=0.03)


def test_a_million_real_reports(large: Plan) -> None:
    """Zipf's law over half a million values, through messages and decoding: all errors as one normal law."""
    ranks = np.arange(1, 500_001)
    law = 1 / ranks / (1 / ranks).sum()
    values = np.random.default_rng(2).choice(500_000, N, p=law) * 3  # spread over the domain
    result = run(large, values, randomness=KeyedRandomness.seeded(1), truth=True)
    assert result.truth is not None
    protocol: Any = large.protocol
    expected = np.sqrt(protocol.variance(result.truth, N))
    z = (result.estimate.value - result.truth) / expected
    assert float(np.square(z).mean()) == pytest.approx(1, abs=0.02)
    assert float(np.abs(z).max()) < norm.isf(1e-9 / len(z))
    statistics = large.protocol.reading.statistics(result.estimate)
    assert statistics is not None
    assert set(statistics.top(5).tolist()) == {0, 3, 6, 9, 12}


@pytest.mark.parametrize(
    ("size", "kind", "options"),
    [
        (16, "histogram", {}),
        (16, "histogram", {"share": 0.01}),
        (5000, "histogram", {"objective": "total"}),
        (100_000, "frequencies", {}),
        (100_000, "frequencies", {"objective": "share", "share": 0.1}),
    ],
)
def test_the_planner_takes_what_errs_least(size: int, kind: str, options: dict[str, Any]) -> None:
    found = plan("histogram", n=10**5, epsilon=1.0, delta=1e-6, size=size, **options)
    assert found.protocol.kind == kind


def test_a_family_that_is_hopeless_is_not_calibrated(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[str]()
    for family in (HistogramFamily, FrequenciesFamily):
        propose = family.propose

        def noted(self: Any, question: Question, propose: Any = propose) -> Any:
            asked.append(type(self).__name__)
            return propose(self, question)

        monkeypatch.setattr(family, "propose", noted)
    plan("histogram", n=10**5, epsilon=1.0, delta=1e-6, size=16)
    assert asked == ["HistogramFamily"]
    asked.clear()
    plan("histogram", n=10**6, epsilon=1.0, delta=1e-6, size=10**6)
    assert asked == ["FrequenciesFamily"]


def test_a_family_that_looked_hopeless_answers_if_nobody_else_can(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: HistogramFamily, question: Question) -> Any:
        raise NoClaim(f"no {question.name} today. Come back tomorrow.")

    monkeypatch.setattr(HistogramFamily, "propose", refuse)
    assert plan("histogram", n=10**5, epsilon=1.0, delta=1e-6, size=16).protocol.kind == "frequencies"


def test_simulation_agrees_with_the_forecast() -> None:
    found = plan("histogram", n=10**5, epsilon=1.0, delta=1e-6, size=1000, objective="share")
    protocol = found.protocol
    population = Population(values=np.array([0, 1, 2]), users=np.array([60_000, 39_000, 1000]))
    generator, truth = np.random.default_rng(3), protocol.expected(population)
    parts = [np.square(protocol.simulate(population, generator, 5000) - truth).sum(axis=1) for _ in range(4)]
    squared = float(np.mean(parts))
    assert squared == pytest.approx(protocol.expected_error(population), rel=0.03)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"objective": "best"}, "the objective is total or share"),
        ({"objective": "total", "share": 0.1}, "a share belongs to the objective share"),
        ({"share": 1.5}, "share must be from 0 to 1"),
    ],
)
def test_bad_objectives(options: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        plan("histogram", n=10**5, epsilon=1.0, delta=1e-6, size=16, **options)


def test_ranges_of_frequencies_are_refused_with_what_to_do() -> None:
    from shuffledp.results.derived import derived

    found = plan("histogram", n=1000, epsilon=2.0, delta=1e-6, size=100_000)
    result = run(found, np.zeros(1000, dtype=np.int64), randomness=KeyedRandomness.seeded(2))
    assert derived(result, top=2)["top"][0]["bin"] == "0"
    with pytest.raises(InvalidInput, match="Plan with `objective='total'`"):
        derived(result, cdf=True)


def test_frequencies_through_the_service(tmp_path: Path) -> None:
    """Sealed by clients, released by a shuffler, opened, decoded and booked by the analyzer."""
    found = plan("histogram", n=200, epsilon=6.0, delta=1e-2, size=100_000)
    task = Task(plan=found, window=60, max_age=600, **PARTIES)
    assert Task.from_document(json.loads(json.dumps(task.document()))) == task
    validate(task.document(), schema("Task"))
    shuffler = serving(task)
    known = announced(shuffler, task)
    for person in range(240):
        client = Client(task=task, analyzer=ANALYZER.public(), folder=tmp_path / str(person))
        upload = client.report(31_337 if person % 2 else person, known)
        assert upload is not None
        assert shuffler.accept(task.id, [upload]) == ["accepted"]
    ledger = Ledger(tmp_path / "ledger.jsonl", epsilon=9.0, delta=1e-2)
    result = analyze(released(shuffler, task)[1], task, ANALYZER, ledger=ledger)
    assert result.n == 240
    assert int(np.argmax(result.estimate.value)) == 31_337
    assert abs(result.estimate.value[31_337] - 120) < 7 * result.estimate.standard_error[31_337]
    assert ledger.balance().releases == 1
