"""The true delta of few users, in whole numbers: every dataset, every shuffled view, and no number that is rounded unseen.

A *law* says with which probability one user causes which counts of messages. Probabilities are whole numbers of 2^-192, rounded
down; what is missing to 1 is charged on both sides, and so is the gap between the two rational numbers around e^epsilon.
Nothing here is the package's: no ball, no kernel, no formula.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, permutations

BITS = 192
UNIT = 1 << BITS
_GUARD = 384
"""Bits of an exponential."""
_DIGIT = 8
"""Bits of one count in a key: fewer than 256 messages of each kind."""

Law = Mapping[int, int]
"""Counts, packed in a key, to probability in units of 2^-192."""


@dataclass(frozen=True)
class Truth:
    """What delta certainly is between."""

    lower: Fraction
    upper: Fraction


def key(*messages: int) -> int:
    """The counts of these messages."""
    return sum(1 << _DIGIT * message for message in messages)


def law(masses: Mapping[int, Fraction]) -> Law:
    """A law from probabilities that are right to 2^-200: one unit less than they are covers that."""
    return {seen: max(0, mass.numerator * UNIT // mass.denominator - 1) for seen, mass in masses.items()}


def law_of_row(row: Sequence[Fraction]) -> Law:
    """One message, with these probabilities."""
    return law({key(y): mass for y, mass in enumerate(row)})


@cache
def exponential(x: Fraction) -> tuple[Fraction, Fraction]:
    """Two rational numbers with e^x between them, 2^-200 apart or less, relatively (for |x| below 1,000)."""
    if x < 0:
        return 1 / exponential(-x)[1], 1 / exponential(-x)[0]
    one, halvings = 1 << _GUARD, max(0, (x.numerator // x.denominator).bit_length() + 1)
    small = x / (1 << halvings)  # at most 1/2
    low = high = term_low = term_high = one
    for k in range(1, 120):
        term_low = term_low * small.numerator // (small.denominator * k)
        term_high = -(-term_high * small.numerator // (small.denominator * k))
        low, high = low + term_low, high + term_high
    high += term_high + 1  # all further terms
    for _ in range(halvings):
        low, high = low * low >> _GUARD, -(-high * high >> _GUARD)
    return Fraction(low, one), Fraction(high, one)


def together(first: Law, second: Law) -> dict[int, int]:
    """The counts of two independent users, or groups of them; units multiply."""
    found: dict[int, int] = {}
    for a, mass in first.items():
        for b, other in second.items():
            found[a + b] = found.get(a + b, 0) + mass * other
    return found


def true_delta(laws: Sequence[Law], n: int, epsilon: float, changed: int = 1) -> Truth:
    """The largest divergence over all datasets of n users that differ in `changed` of them; laws[x] is that of input x."""
    low, high = exponential(Fraction(epsilon))
    factor = -(-high.numerator * UNIT // high.denominator)  # e^epsilon in units, rounded up
    inputs = range(len(laws))
    crowds: dict[tuple[int, ...], Law] = {(): {0: 1}}

    def crowd(held: tuple[int, ...]) -> Law:
        if held not in crowds:
            crowds[held] = together(crowd(held[:-1]), laws[held[-1]])
        return crowds[held]

    groups = [crowd(group) for group in combinations_with_replacement(inputs, changed)]
    worst = 0
    for others in combinations_with_replacement(inputs, n - changed):
        views = [together(crowd(others), group) for group in groups]
        for first, second in permutations(views, 2):
            gaps = ((mass << BITS) - factor * second.get(seen, 0) for seen, mass in first.items())
            worst = max(worst, sum(gap for gap in gaps if gap > 0))
    found = Fraction(worst, UNIT ** (n + 1))
    missing = n * max(1 - Fraction(sum(one.values()), UNIT) for one in laws)
    width = Fraction(factor, UNIT) - low  # of e^epsilon
    return Truth(max(Fraction(0), found - (1 + high) * missing), min(Fraction(1), found + width + missing))


def exp_of(log: float) -> tuple[Fraction, Fraction]:
    """Around e to a double; e^-infinity is 0."""
    return (Fraction(0), Fraction(0)) if log == float("-inf") else exponential(Fraction(log))


def encloses(lower_log: float, upper_log: float, truth: Truth) -> bool:
    """Whether a claim about log delta can be true: no part of the truth is certainly outside."""
    return exp_of(lower_log)[0] <= truth.upper and truth.lower <= exp_of(upper_log)[1]
