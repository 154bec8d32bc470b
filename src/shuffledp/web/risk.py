"""A guarantee as a frequency: how many of a hundred informed guesses about a person are right.

Somebody who knows everybody else's value, and that a person holds one of two values, each with probability 1/2, sees the
shuffled messages and guesses. With P and Q the laws of what is seen for either value, the best guess is right with probability
(1 + TV(P, Q)) / 2, and TV(P, Q) = sup (P - Q) is delta at epsilon = 0. Every other point (epsilon, delta) of the curve bounds
it too, by (e^epsilon + delta) / (e^epsilon + 1), which at epsilon = 0 is the same. So the least over certified points of the
curve bounds every guess, also those of less informed people. See docs/web.md.
"""

import math
from fractions import Fraction

from shuffledp.accounting.account import DEFAULT_BOUND, bound_named
from shuffledp.arithmetic.balls import exp_up
from shuffledp.core.blanket import Blanket
from shuffledp.core.guarantee import Guarantee
from shuffledp.web.answer_blocks import Block, guesses

_MOST = 10**6
_CLOSER = 20
"""A point of the curve that is so many times closer to 0 than the answer: a bound may be loose at 0 itself."""


def chance(blanket: Blanket, n: int, known: Guarantee | None) -> float:
    """How often such a guess is right at most, from a guarantee that is known already and from the certified curve.

    Formula: the least of (e^epsilon + delta(epsilon)) / (e^epsilon + 1) over some epsilons, 0 among them.
    Rounding: up.
    """
    epsilons = [0.0, *([] if known is None else [known.epsilon / _CLOSER])]
    chances = [] if known is None else [known.success]
    for epsilon in epsilons:
        claim = bound_named(DEFAULT_BOUND).claim(blanket, n=n, epsilon=epsilon, side="upper")
        if claim.regime is None:
            chances.append(success(epsilon, exp_up(claim.log_delta.upper)))
    return min(chances, default=1.0)


def success(epsilon: float, delta: float) -> float:
    """How often a guess is right at most, by one point of the curve.

    >>> success(0.0, 0.24), success(0.0, 0.0)
    (0.62, 0.5)
    """
    return Guarantee(epsilon=epsilon, delta=delta, n=1, bound=DEFAULT_BOUND, reference="").success


def frequency(success: float) -> tuple[int, int]:
    """A chance as so many of 100, or of more where that would hide the difference to a coin; rounded up.

    >>> frequency(0.62), frequency(0.50013), frequency(0.5), frequency(1.0)
    ((62, 100), (50013, 100000), (50, 100), (100, 100))
    """
    of = 100
    while Fraction(1, 2) < Fraction(success) < Fraction(1, 2) + Fraction(2, of) and of < _MOST:
        of *= 10
    return math.ceil(of * Fraction(success)), of


def sentence(right: int, of: int) -> str:
    """In words.

    >>> sentence(62, 100)
    'Of 100 informed guesses about you, at most 62 are right; by tossing a coin, 50.'
    """
    return f"Of {of:,} informed guesses about you, at most {right:,} are right; by tossing a coin, {of // 2:,}."


def risk(identity: str, right: float, *, about: str) -> Block:
    """The block that says it."""
    count, of = frequency(right)
    return guesses(
        identity, "What it means for one person", count, of,
        [
            sentence(count, of),
            "The guesser knows everybody else's answer and only has to tell which of two equally likely ones is yours. "
            f"On average, and rounded up; {about}.",
        ],
    )  # fmt: skip
