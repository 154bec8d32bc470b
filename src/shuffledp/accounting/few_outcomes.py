"""The divergence itself, where few outcomes say all that can be learned about one user, whatever others hold."""

import math
from dataclasses import dataclass

from flint import arb

from shuffledp.accounting.bound import CERTAINLY_PRIVATE, NOTHING, BoundKind, Claim, Side, outside
from shuffledp.arithmetic.balls import evaluate
from shuffledp.arithmetic.enclosure import Enclosure
from shuffledp.core.blanket import Blanket


@dataclass(frozen=True, slots=True)
class Exact:
    """delta = sum over outcomes of (mu_x - e^epsilon mu_x')_+, for all data and every number of users.

    Formula: as above, in ball arithmetic.
    Legend: mu_x, mu_x' = how likely an outcome is with either value of one user.
    Regime: noise that does not depend on users.
    Reference: docs/maths/shuffler-noise.md.
    Rounding: outward at both ends.
    """

    name: str = "exact"
    kind: BoundKind = "numeric"
    reference: str = "the definition, summed up"

    def claim(self, blanket: Blanket, *, n: int, epsilon: float, side: Side = "both") -> Claim:  # noqa: ARG002
        """Both ends."""
        if not blanket.outcomes():
            return outside(f"{blanket.label} has more outcomes than can be listed. Use the numeric bound.")

        def delta() -> arb:
            growth = arb(epsilon).exp()
            return sum(((first - growth * second).max(arb(0)) for first, second in blanket.outcomes()), arb(0))

        found = evaluate(delta)
        if found.upper <= 0:
            return CERTAINLY_PRIVATE
        log = evaluate(lambda: arb.max(delta(), arb(0)).log()) if found.lower > 0 else Enclosure(-math.inf, 0.0)
        if found.lower <= 0 or not log.upper < 0:
            return Claim(log_delta=NOTHING)
        return Claim(log_delta=log, lower_by=self.name, upper_by=self.name)
