"""One person with several reports: group privacy, by changing them one at a time."""

import math

from flint import arb

from shuffledp.accounting.account import bound_named
from shuffledp.arithmetic.balls import evaluate, log_down
from shuffledp.arithmetic.inversion import first_real
from shuffledp.core import checks
from shuffledp.core.blanket import HasBlanket
from shuffledp.core.guarantee import Guarantee
from shuffledp.errors import InvalidInput, NoClaim


def group(randomizer: HasBlanket, *, n: int, delta: float, rows: int, bound: str = "best") -> Guarantee:
    """The guarantee for a person who may have up to `rows` of the n reports.

    Formula: (e, d)-DP for one report gives (m e, d (e^(m e) - 1) / (e^e - 1))-DP for m of them; e is the least, to a
    thousandth, for which the second is at most delta. Never more than m eps0.
    Legend: m = rows, d = delta(e) of the bound at n.
    Rounding: epsilon up.

    >>> from shuffledp import RandomizedResponse
    >>> one, three = (group(RandomizedResponse(size=4, epsilon0=2.0), n=10**5, delta=1e-6, rows=m).epsilon for m in (1, 3))
    >>> 3 < three / one < 3.5
    True
    """
    rows = checks.whole(rows, "rows", "Give the most rows a person may have.")
    if rows < 1:
        raise InvalidInput(f"a person has at least one row; got {rows}. Give the most rows a person may have.")
    n, delta = checks.users(n), checks.probability(delta, "delta")
    most = log_down(delta)
    blanket, judge = randomizer.blanket(), bound_named(bound)
    local = math.inf if blanket.epsilon0() is None else evaluate(lambda: blanket.epsilon0() or arb(0)).upper

    def enough(epsilon: float) -> bool:
        """Whether the group's delta is small enough at this epsilon of one report."""
        claim = judge.claim(blanket, n=n, epsilon=epsilon, side="upper")
        if claim.regime is not None:
            return False
        grown = evaluate(lambda: ((arb(epsilon) * rows).expm1() / arb(epsilon).expm1()).log()).upper
        return evaluate(lambda: arb(claim.log_delta.upper) + arb(grown)).upper <= most

    high = min(1.0, local)
    while high < min(local, checks.LARGEST_EPSILON) and not enough(high):
        high *= 2
    high = min(high, local)
    low = high / 2
    while low > 1e-9 and enough(low):
        low, high = low / 2, low
    high = first_real(enough, low, high, precision=0.001)
    if not high <= checks.LARGEST_EPSILON:
        raise NoClaim("no claim can be made for so many rows per person. Allow fewer.")
    epsilon = evaluate(lambda: arb(rows) * arb(high)).upper
    return Guarantee(
        epsilon=epsilon, delta=delta, n=n, bound=f"{judge.name}, group of {rows}" if rows > 1 else judge.name,
        reference=judge.reference, adjacency=f"replace one person's rows, at most {rows}" if rows > 1 else "replace-one",
        caveat=randomizer.blanket().caveat,
    )  # fmt: skip
