"""How many of the reports a guarantee may rely on, when only a share of the users is assumed to be honest.

A fraction means the decimal number that was written: 0.7 of 10 users are 7, though the double 0.7 is a little less.
"""

from fractions import Fraction

from shuffledp.core import checks
from shuffledp.errors import InvalidInput


def honest_reports(n: int, fraction: float) -> int:
    """How many of n reports are honest, rounded down: at least one, or the fraction is refused.

    >>> honest_reports(1000, 0.7), honest_reports(11, 0.5)
    (700, 5)
    """
    honest = int(checks.users(n) * exact_fraction(fraction))
    if honest < 1:
        raise InvalidInput("no honest user is left. Use a larger n or honest_fraction.")
    return honest


def users_for(honest: int, fraction: float) -> int:
    """The least number of users of whom at least `honest` are honest.

    >>> users_for(700, 0.7), users_for(5, 0.45)
    (1000, 12)
    """
    share = exact_fraction(fraction)
    return -(-honest * share.denominator // share.numerator)


def exact_fraction(fraction: float) -> Fraction:
    """The share that was written, exactly; anything but a number above 0 and at most 1 is refused."""
    number = checks.real(fraction, "honest_fraction")
    if not 0 < number <= 1:
        raise InvalidInput(
            f"honest_fraction must be above 0 and at most 1; got {number}. It is the share of users who follow the protocol."
        )
    return Fraction(repr(number))
