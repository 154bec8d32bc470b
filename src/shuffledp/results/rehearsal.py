"""Whole runs of a plan that finds its answers, on users whose values are known: what is found, and what is not."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Final

import numpy as np

from shuffledp.core.counts import Counts
from shuffledp.core.digits import counted
from shuffledp.core.document import Document
from shuffledp.core.population import Population
from shuffledp.core.randomness import KeyedRandomness
from shuffledp.errors import InvalidInput
from shuffledp.planning.plan import Plan

_MOST_USERS: Final = 10**7
_BLOCK: Final = 1 << 18


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """How well runs found what they should. They carry no guarantee.

    Attributes:
        runs: how many.
        frequent: values that so many users hold that they should almost surely be found.
        found: the share of these that was, over all runs.
        false_positives: values found that nobody holds, a run.
        stated_false_positives: how many the runs said to expect.
    """

    runs: int
    frequent: int
    found: float | None
    false_positives: float
    stated_false_positives: float

    def __str__(self) -> str:
        share = "" if self.found is None else f", {100 * self.found:.2f} % of them found"
        return (
            f"{counted(self.runs, 'whole run')}: {self.frequent:,} frequent enough to be found almost surely{share}\n"
            f"found although nobody holds them: {self.false_positives:.2f} per run (stated: {self.stated_false_positives:.2f})"
        )

    def document(self) -> Document:
        """The numbers as JSON data."""
        return asdict(self)


def rehearse(
    plan: Plan,
    population: Population,
    *,
    runs: int,
    seed: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Rehearsal:
    """Randomize, count and find, with new coins each time."""
    protocol, n = plan.protocol, population.n
    if n > _MOST_USERS:
        raise InvalidInput(f"whole runs are of at most {_MOST_USERS:,} users, and these are {n:,}. Use fewer.")
    truth, least = protocol.truth_of(population), protocol.forecast(n).others.get("found_from_users", np.inf)
    frequent = int((protocol.true_answer(truth) >= least).sum())
    values = np.repeat(population.values, population.users)
    hits, false, stated = 0, 0, 0.0
    for run in range(runs):
        randomness = KeyedRandomness.fresh() if seed is None else KeyedRandomness.seeded(seed + run)
        counts = Counts.none(protocol.counters)
        for start in range(0, n, _BLOCK):
            counts += protocol.count(protocol.randomize(values[start : start + _BLOCK], randomness, first_row=start))
        estimate = protocol.estimate(counts)
        if estimate.threshold is None:
            raise InvalidInput("whole runs show what is found, and this plan lists what it estimates. Leave them out.")
        held = protocol.reading.exactly_for(estimate, truth)
        hits, false = hits + int((held >= least).sum()), false + int((held == 0).sum())
        stated += estimate.threshold.false_positives
        if progress is not None:
            progress(1)
    return Rehearsal(
        runs=runs, frequent=frequent, found=hits / (runs * frequent) if frequent else None, false_positives=false / runs,
        stated_false_positives=stated / runs,
    )  # fmt: skip
