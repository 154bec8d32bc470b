"""Of several measures of one pair the best is found, however many there are."""

import pytest

from shuffledp import Gaussian
from shuffledp.accounting.numeric import _best_measure, _upper

N, EPSILON = 2000, 0.3


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 9])
@pytest.mark.parametrize("first", [0, 40])
def test_the_best_of_any_number_of_measures_is_found(count: int, first: int) -> None:
    options = [Gaussian(sigma=1.0).blanket().pairs()[0][first + 6 * k] for k in range(count)]
    each = [_upper(pair, N, EPSILON)[0] for pair in options]
    assert _best_measure(options, N, EPSILON)[0] <= min(each) + 1e-4
