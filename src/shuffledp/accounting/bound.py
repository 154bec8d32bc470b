"""What a bound is: a total function from (blanket, n, epsilon) to an enclosure of log delta."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, Protocol, runtime_checkable

from flint import arb, ctx

from shuffledp.arithmetic.enclosure import Enclosure
from shuffledp.arithmetic.positive_part import ErrorLedger
from shuffledp.core.blanket import Blanket

TOLERANCE: Final = 1e-4
"""Relative precision of epsilon, roughly, that numeric bounds aim for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a bound says of log delta, or why it says nothing.

    Attributes:
        log_delta: encloses the natural logarithm of the true delta; (-inf, 0) where nothing is claimed.
        regime: None, or one sentence on why the bound does not apply and what to do.
        lower_by: which bound gave the lower end.
        upper_by: which bound gave the upper end.
        ledger: where the width of a numeric claim comes from.
    """

    log_delta: Enclosure
    regime: str | None = None
    lower_by: str | None = None
    upper_by: str | None = None
    ledger: ErrorLedger | None = None

    def certificate(self, version: str) -> dict[str, Any] | None:
        """Who gave each side, with which version, and what the numeric error is made of; None for a formula."""
        if self.lower_by is None and self.upper_by is None:
            return None
        return {
            "version": version,
            "tolerance": TOLERANCE,
            "lower_by": self.lower_by,
            "upper_by": self.upper_by,
            "ledger": None if self.ledger is None else asdict(self.ledger),
        }


Side = Literal["lower", "upper", "both"]
BoundKind = Literal["formula", "numeric", "witness"]
NOTHING = Enclosure(-math.inf, 0.0)
CERTAINLY_PRIVATE = Claim(log_delta=Enclosure(-math.inf, -math.inf))


def outside(reason: str) -> Claim:
    """No claim, and why."""
    return Claim(log_delta=NOTHING, regime=reason)


def at_most(log_delta: Enclosure) -> Claim:
    """An upper bound on delta: its lower end says nothing. One that reaches 1 says nothing at all."""
    if log_delta.upper >= 0:
        return outside("the bound exceeds delta = 1 here and so says nothing. Use more users or a larger epsilon.")
    return Claim(log_delta=Enclosure(-math.inf, log_delta.upper))


class Bound(Protocol):
    """A privacy bound for shuffled randomizers.

    A formula is cheap and solved to the last bit; a numeric bound costs milliseconds and is solved to a relative
    precision; a witness only says how large delta is at least.
    """

    @property
    def kind(self) -> BoundKind:
        """How it is computed."""
        ...

    @property
    def name(self) -> str:
        """As on the command line."""
        ...

    @property
    def reference(self) -> str:
        """Where it is stated."""
        ...

    def __hash__(self) -> int:
        """What was composed of its curves is kept by it."""
        ...

    def claim(self, blanket: Blanket, *, n: int, epsilon: float, side: Side = "both") -> Claim:
        """What is known about delta at this epsilon, for n users; the side that is not asked for may be left open."""
        ...


@runtime_checkable
class Batched(Protocol):
    """A bound that is evaluated at several epsilons in less time than at one after the other."""

    def claims(self, blanket: Blanket, *, n: int, epsilons: Sequence[float], side: Side = "both") -> list[Claim]:
        """What `claim` says of each of them."""
        ...


@runtime_checkable
class Composing(Protocol):
    """A bound that reads the epsilon of several releases off what is composed of them: nothing has to be searched for."""

    def composed_epsilon(self, blanket: Blanket, *, n: int, delta: float) -> float | None:
        """The least epsilon at this delta; None if the blanket is of one release, or if there is none."""
        ...


def is_local_guarantee(blanket: Blanket, epsilon: float) -> bool:
    """Whether epsilon >= epsilon0 for certain: then delta = 0 whatever the shuffler does (post-processing)."""
    with ctx.workprec(128):  # one unit in the last place of a double is told from none
        epsilon0 = blanket.epsilon0()
        return epsilon0 is not None and bool(arb(epsilon) >= epsilon0)
