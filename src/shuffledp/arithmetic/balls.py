"""Certified scalar formulas: ball arithmetic at whatever precision the formula turns out to need.

A formula is a function of no arguments that returns an `arb` (Arb, in FLINT): a ball that contains the
true value, rounding errors of every operation included. `evaluate` repeats it at growing precision until the
ball is thinner than a double can tell, then rounds both ends outward. So formulas are written as in the
paper: no overflow (exponents are unbounded), no cancellation (the precision grows), no clamp.
"""

import math
from collections.abc import Callable
from typing import Final

from flint import arb, ctx

from shuffledp.arithmetic.enclosure import Enclosure

_STARTING_BITS: Final = 128
_MOST_BITS: Final = 16384
_ENOUGH_BITS: Final = 60
_ENOUGH_ABSOLUTE: Final = arb(2) ** -1200


def evaluate(formula: Callable[[], arb]) -> Enclosure:
    """The thinnest pair of doubles around a formula's value.

    If even the highest precision does not settle it (an argument that cannot be told from a pole), the
    enclosure is wide but still true.

    >>> evaluate(lambda: (arb(1e-20).exp() - 1).log())  # naively log(0)
    Enclosure(lower=-46.051701859880914, upper=-46.05170185988091)
    """
    bits = _STARTING_BITS
    while True:
        with ctx.workprec(bits):
            ball = formula()
            settled = ball.rel_accuracy_bits() >= _ENOUGH_BITS or ball.rad() < _ENOUGH_ABSOLUTE
            if settled or bits >= _MOST_BITS:
                return Enclosure(round_down(ball), round_up(ball))
        bits *= 2


def round_up(ball: arb) -> float:
    """The least double that is certainly not below the ball's contents (inf when unknown)."""
    if ball.is_nan():
        return math.inf
    end = ball.upper()
    nearest = float(end)
    return nearest if arb(nearest) >= end else math.nextafter(nearest, math.inf)


def round_down(ball: arb) -> float:
    """The greatest double that is certainly not above the ball's contents (-inf when unknown)."""
    return -math.inf if ball.is_nan() else -round_up(-ball)


def exp_up(log_value: float) -> float:
    """e^log_value rounded up: never 0, so a delta too small for a double is still a valid upper bound."""
    return evaluate(lambda: arb(log_value).exp()).upper if log_value > -math.inf else 0.0


def log_down(value: float) -> float:
    """log(value) rounded down; the log of 0 is -inf."""
    return evaluate(lambda: arb(value).log()).lower if value > 0 else -math.inf


def exp_down(log_value: float) -> float:
    """e^log_value, rounded down to a double."""
    return evaluate(lambda: arb(log_value).exp()).lower if log_value > -math.inf else 0.0


def log_up(value: float) -> float:
    """log(value) rounded up; the log of 0 is -inf."""
    return evaluate(lambda: arb(value).log()).upper if value > 0 else -math.inf


def sum_up(*values: float) -> float:
    """The sum of doubles, rounded up once.

    >>> sum_up(1e-6, 1e-6), sum_up(1.0, 2.0**-60) > 1.0
    (2e-06, True)
    """
    return evaluate(lambda: sum((arb(value) for value in values), arb(0))).upper


def product_up(value: float, times: int) -> float:
    """A double so many times, rounded up.

    >>> product_up(0.1, 1), product_up(0.1, 3) >= 3 * 0.1
    (0.1, True)
    """
    return evaluate(lambda: arb(value) * times).upper
