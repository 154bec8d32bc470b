"""Noise from the shuffler: its law, its privacy for all data of a few users, and what is drawn."""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy.stats import chisquare

from oracles.chance import SIGNIFICANCE
from oracles.laws import chances_of_noise
from oracles.scale import examples, full
from oracles.truth import exponential
from shuffledp import InvalidInput, KeyedRandomness, account
from shuffledp.accounting.account import bound_named
from shuffledp.arithmetic.balls import exp_down, exp_up
from shuffledp.core.counts import Counts
from shuffledp.randomizers.geometric_noise import GeometricNoise, ThinnedGeometric, TwoSidedGeometric, noise_of
from shuffledp.randomizers.shuffler_noise import ShufflerNoise

WORD, UNIT = 1 << 64, 1 << 200
GOLDEN = [  # by direct summation of the definition in doubles, by nobody of this package: epsilon, delta, nu, mean, deviation
    (0.1, 1e-06, 203, 203.0042577665414, 28.264630298458624),
    (0.1, 1e-09, 341, 341.0000069401576, 28.281280963674206),
    (0.25, 1e-06, 89, 89.00067376245919, 11.303459903618911),
    (0.25, 1e-09, 144, 144.0000010888743, 11.306338835036241),
    (0.5, 1e-06, 47, 47.0001779602887, 5.641341965073693),
    (0.5, 1e-09, 75, 75.0000002504715, 5.642147907506069),
    (1, 1e-06, 25, 25.000038749921266, 2.7989881132118555),
    (1, 1e-09, 39, 39.000000053297086, 2.7991773736316192),
    (2, 1e-06, 14, 14.000003484637428, 1.3569425547003824),
    (2, 1e-09, 20, 20.00000001196353, 1.356962391051899),
    (3, 1e-06, 9, 9.000002572812294, 0.8598805577149834),
    (3, 1e-09, 14, 14.000000002114609, 0.85989587502313),
]


@pytest.mark.parametrize(("epsilon", "delta", "peak", "mean", "deviation"), GOLDEN)
def test_the_fewest_dummies_are_those_of_an_independent_sum(
    epsilon: float, delta: float, peak: int, mean: float, deviation: float
) -> None:
    noise = TwoSidedGeometric.least(epsilon, delta)
    assert noise.peak == peak
    assert noise.mean == pytest.approx(mean, abs=1e-6)
    assert math.sqrt(noise.variance) == pytest.approx(deviation, abs=1e-6)
    assert claimed(noise, epsilon)[1] <= delta
    assert claimed(TwoSidedGeometric(ratio=noise.ratio, peak=peak - 1), epsilon)[0] > delta  # one less is too few
    assert (
        claimed(TwoSidedGeometric(ratio=noise.ratio // 10000 * 9999, peak=peak), epsilon)[0] > delta
    )  # and so is less ratio


def test_delta_is_that_of_rational_numbers() -> None:
    """At random points: the definition, summed up in fractions, whatever epsilon is."""
    generator = np.random.default_rng(30)
    for turn in range(examples(50)):
        epsilon, delta = float(generator.uniform(0.8, 4)), 10 ** float(generator.uniform(-4, -0.3))
        noise = TwoSidedGeometric.least(epsilon, delta) if turn % 3 else ThinnedGeometric.least(epsilon)
        asked = epsilon * float(generator.choice([0.0, 0.4, 0.9, 1.0, 1.3]))
        low, high = summed(noise, asked)
        lower, upper = claimed(noise, asked)
        assert Fraction(lower) <= high
        assert low <= Fraction(upper)
        assert float(high - low) < 1e-10  # so that the two lines above say something
        assert upper - lower <= 1e-12 * max(upper, 1e-12)


@pytest.mark.parametrize("users", [1, 2, 3])
@pytest.mark.parametrize("noise", [TwoSidedGeometric.least(1.5, 0.05), ThinnedGeometric.least(1.5)])
def test_no_dataset_of_a_few_users_is_less_private(noise: GeometricNoise, users: int) -> None:
    """All data of three values: what leaves the shuffler, listed, against what is claimed; and some dataset attains it."""
    most = 14 if users < 3 else 12
    lowest = 0.0
    for epsilon in (0.7, 1.5):
        upper = claimed(noise, epsilon)[1]
        divergences = []
        for others in product(range(3), repeat=users - 1):
            one, other = (histograms(noise, (*others, value), most) for value in (0, 1))
            missing = 1 - one.sum()
            found = np.maximum(one - math.exp(epsilon) * other, 0).sum()
            assert found <= upper + missing + 1e-12
            divergences.append(found + missing)
        lowest = max(divergences)
        assert lowest >= claimed(noise, epsilon)[0] - 1e-12


def test_dp_accounting_says_the_same() -> None:
    """The loss of the five outcomes, by somebody else's arithmetic."""
    noise = TwoSidedGeometric.least(1.0, 1e-6)
    chances, _ = chances_of_noise(noise)
    law = [float(chance) for chance in chances]
    first, second = {}, {}
    for k, m in product(range(len(law)), repeat=2):
        first[k, m] = (law[k - 1] if k else 0.0) * law[m]
        second[k, m] = law[k] * (law[m - 1] if m else 0.0)
    there = pld.from_two_probability_mass_functions(
        {key: math.log(mass) for key, mass in first.items() if mass},
        {key: math.log(mass) for key, mass in second.items() if mass},
        value_discretization_interval=1e-4,
    )
    for epsilon in (0.3, 0.8, 1.1):
        assert there.get_delta_for_epsilon(epsilon) == pytest.approx(claimed(noise, epsilon)[1], rel=2e-3, abs=1e-9)


@pytest.mark.parametrize(
    "noise",
    [TwoSidedGeometric.least(1.0, 1e-6), TwoSidedGeometric.least(3.0, 0.3), ThinnedGeometric.least(0.7)],
    ids=["usual", "often drawn again", "thinned"],
)
def test_numbers_are_drawn_as_often_as_the_law_says(noise: GeometricNoise) -> None:
    """And not as often as without drawing again, or with a peak or ratio beside it."""
    drawn = noise.draw(full(200_000, 10**7), KeyedRandomness.seeded(7))
    assert fits(drawn, law_of(noise))
    if isinstance(noise, TwoSidedGeometric):
        wrong: list[GeometricNoise] = [
            TwoSidedGeometric(ratio=noise.ratio, peak=noise.peak + 1),
            TwoSidedGeometric(ratio=noise.ratio // 100 * 95, peak=noise.peak),
        ]
    else:
        assert isinstance(noise, ThinnedGeometric)
        wrong = [ThinnedGeometric(kept=noise.kept, ratio=noise.ratio // 100 * 98)]
    for other in wrong:
        assert not fits(drawn, law_of(other))
    if isinstance(noise, TwoSidedGeometric) and noise.peak < 3:  # a number below 0 must not become 0
        law = law_of(noise)
        clamped = law * (1 - 0.1)
        clamped[0] += 0.1
        assert not fits(drawn, clamped)


def test_what_is_drawn_of_a_symbol_does_not_depend_on_how_many_there_are() -> None:
    """Nor on the order; another key gives other numbers; the same key the same."""
    noise = TwoSidedGeometric.least(0.3, 1e-6)
    few, many = (noise.draw(size, KeyedRandomness.seeded(1)) for size in (5, 3000))
    assert (many[:5] == few).all()
    assert (noise.draw(3000, KeyedRandomness.seeded(2)) != many).mean() > 0.9


def test_reports_are_kept_as_often_as_is_said() -> None:
    noise = ThinnedGeometric.least(1.0)
    kept = noise.keep(np.array([1_000_000, 0, 3]), KeyedRandomness.seeded(5))
    spread = math.sqrt(1e6 * noise.share_kept * (1 - noise.share_kept))
    assert abs(kept[0] - 1e6 * noise.share_kept) < 6.2 * spread
    assert abs(kept[0] - 1e6 * noise.share_kept * 1.02) > 6.2 * spread
    assert kept[1] == 0
    usual = TwoSidedGeometric.least(1.0, 1e-6)
    assert (usual.keep(np.array([7, 0]), KeyedRandomness.seeded(5)) == [7, 0]).all()


@pytest.mark.parametrize("terms", [1, 2, 5, 200])
@pytest.mark.parametrize("noise", [TwoSidedGeometric.least(1.0, 1e-6), TwoSidedGeometric.least(0.2, 1e-3)])
def test_sums_are_as_far_off_as_is_said(noise: GeometricNoise, terms: int) -> None:
    """As often as stated, or less; not much less where many steps are possible."""
    found = noise.simulated(np.random.default_rng(3), (20_000, terms)).sum(axis=1) - terms * noise.mean
    for miss in (0.32, 0.05, 0.01):
        often = float((np.abs(found) > noise.reach_of_sum(miss, terms) + 1e-9).mean())
        spread = math.sqrt(miss / 20_000)
        assert often <= miss + 6.2 * spread
        assert often >= 0.5 * miss - 6.2 * spread


def test_the_guarantee_does_not_depend_on_how_many_users_there_are() -> None:
    randomizer = ShufflerNoise(size=4, noise=TwoSidedGeometric.least(1.0, 1e-6))
    found = {account(randomizer, n=n, epsilon=1.0).delta for n in (1, 7, 10**6)}
    assert len(found) == 1
    assert account(randomizer, epsilon=1.0, delta=1e-6).n == 1


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: TwoSidedGeometric(ratio=WORD, peak=5),
        lambda: TwoSidedGeometric(ratio=0, peak=5),
        lambda: TwoSidedGeometric(ratio=WORD // 2, peak=-1),
        lambda: TwoSidedGeometric(ratio=WORD // 2, peak=1 << 21),
        lambda: TwoSidedGeometric.least(1e-9, 1e-6),
        lambda: TwoSidedGeometric.least(1e-30, 0.5),
        lambda: ThinnedGeometric(kept=WORD, ratio=WORD // 2),
        lambda: ThinnedGeometric.least(1e-30),
        lambda: noise_of({"kind": "two-sided-geometric", "ratio": "12"}),
        lambda: noise_of({"kind": "normal"}),
    ],
)
def test_noise_that_cannot_be_is_refused(wrong: Callable[[], object]) -> None:
    with pytest.raises(InvalidInput):
        wrong()


def test_counts_get_noise_whether_anybody_holds_them_or_not() -> None:
    noise = TwoSidedGeometric.least(1.0, 1e-6)
    nobody = noise.noised(Counts.none(50).values, KeyedRandomness.seeded(3))
    some = noise.noised(np.arange(50), KeyedRandomness.seeded(3))
    assert (some - nobody == np.arange(50)).all()
    assert nobody.min() > 0


def claimed(noise: GeometricNoise, epsilon: float) -> tuple[float, float]:
    claim = bound_named("best").claim(ShufflerNoise(size=2, noise=noise).blanket(), n=3, epsilon=epsilon)
    assert claim.regime is None
    return exp_down(claim.log_delta.lower), exp_up(claim.log_delta.upper)


def summed(noise: GeometricNoise, epsilon: float) -> tuple[Fraction, Fraction]:
    """Both ends of delta in whole numbers of 2^-200: of two counts, with one more in the first, or in the second."""
    exact, kept = chances_of_noise(noise, 120)
    chances = [int(chance * UNIT) for chance in exact]
    more = [int((1 - kept) * c + kept * (exact[k - 1] if k else 0) * UNIT) for k, c in enumerate(chances)]
    missing = 2 * Fraction(2 * UNIT - sum(chances) - sum(more) + 2 * len(exact), UNIT)
    ends = []
    for growth in reversed(exponential(Fraction(epsilon))):
        a = int(growth * UNIT)
        total = sum(max(0, (one * m << 200) - a * k * other) for one, k in zip(more, chances, strict=True)
                    for other, m in zip(more, chances, strict=True))  # fmt: skip
        ends.append(Fraction(total, UNIT**3))
    return ends[0] - 60 * missing, ends[1] + 60 * missing


def histograms(noise: GeometricNoise, held: tuple[int, ...], most: int) -> np.ndarray:
    """How likely the counts of three values are after noise, each below `most`, if these values are held."""
    chances, kept = chances_of_noise(noise)
    one = []
    for value in range(3):
        law = np.array([float(chance) for chance in chances])
        for _ in range(held.count(value)):
            law = (1 - float(kept)) * law + float(kept) * np.append(0.0, law[:-1])
        one.append(law[:most])
    found: np.ndarray = np.einsum("i,j,k->ijk", *one)
    return found


def law_of(noise: GeometricNoise) -> np.ndarray:
    law = np.array([float(chance) for chance in chances_of_noise(noise)[0]])
    return np.append(law, max(0.0, 1 - law.sum()))


def fits(drawn: np.ndarray, law: np.ndarray) -> bool:
    """By a chi-squared test, rare numbers together."""
    seen = np.bincount(np.minimum(drawn, len(law) - 1), minlength=len(law)).astype(float)
    expected = law * len(drawn)
    return bool(chisquare(*pooled(seen, expected)).pvalue > SIGNIFICANCE)


def pooled(seen: np.ndarray, expected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    common = expected >= 20
    rare = [(seen[~common].sum(), expected[~common].sum())] if expected[~common].sum() >= 20 else []
    found = [*zip(seen[common], expected[common], strict=True), *rare]
    one, other = np.array(list(columns(found)))
    return one, other * one.sum() / other.sum()


def columns(pairs: list[tuple[float, float]]) -> Iterator[list[float]]:
    yield [one for one, _ in pairs]
    yield [other for _, other in pairs]
