"""What a protocol is asked for: which answer, from how many users, how private.

Options are read once: they become a frozen question that holds its values and says what is to be made small. Whatever comes after
takes that question.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

from shuffledp.core import checks
from shuffledp.core.turnout import honest_reports
from shuffledp.planning.options import BY, Option
from shuffledp.protocols.deployable import Deployable

Given = Mapping[str, Any]
"""Options by name, as `Option.read` returns them."""


class ErrorFloor(NamedTuple):
    """A root mean squared error that no protocol of one message per user can be below, and who proved it."""

    rmse: float
    reference: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How many users a question is for, and how private its answer must be.

    Attributes:
        n: reports required before anything is released.
        epsilon: of the central guarantee.
        delta: of the central guarantee.
        honest_fraction: the share of the reports that may be relied on.
        bound: that must prove the guarantee.
    """

    n: int
    epsilon: float
    delta: float
    honest_fraction: float = 1.0
    bound: str = "best"

    def __post_init__(self) -> None:
        checks.settle(self, n=checks.users(self.n))
        checks.settle_promise(self)
        honest_reports(self.n, self.honest_fraction)

    @property
    def honest(self) -> int:
        """Honest reports relied on."""
        return honest_reports(self.n, self.honest_fraction)

    def at(self, **changes: Any) -> Self:
        """With other numbers."""
        return replace(self, **changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question(Terms, ABC):
    """What is asked, on some terms. Each kind of question adds what its options say, such as the domain of the values.

    Attributes:
        name: histogram, sum, mean, ...: one of those in `called`.
        noise: which noise the shuffler adds to true messages; None if users hide each other.
    """

    name: str
    noise: str | None = None
    called: ClassVar[tuple[str, ...]]
    """The names of questions of this kind."""
    options: ClassVar[tuple[Option, ...]]
    """What may be said about them."""

    @classmethod
    @abstractmethod
    def read(cls, given: Given, **terms: Any) -> Self:
        """The question with these options, its name and terms being the rest; refused if they make no sense together."""

    @classmethod
    def fits(cls, given: Given) -> bool:
        """Whether it is this kind of question that has these options: by groups only if it knows of them."""
        return BY.name not in given or BY in cls.options

    @classmethod
    def averages(cls, name: str) -> bool:  # noqa: ARG003
        """Whether the answer to the question of this name is an average over users, not a total."""
        return False

    def cost(self, protocol: Deployable) -> float:
        """What the planner makes small."""
        return protocol.mean_squared_error(self.n)

    @property
    def objective(self) -> str:
        """What the root of the cost is, in words."""
        return "expected error (root mean square)"

    @property
    def judged_share(self) -> float | None:
        """If the error of one entry is what counts: up to which share of the users hold it. None: the whole answer's."""
        return None

    def with_one_more(self, protocol: Deployable) -> Self | None:  # noqa: ARG002
        """The question with a message more of every user than this protocol has; None if nobody knows what that could buy."""
        return None

    def error_floor(self) -> ErrorFloor | None:
        """What cannot be done better, if that is known."""
        return None
