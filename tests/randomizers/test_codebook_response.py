"""Codebook response: codewords are what the recipe says, and privacy rests on none of them."""

import hashlib
import json
import math
from itertools import product
from pathlib import Path
from statistics import NormalDist
from typing import Any

import mpmath
import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from scipy.stats import chisquare, kstest

from oracles.chance import SIGNIFICANCE
from oracles.enumeration import true_delta
from shuffledp import InvalidInput, KeyedRandomness, account
from shuffledp.accounting.account import bound_named
from shuffledp.arithmetic.largest_product import coordinate, largest_product
from shuffledp.randomizers.codebook_response import CodebookResponse, on_sphere
from shuffledp.randomizers.codewords import SEEDS, UNIT, codewords, lengths, nearest, normals, unit_codewords

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parents[1] / "golden" / "vectors.json").read_text())


@pytest.mark.parametrize("row", GOLDEN["largest_products"], ids=str)
def test_the_largest_product_is_what_others_found(row: dict[str, Any]) -> None:
    assert largest_product(row["dimension"], row["size"]).mean == pytest.approx(row["mean"], abs=1e-12)


@pytest.mark.parametrize(("dimension", "size"), [(2, 40), (4, 7), (2001, 16384)])
def test_both_moments_against_quadrature_in_high_precision(dimension: int, size: int) -> None:
    """By mpmath, in the angle, with its own incomplete beta function."""
    with mpmath.workdps(20):
        d = mpmath.mpf(dimension)

        def below(angle: Any) -> Any:
            """How likely a coordinate is at most sin(angle), to the power of the size."""
            t = mpmath.sin(angle)
            return ((1 + mpmath.sign(t) * mpmath.betainc(0.5, (d - 1) / 2, 0, t**2, regularized=True)) / 2) ** size

        end = min(mpmath.pi / 2, 12 / mpmath.sqrt(d))
        places = mpmath.linspace(-end, end, 9)
        mean = mpmath.quad(lambda a: below(a) * mpmath.cos(a), places)
        square = mpmath.quad(lambda a: 2 * mpmath.sin(a) * below(a) * mpmath.cos(a), places)
        found = largest_product(dimension, size)
        assert found.mean == pytest.approx(float(mpmath.sin(end) - mean), rel=1e-11)
        assert found.square == pytest.approx(float(mpmath.sin(end) ** 2 - square), rel=1e-10)


def test_the_tail_of_a_coordinate() -> None:
    """In three dimensions a coordinate is uniform; tails are exact to their own size."""
    law = coordinate(3)
    assert law.tails == pytest.approx((1 - law.values) / 2, rel=1e-10, abs=1e-15)


def test_the_entries_of_codewords() -> None:
    """Odd, symmetric, increasing, of a normal law's moments; and the very ones that others are told to make."""
    table = normals()
    assert (table == -table[::-1]).all()
    assert (table % 2 == 1).all()
    assert (np.diff(table) >= 0).all()
    assert float((table**2).mean()) == pytest.approx(4096**2, rel=1e-4)
    assert float((table**4).mean() / (table**2).mean() ** 2) == pytest.approx(3, abs=1e-6)
    quantile = NormalDist().inv_cdf
    scaled = np.array([2048 * quantile((w + 0.5) / 65536) for w in range(1, 65535)])
    assert np.abs(scaled - np.rint(scaled)).min() > 1e-6  # so that rounding errors of a quantile do not matter
    assert (table[1:-1] == 2 * np.floor(scaled) + 1).all()
    assert hashlib.sha256(table.astype("<i2").tobytes()).hexdigest() == GOLDEN["entries_sha256"]


def written_out(seed: int, number: int, dimension: int) -> list[int]:
    """A codeword by the recipe, step by step."""
    blocks, table = -(-dimension // 8), normals()
    cipher = Cipher(algorithms.AES(b"shuffledp vector"), modes.ECB())
    words = list[int]()
    for block in range(number * blocks, (number + 1) * blocks):
        drawn = cipher.encryptor().update(seed.to_bytes(8, "big") + block.to_bytes(8, "big"))
        words += [int.from_bytes(drawn[2 * k : 2 * k + 2], "little") for k in range(8)]
    return [int(table[word]) for word in words[:dimension]]


@pytest.mark.parametrize("case", GOLDEN["codewords"], ids=str)
def test_codewords_are_those_of_the_recipe(case: dict[str, Any]) -> None:
    seed, number, dimension = int(case["seed"]), case["number"], case["dimension"]
    expected = written_out(seed, number, dimension)
    assert expected[: len(case["entries"])] == case["entries"]
    found = codewords(np.array([seed], dtype=np.uint64), np.array([number], dtype=np.uint64), dimension)
    assert found[0].tolist() == expected


@pytest.mark.parametrize(("dimension", "size"), [(2, 2), (3, 5), (9, 64), (30, 300)])
def test_the_nearest_codeword_is_the_nearest(dimension: int, size: int) -> None:
    """Against exact comparisons of whole numbers; and no cut into blocks changes it."""
    generator = np.random.default_rng(dimension)
    points = generator.standard_normal((12, dimension - 1))
    targets = on_sphere(points / np.linalg.norm(points, axis=1)[:, None] * 0.7, dimension - 1)
    seeds = generator.integers(0, SEEDS, 12, dtype=np.uint64)
    found = nearest(targets, seeds, size)
    for target, seed, answer in zip(targets, seeds.tolist(), found.tolist(), strict=True):
        scores = []
        for number in range(size):
            entries = written_out(seed, number, dimension)
            inner = sum(int(a) * b for a, b in zip(target.tolist(), entries, strict=True))
            scores.append((math.copysign(inner**2, inner) / sum(b * b for b in entries), -number))
        assert -max(scores)[1] == answer
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shuffledp.randomizers.codewords._AT_ONCE", 3 * dimension + 1)
        assert (nearest(targets, seeds, size) == found).all()


def test_codewords_are_uniform_on_the_sphere() -> None:
    """Each coordinate and a slanted one have the law of a uniform point; neighbours are independent."""
    dimension, count = 4, 100_000
    seeds = np.arange(count, dtype=np.uint64) * np.uint64(977)
    rows = np.concatenate([part for _, part in unit_codewords(seeds, seeds % np.uint64(3), dimension)])
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1, abs=1e-12)
    law = coordinate(dimension)

    def below(values: Any) -> Any:
        return np.interp(values, law.values, 1 - law.tails)

    for way in (np.eye(dimension)[0], np.full(dimension, 0.5), np.array([0.6, 0, 0, -0.8])):
        assert kstest(rows @ way, below).pvalue > SIGNIFICANCE
        assert kstest(rows @ way * 1.05, below).pvalue < SIGNIFICANCE
    others = np.concatenate([part for _, part in unit_codewords(seeds, seeds % np.uint64(3) + np.uint64(1), dimension)])
    products = (rows * others).sum(axis=1)
    assert abs(float(products.mean())) < 7 * float(products.std()) / math.sqrt(count)


def tiny_rows(seeds: int, size: int, gamma: float) -> list[list[float]]:
    """The law of every value of a codebook with so few seeds: any choice of a codeword for each seed."""
    rows = []
    for chosen in product(range(size), repeat=seeds):
        rows.append(
            [
                ((1 - gamma) * (number == chosen[seed]) + gamma / size) / seeds
                for seed in range(seeds)
                for number in range(size)
            ]
        )
    return rows


@pytest.mark.parametrize(
    ("seeds", "size", "gamma", "n"),
    [
        (1, 2, 0.5, 1), (1, 2, 0.5, 3), (2, 2, 0.3, 1), (2, 2, 0.3, 2), (2, 2, 0.3, 3), (3, 2, 0.5, 1), (3, 2, 0.5, 2),
        (2, 3, 0.25, 1), (2, 3, 0.25, 2), (2, 3, 0.25, 3),
    ],
)  # fmt: skip
def test_all_datasets_of_a_tiny_codebook_are_inside_the_enclosure(seeds: int, size: int, gamma: float, n: int) -> None:
    """Whatever the codebook, no dataset of n users says more than is proved, and some say at least what is proved from below."""
    randomizer = CodebookResponse.private(dimension=2, size=size, gamma=gamma)
    for epsilon in (0.0, 0.3, 1.0):
        truth = true_delta(tiny_rows(seeds, size, gamma), n, epsilon)
        claim = bound_named("best").claim(randomizer.blanket(), n=n, epsilon=epsilon, side="both")
        upper = 1.0 if claim.regime else math.exp(claim.log_delta.upper)
        assert math.exp(claim.log_delta.lower) * (1 - 1e-9) <= truth <= upper * (1 + 1e-9)


def test_overlapping_values_are_not_the_worst() -> None:
    """Nothing is claimed about overlaps because opposite points share no codeword: those reach the lower end."""
    generator = np.random.default_rng(1)
    seeds = generator.integers(0, SEEDS, 300, dtype=np.uint64)
    way = on_sphere(np.array([[0.6, -0.8]]), 2)
    here, there = (nearest(np.repeat(sign * way, 300, axis=0), seeds, 6) for sign in (1.0, -1.0))
    assert (here != there).all()


@pytest.mark.parametrize("repeats", [1, 3])
def test_messages_have_their_law(repeats: int) -> None:
    """Seeds are uniform whatever the point, and the nearest codeword is named as often as is stated."""
    users, size, gamma = 40_000, 5, 0.4
    randomizer = CodebookResponse.private(dimension=2, size=size, gamma=gamma, repeats=repeats)
    points = np.tile([[0.3, -0.5]], (users, 1))
    sent = randomizer.randomize(points, KeyedRandomness.seeded(4), first_row=7)
    messages = sent if repeats == 1 else sent.values
    assert len(messages) == users * repeats
    seeds, numbers = randomizer.split(messages)
    assert chisquare(np.bincount((seeds >> np.uint64(40)).astype(np.int64), minlength=256)).pvalue > SIGNIFICANCE
    assert chisquare(np.bincount((seeds & np.uint64(255)).astype(np.int64), minlength=256)).pvalue > SIGNIFICANCE
    own = nearest(np.repeat(on_sphere(points, 2), repeats, axis=0), seeds, size)
    hits, likely = int((own == numbers).sum()), 1 - gamma + gamma / size
    spread = math.sqrt(len(messages) * likely * (1 - likely))
    assert abs(hits - len(messages) * likely) < 6.2 * spread
    assert abs(hits - len(messages) * (1 - 1.1 * gamma + 1.1 * gamma / size)) > 6.2 * spread
    others = (numbers - own)[numbers != own] % np.uint64(size)
    assert chisquare(np.bincount(others.astype(np.int64), minlength=size)[1:]).pvalue > SIGNIFICANCE


def test_several_messages_compose() -> None:
    one = CodebookResponse.private(dimension=3, size=16, gamma=0.5)
    four = CodebookResponse.private(dimension=3, size=16, gamma=0.5, repeats=4)
    assert four.epsilon0 == pytest.approx(4 * one.epsilon0)
    assert one.epsilon0 == pytest.approx(math.log(1 + 0.5 * 16 / 0.5))
    single, several = (account(randomizer, n=2_000, delta=1e-4).epsilon for randomizer in (one, four))
    assert 1.8 * single < several < 2.2 * single


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"size": 1}, "`size`"), ({"size": 2**14 + 1}, "`size`"), ({"dimension": 0}, "`dimension`"),
        ({"repeats": 0}, "`repeats`"), ({"gamma": 0.0}, "gamma"), ({"dimension": 1.5}, "`dimension`"),
    ],
)  # fmt: skip
def test_bad_parameters(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        CodebookResponse.private(**({"dimension": 3, "size": 4, "gamma": 0.2} | changes))


@pytest.mark.parametrize("points", [[[1.2, 0.0]], [[0.8, 0.8]], [[math.nan, 0.0]], [[0.1, 0.1, 0.1]], [0.1, 0.2]])
def test_points_outside_the_ball_are_refused(points: Any) -> None:
    randomizer = CodebookResponse.private(dimension=2, size=4, gamma=0.2)
    with pytest.raises(InvalidInput):
        randomizer.randomize(np.array(points), KeyedRandomness.seeded(1), first_row=0)


def test_points_on_the_sphere_are_exactly_that_long() -> None:
    generator = np.random.default_rng(3)
    rows = generator.standard_normal((50, 6))
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    rows[:25] *= generator.random((25, 1))
    targets = on_sphere(rows, 6)
    assert (targets == np.rint(targets)).all()
    assert lengths(targets) == pytest.approx(UNIT, rel=1e-6)
