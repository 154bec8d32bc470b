"""Counts with noise from the shuffler: planned, carried out by every engine, exported, composed, and as accurate as forecast."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from oracles.chance import SIGNIFICANCE, p_mean, p_variance
from oracles.scale import full
from shuffledp import InvalidInput, KeyedRandomness, Plan, Result, plan, run, verify
from shuffledp.auditing.added_noise import AddedNoise
from shuffledp.auditing.audit import audit
from shuffledp.auditing.conduct import conduct
from shuffledp.auditing.subject import Claimed
from shuffledp.baselines.compare import compare
from shuffledp.core.counts import Counts
from shuffledp.core.guarantee import NOTHING_LOCAL, SHUFFLER_NOISE, SHUFFLER_NOISE_SHOWN
from shuffledp.core.population import Population
from shuffledp.engines.export import message_table, read_export
from shuffledp.planning.release_cost import Spend, composed
from shuffledp.protocols.noised import NoisedCounts
from shuffledp.randomizers.geometric_noise import ThinnedGeometric
from shuffledp.results.simulation import simulate
from shuffledp.sources.values import ValuesSource

LABELS = ["a", "b", "c", "d", "e"]
FIFTY = ["a", "b", "c", "a", "b"] * 10
TRIES = full(150, 2000)
MADE = plan("histogram", labels=LABELS, n=50, epsilon=1.0, delta=1e-6, noise="shuffler")
PURE = plan("histogram", labels=LABELS, n=50, epsilon=1.0, delta=1e-6, noise="shuffler-pure")


def test_fifty_people_get_a_curators_answer() -> None:
    """Truth inside the intervals at the stated rate, off by 2.8: the same at any number of people, and for any data."""
    assert MADE.rmse == pytest.approx(math.sqrt(5) * 2.7989881132, rel=1e-9)
    other = plan("histogram", labels=LABELS, n=10**6, epsilon=1.0, delta=1e-6, noise="shuffler")
    assert other.protocol == MADE.protocol
    truth = np.array([20.0, 20, 10, 0, 0])
    found, inside = [], 0
    for turn in range(400):
        answer = run(MADE, FIFTY, randomness=KeyedRandomness.seeded(turn))
        found.append(answer.estimate.value)
        low, high = answer.estimate.interval(0.95)
        inside += int(((low <= truth) & (truth <= high)).sum())
    errors = np.array(found) - truth
    assert p_mean(errors) > SIGNIFICANCE
    assert p_variance(errors, 2.7989881132**2) > SIGNIFICANCE
    assert p_variance(errors.reshape(-1, 1), (0.8 * 2.7989881132) ** 2) < SIGNIFICANCE
    assert inside >= 0.95 * 2000 - 6.2 * math.sqrt(2000 * 0.95 * 0.05)


def test_intervals_of_every_kind_hold_the_truth() -> None:
    """One count or all at once; shares; ranges; margins of a table: a normal law's would be too short for one count."""
    table = plan(
        "histogram", labels=["no", "yes"], by={"sex": ["f", "m"]}, n=60, epsilon=1.0, delta=1e-6, noise="shuffler"
    )
    held = np.array([30, 5, 5, 20])
    generator, often = np.random.default_rng(8), np.zeros(5)
    for _ in range(TRIES):
        counts = np.append(held + table.protocol.noise.simulated(generator, (4,)), 60)  # type: ignore[attr-defined]
        estimate = table.protocol.reading.of(table.protocol.estimate(Counts(counts)))
        statistics = table.protocol.reading.statistics(estimate)
        assert statistics is not None
        assert statistics.ordered is not None
        margin = table.protocol.reading.beside(estimate)["users by sex"]
        for j, (one, truth) in enumerate((
            (estimate.interval(0.95), held), (estimate.interval(0.999), held),
            (statistics.frequencies().interval(0.95), held / 60),
            (statistics.ordered.in_range(1, 3).interval(0.95), np.array([30])), (margin.interval(0.95), np.array([35, 25])),
        )):  # fmt: skip
            often[j] += ((one[0] <= truth) & (truth <= one[1])).mean()
        assert statistics.ordered.cumulative().standard_error[-1] == 0
    stated = np.array([0.95, 0.999, 0.95, 0.95, 0.95])
    assert (often / TRIES >= stated - 6.2 * np.sqrt(stated * (1 - stated) / TRIES)).all()
    assert (often / TRIES <= stated + 0.05).all()


@pytest.mark.parametrize("made", [MADE, PURE], ids=["usual", "pure"])
def test_every_engine_adds_the_same_noise(made: Plan) -> None:
    answers = [
        run(made, FIFTY, randomness=KeyedRandomness.seeded(3), engine=engine).counts.values
        for engine in ("memory", "arrow")
    ]
    assert (answers[0] == answers[1]).all()
    assert answers[0][-1] == 50
    assert (answers[0][:-1] != [20, 20, 10, 0, 0]).any()
    other = run(made, FIFTY, randomness=KeyedRandomness.seeded(4)).counts.values
    assert (answers[0] != other).any()


def test_what_never_fails_errs_more_with_the_number_of_people() -> None:
    protocol = PURE.protocol
    assert isinstance(protocol, NoisedCounts)
    assert isinstance(protocol.noise, ThinnedGeometric)
    b, q = 1 - math.exp(-0.5), 1 / (1 + math.exp(0.5))
    assert protocol.noise.share_kept == pytest.approx(b)
    expected = [f * (1 - b) / b + q / ((1 - q) * b) ** 2 for f in (0, 10_000)]
    assert protocol.variance(np.array([0.0, 10_000.0]), 10_000) == pytest.approx(expected)
    assert math.sqrt(expected[0]) == pytest.approx(2.5, abs=0.1)
    assert math.sqrt(expected[1]) == pytest.approx(124, abs=1)
    found = simulate(
        PURE,
        Population(values=np.array([0, 3]), users=np.array([40, 10])),
        trials=4000,
        generator=np.random.default_rng(1),
    )
    assert found.rmse == pytest.approx(found.expected_rmse, rel=0.05)
    assert found.coverage >= 0.945


def test_a_plan_says_against_whom_it_protects() -> None:
    text = MADE.explain()
    assert SHUFFLER_NOISE_SHOWN in text
    assert MADE.guarantee.caveat == SHUFFLER_NOISE
    assert NOTHING_LOCAL in text
    assert "any number of reports; the minimum of 50, below which nothing is released, is a choice" in text
    assert math.isinf(MADE.epsilon0)
    assert MADE.guarantee.n == 1
    answer = run(MADE, FIFTY)
    assert SHUFFLER_NOISE_SHOWN in str(answer)
    assert any("A shuffler that sees this answer knows the exact counts" in note for note in answer.notes)
    assert answer.document()["guarantee"]["epsilon_if_shuffler_and_analyzer_collude"] is None
    assert answer.realised_epsilon == 1.0
    with pytest.raises(InvalidInput, match="The guarantee would hold for them"):
        run(MADE, FIFTY[:49])


@pytest.mark.parametrize("made", [MADE, PURE], ids=["usual", "pure"])
def test_files_are_proved_again_and_edited_ones_refused(made: Plan, tmp_path: Path) -> None:
    made.save(tmp_path / "plan.json")
    assert Plan.load(tmp_path / "plan.json") == made
    assert verify(tmp_path / "plan.json").confirmed
    answer = run(made, FIFTY)
    answer.save(tmp_path / "answer.json")
    assert verify(tmp_path / "answer.json").confirmed
    assert Result.load(tmp_path / "answer.json").guarantee == answer.guarantee
    for name in ("ratio", "peak", "kept"):
        document = json.loads((tmp_path / "plan.json").read_text())
        noise = document["protocol"]["randomizer"]["noise"]
        if name in noise:
            noise[name] = (
                noise[name] - 1 if name == "peak" else str(int(noise[name]) * (11 if name == "kept" else 9) // 10)
            )
            with pytest.raises(InvalidInput):
                Plan.from_document(document)
            document["certificate"]["claim"]["randomizer"]["noise"] = noise
            assert not verify_certificate(document["certificate"])


def verify_certificate(document: dict[str, object]) -> bool:
    """Whether a certificate is confirmed after its hash was made anew."""
    from shuffledp.core.canonical import digest

    body = {name: value for name, value in document.items() if name != "sha256"}
    return verify(body | {"sha256": digest(body)}).confirmed


def test_a_table_of_messages_has_the_dummies_among_them(tmp_path: Path) -> None:
    table = message_table(MADE, ValuesSource(FIFTY), engine="memory")
    table.write(tmp_path / "messages.parquet")
    answer = read_export(tmp_path / "messages.parquet")
    assert answer.n == 50
    assert (answer.counts.values == table.tally.counts.values).all()
    assert answer.counts.values[:-1].sum() > 100
    assert answer.guarantee == MADE.guarantee


def test_releases_compose_with_all_others() -> None:
    """Two of noise, and one of users who hide each other; each fails by itself now and then, which is charged."""
    one = plan("histogram", labels=LABELS, n=50, epsilon=0.5, delta=1e-8, noise="shuffler")
    crowd = plan("histogram", labels=LABELS, n=20_000, epsilon=0.5, delta=1e-8)
    spends = [Spend.of(one), Spend.of(one), Spend.of(crowd)]
    assert 1.0 <= composed(spends[:2], 1e-6) <= 1.02
    assert 1.0 < composed(spends, 1e-6) < 1.52
    document = {"randomizer": spends[0].randomizer, "n": spends[0].n, "bound": spends[0].bound}
    assert Spend.from_document(json.loads(json.dumps(document))) == spends[0]


def test_rounds_share_the_chance_of_failure() -> None:
    made = plan("histogram", labels=LABELS, n=50, epsilon=1.0, delta=1e-6, noise="shuffler", rounds=12)
    assert made.guarantee.delta * 12 <= 1e-6 / 9
    assert made.guarantee.epsilon > 1 / 12
    assert made.over_time is not None
    assert Plan.from_document(json.loads(json.dumps(made.document()))) == made


def test_it_is_compared_and_never_chosen_unasked() -> None:
    rows = {row.name: row for row in compare("histogram", size=16, n=10**5, epsilon=1.0, delta=1e-6)}
    noise = rows["shuffledp, shuffler's noise"]
    assert noise.trust == "the shuffler's noise"
    assert noise.rmse == pytest.approx(4 * 2.7989881132)
    assert noise.epsilon0 is None
    usual = plan("histogram", size=16, n=10**5, epsilon=1.0, delta=1e-6)
    assert not isinstance(usual.protocol, NoisedCounts)
    assert plan("histogram", size=16, n=10**5, epsilon=1.0, delta=1e-6, noise="users") == usual


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"noise": "curator"}, "`noise` is users, shuffler, shuffler-pure"),
        ({"noise": "shuffler", "messages_per_user": 1.5}, "dummies come from users or from the shuffler"),
        ({"noise": "shuffler", "paper": True}, "not for noise from the shuffler"),
        ({"noise": "shuffler", "size": 10**7}, "more than a shuffler can be asked to add"),
        ({"noise": "shuffler", "epsilon": 1e-7}, "too much for a shuffler"),
    ],
)
def test_what_makes_no_sense_is_refused(asked: dict[str, object], why: str) -> None:
    with pytest.raises(Exception, match=why):
        plan("histogram", **{"size": 4, "n": 100, "epsilon": 1.0, "delta": 1e-6, **asked})


@pytest.mark.parametrize("made", [MADE, PURE], ids=["usual", "pure"])
def test_audits_show_most_of_what_is_claimed(made: Plan) -> None:
    """From noise that is drawn by the code that runs; less noise than is claimed is found out."""
    found = audit(made, trials=40_000, randomness=KeyedRandomness.seeded(1))
    assert found.verdict == "consistent"
    assert 0.85 < found.epsilon <= 1.0
    less = plan("histogram", labels=LABELS, n=50, epsilon=1.5, delta=1e-6, noise="shuffler").protocol
    assert isinstance(less, NoisedCounts)
    claimed = Claimed(epsilon=1.0, delta=1e-6, by="the plan")
    subject = AddedNoise(less.noise, claimed=claimed, randomness=KeyedRandomness.seeded(2))
    assert conduct(subject, trials=40_000, confidence=0.999).verdict == "violated"
    with pytest.raises(InvalidInput, match="added by the shuffler"):
        audit(made.protocol.randomizer, n=50, delta=1e-6)
    with pytest.raises(InvalidInput, match="no local guarantee"):
        audit(made, view="local")
