"""One solver: safe side, exact, monotone, consistent with itself."""

import math

import pytest

from shuffledp import Generic, InvalidInput, NoClaim, RandomizedResponse, account


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
