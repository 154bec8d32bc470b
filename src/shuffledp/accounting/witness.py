"""Lower bounds: two explicit neighbouring datasets that are this far apart."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from shuffledp.accounting.bound import (
    CERTAINLY_PRIVATE,
    NOTHING,
    TOLERANCE,
    BoundKind,
    Claim,
    Side,
    is_local_guarantee,
    outside,
)
from shuffledp.accounting.numeric import out_of_range
from shuffledp.arithmetic.enclosure import Enclosure
from shuffledp.arithmetic.positive_part import log_expected_positive_part
from shuffledp.arithmetic.summand_law import ULP, Poisson, Summands, expected
from shuffledp.arithmetic.tilt import chernoff, chernoff_many
from shuffledp.core.blanket import Blanket
from shuffledp.core.pair import Pair
from shuffledp.references import cite

_MOST_EVALUATED: Final = 4


@dataclass(frozen=True, slots=True)
class Witness:
    """delta >= (1/n) E[(l_1 + ... + l_n)_+], the exact divergence when all other users hold one value x''.

    Legend: l = (mu_x - e^epsilon mu_x') / mu_x'' under mu_x''.
    For `Generic` it is a randomizer of that epsilon0: no bound that covers all of them can be lower.
    Reference: the identity of BBGN19, Lemma A.3, which holds for any law of the others.
    Rounding: every step down.
    """

    name: str = "witness"
    kind: BoundKind = "witness"
    reference: str = cite("BBGN19", "Lemma A.3") + ", evaluated"

    def claim(self, blanket: Blanket, *, n: int, epsilon: float, side: Side = "both") -> Claim:
        """The best of the blanket's witnesses."""
        if side == "upper":
            return Claim(log_delta=NOTHING)
        if is_local_guarantee(blanket, epsilon):
            return CERTAINLY_PRIVATE
        pairs = blanket.witnesses()
        refusal = out_of_range([[pair] for pair in pairs], epsilon)
        if refusal is not None:
            return refusal
        terms, shortfall = blanket.summands(n), blanket.shortfall(n, epsilon)
        log_n = math.log(expected(terms))
        if not pairs:
            return outside(f"no witness is known for {blanket.label}.")
        best, ledger = -math.inf, None
        for ceiling, pair in _ranked(pairs, terms, epsilon)[:_MOST_EVALUATED]:
            if ceiling - log_n > best:
                expectation = log_expected_positive_part(
                    pair.law(epsilon), pair.summands(terms, epsilon), tolerance=TOLERANCE
                )
                low = expectation.log.lower - log_n
                low -= 4 * ULP * (abs(low) + abs(log_n)) if math.isfinite(low) else 0.0
                low = _less(low, shortfall)
                if low > best:
                    best, ledger = low, expectation.ledger
        return Claim(log_delta=Enclosure(min(best, 0.0), 0.0), lower_by=self.name, ledger=ledger)


def _ranked(pairs: Sequence[Pair], terms: Summands, epsilon: float) -> list[tuple[float, Pair]]:
    """The most promising first, by Chernoff."""
    if isinstance(terms, Poisson):
        ceilings = [chernoff(pair.law(epsilon), pair.summands(terms, epsilon)) for pair in pairs]
    else:
        ceilings = chernoff_many([pair.law(epsilon) for pair in pairs], terms).tolist()
    return sorted(zip(ceilings, pairs, strict=True), key=lambda ranked: -ranked[0])


def _less(log_delta: float, shortfall: float) -> float:
    """The logarithm of the difference, rounded down."""
    if shortfall == 0 or log_delta == -math.inf:
        return log_delta
    share = math.exp(min(0.0, math.log(shortfall) - log_delta)) * (1 + 16 * ULP * (1 + abs(log_delta)))
    return log_delta + math.log1p(-share) * (1 + 8 * ULP) - 4 * ULP * abs(log_delta) if share < 1 else -math.inf
