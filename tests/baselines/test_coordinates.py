"""Bits about the entries of rows: private as claimed, by enumeration, and bits about all entries as a composition."""

import itertools

import pytest

from oracles.enumeration import divergence, true_delta
from shuffledp import Collection, RandomizedResponse, account
from shuffledp.accounting.account import bound_named
from shuffledp.accounting.composition import compose
from shuffledp.baselines.coordinates import AllCoordinates, CoordinateMeans, OneCoordinate
from shuffledp.core.randomness import WORD
from shuffledp.domains.vectors import Ball, Box
from shuffledp.planning.families.vector import VectorQuestion
from shuffledp.randomizers.codebook_response import CodebookResponse

QUESTION = VectorQuestion(name="vector", domain=Ball(3, 1.0), n=500, epsilon=1.0, delta=1e-6)


def rows_of(gamma: float) -> list[list[float]]:
    """Every corner of a box of two entries: an entry at random, its bit, and with probability gamma a random bit."""
    return [
        [0.5 * ((1 - gamma) * (bit == corner[entry]) + gamma / 2) for entry in (0, 1) for bit in (0, 1)]
        for corner in itertools.product((0, 1), repeat=2)
    ]


@pytest.mark.parametrize("n", [2, 3, 4])
def test_a_bit_of_one_entry_is_as_private_as_a_codebook_of_two(n: int) -> None:
    """Truly, over all datasets; and less of a blanket than was accounted for is caught."""
    gamma, epsilon = 0.4, 0.3
    claimed = account(CodebookResponse.private(dimension=2, size=2, gamma=gamma), n=n, epsilon=epsilon)
    assert true_delta(rows_of(gamma), n, epsilon) <= claimed.delta * (1 + 1e-9)
    assert true_delta(rows_of(gamma / 4), n, epsilon) > claimed.delta


def test_opposite_corners_tell_most() -> None:
    """They share no message but by the blanket, which is the overlap of 0 that a codebook assumes."""
    rows = rows_of(0.4)
    laws: list[dict[tuple[int, ...], float]] = [{(message,): mass for message, mass in enumerate(row)} for row in rows]
    assert divergence(laws[0], laws[3], 0.3) > divergence(laws[0], laws[1], 0.3)


def test_what_is_proposed_keeps_the_budget() -> None:
    one = OneCoordinate().propose(QUESTION)
    randomizer = CodebookResponse(dimension=3, size=2, threshold=one.threshold)
    assert account(randomizer, n=500, delta=1e-6).epsilon <= 1.0
    every = AllCoordinates().propose(QUESTION)
    bit = RandomizedResponse(size=2, gamma=every.threshold / WORD).blanket()
    spent = [
        compose([Collection(blanket=bit, n=500, rounds=bits, bound=bound_named("best"))]).epsilon(1e-6)
        for bits in (3, 4)
    ]
    assert 0.98 < spent[0] <= 1.0 < spent[1]


def test_errors_are_those_of_the_entries() -> None:
    """A box of two entries of lengths 2 and 8, everybody in the middle: half of the users are asked about either."""
    protocol = CoordinateMeans(domain=Box((0.0, 1.0), (2.0, 9.0)), threshold=WORD // 4)
    assert protocol.mean_squared_error(1000) == pytest.approx(2 * (1.0 + 16.0) / 0.75**2 / 1000)
