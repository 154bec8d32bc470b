"""The tightest enclosure we know, and who gave each side."""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest

from shuffledp.accounting.binary import Binary
from shuffledp.accounting.bound import CERTAINLY_PRIVATE, NOTHING, Bound, BoundKind, Claim, Side, is_local_guarantee
from shuffledp.accounting.cushion import Cushion
from shuffledp.accounting.few_outcomes import Exact
from shuffledp.accounting.numeric import GenericBound, Numeric
from shuffledp.accounting.releases import composed_claim, composition
from shuffledp.accounting.witness import Witness
from shuffledp.arithmetic.enclosure import Enclosure
from shuffledp.core.blanket import Blanket
from shuffledp.errors import Contradiction, NoClaim


@dataclass(frozen=True, slots=True)
class Best:
    """The smallest certified upper bound and the largest certified lower bound.

    The blanket's own bound is never above the generic one (docs/maths/generic.md), so a known randomizer uses `numeric`,
    an unknown one `generic`, and one with two messages `binary`, which covers all datasets from both sides. For channels of few
    inputs `cushion` is far below `numeric` if there are users enough.
    """

    name: str = "best"
    kind: BoundKind = "numeric"
    reference: str = "the tightest of binary, cushion, numeric, generic and witness"

    def claim(self, blanket: Blanket, *, n: int, epsilon: float, side: Side = "both") -> Claim:
        """Both sides, or the one asked for."""
        if is_local_guarantee(blanket, epsilon):
            return CERTAINLY_PRIVATE
        if blanket.outcomes():
            return Exact().claim(blanket, n=n, epsilon=epsilon, side=side)
        if blanket.releases():
            return composed_claim(blanket, self, n=n, epsilon=epsilon)
        upper = lower = Claim(log_delta=NOTHING)
        if side != "lower":
            upper = self._first(self._above(blanket), blanket, n, epsilon, "upper")
            if upper.upper_by == Numeric().name and Cushion().promises(blanket, n=n, epsilon=epsilon):
                mixed = Cushion().claim(blanket, n=n, epsilon=epsilon, side="upper")
                upper = min(upper, mixed, key=lambda claim: claim.log_delta.upper)
        if side != "upper":
            lower = self._first(self._below(blanket), blanket, n, epsilon, "lower")
        low, high = lower.log_delta.lower, upper.log_delta.upper
        if low > high + 1e-9 * (1 + abs(high)):
            raise Contradiction(
                f"log delta is at least {low} and at most {high} at epsilon {epsilon}, n {n}. Please report this."
            )
        low = min(low, high)
        return Claim(
            log_delta=Enclosure(low, upper.log_delta.upper),
            regime=upper.regime,
            lower_by=lower.lower_by if low > -math.inf else None,
            upper_by=upper.upper_by,
            ledger=upper.ledger or lower.ledger,
        )

    def claims(self, blanket: Blanket, *, n: int, epsilons: Sequence[float], side: Side = "both") -> list[Claim]:
        """Claims at several epsilons; upper ends for two messages take less time than one after the other."""
        covered: list[Claim] = []
        if side == "upper" and blanket.coins() is not None:
            covered = Binary().claims(blanket, n=n, epsilons=epsilons, side=side)
        return [
            claim
            if claim is not None and claim.regime is None and not is_local_guarantee(blanket, epsilon)
            else self.claim(blanket, n=n, epsilon=epsilon, side=side)
            for epsilon, claim in zip_longest(epsilons, covered)
        ]

    def composed_epsilon(self, blanket: Blanket, *, n: int, delta: float) -> float | None:
        """An upper bound on the epsilon of all messages of a person together; None for one message, or if none is finite."""
        if not blanket.releases():
            return None
        with suppress(NoClaim):
            return composition(blanket, n, self).epsilon(delta)
        return None

    def _above(self, blanket: Blanket) -> list[Bound]:
        if blanket.coins() is not None:
            return [Binary(), Numeric()]
        return [Numeric()] if blanket.pairs() else [GenericBound()]

    def _below(self, blanket: Blanket) -> list[Bound]:
        return [Binary(), Witness()] if blanket.coins() is not None else [Witness()]

    def _first(self, bounds: list[Bound], blanket: Blanket, n: int, epsilon: float, side: Side) -> Claim:
        """The first that says something: they are listed tightest first."""
        claim = Claim(log_delta=NOTHING)
        for bound in bounds:
            claim = bound.claim(blanket, n=n, epsilon=epsilon, side=side)
            if claim.regime is None and claim.log_delta != NOTHING:
                break
        return claim
