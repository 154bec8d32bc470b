"""Rounds and honest fractions below the command line."""

import pytest

from shuffledp import InvalidInput, RandomizedResponse
from shuffledp.accounting.account import bound_named
from shuffledp.accounting.curve import privacy_curve
from shuffledp.accounting.rounds import solve_rounds
from shuffledp.accounting.solve import Problem, solve

BLANKET = RandomizedResponse(size=3, epsilon0=1.0).blanket()
BENNETT = bound_named("bennett")


def test_only_the_honest_share_of_the_users_counts() -> None:
    honest = solve(BENNETT, Problem(randomizer=BLANKET, n=7_000, delta=1e-6))
    assert solve_rounds(BENNETT, Problem(randomizer=BLANKET, n=10_000, delta=1e-6), honest_fraction=0.7) == honest
    needed = solve(BENNETT, Problem(randomizer=BLANKET, epsilon=0.1, delta=1e-6)).value
    of_all = solve_rounds(BENNETT, Problem(randomizer=BLANKET, epsilon=0.1, delta=1e-6), honest_fraction=0.5)
    assert needed is not None
    assert of_all.value == of_all.upper == 2 * needed


@pytest.mark.parametrize("known", [{"n": 100}, {"epsilon": 1e-9}])
def test_a_share_that_is_none_is_refused_whatever_is_unknown(known: dict[str, float]) -> None:
    problem = Problem(randomizer=BLANKET, delta=1e-9, **known)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="`honest_fraction` must be"):
        solve_rounds(bound_named("erlingsson"), problem, honest_fraction=1.5)


def test_rounds_of_an_unknown_n_are_refused() -> None:
    with pytest.raises(InvalidInput, match="several rounds can be solved for epsilon or delta only"):
        solve_rounds(BENNETT, Problem(randomizer=BLANKET, epsilon=0.1, delta=1e-6), rounds=2)


def test_a_curve_ends_where_its_first_bound_reaches_the_least_delta() -> None:
    seen: list[None] = []
    curve = privacy_curve(
        BLANKET,
        [BENNETT, bound_named("hoeffding")],
        n=1000,
        points=5,
        delta_min=1e-3,
        progress=lambda: seen.append(None),
    )
    assert len(seen) == 5
    assert [point.bound for point in curve[:2]] == ["bennett", "hoeffding"]
    assert curve[0].upper is None
    assert curve[-2].upper == pytest.approx(1e-3, rel=1e-6)
    with pytest.raises(InvalidInput, match="points must be from 2"):
        privacy_curve(BLANKET, [BENNETT], n=1000, points=1)
