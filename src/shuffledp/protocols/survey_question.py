"""What a survey is asked for: several questions, each with its own options."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from shuffledp.core import checks
from shuffledp.errors import InvalidInput
from shuffledp.protocols.family import PlannedFamily
from shuffledp.protocols.heavy_hitters import HeavyHitters
from shuffledp.protocols.one_message import OneMessage
from shuffledp.protocols.options import MESSAGES_PER_USER
from shuffledp.protocols.question import Question, spoken
from shuffledp.protocols.survey import LARGEST_WEIGHT
from shuffledp.protocols.text_frequencies import TextFrequencies

SURVEY: Final = "survey"
_HOPELESS: Final = 4.0
"""How many times the least guess another must be for its family to be left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One question of a survey.

    Attributes:
        name: of the question, and of the column with its answers.
        weight: its importance among the others.
        question: what is asked, with the survey's numbers.
    """

    name: str
    weight: int
    question: Question

    def families(self) -> list[PlannedFamily]:
        """Those that answer it."""
        from shuffledp.protocols import registry

        return registry.answering(self.question)

    def best(self, **numbers: Any) -> OneMessage:
        """The most accurate protocol of one message, planned by itself, perhaps with other numbers."""
        question, families = self.question.at(**numbers), self.families()
        guesses = {id(family): family.guess(question) for family in families}
        least = min((guess for guess in guesses.values() if guess is not None), default=math.inf)
        found, refusal = list[OneMessage](), None
        for family in families:
            guess = guesses[id(family)]
            if guess is not None and guess > _HOPELESS * least:
                continue
            try:
                proposed = family.propose(question)
            except InvalidInput as refused:
                refusal = refused
                continue
            if isinstance(proposed, OneMessage) and not isinstance(proposed, HeavyHitters):
                found.append(proposed)
        if found:
            best = min(found, key=lambda one: families[0].cost(one, question))
            if isinstance(best, TextFrequencies) and not best.names:
                raise InvalidInput(f"question {self.name!r} is about any text. List the candidates to ask about.")
            return best
        if refusal is not None:
            raise InvalidInput(f"question {self.name!r}: {refusal}")
        raise InvalidInput(
            f"question {self.name!r}, {spoken(question.name)}, cannot be one of several. Plan it by itself."
        )


def parts(question: Question) -> list[Part]:
    """The questions of a survey, each checked as if it were asked by itself."""
    given = question.option("questions")
    if not isinstance(given, list | tuple) or not given:
        raise InvalidInput("a survey needs its questions. Give a file that lists them, or questions=[...] in Python.")
    found = [_part(one, j, question) for j, one in enumerate(given, start=1)]
    names = [one.name for one in found]
    for name in names:
        if names.count(name) > 1:
            raise InvalidInput(f"two questions are called {name!r}. Give each a name of its own.")
    if len(found) < 2:
        raise InvalidInput("a survey has at least two questions. Plan a single one by itself.")
    return found


def _part(given: Any, number: int, survey: Question) -> Part:
    from shuffledp.protocols import registry

    if not isinstance(given, Mapping):
        raise InvalidInput(f'question {number} is not a table of fields. Write e.g. name = "smokes".')
    rest = dict(given)
    name = rest.pop("name", None)
    if not isinstance(name, str) or not name or name != name.strip():
        raise InvalidInput(f"question {number} has no name that is a text. Name it after its column of answers.")
    asked = rest.pop("ask", None)
    possible = [one for one in registry.questions() if one != SURVEY]
    if not isinstance(asked, str) or asked not in possible:
        raise InvalidInput(f"question {name!r}: ask must be one of {', '.join(possible)}. Say what is asked.")
    if "by" in rest:
        raise InvalidInput(f"question {name!r} by group cannot be one of several yet. Plan it by itself.")
    weight = checks.whole(rest.pop("weight", 1), f"question {name!r}: weight", "Use e.g. 1.")
    if not 1 <= weight <= LARGEST_WEIGHT:
        raise InvalidInput(f"question {name!r}: weight must be a whole number from 1 to 1e6. Use e.g. 1.")
    if MESSAGES_PER_USER.name in rest:
        raise InvalidInput(f"question {name!r}: dummies hide one question, not several. Leave out messages_per_user.")
    known = {option.name: option for family in registry.planned(asked) for option in family.options}
    for field in rest:
        if field not in known:
            raise InvalidInput(f"question {name!r}: a {asked} has no field {str(field)!r}. Remove it.")
        try:
            rest[field] = known[field].read(rest[field])
        except InvalidInput as refused:
            raise InvalidInput(f"question {name!r}: {refused}") from None
    part = Part(
        name=name,
        weight=weight,
        question=Question(
            name=asked, n=survey.n, epsilon=survey.epsilon, delta=survey.delta, honest_fraction=survey.honest_fraction,
            bound=survey.bound, options=rest,
        ),
    )  # fmt: skip
    for family in part.families():
        try:
            family.check(part.question)
        except InvalidInput as refused:
            raise InvalidInput(f"question {name!r}: {refused}") from None
    return part
