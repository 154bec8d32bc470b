"""Which numbers are in a range, wherever it begins and ends: below 0, at 0 and above 0."""

import numpy as np
import pytest

from shuffledp import InvalidInput, Policy, plan, run
from shuffledp.core import checks
from shuffledp.domains.reals import RealRange

RANGES = [(0.0, 1.0), (-3.0, -1.0), (-1.0, 0.0), (-1.0, 2.0), (0.5, 2.0), (18.0, 90.0), (1e-300, 1.0)]


def around(low: float, high: float) -> list[float]:
    """Both ends, what is just beyond them and just within, and numbers of other sizes and signs."""
    near = [end + 0.0 for end in (low, high)]
    near += [float(np.nextafter(end, to)) for end in (low, high) for to in (-np.inf, np.inf)]
    return [*near, low / 2, -low, -high, 0.0, -0.0, 5e-324, (low + high) / 2, 1e300, -1e300]


@pytest.mark.parametrize(("low", "high"), RANGES)
def test_a_number_is_in_a_range_if_it_is_between_its_ends(low: float, high: float) -> None:
    range_, inside = RealRange(low, high), (low + high) / 2
    for number in around(low, high):
        values = [inside, number, inside]
        assert checks.within(np.array(values), low, high) == (low <= number <= high), number
        if low <= number <= high:
            assert range_.clean(values).values.tolist() == values
            continue
        with pytest.raises(InvalidInput, match="is outside"):
            range_.clean(values)
        clamped = range_.clean(values, Policy(outside="clamp"))
        assert clamped.values.tolist() == [inside, low if number < low else high, inside]
        assert dict(clamped.adjusted) == {"clamped": 1}


def test_a_mean_of_ages_takes_no_child_for_an_adult() -> None:
    adults = plan.mean(low=18, high=90, n=2000, epsilon=1.0, delta=1e-6)
    ages = [30.0] * 1999 + [7.0]
    with pytest.raises(InvalidInput, match=r"outside \[18, 90\]"):
        run(adults, ages)
    answer = run(adults, [7.0] * 2000, outside="clamp", truth=True)
    assert answer.truth is not None
    assert answer.truth.tolist() == [18.0]
    assert answer.adjusted == {"clamped": 2000}
    assert abs(answer.estimate.value[0] - 18) < 8 * answer.estimate.standard_error[0]
