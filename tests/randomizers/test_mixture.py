"""Mixtures of questions: the law is exact, the claim above the truth, and every part's coins are its own."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from oracles.enumeration import true_delta
from oracles.scale import examples
from shuffledp import Channel, InvalidInput, KeyedRandomness, Laplace, RandomizedResponse
from shuffledp.accounting.account import account, bound_named, calibrate
from shuffledp.core.pair import Pair
from shuffledp.core.randomness import CHOICE, PART, RESPONSE, Lane, choose_below
from shuffledp.randomizers.design_response import DesignResponse
from shuffledp.randomizers.lattice import LatticeChannel
from shuffledp.randomizers.mixture import Mixture, MixtureBlanket
from shuffledp.randomizers.structures import AffineSpace
from shuffledp.randomizers.together import Together

COIN = RandomizedResponse(size=2, gamma=Fraction(1, 4))
THREE = RandomizedResponse(size=3, gamma=Fraction(1, 2))
PLANE = DesignResponse.private(AffineSpace(prime=2), gamma=0.3)
SKEW = LatticeChannel.of(Channel([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6], [0.3, 0.3, 0.4]]))
CROSSED = LatticeChannel.of(Channel([[0.19, 0.29, 0.52], [0.31, 0.11, 0.58], [0.05, 0.49, 0.46]]))
"""Asked twice, the worst is to differ in one way in one question and in another way in the other."""
HOLES = LatticeChannel.of(Channel([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]]))
SMALL = [
    Mixture(weights=(1, 1), parts=(COIN, COIN)),
    Mixture(weights=(1, 3), parts=(COIN, THREE)),
    Mixture(weights=(2, 3), parts=(COIN, PLANE)),
    Mixture(weights=(1, 1), parts=(COIN, SKEW)),
    Mixture(weights=(2, 1), parts=(HOLES, COIN)),
    Mixture(weights=(1, 1), parts=(CROSSED, CROSSED)),
    Mixture(weights=(1, 1), parts=(SKEW, SKEW)),
]


def rows_of(randomizer: Any) -> list[list[float]]:
    messages = np.arange(randomizer.messages)
    return [randomizer.probability(messages, symbol).tolist() for symbol in range(randomizer.symbols)]


@pytest.mark.parametrize(
    ("mixture", "n"), [(mixture, n) for mixture in SMALL for n in (1, 2, 3) if n < 3 or mixture.symbols < 7], ids=str
)
def test_the_truth_over_all_datasets_is_inside_the_enclosure(mixture: Mixture, n: int) -> None:
    """People may agree in a question: all pairs of inputs are among them."""
    for epsilon in (0.1, 0.6):
        truth = true_delta(rows_of(mixture), n, epsilon)
        claim = bound_named("best").claim(mixture.blanket(), n=n, epsilon=epsilon, side="both")
        assert math.exp(claim.log_delta.lower) <= truth * (1 + 1e-9)
        assert truth <= math.exp(claim.log_delta.upper) * (1 + 1e-9)


@pytest.mark.parametrize("mixture", SMALL, ids=str)
def test_the_claim_is_that_of_the_whole_matrix(mixture: Mixture) -> None:
    """As one channel, whose every pair of inputs is looked at."""
    whole = Channel(rows_of(mixture))
    for n in (1, 10, 300):
        expected = bound_named("numeric").claim(whole.blanket(), n=n, epsilon=0.3, side="upper").log_delta.upper
        found = bound_named("numeric").claim(mixture.blanket(), n=n, epsilon=0.3, side="upper").log_delta.upper
        assert found == pytest.approx(expected, abs=2e-6)


@pytest.mark.parametrize("seed", range(examples(6)))
def test_the_claim_is_that_of_the_whole_matrix_whatever_the_parts(seed: int) -> None:
    generator = np.random.default_rng(seed)
    parts = []
    for _ in range(2):
        rows = 0.9 * generator.dirichlet(np.full(3, 0.5), size=2) + 0.1 / 3
        parts.append(LatticeChannel.of(Channel(rows / rows.sum(axis=1, keepdims=True))))
    mixture = Mixture(weights=tuple(generator.integers(1, 9, 2).tolist()), parts=tuple(parts))
    for n in (2, 30):
        expected, found = (
            bound_named("numeric").claim(one, n=n, epsilon=0.2, side="upper").log_delta.upper
            for one in (Channel(rows_of(mixture)).blanket(), mixture.blanket())
        )
        assert found == pytest.approx(expected, abs=2e-6)


def test_a_weight_ten_percent_off_is_caught() -> None:
    """One user alone: the bound is exact there. A part that leaks more must not be said to be drawn less often."""
    right = Mixture(weights=(1, 3), parts=(COIN, THREE))
    truth = true_delta(rows_of(right), 1, 0.3)
    for shares, accepted in (((0.25, 0.75), True), ((0.225, 0.775), False)):
        blanket = MixtureBlanket.of([Fraction(share) for share in shares], [COIN.blanket(), THREE.blanket()])
        claim = bound_named("numeric").claim(blanket, n=1, epsilon=0.3, side="upper")
        assert (truth <= math.exp(claim.log_delta.upper) * (1 + 1e-9)) == accepted


def test_inputs_that_agree_in_a_question_are_looked_at() -> None:
    """Where symmetry does not rule them out: all pairs of a channel, and each input with itself."""
    blanket = Mixture(weights=(1, 1), parts=(COIN, SKEW)).blanket()
    pairs = len(SKEW.blanket().pairs())
    assert len(blanket.pairs()) == pairs + SKEW.symbols


def test_parts_of_one_law_cost_what_one_of_them_costs() -> None:
    """Which question a user answers is public randomness of the message: it is free."""
    eight = Mixture(weights=(1,) * 8, parts=(PLANE,) * 8)
    for n in (10, 1000):
        assert account(eight, n=n, delta=1e-6).epsilon == account(PLANE, n=n, delta=1e-6).epsilon
    family = DesignResponse.family(AffineSpace(prime=101))
    together = Mixture.family((1, 2), (family, family))
    numbers: dict[str, Any] = {"n": 10_000, "epsilon": 1.0, "delta": 1e-6}
    assert calibrate(together, **numbers) == calibrate(family, **numbers)


def test_different_parts_are_calibrated_together() -> None:
    small, large = (DesignResponse.family(AffineSpace(prime=prime)) for prime in (23, 101))
    numbers: dict[str, Any] = {"n": 10_000, "epsilon": 1.0, "delta": 1e-6}
    gamma = calibrate(Mixture.family((1, 1), (small, large)), **numbers)
    assert calibrate(small, **numbers) < gamma < calibrate(large, **numbers)


class Watched:
    """Words that remember what was asked of them."""

    def __init__(self) -> None:
        self.source = KeyedRandomness.seeded(5)
        self.lanes: set[Lane] = set()
        self.private = False

    def reserve(self) -> None:
        """They are not for releases."""

    def stream(self, first_row: int, count: int, lane: Lane) -> NDArray[np.uint8]:
        self.lanes.add(lane)
        return self.source.stream(first_row, count, lane)

    def blocks(self, rows: NDArray[np.uint64], draw: int) -> NDArray[np.uint64]:
        return self.source.blocks(rows, draw)


def test_which_question_is_drawn_from_words_that_no_part_uses() -> None:
    randomness = Watched()
    PLANE.randomize(np.zeros(1000, dtype=np.int64), randomness, first_row=0)
    assert randomness.lanes == {RESPONSE, CHOICE}
    Mixture(weights=(1, 1), parts=(PLANE, PLANE)).randomize(
        np.zeros((1000, 2), dtype=np.int64), randomness, first_row=0
    )
    assert randomness.lanes == {RESPONSE, CHOICE, PART}


def test_rejected_draws_of_questions_and_of_messages_are_different_words() -> None:
    """A bound just above 2^31 rejects half of all draws."""
    bound, randomness = (1 << 31) + 1, KeyedRandomness.seeded(1)
    first = choose_below(bound, 1000, randomness, first_row=0)
    second = choose_below(bound, 1000, randomness, first_row=0, lane=PART)
    assert (first != second).all()
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.2


def test_a_user_answers_a_question_with_the_answer_to_that_question() -> None:
    """With hardly any blanket, whatever the number of questions."""
    parts = tuple(RandomizedResponse.of_threshold(size=size, threshold=1) for size in (7, 7, 300))
    mixture = Mixture(weights=(1, 5, 2), parts=parts)
    symbols = np.random.default_rng(3).integers(0, [7, 7, 300], size=(20_000, 3))
    messages = mixture.randomize(symbols, KeyedRandomness.seeded(2), first_row=10).astype(np.int64)
    part = np.searchsorted(mixture.offsets[1:], messages, side="right")
    assert (messages - np.array(mixture.offsets)[part] == symbols[np.arange(20_000), part]).all()
    assert np.bincount(part) / 20_000 == pytest.approx([1 / 8, 5 / 8, 2 / 8], abs=0.02)
    numbered = mixture.randomize(symbols @ np.array([2100, 300, 1]), KeyedRandomness.seeded(2), first_row=10)
    assert (numbered == messages).all()


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (lambda: Mixture(weights=(), parts=()), "as many weights"),
        (lambda: Mixture(weights=(1,), parts=(COIN, COIN)), "as many weights"),
        (lambda: Mixture(weights=(0, 1), parts=(COIN, COIN)), "at least 1"),
        (lambda: Mixture(weights=(1 << 32, 1), parts=(COIN, COIN)), "2\\^32 in all"),
        (lambda: Mixture(weights=(1,), parts=(Laplace(epsilon0=1.0),)), "randomizers that run"),  # type: ignore[arg-type]
        (lambda: Mixture(weights=(1,), parts=(SMALL[0],)), "not mixtures"),
        (lambda: Mixture.from_document({"kind": "mixture", "weights": [1], "parts": [SMALL[0].document()]}), "not mixtures"),
        (
            lambda: Mixture(weights=(1, 1), parts=(DesignResponse.private(AffineSpace(prime=60013), gamma=0.5),) * 2),
            "do not fit 32 bits",
        ),
        (
            lambda: Mixture.family((1, 1), (RandomizedResponse.family(size=2), DesignResponse.family(AffineSpace(prime=2)))),
            "one parameter together",
        ),
        (lambda: SMALL[0].randomize(np.zeros((5, 3), dtype=int), KeyedRandomness.seeded(1), first_row=0), "a column for each"),
        (lambda: SMALL[0].randomize(np.full((5, 2), 2), KeyedRandomness.seeded(1), first_row=0), "outside 0..1"),
        (lambda: MixtureBlanket.of([Fraction(1)], [Laplace(epsilon0=1.0).blanket()]).pairs(), "one of several questions"),
    ],
)  # fmt: skip
def test_bad_input(wrong: Any, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        wrong()


def test_a_pair_of_parts_is_as_far_off_as_the_worse_of_them() -> None:
    blanket = Mixture(weights=(1, 2), parts=(COIN, THREE)).blanket()
    near, far = (Pair(np.ones(1), np.ones(1), np.ones(1) / 2, ulps=ulps) for ulps in (3.0, 90.0))
    assert blanket._beside([near, far]).ulps == blanket._beside([far, near]).ulps == 92.0
    assert MixtureBlanket(parts=blanket.parts[:1])._beside([far]).ulps == 90.0


def test_messages_are_numbers_of_32_bits() -> None:
    half = RandomizedResponse(size=2**31, gamma=0.5)
    assert Mixture(weights=(1, 1), parts=(half, half)).messages == 2**32
    with pytest.raises(InvalidInput, match="do not fit 32 bits"):
        Mixture(weights=(1, 1), parts=(half, RandomizedResponse(size=2**31 + 1, gamma=0.5)))


def test_symbols_that_a_part_does_not_have_are_refused() -> None:
    together = Together(parts=(COIN.as_run(), THREE.as_run()))
    randomness = KeyedRandomness.seeded(1)
    assert together.randomize(np.array([[1, 2]] * 5), randomness, first_row=0).each.tolist() == [2] * 5
    for wrong in ([2, 0], [0, 3], [-1, 0]):
        with pytest.raises(InvalidInput):
            together.randomize(np.array([[0, 0], wrong]), randomness, first_row=0)


def test_parts_that_are_all_answered_add_up_locally() -> None:
    local = Together(parts=(COIN.as_run(), THREE.as_run())).blanket().epsilon0()
    each = [part.as_run().blanket().epsilon0() for part in (COIN, THREE)]
    assert local is not None
    assert float(local) == pytest.approx(sum(float(one) for one in each if one is not None), rel=1e-12)


@pytest.mark.parametrize(("rows", "refused"), [(8, False), (9, True)])
def test_too_many_combinations_of_pairs_are_refused_before_any_work(rows: int, refused: bool) -> None:
    """8 x 7 pairs and 8 inputs with themselves, squared, are 4,096."""
    around = 2 * np.pi * np.arange(rows) / rows
    laws = np.stack([1 / 3 + 0.2 * np.cos(around), 1 / 3 + 0.2 * np.sin(around)], axis=1)
    channel = LatticeChannel.of(Channel(np.column_stack([laws, 1 - laws.sum(axis=1)]).tolist()))
    blanket = Mixture(weights=(1, 1), parts=(channel, channel)).blanket()
    if refused:
        with pytest.raises(InvalidInput, match="more than 4,096 combinations"):
            blanket.pairs()
    else:
        assert len(blanket.pairs()) == 4096
