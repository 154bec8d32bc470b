"""Planning a survey: three ways to ask, each as accurate as the guarantee allows."""

import json
import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from shuffledp.accounting.account import calibrate
from shuffledp.accounting.composed import composition
from shuffledp.accounting.gaussian_guess import share_of_budget
from shuffledp.arithmetic.inversion import Search, search
from shuffledp.core.blanket import Blanket, RandomizerFamily
from shuffledp.core.randomizer import RunnableRandomizer, Tunable
from shuffledp.errors import InvalidInput, NoClaim
from shuffledp.protocols.blanket_family import BlanketFamily
from shuffledp.protocols.deployable import Deployable
from shuffledp.protocols.family import PlannedFamily, too_small
from shuffledp.protocols.one_message import OneMessage
from shuffledp.protocols.options import QUESTIONS, WAY
from shuffledp.protocols.question import Question, spoken
from shuffledp.protocols.survey import Asked, Survey
from shuffledp.protocols.survey_all import AllOfThem
from shuffledp.protocols.survey_one import OneOfAll, not_sampled
from shuffledp.protocols.survey_question import SURVEY, Part, parts
from shuffledp.protocols.survey_table import MOST_CELLS, JointTable
from shuffledp.randomizers.mixture import Mixture
from shuffledp.randomizers.response import RandomizedResponse
from shuffledp.randomizers.together import Together

_GRIDS = (1, 2, 3, 4, 6, 8, 12, 16)
"""Steps of the grids of a table's sums and means that are tried."""


class SurveyFamily(PlannedFamily):
    """What the three ways have in common."""

    questions = (SURVEY,)
    options = (QUESTIONS, WAY)
    way: str

    def answers(self, question: Question) -> bool:
        """Unless another way is asked for."""
        way = question.option("way", self.way)
        return not isinstance(way, str) or way == self.way or way not in WAY.words

    def check(self, question: Question) -> None:
        """Questions that make sense, and a way that there is."""
        way = question.option("way", self.way)
        if not isinstance(way, str) or way not in WAY.words:
            raise InvalidInput(
                f"a survey is asked in one of the ways {', '.join(WAY.words)}. Choose one, or leave it out."
            )
        parts(question)

    def cost(self, protocol: Deployable, question: Question) -> float:
        """Squared errors as shares of the answers' ranges, weighted."""
        return protocol.cost(question.n) if isinstance(protocol, Survey) else math.inf

    def propose(self, question: Question) -> Survey:
        """In this way, unless another is asked for."""
        if not self.answers(question):
            raise InvalidInput(f"another way than {self.way!r} was asked for. Leave it out for the best.")
        if question.bound != "best":
            raise NoClaim(f"the bound {question.bound} is not for several questions. Use the best one.")
        return self.private(question, parts(question))

    @abstractmethod
    def private(self, question: Question, asked: Sequence[Part]) -> Survey:
        """As accurate as the guarantee allows."""

    @abstractmethod
    def shape(self, question: Question, asked: Sequence[Part]) -> Callable[[float], Survey]:
        """The protocol by its largest gamma."""

    def propose_for_error(self, question: Question, cost: float) -> Survey:
        """The most blanket with that cost, on what would be asked at the question's epsilon."""
        at = self.shape(question, parts(question))

        def excess(gamma: float) -> float:
            try:
                return math.log(at(gamma).cost(question.n) / cost)
            except InvalidInput:
                return math.inf

        most = search(excess, Search(low=1e-15, high=1.0, towards="smaller"), start=0.1, precision=1e-6)
        if most is None:
            raise too_small()
        return at(most)


class OneQuestionEach(SurveyFamily):
    """A mixture."""

    name, way = "shuffledp, one question each", "one"

    def shape(self, question: Question, asked: Sequence[Part]) -> Callable[[float], OneOfAll]:
        """Blankets in the proportion that makes the sum of errors small."""
        balanced = _balanced(_sampled(_alone(asked)), question.n, drawn=True)
        return lambda gamma: OneOfAll(questions=_scaled(balanced, gamma))

    def private(self, question: Question, asked: Sequence[Part]) -> OneOfAll:
        """Blankets in the proportion that each question needs by itself, or that makes the sum of errors small."""
        alone = _sampled(_alone(asked))
        found = [
            self._calibrated(question, questions) for questions in (alone, _balanced(alone, question.n, drawn=True))
        ]
        return min(found, key=lambda one: one.cost(question.n))

    def _calibrated(self, question: Question, questions: Sequence[Asked]) -> OneOfAll:
        weights, top = tuple(one.weight for one in questions), max(_gamma(one) for one in questions)

        def blanket(gamma: float) -> Blanket:
            parts = tuple(_randomizer(one, _gamma(one) / top * gamma) for one in questions)
            return Mixture.of(weights, parts).blanket()

        family = RandomizerFamily(parameter="gamma", blanket=blanket, low=1e-15, high=1.0, more_private="larger")
        gamma = calibrate(family, n=question.honest, epsilon=question.epsilon, delta=question.delta)
        if not gamma < 1:
            raise _says_nothing()
        return OneOfAll(questions=_scaled(questions, gamma))


class AllQuestions(SurveyFamily):
    """Composition."""

    name, way = "shuffledp, all questions", "all"

    def shape(self, question: Question, asked: Sequence[Part]) -> Callable[[float], AllOfThem]:
        """Blankets in the proportion that makes the sum of errors small."""
        balanced = self._balanced(question, asked)
        return lambda gamma: AllOfThem(questions=_scaled(balanced, gamma))

    def private(self, question: Question, asked: Sequence[Part]) -> AllOfThem:
        """The least common scale of blankets whose composition is private enough."""
        balanced = self._balanced(question, asked)
        top = max(_gamma(one) for one in balanced)

        def excess(gamma: float) -> float:
            """How far the composed epsilon is above the one allowed, in logarithms."""
            blanket = Together(parts=tuple(_randomizer(one, _gamma(one) / top * gamma) for one in balanced)).blanket()
            try:
                found = composition(blanket, question.honest).epsilon(question.delta)
            except NoClaim:
                return math.inf
            return math.log(found / question.epsilon) + 1e-6 if found > 0 else -math.inf

        least = search(excess, Search(low=1e-15, high=1.0, towards="larger"), start=top, precision=3e-5)
        if least is None or not least < 1:
            raise _says_nothing()
        return AllOfThem(questions=_scaled(balanced, least))

    def _balanced(self, question: Question, asked: Sequence[Part]) -> list[Asked]:
        """From an equal part of the budget for each; together they leak about as much as is allowed."""
        alone = _alone(asked, epsilon=share_of_budget(question.epsilon, question.delta, len(asked)))
        return _balanced(alone, question.n, drawn=False)


class TableOfAll(SurveyFamily):
    """One message about all questions."""

    name, way = "shuffledp, joint table", "table"

    def shape(self, question: Question, asked: Sequence[Part]) -> Callable[[float], JointTable]:
        """On the grid that is best at the question's epsilon."""
        grid = self._grid(question, asked)
        return lambda gamma: self._with(asked, grid, gamma)

    def private(self, question: Question, asked: Sequence[Part]) -> JointTable:
        """The least blanket on all cells."""
        grid = self._grid(question, asked)
        return self._with(asked, grid, self._gamma(question, asked, grid))

    def _grid(self, question: Question, asked: Sequence[Part]) -> int:
        """The steps of the questions that are rounded, so that the error is least."""
        rounded = any(isinstance(_blanket_family(one).steps(one.question), range) for one in asked)
        costs, refusal = dict[int, float](), None
        for grid in _GRIDS if rounded else _GRIDS[:1]:
            if math.prod(_size(one, grid) for one in asked) > MOST_CELLS:
                break
            try:
                costs[grid] = self._with(asked, grid, self._gamma(question, asked, grid)).cost(question.n)
            except InvalidInput as refused:
                refusal = refused
        if costs:
            return min(costs, key=lambda grid: costs[grid])
        raise refusal or InvalidInput(
            f"a table of all questions has more than {MOST_CELLS:,} cells. Ask in another way."
        )

    def _gamma(self, question: Question, asked: Sequence[Part], grid: int) -> float:
        size = math.prod(_size(one, grid) for one in asked)
        return calibrate(
            RandomizedResponse.family(size=size, parameter="gamma"),
            n=question.honest,
            epsilon=question.epsilon,
            delta=question.delta,
        )

    def _with(self, asked: Sequence[Part], grid: int, gamma: float) -> JointTable:
        questions = []
        for one in asked:
            protocol = _blanket_family(one).build(
                one.question, RandomizedResponse(size=_size(one, grid), gamma=gamma).as_run()
            )
            if not isinstance(protocol, OneMessage):
                raise InvalidInput(f"question {one.name!r} is not answered by one message. Ask it by itself.")
            questions.append(Asked(name=one.name, weight=one.weight, protocol=protocol))
        return JointTable(questions=tuple(questions))


def _blanket_family(part: Part) -> BlanketFamily:
    for family in part.families():
        if isinstance(family, BlanketFamily):
            return family
    raise InvalidInput(
        f"question {part.name!r}, {spoken(part.question.name)}, does not fit a table. Ask it in another way."
    )


def _size(part: Part, grid: int) -> int:
    family = _blanket_family(part)
    steps = family.steps(part.question)
    return family.messages(part.question, grid if isinstance(steps, range) else steps)


def _alone(asked: Sequence[Part], **numbers: Any) -> list[Asked]:
    """Each question planned by itself; equal ones once."""
    planned = dict[str, OneMessage]()
    found = []
    for one in asked:
        key = json.dumps([one.question.name, dict(one.question.options)], sort_keys=True, default=str)
        if key not in planned:
            planned[key] = one.best(**numbers)
        found.append(Asked(name=one.name, weight=one.weight, protocol=planned[key]))
    return found


def _sampled(questions: list[Asked]) -> list[Asked]:
    """Questions that may be asked of a part of the people."""
    for one in questions:
        if not one.protocol.sampled:
            raise not_sampled(one)
    return questions


def _balanced(alone: Sequence[Asked], n: int, *, drawn: bool) -> list[Asked]:
    """Blankets that make the weighted sum of the questions' own errors small for what they leak together.

    A question with gamma g leaks as 1 / g and errs as g. If b is what it needs by itself and a g its error, then the least
    sum of w a g with the sum of b / g given has g in the proportion of sqrt(b / (w a)). A question that a share w of the people
    draw errs 1 / w times as much, and leaks w times as much: sqrt(w b / a).
    """
    sizes = []
    for one in alone:
        needed = _gamma(one)
        error = one.share_error(one.protocol.expected_error(one.protocol.worst(n)), n) / needed
        sizes.append(math.sqrt(needed / error * (one.weight if drawn else 1 / one.weight)))
    leaks = [one.weight if drawn else 1 for one in alone]
    kept = sum(leak * _gamma(one) / size for leak, one, size in zip(leaks, alone, sizes, strict=True)) / sum(leaks)
    return [_with_gamma(one, min(0.99, kept * size)) for one, size in zip(alone, sizes, strict=True)]


def _scaled(questions: Sequence[Asked], gamma: float) -> tuple[Asked, ...]:
    """The same proportions of blankets, the largest being this."""
    top = max(_gamma(one) for one in questions)
    return tuple(_with_gamma(one, _gamma(one) / top * gamma) for one in questions)


def _gamma(asked: Asked) -> float:
    return asked.protocol.randomizer.gamma


def _with_gamma(asked: Asked, gamma: float) -> Asked:
    protocol: Any = asked.protocol
    return replace(asked, protocol=replace(protocol, randomizer=_randomizer(asked, gamma)))


def _randomizer(asked: Asked, gamma: float) -> RunnableRandomizer:
    """With another blanket."""
    given = asked.protocol.randomizer
    if not isinstance(given, Tunable):
        raise InvalidInput(f"question {asked.name!r} cannot be one of several yet. Plan it by itself.")
    return given.with_gamma(gamma)


def _says_nothing() -> InvalidInput:
    return InvalidInput("only messages that say nothing would be private enough. Use more users or a larger epsilon.")
