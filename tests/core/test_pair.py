"""What a pair says: the law of l and what is outside of it, with every rounding on the safe side."""

import math

import mpmath as mp
import numpy as np
import pytest
from flint import arb, ctx

from shuffledp.arithmetic.summand_law import Poisson
from shuffledp.core.pair import Pair, doubles, held_by_either, pair_of

DIFFERENCE, SECOND, MASSES = np.array([1.5, -0.75]), np.array([0.5, 1.25]), np.array([0.25, 0.5])


@pytest.mark.parametrize("epsilon", [0.0, 1e-12, 0.3, 5.0])
def test_the_law_of_l(epsilon: float) -> None:
    """(mu_x - e^epsilon mu_x') / eta, and errors relative to both of its parts."""
    law = Pair(DIFFERENCE, SECOND, MASSES, ulps=7.0).law(epsilon)
    with mp.workdps(40):
        for found, scale, difference, second in zip(law.values, law.scales, DIFFERENCE, SECOND, strict=True):
            loss = mp.mpf(float(second)) * mp.expm1(epsilon)
            assert abs(mp.mpf(float(found)) - (mp.mpf(float(difference)) - loss)) <= 3e-16 * (abs(difference) + loss)
            assert float(scale) == pytest.approx(float(abs(difference) + loss), rel=1e-15)
    assert law.masses.tolist() == MASSES.tolist()
    assert law.ulps == 11.0


def test_unseen_messages_shift_a_poisson_sum_down() -> None:
    pair = Pair(DIFFERENCE, SECOND, MASSES, unseen=0.125)
    assert pair.summands(5, 1.0) == 5
    assert Pair(DIFFERENCE, SECOND, MASSES).summands(Poisson(3.0), 1.0) == Poisson(3.0)
    found = pair.summands(Poisson(3.0), 1.0)
    assert isinstance(found, Poisson)
    assert found.mean == 3.0
    exact = -0.125 * mp.expm1(1) * 3
    assert exact * (1 + mp.mpf(2) ** -49) < found.drift < exact * (1 + mp.mpf(2) ** -52)


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
def test_what_is_outside_is_rounded_up(epsilon: float) -> None:
    """The sum of (mu_x - e^epsilon mu_x')_+; where the two cancel, by no less than they may be off."""
    first, second = np.array([0.25, 0.125, 0.3]), np.array([0.0, 0.25, 0.01])
    pair = Pair(DIFFERENCE, SECOND, MASSES, bare_first=first, bare_second=second)
    with mp.workdps(40):
        off = mp.mpf(10) ** -14
        gaps = [
            max(0, mp.mpf(float(a)) * (1 + off) - mp.exp(epsilon) * mp.mpf(float(b)) * (1 - off))
            for a, b in zip(first, second, strict=True)
        ]
        stated = mp.fsum(gaps) * (1 + off)
        assert abs(mp.mpf(pair.uncovered_up(epsilon)) - stated) <= 4e-16 * stated
    assert Pair(DIFFERENCE, SECOND, MASSES).uncovered_up(epsilon) == 0.0


def test_its_largest_ratio_and_spread() -> None:
    pair = Pair(DIFFERENCE, SECOND, MASSES)
    assert pair.largest_ratio == 1.5
    assert Pair(-DIFFERENCE, 4 * SECOND, MASSES).largest_ratio == 5.0
    assert Pair(-DIFFERENCE, SECOND / 100, MASSES).largest_ratio == 1.5
    assert pair.spread == 0.25 * 1.5**2 + 0.5 * 0.75**2
    assert Pair(np.array([2e150, 0.0]), SECOND, MASSES).spread == math.inf
    assert Pair(np.array([1e150, 0.0]), SECOND, MASSES).spread == 0.25 * 1e150**2


def test_either_input_held_by_all_others() -> None:
    with ctx.workprec(128):
        first, second = held_by_either([(arb(1.5), arb(0.5), arb(0.25)), (arb(-0.75), arb(1.25), arb(0.5))])
    for pair, measure in ((first, [2.0, 0.5]), (second, [0.5, 1.25])):
        assert pair.masses == pytest.approx([m * of for m, of in zip(MASSES, measure, strict=True)], rel=1e-15)
        assert pair.difference == pytest.approx([d / of for d, of in zip(DIFFERENCE, measure, strict=True)], rel=1e-15)
        assert pair.second == pytest.approx([s / of for s, of in zip(SECOND, measure, strict=True)], rel=1e-15)
    plain = pair_of([(arb(1.5), arb(0.5), arb(0.25))])
    assert (plain.difference[0], plain.second[0], plain.masses[0], plain.ulps) == (1.5, 0.5, 0.25, 2.0)


def test_a_ball_that_is_too_wide_for_a_double_is_refused() -> None:
    with ctx.workprec(128):
        third = arb(1) / 3
    assert doubles([third, arb(0), arb(0, arb(2) ** -1200)]).tolist() == [1 / 3, 0.0, 0.0]
    enough, too_few = arb(1, 2.0**-57), arb(1, 2.0**-56)
    assert (enough.rel_accuracy_bits(), too_few.rel_accuracy_bits()) == (56, 55)
    assert doubles([enough]).tolist() == [1.0]
    for wide in (too_few, arb(1, 2.0**-50), arb(0, 1e-300), arb(1, 2.0**-54)):
        with pytest.raises(ArithmeticError, match="known to"):
            doubles([wide])
