"""What `run` and the analyzer say: one type, one JSON schema."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.arithmetic.balls import product_up
from shuffledp.certificates.certificate import Certificate
from shuffledp.core import checks
from shuffledp.core.counts import Counts
from shuffledp.core.display import drawn
from shuffledp.core.document import Document
from shuffledp.core.estimate import Entry, Estimate
from shuffledp.core.guarantee import Guarantee
from shuffledp.errors import InvalidInput, unknown
from shuffledp.planning.plan import Plan
from shuffledp.planning.spend import Spend
from shuffledp.protocols.statistics import Ranking
from shuffledp.results.balance import Balance
from shuffledp.results.notebook import shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where a result of the service comes from.

    Attributes:
        task: id of the task.
        batch: SHA-256 of the released batch.
        trust: who must be trusted for what.
        ledger: where the population's budget stands; None if none is kept.
    """

    task: str
    batch: str
    trust: str
    ledger: Balance | None


def listed(estimate: Estimate, *, confidence: float, simultaneous: bool) -> dict[str, list[Any]]:
    """Values, standard errors and intervals of all entries, as JSON data: null where there is no number."""
    low, high = estimate.interval(confidence, simultaneous=simultaneous)
    limits = zip(_numbers(low), _numbers(high), strict=True)
    return {
        "value": _numbers(estimate.value),
        "standard_error": _numbers(estimate.standard_error),
        "interval": [None if start is None else [start, end] for start, end in limits],
    }


def _numbers(values: NDArray[np.float64]) -> list[float | None]:
    return [None if math.isnan(value) else value for value in values.tolist()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """An estimate with its guarantee, and what became of every row or report.

    Attributes:
        plan: what was run.
        counts: of the shuffled messages: all that is known of the data.
        estimate: with named entries.
        also: what else the same counts say, by name.
        guarantee: what is promised; None if the randomness was not secret.
        realised_epsilon: epsilon at the plan's delta with the reports received; None likewise.
        realised_honest: how many honest ones among them that relies on.
        unit: what one person may change.
        rows_per_person: the most rows or reports of one person.
        received: rows or reports, valid or not.
        rejected: those that took no part, by reason.
        adjusted: values that were changed to fit the plan, by reason.
        truth: the exact answer, if it was asked for. Not private.
        notes: what a reader should know.
        provenance: of a result of the service.
    """

    plan: Plan
    counts: Counts
    estimate: Estimate
    guarantee: Guarantee | None
    realised_epsilon: float | None
    realised_honest: int | None
    unit: str
    received: int
    also: Mapping[str, Estimate] = field(default_factory=dict)
    rejected: dict[str, int] = field(default_factory=dict)
    adjusted: dict[str, int] = field(default_factory=dict)
    truth: NDArray[np.float64] | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()
    provenance: Provenance | None = None
    rows_per_person: int = 1

    def about(self, candidates: Sequence[str]) -> Self:
        """What the same reports say about other texts. It costs no privacy: only the counts of messages are looked at."""
        plan = self.plan.about(candidates)
        estimate = plan.protocol.estimate(self.counts, guarantee=self.guarantee)
        before = self.plan.protocol.notes()
        return replace(
            self, plan=plan, estimate=plan.protocol.read(estimate), also=plan.protocol.also(estimate), truth=None,
            notes=(*(note for note in self.notes if note not in before), *plan.protocol.notes()),
        )  # fmt: skip

    @property
    def local_epsilon(self) -> float | None:
        """What holds for a person if messages are seen before they are shuffled: epsilon0 for each row, rounded up."""
        if not math.isfinite(self.plan.epsilon0):
            return None
        return product_up(self.plan.epsilon0, self.rows_per_person)

    @property
    def spend(self) -> Spend | None:
        """What the answer costs, for the accountant; None if it promises something else than its plan."""
        return Spend.of(self.plan) if self.guarantee == self.plan.guarantee else None

    @property
    def certificate(self) -> Certificate | None:
        """The claim, for `verify`; None if the result promises something else than its plan."""
        return self.plan.certificate() if self.guarantee == self.plan.guarantee else None

    @property
    def n(self) -> int:
        """Number of valid reports."""
        return self.estimate.n

    @property
    def names(self) -> tuple[str, ...]:
        """What each entry of the estimate is."""
        return self.estimate.names

    @property
    def statistics(self) -> Ranking | None:
        """What else can be read off the estimate at no cost in privacy: shares, quantiles, ranges; None if nothing."""
        return self.plan.protocol.statistics(self.estimate)

    @property
    def max_shift(self) -> float:
        """By how much one false report moves an entry at most."""
        return self.plan.protocol.read_shift(self.estimate)

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.estimate.entries())

    def __getitem__(self, name: str | int) -> Entry:
        """The entry of this name, or at this place.

        >>> from shuffledp import plan, run
        >>> answer = run(plan("query", n=1000, epsilon=1.0, delta=1e-6), [0, 1] * 500, query=float)
        >>> answer["query"].low < 0.5 < answer["query"].high
        True
        """
        found = self.estimate.entries()
        if isinstance(name, int):
            return found[name]
        if name not in self.names:
            raise unknown("entry", str(name), self.names)
        return found[self.names.index(name)]

    @property
    def misfits(self) -> str | None:
        """A sentence about rows that were left out or changed, if that is more than a tenth of all."""
        strange = sum(self.rejected.values()) + sum(self.adjusted.values())
        if 10 * strange <= self.received:
            return None
        return (
            f"{strange:,} of {self.received:,} rows did not fit the plan and were left out or changed. Check the column and the "
            "plan's labels or range."
        )

    def to_dict(self, *, confidence: float = 0.95, simultaneous: bool = False) -> dict[str, dict[str, float]]:
        """The entries by name: estimate, standard error and interval."""
        found = self.estimate.entries(confidence, simultaneous=simultaneous)
        return {one.name: {key: value for key, value in one._asdict().items() if key != "name"} for one in found}

    def columns(self, *, confidence: float = 0.95, simultaneous: bool = False) -> dict[str, Any]:
        """The entries as columns, of which any library makes a data frame: name, estimate, standard error, interval, truth."""
        low, high = self.estimate.interval(confidence, simultaneous=simultaneous)
        found = {
            "name": list(self.names), "estimate": self.estimate.value,
            "standard_error": self.estimate.standard_error, "low": low, "high": high,
        }  # fmt: skip
        return found | ({} if self.truth is None else {"truth": self.truth})

    def to_frame(self, *, confidence: float = 0.95, simultaneous: bool = False) -> Any:
        """The same as a data frame of pandas."""
        try:
            import pandas as pd
        except ImportError:
            raise InvalidInput(
                "a data frame needs pandas, which is not installed. Install it, or use columns()."
            ) from None
        return pd.DataFrame(self.columns(confidence=confidence, simultaneous=simultaneous))

    def plot(self) -> Any:
        """A picture of the estimates with their intervals."""
        return drawn(self)

    def _repr_html_(self) -> str:
        return shown(self)

    def document(self, *, confidence: float = 0.95, simultaneous: bool = False) -> Document:
        """The result as JSON data; every result has all these fields."""
        confidence = checks.real(confidence, "confidence")
        origin: dict[str, Any] = (
            dict.fromkeys(("task", "batch", "trust", "ledger")) if self.provenance is None else asdict(self.provenance)
        )
        return {
            "question": self.plan.question,
            "measure": self.plan.protocol.measure,
            "measures": self.plan.protocol.measures,
            "wording": {"title": None, "question": None, "unit": None} | self.plan.wording.document(),
            "estimate": {
                "names": list(self.names),
                **listed(self.estimate, confidence=confidence, simultaneous=simultaneous),
                "confidence": confidence,
                "simultaneous": simultaneous,
                "refused": self.estimate.refused,
                "standard_error_is_a_bound": self.plan.protocol.errors_are_bounds,
                "threshold": None if self.estimate.threshold is None else self.estimate.threshold._asdict(),
            },
            "also": {
                name: {
                    "names": list(one.names),
                    **listed(one, confidence=confidence, simultaneous=simultaneous),
                    "refused": one.refused,
                }
                for name, one in self.also.items()
            },
            "guarantee": self._guarantee(),
            "certificate": None if self.certificate is None else self.certificate.document(),
            "n": self.n,
            "received": self.received,
            "rejected": dict(self.rejected),
            "adjusted": dict(self.adjusted),
            "truth": None if self.truth is None else _numbers(self.truth),
            "max_shift_per_false_report": self.max_shift,
            "plan": self.plan.sha256,
            "spend": None if self.spend is None else asdict(self.spend),
            **origin,
            "notes": list(self.notes),
        }

    def _guarantee(self) -> Document | None:
        promise = self.guarantee
        if promise is None:
            return None
        return {
            "epsilon": promise.epsilon, "delta": promise.delta, "n": promise.n, "bound": promise.bound,
            "adjacency": promise.adjacency, "unit": self.unit, "realised_epsilon": self.realised_epsilon,
            "realised_honest": self.realised_honest,
            "epsilon_if_shuffler_and_analyzer_collude": self.local_epsilon,
        }  # fmt: skip
