"""What releases cost together: never less than the same releases one by one, whatever they have in common."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oracles.scale import examples
from shuffledp import Laplace, RandomizedResponse, plan
from shuffledp.accounting.account import bound_named
from shuffledp.accounting.composition import Collection, compose
from shuffledp.accounting.numeric import Numeric
from shuffledp.accounting.releases import composition, releases
from shuffledp.planning.release_cost import Spend, composed
from shuffledp.randomizers.together import Together

COIN, DIE = RandomizedResponse(size=2, gamma=0.25).as_run(), RandomizedResponse(size=6, gamma=0.5).as_run()
RANDOMIZERS: tuple[Any, ...] = (
    COIN, DIE, Laplace(epsilon0=1.0), Together(parts=(COIN, DIE, COIN)),
)  # fmt: skip
DELTA = 1e-6
spends = st.builds(
    lambda randomizer, n, bound: Spend(randomizer=randomizer.document(), n=n, bound=bound),
    st.sampled_from(RANDOMIZERS), st.sampled_from([500, 50_000]), st.sampled_from(["numeric", "bennett"]),
)  # fmt: skip


def one_by_one(spent: Sequence[Spend]) -> float:
    """The accountant, told of each release as a collection of its own."""
    return compose([collection for spend in spent for collection in spend.collections()]).epsilon(DELTA)


@settings(max_examples=examples(10), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(spends, min_size=1, max_size=3), st.data())
def test_releases_cost_what_they_cost_one_by_one_in_any_order(spent: list[Spend], data: st.DataObject) -> None:
    """Only those that are equal in all respects are rounds of one collection."""
    again = data.draw(st.lists(st.sampled_from(spent), max_size=2))
    shuffled = data.draw(st.permutations([*spent, *again]))
    assert composed(shuffled, DELTA) == pytest.approx(one_by_one([*spent, *again]), rel=2e-3)  # of other grids


@pytest.mark.parametrize(
    ("large", "small"),
    [
        ({"n": 500}, {"n": 500_000}),
        ({"bound": "bennett"}, {"bound": "numeric"}),
        ({"randomizer": RandomizedResponse(size=2, gamma=0.1).as_run().document()}, {}),
    ],
    ids=["n", "bound", "randomizer"],
)
def test_a_cheap_release_does_not_hide_a_dear_one(large: dict[str, Any], small: dict[str, Any]) -> None:
    """Whichever comes first, and if they differ in one respect only."""
    usual: dict[str, Any] = {"randomizer": COIN.document(), "n": 5000, "bound": "numeric"}
    dear, cheap = Spend(**usual | large), Spend(**usual | small)
    alone = composed([dear], DELTA)
    assert composed([cheap], DELTA) < 0.99 * alone
    for together in ([dear, cheap, cheap], [cheap, dear, cheap], [cheap, cheap, dear]):
        assert composed(together, DELTA) > alone


def test_nothing_costs_nothing() -> None:
    assert composed([], DELTA) == 0.0


def test_a_release_relies_on_honest_reports_only() -> None:
    """Half of the reports may be lies: what is booked is what the honest half hides."""
    half = plan("histogram", n=4000, epsilon=0.5, delta=DELTA, size=6, honest_fraction=0.5)
    spend = Spend.of(half)
    assert (half.min_batch, spend.n) == (4000, 2000)
    expected = Collection(
        blanket=half.protocol.randomizer.blanket(), n=2000, rounds=1, bound=bound_named(half.guarantee.bound)
    )
    assert composed([spend], DELTA) == pytest.approx(compose([expected]).epsilon(DELTA), rel=1e-9)


@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.parametrize("parts", [(COIN, COIN, COIN), (COIN, DIE, COIN), (DIE, COIN)], ids=["equal", "some", "none"])
def test_several_messages_in_several_rounds_are_as_many_releases(parts: tuple[Any, ...], rounds: int) -> None:
    """Equal messages of a person in every round: their number is a product, not the larger of the two."""
    n, blanket = 2000, Together(parts=parts).blanket()
    each = [
        Collection(blanket=part.blanket(), n=n, rounds=1, bound=Numeric(), nodes=240) for part in parts for _ in range(rounds)
    ]  # fmt: skip
    expected = compose(each).epsilon(DELTA)
    assert sum(collection.rounds for collection in releases(blanket, n, Numeric(), rounds)) == len(parts) * rounds
    assert composition(blanket, n, Numeric(), rounds).epsilon(DELTA) == pytest.approx(expected, rel=1e-3)
    spend = Spend(randomizer=Together(parts=parts).document(), n=n, bound="numeric")
    assert composed([spend] * rounds, DELTA) == pytest.approx(expected, rel=1e-3)
    assert sum(collection.rounds for collection in spend.collections(rounds)) == len(parts) * rounds
