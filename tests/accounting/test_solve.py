"""One solver: safe side, exact, monotone, consistent with itself."""

import math

import pytest

from shuffledp import Generic, InvalidInput, NoClaim, RandomizedResponse, account
from shuffledp.accounting.bound import Claim, at_most, outside
from shuffledp.accounting.solve import Problem, solve
from shuffledp.arithmetic.enclosure import Enclosure


def test_a_delta_too_small_for_a_double_is_not_reported_as_zero() -> None:
    assert account(RandomizedResponse(size=2, epsilon0=1.0), n=10**9, epsilon=0.9, bound="bennett").delta == 5e-324


def test_no_local_noise_left_to_hide_is_still_an_answer() -> None:
    for name in ("best", "numeric", "bennett", "hoeffding", "closed-form"):
        assert account(RandomizedResponse(size=3, gamma=1.0), n=5, delta=1e-6, bound=name).epsilon == 0.0
    for name in ("best", "generic", "bennett", "hoeffding", "closed-form"):
        assert account(Generic(epsilon0=0.0), n=5, delta=1e-6, bound=name).epsilon == 0.0
        assert account(Generic(epsilon0=1.5), n=1, delta=1e-6, bound=name).epsilon == 1.5
    with pytest.raises(NoClaim, match="epsilon0 > 0"):
        account(Generic(epsilon0=0.0), n=5000, delta=1e-6, bound="erlingsson")


@pytest.mark.parametrize(
    ("given_", "why"),
    [
        ({"n": 0, "delta": 1e-6}, "n must be"),
        ({"n": 1.5, "delta": 1e-6}, "whole number"),
        ({"n": True, "delta": 1e-6}, "whole number"),
        ({"n": 10, "delta": 2.0}, "delta must be"),
        ({"n": 10, "delta": 0.0}, "delta must be"),
        ({"n": 10, "delta": math.nan}, "delta must be"),
        ({"n": 10, "epsilon": -1.0}, "epsilon must be"),
        ({"n": 10, "epsilon": math.nan}, "epsilon must be"),
        ({"n": 10}, "left out"),
        ({"n": 10, "epsilon": 0.1, "delta": 1e-6}, "left out"),
    ],
)
def test_bad_input(given_: dict[str, float], why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        account(Generic(epsilon0=1.0), **given_)  # type: ignore[arg-type]


class Valley:
    """A formula that is lowest at some epsilon, says nothing in some places, and knows what it was asked."""

    name, kind, reference = "valley", "formula", "made up"

    def __init__(self, bottom: float, silent_from: float = math.inf) -> None:
        self.bottom, self.silent_from, self.asked = bottom, silent_from, list[float]()

    def claim(self, blanket: object, *, n: int, epsilon: float, side: str = "both") -> Claim:
        self.asked.append(epsilon)
        if epsilon >= self.silent_from:
            return outside("it says nothing here.")
        height = -20 + 8 * abs(math.log(max(epsilon, 1e-30) / self.bottom))
        return at_most(Enclosure(-math.inf, height))


BLANKET = RandomizedResponse(size=3, epsilon0=4.0).blanket()


@pytest.mark.parametrize(
    ("epsilon", "bottom", "silent_from", "at"),
    [(1.0, 0.2, math.inf, 0.2), (1.0, 0.001, math.inf, 0.001), (1.0, 3.0, math.inf, 1.0), (1.0, 0.2, 0.9, 0.2),
     (1.0, 0.95, 0.9, 0.9), (2.5, 2.4, math.inf, 2.4)],
)  # fmt: skip
def test_delta_is_the_least_of_all_smaller_epsilons_and_of_no_larger_one(
    epsilon: float, bottom: float, silent_from: float, at: float
) -> None:
    """A claim at a larger epsilon says nothing about this one."""
    valley = Valley(bottom, silent_from)
    found = solve(valley, Problem(randomizer=BLANKET, n=1000, epsilon=epsilon))  # type: ignore[arg-type]
    assert max(valley.asked) == epsilon
    least = math.exp(-20 + 8 * abs(math.log(at / bottom)))
    assert found.value is not None
    assert least * (1 - 1e-12) <= found.value <= least * 1.001
    assert found.upper == found.value
    assert found.lower is None


def test_epsilon_is_where_the_formula_first_grants_delta() -> None:
    for bottom in (0.003, 0.2, 1.7, 3.9, 50.0):
        valley = Valley(bottom)
        found = solve(valley, Problem(randomizer=BLANKET, n=1000, delta=math.exp(-18)))  # type: ignore[arg-type]
        assert found.value is not None
        # the first one, to the last bit: a little less would not do
        assert valley.claim(BLANKET, n=1000, epsilon=found.value).log_delta.upper <= -18
        assert valley.claim(BLANKET, n=1000, epsilon=math.nextafter(found.value, 0)).log_delta.upper > -18
        assert found.value == pytest.approx(bottom * math.exp(-0.25))
    with pytest.raises(NoClaim, match="cannot reach"):
        account_of(Valley(0.2), delta=math.exp(-21))
    with pytest.raises(NoClaim, match="nothing here"):
        account_of(Valley(0.2, 0.0), delta=math.exp(-18))


def account_of(valley: Valley, delta: float) -> float:
    found = solve(valley, Problem(randomizer=BLANKET, n=1000, delta=delta))  # type: ignore[arg-type]
    if found.value is None:
        raise NoClaim(str(found.regime))
    return float(found.value)


class Falling:
    """A numeric bound whose ends are known: delta is between these two powers of n and epsilon."""

    name, kind, reference = "falling", "numeric", "made up"

    def __init__(self, width: float, refused_below: float = 0.0) -> None:
        self.width, self.refused_below = width, refused_below

    def claim(self, blanket: object, *, n: int, epsilon: float, side: str = "both") -> Claim:
        if epsilon < self.refused_below:
            return outside("it says nothing here.")
        middle = -(epsilon**2) * n / 50
        ends = Enclosure(middle - self.width if side != "upper" else -math.inf, min(0.0, middle + self.width))
        return Claim(log_delta=ends, lower_by="falling", upper_by="falling")


@pytest.mark.parametrize("width", [0.0, 0.3])
def test_both_ends_of_what_is_needed(width: float) -> None:
    """The upper end is granted, the lower one refuted, and both are as near as the search promises."""
    delta, log_delta = 1e-6, math.log(1e-6)
    for n in (2000, 10**6, 10**12):
        found = solve(Falling(width), Problem(randomizer=BLANKET, n=n, delta=delta))  # type: ignore[arg-type]
        low, high = (math.sqrt(-50 * (log_delta + shift) / n) for shift in (width, -width))
        assert found.lower is not None
        assert found.upper is not None
        assert high * (1 - 1e-12) <= found.upper <= high * (1 + 5e-6)
        assert low * (1 - 5e-6) <= found.lower <= low * (1 + 1e-12) or width == 0.0
        assert found.lower <= found.upper == found.value
        alone = solve(Falling(width), Problem(randomizer=BLANKET, n=n, delta=delta), safe_end_only=True)  # type: ignore[arg-type]
        assert (alone.value, alone.lower) == (found.value, None)
    for epsilon in (0.001, 0.1, 2.0):
        found = solve(Falling(width), Problem(randomizer=BLANKET, epsilon=epsilon, delta=delta))  # type: ignore[arg-type]
        low, high = (-50 * (log_delta + shift) / epsilon**2 for shift in (width, -width))
        assert isinstance(found.value, int)
        assert found.lower is not None
        assert high * (1 - 1e-12) <= found.value <= high * (1 + 5e-6) + 1
        assert low * (1 - 5e-6) <= found.lower <= low * (1 + 1e-12) + 1
    at = solve(Falling(width), Problem(randomizer=BLANKET, n=2000, epsilon=0.5))  # type: ignore[arg-type]
    assert at.lower == pytest.approx(math.exp(-10 - width), rel=1e-12)
    assert at.upper == at.value == pytest.approx(math.exp(-10 + width), rel=1e-12)
    silent = solve(Falling(width, 100.0), Problem(randomizer=BLANKET, n=2000, delta=delta))  # type: ignore[arg-type]
    assert silent.value is None
    assert "nothing here" in str(silent.regime)
