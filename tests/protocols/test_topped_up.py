"""Histograms of too few people, topped up with noise: as private as stated for any data, unbiased, and as exact as stated."""

import math
from itertools import product

import numpy as np
import pytest
from flint import ctx
from numpy.typing import NDArray

from oracles.chance import SIGNIFICANCE, p_mean, p_variance
from oracles.scale import full
from shuffledp import Histogram, InvalidInput, KeyedRandomness, plan
from shuffledp.core.counts import Counts
from shuffledp.core.guarantee import SHUFFLER_NOISE
from shuffledp.core.population import Population
from shuffledp.domains.labels import Labels
from shuffledp.planning.topping_up import topped_up, topped_up_with
from shuffledp.protocols.topped_up import ToppedUp
from shuffledp.randomizers.geometric_noise import ThinnedGeometric, TwoSidedGeometric
from shuffledp.randomizers.response import RandomizedResponse

ASKED = plan("histogram", labels=["a", "b", "c"], n=10_000, epsilon=1.0, delta=1e-6, honest_fraction=0.9)
FEW = topped_up(ASKED)


@pytest.mark.parametrize("gamma", [0.001, 0.3, 0.8])
def test_delta_of_a_batch_that_is_topped_up_is_at_most_the_stated_one(gamma: float) -> None:
    """All counts, up to so many that the rest is charged; the users' own chances only help."""
    noise = TwoSidedGeometric.least(2.0, 0.1)
    protocol = ToppedUp(
        histogram=Histogram(RandomizedResponse(size=3, gamma=gamma), Labels(("a", "b", "c"))), noise=noise
    )
    law = np.concatenate([noise.chances(), np.zeros(16)])[:16]
    lost = 3 * (1 - law.sum())
    response = protocol.histogram.randomizer
    channel = np.array([response.probability(np.arange(3), value) for value in range(3)])

    def released(held: tuple[int, ...]) -> NDArray[np.float64]:
        found = np.zeros((20, 20, 20))
        for said in product(range(3), repeat=len(held)):
            counts = np.bincount(said, minlength=3)
            chance = math.prod(channel[value, message] for value, message in zip(held, said, strict=True))
            shifted = [np.concatenate([np.zeros(count), law, np.zeros(4 - count)]) for count in counts.tolist()]
            found += chance * np.einsum("i,j,k->ijk", *shifted)
        return found

    for epsilon in (0.5, 1.0, 2.0):
        with ctx.workprec(256):
            stated = sum(max(0.0, float(one - math.exp(epsilon) * other)) for one, other in noise.outcomes())
        worst = 0.0
        for others in ((), (0,), (1, 2)):
            for mine, instead in product(range(3), repeat=2):
                first, second = released((mine, *others)), released((instead, *others))
                worst = max(worst, float(np.maximum(first - math.exp(epsilon) * second, 0).sum()))
        assert worst <= stated + 2 * lost
        assert gamma > 0.1 or worst == pytest.approx(stated, rel=0.02, abs=2 * lost)


def test_it_is_as_private_as_the_plan_for_any_number_of_people() -> None:
    assert FEW.guarantee.n == FEW.min_batch == 1
    assert (FEW.guarantee.epsilon, FEW.guarantee.delta) == (1.0, 1e-6)
    assert FEW.guarantee.caveat == SHUFFLER_NOISE
    assert FEW.holds()
    assert FEW.certificate().document()["claim"]["randomizer"]["kind"] == "shuffler-noise"
    assert isinstance(FEW.protocol, ToppedUp)
    assert FEW.protocol.noise == TwoSidedGeometric.least(1.0, 1e-7)


def test_estimates_take_out_both_kinds_of_noise() -> None:
    """Reports and dummies by the code that runs: unbiased, with the stated variance, and limits that hold."""
    made = topped_up(plan("histogram", labels=["a", "b", "c"], n=300, epsilon=1.0, delta=1e-6))
    protocol = made.protocol
    assert isinstance(protocol, ToppedUp)
    assert protocol.histogram.gamma > 0.2
    held = np.array([25, 5, 0])
    values, estimates, inside = np.repeat(np.arange(3), held), [], 0
    tries = full(500, 4000)
    for turn in range(tries):
        words = KeyedRandomness.seeded(turn)
        counts = protocol.count(protocol.randomize(values, words, first_row=0))
        estimate = protocol.reading.of(protocol.estimate(protocol.shuffled(counts, KeyedRandomness.seeded(-turn - 1))))
        estimates.append(estimate.value)
        low, high = estimate.interval(0.95)
        inside += int(((low <= held) & (held <= high)).sum())
    errors = np.array(estimates) - held
    variance = protocol.variance(held.astype(float), 30)
    assert p_mean(errors) > SIGNIFICANCE
    assert p_variance(errors, variance) > SIGNIFICANCE
    assert (
        p_variance(errors, protocol.histogram.variance(held.astype(float), 30)) < SIGNIFICANCE
    )  # the dummies forgotten
    assert inside >= 0.95 * 3 * tries - 6.2 * math.sqrt(3 * tries * 0.95 * 0.05)


def test_what_is_read_off_has_both_variances() -> None:
    protocol = FEW.protocol
    assert isinstance(protocol, ToppedUp)
    estimate = protocol.reading.of(protocol.estimate(Counts(np.array([40, 35, 25, 20]))))
    statistics = protocol.reading.statistics(estimate)
    assert statistics.cumulative().standard_error[-1] == 0
    two = statistics.in_range(0, 1)
    noise = protocol.noise_variance
    planned = two.standard_error[0] ** 2 - 2 * noise
    assert 0 < planned < 0.1 * noise
    assert statistics.frequencies().standard_error * 20 == pytest.approx(estimate.standard_error)
    drawn = protocol.simulate(
        Population(values=np.array([0, 2]), users=np.array([15, 5])), np.random.default_rng(1), 20_000
    )
    assert p_variance(drawn - [15, 0, 5], protocol.variance(np.array([15.0, 0, 5]), 20)) > SIGNIFICANCE


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (plan("mean", n=1000, epsilon=1.0, delta=1e-6), "only a batch of a histogram"),
        (
            plan("histogram", size=3, n=1000, epsilon=1.0, delta=1e-6, messages_per_user=1.5),
            "only a batch of a histogram",
        ),
        (plan("histogram", size=3, n=1000, epsilon=1.0, delta=1e-6, noise="shuffler"), "only a batch of a histogram"),
        (plan("histogram", size=3, n=9000, epsilon=1.0, delta=1e-6, rounds=3), "what rounds guarantee together"),
    ],
    ids=["mean", "dummies", "noise", "rounds"],
)
def test_what_cannot_be_topped_up_is_refused(asked: object, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        topped_up(asked)  # type: ignore[arg-type]


def test_less_noise_than_the_plan_promises_is_refused() -> None:
    noise = TwoSidedGeometric.least(1.0, 1e-6)
    with pytest.raises(InvalidInput, match="do not give the plan's guarantee"):
        topped_up_with(ASKED, TwoSidedGeometric(ratio=noise.ratio, peak=noise.peak - 1))
    with pytest.raises(InvalidInput, match="keeps all reports"):
        topped_up_with(ASKED, ThinnedGeometric.least(1.0))
