"""The front door of accounting: a randomizer and all but one of n, epsilon, delta in, a guarantee out."""

from shuffledp.accounting.best import Best
from shuffledp.accounting.binary import Binary
from shuffledp.accounting.bound import Bound
from shuffledp.accounting.closed_form import ClosedForm
from shuffledp.accounting.concentration import BENNETT, HOEFFDING
from shuffledp.accounting.cushion import Cushion
from shuffledp.accounting.erlingsson import Erlingsson
from shuffledp.accounting.histogram_theorem import HistogramTheorem
from shuffledp.accounting.numeric import GenericBound, Numeric
from shuffledp.accounting.solve import Problem, solve
from shuffledp.accounting.witness import Witness
from shuffledp.core import argument
from shuffledp.core.blanket import Blanket, HasBlanket, RandomizerFamily
from shuffledp.core.guarantee import Guarantee
from shuffledp.errors import NoClaim, unknown

_BOUNDS: dict[str, Bound] = {
    bound.name: bound
    for bound in (
        Best(),
        Numeric(),
        GenericBound(),
        Witness(),
        Binary(),
        Cushion(),
        BENNETT,
        HOEFFDING,
        ClosedForm(),
        Erlingsson(),
        HistogramTheorem(),
    )
}
DEFAULT_BOUND = "best"


def bounds() -> dict[str, Bound]:
    """All bounds, by name."""
    return dict(_BOUNDS)


def bound_named(name: str) -> Bound:
    """The bound of that name."""
    if argument.text(name, "bound", DEFAULT_BOUND) not in _BOUNDS:
        raise unknown("bound", name, _BOUNDS)
    return _BOUNDS[name]


def blanket_of(randomizer: HasBlanket) -> Blanket:
    """What a bound sees of it."""
    argument.with_method(
        randomizer,
        "blanket",
        "randomizer",
        "a randomizer, such as RandomizedResponse(size=2, epsilon0=1) or Channel(matrix)",
    )
    if isinstance(randomizer, RandomizerFamily):
        raise argument.wrong(randomizer, "randomizer", "one randomizer (calibrate finds the best of a family)")
    return randomizer.blanket()


def account(
    randomizer: HasBlanket,
    *,
    n: int | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    bound: str = DEFAULT_BOUND,
) -> Guarantee:
    """The guarantee of n shuffled reports; whichever of n, epsilon, delta is left out is solved for.

    Raises NoClaim, with the reason, where the bound does not apply or cannot reach what is asked.

    >>> from shuffledp import RandomizedResponse
    >>> account(RandomizedResponse(size=10, epsilon0=1.0), n=1_000_000, delta=1e-6, bound="bennett").epsilon
    0.0023318206906962806
    """
    problem = Problem(randomizer=blanket_of(randomizer), n=n, epsilon=epsilon, delta=delta)
    solution = solve(bound_named(bound), problem, safe_end_only=problem.unknown != "delta")
    if solution.value is None:
        raise NoClaim(solution.regime or "no value")
    known = {"n": problem.n, "epsilon": problem.epsilon, "delta": problem.delta, problem.unknown: solution.value}
    return Guarantee(
        epsilon=float(known["epsilon"] or 0),
        delta=float(known["delta"] or 0),
        n=int(known["n"] or 0),
        bound=solution.bound,
        reference=solution.reference,
        caveat=solution.caveat,
    )


def calibrate(family: RandomizerFamily, *, n: int, epsilon: float, delta: float, bound: str = DEFAULT_BOUND) -> float:
    """The least private parameter of a family whose shuffled reports are still (epsilon, delta)-DP.

    >>> from shuffledp import RandomizedResponse
    >>> epsilon0 = calibrate(RandomizedResponse.family(size=10), n=1_000_000, epsilon=1.0, delta=1e-6)
    >>> round(epsilon0, 2)
    10.06
    """
    argument.of_kind(
        family, RandomizerFamily, "family", "a family of randomizers, such as RandomizedResponse.family(size=2)"
    )
    problem = Problem(randomizer=family, n=n, epsilon=epsilon, delta=delta)
    solution = solve(bound_named(bound), problem, safe_end_only=True)
    if solution.value is None:
        raise NoClaim(solution.regime or "no value")
    return float(solution.value)
