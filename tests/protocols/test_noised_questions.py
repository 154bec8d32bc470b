"""Distributions and surveys with noise from the shuffler: exact errors, exact privacy of tiny tables, and from plan to page."""

import json
import math
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import ctx

from oracles.chance import SIGNIFICANCE, p_mean, p_variance
from oracles.parties import ANALYZER, PARTIES, released, sealed, serving
from oracles.scale import full
from shuffledp import InvalidInput, KeyedRandomness, Plan, plan, run, verify
from shuffledp.auditing.audit import audit
from shuffledp.baselines.compare import compare
from shuffledp.core.estimate import Estimate
from shuffledp.core.guarantee import SHUFFLER_NOISE_SHOWN
from shuffledp.core.population import Population
from shuffledp.domains.intervals import Intervals
from shuffledp.domains.labels import Labels
from shuffledp.engines.export import message_table, read_export
from shuffledp.figures.result_page import page
from shuffledp.planning.from_targets import survey_strategies
from shuffledp.protocols.estimator import Reals
from shuffledp.protocols.noised import NoisedCounts
from shuffledp.protocols.noised_distribution import NoisedDistribution
from shuffledp.protocols.noised_survey import NoisedTable
from shuffledp.protocols.protocol import ShuffleProtocol
from shuffledp.protocols.quantiles import QUARTILES, Curve
from shuffledp.protocols.survey import Asked
from shuffledp.randomizers.geometric_noise import GeometricNoise, ThinnedGeometric, TwoSidedGeometric
from shuffledp.randomizers.shuffler_noise import ShufflerNoise
from shuffledp.results.simulation import simulate
from shuffledp.service.analyzer.analyzer import analyze
from shuffledp.service.task import Task
from shuffledp.sources.values import ValuesSource

ONE = 2.7989881132
"""The standard error of a count at epsilon 1, delta 1e-6 (summed by hand, see tests/randomizers/test_geometric_noise.py)."""
USUAL, PURE = TwoSidedGeometric.least(1.0, 1e-6), ThinnedGeometric.least(2.0)
ROUGH = TwoSidedGeometric.least(3.0, 1e-2)
"""With a peak so low that its law is far from symmetric."""
HABITS = [
    {"name": "smokes", "ask": "histogram", "labels": ["no", "yes"], "weight": 2},
    {"name": "sleep", "ask": "distribution", "low": 4, "high": 12, "resolution": 4},
]
PEOPLE = [{"smokes": "yes" if j % 3 else "no", "sleep": 4 + j % 8} for j in range(60)]
HOURS = plan("distribution", low=0, high=8, resolution=9, n=60, epsilon=1.0, delta=1e-6, noise="shuffler")
TABLE = plan("survey", questions=HABITS, n=60, epsilon=1.0, delta=1e-6, noise="shuffler")
SLEPT = [j % 8 for j in range(60)]


def grid(size: int, noise: GeometricNoise, cells: int = 1) -> NoisedDistribution:
    return NoisedDistribution(
        randomizer=ShufflerNoise(size=size, noise=noise), domain=Intervals(size, 0.0, 1.0), cells=cells
    )


@pytest.mark.parametrize("noise", [USUAL, PURE, ROUGH], ids=["usual", "pure", "rough"])
@pytest.mark.parametrize("size", [2, 3, 4, 8, 9])
def test_every_edge_and_range_has_the_variance_of_its_counts(size: int, noise: GeometricNoise) -> None:
    """By the weights that estimates turn out to have, and the variance of one count from its whole law."""
    protocol, users = grid(size, noise), np.random.default_rng(size).integers(0, 20, size)
    n, b = int(users.sum()), noise.share_kept
    law = noise.chances()
    mean = float(law @ np.arange(len(law)))
    one = float(law @ (np.arange(len(law)) - mean) ** 2)
    counted = users * b * (1 - b) + one
    rows = np.append(np.eye(size, dtype=np.int64), np.full((size, 1), n, dtype=np.int64), axis=1)
    nothing = protocol.debias(np.append(np.zeros(size, dtype=np.int64), n), n)
    weights = np.vstack([np.zeros(size), (protocol.debias(rows, n) - nothing).T, np.zeros(size)])
    truth = protocol.true_answer(users)
    assert weights[1:-1] @ (users * b + mean) + nothing == pytest.approx(truth)
    assert protocol.variance(users) == pytest.approx(weights[1:-1] ** 2 @ counted)
    assert protocol.standard_error(truth, n) ** 2 == pytest.approx(weights[1:-1] ** 2 @ counted)
    for below, variance in zip(truth, protocol.variance(users), strict=True):
        assert variance <= n * protocol.rank_variance(float(below) / n, n) * (1 + 1e-9)
    for first in range(size):
        for last in range(first, size):
            difference = weights[last + 1] - weights[first]
            assert difference * b == pytest.approx(protocol.weights(first, last))
            assert len({abs(weight) for weight in protocol.weights(first, last).tolist() if weight}) <= 1
            assert protocol.range_variance(first, last, users.astype(float)) == pytest.approx(difference**2 @ counted)


def test_no_edge_errs_more_than_the_middle() -> None:
    """Far out the nearer side is counted, so that one interval at the end errs as a single count does."""
    errors = grid(100, USUAL).standard_error(np.zeros(99), 1000)
    assert errors[0] == pytest.approx(ONE)
    assert errors[-1] == pytest.approx(ONE)
    assert errors[3] == pytest.approx(2 * ONE)
    assert errors.max() == pytest.approx(5 * ONE)


@pytest.mark.parametrize("noise", [USUAL, PURE, ROUGH], ids=["usual", "pure", "rough"])
def test_intervals_of_edges_quartiles_and_ranges_hold_the_truth(noise: GeometricNoise) -> None:
    held, tries = np.array([30, 5, 0, 10, 3, 2]), full(300, 3000)
    protocol, generator = grid(6, noise), np.random.default_rng(5)
    truth, often = protocol.true_answer(held), np.zeros(3)
    population = Population(values=np.arange(6), users=held)
    assert population.n == 50
    drawn = protocol.simulate(population, generator, tries)
    for value in drawn:
        estimate = protocol.noised(Estimate(value=value, standard_error=protocol.standard_error(value, 50), n=50))
        curve = protocol.reading.statistics(estimate)
        assert isinstance(curve, Curve)
        low, high = estimate.interval(0.95)
        often[0] += ((low <= truth) & (truth <= high)).mean()
        low, high = curve.in_range(1, 4).interval(0.95)
        often[1] += ((low <= 18) & (high >= 18)).mean()
        low, high = curve.in_range(0, 2).interval(0.95)
        often[2] += ((low <= 35) & (high >= 35)).mean()
    assert (often / tries >= 0.95 - 6.2 * math.sqrt(0.95 * 0.05 / tries)).all()
    ranks = [np.searchsorted(np.cumsum(held) / 50, share) for share in QUARTILES]
    assert len(ranks) == 3
    assert 0 < protocol.rank_error(50) <= 1


@pytest.mark.parametrize(
    "noise", [TwoSidedGeometric.least(2.0, 0.2), ThinnedGeometric.least(2.0)], ids=["usual", "pure"]
)
def test_delta_of_a_tiny_survey_is_the_stated_one_whatever_others_hold(noise: GeometricNoise) -> None:
    """All counts of the table's cells, up to ten of each: nobody's answers move delta above what is claimed."""
    counts = [
        NoisedCounts(randomizer=ShufflerNoise(size=2, noise=noise), domain=Labels(("no", "yes"))) for _ in range(2)
    ]
    table = NoisedTable(questions=tuple(Asked(name=name, protocol=one) for name, one in zip("ab", counts, strict=True)))
    assert table.alphabet == 4
    kept, top = noise.share_kept, 14
    law = np.concatenate([noise.chances(), np.zeros(top)])[: top + 1]
    lost = 1 - law.sum()

    def released_law(rows: list[dict[str, str]]) -> Reals:
        values = table.domain.clean(rows).values
        held = np.bincount(table.encode(values, KeyedRandomness.seeded(1), first_row=0), minlength=4)
        each = []
        for users in held.tolist():
            said = np.array([math.comb(users, k) * kept**k * (1 - kept) ** (users - k) for k in range(users + 1)])
            each.append(np.convolve(said, law)[: top + 1])
        return np.asarray(np.einsum("i,j,k,l->ijkl", *each))

    answers = [{"a": a, "b": b} for a, b in product(("no", "yes"), repeat=2)]
    for epsilon in (0.5, 1.0, 2.0):
        with ctx.workprec(256):
            stated = sum(max(0.0, float(one - math.exp(epsilon) * other)) for one, other in noise.outcomes())
        worst = 0.0
        for others in ([], [answers[0]], [answers[3], answers[0]]):
            for mine, instead in product(answers, repeat=2):
                first, second = (released_law([*others, one]) for one in (mine, instead))
                found = float(np.maximum(first - math.exp(epsilon) * second, 0).sum())
                assert found <= stated + 5 * lost + 1e-12
                worst = max(worst, found)
        assert worst == pytest.approx(stated, abs=5 * lost + 1e-9)


def test_a_table_errs_as_its_margins_do() -> None:
    """Eight cells: each answer of two has the dummies of four cells, each interval of four those of two."""
    protocol = TABLE.protocol
    assert isinstance(protocol, NoisedTable)
    smokes, sleep = (one.protocol for one in protocol.questions)
    assert isinstance(smokes, NoisedCounts)
    assert (smokes.cells, sleep.cells) == (4, 2)  # type: ignore[attr-defined]
    assert protocol.errors(60)[0] == pytest.approx(2 * 4 * ONE**2)
    errors = []
    truth = protocol.expected(population_of(protocol))
    for turn in range(full(400, 2000)):
        errors.append(run(TABLE, PEOPLE, randomness=KeyedRandomness.seeded(turn)).estimate.value - truth)
    found = np.array(errors)
    assert p_mean(found) > SIGNIFICANCE
    assert p_variance(found[:, :2].reshape(-1, 1), 4 * ONE**2) > SIGNIFICANCE
    assert p_variance(found[:, :2].reshape(-1, 1), (0.8 * 2 * ONE) ** 2) < SIGNIFICANCE


def population_of(protocol: ShuffleProtocol) -> Population:
    values = protocol.domain.clean(PEOPLE).values
    return Population(values=values, users=np.ones(len(values), dtype=np.int64))


def test_sums_of_dummies_less_others_are_added_up_as_laws() -> None:
    """By convolution of exact fractions, of a law that is far from symmetric."""
    noise = TwoSidedGeometric(ratio=1 << 62, peak=1)
    law = [Fraction(1, 4) ** abs(k - 1) for k in range(40)]
    law = [p / sum(law) for p in law]
    total: dict[int, Fraction] = {}
    for i, j, k in product(range(14), repeat=3):
        total[i + j - k] = total.get(i + j - k, Fraction(0)) + law[i] * law[j] * law[k]
    mean = float(sum(k * p for k, p in enumerate(law)))
    for miss in (0.3, 0.05, 1e-3):
        far = noise.reach_of_sum(miss, 2, 1)
        beyond = float(sum(p for k, p in total.items() if abs(k - mean) > far + 1e-9))
        nearer = float(sum(p for k, p in total.items() if abs(k - mean) > far - 1e-9))
        assert beyond <= miss < nearer + 1e-6


@pytest.mark.parametrize(("made", "data"), [(HOURS, SLEPT), (TABLE, PEOPLE)], ids=["distribution", "survey"])
def test_from_plan_to_result_and_back(made: Plan, data: list[object], tmp_path: Path) -> None:
    made.save(tmp_path / "plan.json")
    assert Plan.load(tmp_path / "plan.json") == made
    assert verify(tmp_path / "plan.json").confirmed
    assert made.guarantee.n == 1
    assert math.isinf(made.epsilon0)
    assert SHUFFLER_NOISE_SHOWN in made.explain()
    answers = [run(made, data, randomness=KeyedRandomness.seeded(3), engine=engine) for engine in ("memory", "arrow")]
    assert (answers[0].counts.values == answers[1].counts.values).all()
    answer = run(made, data)
    answer.save(tmp_path / "answer.json")
    assert verify(tmp_path / "answer.json").confirmed
    assert sum("A shuffler that sees this answer knows" in note for note in answer.notes) == 1
    assert "A shuffler that sees this answer" in page(answer.whole())
    table = message_table(made, ValuesSource(data), engine="memory")
    table.write(tmp_path / "messages.parquet")
    assert (read_export(tmp_path / "messages.parquet").counts.values == table.tally.counts.values).all()
    assert audit(made, trials=20_000, randomness=KeyedRandomness.seeded(1)).verdict == "consistent"
    document = json.loads((tmp_path / "plan.json").read_text())
    noise = (document["protocol"].get("randomizer") or document["protocol"]["questions"][0]["randomizer"])["noise"]
    noise["peak"] -= 1
    with pytest.raises(InvalidInput):
        Plan.from_document(document)


def test_what_is_read_off_has_the_limits_of_the_noise() -> None:
    answer = run(HOURS, SLEPT, randomness=KeyedRandomness.seeded(2))
    of_survey = run(TABLE, PEOPLE, randomness=KeyedRandomness.seeded(2))
    for found, true in ((answer.quantile(0.5), 3.5), (of_survey.quantile(0.5, "sleep"), 8)):
        assert float(found.low) <= true <= float(found.high)


def test_simulations_agree_with_the_forecast() -> None:
    for made, population in (
        (HOURS, Population(values=np.array([0, 3]), users=np.array([40, 20]))),
        (TABLE, population_of(TABLE.protocol)),
    ):
        found = simulate(made, population, trials=3000, generator=np.random.default_rng(1))
        assert found.rmse == pytest.approx(found.expected_rmse, rel=0.05)
        assert found.coverage >= 0.945


@pytest.mark.parametrize("made", [HOURS, TABLE], ids=["distribution", "survey"])
def test_the_service_collects_it(made: Plan) -> None:
    task = Task(plan=made, window=60, max_age=600, **PARTIES)
    messages = made.protocol.randomize(
        made.protocol.domain.clean(SLEPT if made is HOURS else PEOPLE).values, KeyedRandomness.fresh(), first_row=0
    )
    shuffler = serving(task)
    shuffler.accept(task.id, [sealed(int(message), task) for message in messages])
    _, data = released(shuffler, task)
    answer = analyze(data, task, ANALYZER)
    assert answer.n == 60
    truth = made.protocol.true_answer(
        made.protocol.truth(made.protocol.domain.clean(SLEPT if made is HOURS else PEOPLE).values)
    )
    low, high = answer.estimate.interval(1 - 1e-9)
    assert ((low <= truth) & (truth <= high)).all()


def test_they_are_never_chosen_unasked_and_compared() -> None:
    asked: dict[str, Any] = {"low": 0, "high": 1, "resolution": 100, "n": 300, "epsilon": 1.0, "delta": 1e-6}
    rows = {row.name: row for row in compare("distribution", **asked)}
    noise = rows["shuffledp, shuffler's noise"]
    assert noise.trust == "the shuffler's noise"
    assert noise.rmse is not None
    assert all(row.rmse is None or row.rmse > 2 * noise.rmse for row in rows.values() if row is not noise)
    assert not isinstance(plan("distribution", **asked).protocol, NoisedDistribution)
    terms: dict[str, Any] = {"questions": HABITS, "n": 300, "epsilon": 1.0, "delta": 1e-6}
    unasked = survey_strategies("survey", terms)
    assert "shuffledp, joint table with the shuffler's noise" not in [proposal.family for proposal in unasked]
    asked_for = survey_strategies("survey", terms | {"noise": "shuffler"})
    assert [proposal.family for proposal in asked_for] == ["shuffledp, joint table with the shuffler's noise"]


def test_rounds_share_the_chance_of_failure() -> None:
    made = plan("distribution", low=0, high=8, resolution=9, n=60, epsilon=1.0, delta=1e-6, noise="shuffler", rounds=4)
    assert made.guarantee.delta * 4 <= 1e-6 / 9
    surveyed = plan("survey", questions=HABITS, n=60, epsilon=1.0, delta=1e-6, noise="shuffler-pure", rounds=2)
    assert surveyed.over_time is not None
    assert Plan.from_document(json.loads(json.dumps(surveyed.document()))) == surveyed


MEAN = {"name": "age", "ask": "mean", "low": 18, "high": 100}


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"questions": [*HABITS, MEAN]}, "'age', a mean, cannot be asked with noise from the shuffler"),
        ({"way": "all"}, "all questions are asked in one table"),
        ({"questions": [HABITS[0] | {"noise": "shuffler"}, HABITS[1]]}, "Say `noise` of the survey"),
        ({"questions": [HABITS[0], HABITS[1] | {"resolution": 1 << 16}], "epsilon": 0.001}, "more than a shuffler can"),
        (
            {"questions": [HABITS[0], *({**HABITS[1], "name": f"q{j}", "resolution": 1000} for j in range(2))]},
            "2\\^20 cells",
        ),
        ({"noise": "curator"}, "`noise` is users, shuffler"),
    ],
)
def test_what_makes_no_sense_is_refused(asked: dict[str, object], why: str) -> None:
    usual = {"questions": HABITS, "n": 60, "epsilon": 1.0, "delta": 1e-6, "noise": "shuffler"}
    with pytest.raises(InvalidInput, match=why):
        plan("survey", **usual | asked)
