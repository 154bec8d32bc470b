"""Families of protocols on randomized response: how many messages, and how much blanket."""

from abc import abstractmethod
from functools import cache

from shuffledp.accounting.account import account, calibrate
from shuffledp.arithmetic.inversion import first_integer
from shuffledp.arithmetic.least import least_integer
from shuffledp.core import checks
from shuffledp.core.randomness import WORD
from shuffledp.planning.family import Asked, PlannedFamily, says_nothing, too_small
from shuffledp.planning.question import Terms
from shuffledp.protocols.deployable import Deployable
from shuffledp.randomizers.response import RandomizedResponse


class BlanketFamily(PlannedFamily[Asked]):
    """For every number of messages the least blanket; the number is given, or the best of a range."""

    @abstractmethod
    def build(self, question: Asked, randomizer: RandomizedResponse) -> Deployable:
        """The protocol on this randomizer."""

    @abstractmethod
    def steps(self, question: Asked) -> int | range:
        """The number of messages less one (of a group, if there are any), or the range in which the best is to be found."""

    def messages(self, question: Asked, steps: int) -> int:  # noqa: ARG002
        """The number of messages."""
        return steps + 1

    def steps_for_error(self, question: Asked, cost: float) -> int | range:  # noqa: ARG002
        """The same if the error is given instead of epsilon."""
        return self.steps(question)

    def propose(self, question: Asked) -> Deployable:
        """The least blanket that the question's bound grants, on the number of messages with the least error."""

        @cache
        def at(steps: int) -> Deployable:
            return self.build(question, least_blanket(question, self.messages(question, steps)))

        steps = self.steps(question)
        if isinstance(steps, range):
            steps = least_integer(lambda steps: question.cost(at(steps)), steps)
        return at(steps)

    def propose_for_error(self, question: Asked, cost: float) -> Deployable:
        """The most blanket with that cost, on the number of messages with the least epsilon."""

        @cache
        def at(steps: int) -> Deployable | None:
            messages = self.messages(question, steps)
            threshold = first_integer(lambda t: question.cost(self._with(question, messages, t)) > cost, 0, WORD)
            return None if threshold == 1 else self._with(question, messages, threshold - 1)

        @cache
        def epsilon(steps: int) -> float:
            found = at(steps)
            if found is None:
                return float("inf")
            return account(found.randomizer, n=question.honest, delta=question.delta, bound=question.bound).epsilon

        steps = self.steps_for_error(question, cost)
        found = at(least_integer(epsilon, steps) if isinstance(steps, range) else steps)
        if found is None:
            raise too_small()
        return found

    def _with(self, question: Asked, messages: int, threshold: int) -> Deployable:
        return self.build(question, RandomizedResponse.of_threshold(size=checks.size(messages), threshold=threshold))


def least_blanket(terms: Terms, messages: int) -> RandomizedResponse:
    """The most accurate randomized response that is private enough."""
    gamma = calibrate(
        RandomizedResponse.family(size=messages, parameter="gamma"),
        n=terms.honest,
        epsilon=terms.epsilon,
        delta=terms.delta,
        bound=terms.bound,
    )
    threshold = RandomizedResponse(size=messages, gamma=gamma).threshold
    if threshold >= WORD:
        raise says_nothing()
    return RandomizedResponse.of_threshold(size=checks.size(messages), threshold=threshold)
