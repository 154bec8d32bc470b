"""The interface of what is audited: something that can be watched in two neighbouring worlds."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.first_guess import gaussian_mu
from shuffledp.auditing.event import Atoms
from shuffledp.core.document import Document

Reals = NDArray[np.float64]
View = Literal["shuffled", "local"]
"""What the attacker sees: the shuffled messages of all users, or the messages of one user as they are sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """What is held against the audit: (epsilon, delta)-differential privacy.

    Attributes:
        epsilon: rounded up.
        delta: 0 for a pure claim.
        by: who says so.
        lower: a proven lower end of the true epsilon, if there is one: no claim could be below it.
    """

    epsilon: float
    delta: float
    by: str
    lower: float | None = None

    def using_it_up(self) -> Atoms:
        """The scores of a mechanism that is no more private than is claimed: what an audit must be able to find.

        With delta = 0 it is randomized response of two values, otherwise a normal variable that is shifted.
        """
        if self.delta == 0:
            share = 1 / (1 + math.exp(-self.epsilon))
            law = np.array([share, 1 - share])
            return Atoms(np.array([self.epsilon, -self.epsilon]), law, law[::-1])
        mu = gaussian_mu(self.epsilon, self.delta)
        edges = np.linspace(-9.0, 9.0 + mu, 4001)
        middles = (edges[1:] + edges[:-1]) / 2
        first, second = (np.exp(-((middles - at) ** 2) / 2) for at in (mu, 0.0))
        return Atoms(middles, first / first.sum(), second / second.sum())

    def document(self) -> Document:
        """As JSON data."""
        return {"epsilon": self.epsilon, "delta": self.delta, "by": self.by, "lower": self.lower}


class Subject(ABC):
    """Something to be audited. Whatever its scores are, the audit is valid; the better they are, the more it shows.

    Attributes:
        name: in words.
        view: what the attacker sees.
        n: users who are shuffled together and whose messages the attacker does not know.
        claimed: what is held against the audit.
        learned: whether the scores are learned from examples, not known to be the best.
        concurrent: whether trials may be drawn by several threads at once.
        block: trials to draw at once.
    """

    name: str
    view: View
    n: int
    claimed: Claimed
    learned: bool = False
    concurrent: bool = False
    block: int = 1

    def learn(self, trials: int, *, seconds: float = math.inf) -> int:  # noqa: ARG002
        """Learn how to tell the worlds apart, from outcomes that are used for nothing else; returns how many trials it took.

        From about so many trials; or, if that is 0, from as many as are usual and fit into about so many seconds.
        """
        return 0

    def foreseen(self) -> Atoms | None:
        """The law of the scores, if what runs is what is claimed; None if that is not known."""
        return None

    def singled_out(self) -> Atoms | None:
        """The law of the scores if the user's own messages could be told from those of others; None if nobody tries to."""
        return None

    @property
    @abstractmethod
    def worlds(self) -> str:
        """The two neighbouring datasets, in words."""

    @abstractmethod
    def scores(self, first: int, trials: int) -> tuple[Reals, Reals]:
        """Scores of independent trials of the first and of the second world; trials are numbered from `first` on.

        The trials of one world must be independent of each other. The two worlds need not be.
        """
