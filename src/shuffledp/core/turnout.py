"""How many of the people asked answer, and how many of these a guarantee may rely on.

Whoever does not answer is not there: the plan is for the reports that come. Whoever lies is there, but hides nobody: the
guarantee relies on the others.

A fraction means the decimal number that was written: 0.7 of 10 users are 7, though the double 0.7 is a little less.
"""

from decimal import Decimal
from fractions import Fraction
from typing import Any

from shuffledp.core import checks
from shuffledp.errors import InvalidInput


def honest_reports(n: Any, fraction: Any) -> int:
    """How many of n reports are honest, rounded down: at least one, or the fraction is refused.

    >>> honest_reports(1000, 0.7), honest_reports(11, 0.5)
    (700, 5)
    """
    honest = int(checks.users(n) * exact_fraction(fraction))
    if honest < 1:
        raise InvalidInput("no honest user is left. Use a larger `n` or `honest_fraction`.")
    return honest


def users_for(honest: int, fraction: float) -> int:
    """The least number of users of whom at least `honest` are honest.

    >>> users_for(700, 0.7), users_for(5, 0.45)
    (1000, 12)
    """
    share = exact_fraction(fraction)
    return -(-honest * share.denominator // share.numerator)


def reports_expected(asked: Any, dropout: Any) -> int:
    """How many of the people asked answer, rounded down, if a share of them does not.

    >>> reports_expected(1000, 0.3)
    700
    """
    reports = int(checks.users(asked) * (1 - _dropout(dropout)))
    if reports < 1:
        raise InvalidInput("nobody is left who answers. Use a larger `n` or a smaller `dropout`.")
    return reports


def people_to_ask(reports: int, dropout: float) -> int:
    """The least number of people of whom so many answer, if a share of them does not.

    >>> people_to_ask(700, 0.3)
    1000
    """
    share = 1 - _dropout(dropout)
    return -(-reports * share.denominator // share.numerator)


def asking(reports: int, dropout: float) -> str:
    """How many people a plan for so many reports needs to ask, in words.

    >>> asking(700, 0.3)
    'for this, ask 1,000 people, because 30 % of them may not answer'
    """
    return (
        f"for this, ask {people_to_ask(reports, dropout):,} people, because {100 * dropout:g} % of them may not answer"
    )


def _dropout(dropout: Any) -> Fraction:
    number = checks.real(dropout, "dropout", "up")
    if not 0 <= number < 1:
        raise InvalidInput(
            f"dropout must be from 0 to less than 1; got {number}. It is the share of people who do not answer{_of_100(number)}."
        )
    return _written(dropout, number)


def exact_fraction(fraction: Any) -> Fraction:
    """The share that was written, exactly; anything but a number above 0 and at most 1 is refused."""
    number = checks.real(fraction, "`honest_fraction`", "up")
    if not 0 < number <= 1:
        raise InvalidInput(
            f"`honest_fraction` must be above 0 and at most 1; got {number}. It is the share of users who follow the protocol"
            f"{_of_100(number)}."
        )
    return _written(fraction, number)


def _of_100(number: float) -> str:
    """What to write instead, if it may be a percentage."""
    return f": {number / 100:g} for {number:g} %" if 2 <= number <= 100 else ""


def _written(given: Any, number: float) -> Fraction:
    """Fractions and decimals are what they are; a double is the decimal number with its digits."""
    return Fraction(given) if isinstance(given, int | Fraction | Decimal) else Fraction(repr(number))
