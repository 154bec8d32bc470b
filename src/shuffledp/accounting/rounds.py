"""The solver for how a collection really runs: in several rounds, and with only a share of the users honest."""

from dataclasses import replace

from shuffledp.accounting.bound import Bound
from shuffledp.accounting.composition import Collection, compose
from shuffledp.accounting.solve import Problem, Solution, solve
from shuffledp.core.blanket import RandomizerFamily
from shuffledp.core.turnout import exact_fraction, honest_reports, users_for
from shuffledp.errors import Contradiction, InvalidInput, NoClaim


def solve_rounds(bound: Bound, problem: Problem, *, rounds: int = 1, honest_fraction: float = 1.0) -> Solution:
    """As `solve`, with n counting all users of a round, and the same users reporting in every round.

    Several rounds are composed from the bound's certified curve, for which only epsilon or delta can be solved.
    """
    exact_fraction(honest_fraction)
    if problem.n is not None:
        problem = replace(problem, n=honest_reports(problem.n, honest_fraction))
    if rounds != 1:
        return _composed(bound, problem, rounds)
    solution = solve(bound, problem)
    if problem.unknown != "n":
        return solution
    value, lower = (
        None if honest is None else users_for(int(honest), honest_fraction)
        for honest in (solution.value, solution.lower)
    )
    return replace(solution, value=value, lower=lower, upper=value)


def _composed(bound: Bound, problem: Problem, rounds: int) -> Solution:
    blanket, n = problem.randomizer, problem.n
    if problem.unknown not in ("epsilon", "delta") or isinstance(blanket, RandomizerFamily) or n is None:
        raise InvalidInput("several rounds can be solved for epsilon or delta only. Give all the other quantities.")
    value, lower, regime = None, None, None
    try:
        together = compose([Collection(blanket=blanket, n=n, rounds=rounds, bound=bound)])
        if problem.unknown == "epsilon":
            delta = problem.delta or 0.0
            value, lower = together.epsilon(delta), together.least_epsilon(delta)
        else:
            epsilon = problem.epsilon or 0.0
            value, lower = together.delta(epsilon), together.least_delta(epsilon)
    except NoClaim as refusal:
        regime = str(refusal)
    if value is not None and lower is not None and lower > value * (1 + 1e-9):
        raise Contradiction(
            f"{problem.unknown} cannot be at least {lower} and at most {value} after {rounds} rounds. Please report this."
        )
    return Solution(
        unknown=problem.unknown, value=value, lower=lower, upper=value, regime=regime, bound=bound.name,
        reference=f"{bound.reference}; composed exactly",
        caveat=blanket.caveat,
    )  # fmt: skip
