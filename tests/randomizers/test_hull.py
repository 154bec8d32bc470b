"""Inputs that are mixtures of others: left out only if they certainly are, and nothing changes without them."""

from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq

from shuffledp import Channel, shuffle_index
from shuffledp.accounting.account import bound_named
from shuffledp.randomizers.hull import corners

ROWS = ((5, 2, 1), (1, 1, 6), (1, 5, 2))


def _exact(row: tuple[Fraction, ...]) -> tuple[fmpq, ...]:
    return tuple(fmpq(p.numerator, p.denominator) for p in row)


def _mixtures(seed: int, count: int) -> list[tuple[Fraction, ...]]:
    """Random mixtures, with weights in 16ths, of three rows in eighths."""
    generator = np.random.default_rng(seed)
    weights = [generator.multinomial(16, [1 / 3] * 3) for _ in range(count)]
    return [
        tuple(sum((Fraction(int(w) * r[y], 128) for w, r in zip(v, ROWS, strict=True)), Fraction(0)) for y in range(3))
        for v in weights
    ]


@pytest.mark.parametrize("seed", range(10))
def test_exact_mixtures_are_left_out(seed: int) -> None:
    pure = [tuple(Fraction(e, 8) for e in row) for row in ROWS]
    rows = [*_mixtures(seed, 20), *pure, *_mixtures(seed + 100, 5)]
    assert set(corners(tuple(map(_exact, rows)))) == set(map(_exact, pure))


@pytest.mark.parametrize("seed", range(10))
def test_near_mixtures_stay(seed: int) -> None:
    pure = [tuple(Fraction(e, 8) for e in row) for row in ROWS]
    a, b, c = _mixtures(seed, 1)[0]
    nudge = Fraction(1, 2**60)
    rows = [*pure, (a, b, c), (pure[0][0] + nudge, pure[0][1], pure[0][2] - nudge)]
    left = corners(tuple(map(_exact, rows)))
    assert _exact(rows[4]) in left  # it is outside of the others' hull, if only just


def test_random_laws_in_general_position_stay() -> None:
    generator = np.random.default_rng(5)
    points = generator.normal(size=(12, 2))  # on a circle: all of them are corners
    points /= np.linalg.norm(points, axis=1)[:, None]
    laws = [(1 / 3 + 0.2 * x, 1 / 3 + 0.2 * y, 1 / 3 - 0.2 * (x + y)) for x, y in points]
    rows = tuple(_exact(tuple(Fraction(e) for e in law)) for law in laws)
    assert corners(rows) == rows


def test_a_channel_with_mixtures_among_its_inputs_is_the_channel_without() -> None:
    few = Channel([[e / 8 for e in row] for row in ROWS])
    many = Channel([*(list(map(float, row)) for row in _mixtures(3, 40)), *few.matrix.tolist()])
    assert len(many.blanket().pairs()) == len(few.blanket().pairs()) <= 6
    assert shuffle_index(many) == shuffle_index(few)
    for name in ("numeric", "cushion", "best", "bennett"):
        claims = [bound_named(name).claim(c.blanket(), n=50_000, epsilon=0.1).log_delta.upper for c in (few, many)]
        assert claims[0] == pytest.approx(claims[1], rel=1e-12)
        assert claims[0] < 0


def test_a_channel_that_says_nothing_is_private_at_once() -> None:
    blanket = Channel([[0.2, 0.3, 0.5]] * 3).blanket()
    assert blanket.pairs()
    assert bound_named("numeric").claim(blanket, n=10, epsilon=0.0).log_delta.upper < -600
