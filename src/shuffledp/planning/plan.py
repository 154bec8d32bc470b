"""A plan: one protocol with its guarantee, as a file that configures everybody.

The file carries the SHA-256 of the canonical form of what is promised, so an edited one is refused; and loading proves the
guarantee again, so one with a recomputed hash is refused if its claim does not follow. What is only shown, such as the
forecast, is computed anew: a better formula for it invalidates no file.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Self

from shuffledp.accounting.account import account, bound_named
from shuffledp.accounting.histogram_theorem import PAPER_BOUND
from shuffledp.arithmetic.balls import log_down, product_up
from shuffledp.certificates.certificate import Certificate
from shuffledp.core import checks
from shuffledp.core.canonical import digest
from shuffledp.core.captions import Wording
from shuffledp.core.digits import about, at_most, counted, rounded_up
from shuffledp.core.display import figure_of, page_of
from shuffledp.core.document import Document, members, mistaken_for, number, text, whole
from shuffledp.core.files import read_json, save_json
from shuffledp.core.free_memory import check_memory
from shuffledp.core.guarantee import ADJACENCY, NOTHING_LOCAL, Guarantee
from shuffledp.core.parsing import plain
from shuffledp.core.turnout import asking
from shuffledp.errors import InvalidInput, NoClaim
from shuffledp.planning.over_time import OverTime
from shuffledp.protocols import registry
from shuffledp.protocols.candidates import TakesCandidates, no_candidates
from shuffledp.protocols.deployable import Deployable
from shuffledp.protocols.forecast import Forecast
from shuffledp.protocols.grouped import GroupedSummation
from shuffledp.protocols.survey import Survey

VERSION: Final = 3
"""Of the file: since 3 it holds the documents of protocol, domain and randomizer."""
_BYTES_PER_COUNTER: Final = 32
"""Counts of 8 bytes: all, those of a block, and what adding and checking them takes."""
_SHOWN: Final = ("local", "forecast", "certificate")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Plan:
    """What to run.

    Attributes:
        protocol: from values to messages and from counts to an estimate.
        guarantee: what is promised once min_batch reports are shuffled; its n counts honest ones.
        min_batch: reports required before anything is released.
        over_time: how often it is carried out, and what all rounds together guarantee; None if that is left open.
        wording: what people read beside the numbers. It is part of what parties agree on.
        dropout: the share of the people asked who may not answer, if it was planned for; no part of the plan, nor of its file.
    """

    protocol: Deployable
    guarantee: Guarantee
    min_batch: int
    over_time: OverTime | None = None
    wording: Wording = field(default_factory=Wording)
    dropout: float | None = field(default=None, compare=False)

    @property
    def question(self) -> str:
        """What is asked, in a word."""
        return self.protocol.description.question

    @property
    def n(self) -> int:
        """Number of users that it is for: the reports that a batch needs."""
        return self.min_batch

    @property
    def epsilon(self) -> float:
        """What one answer guarantees: its epsilon."""
        return self.guarantee.epsilon

    @property
    def delta(self) -> float:
        """What one answer guarantees: its delta."""
        return self.guarantee.delta

    @property
    def mean_squared_error(self) -> float:
        """Expected squared error of the answer: summed over the entries of the answer, for the worst data."""
        return self.protocol.mean_squared_error(self.min_batch)

    @property
    def rmse(self) -> float:
        """The root of the mean squared error."""
        return self.protocol.rmse(self.min_batch)

    @property
    def rmse_share(self) -> float:
        """The root mean squared error of the answer divided by the number of users."""
        return self.rmse if self.protocol.reading.averages else self.rmse / self.min_batch

    @property
    def paper_error(self) -> float | None:
        """The paper's bound on the mean squared error, for a plan by the paper's recipe."""
        return self.forecast.paper_bound if self.guarantee.bound == PAPER_BOUND else None

    @property
    def forecast(self) -> Forecast:
        """What to expect of the answer."""
        return self.protocol.forecast(self.min_batch)

    @property
    def epsilon0(self) -> float:
        """What one report alone guarantees, by the randomizer that runs; infinite if nothing."""
        local = self.protocol.epsilon0
        return math.inf if local is None else local

    def worded(self, *, title: str | None = None, question: str | None = None, unit: str | None = None) -> Self:
        """The same plan with these texts: a title, the question as people are asked it, the unit of their values.

        >>> from shuffledp import plan
        >>> commute = plan("mean", n=10_000, epsilon=1.0, delta=1e-6, high=180).worded(title="Commuting", unit="minutes")
        >>> commute.explain().splitlines()[0]
        'Commuting'
        """
        return replace(self, wording=self.wording.changed(title=title, question=question, unit=unit))

    def about(self, candidates: Sequence[str] | None) -> Self:
        """The same plan with these candidates, if it takes any text; None leaves it as it is."""
        if isinstance(self.protocol, TakesCandidates):
            return replace(self, protocol=self.protocol.about(candidates))
        if candidates is not None:
            raise no_candidates(self.question)
        return self

    def check_memory(self) -> None:
        """Refuse what this machine cannot count, before anything is allocated."""
        check_memory(
            _BYTES_PER_COUNTER * self.protocol.counters + self.protocol.decoding_memory,
            f"counting the {self.protocol.counters:,} different messages of this plan",
            "Use a machine with more, or plan for fewer values",
        )

    @property
    def needs_crowd(self) -> bool:
        """Whether other users are what hides one; if not, the minimum batch is a choice."""
        return self.protocol.randomizer.blanket().needs_crowd

    def honest_of(self, reports: int) -> int:
        """How many of these reports the plan relies on, at its honest fraction."""
        return checks.whole(reports, "reports", "Give e.g. 1000.") * self.guarantee.n // self.min_batch

    def epsilon_at(self, n: int) -> float:
        """The epsilon at the plan's delta with another number of honest reports, by the plan's bound."""
        if not self.needs_crowd:
            return self.guarantee.epsilon
        return account(self.protocol.randomizer, n=n, delta=self.guarantee.delta, bound=self.guarantee.bound).epsilon

    @property
    def sha256(self) -> str:
        """The hash of what is promised: the plan's name."""
        return digest(self._promised())

    def promise(self) -> Document:
        """What is promised, as JSON data, its hash included: what parties agree on."""
        promised = self._promised()
        return promised | {"sha256": digest(promised)}

    def document(self) -> Document:
        """The plan as JSON data: what is promised, and what is only shown."""
        forecast = self.forecast
        paper = {} if self.paper_error is None else {"paper_mean_squared_error_bound": self.paper_error}
        errors = [{"share": share, "standard_error": error} for share, error in forecast.by_share.items()]
        return self.promise() | {
            "local": self._local(),
            "forecast": {
                "mean_squared_error": self.mean_squared_error,
                "rmse": self.rmse,
                **({"by_share": errors} if errors else {}),
                **({"by_question": dict(forecast.by_question)} if forecast.by_question else {}),
                **paper,
                **forecast.others,
            },
            "certificate": self.certificate().document(),
        }

    def certificate(self) -> Certificate:
        """The plan's claim as a certificate, which `verify` proves again by other means."""
        return Certificate.of(self.protocol.randomizer, self.guarantee, reports=self.min_batch)

    def local_certificate(self) -> Certificate:
        """A certificate of what protects a user's messages by themselves, from which epsilon0 is proved."""
        if self.protocol.local_randomizer == self.protocol.randomizer:
            return self.certificate()
        alone = replace(self.guarantee, caveat=None)
        return Certificate.of(self.protocol.local_randomizer, alone, reports=self.min_batch)

    def _local(self) -> Document:
        """What follows from the randomizer alone."""
        local = self.protocol.local_randomizer
        return {"gamma": local.gamma, "epsilon0": local.epsilon0}

    def _promised(self) -> Document:
        promise = self.guarantee
        return {
            "version": VERSION,
            "protocol": self.protocol.document(),
            "guarantee": {
                "epsilon": promise.epsilon, "delta": promise.delta, "n": promise.n, "bound": promise.bound,
                "adjacency": promise.adjacency,
            },
            "min_batch": self.min_batch,
            **({} if self.over_time is None else {"over_time": self.over_time.document()}),
            **({"wording": self.wording.document()} if self.wording.document() else {}),
        }  # fmt: skip

    @classmethod
    def from_document(cls, document: Any) -> Self:
        """Read a plan; refused if it was edited or if its guarantee does not follow from its parameters."""
        not_a_plan = InvalidInput("this is not a plan. Make one with shuffledp plan.")
        document, what = plain(document), mistaken_for(document)
        if what not in (None, "a plan"):
            raise InvalidInput(f"this is not a plan but {what}. Make one with shuffledp plan.")
        if isinstance(document, dict) and "protocol" in document and document.get("version") != VERSION:
            raise InvalidInput(
                f"this plan is not of version {VERSION}, the one this software reads. Make it again with shuffledp plan."
            )
        try:
            body = {key: value for key, value in document.items() if key not in ("sha256", *_SHOWN)}
            matches = document["sha256"] == digest(body)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise not_a_plan from None
        if not matches:
            raise InvalidInput(
                "the plan does not match its SHA-256: it was edited. Make a new one with shuffledp plan."
            )
        try:
            promise = members(
                body["guarantee"], "a guarantee", epsilon=number, delta=number, n=whole, bound=text, adjacency=text
            )
            protocol = registry.from_document(body["protocol"])
            if not isinstance(protocol, Deployable):
                raise not_a_plan
            plan = cls(
                protocol=protocol,
                guarantee=Guarantee(
                    **promise,
                    reference=bound_named(promise["bound"]).reference,
                    caveat=protocol.randomizer.blanket().caveat,
                ),
                min_batch=whole(body["min_batch"]),
                over_time=OverTime.from_document(body["over_time"]) if "over_time" in body else None,
                wording=Wording.from_document(body.get("wording", {})),
            )
            plan._check_ranges()
            follows = plan.sha256 == digest(body) and plan.holds()
            follows = follows and digest(document.get("local", plan._local())) == digest(plan._local())
            claim = plan.certificate().document()["claim"]
            certified = digest(document.get("certificate", {"claim": claim})["claim"]) == digest(claim)
        except (AttributeError, KeyError, TypeError, ValueError, ArithmeticError, NoClaim):
            raise not_a_plan from None
        if not follows:
            raise InvalidInput(
                "the plan's claim does not follow from its parameters. Make a new one with shuffledp plan."
            )
        if not certified:
            raise InvalidInput(
                "the certificate in this plan is not about its guarantee. Make a new one with shuffledp plan."
            )
        return plan

    def _check_ranges(self) -> None:
        """Refuse numbers that no plan is made of."""
        checks.epsilon(self.guarantee.epsilon, positive=True)
        checks.probability(self.guarantee.delta, "delta")
        checks.users(self.min_batch)

    def holds(self) -> bool:
        """Whether the accountant proves the guarantee from the randomizer as it runs."""
        if not (1 <= self.guarantee.n <= self.min_batch and self.guarantee.adjacency == ADJACENCY):
            return False
        claim = bound_named(self.guarantee.bound).claim(
            self.protocol.randomizer.blanket(), n=self.guarantee.n, epsilon=self.guarantee.epsilon, side="upper"
        )
        proved = claim.regime is None and claim.log_delta.upper <= log_down(self.guarantee.delta)
        return proved and (self.over_time is None or self.over_time.holds(self.protocol.randomizer, self.guarantee))

    def save(self, path: Path | str) -> None:
        """Write the plan to a file, whole or not at all; `Plan.load` reads it."""
        save_json(path, self.document())

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Read a plan from a file; its guarantee is proved again.

        >>> from shuffledp import plan
        >>> from tempfile import TemporaryDirectory
        >>> made = plan("query", n=1000, epsilon=1.0, delta=1e-6)
        >>> with TemporaryDirectory() as folder:
        ...     made.save(f"{folder}/plan.json")
        ...     Plan.load(f"{folder}/plan.json") == made
        True
        """
        return cls.from_document(read_json(path, "a plan", "Make one with shuffledp plan -o."))

    def __str__(self) -> str:
        return self.explain()

    def __repr__(self) -> str:
        promise = self.guarantee
        return (
            f"<Plan: {self.question} of {counted(self.min_batch, 'user')}, epsilon = {rounded_up(promise.epsilon)}, "
            f"delta = {rounded_up(promise.delta)}>"
        )

    def _repr_html_(self) -> str:
        return page_of(self)

    def plot(self) -> Any:
        """A picture of how epsilon changes if fewer or more reports arrive."""
        return figure_of(self)

    def explain(self) -> str:
        """The plan in words."""
        half = max(1, self.guarantee.n // 2)
        lines = [
            *(text for text in (self.wording.title, self.wording.question) if text),
            f"{self.question} of {counted(self.min_batch, 'user')}",
            self.protocol.sentence(),
            f"guarantee: {self.guarantee}",
            *([] if self.over_time is None else [f"over time: {self.over_time}"]),
            *self.forecast.lines,
        ]
        if math.isinf(self.epsilon0):
            lines.append(NOTHING_LOCAL)
        if self.paper_error is not None:
            lines.append(
                f"mean squared error {about(self.mean_squared_error)}; the paper bounds it by {at_most(self.paper_error)}"
            )
        if not self.needs_crowd:
            lines.append(
                f"the guarantee holds for any number of reports; the minimum of {self.min_batch:,}, below which nothing is "
                "released, is a choice"
            )
            return "\n".join(lines)
        few = f"if only {counted(half, 'honest report')} {'arrives' if half == 1 else 'arrive'}"
        try:
            lines.append(f"{few}, epsilon is {rounded_up(self.epsilon_at(half))}")
        except NoClaim as error:
            lines.append(f"{few}, this bound says nothing: {error}")
        lines += self._false_reports()
        if self.dropout is not None:
            lines.append(asking(self.min_batch, self.dropout))
        return "\n".join(lines)

    def _false_reports(self) -> Iterator[str]:
        """By how much those who are not relied on can shift the answer."""
        lies = self.min_batch - self.guarantee.n
        by_group = isinstance(self.protocol, GroupedSummation)
        asked = self.protocol.questions if isinstance(self.protocol, Survey) else ()
        if not lies or any(isinstance(one.protocol, GroupedSummation) for one in asked):
            return  # how far the mean of a group moves depends on how many are in it
        entry = "the number of people in a group" if by_group else "one entry of the answer"
        most = at_most(product_up(self.protocol.max_shift(self.min_batch), lies))
        yield f"if {counted(lies, 'report')} {'is' if lies == 1 else 'are'} false, {entry} shifts by at most {most}"
