"""Moments of columns and regressions: unbiased moments, intervals that hold, and no number where nothing can be told."""

import json
import math
import re
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import statsmodels
from numpy.typing import NDArray

from oracles.chance import SIGNIFICANCE, p_mean, p_variance
from oracles.enumeration import true_delta
from oracles.scale import examples, full
from shuffledp import InvalidInput, KeyedRandomness, Plan, Result, audit, plan, run, run_file
from shuffledp.accounting.account import bound_named
from shuffledp.baselines.noisy_vector import NoisyMoments
from shuffledp.baselines.registry import families
from shuffledp.core.estimate import Estimate
from shuffledp.core.population import Population
from shuffledp.domains.products import Products
from shuffledp.planning.ask import ask
from shuffledp.planning.error_targets import users_needed
from shuffledp.planning.release_cost import Spend, composed
from shuffledp.protocols.column_moments import ColumnMoments
from shuffledp.protocols.linear_regression import INTERCEPT, Regression
from shuffledp.protocols.moment_reading import MomentAnswer
from shuffledp.randomizers.codebook_response import CodebookResponse, on_sphere
from shuffledp.randomizers.codewords import nearest
from shuffledp.results.simulation import simulate
from shuffledp.verification.verify import verify

Reals = NDArray[np.float64]
TERMS: dict[str, Any] = {"n": 2000, "epsilon": 2.0, "delta": 1e-4}
RANGES: dict[str, list[float]] = {"age": [18, 90], "rooms": [0, 8], "rent": [0, 3000]}


def homes(users: int, seed: int = 3) -> dict[str, Reals]:
    generator = np.random.default_rng(seed)
    age, rooms = generator.uniform(18, 90, users), generator.integers(0, 9, users).astype(float)
    rent = 200 + 200 * rooms + 4 * age + generator.uniform(-200, 600, users)
    return {"age": age, "rooms": rooms, "rent": rent}


def matrix(columns: dict[str, Reals]) -> Reals:
    return np.column_stack(list(columns.values()))


def small(**changes: Any) -> ColumnMoments:
    """Three columns in [-1, 1] and little blanket."""
    domain = Products((-1.0,) * 3, (1.0,) * 3, ("a", "b", "y"))
    randomizer = CodebookResponse.private(dimension=9, size=64, gamma=0.05, repeats=changes.pop("repeats", 1))
    asked = Regression(target="y", features=("a", "b"), **changes)
    return ColumnMoments(randomizer=randomizer, domain=domain, regression=asked)


def by_least_squares(columns: dict[str, Reals], target: str, features: list[str], ridge: float = 0.0) -> Reals:
    """The intercept and the coefficients, in the way of textbooks: rows for the ridge are added below the data."""
    rows = np.column_stack([columns[name] for name in features])
    centred, y = rows - rows.mean(axis=0), columns[target] - columns[target].mean()
    below = np.diag(np.sqrt(ridge * len(rows)) * rows.std(axis=0))
    found, *_ = np.linalg.lstsq(np.vstack([centred, below]), np.append(y, np.zeros(len(features))), rcond=None)
    return np.append(columns[target].mean() - rows.mean(axis=0) @ found, found)


# Points of the ball


@pytest.mark.parametrize("columns", [1, 2, 3, 7, 16])
def test_all_products_fit_into_the_ball_and_touch_it(columns: int) -> None:
    domain = Products((-1.0,) * columns, (1.0,) * columns, tuple(f"x{j}" for j in range(columns)))
    generator = np.random.default_rng(columns)
    rows = generator.uniform(-1, 1, (4000, columns)) ** generator.choice([1, 3], (4000, 1))
    rows[:2000] = np.round(rows[:2000])
    rows[0], rows[1] = 1.0, 0.0
    values = domain.clean(rows).values
    lengths = np.linalg.norm(domain.into_ball(values), axis=1)
    assert lengths.max() == pytest.approx(1, abs=1e-12)
    assert lengths[:2] == pytest.approx([1, 1], abs=1e-12)
    squared = np.square(domain.averaged(values) - domain.middle).sum(axis=1)
    assert domain.squares[0] - 1e-9 <= squared.min()
    assert squared.max() == pytest.approx(domain.squares[1])
    least = domain.averaged(domain.landmarks()[2:3]) - domain.middle
    assert float(np.square(least).sum()) == pytest.approx(domain.squares[0])
    second = (rows[:, :, None] * rows[:, None, :]).mean(axis=0)
    means = domain.averaged(values).mean(axis=0)
    assert means[columns : 2 * columns] == pytest.approx(np.diag(second))
    assert means[2 * columns :] == pytest.approx(second[np.triu_indices(columns, 1)])


# What is read off exact moments is what others work out from the rows


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_exact_moments_give_what_textbooks_give(ridge: float) -> None:
    columns = homes(500)
    made = plan.regression(ranges=RANGES, target="rent", ridge=ridge, **TERMS)
    protocol = made.protocol
    values = protocol.domain.clean(matrix(columns)).values
    read = protocol.reading.exactly(protocol.true_answer(protocol.truth(values)))
    table = np.array(list(columns.values()))
    pairs = np.triu_indices(3, 1)
    expected = [
        *by_least_squares(columns, "rent", ["age", "rooms"], ridge), *table.mean(axis=1), *table.var(axis=1),
        *np.cov(table, bias=True)[pairs], *np.corrcoef(table)[pairs],
    ]  # fmt: skip
    assert read == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_features_may_be_some_of_the_columns_in_any_order() -> None:
    columns = homes(400)
    for features in (["rooms"], ["rooms", "age"]):
        protocol = plan.regression(ranges=RANGES, target="rent", features=features, **TERMS).protocol
        truth = protocol.true_answer(protocol.truth(protocol.domain.clean(matrix(columns)).values))
        found = protocol.reading.exactly(truth)[: 1 + len(features)]
        assert found == pytest.approx(by_least_squares(columns, "rent", features), rel=1e-9)


def test_derivatives_are_those_of_what_is_read() -> None:
    """Standard errors are the lengths of gradients: compared with differences of what exact moments give."""
    protocol, generator = small(ridge=0.2), np.random.default_rng(1)
    rows = generator.uniform(-1, 1, (300, 3))
    rows[:, 2] = np.clip(0.5 * rows[:, 0] - 0.2 * rows[:, 1] + 0.3 * rows[:, 2], -1, 1)
    entries = protocol.domain.averaged(protocol.domain.clean(rows).values).mean(axis=0)
    reading, size = protocol.reading, len(entries)
    steps = np.eye(size) * 1e-6
    slopes = (reading.exactly(entries + steps) - reading.exactly(entries - steps)) / 2e-6
    errors = np.full(size, 1e-7)
    said = reading.of(Estimate(value=entries, standard_error=errors, n=10**9, names=protocol.names))
    assert said.standard_error == pytest.approx(1e-7 * np.linalg.norm(slopes, axis=0), rel=1e-5)
    assert said.value == pytest.approx(reading.exactly(entries))
    low, high = said.interval(0.95)
    assert (high - low)[:3] == pytest.approx(2 * 1.959964 * said.standard_error[:3], rel=1e-3)


# Tiny worlds


@pytest.mark.parametrize(
    ("columns", "size", "gamma", "n"), [(1, 2, 0.5, 2), (1, 2, 0.3, 3), (1, 3, 0.3, 3), (2, 2, 0.5, 3)]
)
def test_all_datasets_of_columns_and_a_tiny_codebook_are_inside_the_enclosure(
    columns: int, size: int, gamma: float, n: int
) -> None:
    """Two seeds that everybody may draw, and the codewords that columns of -1, 0 and 1 really name under them."""
    domain = Products((-1.0,) * columns, (1.0,) * columns, ("a", "b")[:columns])
    randomizer = CodebookResponse.private(dimension=domain.dimension, size=size, gamma=gamma)
    protocol = ColumnMoments(randomizer=randomizer, domain=domain)
    values = domain.clean(np.array(list(product((-1.0, 0.0, 1.0), repeat=columns)))).values
    targets = on_sphere(domain.into_ball(values), domain.dimension)
    named = [nearest(targets, np.full(len(targets), seed, dtype=np.uint64), size) for seed in (5, 9)]
    assert all(len(set(one.tolist())) > 1 for one in named)
    rows = {
        tuple(np.concatenate([(1 - gamma) * (np.arange(size) == own[j]) + gamma / size for own in named]) / len(named))
        for j in range(len(values))
    }
    for epsilon in (0.0, 0.3, 1.0):
        truth = true_delta(sorted(rows), n, epsilon)
        claim = bound_named("best").claim(protocol.message_blanket(), n=n, epsilon=epsilon, side="both")
        assert truth <= (1.0 if claim.regime else math.exp(claim.log_delta.upper)) * (1 + 1e-9)
        if columns == 1:  # whose ends are opposite points, and share no codeword
            assert truth >= math.exp(claim.log_delta.lower) * (1 - 1e-9)


# Whole runs


def whole_runs(protocol: ColumnMoments, values: NDArray[Any], runs: int, seed: int = 5) -> list[MomentAnswer]:
    """What the code that really runs says."""
    said = []
    for start in range(runs):
        messages = protocol.randomize(values, KeyedRandomness.seeded(seed), first_row=start * len(values))
        answer = protocol.reading.of(protocol.estimate(protocol.count(messages)))
        assert isinstance(answer, MomentAnswer)
        said.append(answer)
    return said


def held(said: list[MomentAnswer], truth: Reals, confidence: float) -> NDArray[np.bool_]:
    limits = [one.interval(confidence) for one in said]
    return np.array([(low <= truth) & (truth <= high) for low, high in limits])


PAGE = Path(__file__).parents[2] / "docs" / "regression.md"
RANDHIE = Path(statsmodels.__file__).parent / "datasets" / "randhie" / "src" / "randhie.csv"
FAMILIES: dict[str, list[float]] = {"xage": [0, 65], "educdec": [5, 20], "female": [0, 1], "linc": [6, 11]}
"""Ages, years of schooling of the head of the family, and the logarithm of its income; outside they are clamped."""


def health_insurance() -> dict[str, Reals]:
    """20,186 rows, each taken to be a person: the years of those in the RAND Health Insurance Experiment."""
    table = pd.read_csv(RANDHIE)[list(FAMILIES)].dropna()
    return {name: np.clip(table[name].to_numpy(dtype=np.float64), low, high) for name, (low, high) in FAMILIES.items()}


def test_coefficients_of_real_data_are_in_their_intervals_as_often_as_these_say() -> None:
    """By the code that really runs: 400 runs in `make test-all`, otherwise too few to see more than a blunder."""
    columns = health_insurance()
    users = len(columns["linc"])
    assert users == 20_186
    made = plan.regression(ranges=FAMILIES, target="linc", n=users, epsilon=1.0, delta=1e-6)
    protocol = made.protocol
    assert isinstance(protocol, ColumnMoments)
    values = protocol.domain.clean(matrix(columns)).values
    truth = protocol.reading.exactly(protocol.true_answer(protocol.truth(values)))
    assert truth[:4] == pytest.approx(by_least_squares(columns, "linc", ["xage", "educdec", "female"]), rel=1e-9)
    said = whole_runs(protocol, values, full(15, 400))
    assert not np.isnan([one.value[:4] for one in said]).any()
    rates = {level: held(said, truth, level)[:, :4].mean() for level in (0.95, 0.8)}
    assert full(85, 94) <= 100 * rates[0.95] <= full(1000, 965) / 10
    assert 100 * rates[0.8] < full(97, 84)
    assert 100 * held(said, truth, 0.95)[:, 4:18].mean() >= full(850, 935) / 10
    errors = np.array([one.value for one in said]) - truth
    stated = np.mean([np.square(one.standard_error[:4]) for one in said], axis=0)
    assert np.square(errors[:, :4]).mean(axis=0) == pytest.approx(stated, rel=full(100, 25) / 100)
    population = Population(values=values, users=np.ones(users, dtype=np.int64))
    assert stated == pytest.approx(protocol.reading.error(population)[:4], rel=0.25)


def test_the_page_states_the_errors_of_real_data() -> None:
    """One row of its table; all of them in `make test-all`."""
    columns = health_insurance()
    users = len(columns["linc"])
    told = {"ranges": FAMILIES, "target": "linc"}
    asked = ask("regression", options=told, n=users, epsilon=1.0, delta=1e-6)
    shown = re.findall(r"^\| (?:nobody|the \w+)[^|]*\| \d+ \|(.*)\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    names = (
        "local codebook response",
        "shuffledp",
        "shuffledp, 4 messages",
        "shuffledp, 16 messages",
        "Gaussian noise",
    )
    assert len(shown) == len(names)
    for name, row in list(zip(names, shown, strict=True))[full(1, 0) : full(2, 5)]:
        (family,) = [one for one in families("regression") if one.name == name and one.answers(asked)]
        protocol = family.propose(asked)
        values = protocol.domain.clean(matrix(columns)).values
        population = Population(values=values, users=np.ones(users, dtype=np.int64))
        errors = np.sqrt(protocol.reading.error(population)[1:4])
        stated = [float(cell) if "no number" not in cell else math.nan for cell in row.split("|")]
        assert stated == pytest.approx(errors.tolist(), rel=0.05, nan_ok=True)


def test_moments_are_unbiased_and_err_as_stated() -> None:
    protocol, generator = small(), np.random.default_rng(1)
    rows = generator.uniform(-1, 1, (full(150, 300), 3)) ** 3 + 0.2
    values = protocol.domain.clean(np.clip(rows, -1, 1)).values
    population = Population(values=values, users=np.ones(len(values), dtype=np.int64))
    runs = examples(600)
    messages = protocol.randomize(np.tile(values, runs), KeyedRandomness.seeded(2), first_row=0)
    said = [protocol.estimate(protocol.count(part)) for part in np.split(messages, runs)]
    errors = np.array([one.value for one in said]) - protocol.expected(population)
    assert p_mean(errors) > SIGNIFICANCE
    assert p_mean(errors + 0.5 * errors.std(axis=0)) < SIGNIFICANCE
    total, expected = np.sqrt(np.square(errors).sum(axis=1)), protocol.expected_error(population)
    assert p_variance(total, expected) > SIGNIFICANCE
    assert p_variance(total, 1.3 * expected) < SIGNIFICANCE
    assert np.cov(errors.T) == pytest.approx(protocol.covariance_of(population), abs=0.25 * float(errors.var()))
    assert expected == pytest.approx(float(np.trace(protocol.covariance_of(population))))


def test_simulated_intervals_hold_too() -> None:
    made = plan.regression(ranges=RANGES, target="rent", n=200_000, epsilon=1.0, delta=1e-6)
    rows = matrix(homes(6))
    population = Population(values=made.protocol.domain.clean(rows).values, users=np.full(6, 40_000))
    found = simulate(made, population, trials=400, generator=np.random.default_rng(1))
    assert found.refused == 0
    assert 0.94 < found.coverage < 0.98
    assert found.rmse == pytest.approx(found.expected_rmse, rel=0.2)


# What cannot be told


def asked_of(columns: dict[str, Reals], **changes: Any) -> Any:
    ranges = {name: [-1, 1] for name in columns}
    users = len(next(iter(columns.values())))
    given: dict[str, Any] = {"target": "y", "n": users, "epsilon": 2.0, "delta": 1e-6} | changes
    return run(plan.regression(ranges=ranges, **given), columns, randomness=KeyedRandomness.seeded(3), truth=True)


def apart(users: int = 20_000) -> dict[str, Reals]:
    generator = np.random.default_rng(4)
    a, b, noise = generator.uniform(-1, 1, (3, users))
    return {"a": a, "b": b, "y": 0.5 * a - 0.3 * b + 0.2 * noise}


def test_collinear_features_have_no_coefficients_and_the_answer_says_why() -> None:
    columns = apart()
    columns["b"] = np.clip(columns["a"] + 0.01 * columns["b"], -1, 1)
    found = asked_of(columns)
    assert np.isnan(found.estimate.value[:3]).all()
    assert not np.isnan(found.estimate.value[3:]).any()
    why = found.estimate.refused["coefficient: a"]
    assert "what the other features do not explain of a, b is not above the noise" in why
    assert found.to_dict()["coefficient: a"]["estimate"] is None
    assert f"a: {why}" in str(found)
    assert json.loads(json.dumps(found.whole(), allow_nan=False))["estimate"]["value"][1] is None
    with_ridge = asked_of(columns, ridge=0.5)
    truth = by_least_squares(columns, "y", ["a", "b"], 0.5)
    assert with_ridge.truth[:3] == pytest.approx(truth, rel=1e-6)
    assert np.abs(with_ridge.estimate.value[:3] - truth).max() < 6 * with_ridge.estimate.standard_error[:3].max()


def test_constant_columns_have_no_coefficient_and_no_correlation() -> None:
    columns = apart() | {"b": np.full(20_000, 0.25)}
    found = asked_of(columns)
    assert "b is not above the noise" in found.estimate.refused["coefficient: a"]
    assert found.estimate.refused.keys() == {
        f"coefficient: {INTERCEPT}", "coefficient: a", "coefficient: b", "correlation: a, b", "correlation: b, y",
    }  # fmt: skip
    assert found.truth is not None
    assert np.isnan(found.truth[[1, 2]]).all()
    assert found["correlation", "a, y"].estimate > 0.5
    constant = asked_of(apart() | {"y": np.full(20_000, 0.25)})
    assert abs(constant["coefficient", "a"].estimate) < 6 * constant["coefficient", "a"].standard_error


def test_covariances_that_no_data_have_are_projected_and_that_is_said() -> None:
    columns = apart()
    columns["y"] = 0.6 * columns["a"] + 0.4 * columns["b"]
    made = plan.regression(ranges={name: [-1, 1] for name in columns}, target="y", n=20_000, epsilon=2.0, delta=1e-6)
    said = []
    for seed in range(6):
        found = run(made, columns, randomness=KeyedRandomness.seeded(seed))
        said.append(any("No data have the estimated covariances" in note for note in found.notes))
        assert isinstance(found.estimate, MomentAnswer)
        assert said[-1] == found.estimate.projected
        rho = found.estimate.value[-3:]
        assert (np.abs(rho) <= 1).all()
        low, high = found.estimate.interval()
        assert (low[-3:] >= -1).all()
        assert (high[-3:] <= 1).all()
        assert np.abs(found.estimate.value[1:3] - [0.6, 0.4]).max() < 6 * found.estimate.standard_error[1:3].max()
    assert True in said
    assert not any("No data have" in note for note in asked_of(apart()).notes)


def test_a_false_report_moves_no_number_by_more_than_is_stated() -> None:
    """Whatever codeword one of the users sends."""
    protocol, generator = small(ridge=0.1), np.random.default_rng(2)
    a, b, noise = generator.uniform(-1, 1, (3, 4000))
    values = protocol.domain.clean(np.array([a, b, 0.5 * a - 0.3 * b + 0.2 * noise]).T).values
    messages = protocol.randomize(values, KeyedRandomness.seeded(1), first_row=0)
    answer = protocol.reading.of(protocol.estimate(protocol.count(messages)))
    stated = protocol.reading.shift(answer)
    assert not np.isnan(answer.value).any()
    moved = []
    for false in generator.integers(0, protocol.alphabet, 60, dtype=np.uint64):
        other = messages.copy()
        other[int(false) % len(other)] = false
        moved.append(np.abs(protocol.reading.of(protocol.estimate(protocol.count(other))).value - answer.value).max())
    assert 0.02 * stated < max(moved) <= stated


# As every other question


def test_rows_of_every_kind_give_the_same_answer_and_clipping_is_counted(tmp_path: Path) -> None:
    made, columns = plan.moments(ranges=RANGES, **TERMS), homes(3000)
    columns["rent"][:7] = 9999.0
    rows = matrix(columns)
    pd.DataFrame(columns).to_csv(tmp_path / "homes.csv", index=False)
    pd.DataFrame(columns).to_parquet(tmp_path / "homes.parquet")
    how: dict[str, Any] = {"outside": "clamp", "randomness": KeyedRandomness.seeded(2).replayed()}
    answers = [run(made, given, **how) for given in (rows, columns, pa.table(columns), pd.DataFrame(columns))]
    answers += [run_file(made, tmp_path / name, **how) for name in ("homes.csv", "homes.parquet")]
    for found in answers:
        assert (found.counts.values == answers[0].counts.values).all()
        assert found.adjusted == {"clamped": 7}
        assert "7 clamped" in str(found)
    with pytest.raises(InvalidInput, match="outside the ranges"):
        run(made, columns, randomness=KeyedRandomness.seeded(2).replayed())


def test_entries_are_found_by_name() -> None:
    found = asked_of(apart())
    frame = found.to_frame()
    assert frame["name"].tolist()[:4] == ["coefficient: (intercept)", "coefficient: a", "coefficient: b", "mean: a"]
    assert found["coefficient", "a"].low < 0.5 < found["coefficient", "a"].high
    assert found["covariance", "a, b"].name == "covariance: a, b"
    assert found.truth == pytest.approx(found.estimate.value, abs=0.2)


def test_a_saved_answer_has_all_of_it_and_is_verified(tmp_path: Path) -> None:
    wide = RANGES | {"rooms": [0, 800]}  # of which the data use a hundredth
    made = plan.regression(ranges=wide, target="rent", n=300, epsilon=1.0, delta=1e-3)
    found = run(made, homes(300))
    found.save(tmp_path / "answer.json")
    loaded = Result.load(tmp_path / "answer.json")
    assert str(loaded) == str(found)
    assert loaded.to_dict() == found.to_dict()
    assert found.estimate.refused.keys() >= {f"coefficient: {INTERCEPT}", "coefficient: age", "coefficient: rooms"}
    assert "is not above the noise" in str(loaded)
    document = json.loads((tmp_path / "answer.json").read_text())
    assert document["question"] == "regression"
    assert list(document["measures"]) == ["coefficient", "mean", "variance", "covariance", "correlation"]
    assert verify(document).confirmed


@pytest.mark.parametrize("changes", [{}, {"honest_fraction": 0.7, "dropout": 0.2}])
def test_plans_are_read_again_verified_and_booked(changes: dict[str, Any]) -> None:
    made = plan.regression(ranges=RANGES, target="rent", n=100, epsilon=1.0, delta=1e-2, **changes)
    document = json.loads(json.dumps(made.document()))
    assert Plan.from_document(document) == made
    assert verify(document).confirmed
    spend = Spend.of(made)
    assert composed([spend], 1e-2) <= 1.001
    plain = plan.moments(ranges=RANGES, n=100, epsilon=1.0, delta=1e-2, **changes)
    assert plain.protocol.randomizer == made.protocol.randomizer
    assert Spend.of(plain) == spend


def test_privacy_is_that_of_a_mean_of_as_many_entries() -> None:
    one = plan.moments(ranges=RANGES, **TERMS)
    other = plan.vector(dimension=9, **TERMS)
    assert one.protocol.randomizer == other.protocol.randomizer
    assert one.guarantee == other.guarantee
    assert one.epsilon0 == other.epsilon0


@pytest.mark.parametrize("columns", [1, 2])
def test_an_audit_shows_something_and_not_more_than_is_claimed(columns: int) -> None:
    ranges = dict(list(RANGES.items())[:columns])
    made = plan.moments(ranges=ranges, n=50, epsilon=1.0, delta=1e-2)
    found = audit(made, trials=4000, randomness=KeyedRandomness.seeded(3))
    assert found.verdict != "violated"
    assert 0.05 < found.epsilon < 1.0


def test_targets_of_accuracy() -> None:
    by_error = plan.moments(ranges=RANGES, n=50_000, rmse=0.05, delta=1e-6)
    assert by_error.rmse == pytest.approx(0.05, rel=0.03)
    fewest = users_needed("moments", rmse_share=0.05, epsilon=1.0, delta=1e-6, ranges=RANGES)
    assert 0.045 < fewest.rmse <= 0.05


def test_a_curator_reads_the_same_off_its_moments() -> None:
    columns = homes(5000)
    domain = Products((18.0, 0.0, 0.0), (90.0, 8.0, 3000.0), tuple(RANGES))
    protocol = NoisyMoments(domain=domain, sigma=1e-6, regression=Regression(target="rent", features=("age", "rooms")))
    counts = protocol.count(
        protocol.randomize(domain.clean(matrix(columns)).values, KeyedRandomness.seeded(1), first_row=0)
    )
    found = protocol.reading.of(protocol.estimate(counts))
    assert found.value[:3] == pytest.approx(by_least_squares(columns, "rent", ["age", "rooms"]), rel=1e-4)


# Bad input


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"ranges": {}}, "columns with ranges"), ({"ranges": {"a": [1, 1], "y": [0, 1]}}, "to a larger one"),
        ({"ranges": {"a": [0, math.inf], "y": [0, 1]}}, "finite|range"), ({"ranges": {"a": [0], "y": [0, 1]}}, "not two numbers"),
        ({"ranges": {"y": [0, 1]}}, "at least one feature"), ({"features": ["a", "y"]}, "is among the features"),
        ({"features": ["a", "a"]}, "named twice"), ({"features": ["c"]}, "no column 'c'"), ({"target": "z"}, "no column 'z'"),
        ({"ridge": -1.0}, "`ridge` must be"), ({"ridge": math.nan}, "ridge"), ({"features": []}, "at least one feature"),
        ({"ranges": {f"x{j}": [0, 1] for j in range(16)} | {"y": [0, 1]}}, "1 to 16 columns"),
        ({"messages_per_user": 0}, "1 to"), ({"ranges": {INTERCEPT: [0, 1], "y": [0, 1]}}, "name of the constant"),
        ({"ranges": {"a": [0, 1], "a squared": [0, 1], "y": [0, 1]}}, "same name"),
    ],
)  # fmt: skip
def test_bad_questions_are_refused(asked: dict[str, Any], why: str) -> None:
    given = {"ranges": {"a": [0, 1], "b": [0, 1], "y": [0, 1]}, "target": "y"} | TERMS | asked
    with pytest.raises(InvalidInput, match=why):
        plan.regression(**given)


@pytest.mark.parametrize("name", ["moments", "regression"])
def test_a_question_without_what_it_needs_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="ranges="):
        plan(name, **TERMS)
    with pytest.raises(InvalidInput, match="has no `norm`"):
        plan(name, norm=1.0, **TERMS)
    if name == "regression":
        with pytest.raises(InvalidInput, match=r"Give `target`, e\.g\. target='y'"):
            plan(name, ranges={"a": [0, 1], "y": [0, 1]}, **TERMS)


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (np.zeros((5, 2)), "rows have 2 numbers, and the plan is for 3"), ([[50.0, math.nan, 0.0]], "is missing"),
        ([[50.0, math.inf, 0.0]], "is infinite"), ([[50.0, 31337.0, 0.0]], "is outside the ranges of the columns"),
        ({"age": [50.0], "rooms": [1.0]}, "rent"),
    ],
)  # fmt: skip
def test_bad_rows_are_refused_and_not_shown(rows: Any, why: str) -> None:
    made = plan.moments(ranges=RANGES, **TERMS)
    with pytest.raises(InvalidInput, match=why) as refused:
        run(made, rows)
    assert "31337" not in str(refused.value)


def test_other_documents_are_refused() -> None:
    document = plan.regression(ranges=RANGES, target="rent", **TERMS).document()
    for changed in (
        {"regression": {"target": "x", "features": ["age"], "ridge": 0}},
        {"regression": {"target": "rent", "features": ["rent"], "ridge": 0}},
        {"regression": {"target": "rent", "features": ["age"]}},
        {"domain": document["protocol"]["domain"] | {"kind": "box"}},
        {"kind": "vector-mean"},
    ):
        other = json.loads(json.dumps(document))
        other["protocol"] |= changed
        with pytest.raises(InvalidInput):
            Plan.from_document(other)
