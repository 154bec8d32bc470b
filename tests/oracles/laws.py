"""The law of one user of every registered randomizer, from its definition alone, as `oracles.truth` wants it.

A randomizer with a continuous law gets two, so that the truth lies between: one whose messages say less (they are put into cells)
and one whose messages say more (a lottery over the ends of each cell, where likelihood ratios are extreme, from whose outcome the
message can be drawn: Blackwell).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product
from math import factorial, prod
from typing import Any

import mpmath as mp
import numpy as np

from oracles.truth import Law, Truth, exponential, key, law, law_of_row, true_delta

WORD = 1 << 64
Rows = list[list[Fraction]]


@dataclass(frozen=True)
class Laws:
    """Laws by input of randomizers that are no less private, and of ones that are no more so; a finite one is both."""

    below: Sequence[Sequence[Law]]
    above: Sequence[Sequence[Law]]

    def true_delta(self, n: int, epsilon: float) -> Truth:
        found = [[true_delta(laws, n, epsilon) for laws in side] for side in (self.below, self.above)]
        if self.below is self.above:
            (truth,) = found[0]
            return truth
        return Truth(max(one.lower for one in found[0]), max(one.upper for one in found[1]))


def exactly(laws: Sequence[Law]) -> Laws:
    one = [laws]
    return Laws(one, one)


def mid(x: Fraction) -> Fraction:
    """e^x, right to more than 2^-200, with a short denominator."""
    return Fraction(round(exponential(x)[0] * 2**256), 2**256)


def response_rows(size: int, *, epsilon0: float | None = None, gamma: Fraction | float | None = None) -> Rows:
    """The matrix of randomized response."""
    if epsilon0 is not None:
        p = mid(Fraction(epsilon0))
        own, rest = p / (p + size - 1), 1 / (p + size - 1)
    else:
        share = Fraction(gamma or 0)
        own, rest = 1 - share + share / size, share / size
    return [[own if x == y else rest for y in range(size)] for x in range(size)]


def normalised(matrix: Sequence[Sequence[float]]) -> Rows:
    """Rows of doubles as the fractions that they are, each divided by its sum."""
    rows = [[Fraction(entry) for entry in row] for row in matrix]
    return [[entry / sum(row) for entry in row] for row in rows]


def belonging(structure: Any) -> list[list[int]]:
    """The messages of each value."""
    choices = np.arange(structure.choices, dtype=np.uint32)
    return [structure.member(np.full(len(choices), value), choices).tolist() for value in range(structure.values)]


def design_rows(structure: Any, gamma: Fraction) -> Rows:
    """A uniform message, or a uniform one of the value's."""
    rest = gamma / structure.messages
    return [
        [rest + ((1 - gamma) / len(mine) if y in mine else 0) for y in range(structure.messages)]
        for mine in belonging(structure)
    ]


def rows_of(randomizer: Any) -> Rows:
    """The matrix of a finite randomizer: the one that runs, if it runs."""
    match randomizer.kind:
        case "response":
            return response_rows(randomizer.size, epsilon0=randomizer.given_epsilon0, gamma=randomizer.given_gamma)
        case "channel":
            return normalised(randomizer.matrix.tolist())
        case "lattice":
            return [[Fraction(count, WORD) for count in row] for row in randomizer.counts]
        case "design":
            return design_rows(randomizer.structure, Fraction(randomizer.threshold, WORD))
        case "mixture":
            parts, shares = [rows_of(part) for part in randomizer.parts], randomizer.weights
            return [
                [
                    entry * Fraction(share, sum(shares))
                    for share, row in zip(shares, chosen, strict=True)
                    for entry in row
                ]
                for chosen in product(*parts)
            ]
    raise AssertionError(f"write down the matrix of {randomizer.kind}")


def _finite(randomizer: Any) -> Laws:
    return exactly([law_of_row(row) for row in rows_of(randomizer)])


def _generic(randomizer: Any) -> Laws:
    """Some randomizers of this epsilon0: RR on 2 and 3 values, two of four messages, and one whose second message is rare."""
    local = mid(Fraction(randomizer.epsilon0))
    responses = [response_rows(size, epsilon0=randomizer.epsilon0) for size in (2, 3)]
    total = 2 * local + 2
    subsets = [[(local if y in chosen else 1) / total for y in range(4)] for chosen in ((0, 1), (0, 2), (1, 2), (2, 3))]
    rare = [[1 - q, q] for q in (1 / (5 * local), Fraction(1, 5))]
    if (1 - rare[0][1]) > local * (1 - rare[1][1]):  # not epsilon0-LDP
        rare = responses[0]
    below = [[law_of_row(row) for row in rows] for rows in (*responses, subsets, rare)]
    return Laws(below, below[:2])


def _together(randomizer: Any) -> Laws:
    """A message of each part; messages of different parts are told apart."""
    offsets = [sum(part.messages for part in randomizer.parts[:t]) for t in range(len(randomizer.parts))]
    laws = []
    for chosen in product(*(rows_of(part) for part in randomizer.parts)):
        masses = {
            key(*(offset + y for offset, y in zip(offsets, messages, strict=True))): prod(
                (row[y] for row, y in zip(chosen, messages, strict=True)), start=Fraction(1)
            )
            for messages in product(*(range(len(row)) for row in chosen))
        }
        laws.append(law(masses))
    return exactly(laws)


MOST_DUMMIES = {2: 14, 3: 8, 6: 4}
"""That are listed, for so many messages."""


def _dummies(randomizer: Any) -> Laws:
    """One of the value's messages and a Poisson number of uniform ones; those that are not listed are missing."""
    structure, rate = randomizer.structure, Fraction(randomizer.dummies)
    messages, none, most = structure.messages, mid(-rate), MOST_DUMMIES[structure.messages]
    beside: dict[int, Fraction] = {}
    for counts in product(range(most + 1), repeat=messages):
        k = sum(counts)
        if k <= most:  # independent Poisson numbers, written down for those at most so many
            seen = key(*(y for y, count in enumerate(counts) for _ in range(count)))
            beside[seen] = none * prod(((rate / messages) ** c / factorial(c) for c in counts), start=Fraction(1))
    laws = []
    for mine in belonging(structure):
        masses: dict[int, Fraction] = {}
        for message in mine:
            for seen, mass in beside.items():
                masses[seen + key(message)] = masses.get(seen + key(message), Fraction(0)) + mass / len(mine)
        laws.append(law(masses))
    return exactly(laws)


MOST_OF_A_DIGIT = {1: 6, 2: 3, 3: 2}
"""Dummies of one digit of one user that are listed, for so many users; what is missing is charged to the upper end."""


def _digits(randomizer: Any, n: int) -> Laws:
    """A message for each digit, and a Poisson number of uniform ones beside it; messages of different digits are told apart."""
    each, most = randomizer.groups * randomizer.base, MOST_OF_A_DIGIT[n]
    beside = {0: Fraction(1)}
    for j, dummies in enumerate(randomizer.dummies):
        rate = Fraction(dummies)
        of_digit = {
            key(*(j * each + y for y, count in enumerate(counts) for _ in range(count))): mid(-rate)
            * prod(((rate / each) ** c / factorial(c) for c in counts), start=Fraction(1))
            for counts in product(range(most + 1), repeat=each)
            if sum(counts) <= most
        }
        beside = {a + b: mass * other for a, mass in beside.items() for b, other in of_digit.items()}
    laws = []
    for group, number in product(range(randomizer.groups), range(randomizer.levels)):
        true = [
            j * each + group * randomizer.base + number // randomizer.base**j % randomizer.base
            for j in range(randomizer.digits)
        ]
        laws.append(law({seen + key(*true): mass for seen, mass in beside.items()}))
    return exactly(laws)


INPUTS = (Fraction(0), Fraction(1, 2), Fraction(1))
"""Of those with real values: datasets of these only, so that the truth over all real ones is at least as large."""


def _laplace(randomizer: Any, cells: int) -> Laws:
    """Between equal cells of [0, 1], and the lottery over their ends, which makes a two-sided geometric law of it."""
    step = -Fraction(randomizer.epsilon0) / cells
    half, tilt = Fraction(1, 2), (1 - mid(step)) / (1 + mid(step))
    below, above = [], []
    for value in INPUTS:
        place = int(value * cells)
        ends = [mid(step * abs(j - place)) for j in range(cells + 1)]
        inner = [abs(a - b) / 2 for a, b in pairwise(ends)]
        below.append(law_of_row([ends[0] / 2, *inner, ends[-1] / 2]))
        weights = [half * (1 + tilt), *[tilt] * (cells - 1), half * (1 + tilt)]
        above.append(law_of_row([weight * end for weight, end in zip(weights, ends, strict=True)]))
    return Laws([below], [above])


def _gaussian(randomizer: Any, cells: int) -> Laws:
    """With u = f_1/2 / f_0 the densities at 0, 1/2 and 1 are f_0 (1, u, c u^2): in a cell a mixture of its Bernstein points."""
    with mp.workdps(100):
        sigma = mp.mpf(randomizer.sigma)
        scale = mp.exp(-1 / (4 * sigma**2))
        reach = 4 * sigma
        edges = [mp.mpf(1) / 2 + (2 * mp.mpf(j) / cells - 1) * (mp.mpf(1) / 2 + reach) for j in range(cells + 1)]
        ratios = [mp.exp((y / 2 - mp.mpf(1) / 8) / sigma**2) for y in edges]

        def masses(left: Any, right: Any) -> list[Any]:
            if left > 0.5:  # small numbers lose nothing
                return masses(1 - right, 1 - left)[::-1]
            low = [mp.ncdf((left - mp.mpf(x.numerator) / x.denominator) / sigma) for x in INPUTS]
            high = [mp.ncdf((right - mp.mpf(x.numerator) / x.denominator) / sigma) for x in INPUTS]
            return [b - a for a, b in zip(low, high, strict=True)]

        def split(mass: list[Any], u: Any, v: Any) -> list[list[Any]]:
            """Atoms at u, between, and at v."""
            zero, one, two = mass[0], mass[1], mass[2] / scale
            first = (two - 2 * v * one + v**2 * zero) / (v - u) ** 2
            last = (two - 2 * u * one + u**2 * zero) / (v - u) ** 2
            middle = zero - first - last
            return [
                [first, first * u, scale * first * u**2],
                [middle, middle * (u + v) / 2, scale * middle * u * v],
                [last, last * v, scale * last * v**2],
            ]

        tail = masses(-mp.inf, edges[0])
        coarse = [tail, *(masses(a, b) for a, b in pairwise(edges)), tail[::-1]]
        sharp = split(tail, mp.mpf(0), ratios[0])
        for (a, b), (u, v) in zip(pairwise(edges), pairwise(ratios), strict=True):
            first, *others = split(masses(a, b), u, v)
            sharp[-1] = [old + new for old, new in zip(sharp[-1], first, strict=True)]
            sharp += others
        mirrored = [atom[::-1] for atom in split(tail, mp.mpf(0), ratios[0])[::-1]]
        sharp[-1] = [old + new for old, new in zip(sharp[-1], mirrored[0], strict=True)]
        sharp += mirrored[1:]
        rows = [[[_fraction(atom[x]) for atom in atoms] for x in range(3)] for atoms in (coarse, sharp)]
    return Laws([[law_of_row(row) for row in rows[0]]], [[law_of_row(row) for row in rows[1]]])


def _fraction(number: Any) -> Fraction:
    """Rounded to 2^-256, not below 0."""
    return Fraction(max(0, int(mp.nint(number * 2**256))), 2**256)


MOST_NOISE = 48
"""Dummies of one symbol that are listed."""


def chances_of_noise(noise: Any, most: int = MOST_NOISE) -> tuple[list[Fraction], Fraction]:
    """How likely 0, 1, ... dummies of a symbol are, and with which probability a report is kept: by their definitions."""
    q = Fraction(noise.ratio, WORD)
    if noise.kind == "thinned-geometric":
        return [(1 - q) * q**k for k in range(most)], Fraction(noise.kept, WORD)
    whole = sum((q**k for k in range(1, noise.peak + 1)), start=Fraction(0)) + 1 / (1 - q)
    return [q ** abs(k - noise.peak) / whole for k in range(most)], Fraction(1)


def _shuffler_noise(randomizer: Any) -> Laws:
    """One user: whose report is kept or not, and dummies of both symbols; numbers that are not listed are missing."""
    chances, kept = chances_of_noise(randomizer.noise)
    laws = []
    for mine in range(2):
        masses: dict[int, Fraction] = {}
        for reports, share in ((1, kept), (0, 1 - kept)):
            for counts in product(range(MOST_NOISE), repeat=2) if share else ():
                seen = key(*(y for y in range(2) for _ in range(counts[y] + (reports if y == mine else 0))))
                masses[seen] = masses.get(seen, Fraction(0)) + share * chances[counts[0]] * chances[counts[1]]
        laws.append(law(masses))
    return exactly(laws)


def _codebook(randomizer: Any) -> Laws:
    """One user at either of two opposite points, which never have the same nearest codeword: other points share some of theirs.

    A message names the one's, the other's, or neither's; datasets of several users are enumerated with its tests.
    """
    chance = Fraction(randomizer.threshold, WORD) / randomizer.size
    own = 1 - Fraction(randomizer.threshold, WORD) + chance
    rest = 1 - own - chance
    return exactly([law_of_row(row) for row in ([own, chance, rest], [chance, own, rest])])


CELLS = {1: 64, 2: 20, 3: 8}
"""How many for so many users."""

ORACLES: dict[str, Callable[[Any, int], Laws]] = {
    "response": lambda randomizer, n: _finite(randomizer),
    "channel": lambda randomizer, n: _finite(randomizer),
    "lattice": lambda randomizer, n: _finite(randomizer),
    "design": lambda randomizer, n: _finite(randomizer),
    "mixture": lambda randomizer, n: _finite(randomizer),
    "generic": lambda randomizer, n: _generic(randomizer),
    "together": lambda randomizer, n: _together(randomizer),
    "dummies": lambda randomizer, n: _dummies(randomizer),
    "shuffler-noise": lambda randomizer, n: _shuffler_noise(randomizer),
    "digits": _digits,
    "codebook": lambda randomizer, n: _codebook(randomizer),
    "laplace": lambda randomizer, n: _laplace(randomizer, CELLS[n]),
    "gaussian": lambda randomizer, n: _gaussian(randomizer, CELLS[n]),
}
"""By kind; a randomizer that is registered needs one."""
