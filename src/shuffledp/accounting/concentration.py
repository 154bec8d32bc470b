"""Hoeffding's and Bennett's inequalities on the blanket (Lemma 5.3 with 5.5 and with 5.6, corrected).

Both bound E[(L_1 + ... + L_m)_+] by prefactor * e^(-rate m). The number of users in the blanket is M ~ Bin(n, gamma),
so Lemma 5.3 becomes delta <= prefactor / (gamma n) * (1 - gamma (1 - e^-rate))^n, with the binomial summed exactly.
"""

from collections.abc import Callable
from dataclasses import dataclass

from flint import arb

from shuffledp.accounting.bound import CERTAINLY_PRIVATE, BoundKind, Claim, Side, at_most, is_local_guarantee, outside
from shuffledp.arithmetic.balls import evaluate
from shuffledp.arithmetic.summand_law import Poisson
from shuffledp.core.blanket import AmplificationVariable, Blanket
from shuffledp.references import cite

Inequality = Callable[[AmplificationVariable], tuple[arb, arb]]
"""From what is known of L to (log prefactor, rate)."""


def hoeffding(law: AmplificationVariable) -> tuple[arb, arb]:
    """E[(L_1 + ... + L_m)_+] <= b^2 / (4 a) e^(-2 m a^2 / b^2), where E[L] = -a < 0 and b is the range of L.

    Reference: BBGN19, Lemma 5.5.
    """
    width = law.upper - law.lower
    return (-(width**2) / (4 * law.mean)).log(), 2 * (law.mean / width) ** 2


def bennett(law: AmplificationVariable) -> tuple[arb, arb]:
    """E[(L_1 + ... + L_m)_+] <= b / log(1 + a b / c) e^(-m c / b^2 phi(a b / c)).

    Legend: E[L] = -a < 0, L <= b with b > 0, E[L^2] <= c, phi(u) = (1 + u) log(1 + u) - u.
    The printed lemma has an extra 1 / (a m) in front, which is wrong and can fall below the true expectation
    (docs/errata.md): with h(t) = (m c / b^2) phi((t + a m) b / (m c)), h'(0) is log(1 + a b / c) / b.

    Reference: BBGN19, Lemma 5.6, corrected.
    """
    ratio = -law.mean * law.upper / law.second_moment
    growth = ratio.log1p()
    phi = (1 + ratio) * growth - ratio
    return (law.upper / growth).log(), law.second_moment / law.upper**2 * phi


@dataclass(frozen=True, slots=True, kw_only=True)
class Concentration:
    """One of the two inequalities on any blanket whose L is bounded, maximised over the pairs of inputs.

    Regime: epsilon > 0, L bounded.
    Rounding: log delta up.
    """

    name: str
    inequality: Inequality
    reference: str
    kind: BoundKind = "formula"

    def claim(self, blanket: Blanket, *, n: int, epsilon: float, side: Side = "both") -> Claim:  # noqa: ARG002
        """Lemma 5.3 with the inequality."""
        if is_local_guarantee(blanket, epsilon):
            return CERTAINLY_PRIVATE
        if epsilon == 0:
            return outside(f"{self.name} needs E[L] = 1 - e^epsilon below 0. Use an epsilon above 0.")
        if isinstance(blanket.summands(n), Poisson):
            return outside(
                f"{blanket.label} hides values among dummies, which {self.name} does not cover. Use the best bound."
            )
        if not blanket.bounded:
            return outside(
                f"the amplification variable of {blanket.label} is unbounded, and {self.name} needs a bounded one. "
                "None of the paper's bounds covers it."
            )
        return at_most(evaluate(lambda: self._log_delta(blanket, n, arb(epsilon))))

    def _log_delta(self, blanket: Blanket, n: int, epsilon: arb) -> arb:
        """The formula, at its worst pair of inputs."""
        gamma = blanket.gamma()
        worst = arb.neg_inf()
        for law in blanket.amplification(epsilon):
            if not law.upper <= 0:  # else L is never positive and the expectation is 0
                log_prefactor, rate = self.inequality(law)
                worst = worst.max(log_prefactor + n * (gamma * (-rate).expm1()).log1p())
        return worst - (gamma * n).log()


HOEFFDING = Concentration(
    name="hoeffding",
    inequality=hoeffding,
    reference=cite("BBGN19", "Lemma 5.3", "Lemma 5.5"),
)
BENNETT = Concentration(
    name="bennett",
    inequality=bennett,
    reference=cite("BBGN19", "Lemma 5.3", "Lemma 5.6") + " (corrected)",
)
