"""A task: a plan and the terms of one collection, as one file that all parties share. Its SHA-256 is its id.

The id is bound into the encryption of every report, so a party with another plan, window or number of hops cannot open any.
Keys are not part of a task: they rotate, and a key of one's own would be a way to tag a user.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, Self

from shuffledp.core.canonical import LARGEST, canonical, digest
from shuffledp.core.digits import rounded_up
from shuffledp.core.document import mistaken_for
from shuffledp.core.files import read_json, save_json
from shuffledp.core.guarantee import claim
from shuffledp.core.parsing import plain
from shuffledp.core.turnout import honest_reports
from shuffledp.errors import InvalidInput
from shuffledp.planning.plan import Plan
from shuffledp.planning.topping_up import refuse_topped_up, topped_up, topped_up_with
from shuffledp.randomizers.geometric_noise import GeometricNoise, noise_of
from shuffledp.service.operators import cautions, checked_operator, comparable
from shuffledp.service.wire.record import record_length

VERSION: Final = 2
_LONGEST: Final = 366 * 24 * 3600
_MOST_HOPS: Final = 4
Expiry = Literal["roll-over", "destroy", "top-up"]
EXPIRIES: Final[tuple[Expiry, ...]] = ("roll-over", "destroy", "top-up")


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What is collected, until when, and by whom.

    Attributes:
        plan: protocol, guarantee and min_batch.
        window: seconds a batch stays open before it may be released.
        max_age: seconds after which a batch that is still too small ends as `on_expiry` says.
        shufflers: who runs each shuffler, from the analyzer out; a report has a layer of encryption for each.
        analyzer: who runs the analyzer.
        honest_fraction: the share of a batch's reports that is assumed to come from users who follow the protocol and do not
            collude; the plan must not rely on more.
        on_expiry: roll-over moves the reports of a batch that is too small to the next one (nothing was exposed), destroy
            erases them, and top-up releases them among dummies that the shuffler adds.
        top_up: how many dummies of each answer are added then: as private as the plan, unless told.
        release_margin: reports above min_batch that a batch needs before it is released, so that reports that turn out to
            be garbage do not spoil it; none here, while `shuffledp task new` asks for 1 % of min_batch unless told otherwise.
        allow_same_operator: accept that one party runs two of these: against it the guarantee is then epsilon0, if there is one.
    """

    plan: Plan
    window: int
    max_age: int
    shufflers: tuple[str, ...]
    analyzer: str
    honest_fraction: float
    on_expiry: Expiry = "roll-over"
    top_up: GeometricNoise | None = None
    release_margin: int = 0
    allow_same_operator: bool = False
    topped_up: Plan | None = field(init=False, repr=False, compare=False, default=None)
    """The plan of a batch that is topped up; None if none ever is."""
    _id: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, seconds in (("window", self.window), ("max_age", self.max_age)):
            if type(seconds) is not int or not 1 <= seconds <= _LONGEST:
                raise InvalidInput(f"{name} must be whole seconds from 1 to a year; got {seconds!r}. Use e.g. 86400.")
        if self.max_age < self.window:
            raise InvalidInput(
                "a batch cannot be too old before its window is over. Give a max_age of at least the window."
            )
        if type(self.shufflers) is not tuple or not 1 <= len(self.shufflers) <= _MOST_HOPS:
            raise InvalidInput(f"a task has 1 to {_MOST_HOPS} shufflers. Name who runs each, from the analyzer out.")
        for name, operator in (*(("shuffler", one) for one in self.shufflers), ("analyzer", self.analyzer)):
            checked_operator(name, operator)
        self._check_reliance()
        if self.on_expiry not in EXPIRIES:
            raise InvalidInput(
                f"on_expiry must be {', '.join(EXPIRIES[:-1])} or {EXPIRIES[-1]}; got {self.on_expiry!r}."
            )
        self._settle_topping_up()
        if type(self.release_margin) is not int or not 0 <= self.release_margin <= LARGEST - self.plan.min_batch:
            raise InvalidInput(
                f"release_margin must be a number of reports; got {self.release_margin!r}. Use e.g. 100."
            )
        if type(self.allow_same_operator) is not bool:
            raise InvalidInput("allow_same_operator must be true or false.")
        if self.same_operator and not self.allow_same_operator:
            raise InvalidInput(
                f"shuffler and analyzer, or two shufflers, have the same operator: against it {self._local.against}. "
                "Name different ones, or accept that with `allow_same_operator`."
            )
        object.__setattr__(self, "_id", digest(self.document()))

    def _settle_topping_up(self) -> None:
        """With the usual dummies, unless told; what is told must be private enough."""
        refuse_topped_up(self.plan)
        if self.on_expiry != "top-up":
            if self.top_up is not None:
                raise InvalidInput(
                    "dummies are added to batches that are topped up. Use on_expiry top-up, or leave out top_up."
                )
            return
        if self.hops > 1:
            raise InvalidInput(
                "a batch is topped up by the shuffler next to the analyzer, and with several shufflers that one does not decide "
                "which batches it gets. Use one shuffler, or roll-over or destroy."
            )
        made = topped_up(self.plan) if self.top_up is None else topped_up_with(self.plan, self.top_up)
        object.__setattr__(self, "top_up", made.protocol.shuffler_noise)
        object.__setattr__(self, "topped_up", made)

    def _check_reliance(self) -> None:
        """A plan that counts on more honest reports than the task assumes would promise too much."""
        fraction = self.honest_fraction
        honest, relied = honest_reports(self.plan.min_batch, fraction), self.plan.guarantee.n
        if honest < relied:
            raise InvalidInput(
                f"the plan relies on {relied:,} honest reports of {self.plan.min_batch:,}, more than an honest fraction of "
                f"{fraction} gives ({honest:,}). Plan with that honest fraction."
            )

    @property
    def hops(self) -> int:
        """Shufflers on the way."""
        return len(self.shufflers)

    @property
    def report_bytes(self) -> int:
        """Bytes of what a user sends, whatever the value and however many messages."""
        return record_length(self.hops + 1, self.plan.protocol.most_messages)

    @property
    def release_size(self) -> int:
        """Reports that a batch needs before it is released."""
        return self.plan.min_batch + self.release_margin

    def plan_of(self, reports: int) -> Plan:
        """The plan that a released batch of so many reports was released by."""
        return self.plan if self.topped_up is None or reports >= self.release_size else self.topped_up

    @property
    def may_add_noise(self) -> bool:
        """Whether records of a batch may be dummies that the shuffler added, so that a batch must say how many reports it has."""
        return self.topped_up is not None or not self.plan.needs_crowd

    @property
    def id(self) -> str:
        """SHA-256 of the canonical form, in hexadecimal."""
        return self._id

    def canonical(self) -> bytes:
        """The bytes that are hashed."""
        return canonical(self.document())

    def document(self) -> dict[str, Any]:
        """The task as JSON data."""
        return {
            "version": VERSION, "plan": self.plan.promise(), "window": self.window, "max_age": self.max_age,
            "shufflers": list(self.shufflers), "analyzer": self.analyzer, "honest_fraction": self.honest_fraction,
            "on_expiry": self.on_expiry, "release_margin": self.release_margin,
            "allow_same_operator": self.allow_same_operator,
            **({} if self.top_up is None else {"top_up": self.top_up.document()}),
        }  # fmt: skip

    @classmethod
    def from_document(cls, document: Any) -> Self:
        """Read a task; its plan is proved again. Unknown versions and fields are refused."""
        if not isinstance(document, dict) or "version" not in document:
            raise InvalidInput("this is not a task. Make one with shuffledp task new.")
        if mistaken_for(document) == "a plan":
            raise InvalidInput("this is not a task but a plan. Make one of it with shuffledp task new.")
        document = plain(document)
        if document["version"] != VERSION:
            raise InvalidInput(f"this task is not of version {VERSION}, the one this software reads. Make a new one.")
        fields = {name: value for name, value in document.items() if name not in ("version", "plan")}
        known = {
            "window", "max_age", "shufflers", "analyzer", "honest_fraction", "on_expiry", "release_margin", "allow_same_operator"
        }  # fmt: skip
        if fields.get("on_expiry") == "top-up":
            known.add("top_up")
        if set(fields) != known or "plan" not in document:
            raise InvalidInput("this task lacks a field or has one too many. Make one with shuffledp task new.")
        if not isinstance(fields["shufflers"], list):
            raise InvalidInput("a task lists who runs its shufflers. Make one with shuffledp task new.")
        fields["shufflers"] = tuple(fields["shufflers"])
        if "top_up" in fields:
            fields["top_up"] = noise_of(fields["top_up"])
        plan = Plan.from_document(document["plan"])
        if document["plan"] != plan.promise():
            raise InvalidInput(
                "the plan of this task has a field too many. Make the task again with shuffledp task new."
            )
        return cls(plan=plan, **fields)

    def save(self, path: Path | str) -> None:
        """Write the task to a file, whole or not at all; `Task.load` reads it."""
        save_json(path, self.document())

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Read a task from a file; its plan is proved again."""
        return cls.from_document(read_json(path, "a task", "Make one with shuffledp task new."))

    @property
    def trust(self) -> str:
        """Who must be trusted for what, in words, and what to look at in their names."""
        return " ".join([self._reliance, *self._topping_up, *cautions(self._operators)])

    @property
    def _topping_up(self) -> Iterator[str]:
        """What holds for a batch that is topped up."""
        if self.topped_up is None:
            return
        last, promised = self.shufflers[0], self.topped_up.guarantee
        yield (
            f"A batch that stays below {self.release_size:,} reports is topped up: {last} adds dummies of every answer and "
            f"releases it. Its guarantee, {claim(promised.epsilon, promised.delta)}, assumes nothing about other users. It holds "
            f"if {last} adds the dummies, does not collude with the analyzer and does not see the answer; otherwise "
            f"{self._local.remains}."
        )

    @property
    def _operators(self) -> tuple[str, ...]:
        return (*self.shufflers, self.analyzer)

    @property
    def _reliance(self) -> str:
        local = self._local
        share = f"{100 * self.plan.guarantee.n / self.plan.min_batch:.6g} %"
        crowd = (
            f"It assumes that at least {self.plan.guarantee.n:,} of any {self.plan.min_batch:,} reports ({share}) are "
            "from users who follow the protocol."
        )
        if self.same_operator and not self.plan.needs_crowd:
            return (
                f"One operator runs more than one part ({_listed((*self.shufflers[::-1], self.analyzer))}): against it "
                f"{local.against}. The guarantee holds against everybody else who sees the result, if {self.shufflers[0]} adds "
                "dummies of every value as it should; otherwise the result is exact. It assumes nothing about other users, "
                "however many there are."
            )
        if self.same_operator:
            return (
                f"One operator runs more than one part ({_listed((*self.shufflers[::-1], self.analyzer))}): against it "
                f"{local.against}. The central guarantee holds against everybody else who sees the result. {crowd}"
            )
        if not self.plan.needs_crowd:
            runs = "runs the shuffler" if self.hops == 1 else "run the shufflers"
            last = self.shufflers[0]
            return (
                f"{_listed(self.shufflers[::-1])} {runs} and {self.analyzer} the analyzer. The guarantee holds if {last}, "
                "who adds dummies of every value, follows the protocol, does not collude with the analyzer and does not see the "
                f"answer. With the answer {last} knows the exact counts, not whose they are; with the analyzer, what everybody "
                "reported. It assumes nothing about other users, however many there are."
            )
        if self.hops > 1 and self.plan.protocol.most_messages > 1:
            return (
                f"{_listed(self.shufflers[::-1])} run {self.hops} shufflers, one after the other, and {self.analyzer} the "
                f"analyzer. The guarantee holds if {self.shufflers[0]}, who takes apart what each user sends, follows the "
                f"protocol and does not collude with the analyzer, and those before neither add nor drop nor select "
                f"reports. Otherwise {local.remains}. {crowd}"
            )
        if self.hops > 1:
            return (
                f"{_listed(self.shufflers[::-1])} run {self.hops} shufflers, one after the other, and {self.analyzer} the "
                f"analyzer. The guarantee holds if the first shuffler follows the protocol and does not collude with the "
                f"analyzer; or if a later one does and those before it neither add nor drop nor select "
                f"reports. Otherwise {local.remains}. {crowd}"
            )
        return (
            f"{self.shufflers[0]} runs the shuffler and {self.analyzer} the analyzer. The guarantee holds if the shuffler "
            f"follows the protocol and does not collude with the analyzer; otherwise {local.remains}. {crowd}"
        )

    @property
    def _local(self) -> "_Local":
        """What is left without a shuffler."""
        epsilon0 = self.plan.epsilon0
        if not math.isfinite(epsilon0):
            return _Local("nothing protects what a user sends", "nothing remains")
        digits = rounded_up(epsilon0)
        return _Local(
            f"only each report's own randomization protects (epsilon0 = {digits})", f"epsilon0 = {digits} remains"
        )

    @property
    def same_operator(self) -> bool:
        """Whether one party runs two parts."""
        names = [comparable(name) for name in self._operators]
        return len(set(names)) < len(names)


class _Local(NamedTuple):
    """A user's own protection in words: against whoever sees what is sent, and what remains of a guarantee."""

    against: str
    remains: str


def _listed(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
