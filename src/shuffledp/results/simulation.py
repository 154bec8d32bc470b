"""What a plan would answer, many times over, from who holds what alone."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np

from shuffledp.core.captions import spoken
from shuffledp.core.digits import about, counted
from shuffledp.core.document import Document
from shuffledp.core.estimate import Estimate
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
        refused: share of the entries that got no number.
    """

    question: str
    n: int
    trials: int
    rmse: float
    expected_rmse: float
    forecast_rmse: float
    bias: list[float]
    coverage: float
    refused: float = 0.0

    def __str__(self) -> str:
        several = f" ({len(self.bias):,} entries together)" if len(self.bias) > 1 else ""
        refused = f"entries without a number, because of too few users: {100 * self.refused:.2f} %"
        return "\n".join(
            [
                f"{counted(self.n, 'user')}, {counted(self.trials, 'simulated run')} of {spoken(self.question)}",
                f"root mean squared error{several}: {about(self.rmse)} (forecast for these data: {about(self.expected_rmse)})",
                *([refused] if self.refused else []),
                f"95 % intervals that hold the truth: {100 * self.coverage:.2f} %",
            ]
        )

    def __repr__(self) -> str:
        how_many = f"{counted(self.n, 'user')}, {counted(self.trials, 'run')}"
        return f"<Simulation: {self.question}, {how_many}, rmse = {about(self.rmse)}>"

    def document(self) -> Document:
        """The numbers as JSON data."""
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
    truth = protocol.reading.exactly(protocol.expected(population))
    squared, inside, answered = np.zeros(len(truth)), 0, np.zeros(len(truth), dtype=np.int64)
    total = np.zeros(len(truth))
    batch = max(1, min(trials, _AT_ONCE // max(protocol.cells_per_run, len(population.values))))
    for start in range(0, trials, batch):
        runs = min(batch, trials - start)
        estimates = protocol.simulate(population, generator, runs)
        said = protocol.reading.of(Estimate(value=estimates, standard_error=protocol.standard_error(estimates, n), n=n))
        low, high = said.interval(0.95)
        error = said.value - truth
        squared += np.nansum(np.square(error), axis=0)
        total += np.nansum(error, axis=0)
        inside += int(((low <= truth) & (truth <= high)).sum())
        answered += (~np.isnan(error)).sum(axis=0)
        if progress is not None:
            progress(runs)
    often = np.maximum(answered, 1)
    expected = protocol.reading.error(population)
    if len(expected) == len(answered):
        expected = expected[answered > 0]
    return Simulation(
        question=plan.question, n=n, trials=trials, rmse=math.sqrt(float((squared / often).sum())),
        expected_rmse=math.sqrt(float(expected.sum())), forecast_rmse=plan.rmse,
        bias=(total / often).tolist(), coverage=inside / max(1, int(answered.sum())),
        refused=1 - int(answered.sum()) / (trials * len(truth)),
    )  # fmt: skip
