"""Surveys: what is asked in them, and what all strategies of asking it have in common."""

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

from shuffledp.arithmetic.inversion import Search, search
from shuffledp.core import checks
from shuffledp.core.captions import spoken
from shuffledp.core.misnamed import misnamed
from shuffledp.core.randomizer import RunnableRandomizer, Tunable
from shuffledp.errors import InvalidInput, NoClaim
from shuffledp.planning.family import AnyFamily, PlannedFamily, too_small
from shuffledp.planning.options import BY, MESSAGES_PER_USER, NOISE, QUESTIONS, WAY, Option, noise
from shuffledp.planning.question import Given, Question, Terms
from shuffledp.planning.synonyms import no_question
from shuffledp.protocols.deployable import Deployable
from shuffledp.protocols.heavy_hitters import HeavyHitters
from shuffledp.protocols.one_message import OneMessage
from shuffledp.protocols.survey import LARGEST_WEIGHT, Asked, Survey
from shuffledp.protocols.text_frequencies import TextFrequencies


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One question of a survey.

    Attributes:
        name: of the question, and of the column with its answers.
        weight: its importance among the others.
        question: what is asked, on the survey's terms.
    """

    name: str
    weight: int
    question: Question

    def families(self) -> list[AnyFamily]:
        """Those that answer it."""
        from shuffledp.planning import registry

        return registry.answering(self.question)

    def alone(self, **terms: Any) -> OneMessage:
        """The most accurate protocol of one message, planned by itself, perhaps on other terms."""
        from shuffledp.planning.choose import best, promising, proposals

        question, families = self.question.at(**terms), self.families()

        def propose(family: AnyFamily) -> tuple[OneMessage, float]:
            try:
                protocol = family.propose(question)
            except InvalidInput as refused:
                raise InvalidInput(f"question {self.name!r}: {refused}") from None
            if not isinstance(protocol, OneMessage) or isinstance(protocol, HeavyHitters):
                raise InvalidInput(
                    f"question {self.name!r}, {spoken(question.name)}, cannot be one of several. Plan it on its own."
                )
            return protocol, question.cost(protocol)

        chosen = best(proposals(promising(families, question), propose))
        if isinstance(chosen, TextFrequencies) and not chosen.names:
            raise InvalidInput(f"question {self.name!r} is about any text. List the candidates to ask about.")
        return chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyQuestion(Question):
    """Several questions to the same people.

    Attributes:
        parts: the questions.
        way: the strategy of asking them, in a word; None for the best.
    """

    parts: tuple[Part, ...]
    way: str | None = None
    called: ClassVar[tuple[str, ...]] = ("survey",)
    options: ClassVar[tuple[Option, ...]] = (QUESTIONS, WAY, NOISE)

    @classmethod
    def read(cls, given: Given, **terms: Any) -> Self:
        """Questions that make sense, and a way that there is."""
        way = given.get("way")
        if way is not None and way not in WAY.words:
            raise InvalidInput(
                f"a survey is asked in one of the ways {', '.join(WAY.words)}. Choose one, or leave it out."
            )
        added = noise(given)
        if added is not None and way not in (None, "table"):
            raise InvalidInput(
                "with noise from the shuffler all questions are asked in one table. Leave out `way`, or say table."
            )
        shared = {name: value for name, value in terms.items() if name != "name"}
        return cls(parts=_parts(given.get("questions"), shared), way=way, noise=added, **terms)

    def at(self, **changes: Any) -> Self:
        """All of them on other terms."""
        terms = {name: value for name, value in changes.items() if name in {field.name for field in fields(Terms)}}
        parts = tuple(replace(part, question=part.question.at(**terms)) for part in self.parts)
        return replace(self, **{"parts": parts, **changes})

    def cost(self, protocol: Deployable) -> float:
        """Squared errors as shares of the answers' ranges, weighted."""
        return protocol.cost(self.n) if isinstance(protocol, Survey) else math.inf


class SurveyFamily(PlannedFamily[SurveyQuestion]):
    """One strategy of asking several questions."""

    question_type = SurveyQuestion
    way: str

    def answers(self, question: Question) -> bool:
        """Unless another way is asked for, or noise from the shuffler."""
        return super().answers(question) and isinstance(question, SurveyQuestion) and question.way in (None, self.way)

    def propose(self, question: SurveyQuestion) -> Survey:
        if question.bound != "best":
            raise NoClaim(f"the bound {question.bound} does not cover several questions. Use the best one.")
        return self.private(question)

    @abstractmethod
    def private(self, question: SurveyQuestion) -> Survey:
        """As accurate as the guarantee allows."""

    @abstractmethod
    def shape(self, question: SurveyQuestion) -> Callable[[float], Survey]:
        """The protocol by its largest gamma."""

    def propose_for_error(self, question: SurveyQuestion, cost: float) -> Survey:
        """The most blanket with that cost, on what would be asked at the question's epsilon."""
        at = self.shape(question)

        def excess(gamma: float) -> float:
            try:
                return math.log(at(gamma).cost(question.n) / cost)
            except InvalidInput:
                return math.inf

        most = search(excess, Search(low=1e-15, high=1.0, towards="smaller"), start=0.1, precision=1e-6)
        if most is None:
            raise too_small()
        return at(most)


# Reading the questions


def _parts(given: Any, terms: Mapping[str, Any]) -> tuple[Part, ...]:
    if not isinstance(given, list | tuple) or not given:
        raise InvalidInput("a survey needs its questions. Give a file that lists them, or questions=[...] in Python.")
    parts = tuple(_part(one, number, terms) for number, one in enumerate(given, start=1))
    names = [part.name for part in parts]
    for name in names:
        if names.count(name) > 1:
            raise InvalidInput(f"two questions are called {name!r}. Give each a name of its own.")
    if len(parts) < 2:
        raise InvalidInput("a survey has at least two questions. Plan a single one on its own.")
    return parts


def _part(given: Any, number: int, terms: Mapping[str, Any]) -> Part:
    """As if it were asked by itself."""
    from shuffledp.planning import registry
    from shuffledp.planning.ask import ask

    if not isinstance(given, Mapping):
        raise InvalidInput(
            f"question {number} is not a table of fields. Give its name, what to ask and the options of that question, e.g. "
            '{"name": "smokes", "ask": "histogram", "labels": ["no", "yes"]}.'
        )
    rest = dict(given)
    name = rest.pop("name", None)
    if not isinstance(name, str) or not name or name != name.strip():
        raise InvalidInput(f"question {number} needs a name. Name it after its column of answers.")
    asked = rest.pop("ask", None)
    possible = [one for one in registry.questions() if one not in SurveyQuestion.called]
    if not isinstance(asked, str):
        raise InvalidInput(f"question {name!r}: ask must be one of {', '.join(possible)}. Say what is asked.")
    if asked not in possible:
        raise InvalidInput(f"question {name!r}: {no_question(asked, possible)}")
    if BY.name in rest:
        raise InvalidInput(f"question {name!r} by group cannot be one of several yet. Plan it on its own.")
    weight = checks.whole(rest.pop("weight", 1), f"question {name!r}: weight", "Use e.g. 1.")
    if not 1 <= weight <= LARGEST_WEIGHT:
        raise InvalidInput(f"question {name!r}: weight must be a whole number from 1 to 1e6. Use e.g. 1.")
    if MESSAGES_PER_USER.name in rest:
        raise InvalidInput(f"question {name!r}: dummies hide one question, not several. Leave out `messages_per_user`.")
    if NOISE.name in rest:
        raise InvalidInput(f"question {name!r}: the shuffler adds noise to all questions. Say `noise` of the survey.")
    known = {option.name for option in registry.options_of(asked)}
    for field in rest:
        if field not in known:
            near = misnamed(str(field), known)
            raise InvalidInput(
                f"question {name!r}: {spoken(asked)} has no field {str(field)!r}. {near or 'Remove it.'}".rstrip()
            )
    try:
        question = ask(asked, options=rest, **terms)
    except InvalidInput as refused:
        raise InvalidInput(f"question {name!r}: {refused}") from None
    return Part(name=name, weight=weight, question=question)


# Blankets of questions that are asked together


def planned_alone(parts: Sequence[Part], **terms: Any) -> list[Asked]:
    """Each question planned by itself; equal ones once."""
    planned = dict[Question, OneMessage]()
    for part in parts:
        if part.question not in planned:
            planned[part.question] = part.alone(**terms)
    return [Asked(name=part.name, weight=part.weight, protocol=planned[part.question]) for part in parts]


def balanced(alone: Sequence[Asked], n: int, *, drawn: bool) -> list[Asked]:
    """Blankets that make the weighted sum of the questions' own errors small for what they leak together.

    A question with gamma g leaks as 1 / g and errs as g. If b is what it needs by itself and a g its error, then the least
    sum of w a g with the sum of b / g given has g in the proportion of sqrt(b / (w a)). A question that a share w of the people
    draw errs 1 / w times as much, and leaks w times as much: sqrt(w b / a).
    """
    sizes = []
    for one in alone:
        needed = gamma_of(one)
        error = one.share_error(one.protocol.expected_error(one.protocol.worst(n)), n) / needed
        sizes.append(math.sqrt(needed / error * (one.weight if drawn else 1 / one.weight)))
    leaks = [one.weight if drawn else 1 for one in alone]
    kept = sum(leak * gamma_of(one) / size for leak, one, size in zip(leaks, alone, sizes, strict=True)) / sum(leaks)
    return [_with_gamma(one, min(0.99, kept * size)) for one, size in zip(alone, sizes, strict=True)]


def scaled(questions: Sequence[Asked], gamma: float) -> tuple[Asked, ...]:
    """Questions whose blankets keep their proportions, with the largest of them at gamma."""
    top = max(gamma_of(one) for one in questions)
    return tuple(_with_gamma(one, gamma_of(one) / top * gamma) for one in questions)


def scaled_randomizers(questions: Sequence[Asked], gamma: float) -> tuple[RunnableRandomizer, ...]:
    """How the questions are then answered."""
    top = max(gamma_of(one) for one in questions)
    return tuple(_randomizer(one, gamma_of(one) / top * gamma) for one in questions)


def gamma_of(asked: Asked) -> float:
    """The blanket probability of a question."""
    return asked.protocol.randomizer.gamma


def _with_gamma(asked: Asked, gamma: float) -> Asked:
    protocol: Any = asked.protocol
    return replace(asked, protocol=replace(protocol, randomizer=_randomizer(asked, gamma)))


def _randomizer(asked: Asked, gamma: float) -> RunnableRandomizer:
    """With another blanket."""
    given = asked.protocol.randomizer
    if not isinstance(given, Tunable):
        raise InvalidInput(f"question {asked.name!r} cannot be one of several yet. Plan it on its own.")
    return given.with_gamma(gamma)
