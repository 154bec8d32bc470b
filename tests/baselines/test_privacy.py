"""The privacy of every baseline at small sizes, by enumeration of its messages; and a wrong parameter is caught."""

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from oracles.enumeration import divergence, true_delta, view
from shuffledp import Collection, RandomizedResponse, account, compose
from shuffledp.accounting.account import bound_named
from shuffledp.baselines.central import CuratorHistogram, NoisySum
from shuffledp.baselines.dbitflip import DBitFlip
from shuffledp.baselines.flip import Flip
from shuffledp.baselines.hadamard_response import HadamardResponse
from shuffledp.baselines.hashed_response import HashedResponse
from shuffledp.baselines.published_design import DesignCounts
from shuffledp.baselines.rappor import Rappor
from shuffledp.baselines.sketch import CountMeanSketch, HadamardSketch, _table
from shuffledp.baselines.split_and_mix import shares_needed
from shuffledp.baselines.subset_selection import SubsetSelection
from shuffledp.baselines.unary import UnaryBits
from shuffledp.protocols.one_bit_mean import OneBitMean
from shuffledp.randomizers.design_response import design_threshold

Rows = list[list[float]]


def bits_law(truth: tuple[bool, ...], flip: float) -> dict[tuple[bool, ...], float]:
    """The law of bits flipped independently."""
    return {
        said: math.prod(flip if a != b else 1 - flip for a, b in zip(said, truth, strict=True))
        for said in itertools.product((False, True), repeat=len(truth))
    }


def as_rows(laws: list[dict[Any, float]]) -> Rows:
    messages = sorted(set().union(*laws))
    return [[law.get(y, 0.0) for y in messages] for law in laws]


def rappor(protocol: Rappor) -> Rows:
    truths = [tuple(j == x for j in range(protocol.size)) for x in range(protocol.size)]
    return as_rows([bits_law(truth, protocol.flip.probability) for truth in truths])


def dbitflip(protocol: DBitFlip) -> Rows:
    laws = []
    subsets = list(itertools.permutations(range(protocol.size), protocol.asked))
    for x in range(protocol.size):
        law: dict[Any, float] = {}
        for buckets in subsets:
            for said, mass in bits_law(tuple(b == x for b in buckets), protocol.flip.probability).items():
                law[buckets, said] = mass / len(subsets)
        laws.append(law)
    return as_rows(laws)


def cms(protocol: CountMeanSketch) -> Rows:
    laws, table = [], _table(protocol)
    for x in range(protocol.size):
        law: dict[Any, float] = {}
        for j in range(protocol.hashes):
            truth = tuple(b == table[j, x] for b in range(protocol.width))
            for said, mass in bits_law(truth, protocol.flip.probability).items():
                law[j, said] = mass / protocol.hashes
        laws.append(law)
    return as_rows(laws)


def hcms(protocol: HadamardSketch) -> Rows:
    laws, table, p = [], _table(protocol), protocol.flip.probability
    for x in range(protocol.size):
        law: dict[Any, float] = {}
        for j, entry in itertools.product(range(protocol.hashes), range(protocol.width)):
            plus = bin(entry & int(table[j, x])).count("1") % 2 == 0
            for said in (True, False):
                law[j, entry, said] = (1 - p if said == plus else p) / protocol.hashes / protocol.width
        laws.append(law)
    return as_rows(laws)


def hashed(protocol: HashedResponse) -> Rows:
    """Written from the definition: a and b uniform, ((a x + b) mod p) mod h, or any hash."""
    g, h = protocol.gamma, protocol.range
    p = next(p for p in range(protocol.size, 99) if all(p % d for d in range(2, p)))
    functions = list(itertools.product(range(1, p), range(p)))
    return [
        [(g / h + (1 - g) * ((a * x + b) % p % h == y)) / len(functions) for a, b in functions for y in range(h)]
        for x in range(protocol.size)
    ]


def hadamard(protocol: HadamardResponse) -> Rows:
    """By Sylvester's matrix, doubled until it is large enough."""
    g, matrix = protocol.gamma, np.ones((1, 1))
    while len(matrix) < protocol.order:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    rows = []
    for x in range(protocol.size):
        belongs = np.zeros((protocol.blocks, protocol.order))
        belongs[x % protocol.blocks] = matrix[:, x // protocol.blocks + 1] < 0
        rows.append((g / belongs.size + (1 - g) * belongs.ravel() / belongs.sum()).tolist())
    return rows


def subsets(protocol: SubsetSelection) -> Rows:
    g, sets = protocol.gamma, list(itertools.combinations(range(protocol.size), protocol.chosen))
    mine = math.comb(protocol.size - 1, protocol.chosen - 1)
    return [[g / len(sets) + (1 - g) * (x in chosen) / mine for chosen in sets] for x in range(protocol.size)]


DESIGNS: dict[str, tuple[DesignCounts, Callable[[Any], Rows]]] = {
    "local hashing": (HashedResponse(size=3, range=2, threshold=1), hashed),
    "local hashing, part": (HashedResponse(size=4, range=2, threshold=1), hashed),
    "hadamard": (HadamardResponse(size=3, blocks=1, order=4, threshold=1), hadamard),
    "hadamard, blocks": (HadamardResponse(size=5, blocks=2, order=4, threshold=1), hadamard),
    "subsets": (SubsetSelection(size=4, chosen=2, threshold=1), subsets),
    "subsets of three": (SubsetSelection(size=5, chosen=3, threshold=1), subsets),
}


def private(name: str, epsilon0: float) -> Any:
    protocol = DESIGNS[name][0]
    return replace(protocol, threshold=design_threshold(protocol.design, epsilon0=epsilon0))  # type: ignore[type-var]


def one_bit_mean(protocol: OneBitMean) -> Rows:
    g = protocol.randomizer.gamma
    return [[1 - (x * (1 - g) + g / 2), x * (1 - g) + g / 2] for x in (0.0, 0.3, 1.0)]


def noisy(protocol: NoisySum) -> Rows:
    k = np.arange(-400, 401)
    return [np.exp(-np.abs(k - x) / protocol.noise.scale).tolist() for x in (0, 1, protocol.steps)]


def curator(protocol: CuratorHistogram) -> Rows:
    """Two bins of neighbouring histograms (1, 0) and (0, 1)."""
    k = np.arange(-40, 41)
    one = [np.exp(-np.abs(k - x) / protocol.noise.scale) for x in (0, 1)]
    return [np.outer(one[1], one[0]).ravel().tolist(), np.outer(one[0], one[1]).ravel().tolist()]


LOCAL: dict[str, tuple[Callable[[float], Any], Callable[[Any], Rows]]] = {
    "rappor": (lambda e: Rappor.private(size=3, epsilon0=e), rappor),
    "dbitflip": (lambda e: DBitFlip.private(size=4, asked=2, epsilon0=e), dbitflip),
    "dbitflip, one": (lambda e: DBitFlip.private(size=4, asked=1, epsilon0=e), dbitflip),
    "cms": (lambda e: CountMeanSketch.private(size=4, epsilon0=e, hashes=3, width=4), cms),
    "hcms": (lambda e: HadamardSketch.private(size=4, epsilon0=e, hashes=3, width=4), hcms),
    **{name: (partial(private, name), law) for name, (_, law) in DESIGNS.items()},
    "1bitmean": (lambda e: OneBitMean(randomizer=RandomizedResponse(size=2, epsilon0=e).as_run()), one_bit_mean),
    "local laplace": (lambda e: NoisySum(epsilon=e, steps=5, local=True), noisy),
    "curator sum": (lambda e: NoisySum(epsilon=e, steps=5), noisy),
    "curator histogram": (lambda e: CuratorHistogram(size=2, epsilon=e), curator),
}


def worst_ratio(rows: Rows) -> float:
    array = np.array(rows)
    return float(max((a / b).max() for a, b in itertools.permutations(array, 2)))


@pytest.mark.parametrize("name", LOCAL)
@pytest.mark.parametrize("epsilon0", [0.3, 1.0, 3.0])
def test_likelihood_ratios_are_what_is_claimed_and_no_less(name: str, epsilon0: float) -> None:
    """Over all messages; a protocol built for an epsilon0 10 % too large is caught, and a needless loss would be too."""
    build, law = LOCAL[name]
    protocol = build(epsilon0)
    ratio = math.log(worst_ratio(law(protocol)))
    assert ratio <= epsilon0 * (1 + 1e-12)
    assert ratio == pytest.approx(epsilon0, rel=1e-9)
    if isinstance(protocol.epsilon0, float):
        assert ratio <= protocol.epsilon0 * (1 + 1e-12)
    assert math.log(worst_ratio(law(build(1.1 * epsilon0)))) > epsilon0 * 1.05


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("epsilon0", [1.0, 2.5])
def test_shuffled_rappor_by_enumeration(size: int, epsilon0: float) -> None:
    """All datasets, all shuffled views: below the blanket's bound, above the witnesses'; a wrong flip is caught."""
    protocol = Rappor.private(size=size, epsilon0=epsilon0)
    rows = rappor(protocol)
    floor = [min(column) for column in zip(*rows, strict=True)]
    assert float(protocol.blanket().gamma()) == pytest.approx(sum(floor), rel=1e-12)
    caught = 0
    for n, epsilon in itertools.product((2, 3), (0.1, 0.5, 0.9)):
        truth = true_delta(rows, n, epsilon)
        bound = bound_named("best")
        claim = bound.claim(protocol.blanket(), n=n, epsilon=epsilon)
        assert math.exp(claim.log_delta.lower) <= truth * (1 + 1e-9)
        assert truth <= math.exp(claim.log_delta.upper) * (1 + 1e-9)
        wrong = Rappor(size=size, flip=Flip(min(1 << 63, 2 * protocol.flip.threshold))).blanket()
        caught += truth > math.exp(bound.claim(wrong, n=n, epsilon=epsilon).log_delta.upper)
    assert caught


@pytest.mark.parametrize("name", DESIGNS)
def test_shuffled_designs_by_enumeration(name: str) -> None:
    """All datasets, all shuffled views: inside the enclosure; twice the noise there is, or more overlap, is caught."""
    protocol, bound, caught = private(name, 2.0), bound_named("best"), [0, 0]
    rows, right = DESIGNS[name][1](protocol), protocol.blanket()
    less = replace(protocol, threshold=2 * protocol.threshold).blanket()
    more = replace(right, overlap=right.overlap * Fraction(11, 10) + Fraction(1, 50), triple=None)
    for n, epsilon in itertools.product((1, 2), (0.1, 0.5, 0.9)):
        truth = true_delta(rows, n, epsilon)
        claim = bound.claim(right, n=n, epsilon=epsilon).log_delta
        assert math.exp(claim.lower) <= truth * (1 + 1e-9)
        assert truth <= math.exp(claim.upper) * (1 + 1e-9)
        for i, wrong in enumerate((less, more)):
            caught[i] += truth > math.exp(bound.claim(wrong, n=n, epsilon=epsilon).log_delta.upper) * (1 + 1e-9)
    assert all(caught)


def test_shuffled_rappor_formulas_agree_with_its_atoms() -> None:
    """The paper's analytic bounds on RAPPOR's blanket are above the numeric one."""
    protocol = Rappor.private(size=6, epsilon0=2.0)
    tight = account(protocol, n=10_000, delta=1e-6).epsilon
    for name in ("bennett", "hoeffding", "generic"):
        assert account(protocol, n=10_000, delta=1e-6, bound=name).epsilon >= tight


@pytest.mark.parametrize("n", [2, 3])
def test_many_messages_by_enumeration(n: int) -> None:
    """r = 2 unary bits, jointly shuffled, all datasets of grid points: below the composed claim; half the blanket is caught."""
    gamma, messages = 0.5, 2
    rows = [[1 - gamma / 2, gamma / 2], [gamma / 2, 1 - gamma / 2]]
    grid = [(0, 0), (1, 0), (1, 1)]
    blanket = RandomizedResponse(size=2, gamma=gamma).blanket()
    composed = compose([Collection(blanket=blanket, n=n, rounds=messages, bound=bound_named("best"))])
    half = RandomizedResponse(size=2, gamma=0.99).blanket()
    wrong = compose([Collection(blanket=half, n=n, rounds=messages, bound=bound_named("best"))])
    caught = 0
    for epsilon in (0.2, 0.6, 1.2):
        truth = 0.0
        for others in itertools.product(grid, repeat=n - 1):
            rest = [bit for user in others for bit in user]
            views = [view(rows, [*rest, *user]) for user in grid]
            truth = max(truth, *(divergence(a, b, epsilon) for a, b in itertools.permutations(views, 2)))
        assert truth <= composed.delta(epsilon)
        caught += truth > wrong.delta(epsilon)
    assert caught
    assert UnaryBits(messages=2, threshold=1 << 63).epsilon0 == pytest.approx(2 * math.log(3))


# Split and mix


def bit_views(n: int, messages: int, ones: int) -> NDArray[np.float64]:
    """q = 2: the law of how many of the n m shuffled shares are 1, when `ones` of the users hold 1."""
    count = np.array([math.comb(messages, k) for k in range(messages + 1)], dtype=np.float64) / 2 ** (messages - 1)
    parity = np.arange(messages + 1) % 2
    law = np.ones(1)
    for user in range(n):
        law = np.convolve(law, np.where(parity == (user < ones), count, 0.0))
    return law


def three_views(n: int, messages: int, held: tuple[int, int, int]) -> NDArray[np.float64]:
    """q = 3: the law of (number of 1s, number of 2s) among all shares."""
    laws = []
    for x in range(3):
        law = np.zeros((messages + 1, messages + 1))
        for a in range(messages + 1):
            for b in range(messages + 1 - a):
                if (a + 2 * b) % 3 == x:
                    ways = math.comb(messages, a) * math.comb(messages - a, b)
                    law[a, b] = ways / 3 ** (messages - 1)
        laws.append(law)
    size = n * messages + 1
    spectrum = np.ones((size, size // 2 + 1), dtype=complex)
    for x in range(3):
        padded = np.zeros((size, size))
        padded[: messages + 1, : messages + 1] = laws[x]
        spectrum = spectrum * np.fft.rfft2(padded) ** held[x]
    return np.asarray(np.fft.irfft2(spectrum, (size, size)))


def distance(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    return float(np.abs(first - second).sum() / 2)


@pytest.mark.parametrize("n", [19, 25, 60])
@pytest.mark.parametrize("sigma", [3, 8, 16])
def test_the_number_of_shares_hides_bits(n: int, sigma: int) -> None:
    """q = 2, every pair of inputs with the same sum: the shuffled shares differ by at most 2^-sigma, by exact enumeration."""
    messages = shares_needed(sigma=sigma, modulus=2, honest=n)
    for parity in (0, 1):
        views = [bit_views(n, messages, ones) for ones in range(parity, n + 1, 2)]
        assert max(distance(a, b) for a, b in itertools.combinations(views, 2)) <= 2.0**-sigma


@pytest.mark.parametrize("sigma", [3, 8])
def test_the_number_of_shares_hides_ternary_values(sigma: int) -> None:
    """q = 3 at n = 19 for inputs far apart with the same sum."""
    n = 19
    messages = shares_needed(sigma=sigma, modulus=3, honest=n)
    inputs = [(19, 0, 0), (0, 19, 0), (0, 0, 19), (16, 3, 0), (13, 6, 0), (16, 0, 3), (7, 6, 6), (17, 1, 1), (15, 2, 2)]
    for total in range(3):
        same = [held for held in inputs if (held[1] + 2 * held[2]) % 3 == total]
        views = [three_views(n, messages, held) for held in same]
        for a, b in itertools.combinations(views, 2):
            assert distance(a, b) <= 2.0**-sigma


def test_too_few_shares_are_caught() -> None:
    """Two shares a user do not hide: the same enumeration notices."""
    assert distance(bit_views(19, 2, 0), bit_views(19, 2, 18)) > 2.0**-3


@pytest.mark.parametrize(("n", "q", "messages"), [(2, 3, 2), (2, 4, 3), (3, 3, 2), (3, 2, 3)])
def test_shares_by_brute_force(n: int, q: int, messages: int) -> None:
    """All coins at tiny sizes: the shuffled shares determine the sum, and more shares hide more."""

    def law(inputs: tuple[int, ...], m: int) -> dict[tuple[int, ...], float]:
        found: dict[tuple[int, ...], float] = {}
        coins = list(itertools.product(range(q), repeat=n * (m - 1)))
        for coin in coins:
            shares: list[int] = []
            for user, value in enumerate(inputs):
                mine = coin[user * (m - 1) : (user + 1) * (m - 1)]
                shares += [*mine, (value - sum(mine)) % q]
            key = tuple(sorted(shares))
            assert sum(key) % q == sum(inputs) % q
            found[key] = found.get(key, 0.0) + 1 / len(coins)
        return found

    def furthest(m: int) -> float:
        pairs = [
            (a, b)
            for a, b in itertools.combinations(itertools.product(range(q), repeat=n), 2)
            if (sum(a) - sum(b)) % q == 0
        ]
        laws = {a: law(a, m) for pair in pairs for a in pair}
        return max(divergence(laws[a], laws[b], 0.0) for a, b in pairs)

    if q ** (n * messages) <= 20_000:
        assert furthest(messages + 1) <= furthest(messages)
    assert furthest(messages) < 1
