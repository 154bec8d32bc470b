"""Blocks of mixed crowds against exact sums over all outcomes."""

import math
import random
from fractions import Fraction
from itertools import product
from math import prod

import pytest
from flint import arb, ctx, fmpq
from scipy.stats import binom

from oracles.scale import full
from shuffledp import Channel, bounds
from shuffledp.certificates.contour_nodes import Term
from shuffledp.certificates.cushion import _largest_block, _split, corners, cushioned_delta
from shuffledp.certificates.effort import Effort
from shuffledp.certificates.positive_part import BITS

Atoms = list[tuple[Fraction, Fraction]]
POINTS = full(2, 20)


def ball(value: Fraction) -> arb:
    return arb(fmpq(value.numerator, value.denominator))


def exact_excess(atoms: Atoms, size: int, t: Fraction) -> Fraction:
    """E[(l_1 + ... + l_size - t)_+] over all outcomes."""
    return sum(
        (
            prod((mass for _, mass in outcome), start=Fraction(1)) * max(Fraction(0), sum(v for v, _ in outcome) - t)
            for outcome in product(atoms, repeat=size)
        ),
        Fraction(0),
    )


def excess(law: Term, t: Fraction) -> arb:
    return sum((m * (v - ball(t)).max(arb(0)) for v, m in zip(law.values, law.masses, strict=True)), arb(0))


def test_the_law_of_a_block_is_above_every_block_and_close_to_the_largest() -> None:
    rng = random.Random(12)
    with ctx.workprec(BITS):
        for _ in range(POINTS):
            size = rng.randint(3, 5)
            kinds: list[Atoms] = []
            for _ in range(2):
                weights = [rng.randint(1, 9) for _ in range(3)]
                atoms = [(Fraction(rng.randint(-20, 20), 10), Fraction(w, sum(weights))) for w in weights]
                mean = sum(v * m for v, m in atoms)
                kinds.append([(v - mean, m) for v, m in atoms])
            laws = [Term([ball(v) for v, _ in atoms], [ball(m) for _, m in atoms]) for atoms in kinds]
            block, short = _largest_block(laws, size, arb(1e-9), Effort())
            assert short <= 1e-9
            assert abs(block.mass - 1) < 1e-40
            for _ in range(4):
                t = Fraction(rng.randint(-300, 300), 100)
                largest = ball(max(exact_excess(atoms, size, t) for atoms in kinds))
                assert largest <= excess(block, t) + short
                assert excess(block, t) <= largest + 0.05


@pytest.mark.parametrize("counts", [((8, 4, 4), (4, 8, 4), (4, 4, 8)), ((8, 4, 4), (4, 8, 4), (5, 5, 6))])
def test_others_may_hold_an_input_that_is_neither_of_the_two_compared(counts: tuple[tuple[int, ...], ...]) -> None:
    """A third input, which sends what tells the two apart more rarely, hides them least: that dataset is among those covered."""
    n, epsilon, whole = 10**7, 0.001, sum(counts[0])
    shown = Channel([[often / whole for often in row] for row in counts])
    witness = bounds()["witness"].claim(shown.blanket(), n=n, epsilon=epsilon, side="lower")
    truth = math.exp(witness.log_delta.lower)
    rows = [[fmpq(often, whole) for often in row] for row in counts]
    with ctx.workprec(BITS):
        assert truth <= cushioned_delta(rows, n, epsilon, arb(1.1 * truth), Effort()) <= 1.1 * truth


@pytest.mark.parametrize("inputs", [2, 3, 5])
def test_all_blocks_can_be_filled_whatever_the_others_hold(inputs: int) -> None:
    """Of each input as many users may be left as fill no block, and the cushion is as thick as is claimed but for a failure."""
    rows = [[fmpq(7 if y == x else 3, 3 * inputs + 4) for y in range(inputs)] for x in range(inputs)]
    gamma = 3 * inputs / (3 * inputs + 4)
    for n, epsilon in ((30_011, 0.1), (10**6 + 7, 0.01), (10**9, 3e-4)):
        with ctx.workprec(BITS):
            split = _split(rows, n, epsilon)
            assert split is not None
            draws = round(7 / 3 / float(split.rho))
            failure = float(split.failure)
        assert split.size > 1
        assert split.crowd + inputs * (split.size - 1) <= n - 1
        assert binom.cdf(draws - 1, n - 1 - split.crowd, gamma) <= failure


def test_too_few_users_are_not_claimed_for() -> None:
    rows = [[fmpq(7, 10), fmpq(3, 10)], [fmpq(2, 10), fmpq(8, 10)]]
    with ctx.workprec(BITS):
        assert cushioned_delta(rows, 999, 0.1, arb(1e-3), Effort()) == 1
        assert cushioned_delta(rows, 1000, 2.0, arb(1e-3), Effort()) <= 1


def test_mixtures_of_other_inputs_are_left_out() -> None:
    first, second, third = ([fmpq(n, 10) for n in row] for row in ((7, 2, 1), (1, 3, 6), (1, 6, 3)))
    middle = [(a + b + c) / 3 for a, b, c in zip(first, second, third, strict=True)]
    edge = [(a + b) / 2 for a, b in zip(first, second, strict=True)]
    beyond = [2 * a - b for a, b in zip(edge, middle, strict=True)]
    assert corners([middle, first, edge, second, third], Effort()) == [first, second, third]
    assert corners([first, second, third, beyond], Effort()) == [first, second, third, beyond]
