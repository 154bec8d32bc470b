"""A promise to people with several rows, as a claim about one row that implies it."""

import math
from dataclasses import replace

from flint import arb, ctx

from shuffledp.certificates.certificate import Certificate

_BITS = 192


def of_one_row(group: Certificate, rows: int) -> Certificate:
    """If this is proved of a person with one row, the claim of `group` holds for one with so many.

    Formula: (e, d)-DP for one row gives (m e, d (1 + e^e + ... + e^((m - 1) e)))-DP for m rows, changing them one at a time.
    Legend: m = rows; e and d = epsilon and delta of what is returned.
    Rounding: e and d down.

    >>> whole = Certificate(randomizer={}, honest=10, reports=10, epsilon=3.0, delta=1e-6)
    >>> of_one_row(whole, 3).epsilon, of_one_row(whole, 3).delta < 1e-6 / (1 + 2.718 + 7.389)
    (1.0, True)
    """
    with ctx.workprec(_BITS):
        epsilon = _down(arb(group.epsilon) / rows)
        steps = (arb(epsilon) * rows).expm1() / arb(epsilon).expm1() if epsilon > 0 else arb(rows)
        delta = _down(arb(group.delta) / steps)
    return replace(group, epsilon=epsilon, delta=delta)


def _down(value: arb) -> float:
    """The greatest double that is certainly not above a ball of numbers from 0 on."""
    nearest = max(0.0, float(value.lower()))
    while nearest > 0 and not arb(nearest) <= value:
        nearest = math.nextafter(nearest, 0.0)
    return nearest
