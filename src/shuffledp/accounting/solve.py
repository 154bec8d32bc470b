"""One solver: any one of epsilon, delta, n or the randomizer's parameter from the others, on the safe side.

Every answer is an argument at which the bound was *seen* to hold, so it is sound whatever the bound's shape; where the
bound is monotone, as ours are, it is also the best double (or integer) there is.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeVar

from shuffledp.accounting.bound import Bound, Claim
from shuffledp.arithmetic.balls import exp_up, log_down
from shuffledp.arithmetic.inversion import first_double, first_integer, last_double
from shuffledp.core import checks
from shuffledp.core.blanket import Blanket, Family
from shuffledp.errors import InvalidInput

Quantity = Literal["epsilon", "delta", "n", "epsilon0", "gamma", "sigma"]

_Number = TypeVar("_Number", int, float)

_GRID = 1.5
_GRID_SPAN = 1e-12
_GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Everything but one quantity: either a blanket or a family of them, and n, epsilon, delta."""

    randomizer: Blanket | Family
    n: int | None = None
    epsilon: float | None = None
    delta: float | None = None

    def __post_init__(self) -> None:
        missing = [name for name in ("n", "epsilon", "delta") if getattr(self, name) is None]
        if isinstance(self.randomizer, Family):
            missing.append(self.randomizer.parameter)
        if len(missing) != 1:
            what = "none is" if not missing else f"{', '.join(missing)} are"
            raise InvalidInput(f"exactly one quantity must be left open, and {what}. Give all the others.")
        if self.n is not None:
            checks.users(self.n)
        if self.epsilon is not None:
            checks.epsilon(self.epsilon)
        if self.delta is not None:
            checks.probability(self.delta, "delta")

    @property
    def unknown(self) -> Quantity:
        """The quantity to solve for."""
        if isinstance(self.randomizer, Family):
            return self.randomizer.parameter
        return "n" if self.n is None else "epsilon" if self.epsilon is None else "delta"


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """What a bound says about the unknown.

    Attributes:
        unknown: its name.
        value: the end of the enclosure that is safe to claim, or None.
        lower: a proven lower end of what is needed, or None.
        upper: a proven upper end, or None.
        regime: None, or why there is no value.
        bound: the bound's name.
        reference: where it is stated.
        note: a remark for the reader, or None.
    """

    unknown: Quantity
    value: float | int | None
    lower: float | int | None
    upper: float | int | None
    regime: str | None
    bound: str
    reference: str
    note: str | None = None


def solve(bound: Bound, problem: Problem) -> Solution:
    """The best value of the unknown that the bound proves."""
    found = _SOLVERS[problem.unknown](bound, problem)
    if isinstance(found, str):
        value, regime = None, found
    else:
        value, regime = found, None
    safe_end_is_lower = problem.unknown == "epsilon0"
    return Solution(
        unknown=problem.unknown,
        value=value,
        lower=value if safe_end_is_lower else None,
        upper=None if safe_end_is_lower else value,
        regime=regime,
        bound=bound.name,
        reference=bound.reference,
        note=_note(problem, value),
    )


def _note(problem: Problem, value: float | None) -> str | None:
    if problem.unknown == "epsilon" and value is not None and not isinstance(problem.randomizer, Family):
        epsilon0 = problem.randomizer.epsilon0()
        if epsilon0 is not None and value >= epsilon0:
            return "no amplification: epsilon0 itself"
    if problem.unknown == "epsilon0" and value is not None and value == problem.epsilon:
        return "no amplification: epsilon itself"
    return None


def _solve_delta(bound: Bound, problem: Problem) -> float | str:
    """Delta at the given epsilon, or at a smaller one if the formula is better there: delta decreases in epsilon."""
    epsilon = _known(problem.epsilon)
    claim_at = _claims(bound, problem)
    claim = claim_at(epsilon)
    if claim.log_delta.upper > -math.inf and epsilon > 0:
        least = _least_claim(claim_at, _epsilon_grid(epsilon, epsilon))
        if claim.regime is not None or least.log_delta.upper < claim.log_delta.upper:
            claim = least if least.regime is None else claim
    return claim.regime or exp_up(claim.log_delta.upper)


def _solve_epsilon(bound: Bound, problem: Problem) -> float | str:
    target = log_down(_known(problem.delta))
    claim_at = _claims(bound, problem)

    def holds(epsilon: float) -> bool:
        return _grants(claim_at(epsilon), target)

    if holds(0.0):
        return 0.0
    grid = _epsilon_grid(_interesting_epsilon(problem), checks.LARGEST_EPSILON)
    hit = next((i for i, epsilon in enumerate(grid) if holds(epsilon)), None)
    if hit is not None:
        return first_double(holds, grid[hit - 1] if hit else 0.0, grid[hit])
    least = _least_claim(claim_at, grid, good_enough=target)
    if least.regime is None and least.epsilon is not None and holds(least.epsilon):
        below = max((e for e in grid if e < least.epsilon), default=0.0)
        return first_double(holds, below, least.epsilon)
    return least.regime or _out_of_reach(bound, problem, least)


def _solve_n(bound: Bound, problem: Problem) -> int | str:
    target = log_down(_known(problem.delta))
    blanket, epsilon = problem.randomizer, _known(problem.epsilon)
    if isinstance(blanket, Family):
        raise InvalidInput("n cannot be solved for an open randomizer. Fix its parameter.")

    def claim_at(n: int) -> Claim:
        return bound.claim(blanket, n=n, epsilon=epsilon)

    most = claim_at(checks.LARGEST_N)
    if not _grants(most, target):
        return most.regime or _out_of_reach(bound, problem, most)
    return first_integer(lambda n: _grants(claim_at(n), target), 0, checks.LARGEST_N)


def _solve_parameter(bound: Bound, problem: Problem) -> float | str:
    """The least private parameter that is private enough."""
    target = log_down(_known(problem.delta))
    family, n, epsilon = problem.randomizer, int(_known(problem.n)), _known(problem.epsilon)
    if not isinstance(family, Family):
        raise InvalidInput("the randomizer's parameter is given. Leave another quantity open.")

    def holds(parameter: float) -> bool:
        return _grants(bound.claim(family.blanket(parameter), n=n, epsilon=epsilon), target)

    if family.more_private == "larger":
        high = family.high if holds(family.high) else math.nextafter(family.high, 0.0)
        if holds(family.low):
            return family.low
        if holds(high):
            return first_double(holds, family.low, high)
        best = high
    else:
        # With epsilon0 <= epsilon delta is 0 without any shuffler: the search starts at what needs no bound.
        best = epsilon if epsilon > 0 else family.low
        if holds(family.high):
            return family.high
        if holds(best):
            return last_double(holds, best, family.high)
        # A bound's regime may exclude epsilon0 = epsilon and still cover smaller ones.
        smaller = next((best / _GRID**k for k in range(1, 120) if holds(best / _GRID**k)), None)
        if smaller is not None:
            return last_double(holds, smaller, smaller * _GRID)
        best /= _GRID**119
    claim = bound.claim(family.blanket(best), n=n, epsilon=epsilon)
    return claim.regime or _out_of_reach(bound, problem, claim)


_SOLVERS: dict[Quantity, Callable[[Bound, Problem], float | int | str]] = {
    "epsilon": _solve_epsilon,
    "delta": _solve_delta,
    "n": _solve_n,
    "epsilon0": _solve_parameter,
    "gamma": _solve_parameter,
    "sigma": _solve_parameter,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _ClaimAt(Claim):
    """A claim and the epsilon it was made at."""

    epsilon: float | None = None


def _least_claim(claim_at: Callable[[float], Claim], grid: list[float], *, good_enough: float = -math.inf) -> _ClaimAt:
    """The smallest delta a bound reaches: on the grid, then by golden section around the best point."""
    claims = [claim_at(epsilon) for epsilon in grid]
    best = min(range(len(grid)), key=lambda i: claims[i].log_delta.upper if claims[i].regime is None else math.inf)
    if claims[best].regime is not None:
        return _at(claims[-1], grid[-1])
    left, right = grid[max(0, best - 1)], grid[min(len(grid) - 1, best + 1)]
    least = _at(claims[best], grid[best])
    for _ in range(80):
        if least.log_delta.upper <= good_enough:
            break
        probes = (right - _GOLDEN * (right - left), left + _GOLDEN * (right - left))
        at_left, at_right = (_at(claim_at(probe), probe) for probe in probes)
        least = min((least, at_left, at_right), key=_height)
        if _height(at_left) <= _height(at_right):
            right = probes[1]
        else:
            left = probes[0]
    return least


def _at(claim: Claim, epsilon: float) -> _ClaimAt:
    return _ClaimAt(log_delta=claim.log_delta, regime=claim.regime, epsilon=epsilon)


def _height(claim: Claim) -> float:
    return claim.log_delta.upper if claim.regime is None else math.inf


def _claims(bound: Bound, problem: Problem) -> Callable[[float], Claim]:
    blanket, n = problem.randomizer, int(_known(problem.n))
    if isinstance(blanket, Family):
        raise InvalidInput("the randomizer's parameter is open. Give it, or leave nothing else open.")
    return lambda epsilon: bound.claim(blanket, n=n, epsilon=epsilon)


def _interesting_epsilon(problem: Problem) -> float:
    """epsilon0, rounded up, where the local guarantee takes over; 1 if there is none."""
    epsilon0 = None if isinstance(problem.randomizer, Family) else problem.randomizer.epsilon0()
    return 1.0 if epsilon0 is None else math.nextafter(float(epsilon0.upper()), math.inf)


def _epsilon_grid(middle: float, high: float) -> list[float]:
    """A geometric grid through `middle`, from far below it up to `high`."""
    below = math.ceil(-math.log(_GRID_SPAN) / math.log(_GRID))
    above = math.floor(math.log(high / middle) / math.log(_GRID)) if high > middle else 0
    return [*(middle * _GRID**k for k in range(-below, above + 1)), *([high] if above else [])]


def _grants(claim: Claim, log_delta: float) -> bool:
    return claim.regime is None and claim.log_delta.upper <= log_delta


def _out_of_reach(bound: Bound, problem: Problem, nearest: Claim) -> str:
    return (
        f"{bound.name} cannot reach delta = {problem.delta:.6g} with any {problem.unknown}. "
        f"The smallest delta it reaches here is {exp_up(nearest.log_delta.upper):.6g}."
    )


def _known(value: _Number | None) -> _Number:
    if value is None:
        raise InvalidInput("a quantity is missing. Give all but one.")
    return value
