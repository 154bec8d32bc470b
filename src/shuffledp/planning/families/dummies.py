"""How many dummies, and on which structure: the family of protocols whose users send more than one message."""

import math
from collections.abc import Iterator
from typing import Final

from shuffledp.accounting.account import calibrate
from shuffledp.accounting.first_guess import gaussian_mu
from shuffledp.arithmetic.primes import is_prime
from shuffledp.core.digits import rounded_up
from shuffledp.errors import InvalidInput, NoClaim
from shuffledp.planning.families.histogram import HistogramQuestion
from shuffledp.planning.family import PlannedFamily, too_small
from shuffledp.protocols.dummies import DummyCounts
from shuffledp.randomizers.dummies import FEWEST, MOST, Dummies
from shuffledp.randomizers.identity import Identity
from shuffledp.randomizers.structure import Geometry, Structure
from shuffledp.randomizers.structures import AffineSpace

USUAL_MESSAGES: Final = 1.25
"""Per user, to compare with others."""
_MOST_MESSAGES: Final = 1 << 26
"""Half a gigabyte of counts: the planner does not ask for more."""
_TRIES: Final = 6


class DummiesFamily(PlannedFamily[HistogramQuestion]):
    """A message of their own for all values if the dummies allowed can hide them, else the plane or space of the largest order.

    What hides a value is the number of dummies among its messages, the same for every structure, d = that / (n s) per user. So a
    larger order needs more dummies, and errs less, because fewer of the others' messages are taken for a value's.
    """

    name = "shuffledp, dummies"
    question_type = HistogramQuestion

    def compared(self, question: HistogramQuestion) -> HistogramQuestion:
        """With a few dummies, unless it is said how many."""
        return question if question.messages_per_user is not None else question.at(messages_per_user=USUAL_MESSAGES)

    def propose(self, question: HistogramQuestion) -> DummyCounts:
        """The structure that errs least, with the fewest dummies that the accountant grants."""
        allowed = _allowed(question)
        if question.bound != "best":
            raise NoClaim(f"the bound {question.bound} does not cover dummies. Use the best one.")
        size = question.domain.size
        for structure in _structures(question, allowed):
            for _ in range(_TRIES):
                found = self._least(question, structure)
                if found.randomizer.dummies <= allowed:
                    return found
                share = allowed / found.randomizer.dummies
                smaller = structure.smaller(share, size) if isinstance(structure, Geometry) else None
                if smaller is None:
                    break
                structure = smaller
        raise InvalidInput(
            f"{allowed:.6g} dummies per user are too few to hide {size:,} values among {question.honest:,} "
            "users. Allow more messages per user, or use more users or a larger epsilon."
        )

    def guess(self, question: HistogramQuestion) -> float | None:
        """With as many dummies as a Gaussian would need; nothing to expect if only one message is allowed."""
        if question.bound != "best":
            return None
        allowed = question.dummies_allowed
        structure = next(_structures(question, allowed), None) if allowed > 0 else None
        if structure is None:
            return math.inf
        rate = min(MOST, max(FEWEST, _needed(question) / (question.honest * float(structure.share))))
        return question.cost(_counts(question, structure, rate))

    def propose_for_error(self, question: HistogramQuestion, cost: float) -> DummyCounts:
        """As many dummies as the error allows, on the structure where they hide most."""
        allowed = _allowed(question)
        found: list[tuple[float, Structure, float]] = []
        for structure in _all_structures(question.domain.size):
            few, one = (question.cost(_counts(question, structure, rate)) for rate in (FEWEST, 1.0))
            rate = min(allowed, (cost - few) / (one - few) * (1 - 1e-12))  # the error is linear in the dummies
            if rate >= FEWEST:
                hidden = rate * float(structure.share) / (1 - structure.shared / structure.choices)
                found.append((hidden, structure, rate))
        if not found:
            raise too_small()
        _, structure, rate = max(found, key=lambda one: one[0])
        return _counts(question, structure, rate)

    def _least(self, question: HistogramQuestion, structure: Structure) -> DummyCounts:
        rate = calibrate(Dummies.family(structure), n=question.honest, epsilon=question.epsilon, delta=question.delta)
        rounded, allowed = float(rounded_up(rate)), _allowed(question)
        return _counts(question, structure, max(FEWEST, allowed if rate <= allowed < rounded else rounded))


def _allowed(question: HistogramQuestion) -> float:
    """Dummies per user."""
    allowed = question.dummies_allowed
    if not allowed > 0:
        raise InvalidInput("one message per user leaves no room for dummies. Allow more messages per user, e.g. 1.25.")
    return min(allowed, MOST)


def _needed(question: HistogramQuestion) -> float:
    """About how many dummies among its messages hide a value: 2 / that is the square of a Gaussian's mu."""
    return 2 / gaussian_mu(question.epsilon, question.delta) ** 2


def _structures(question: HistogramQuestion, allowed: float) -> Iterator[Structure]:
    """Those that so many dummies can about hide, the most accurate first: the largest order of each dimension."""
    size, order = question.domain.size, allowed * question.honest / _needed(question)
    if size <= min(_MOST_MESSAGES, 1.5 * order):
        yield Identity(size=size)
    for dimension in (2, 3):
        space = _largest(min(order, _MOST_MESSAGES ** (1 / dimension)), dimension, size)
        if space is not None:
            yield space


def _all_structures(size: int) -> Iterator[Structure]:
    """Every structure worth a look when the number of dummies is not known yet: orders 2 % apart."""
    if size <= _MOST_MESSAGES:
        yield Identity(size=size)
    for dimension in (2, 3):
        order = _MOST_MESSAGES ** (1 / dimension)
        while (space := _largest(order, dimension, size)) is not None:
            yield space
            order = min(order / 1.02, space.prime - 1)


def _largest(order: float, dimension: int, size: int) -> AffineSpace | None:
    """With the largest prime up to this order whose messages fit in memory; None if its points are too few."""
    prime = math.floor(order)
    while prime >= 2 and prime**dimension >= size:
        if is_prime(prime):
            space = AffineSpace(prime=prime, dimension=dimension)
            if space.messages <= _MOST_MESSAGES:
                return space
        prime -= 1
    return None


def _counts(question: HistogramQuestion, structure: Structure, rate: float) -> DummyCounts:
    return DummyCounts(randomizer=Dummies(structure=structure, dummies=rate), domain=question.domain)
