"""What a run says."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.counts import Counts
from shuffledp.core.estimate import Estimate
from shuffledp.core.guarantee import Guarantee
from shuffledp.planning.plan import Plan
from shuffledp.protocols.histogram import Histogram
from shuffledp.protocols.statistics import Statistics


def estimated(plan: Plan, counts: Counts, guarantee: Guarantee | None) -> Estimate:
    """What the plan's task asks for: one entry a bin of a histogram, the sum alone, or the mean alone."""
    found = plan.protocol.estimate(counts, guarantee=guarantee)
    if plan.task == "histogram":
        return found
    entry = slice(1, 2) if plan.is_mean else slice(0, 1)
    return replace(found, value=found.value[entry], standard_error=found.standard_error[entry])


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An estimate with its guarantee, and what became of every row.

    Attributes:
        plan: what was run.
        estimate: one entry a bin for a histogram, one entry for the others.
        guarantee: what is promised; None if the randomness was not secret.
        realised_epsilon: epsilon at the plan's delta with the reports that came; None likewise.
        unit: what one person may change.
        rejected: rows that took no part, by reason.
        adjusted: values that were changed to fit the plan, by reason.
        truth: the exact answer, if it was asked for. Not private.
        notes: what a reader should know.
    """

    plan: Plan
    estimate: Estimate
    guarantee: Guarantee | None
    realised_epsilon: float | None
    unit: str
    rejected: dict[str, int] = field(default_factory=dict)
    adjusted: dict[str, int] = field(default_factory=dict)
    truth: NDArray[np.float64] | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """Number of reports."""
        return self.estimate.n

    @property
    def names(self) -> tuple[str, ...]:
        """What each entry of the estimate is."""
        protocol = self.plan.protocol
        return protocol.bins.names if isinstance(protocol, Histogram) else (self.plan.task,)

    @property
    def statistics(self) -> Statistics | None:
        """What can be derived, for a histogram."""
        protocol = self.plan.protocol
        return Statistics(protocol, self.estimate) if isinstance(protocol, Histogram) else None

    def document(self, *, confidence: float = 0.95, simultaneous: bool = False) -> dict[str, Any]:
        """The answer as JSON data."""
        bins = self.plan.task == "histogram"
        low, high = self.estimate.interval(confidence, simultaneous=simultaneous)
        pairs = [[float(a), float(b)] for a, b in zip(low, high, strict=True)]
        estimate: dict[str, Any] = {
            "value": self.estimate.value.tolist() if bins else float(self.estimate.value[0]),
            "standard_error": self.estimate.standard_error.tolist() if bins else float(self.estimate.standard_error[0]),
            "interval": pairs if bins else pairs[0],
            "confidence": confidence,
        }
        if bins:
            estimate |= {"labels": list(self.names), "simultaneous": simultaneous}
        guarantee = None if self.guarantee is None else {
            "epsilon": self.guarantee.epsilon, "delta": self.guarantee.delta, "n": self.guarantee.n,
            "bound": self.guarantee.bound, "adjacency": self.guarantee.adjacency, "unit": self.unit,
            "realised_epsilon": self.realised_epsilon,
        }  # fmt: skip
        truth = {} if self.truth is None else {"truth": self.truth.tolist() if bins else float(self.truth[0])}
        return {
            "task": self.plan.task, "estimate": estimate, "guarantee": guarantee, "n": self.n,
            "rejected": dict(self.rejected), "adjusted": dict(self.adjusted), **truth, "plan": self.plan.sha256,
            "notes": list(self.notes),
        }  # fmt: skip
