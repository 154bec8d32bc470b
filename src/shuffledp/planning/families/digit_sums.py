"""How many digits, in which base, and how many dummies beside each: sums and means from more than one message per user."""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final, TypeVar

from shuffledp.accounting.account import DEFAULT_BOUND, bound_named, calibrate
from shuffledp.accounting.first_guess import gaussian_mu
from shuffledp.accounting.releases import composition, excess
from shuffledp.arithmetic.inversion import Search, first_integer, search
from shuffledp.arithmetic.least import least_integer
from shuffledp.core.checks import LARGEST_N
from shuffledp.core.digits import rounded_up
from shuffledp.errors import InvalidInput, NoClaim
from shuffledp.planning.families.grouped import GroupedSumQuestion
from shuffledp.planning.families.summation import ONE_MORE, SumQuestion, TotalQuestion
from shuffledp.planning.family import PlannedFamily, too_small
from shuffledp.planning.question import Terms
from shuffledp.protocols.deployable import Deployable
from shuffledp.protocols.digit_sums import DigitSums
from shuffledp.protocols.grouped_digits import GroupedDigits
from shuffledp.randomizers.digit_by_digit import MOST_LEVELS, Digits
from shuffledp.randomizers.dummies import FEWEST, MOST, Dummies
from shuffledp.randomizers.identity import Identity

_MOST_DIGITS: Final = 12
_LARGEST_BASE: Final = 1 << 20
_TRIES: Final = 6
_PRECISION: Final = 1e-4


Asked = TypeVar("Asked", bound=TotalQuestion)


class DigitFamily(PlannedFamily[Asked]):
    """The number of digits and the base with the least error among those whose dummies are allowed.

    What hides a value is the number A of dummies for each symbol of a digit that decides the whole range; a digit that decides a
    share a of it has A / a (docs/maths/digits.md).
    """

    name = "shuffledp, digits"

    @abstractmethod
    def build(self, question: Asked, randomizer: Digits) -> Deployable:
        """The protocol on this randomizer."""

    def compared(self, question: Asked) -> Asked:
        """With two messages and a few dummies, unless it is said how many."""
        return question if question.messages_per_user is not None else question.at(messages_per_user=1 + ONE_MORE)

    def groups(self, question: Asked) -> int:  # noqa: ARG002
        """How many groups messages carry."""
        return 1

    def propose(self, question: Asked) -> Deployable:
        """The shape with the least error, and the fewest dummies that the accountant grants."""
        allowed, hiding = self._allowed(question), _needed(question)
        found: Deployable | None = None
        for _ in range(_TRIES):
            shape = self._best_shape(question, hiding, allowed)
            if shape is None:
                break
            if found is not None and shape == (found.randomizer.base, found.randomizer.digits):  # type: ignore[attr-defined]
                return found
            randomizer = least_dummies(question, *shape, groups=self.groups(question))
            hiding = hidden(randomizer, question.honest)
            if randomizer.true_messages + randomizer.dummies_per_user <= allowed:
                found = self.build(question, randomizer)
        if found is None:
            raise InvalidInput(
                f"{allowed:.6g} messages per user leave too few dummies to hide a value among {question.honest:,} users. "
                "Allow more messages per user, or use more users or a larger epsilon."
            )
        return found

    def guess(self, question: Asked) -> float | None:
        """With as many dummies as a Gaussian would need; nothing to expect if only one message is allowed."""
        allowed = question.messages_per_user
        if question.bound != "best" or allowed is None or allowed <= 1:
            return math.inf
        hiding = _needed(question)
        shape = self._best_shape(question, hiding, allowed)
        return math.inf if shape is None else self._cost(question, *shape, hiding)

    def propose_for_error(self, question: Asked, cost: float) -> Deployable:
        """As many dummies as the error allows, in the shape where they hide most."""
        allowed, groups = self._allowed(question), self.groups(question)

        unit = max(1.0, FEWEST * question.honest)

        def fewer(base: int, digits: int) -> float:
            """By how much fewer than none they are. The error is linear in them, and so are the messages."""
            few, more = (self._cost(question, base, digits, hiding) for hiding in (unit, 2 * unit))
            by_error = unit * (1 + (cost - few) / (more - few) * (1 - 1e-12))
            return -min(by_error, (allowed - digits) / _dummies(1.0, base, digits, groups, question.honest))

        found = self._least(question, unit, allowed, fewer)
        if found is None or not -found[0] > unit:
            raise too_small()
        rates = rates_for(-found[0], *found[1:], groups=groups, honest=question.honest)
        if not max(rates) <= MOST:
            raise too_small()
        return self.build(question, Digits(base=found[1], dummies=rates, groups=groups))

    def _allowed(self, question: Asked) -> float:
        allowed = question.messages_per_user
        if question.bound != "best":
            raise NoClaim(f"the bound {question.bound} is not for dummies. Use the best one.")
        if allowed is None or allowed <= 1:
            raise InvalidInput(
                "one message per user leaves no room for dummies. Allow more messages per user, e.g. 2.25."
            )
        return allowed

    def _best_shape(self, question: Asked, hiding: float, allowed: float) -> tuple[int, int] | None:
        """Base and number of digits that err least with so many dummies; None if all have more than are allowed."""
        found = self._least(question, hiding, allowed, lambda base, digits: self._cost(question, base, digits, hiding))
        return None if found is None else found[1:]

    def _least(
        self, question: Asked, hiding: float, allowed: float, cost: Callable[[int, int], float]
    ) -> tuple[float, int, int] | None:
        """The least cost of all shapes that are allowed, and the base and the number of digits where it is."""
        found = list[tuple[float, int, int]]()
        for digits, bases in self._shapes(question, hiding, allowed):

            def at(base: int, digits: int = digits, bases: range = bases) -> float:
                return cost(base, digits) if base in bases else math.inf

            base = least_integer(at, bases)
            found.append((cost(base, digits), base, digits))
        return min(found, default=None)

    def _shapes(self, question: Asked, hiding: float, allowed: float) -> Iterator[tuple[int, range]]:
        """For each number of digits the bases whose messages are allowed with so many dummies."""
        groups, steps = self.groups(question), question.precision
        for digits in range(1, min(_MOST_DIGITS, math.ceil(allowed) - 1) + 1):
            largest = min(_LARGEST_BASE, math.floor(MOST_LEVELS ** (1 / digits) * (1 + 1e-12)))
            bases = range(2, largest + 1)
            if steps is not None:
                root = round((steps + 1) ** (1 / digits))
                bases = range(root, root + 1) if root**digits == steps + 1 and root >= 2 else range(0)

            def too_many(base: int, digits: int = digits) -> bool:
                return _dummies(hiding, base, digits, groups, question.honest) > allowed - digits

            if bases and not too_many(bases[0]):
                end = first_integer(too_many, bases[0], bases[-1] + 1)
                yield digits, range(bases[0], end)

    def _cost(self, question: Asked, base: int, digits: int, hiding: float) -> float:
        groups = self.groups(question)
        rates = rates_for(hiding, base, digits, groups=groups, honest=question.honest)
        within = tuple(min(MOST, max(FEWEST, rate)) for rate in rates)
        return question.cost(self.build(question, Digits(base=base, dummies=within, groups=groups)))


class DigitSumsFamily(DigitFamily[SumQuestion]):
    """Sums, means and queries."""

    question_type = SumQuestion

    def build(self, question: SumQuestion, randomizer: Digits) -> DigitSums:
        """On the range that was asked for."""
        domain = question.domain
        return DigitSums(randomizer=randomizer, low=domain.low, high=domain.high, total=question.total)


class GroupedDigitsFamily(DigitFamily[GroupedSumQuestion]):
    """Sums by group in digits: every message carries the group, and each group has dummies of its own."""

    question_type = GroupedSumQuestion

    def groups(self, question: GroupedSumQuestion) -> int:
        return question.domain.groups

    def build(self, question: GroupedSumQuestion, randomizer: Digits) -> GroupedDigits:
        """On the groups and the range that were asked for."""
        return GroupedDigits(randomizer=randomizer, domain=question.domain, total=question.total)


def rates_for(hiding: float, base: int, digits: int, *, groups: int, honest: int) -> tuple[float, ...]:
    """Dummies per user beside each digit, the least significant first.

    Formula: d_j = A G B / (a_j n), a_j = (B - 1) B^j / (B^D - 1). Legend: A = hiding, G = groups, B = base, D = digits.
    """
    return tuple(hiding * groups * base * (base**digits - 1) / ((base - 1) * base**j * honest) for j in range(digits))


def hidden(randomizer: Digits, honest: int) -> float:
    """The A of such a randomizer."""
    [one, *_] = rates_for(1.0, randomizer.base, randomizer.digits, groups=randomizer.groups, honest=honest)
    return randomizer.dummies[0] / one


def least_dummies(terms: Terms, base: int, digits: int, *, groups: int = 1) -> Digits:
    """The fewest dummies, in proportion to what is best, that make so many digits private enough."""
    if digits == 1:
        family = Dummies.family(Identity(size=groups * base))
        return _rounded([calibrate(family, n=terms.honest, epsilon=terms.epsilon, delta=terms.delta)], base, groups)

    least = _least_hiding(terms.epsilon, terms.delta, base, digits)
    for more in (0.0, 1e-5, 1e-4, 1e-3):  # than there, where numbers are rounded a little differently
        rates = rates_for(least * (1 + more), base, digits, groups=groups, honest=terms.honest)
        if max(rates) > MOST:
            break
        found = _rounded([max(FEWEST, rate) for rate in rates], base, groups)
        if _excess(found, terms.honest, terms.epsilon, terms.delta) <= 0:
            return found
    raise NoClaim("no number of dummies hides these digits. Use more users or a larger epsilon.")


@lru_cache(maxsize=256)
def _least_hiding(epsilon: float, delta: float, base: int, digits: int) -> float:
    """The least A for so many digits. Users, groups and dummies matter by how many there are of each symbol in all."""
    start = _hiding_one(epsilon, delta)
    users = min(LARGEST_N, math.ceil(start) * base**digits)  # with a dummy or two of the first digit each

    def too_much(hiding: float) -> float:
        rates = rates_for(hiding, base, digits, groups=1, honest=users)
        return _excess(_rounded([min(MOST, max(FEWEST, rate)) for rate in rates], base, 1), users, epsilon, delta)

    axis = Search(low=1.0, high=1e24, towards="larger")
    least = search(too_much, axis, start=start, precision=_PRECISION, steepness=0.5)
    if least is None:
        raise NoClaim("no number of dummies hides these digits. Use a larger epsilon.")
    return least


def _excess(randomizer: Digits, users: int, epsilon: float, delta: float) -> float:
    """How far the epsilon of all digits is above the one allowed, in logarithms."""
    try:
        together = composition(randomizer.blanket(), users, bound_named(DEFAULT_BOUND))
    except NoClaim:  # so few dummies that no epsilon is proved at all
        return math.inf
    return excess(together, delta, epsilon)


def _rounded(rates: list[float], base: int, groups: int) -> Digits:
    return Digits(base=base, dummies=tuple(float(rounded_up(rate)) for rate in rates), groups=groups)


def _dummies(hiding: float, base: int, digits: int, groups: int, honest: int) -> float:
    """How many dummies all digits take together, for each user."""
    return math.fsum(rates_for(hiding, base, digits, groups=groups, honest=honest))


def _needed(terms: Terms) -> float:
    """How many dummies hide a single digit: hardly more than several, in proportion."""
    return _hiding_one(terms.epsilon, terms.delta)


@lru_cache(maxsize=64)
def _hiding_one(epsilon: float, delta: float) -> float:
    """For each symbol; it depends on the number of users by rounding only. About 2 / that is the square of a Gaussian's mu."""
    about = 2 / gaussian_mu(epsilon, delta) ** 2
    honest = min(LARGEST_N, math.ceil(about))
    try:
        return calibrate(Dummies.family(Identity(size=2)), n=honest, epsilon=epsilon, delta=delta) * honest / 2
    except NoClaim:
        return about
