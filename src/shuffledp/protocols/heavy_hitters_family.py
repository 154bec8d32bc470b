"""Planning heavy hitters: how many letters at a time, and which plane, so that texts as rare as can be are found."""

import math
import secrets
from collections.abc import Iterator
from typing import Final, NamedTuple

from shuffledp.accounting.account import calibrate
from shuffledp.accounting.gaussian_guess import gaussian_gamma, gaussian_mu
from shuffledp.arithmetic.inversion import first_integer
from shuffledp.core.words import WORD
from shuffledp.domains.spelled import Spelled, letters_of
from shuffledp.errors import InvalidInput, NoClaim
from shuffledp.protocols.deployable import Deployable
from shuffledp.protocols.family import PlannedFamily, too_small
from shuffledp.protocols.heavy_hitters import HeavyHitters
from shuffledp.protocols.options import ALPHABET, FALSE_POSITIVES, MAX_LENGTH
from shuffledp.protocols.prefixes import TABLES
from shuffledp.protocols.question import Question
from shuffledp.randomizers.design import DesignResponse
from shuffledp.randomizers.mixture import Mixture
from shuffledp.randomizers.structures import AffineSpace

_MOST_COUNTS: Final = 1 << 25
"""A quarter of a gigabyte: the planner does not ask for more."""
_MOST_PIECES: Final = 1 << 17
"""Ways to go on that are tried for each beginning: a hundred beginnings take a second."""


class Shape(NamedTuple):
    """All but the blanket."""

    step: int
    levels: int
    plane: AffineSpace


class HeavyHittersFamily(PlannedFamily):
    """Levels of two planes each."""

    questions = ("heavy-hitters",)
    options = (ALPHABET, MAX_LENGTH, FALSE_POSITIVES)

    def check(self, question: Question) -> None:
        """An alphabet and a length that make sense, and some false positives."""
        _spelled(question)
        _allowed(question)

    def cost(self, protocol: Deployable, question: Question) -> float:
        """The square of how many users must hold a text so that it is found: of errors that is what matters here."""
        if not isinstance(protocol, HeavyHitters):
            return math.inf
        reach = protocol.reach(question.n)
        return (reach.users() * max(1.0, reach.sharing() / reach.allowed)) ** 2

    def objective(self, question: Question) -> str:  # noqa: ARG002
        """Users, not an error."""
        return "users from whom on a text is found"

    def propose(self, question: Question) -> HeavyHitters:
        """The best shape by a Gaussian guess of its blanket; then the least blanket that the accountant grants."""
        if question.bound != "best":
            raise NoClaim(f"the bound {question.bound} is not for design response. Use the best one.")
        mu = gaussian_mu(question.epsilon, question.delta)

        def guessed(shape: Shape) -> float:
            share, overlap = float(shape.plane.share), float(shape.plane.overlap)
            threshold = max(1, math.ceil(gaussian_gamma(share, overlap, question.honest, mu) * WORD))
            return math.inf if threshold >= WORD else self.cost(_protocol(question, shape, threshold), question)

        best = min(_shapes(_spelled(question)), key=guessed)
        parts = TABLES * best.levels
        family = Mixture.family((1,) * parts, (DesignResponse.family(best.plane),) * parts)
        gamma = calibrate(family, n=question.honest, epsilon=question.epsilon, delta=question.delta)
        if not gamma < 1:
            raise InvalidInput(
                "only messages that say nothing would be private enough. Use more users or a larger epsilon."
            )
        return _protocol(question, best, DesignResponse.private(best.plane, gamma=gamma).threshold)

    def propose_for_error(self, question: Question, cost: float) -> HeavyHitters:
        """The most blanket with that cost, on the shape that is then the most private by the same guess."""

        def too_much(shape: Shape, threshold: int) -> bool:
            return self.cost(_protocol(question, shape, threshold), question) > cost

        def leaked(shape: Shape) -> float:
            """To about a percent of the blanket."""
            low, high = 1.0, float(WORD - (1 << 12))
            if too_much(shape, 1):
                return math.inf
            while high > 1.01 * low:
                middle = math.sqrt(low * high)
                low, high = (low, middle) if too_much(shape, int(middle)) else (middle, high)
            share, g = float(shape.plane.share), low / WORD
            return (1 - g) ** 2 / g * (share - float(shape.plane.overlap)) / share**2

        best = min(_shapes(_spelled(question), apart=1.5), key=leaked)
        if too_much(best, 1):
            raise too_small()
        return _protocol(question, best, first_integer(lambda t: too_much(best, t), 1, WORD - (1 << 12)) - 1)


def _protocol(question: Question, shape: Shape, threshold: int) -> HeavyHitters:
    part = DesignResponse(structure=shape.plane, threshold=threshold)
    return HeavyHitters.of(
        part, _spelled(question), step=shape.step, key=secrets.token_hex(16), false_positives=_allowed(question)
    )


def _spelled(question: Question) -> Spelled:
    length = question.option("max_length")
    if length is None:
        raise InvalidInput("heavy hitters need the length of the longest text. Add `max_length`, e.g. 12.")
    alphabet = question.option("alphabet", "")
    if not isinstance(alphabet, str):
        raise InvalidInput("an alphabet is a text of its letters. Write e.g. a-z.")
    return Spelled(alphabet=letters_of(alphabet), max_length=length)


def _allowed(question: Question) -> float:
    allowed = float(question.option("false_positives", 1.0))
    if not 0 < allowed <= 1e6:
        raise InvalidInput(f"expected false positives must be above 0 and at most 1e6; got {allowed:g}. Use e.g. 1.")
    return allowed


def _shapes(spelled: Spelled, apart: float = 1.1) -> Iterator[Shape]:
    """Pieces of every length that leaves few enough to try, on planes whose orders are some factor apart."""
    before = 0
    for step in range(1, spelled.max_length + 1):
        levels = -(-spelled.max_length // step)
        if step > 1 and (spelled.letters + 1) ** step > _MOST_PIECES:
            break
        if levels == before:
            continue  # shorter pieces do as well
        before, order = levels, 31.0
        while True:
            plane = AffineSpace.from_order(math.ceil(order), 2)
            if plane is None or TABLES * levels * plane.messages > _MOST_COUNTS:
                break
            yield Shape(step, levels, plane)
            order = max(plane.prime + 1, order * apart)
