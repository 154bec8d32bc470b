"""Several collections on the same users: certified curves, composed as laws of the privacy loss in whole numbers.

A mechanism's curve delta(epsilon) over all real epsilon is below that of a law of the privacy loss
(`arithmetic/loss_points.py`), and so is whatever is composed of it below what is composed of the law (`arithmetic/loss.py`),
also if rounds are chosen adaptively.

Replace-one neighbours are symmetric, so delta(-epsilon) = 1 - e^-epsilon (1 - delta(epsilon)), and one law does for both
directions. Convolutions are exact and everything else rounds up. docs/maths/composition.md has the proofs.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, reduce
from typing import TYPE_CHECKING, Final

import numpy as np
from flint import arb, ctx

from shuffledp.accounting.bound import Batched, Bound, Claim
from shuffledp.accounting.loss_grid import DEEPEST, NODES, LossGrid, local_end, loss_grid, negligible
from shuffledp.accounting.rounds_lower_bound import pair_law
from shuffledp.accounting.solve import Problem, first_guess, solve
from shuffledp.arithmetic.balls import exp_up, round_up
from shuffledp.arithmetic.loss import FINE, LossLaw
from shuffledp.arithmetic.loss_points import dominating
from shuffledp.core import argument, checks
from shuffledp.core.blanket import Blanket
from shuffledp.core.digits import counted, rounded_down, rounded_up
from shuffledp.core.guarantee import SETTING
from shuffledp.errors import InvalidInput, NoClaim

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

MOST_ROUNDS: Final = 10**9
_MOST_CHARGED: Final = 1e-3
"""Share of delta that may be charged as outright failure before a deeper cut is tried."""
_NEAR: Final = 2e-6
"""By which share of it an epsilon that was solved for may be above one for which a plan was made."""
_NEXT: Final = 2e-5
"""By which share the epsilon of several releases may be rounded up to a number of few digits."""
ROUNDING: Final = 1e-9
"""By so much more of it a claim holds that is read off a curve, whatever rounding does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """Rounds in which n users report, the same ones in each.

    Attributes:
        blanket: of the randomizer.
        n: honest reports in each round.
        rounds: how often the same users report with fresh randomness.
        bound: the certified bound whose curve is used.
        nodes: points at which its curve is evaluated: the more, the tighter.
        fine: steps in a standard deviation of what is composed: likewise.
    """

    blanket: Blanket
    n: int
    rounds: int
    bound: Bound
    nodes: int = NODES
    fine: int = FINE

    def __post_init__(self) -> None:
        argument.of_kind(self.blanket, Blanket, "blanket", "the blanket of a randomizer, as blanket() gives it")
        argument.with_method(self.bound, "claim", "bound", "a bound, such as bounds()['best']")
        checks.settle(
            self,
            n=checks.users(self.n),
            rounds=checks.whole(self.rounds, "rounds", "Give e.g. 7."),
            nodes=checks.whole(self.nodes, "nodes", "Leave it out for the usual one."),
            fine=checks.whole(self.fine, "fine", "Leave it out for the usual one."),
        )
        if not 1 <= self.rounds <= MOST_ROUNDS:
            raise InvalidInput(f"rounds must be a whole number from 1 to 1e9; got {self.rounds}. Give e.g. 7.")

    def law(self, depth: int = 0) -> LossLaw:
        """One round: a law of the privacy loss whose curve is above the bound's."""
        return _one_round(replace(self, rounds=1), depth)

    def law_below(self, depth: int = 0) -> LossLaw | None:
        """One round: a law whose curve is below that of one pair of datasets; None where the bound has no lower end either."""
        if self.bound.claim(self.blanket, n=self.n, epsilon=0.0, side="lower").lower_by is None:
            return None
        return pair_law(self.blanket, self.n, depth, self._guess(depth))

    def delta_up(self, epsilon: float) -> float:
        """An upper bound on one round's delta; 1 where nothing is known."""
        return _delta_up(self.bound.claim(self.blanket, n=self.n, epsilon=epsilon, side="upper"))

    def deltas_up(self, epsilons: Sequence[float]) -> list[float]:
        """At most this delta holds at each of several epsilons."""
        if not isinstance(self.bound, Batched):
            return [self.delta_up(epsilon) for epsilon in epsilons]
        claims = self.bound.claims(self.blanket, n=self.n, epsilons=epsilons, side="upper")
        return [_delta_up(claim) for claim in claims]

    def grid(self, depth: int = 0) -> LossGrid:
        """Where the curve is evaluated."""
        return loss_grid(self.delta_up, depth, guess=self._guess(depth), end=local_end(self.blanket), nodes=self.nodes)

    def _guess(self, depth: int) -> float:
        return first_guess(Problem(randomizer=self.blanket, n=self.n, delta=negligible(depth)))


def _delta_up(claim: Claim) -> float:
    return 1.0 if claim.regime is not None else min(1.0, exp_up(claim.log_delta.upper))


@lru_cache(maxsize=256)
def _one_round(collection: Collection, depth: int) -> LossLaw:
    grid = collection.grid(depth)
    deltas = np.minimum.accumulate(collection.deltas_up(grid.epsilons)).tolist()
    law = dominating(grid.points, deltas, step=grid.step, bits=grid.bits, spare=grid.spare)
    return replace(law, fine=collection.fine)


def compose(collections: Sequence[Collection]) -> "Composition":
    """The joint guarantee of all rounds of all collections."""
    if not collections:
        raise InvalidInput("there is nothing to compose. Give at least one collection.")
    together = Composition(collections=tuple(collections))
    if together.rounds > 1:
        together.law(0)
    return together


def to_pld(collection: Collection) -> "PrivacyLossDistribution":
    """One round as a pessimistic privacy loss distribution of Google's dp_accounting, to be composed with others there."""
    argument.of_kind(collection, Collection, "collection", "a collection")
    try:
        from dp_accounting.pld import pld_pmf, privacy_loss_distribution
    except ImportError:
        raise InvalidInput("dp_accounting is not installed. Install the package dp-accounting.") from None
    law = collection.law()
    unit = 2.0**-law.bits
    masses = np.array([*(int(mass) * unit for mass in law.masses), law.infinite * unit])
    masses = np.where(masses > 0, np.nextafter(masses, 1.0), 0.0)
    pmf = pld_pmf.DensePLDPmf(law.step, law.first, masses[:-1], float(masses[-1]), pessimistic_estimate=True)
    return privacy_loss_distribution.PrivacyLossDistribution(pmf)


@dataclass(frozen=True, slots=True, kw_only=True)
class Composition:
    """The privacy of everything together.

    Attributes:
        collections: what is composed.
        stated_delta: at which it is put in words; None if nobody said.
    """

    collections: tuple[Collection, ...]
    stated_delta: float | None = None
    _laws: dict[int, LossLaw] = field(default_factory=dict, repr=False, compare=False)

    @property
    def title(self) -> str:
        """How much is composed."""
        return f"{counted(self.rounds, 'round')} in {counted(len(self.collections), 'collection')}, {SETTING}"

    def __str__(self) -> str:
        lines = [self.title, *(f"note: one of the bounds {caveat}" for caveat in self.caveats)]
        if self.stated_delta is not None:
            lines.insert(1, self.statement(self.stated_delta))
        return "\n".join(lines)

    def __repr__(self) -> str:
        stated = "" if self.stated_delta is None else f", {self.statement(self.stated_delta)}"
        return (
            f"<Composition: {counted(self.rounds, 'round')} in {counted(len(self.collections), 'collection')}{stated}>"
        )

    def statement(self, delta: float) -> str:
        """Both ends of epsilon at this delta, in words."""
        epsilon, least = self.epsilon(delta), self.least_epsilon(delta)
        at_least = "" if least is None else f", and at least {rounded_down(least)}"
        return f"delta = {rounded_up(delta)}: epsilon = {rounded_up(epsilon)}{at_least}"

    def law(self, depth: int) -> LossLaw:
        """The law of the whole loss, of curves that are cut off at this depth."""
        if depth not in self._laws:
            self._laws[depth] = _product(part.law(depth).power(part.rounds) for part in self.collections)
        return self._laws[depth]

    def law_below(self, depth: int) -> LossLaw | None:
        """A law below that of one sequence of pairs of datasets; None if one is not known for every collection."""
        each = [part.law_below(depth) for part in self.collections]
        laws = [law.power(part.rounds) for law, part in zip(each, self.collections, strict=True) if law is not None]
        return _product(laws) if len(laws) == len(each) else None

    @property
    def caveats(self) -> list[str]:
        """What the collections assume without a complete proof."""
        return list(dict.fromkeys(part.blanket.caveat for part in self.collections if part.blanket.caveat is not None))

    @property
    def rounds(self) -> int:
        """How many rounds all collections have together."""
        return sum(part.rounds for part in self.collections)

    def epsilon(self, delta: float | None = None) -> float:
        """An upper bound on epsilon at this delta; at the stated one if it is left out."""
        delta = self.stated_delta if delta is None else delta
        if delta is None:
            raise InvalidInput("epsilon depends on delta, and none is stated. Give `delta`.")
        delta = checks.probability(delta, "delta")
        total = self._alone(delta)
        if total is None:
            total = _rounded_up(self.law(self._deep_enough(lambda _: delta)).epsilon(delta))
        if self.local_epsilon is not None:
            return self.local_epsilon if total is None else min(total, self.local_epsilon)
        if total is None:
            raise NoClaim(
                "no finite epsilon holds at this delta after so many rounds. Use a larger delta or fewer rounds."
            )
        return total

    def delta(self, epsilon: float) -> float:
        """An upper bound on delta at this epsilon."""
        epsilon = checks.epsilon(epsilon)
        if self.local_epsilon is not None and epsilon >= self.local_epsilon:
            return 0.0
        if self.rounds == 1:
            return self.collections[0].delta_up(epsilon)
        return self.law(self._deep_enough(lambda law: law.delta(epsilon))).delta(epsilon)

    def _alone(self, delta: float) -> float | None:
        """The epsilon of a single round by its bound; if it holds, the number of few digits next to it, as in a plan."""
        if self.rounds > 1:
            return None
        [part] = self.collections
        epsilon = solve(part.bound, Problem(randomizer=part.blanket, n=part.n, delta=delta), safe_end_only=True).value
        if epsilon is None:
            return None
        near = (float(f"{epsilon:.{digits}g}") for digits in range(1, 7))
        holds = (x for x in near if abs(x - epsilon) <= _NEAR * epsilon and part.delta_up(x) <= delta)
        return next(holds, epsilon)

    @property
    def local_epsilon(self) -> float | None:
        """What all messages together guarantee without being shuffled, rounded up; None if nothing."""
        total = arb(0)
        with ctx.workprec(128):
            for part in self.collections:
                epsilon0 = part.blanket.epsilon0()
                if epsilon0 is None:
                    return None
                total += epsilon0 * part.rounds
            return round_up(total)

    def least_epsilon(self, delta: float) -> float | None:
        """A lower bound on epsilon at this delta; None if no pair of datasets is known."""
        delta = checks.probability(delta, "delta", side="up")
        law = self.law_below(self._deep_enough(lambda _: delta))
        return None if law is None else law.epsilon(delta)

    def least_delta(self, epsilon: float) -> float | None:
        """A lower bound on delta at this epsilon; None if no pair of datasets is known."""
        epsilon = checks.epsilon(epsilon, side="up")
        law = self.law_below(self._deep_enough(lambda law: law.delta(epsilon)))
        return None if law is None else law.delta(epsilon)

    def _deep_enough(self, delta: Callable[[LossLaw], float]) -> int:
        """The first depth at which little of delta is charged for the cut; the last one tried if there is none."""
        for depth in range(DEEPEST + 1):
            law = self.law(depth)
            charged, cut = law.infinite * 2.0**-law.bits, negligible(depth)
            falls_no_further = charged > 2 * self.rounds * cut
            if charged <= _MOST_CHARGED * delta(law) or falls_no_further:
                break
        return depth


def _rounded_up(epsilon: float | None) -> float | None:
    """A number of up to three digits that is next above an epsilon: that for which rounds were planned."""
    if epsilon is None or not epsilon > 0:
        return epsilon
    near = (float(f"{epsilon:.{digits}g}") for digits in range(1, 4))
    return next((x for x in near if epsilon * (1 + ROUNDING) <= x <= epsilon * (1 + _NEXT)), epsilon)


def _product(laws: Iterable[LossLaw]) -> LossLaw:
    return reduce(LossLaw.times, laws)
