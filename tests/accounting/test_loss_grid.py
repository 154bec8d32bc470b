"""Where curves are evaluated before they are composed: as far as they matter, not much farther, on grids that fit together."""

import math

import pytest

from shuffledp import NoClaim
from shuffledp.accounting.loss_grid import loss_grid, negligible, reach


class Curve:
    """delta = e^(-rate epsilon^2), or what is left where it falls no further; it counts how often it is asked."""

    def __init__(self, rate: float, left: float = 0.0) -> None:
        self.rate, self.left, self.asked = rate, left, 0

    def __call__(self, epsilon: float) -> float:
        self.asked += 1
        return max(self.left, math.exp(-self.rate * epsilon**2))


@pytest.mark.parametrize("rate", [1e-2, 1.0, 1e6, 1e15])
@pytest.mark.parametrize("depth", [0, 1, 3])
@pytest.mark.parametrize("off", [1e-3, 0.5, 1.0, 40.0])
def test_a_curve_is_followed_to_where_it_is_negligible(rate: float, depth: int, off: float) -> None:
    assert [negligible(one) for one in (0, 1, 3)] == [2.0**-56, 2.0**-112, 2.0**-448]
    least, curve = math.sqrt(-math.log(negligible(depth)) / rate), Curve(rate)
    found = reach(curve, depth, least * off)
    assert least <= found <= least * 1.07
    assert curve.asked < 30


def test_a_curve_that_stops_falling_is_followed_to_there() -> None:
    found = reach(Curve(1.0, left=1e-5), 0, 1.0)
    assert math.sqrt(math.log(1e5)) <= found <= 3 * math.sqrt(math.log(1e5))
    assert reach(Curve(1.0, left=0.99e-3), 0, 1.0) < 10
    for left in (1.01e-3, 0.5, 1.0):
        with pytest.raises(NoClaim, match="negligible"):
            reach(Curve(1.0, left=left), 0, 1.0)


def test_a_curve_that_is_nothing_is_followed_nowhere() -> None:
    assert reach(lambda _: 0.0, 0, 1.0) <= 1e-12
    assert reach(lambda _: 0.0, 0, 1e9) <= 1e-12


@pytest.mark.parametrize("rate", [0.3, 1e4])
def test_grids_fit_together(rate: float) -> None:
    first, deeper = (loss_grid(Curve(rate), depth, guess=1.0) for depth in (0, 2))
    for grid, depth in ((first, 0), (deeper, 2)):
        assert math.frexp(grid.step)[0] == 0.5  # a power of two
        assert grid.points[0] == 0
        assert all(a < b for a, b in zip(grid.points, grid.points[1:], strict=False))
        end = math.sqrt(-math.log(negligible(depth)) / rate)
        assert end <= grid.epsilons[-1] <= end * 1.07 + grid.step
        assert grid.epsilons == [k * grid.step for k in grid.points]
        assert grid.bits == (56 << depth) + 72
        assert grid.spare == 2**56
        assert 120 <= len(grid.points) <= 241
        gaps = [b - a for a, b in zip(grid.points[:120], grid.points[1:120], strict=False)]
        assert 4 <= min(gaps) <= max(gaps) <= min(gaps) + 1 <= 9
    assert deeper.step == first.step
    assert deeper.points[: len(first.points)] == first.points


def test_nothing_is_asked_beyond_the_end() -> None:
    for depth in (0, 2):
        grid = loss_grid(Curve(1.0), depth, guess=1.0, end=2.0)
        assert 2.0 <= grid.epsilons[-1] < 2.0 + grid.step
    far = loss_grid(Curve(1.0), 2, guess=1.0, end=7.0)  # beyond the first cut, at 6.2, and before the second
    assert 7.0 <= far.epsilons[-1] < 7.0 + 2 * far.step
