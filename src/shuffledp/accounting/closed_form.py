"""The paper's closed form for any epsilon0-LDP randomizer."""

from dataclasses import dataclass

from flint import arb

from shuffledp.accounting.bound import CERTAINLY_PRIVATE, BoundKind, Claim, Side, at_most, is_local_guarantee, outside
from shuffledp.arithmetic.balls import evaluate
from shuffledp.core.blanket import Blanket
from shuffledp.references import cite


@dataclass(frozen=True, slots=True)
class ClosedForm:
    """Hoeffding's inequality for a generic randomizer, simplified.

    Formula: delta = (a+1)^2 (p - 1/p)^2 / (4 n (a-1)) * exp(-C n min(1/p, (a-1)^2 / ((a+1)^2 (p - 1/p)^2))).
    Legend: a = e^epsilon, p = e^eps0, C = 1 - e^-2.
    Regime: epsilon > 0, a finite eps0.
    Reference: BBGN19, Theorem 5.3.
    Rounding: log delta up.
    """

    name: str = "closed-form"
    kind: BoundKind = "formula"
    reference: str = cite("BBGN19", "Theorem 5.3")

    def claim(self, blanket: Blanket, *, n: int, epsilon: float, side: Side = "both") -> Claim:  # noqa: ARG002
        """The delta of Theorem 5.3, which needs an epsilon above 0."""
        if blanket.epsilon0() is None:
            return outside("Theorem 5.3 needs a pure epsilon0-LDP randomizer, and this one has no epsilon0.")
        if is_local_guarantee(blanket, epsilon):
            return CERTAINLY_PRIVATE
        if epsilon == 0:
            return outside("Theorem 5.3 divides by e^epsilon - 1. Use an epsilon above 0.")

        def log_delta() -> arb:
            e, p = arb(epsilon), (blanket.epsilon0() or arb(0)).exp()
            width = (e.exp() + 1) * (p - 1 / p)
            rate = (1 / p).min((e.expm1() / width) ** 2)
            return (width**2 / (4 * n * e.expm1())).log() + arb(-2).expm1() * n * rate

        return at_most(evaluate(log_delta))
