"""The bound of Erlingsson et al. for randomize-then-shuffle, as the paper states it."""

from dataclasses import dataclass

from flint import arb

from shuffledp.accounting.bound import BoundKind, Claim, Side, at_most, outside
from shuffledp.arithmetic.balls import evaluate
from shuffledp.core.blanket import Blanket
from shuffledp.references import cite


@dataclass(frozen=True, slots=True)
class Erlingsson:
    """An epsilon0-LDP randomizer, shuffled, is (epsilon, delta)-DP.

    Formula: epsilon = 12 eps0 sqrt(log(1/delta) / n), so log delta = -n (epsilon / (12 eps0))^2.
    Regime: eps0 < 1/2, n >= 1000, delta < 1/100.
    Reference: BBGN19, Theorem 5.1, from EFMRTT19.
    Rounding: log delta up.
    """

    name: str = "erlingsson"
    kind: BoundKind = "formula"
    reference: str = cite("BBGN19", "Theorem 5.1")

    def claim(self, blanket: Blanket, *, n: int, epsilon: float, side: Side = "both") -> Claim:  # noqa: ARG002
        """Theorem 5.1 read as a bound on delta."""
        epsilon0 = blanket.epsilon0()
        if epsilon0 is None:
            return outside("Theorem 5.1 needs a pure epsilon0-LDP randomizer, and this one has no epsilon0.")
        if not epsilon0 > 0:
            return outside(
                "Theorem 5.1 needs epsilon0 > 0. With epsilon0 = 0 the messages say nothing about the values."
            )
        if not epsilon0 < 0.5:
            return outside(
                f"Theorem 5.1 needs epsilon0 < 1/2, and epsilon0 is {float(epsilon0):.6g}. "
                "Use bennett or hoeffding, which have no such limit."
            )
        if n < 1000:
            return outside(f"Theorem 5.1 needs n >= 1000, and n is {n}. Use bennett or hoeffding.")
        log_delta = evaluate(lambda: -n * (arb(epsilon) / (12 * (blanket.epsilon0() or arb(0)))) ** 2)
        if not log_delta.upper < evaluate(lambda: -arb(100).log()).lower:
            return outside("Theorem 5.1 covers delta < 1/100 only. Use a larger epsilon, more users, or bennett.")
        return at_most(log_delta)
