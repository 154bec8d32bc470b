"""What `run` and the analyzer say: one type, one JSON schema."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.arithmetic.balls import product_up
from shuffledp.certificates.certificate import Certificate
from shuffledp.core import checks
from shuffledp.core.counts import Counts
from shuffledp.core.digits import rounded_up
from shuffledp.core.document import Document
from shuffledp.core.estimate import Entry, Estimate
from shuffledp.core.guarantee import Guarantee
from shuffledp.domains.domain import ALIKE
from shuffledp.errors import InvalidInput, unknown
from shuffledp.planning.plan import Plan
from shuffledp.planning.release_cost import Spend
from shuffledp.protocols.statistics import Ranking
from shuffledp.results.answer import Answer
from shuffledp.results.balance import Balance
from shuffledp.results.estimate_entries import USERS

if TYPE_CHECKING:
    from shuffledp.results.saved_result import SavedResult


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


class Reached(NamedTuple):
    """What a share of the users reach: a number, or a label of bins that are in their order, and its confidence limits."""

    value: float | str
    low: float | str
    high: float | str


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
class Result(Answer):
    """An estimate with its guarantee, and what became of every row or report.

    Attributes:
        plan: what was run.
        counts: of the shuffled messages: all that is known of the data.
        estimate: with named entries.
        also: what else is derived from the same counts, by name.
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
        provenance: where it came from, if from the service.
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
        before, reading = self.plan.protocol.reading, plan.protocol.reading
        estimate = plan.protocol.estimate(self.counts, guarantee=self.guarantee)
        notes = (note for note in self.notes if note not in before.notes())
        return replace(
            self, plan=plan, estimate=reading.of(estimate), also=reading.beside(estimate), truth=None,
            notes=(*notes, *reading.notes()),
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
    def statistics(self) -> Ranking | None:
        """What else can be read off the estimate at no cost in privacy: shares, quantiles, ranges; None if nothing."""
        return self.plan.protocol.reading.statistics(self.estimate)

    def quantile(self, share: float, question: str | None = None, *, confidence: float = 0.95) -> Reached:
        """The value that this share of the users reach, with its limits; `question` names one of a survey.

        >>> from shuffledp import plan, run
        >>> minutes = plan.distribution(low=0, high=60, resolution=60, n=1000, epsilon=4.0, delta=1e-6)
        >>> median = run(minutes, [10, 20, 30, 40] * 250).quantile(0.5)
        >>> median.low <= median.value <= median.high
        True
        """
        curves = self.plan.protocol.reading.curves(self.estimate)
        statistics = self.statistics
        if curves and question is None and len(curves) > 1:
            raise InvalidInput(
                f"several questions have quantiles. Say which, e.g. answer.quantile(0.5, {next(iter(curves))!r})."
            )
        if question is not None and question not in curves:
            if curves:
                raise unknown("distribution", question, tuple(curves))
            asked = "answer.quantile(0.5)" if statistics is not None and statistics.curve is not None else "its entries"
            raise InvalidInput(
                f"no question of this answer asks for a distribution, so none is chosen by name. Use {asked}, or plan "
                "a survey with a distribution for the quantiles of one question."
            )
        curve = next(iter(curves.values()), None) if question is None else curves[question]
        curve = curve if statistics is None else statistics.curve
        if curve is not None:
            at = curve.quantile(share, confidence)
            return Reached(at.value, at.low, at.high)
        if statistics is None or statistics.ordered is None:
            raise InvalidInput(
                "this answer has no quantiles. Plan a distribution, or a histogram with `objective='total'`."
            )
        value, low, high = (self.names[place] for place in statistics.ordered.quantile(share, confidence))
        return Reached(value, low, high)

    def top(self, count: int) -> list[Entry]:
        """The entries with the largest estimates, the largest first.

        >>> from shuffledp import plan, run
        >>> poll = plan.histogram(labels=["no", "yes"], n=1000, epsilon=4.0, delta=1e-6)
        >>> [entry.name for entry in run(poll, ["no"] * 900 + ["yes"] * 100).top(1)]
        ['no']
        """
        entries = self.estimate.entries()
        return [entries[place] for place in self._ranking().top(count)]

    def frequencies(self, question: str | None = None) -> Estimate:
        """The share of the users with each value: `to_frame()` shows them; `question` names one of a survey.

        >>> from shuffledp import plan, run
        >>> poll = plan.histogram(labels=["no", "yes"], n=1000, epsilon=4.0, delta=1e-6)
        >>> shares = run(poll, ["no"] * 900 + ["yes"] * 100).frequencies()
        >>> bool(abs(shares.value.sum() - 1) < 0.1)
        True
        """
        counted = self.counted_questions
        if question is None and len(counted) != len(self.plan.protocol.description.measures):
            question = counted[0] if len(counted) == 1 else None
        if question is None and not self.plan.protocol.description.measures:
            return replace(self._ranking().frequencies(), names=self.names)
        if question is None:
            raise InvalidInput(
                f"the answer is of several questions. Say which, e.g. answer.frequencies({next(iter(counted), 'name')!r})."
            )
        if question not in counted:
            raise unknown("question with shares", question, counted) if counted else self._no_shares()
        at = [place for place, name in enumerate(self.names) if name.startswith(f"{question}: ")]
        value, error = (column[at] / self.n for column in (self.estimate.value, self.estimate.standard_error))
        names = tuple(self.names[place].removeprefix(f"{question}: ") for place in at)
        return Estimate(value=value, standard_error=error, n=self.n, guarantee=self.guarantee, names=names)

    @property
    def counted_questions(self) -> tuple[str, ...]:
        """The questions of a survey whose entries count users."""
        curves = self.plan.protocol.reading.curved
        measures = self.plan.protocol.description.measures
        return tuple(name for name, measure in measures.items() if measure == USERS and name not in curves)

    def _ranking(self) -> Ranking:
        if self.statistics is None:
            raise self._no_shares()
        return self.statistics

    def _no_shares(self) -> InvalidInput:
        return InvalidInput(
            "this answer is not one histogram, so it has no shares and no largest values. See to_frame()."
        )

    @property
    def max_shift(self) -> float:
        """By how much one false report moves an entry at most."""
        return self.plan.protocol.reading.shift(self.estimate)

    @property
    def misfits(self) -> str | None:
        """A sentence about rows that were left out or changed, if that is more than a tenth of all.

        Labels that were to be matched loosely, and were, did fit.
        """
        adjusted = {reason: count for reason, count in self.adjusted.items() if reason != ALIKE}
        strange = sum(self.rejected.values()) + sum(adjusted.values())
        if 10 * strange <= self.received:
            return None
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in (*self.rejected.items(), *adjusted.items()))
        return (
            f"{strange:,} of {self.received:,} rows did not fit the plan and were left out or changed: {reasons}. If that is "
            "more than you expect, check the column and the plan's labels or range."
        )

    @property
    def cost_of_rows(self) -> str | None:
        """A sentence about people with several rows, if these make the guarantee weaker than planned."""
        planned = self.plan.guarantee.epsilon
        if self.rows_per_person <= 1 or self.guarantee is None or self.guarantee.epsilon <= planned:
            return None
        return (
            f"With up to {self.rows_per_person:,} rows per person, epsilon is {rounded_up(self.guarantee.epsilon)} for a person, "
            f"instead of the plan's {rounded_up(planned)}. Keep one row per person, or plan with a smaller epsilon."
        )

    @property
    def question(self) -> str:
        return self.plan.question

    def whole(self) -> Document:
        """The result as JSON data, with the quantiles and the curve of a distribution: what files hold."""
        from shuffledp.results.derived import derived

        read_off = derived(self)
        return self.document() | ({"derived": read_off} if read_off else {})

    @staticmethod
    def load(path: Path | str) -> "SavedResult":
        """Read an answer from a file that `save`, or the command line with --json or -o, wrote.

        >>> from tempfile import TemporaryDirectory
        >>> from shuffledp import plan, run
        >>> answer = run(plan("query", n=1000, epsilon=1.0, delta=1e-6), [0, 1] * 500, query=float)
        >>> with TemporaryDirectory() as folder:
        ...     answer.save(f"{folder}/answer.json")
        ...     Result.load(f"{folder}/answer.json")["query"] == answer["query"]
        True
        """
        from shuffledp.results.saved_result import SavedResult

        return SavedResult.load(path)

    def __repr__(self) -> str:
        return Answer.__repr__(self)

    def document(self, *, confidence: float = 0.95, simultaneous: bool = False) -> Document:
        """The result as JSON data; every result has all these fields."""
        confidence = checks.real(confidence, "confidence")
        origin: dict[str, Any] = (
            dict.fromkeys(("task", "batch", "trust", "ledger")) if self.provenance is None else asdict(self.provenance)
        )
        described = self.plan.protocol.description
        return {
            "question": self.plan.question,
            "measure": described.measure,
            "measures": dict(described.measures),
            "wording": {"title": None, "question": None, "unit": None} | self.plan.wording.document(),
            "estimate": {
                "names": list(self.names),
                **listed(self.estimate, confidence=confidence, simultaneous=simultaneous),
                "confidence": confidence,
                "simultaneous": simultaneous,
                "refused": self.estimate.refused,
                "standard_error_is_a_bound": described.errors_are_bounds,
                "threshold": None if self.estimate.threshold is None else self.estimate.threshold._asdict(),
            },
            "also": {
                name: {
                    "names": list(more.names),
                    **listed(more, confidence=confidence, simultaneous=simultaneous),
                    "refused": more.refused,
                }
                for name, more in self.also.items()
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
