"""One solver: any one of epsilon, delta, n or the randomizer's parameter from the others, on the safe side.

Every value is an argument at which the bound was *seen* to hold, and every end on the other side one at which it was
seen to fail, so both are proven whatever the bound's shape.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from flint import arb

from shuffledp.accounting.bound import Bound, Claim, Composing, Side
from shuffledp.accounting.first_guess import deviations, gaussian_gamma, steepness
from shuffledp.arithmetic.balls import exp_down, exp_up, log_down, log_up, round_up
from shuffledp.arithmetic.inversion import Search, first_double, first_integer, last_double, search
from shuffledp.arithmetic.summand_law import expected
from shuffledp.core import checks
from shuffledp.core.blanket import Blanket, RandomizerFamily
from shuffledp.core.digits import NOTHING, rounded_down, rounded_up
from shuffledp.core.display import figure_of, page_of
from shuffledp.core.text_tables import aligned
from shuffledp.errors import Contradiction, InvalidInput, NoClaim

Quantity = Literal["epsilon", "delta", "n", "epsilon0", "gamma", "sigma", "dummies"]

_GRID = 1.5
_GOLDEN = (math.sqrt(5) - 1) / 2
_LARGEST_IMPURE_EPSILON = 170.0
"""Where the search ends for a randomizer without epsilon0; with one it ends there."""
_ROUNDING = 1e-9
"""What is read off a curve may miss it by rounding, and not by this."""
PRECISION = 2e-6
"""Relative precision to which numeric bounds are solved, beyond their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Everything but one quantity: either a blanket or a family of them, and n, epsilon, delta."""

    randomizer: Blanket | RandomizerFamily
    n: int | None = None
    epsilon: float | None = None
    delta: float | None = None

    def __post_init__(self) -> None:
        missing = [name for name in ("n", "epsilon", "delta") if getattr(self, name) is None]
        if isinstance(self.randomizer, RandomizerFamily):
            missing.append(self.randomizer.parameter)
        if len(missing) != 1:
            if missing:
                *most, last = (f"`{name}`" for name in missing)
                what = f"{', '.join(most)} and {last} are left out"
                raise InvalidInput(f"exactly one quantity is solved for, and {what}. Give all but one of them.")
            raise InvalidInput(
                "exactly one quantity is solved for, and none of `n`, `epsilon` and `delta` is left out. Leave out one."
            )
        if self.n is not None:
            object.__setattr__(self, "n", checks.users(self.n))
        if self.epsilon is not None:
            object.__setattr__(self, "epsilon", checks.epsilon(self.epsilon))
        if self.delta is not None:
            object.__setattr__(self, "delta", checks.probability(self.delta, "delta"))

    @property
    def unknown(self) -> Quantity:
        """The quantity to solve for."""
        if isinstance(self.randomizer, RandomizerFamily):
            return self.randomizer.parameter
        return "n" if self.n is None else "epsilon" if self.epsilon is None else "delta"

    def claim(self, bound: Bound, value: float, side: Side = "both") -> Claim:
        """What the bound says when the unknown (other than delta) has this value."""
        family = self.randomizer
        blanket = family.blanket(value) if isinstance(family, RandomizerFamily) else family
        n = int(value) if self.n is None else self.n
        epsilon = value if self.epsilon is None else self.epsilon
        return bound.claim(blanket, n=n, epsilon=epsilon, side=side)


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """What a bound gives for the unknown quantity.

    Attributes:
        unknown: its name.
        value: the end of the enclosure that is safe to claim, or None.
        lower: a proven lower end of what is needed, or None.
        upper: a proven upper end, or None.
        regime: None, or why there is no value.
        bound: the bound's name.
        reference: where it is stated.
        note: a remark for the reader, or None.
        caveat: what the values assume without a complete proof; None if nothing.
        claim: the bound's claim at the value, with who gave each side and the error ledger.
    """

    unknown: Quantity
    value: float | int | None
    lower: float | int | None
    upper: float | int | None
    regime: str | None
    bound: str
    reference: str
    note: str | None = None
    caveat: str | None = None
    claim: Claim | None = None

    def __str__(self) -> str:
        return solutions_table([self])

    def __repr__(self) -> str:
        value = "none" if self.value is None else claimed(self.value, self.unknown)
        return f"<Solution: {self.unknown} = {value} by the {self.bound} bound>"

    @property
    def other_end(self) -> str:
        """The proven end on the other side, rounded outwards."""
        if self.unknown == "epsilon0":
            return NOTHING if self.upper is None else rounded_up(self.upper, 7)
        if self.lower is None:
            return NOTHING
        return f"{self.lower:,}" if isinstance(self.lower, int) else rounded_down(self.lower, 7)

    def _repr_html_(self) -> str:
        return page_of(self)

    def plot(self) -> Any:
        """A picture of where the unknown is."""
        return figure_of(self)

    def document(self, version: str) -> dict[str, Any]:
        """The solution as JSON data, with a certificate by this version of the software where the bound is numeric."""
        certificate = None if self.claim is None else self.claim.certificate(version)
        return (
            {
                "bound": self.bound,
                "value": self.value,
                "lower": self.lower,
                "upper": self.upper,
                "regime": self.regime,
                "reference": self.reference,
            }
            | ({"note": self.note} if self.note else {})
            | ({"caveat": self.caveat} if self.caveat else {})
            | ({"certificate": certificate} if certificate else {})
        )


def claimed(value: float | int, quantity: Quantity) -> str:
    """Seven significant digits, rounded so that the printed claim still holds."""
    if isinstance(value, int):
        return f"{value:,}"
    return (rounded_down if quantity == "epsilon0" else rounded_up)(value, 7)


def solutions_table(solutions: Sequence[Solution]) -> str:
    """What each bound says about the same unknown, and below why some say nothing and what values assume."""
    unknown = solutions[0].unknown
    rows = [
        [
            solution.bound,
            NOTHING if solution.value is None else claimed(solution.value, unknown),
            solution.other_end,
            solution.reference + (f" ({solution.note})" if solution.note else ""),
        ]
        for solution in solutions
    ]
    other = "upper bound" if unknown == "epsilon0" else "lower bound"
    notes = remarks(solutions)
    return aligned(["bound", unknown, other, "reference"], rows) + (f"\n{notes}" if notes else "")


def remarks(solutions: Iterable[Solution]) -> str:
    """Why bounds say nothing, and what values assume, a line each; a line that is empty before them."""
    solutions = list(solutions)
    reasons: dict[str, str] = {}
    for solution in solutions:
        if solution.regime:
            reasons.setdefault(solution.bound, solution.regime)
    caveats = [
        f"{solution.bound} {solution.caveat}"
        for solution in solutions
        if solution.caveat is not None and solution.value is not None
    ]
    return "".join(f"\n{name}: {reason}" for name, reason in reasons.items()) + "".join(
        f"\nnote: {caveat}" for caveat in dict.fromkeys(caveats)
    )


def solve(bound: Bound, problem: Problem, *, safe_end_only: bool = False) -> Solution:
    """The best value of the unknown that the bound proves, and (unless only that is wanted) how far from the truth it can be."""
    if problem.unknown == "delta":
        return _solve_delta(bound, problem)
    target, value, regime, other, claim = _known(problem.delta), None, None, None, None
    if bound.kind != "witness":
        try:
            if bound.kind == "formula":
                value = _exact(bound, problem, log_down(target))
            else:
                value, claim = _numeric(bound, problem, log_down(target))
        except NoClaim as refusal:
            regime = str(refusal)
    if bound.kind != "formula" and not safe_end_only:
        start, slope = _guessed(problem)
        other = _refuted(bound, problem, log_up(target), start if value is None else value, slope)
    if problem.unknown == "n":
        value = None if value is None else math.ceil(value)
        other = None if other is None else math.floor(other) + 1
    if other is not None and value is not None and (other > value) != (problem.unknown == "epsilon0"):
        if abs(other - value) > 1e-5 * value + (problem.unknown == "n"):
            raise Contradiction(
                f"{problem.unknown} cannot be on both sides of {value} and {other}. Please report this."
            )
        other = value  # the ends met within the precision of the search
    lower, upper = (value, other) if problem.unknown == "epsilon0" else (other, value)
    if (claim is None or not safe_end_only) and (value is not None or other is not None):
        known = value if value is not None else other or 1
        claim = problem.claim(bound, known, "upper" if safe_end_only else "both")
    return Solution(
        unknown=problem.unknown,
        value=value,
        lower=lower,
        upper=upper,
        regime=_why(problem, regime),
        bound=bound.name,
        reference=bound.reference,
        note=_note(problem, value),
        caveat=_caveat(problem),
        claim=claim,
    )


def _why(problem: Problem, regime: str | None) -> str | None:
    """Why there is no value; without a blanket, no number of users would help."""
    blanket = problem.randomizer
    if regime is None or isinstance(blanket, RandomizerFamily) or not isinstance(blanket.summands(1), int):
        return regime
    if blanket.gamma() != 0 or blanket.outcomes() or blanket.releases():
        return regime
    return (
        "no message can be sent whatever the value is (gamma = 0), so other users' messages hide nobody, however many they are. "
        "Let every value send some message with a probability above 0."
    )


def _caveat(problem: Problem) -> str | None:
    family = problem.randomizer
    return family.blanket(family.high).caveat if isinstance(family, RandomizerFamily) else family.caveat


def _note(problem: Problem, value: float | None) -> str | None:
    if value is None or problem.unknown not in ("epsilon", "epsilon0"):
        return None
    if isinstance(problem.randomizer, RandomizerFamily):
        return "no amplification: epsilon itself" if value == problem.epsilon else None
    epsilon0 = problem.randomizer.epsilon0()
    if epsilon0 is None or value < epsilon0:
        return None
    return "no amplification: epsilon0 itself" if arb(value) * (1 - 1e-12) <= epsilon0 else "worse than epsilon0"


def _solve_delta(bound: Bound, problem: Problem) -> Solution:
    """Delta at the given epsilon, or at a smaller one if a formula is better there: delta decreases in epsilon."""
    blanket, n, epsilon = problem.randomizer, int(_known(problem.n)), _known(problem.epsilon)
    if isinstance(blanket, RandomizerFamily):
        raise InvalidInput("the randomizer's parameter is open. Give it, or leave nothing else open.")
    claim = bound.claim(blanket, n=n, epsilon=epsilon)
    if bound.kind == "formula" and epsilon > 0 and claim.log_delta.upper > -math.inf:
        before = bound.claim(blanket, n=n, epsilon=epsilon * 0.999)
        if claim.regime is not None or (before.regime is None and before.log_delta.upper < claim.log_delta.upper):
            grid = _epsilon_grid(epsilon, epsilon, n)
            least = _least_claim(lambda e: bound.claim(blanket, n=n, epsilon=e), grid)[1]
            claim = least if least.regime is None else claim
    value = None if claim.regime is not None or bound.kind == "witness" else exp_up(claim.log_delta.upper)
    low = exp_down(claim.log_delta.lower) if claim.log_delta.lower > -math.inf else None
    return Solution(
        unknown="delta",
        value=value,
        lower=low,
        upper=value,
        regime=_why(problem, claim.regime),
        bound=bound.name,
        reference=bound.reference,
        caveat=blanket.caveat,
        claim=claim,
    )


# Exact bounds: bisection to the last bit.


def _exact(bound: Bound, problem: Problem, target: float) -> float:
    """The extreme value that a formula grants; NoClaim says why there is none."""
    if problem.unknown == "epsilon":
        return _exact_epsilon(bound, problem, target)

    def holds(value: float) -> bool:
        return _grants(problem.claim(bound, value), target)

    if problem.unknown == "n":
        most = problem.claim(bound, checks.LARGEST_N)
        if _grants(most, target):
            return first_integer(holds, 0, checks.LARGEST_N)
        raise NoClaim(
            f"{bound.name} needs more than 1e18 users. With 1e18 of them: {most.regime or _reached(bound, most)}"
        )
    family = problem.randomizer
    if not isinstance(family, RandomizerFamily):
        raise InvalidInput("the randomizer's parameter is given. Leave another quantity open.")
    if family.more_private == "larger":
        if holds(family.low):
            return family.low
        # a regime may exclude the very end, as Theorem 3.1 excludes gamma = 1
        best = next((h for h in (family.high, math.nextafter(family.high, 0.0)) if holds(h)), None)
        if best is not None:
            return first_double(holds, family.low, best)
        best = math.nextafter(family.high, 0.0)
    else:
        if holds(family.high):
            return family.high
        # With epsilon0 <= epsilon delta is 0 without any shuffler; a regime may leave only smaller ones.
        start = max(_known(problem.epsilon), family.low)
        best = next((start / _GRID**k for k in range(120) if holds(start / _GRID**k)), None)
        if best is not None:
            return last_double(holds, best, family.high if best == start else best * _GRID)
        best = start
    claim = problem.claim(bound, best)
    raise NoClaim(claim.regime or _unreachable(bound, problem, claim))


def _exact_epsilon(bound: Bound, problem: Problem, target: float) -> float:
    """The formulas fall with epsilon and rise again at the end: walk up a grid to the first point that holds."""

    def claim_at(epsilon: float) -> Claim:
        return problem.claim(bound, epsilon)

    def holds(epsilon: float) -> bool:
        return _grants(claim_at(epsilon), target)

    if holds(0.0):
        return 0.0
    middle = _local(problem)
    grid = _epsilon_grid(middle, checks.LARGEST_EPSILON, int(_known(problem.n)))
    hit = next((i for i, epsilon in enumerate(grid) if holds(epsilon)), None)
    if hit is not None:
        return first_double(holds, grid[hit - 1] if hit else 0.0, grid[hit])
    at, least = _least_claim(claim_at, grid, good_enough=target)
    if _grants(least, target):
        return first_double(holds, max((e for e in grid if e < at), default=0.0), at)
    if least.regime is not None:
        raise NoClaim(claim_at(min(1.0, middle)).regime or least.regime)
    raise NoClaim(_unreachable(bound, problem, least))


def _least_claim(
    claim_at: Callable[[float], Claim], grid: list[float], *, good_enough: float = -math.inf
) -> tuple[float, Claim]:
    """Where a bound is smallest, and its claim there: on the grid, then by golden section around the best point."""

    def height(claim: Claim) -> float:
        return claim.log_delta.upper if claim.regime is None else math.inf

    claims = [claim_at(epsilon) for epsilon in grid]
    best = min(range(len(grid)), key=lambda i: height(claims[i]))
    at, least = grid[best], claims[best]
    left, right = grid[max(0, best - 1)], grid[min(len(grid) - 1, best + 1)]
    for _ in range(80):
        if least.regime is not None or least.log_delta.upper <= good_enough:
            break
        probes = (right - _GOLDEN * (right - left), left + _GOLDEN * (right - left))
        seen = [(probe, claim_at(probe)) for probe in probes]
        at, least = min([(at, least), *seen], key=lambda pair: height(pair[1]))
        left, right = (left, probes[1]) if height(seen[0][1]) <= height(seen[1][1]) else (probes[0], right)
    return at, least


# Numeric bounds: a few evaluations from a good guess.


def _numeric(bound: Bound, problem: Problem, target: float) -> tuple[float, Claim]:
    """The extreme value that the bound grants, to a relative precision, and its claim there; NoClaim says why there is none."""
    claims: dict[float, Claim] = {}

    def margin(value: float) -> float:
        claim = claims[value] = problem.claim(bound, value, "upper")
        return claim.log_delta.upper - target if claim.regime is None else max(1.0, -target)

    blanket = problem.randomizer
    if problem.unknown == "epsilon" and isinstance(bound, Composing) and isinstance(blanket, Blanket):
        read = bound.composed_epsilon(blanket, n=int(_known(problem.n)), delta=_known(problem.delta))
        for least in () if read is None else (read, read * (1 + _ROUNDING)):
            if margin(least) <= 0:
                return least, claims[least]
    start, slope = _guessed(problem)
    value = search(margin, _axis(problem), start, PRECISION, steepness=slope)
    if value is not None:
        return value, claims[value]
    otherwise = f"{bound.name} does not give this delta with any {problem.unknown} in range. Relax epsilon or delta."
    raise NoClaim(next((claim.regime for claim in claims.values() if claim.regime is not None), otherwise))


def _refuted(bound: Bound, problem: Problem, target: float, start: float, slope: float) -> float | None:
    """The extreme value at which the bound proves that delta is larger than asked."""

    def margin(value: float) -> float:
        return target - problem.claim(bound, value, "lower").log_delta.lower

    return search(margin, _axis(problem).mirrored(), start, PRECISION, steepness=slope)


def _axis(problem: Problem) -> Search:
    """Where the unknown lives and which way is more private."""
    if problem.unknown == "epsilon":
        return Search(low=0.0, high=_local(problem), towards="larger")
    if problem.unknown == "n":
        return Search(low=1.0, high=float(checks.LARGEST_N), towards="larger", whole=True)
    family = problem.randomizer
    if not isinstance(family, RandomizerFamily):
        raise InvalidInput("the randomizer's parameter is given. Leave another quantity open.")
    return Search(low=family.low, high=family.high, towards=family.more_private)


def first_guess(problem: Problem) -> float:
    """Where a normal approximation puts the unknown: delta = E[Z_+] for Z of mean 1 - e^epsilon and variance E[l^2] / n."""
    return _guessed(problem)[0]


def _guessed(problem: Problem) -> tuple[float, float]:
    """The unknown by the normal approximation, and how much log delta changes with its logarithm there."""
    blanket, delta = problem.randomizer, _known(problem.delta)
    if problem.unknown == "epsilon" and isinstance(blanket, Blanket):
        n, epsilon, z = expected(blanket.summands(1)) * _known(problem.n), 0.0, 0.0
        for _ in range(3):
            spread = math.sqrt(_second_moment(blanket, min(epsilon, _local(problem))) / n)
            z = deviations(delta, spread=spread)
            epsilon = math.log1p(z * spread)
        return epsilon, steepness(z)
    epsilon = _known(problem.epsilon)
    rise = max(math.expm1(epsilon), 1e-12)
    z = deviations(delta, mean=rise)
    needed = (z / rise) ** 2  # n / E[l^2]
    if isinstance(blanket, Blanket):
        return needed * _second_moment(blanket, epsilon) / expected(blanket.summands(1)), steepness(z) / 2
    # E[l^2] is about 2 k (1 - gamma)^2 / gamma, 2 e^eps0, 1 / sigma^2, or that of one dummy's over how many there are
    share = max(1e-300, needed / _known(problem.n) * 2 * _growth(epsilon))
    if problem.unknown == "dummies":
        return share * blanket.blanket(1.0).pairs()[0][0].spread / 2, steepness(z) / 2
    if problem.unknown == "gamma":
        some = blanket.blanket(0.5)
        size = (some.uniform_size or 1) * (0.5 if some.coins() is not None else 1)
        return gaussian_gamma(1 / size, 0.0, 1, math.sqrt(2 / share)), steepness(z) / 2
    if problem.unknown == "sigma":
        return max(0.3, math.sqrt(share / 2)), steepness(z)
    epsilon0 = math.log1p(1 / share)
    return epsilon0, epsilon0 * steepness(z) / 2


def _second_moment(blanket: Blanket, epsilon: float) -> float:
    """About E[l^2] of the worst pair."""
    if blanket.coins() is not None:
        return float(blanket.chi_squared() or 1.0) * _growth(epsilon)
    moment = max((options[0].spread for options in blanket.pairs()), default=0.0)
    if not moment > 0:
        gain = math.expm1(min(50.0, float(blanket.epsilon0() or 1.0)))
        moment = 2 * gain**2 / (gain + 2)
    return moment * _growth(epsilon)


def _growth(epsilon: float) -> float:
    """How much larger E[l^2] is at epsilon than at 0, if x and x' are alike."""
    return (1 + math.exp(min(2 * epsilon, 300.0))) / 2


def _local(problem: Problem) -> float:
    """epsilon0, rounded up, where the local guarantee takes over; 170 if there is none."""
    epsilon0 = None if isinstance(problem.randomizer, RandomizerFamily) else problem.randomizer.epsilon0()
    return _LARGEST_IMPURE_EPSILON if epsilon0 is None else round_up(epsilon0)


def _epsilon_grid(middle: float, high: float, n: int) -> list[float]:
    """A geometric grid through `middle`, from where amplification by n users ends up to `high`."""
    middle = max(middle, 1e-290)
    below = math.ceil(math.log(1e3 * math.sqrt(n)) / math.log(_GRID))
    grid = [middle * _GRID**k for k in range(-below, 1)]
    while grid[-1] * _GRID < high:
        grid.append(grid[-1] * _GRID)
    return [*grid, high] if grid[-1] < high else grid


def _grants(claim: Claim, log_delta: float) -> bool:
    return claim.regime is None and claim.log_delta.upper <= log_delta


def _unreachable(bound: Bound, problem: Problem, claim: Claim) -> str:
    return f"{bound.name} cannot reach this delta with any {problem.unknown}. {_reached(bound, claim)}"


def _reached(bound: Bound, claim: Claim) -> str:
    return f"The smallest delta that {bound.name} reaches here is {rounded_up(exp_up(claim.log_delta.upper))}."


def _known(value: float | int | None) -> float | int:
    if value is None:
        raise InvalidInput("a quantity is missing. Give all but one.")
    return value
