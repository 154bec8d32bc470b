"""Heavy hitters: what is asked about them, and how many letters at a time, on which plane, find the rarest texts."""

import math
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Final, NamedTuple, Self

from shuffledp.accounting.account import calibrate
from shuffledp.accounting.first_guess import gaussian_gamma, gaussian_mu
from shuffledp.arithmetic.inversion import first_integer
from shuffledp.core.randomness import WORD
from shuffledp.domains.spellable_texts import Spelled, letters_of
from shuffledp.errors import InvalidInput, NoClaim
from shuffledp.planning.family import PlannedFamily, says_nothing, too_small
from shuffledp.planning.options import ALPHABET, FALSE_POSITIVES, MAX_LENGTH, Option
from shuffledp.planning.question import Given, Question
from shuffledp.protocols.deployable import Deployable
from shuffledp.protocols.heavy_hitters import HeavyHitters
from shuffledp.protocols.prefixes import TABLES
from shuffledp.randomizers.design_response import DesignResponse
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


@dataclass(frozen=True, slots=True, kw_only=True)
class HeavyHittersQuestion(Question):
    """Which texts many users hold.

    Attributes:
        domain: the texts that there may be.
        false_positives: texts that nobody holds and that are found nevertheless, on average.
    """

    domain: Spelled
    false_positives: float = 1.0
    called: ClassVar[tuple[str, ...]] = ("heavy-hitters",)
    options: ClassVar[tuple[Option, ...]] = (ALPHABET, MAX_LENGTH, FALSE_POSITIVES)

    @classmethod
    def read(cls, given: Given, **terms: Any) -> Self:
        """An alphabet and a length that make sense, and some false positives."""
        length, alphabet, allowed = (given.get(name) for name in ("max_length", "alphabet", "false_positives"))
        if length is None:
            raise InvalidInput("heavy hitters need the length of the longest text. Add `max_length`, e.g. 12.")
        if alphabet is not None and not isinstance(alphabet, str):
            raise InvalidInput("an alphabet is a text of its letters. Write e.g. a-z.")
        if alphabet == "":
            raise InvalidInput("`alphabet` has no letters. Name them, e.g. 'a-z', or leave it out for any UTF-8.")
        domain = Spelled(alphabet=letters_of(alphabet or ""), max_length=length)
        allowed = 1.0 if allowed is None else float(allowed)
        if not 0 < allowed <= 1e6:
            raise InvalidInput(
                f"expected false positives must be above 0 and at most 1e6; got {allowed:g}. Use e.g. 1."
            )
        return cls(domain=domain, false_positives=allowed, **terms)

    def cost(self, protocol: Deployable) -> float:
        """The square of how many users must hold a text so that it is found: of errors that is what matters here."""
        if not isinstance(protocol, HeavyHitters):
            return math.inf
        reach = protocol.reach(self.n)
        return (reach.users() * max(1.0, reach.sharing() / reach.allowed)) ** 2

    @property
    def objective(self) -> str:
        """Users, not an error."""
        return "users needed for a text to be found"


class HeavyHittersFamily(PlannedFamily[HeavyHittersQuestion]):
    """Levels of two planes each."""

    question_type = HeavyHittersQuestion

    def propose(self, question: HeavyHittersQuestion) -> HeavyHitters:
        """The best shape by a Gaussian guess of its blanket; then the least blanket that the accountant grants."""
        if question.bound != "best":
            raise NoClaim(f"the bound {question.bound} does not cover design response. Use the best one.")
        mu = gaussian_mu(question.epsilon, question.delta)

        def guessed(shape: Shape) -> float:
            share, overlap = float(shape.plane.share), float(shape.plane.overlap)
            threshold = max(1, math.ceil(gaussian_gamma(share, overlap, question.honest, mu) * WORD))
            return math.inf if threshold >= WORD else question.cost(_protocol(question, shape, threshold))

        best = min(_shapes(question.domain), key=guessed)
        parts = TABLES * best.levels
        family = Mixture.family((1,) * parts, (DesignResponse.family(best.plane),) * parts)
        gamma = calibrate(family, n=question.honest, epsilon=question.epsilon, delta=question.delta)
        if not gamma < 1:
            raise says_nothing()
        return _protocol(question, best, DesignResponse.private(best.plane, gamma=gamma).threshold)

    def propose_for_error(self, question: HeavyHittersQuestion, cost: float) -> HeavyHitters:
        """The most blanket with that cost, on the shape that is then the most private by the same guess."""

        def too_much(shape: Shape, threshold: int) -> bool:
            return question.cost(_protocol(question, shape, threshold)) > cost

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

        best = min(_shapes(question.domain, apart=1.5), key=leaked)
        if too_much(best, 1):
            raise too_small()
        return _protocol(question, best, first_integer(lambda t: too_much(best, t), 1, WORD - (1 << 12)) - 1)


def _protocol(question: HeavyHittersQuestion, shape: Shape, threshold: int) -> HeavyHitters:
    part = DesignResponse(structure=shape.plane, threshold=threshold)
    return HeavyHitters.of(
        part, question.domain, step=shape.step, key=secrets.token_hex(16), false_positives=question.false_positives
    )


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
