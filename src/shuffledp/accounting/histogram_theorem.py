"""The paper's first privacy theorem: shuffled randomized response by Chernoff's inequality."""

from dataclasses import dataclass

from flint import arb

from shuffledp.accounting.bound import BoundKind, Claim, Side, at_most, outside
from shuffledp.arithmetic.balls import evaluate
from shuffledp.core.blanket import Blanket
from shuffledp.references import cite

PAPER_BOUND = "histogram-theorem"


@dataclass(frozen=True, slots=True)
class HistogramTheorem:
    """Randomized response on k symbols, shuffled, is (epsilon, delta)-DP for gamma large enough.

    Formula: gamma = max(14 k log(2/delta) / ((n-1) epsilon^2), 27 k / ((n-1) epsilon)), so with
    c = gamma (n-1) / k >= 27 / epsilon, log delta = log 2 - c epsilon^2 / 14.
    Regime: randomized response, 0 < epsilon <= 1, n >= 2, gamma < 1.
    Reference: BBGN19, Theorem 3.1.
    Rounding: log delta up.
    """

    name: str = PAPER_BOUND
    kind: BoundKind = "formula"
    reference: str = cite("BBGN19", "Theorem 3.1")

    def claim(self, blanket: Blanket, *, n: int, epsilon: float, side: Side = "both") -> Claim:  # noqa: ARG002
        """Theorem 3.1 read as a bound on delta."""
        size = blanket.uniform_size
        if size is None:
            return outside(f"Theorem 3.1 covers only randomized response, and this is {blanket.label}.")
        if not 0 < epsilon <= 1:
            return outside(
                f"Theorem 3.1 needs 0 < epsilon <= 1, and epsilon is {epsilon:.6g}. "
                "Use bennett, which has no upper limit."
            )
        if n < 2:
            return outside("Theorem 3.1 needs n >= 2. With one user only the local guarantee holds.")
        if not blanket.gamma() < 1:
            return outside("Theorem 3.1 needs gamma < 1. With gamma = 1 the messages do not depend on the values.")
        per_symbol = blanket.gamma() * (n - 1) / size
        if not per_symbol * arb(epsilon) >= 27:
            return outside(
                f"Theorem 3.1 needs gamma (n-1) epsilon / size >= 27, and it is {float(per_symbol) * epsilon:.6g}. "
                "Use more users, a larger gamma or epsilon, or bennett."
            )
        return at_most(evaluate(lambda: arb(2).log() - blanket.gamma() * (n - 1) / size * arb(epsilon) ** 2 / 14))
