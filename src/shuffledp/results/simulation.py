"""What a plan would answer, many times over, from who holds what alone."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from statistics import NormalDist

import numpy as np

from shuffledp.core.document import Document
from shuffledp.core.population import Population
from shuffledp.planning.plan import Plan

_AT_ONCE = 1 << 22


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """How far off simulated answers were. They carry no guarantee.

    Attributes:
        question: that was asked.
        n: users.
        trials: runs.
        rmse: root mean squared error, over all entries.
        expected_rmse: the same as the formula for these data has it.
        forecast_rmse: the plan's, for its number of users at the worst data.
        bias: mean error of each entry.
        coverage: share of the 95 % intervals that hold the truth.
    """

    question: str
    n: int
    trials: int
    rmse: float
    expected_rmse: float
    forecast_rmse: float
    bias: list[float]
    coverage: float

    def document(self) -> Document:
        """As JSON data."""
        return asdict(self) | {"guarantee": None}


def simulate(
    plan: Plan,
    population: Population,
    *,
    trials: int,
    generator: np.random.Generator,
    progress: Callable[[int], None] | None = None,
) -> Simulation:
    """Run the plan on such users `trials` times: exact in law, in time that does not depend on the number of users."""
    protocol, n = plan.protocol, population.n
    truth = protocol.expected(population)
    squared, inside, total = 0.0, 0, np.zeros(len(truth))
    z = NormalDist().inv_cdf(0.975)
    batch = max(1, min(trials, _AT_ONCE // max(protocol.cells_per_run, len(population.values))))
    for start in range(0, trials, batch):
        runs = min(batch, trials - start)
        found = protocol.simulate(population, generator, runs)
        error = found - truth
        squared += float(np.square(error).sum())
        inside += int((np.abs(error) <= z * protocol.standard_error(found, n)).sum())
        total += error.sum(axis=0)
        if progress is not None:
            progress(runs)
    return Simulation(
        question=plan.question, n=n, trials=trials, rmse=math.sqrt(squared / trials),
        expected_rmse=math.sqrt(protocol.expected_error(population)), forecast_rmse=plan.rmse,
        bias=(total / trials).tolist(), coverage=inside / (trials * len(truth)),
    )  # fmt: skip
