"""A protocol: a mechanism and its estimator, with what planner, simulations and pages ask of them.

Everything else in the package sees protocols through one of these interfaces: clients see the mechanism, engines and analyzers
the estimator, the planner its forecast, reports the description. What only some protocols can do is a class of its own:
`sampling.Sampleable`, `candidates.TakesCandidates`.

What a new protocol must not be able to get wrong lives above: which guarantee is claimed, which words are used for whom, how many
reports are released together.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self, TypeGuard

from shuffledp.protocols.description import Described
from shuffledp.protocols.forecast import Forecaster
from shuffledp.protocols.mechanism import Mechanism
from shuffledp.protocols.reading import Reading
from shuffledp.protocols.simulated import Simulated


class ShuffleProtocol(Mechanism, Forecaster, Simulated, Described):
    """A randomizer of values and the estimator for its messages."""

    __slots__ = ()

    @property
    def reading(self) -> Reading[Any]:
        return Reading(self)

    @classmethod
    @abstractmethod
    def examples(cls) -> Sequence[Self]:
        """A few of them: what the conformance suite judges."""


def is_protocol(thing: object) -> TypeGuard[ShuffleProtocol]:
    """Whether this is a protocol, not a randomizer or a plan."""
    return isinstance(thing, ShuffleProtocol)
