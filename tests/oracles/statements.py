"""What a certificate claims, in words made of its fields here: nothing is shared with those who write or check certificates."""

import copy
from fractions import Fraction
from typing import Any

Document = dict[str, Any]


def restated(document: Document) -> Document | None:
    """The same document with the words that belong to its numbers; None if there are none."""
    try:
        words = statement_of(document)
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError):
        return None
    return copy.deepcopy(document) | {"statement": words}


def statement_of(document: Document) -> str:
    """The claim, its numbers rounded up to seven digits."""
    claim = document["claim"]
    honest, reports, rounds = (int(claim[name]) for name in ("honest", "reports", "rounds"))
    numbers = ", ".join(rounded_up(Fraction(float.fromhex(claim[name]))) for name in ("epsilon", "delta"))
    among = "" if honest == reports else f" among {reports:,} or more"
    often = "" if rounds == 1 else f", over {rounds:,} rounds"
    given = "".join(f"; {line}" for line in claim["assumes"])
    return (
        f"({numbers})-differentially private after shuffling {honest:,} honest reports{among}{often} "
        f"(replace-one neighbours, number of users public{given})"
    )


def rounded_up(value: Fraction) -> str:
    """Seven digits without zeros at their end; with an exponent below 10^-6, and where such zeros would be needed.

    >>> [rounded_up(Fraction(x)) for x in (0, 1, 0.1, 1.5e-9, 12, 20)]
    ['0', '1', '0.1000001', '1.5e-9', '12', '2e+1']
    """
    if value < 0:
        raise ValueError("no claim has a negative number")
    if value == 0:
        return "0"
    power = 0
    while value >= Fraction(10) ** (power + 1):
        power += 1
    while value < Fraction(10) ** power:
        power -= 1
    digits = -(-value // Fraction(10) ** (power - 6))  # seven digits, rounded up
    if digits == 10**7:
        digits, power = 10**6, power + 1
    text = str(digits).rstrip("0")
    if -7 < power < 0:
        return "0." + "0" * (-power - 1) + text
    if 0 <= power < len(text):
        return text[: power + 1] + (f".{text[power + 1 :]}" if power + 1 < len(text) else "")
    rest = f".{text[1:]}" if len(text) > 1 else ""
    return f"{text[0]}{rest}e{power:+d}"
