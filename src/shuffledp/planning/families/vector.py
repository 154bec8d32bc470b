"""Means of rows of numbers: what is asked about them, and the codebook with the least error."""

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Final, Self

from shuffledp.accounting.account import bound_named, calibrate
from shuffledp.accounting.first_guess import share_of_budget
from shuffledp.accounting.releases import composition, excess
from shuffledp.arithmetic.balls import log_down
from shuffledp.arithmetic.inversion import Search, search
from shuffledp.core import checks
from shuffledp.core.randomness import WORD
from shuffledp.domains.vectors import Ball, Box, Vectors
from shuffledp.errors import InvalidInput, NoClaim
from shuffledp.planning.family import PlannedFamily, says_nothing
from shuffledp.planning.options import COLUMNS, DIMENSION, MESSAGES_PER_USER, NORM, RANGES, Option
from shuffledp.planning.question import Given, Question
from shuffledp.protocols.codebook_mean import CodebookMean
from shuffledp.protocols.decoded_sums import MOST_MESSAGES
from shuffledp.protocols.vector_mean import VectorMean
from shuffledp.randomizers.codebook_response import MOST_CODEWORDS, MOST_REPEATS, CodebookResponse
from shuffledp.randomizers.mixing import threshold_of
from shuffledp.randomizers.response import RandomizedResponse

SIZES: Final = tuple(
    size for power in range(1, 15) for size in (2**power, 3 * 2 ** (power - 1)) if size <= MOST_CODEWORDS
)
"""Sizes of codebooks that are tried: near the best one the error hardly changes."""
_PRECISION: Final = 3e-5
_A_LITTLE: Final = (1e-7, 1e-6, 1e-5)
"""By how much a guess is raised until it is proved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowQuestion(Question):
    """A question about rows of numbers that codebook response answers.

    Attributes:
        domain: the rows.
        repeats: messages of each user.
    """

    domain: Vectors
    repeats: int = 1

    @abstractmethod
    def protocol(self, randomizer: CodebookResponse) -> CodebookMean:
        """What answers it with this randomizer."""

    @classmethod
    def averages(cls, name: str) -> bool:  # noqa: ARG003
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorQuestion(RowQuestion):
    """The mean of rows of numbers."""

    called: ClassVar[tuple[str, ...]] = ("vector",)
    options: ClassVar[tuple[Option, ...]] = (DIMENSION, COLUMNS, NORM, RANGES, MESSAGES_PER_USER)

    @classmethod
    def read(cls, given: Given, **terms: Any) -> Self:
        """Rows of a number of entries or of named columns, within a norm or within ranges."""
        return cls(domain=_domain(given), repeats=repeats_of(given), **terms)

    def protocol(self, randomizer: CodebookResponse) -> VectorMean:
        return VectorMean(randomizer=randomizer, domain=self.domain)

    @property
    def objective(self) -> str:
        return "expected length of the error (root mean square)"


class CodebookFamily(PlannedFamily[RowQuestion]):
    """For every size of the codebook the least blanket; of all sizes the best."""

    def propose(self, question: RowQuestion) -> CodebookMean:
        # of several messages, which compose, the best size is found for their equal shares of the budget
        if question.bound != "best":
            raise NoClaim(f"the bound {question.bound} is not for codebook response. Use the best one.")
        if question.n * question.repeats > MOST_MESSAGES:
            raise InvalidInput(f"{question.n * question.repeats:,} messages are too many to add up. Use fewer users.")
        one = question.at(epsilon=share_of_budget(question.epsilon, question.delta, question.repeats))

        @cache
        def alone(size: int) -> float:
            try:
                return _guessed(one, size)
            except NoClaim:
                return 1.0

        def cost(size: int) -> float:
            gamma = alone(size)
            return question.cost(_with(question, size, gamma)) if gamma < 1 else math.inf

        size = _least(cost)
        if not alone(size) < 1:
            raise says_nothing()
        gamma = _proved(one, size, alone(size)) if question.repeats == 1 else _together(question, size, alone(size))
        if not gamma < 1 or threshold_of(gamma) >= WORD:
            raise says_nothing()
        return _with(question, size, gamma)


class VectorFamily(CodebookFamily):
    """Means of rows."""

    question_type = VectorQuestion


def _with(question: RowQuestion, size: int, gamma: float) -> CodebookMean:
    randomizer = CodebookResponse(
        dimension=question.domain.dimension, size=size, threshold=min(threshold_of(gamma), WORD - 1),
        repeats=question.repeats,
    )  # fmt: skip
    return question.protocol(randomizer)


def _guessed(one: RowQuestion, size: int) -> float:
    """The least gamma of one message by randomized response on as many values, whose accountant is fast: only a guess.

    Where nothing beyond the blanket is looked at, both have the same law; what is planned is proved from its own.
    """
    family = RandomizedResponse.family(size=size, parameter="gamma")
    return calibrate(family, n=one.honest, epsilon=one.epsilon, delta=one.delta)


def _proved(one: RowQuestion, size: int, guess: float) -> float:
    """The guess, or the least gamma above it that is proved."""
    bound, family = bound_named(one.bound), CodebookResponse.family(size)
    for larger in _A_LITTLE:
        gamma = guess * (1 + larger)
        if gamma < 1:
            claim = bound.claim(family.blanket(gamma), n=one.honest, epsilon=one.epsilon, side="upper")
            if claim.regime is None and claim.log_delta.upper <= log_down(one.delta):
                return gamma
    return calibrate(family, n=one.honest, epsilon=one.epsilon, delta=one.delta)


def _together(question: RowQuestion, size: int, start: float) -> float:
    """The least gamma of each message with which all of a user's messages compose to the epsilon allowed."""
    bound = bound_named(question.bound)

    def too_much(gamma: float) -> float:
        together = composition(_with(question, size, gamma).randomizer.blanket(), question.honest, bound)
        return excess(together, question.delta, question.epsilon)

    least = search(too_much, Search(low=1e-15, high=1.0, towards="larger"), start=start, precision=_PRECISION)
    if least is None:
        raise says_nothing()
    return least


def _least(cost: Callable[[int], float]) -> int:
    """The size of the least cost, which falls and then rises: the first after which it has risen twice."""
    best: tuple[float, int] = (math.inf, SIZES[0])
    rises = 0
    for size in SIZES:
        found = cost(size)
        rises = rises + 1 if found > best[0] else 0
        best = min(best, (found, size))
        if rises > 2:
            break
    return best[1]


def _domain(given: Given) -> Vectors:
    columns, ranges = given.get(COLUMNS.name), given.get(RANGES.name)
    dimension, norm = given.get(DIMENSION.name), given.get(NORM.name)
    if ranges is not None:
        if norm is not None:
            raise InvalidInput(
                "rows are within a `norm` or each column within a range. Give `norm` or `ranges`, not both."
            )
        if columns is not None and set(columns) != set(ranges):
            raise InvalidInput(
                "`columns` and `ranges` name different columns. Name each column in both, or leave out `columns`."
            )
        if not ranges:
            raise InvalidInput("`ranges` is empty. Write e.g. ranges={'age': [0, 100]}.")
        columns = tuple(ranges) if columns is None else columns
        found: Vectors = Box(*ends_of({column: ranges[column] for column in columns}), columns)
    elif columns is not None:
        found = Ball(len(columns), 1.0 if norm is None else norm, columns)
    elif dimension is not None:
        return Ball(dimension, 1.0 if norm is None else norm)
    else:
        raise InvalidInput("a mean of rows needs to know their length. Give `dimension`, `columns` or `ranges`.")
    if dimension is not None and dimension != found.dimension:
        raise InvalidInput(f"`dimension` is {dimension:,}, and {found.dimension:,} columns are named. Leave it out.")
    return found


def ends_of(ranges: Mapping[str, Any]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The least and the greatest values of columns, in their order."""
    lows, highs = zip(*(_range(column, ends) for column, ends in ranges.items()), strict=True)
    return lows, highs


def _range(column: str, ends: Any) -> tuple[float, float]:
    try:
        low, high = (float(end) for end in ends)
    except (TypeError, ValueError):
        raise InvalidInput(
            f"the range of column {column!r} is not two numbers. Give its least and its greatest value, e.g. 0,100."
        ) from None
    return low, high


def repeats_of(given: Given) -> int:
    """How many messages each user sends about a row: one, if nothing was said."""
    asked = given.get(MESSAGES_PER_USER.name)
    count = 1 if asked is None else checks.whole(asked, "`messages_per_user`", "Give e.g. 4.")
    if not 1 <= count <= MOST_REPEATS:
        raise InvalidInput(f"a user sends 1 to {MOST_REPEATS:,} messages about a row; got {count}. Give such a number.")
    return int(count)
