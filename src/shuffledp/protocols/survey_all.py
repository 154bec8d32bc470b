"""Several questions, all of which everybody answers, by messages that nobody can connect."""

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.attacker_view import AttackerView
from shuffledp.core.counts import Counts
from shuffledp.core.population import Population
from shuffledp.core.ragged import Ragged
from shuffledp.core.randomness import EncodingRandomness, RandomSource
from shuffledp.errors import InvalidInput
from shuffledp.protocols.estimator import Reals
from shuffledp.protocols.grouped import GroupedSummation
from shuffledp.protocols.histogram import Histogram
from shuffledp.protocols.survey import Asked, Survey, WholeSurveyReading, of_those_asked, own_errors
from shuffledp.protocols.survey_one import OneOfAll
from shuffledp.randomizers.response import RandomizedResponse
from shuffledp.randomizers.together import Together


@dataclass(frozen=True, slots=True, kw_only=True)
class AllOfThem(Survey):
    """Each person answers every question by a message of its own; all messages of all people are shuffled together.

    Every question is answered by all n people, so that its error is its protocol's own. The privacy is that of as many releases,
    composed.
    Reference: docs/maths/mixtures.md.
    """

    questions: tuple[Asked, ...]
    randomizer: Together = field(init=False, repr=False, compare=False)
    kind = "survey-all"
    way = "all"

    def __post_init__(self) -> None:
        self.check_questions()
        object.__setattr__(
            self, "randomizer", Together(parts=tuple(one.by_one_message.randomizer for one in self.questions))
        )

    @classmethod
    def of(cls, questions: tuple[Asked, ...]) -> Self:
        return cls(questions=questions)

    def sentence(self) -> str:
        """As many messages as questions."""
        return f"each user {self.randomizer.sentence()}"

    # What a user sends

    @property
    def messages_per_user(self) -> float:
        """One for each question."""
        return len(self.questions)

    @property
    def most_messages(self) -> int:
        return len(self.questions)

    def fewest_messages(self, users: int) -> int:
        return users * len(self.questions)

    @property
    def bits(self) -> int:
        return len(self.questions) * (self.alphabet - 1).bit_length()

    def randomize(self, values: NDArray[Any], randomness: RandomSource, *, first_row: int) -> Ragged:
        """The messages of each user; encoders have words of their own."""
        symbols = self.symbols_of(values, EncodingRandomness(randomness), first_row, apart=True)
        return self.randomizer.randomize(symbols, randomness, first_row=first_row)

    def attacker_view(self) -> AttackerView:
        """The randomizer's, but answers are encoded first: how likely each message is for them is left to be learned."""
        return replace(self.randomizer.attacker_view(), law=None)

    def of_user(self, messages: Ragged) -> list[int]:
        """One for each question."""
        return [int(message) for message in messages.of_row(0)]

    # What they add up to

    @property
    def counters(self) -> int:
        """One for each message, and one for the users."""
        return self.alphabet + 1

    def count(self, messages: Ragged) -> Counts:
        """How often each message occurs, and how many users there are."""
        return self._counts(Counts.of(messages.values, self.alphabet).values, len(messages))

    def tallied(self, often: NDArray[np.int64], users: int) -> Counts:
        """At least one for each user. Liars may answer a question several times or not at all, and spoil nothing by that."""
        counts = Counts(often)
        if counts.size != self.alphabet or counts.total < users:
            raise InvalidInput("so many users cannot have sent these messages. They belong to another protocol.")
        return self._counts(often, users)

    def reports(self, counts: NDArray[np.int64]) -> int:
        return int(counts[-1])

    @property
    def reading(self) -> WholeSurveyReading:
        """What each question reads."""
        return WholeSurveyReading(self)

    def debias(self, counts: NDArray[np.int64], n: int) -> Reals:
        return of_those_asked(self, counts, n)

    def standard_error(self, value: Reals, n: int) -> Reals:
        return own_errors(self, value, n)

    def bias(self, population: Population) -> Reals:
        parts = zip(self.questions, self.parts_of(population), strict=True)
        return np.concatenate([one.protocol.bias(part) for one, part in parts])

    def errors_for(self, population: Population) -> list[float]:
        parts = self.parts_of(population)
        return [one.protocol.expected_error(part) for one, part in zip(self.questions, parts, strict=True)]

    def max_shift(self, n: int) -> float:
        """A liar may answer one question as often as there are questions."""
        return len(self.questions) * max(one.protocol.max_shift(n) for one in self.questions)

    def simulate(self, population: Population, generator: np.random.Generator, runs: int) -> Reals:
        parts = zip(self.questions, self.parts_of(population), strict=True)
        return np.concatenate([one.protocol.simulate(part, generator, runs) for one, part in parts], axis=1)

    @property
    def cells_per_run(self) -> int:
        return sum(one.protocol.cells_per_run for one in self.questions)

    @classmethod
    def examples(cls) -> list[Self]:
        """As those of which one is answered; a mean by group, and how many are in it."""
        delay = GroupedSummation.examples()[0]
        carriers = Histogram(RandomizedResponse(size=3, gamma=0.4), delay.domain.by[0][1])
        groups = (Asked(name="delay", protocol=delay), Asked(name="carrier", protocol=carriers))
        return [*(cls(questions=one.questions) for one in OneOfAll.examples()), cls(questions=groups)]

    def _counts(self, often: NDArray[np.int64], users: int) -> Counts:
        return Counts(np.append(often, np.int64(users)))
