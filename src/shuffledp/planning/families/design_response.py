"""Families of protocols on design response: which plane or space, and how much blanket."""

import math
from abc import abstractmethod
from collections.abc import Iterable
from functools import lru_cache

from shuffledp.accounting.account import calibrate
from shuffledp.accounting.first_guess import gaussian_gamma, gaussian_mu
from shuffledp.arithmetic.inversion import first_integer
from shuffledp.core.randomness import WORD
from shuffledp.errors import InvalidInput, NoClaim
from shuffledp.planning.family import Asked, PlannedFamily, says_nothing, too_small
from shuffledp.protocols.one_message import OneMessage
from shuffledp.randomizers.design_response import DesignResponse
from shuffledp.randomizers.structures import AffineSpace


class DesignFamily(PlannedFamily[Asked]):
    """The plane, or the space, whose order errs least: chosen by a Gaussian guess of its blanket, then calibrated."""

    @abstractmethod
    def structures(self, question: Asked) -> Iterable[AffineSpace]:
        """Those that would do."""

    @abstractmethod
    def build(self, question: Asked, randomizer: DesignResponse) -> OneMessage:
        """The protocol on this randomizer."""

    @abstractmethod
    def too_many(self, question: Asked) -> InvalidInput:
        """The error if no structure would do."""

    def propose(self, question: Asked) -> OneMessage:
        """The best order by a guess; then the least blanket that the accountant grants."""
        if question.bound != "best":
            raise NoClaim(f"the bound {question.bound} does not cover design response. Use the best one.")
        _, structure = self._best(question)
        if structure is None:
            raise self.too_many(question)
        gamma = calibrate(
            DesignResponse.family(structure), n=question.honest, epsilon=question.epsilon, delta=question.delta
        )
        if not gamma < 1:
            raise says_nothing()
        return self.build(question, DesignResponse.private(structure, gamma=gamma))

    def guess(self, question: Asked) -> float | None:
        """With the blanket that a Gaussian would need."""
        return None if question.bound != "best" else self._best(question)[0]

    def propose_for_error(self, question: Asked, cost: float) -> OneMessage:
        """The most blanket with that cost, on the order that is most private by a guess."""
        found, least = None, math.inf
        for structure in self.structures(question):
            share, overlap = float(structure.share), float(structure.overlap)
            if found is not None:
                wanted = gaussian_gamma(share, overlap, question.honest, least) * (1 - 1e-9)
                if self._cost(question, structure, max(1, int(wanted * WORD))) > cost:
                    continue  # less blanket than that is less private than what is found already
            threshold = first_integer(lambda t: self._cost(question, structure, t) > cost, 0, WORD) - 1  # noqa: B023
            if threshold < 1:
                continue
            g = threshold / WORD
            mu = math.sqrt(2 * (share - overlap) / (question.honest * g)) * (1 - g) / share
            if mu < least:
                found, least = DesignResponse(structure=structure, threshold=threshold), mu
        if found is None:
            raise too_small()
        return self.build(question, found)

    def _best(self, question: Asked) -> tuple[float, AffineSpace | None]:
        """The least cost that is guessed, and what has it."""
        mu = gaussian_mu(question.epsilon, question.delta)

        def cost(structure: AffineSpace) -> float:
            gamma = gaussian_gamma(float(structure.share), float(structure.overlap), question.honest, mu)
            return self._cost(question, structure, max(1, math.ceil(gamma * WORD)))

        guesses = ((cost(structure), structure) for structure in self.structures(question))
        return min(guesses, key=lambda found: found[0], default=(math.inf, None))

    def _cost(self, question: Asked, structure: AffineSpace, threshold: int) -> float:
        randomizer = DesignResponse(structure=structure, threshold=min(threshold, WORD))
        if not randomizer.gamma_as_run < 1:
            return math.inf
        return question.cost(self.build(question, randomizer))


_MOST_MESSAGES = 1 << 26
"""Half a gigabyte of counts: the planner does not ask for more."""


@lru_cache(maxsize=64)
def orders(size: int, least: int = 2) -> tuple[AffineSpace, ...]:
    """Planes and spaces that hold so many values, their orders about 5 % apart: near the best the error hardly changes."""
    found = []
    for dimension in (2, 3):
        order = float(max(least, math.ceil(round(size ** (1 / dimension), 9))))
        while True:
            structure = AffineSpace.from_order(math.ceil(order), dimension)
            if structure is None or structure.messages > _MOST_MESSAGES:
                break
            if structure.values >= size:
                found.append(structure)
            order = max(structure.prime + 1, order * 1.05)
    return tuple(found)
