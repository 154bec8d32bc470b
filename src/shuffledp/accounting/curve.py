"""The privacy curve: delta against epsilon."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from shuffledp.accounting.bound import Bound
from shuffledp.accounting.solve import Problem, solve
from shuffledp.core import checks
from shuffledp.core.blanket import Blanket
from shuffledp.errors import InvalidInput

MOST_POINTS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What a bound proves about delta at an epsilon, None where it says nothing; and what it assumes without a complete proof."""

    epsilon: float
    bound: str
    lower: float | None
    upper: float | None
    caveat: str | None = None


def privacy_curve(
    blanket: Blanket,
    bounds: Sequence[Bound],
    *,
    n: int,
    points: int,
    epsilon_max: float | None = None,
    delta_min: float = 1e-12,
    progress: Callable[[], object] | None = None,
) -> list[Point]:
    """Delta at equally spaced epsilons from 0, by each of the bounds.

    The last epsilon is `epsilon_max`, or else where the first bound reaches `delta_min`. `progress` is called after each epsilon.
    """
    if not 2 <= points <= MOST_POINTS:
        raise InvalidInput(f"points must be from 2 to {MOST_POINTS}; got {points}. Usual is 41.")
    if epsilon_max is not None and checks.epsilon(epsilon_max, "epsilon_max") == 0:
        raise InvalidInput("`epsilon_max` is 0, where the curve begins. Give a larger one, or leave it out.")
    if epsilon_max is None:
        solution = solve(bounds[0], Problem(randomizer=blanket, n=n, delta=delta_min))
        epsilon_max = float(solution.value or solution.lower or 1.0)
    curve = []
    for epsilon in np.linspace(0.0, epsilon_max, points).tolist():
        for bound in bounds:
            solution = solve(bound, Problem(randomizer=blanket, n=n, epsilon=epsilon))
            curve.append(
                Point(
                    epsilon=epsilon,
                    bound=bound.name,
                    lower=solution.lower,
                    upper=solution.upper,
                    caveat=solution.caveat,
                )
            )
        if progress is not None:
            progress()
    return curve
