"""A task: a plan and the terms of one collection, as one file that all parties share. Its SHA-256 is its name.

The name is bound into the encryption of every report, so a party with another plan, window or number of hops cannot open any.
Keys are not part of a task: they rotate, and a key of one's own would be a way to tag a user.
"""

import hashlib
import json
import unicodedata
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Self

from shuffledp.core.digits import rounded_up
from shuffledp.errors import InvalidInput
from shuffledp.planning.plan import Plan

VERSION: Final = 1
_LONGEST: Final = 366 * 24 * 3600
Expiry = Literal["roll-over", "destroy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What is collected, and until when.

    Attributes:
        plan: protocol, guarantee and min_batch.
        window: seconds a batch stays open before it may be released.
        max_age: seconds after which a batch that is still too small ends as `on_expiry` says.
        hops: layers of encryption around the analyzer's, one for each shuffler on the way.
        on_expiry: roll-over moves the reports of a batch that is too small to the next one (nothing was exposed), destroy
            erases them.
        shuffler: who runs the shuffler.
        analyzer: who runs the analyzer.
        allow_same_operator: accept that these are the same: against them the guarantee is then epsilon0.
    """

    plan: Plan
    window: int
    max_age: int
    hops: int = 1
    on_expiry: Expiry = "roll-over"
    shuffler: str = "shuffler"
    analyzer: str = "analyzer"
    allow_same_operator: bool = False
    _id: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, seconds in (("window", self.window), ("max_age", self.max_age)):
            if type(seconds) is not int or not 1 <= seconds <= _LONGEST:
                raise InvalidInput(f"{name} must be whole seconds from 1 to a year; got {seconds!r}. Use e.g. 86400.")
        if self.max_age < self.window:
            raise InvalidInput(
                "a batch cannot be too old before its window is over. Give a max_age of at least the window."
            )
        if type(self.hops) is not int or not 1 <= self.hops <= 4:
            raise InvalidInput(f"hops must be 1 to 4; got {self.hops!r}. One shuffler is one hop.")
        if self.on_expiry not in ("roll-over", "destroy"):
            raise InvalidInput(f"on_expiry must be roll-over or destroy; got {self.on_expiry!r}.")
        for name, operator in (("shuffler", self.shuffler), ("analyzer", self.analyzer)):
            if type(operator) is not str or not 1 <= len(operator) <= 200:
                raise InvalidInput(f"{name} must be the name of who runs it. Use up to 200 characters.")
        if type(self.allow_same_operator) is not bool:
            raise InvalidInput("allow_same_operator must be true or false.")
        if self.same_operator and not self.allow_same_operator:
            raise InvalidInput(
                "shuffler and analyzer have the same operator, against whom only epsilon0 would hold. "
                "Name two, or allow the same operator explicitly."
            )
        object.__setattr__(self, "_id", hashlib.sha256(self.canonical()).hexdigest())

    @property
    def id(self) -> str:
        """SHA-256 of the canonical form, in hexadecimal."""
        return self._id

    def canonical(self) -> bytes:
        """The bytes that are hashed."""
        return json.dumps(
            self.document(), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
        ).encode()

    def document(self) -> dict[str, Any]:
        """The task as JSON data."""
        return {
            "version": VERSION, "plan": self.plan.document(), "window": self.window, "max_age": self.max_age,
            "hops": self.hops, "on_expiry": self.on_expiry, "shuffler": self.shuffler, "analyzer": self.analyzer,
            "allow_same_operator": self.allow_same_operator,
        }  # fmt: skip

    @classmethod
    def from_document(cls, document: Any) -> Self:
        """Read a task; its plan is proved again. Unknown versions and fields are refused."""
        if not isinstance(document, dict) or "version" not in document:
            raise InvalidInput("this is not a task. Make one with shuffledp task new.")
        if document["version"] != VERSION:
            raise InvalidInput(f"this task is of another version than {VERSION}. Use the software that made it.")
        fields = {name: value for name, value in document.items() if name not in ("version", "plan")}
        known = {"window", "max_age", "hops", "on_expiry", "shuffler", "analyzer", "allow_same_operator"}
        if set(fields) != known or "plan" not in document:
            raise InvalidInput("this task lacks a field or has one too many. Make one with shuffledp task new.")
        return cls(plan=Plan.from_document(document["plan"]), **fields)

    @property
    def trust(self) -> str:
        """Who must be trusted for what, in words."""
        local = rounded_up(self.plan.randomizer.epsilon0)
        if self.same_operator:
            return (
                f"{self.shuffler} runs both shuffler and analyzer: against them only each report's own randomization protects "
                f"(epsilon0 = {local}). The central guarantee holds against everybody else who sees the result."
            )
        if self.hops > 1:
            return (
                f"{self.shuffler} run {self.hops} shufflers, one after the other, and {self.analyzer} the analyzer. "
                f"The guarantee holds if one of the shufflers does not collude with the analyzer; "
                f"if all do, epsilon0 = {local} remains."
            )
        return (
            f"{self.shuffler} runs the shuffler and {self.analyzer} the analyzer. "
            f"The guarantee holds if they do not collude; if they do, epsilon0 = {local} remains."
        )

    @property
    def same_operator(self) -> bool:
        """Whether one party runs both."""
        return _plain(self.shuffler) == _plain(self.analyzer)


def _plain(operator: str) -> str:
    """A name without the differences that are not seen."""
    seen = "".join(letter for letter in unicodedata.normalize("NFKC", operator) if unicodedata.category(letter) != "Cf")
    return " ".join(seen.casefold().split())
