"""Several questions, of which each person answers one, drawn at random."""

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.captions import spoken
from shuffledp.core.estimate import Estimate
from shuffledp.core.population import Population
from shuffledp.core.randomness import RandomSource
from shuffledp.domains.cross_table import CrossTable
from shuffledp.domains.labels import Labels
from shuffledp.errors import InvalidInput
from shuffledp.protocols.distribution import Distribution
from shuffledp.protocols.estimator import Reals
from shuffledp.protocols.histogram import Histogram
from shuffledp.protocols.one_message import OneMessage, Symbols
from shuffledp.protocols.sampling import Sampleable, spread
from shuffledp.protocols.summation import Summation
from shuffledp.protocols.survey import Asked, Survey, SurveyReading, of_those_asked
from shuffledp.randomizers.mixture import Mixture
from shuffledp.randomizers.response import RandomizedResponse

_MOST_MESSAGES = 1 << 14
"""Up to so many are drawn one by one in simulations."""
_DEVIATIONS = 14
"""Of the number of those asked that are summed over: what is beyond is below 1e-40."""


class Sampling(NamedTuple):
    """What it means for an error that only some of n people are asked, each with the same probability.

    Attributes:
        inverse: E[1/m; m > 0], m people being asked.
        nobody: P(m = 0).
    """

    inverse: float
    nobody: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOfAll(Survey, OneMessage):
    """Each person draws a question, with probability weight / sum of weights, and answers it alone.

    An answer is that of the m people who drew the question, who are a random sample of all n: a mean as it is, a total n / m
    times. Its error is that of the randomizers and that of the sample.

    Formula: E[1/m; m > 0] n V + s^2 (E[1/m; m > 0] - P(m > 0) / n) S^2, and the square of the answer where nobody drew it.
    Legend: V = the protocol's own squared error for all n people; s = 1 for a mean, n for a total; S^2 = the variance of the
    people's true values, with n - 1 in the denominator, summed over entries; m is binomial.
    Reference: docs/maths/mixtures.md.
    """

    questions: tuple[Asked, ...]
    randomizer: Mixture = field(init=False, repr=False, compare=False)
    kind = "survey-one"
    way = "one"

    def __post_init__(self) -> None:
        self.check_questions()
        for one in self.questions:
            as_sampleable(one)  # refuses others
        mixture = Mixture.of(
            [one.weight for one in self.questions], [one.by_one_message.randomizer for one in self.questions]
        )
        object.__setattr__(self, "randomizer", mixture)

    @classmethod
    def of(cls, questions: tuple[Asked, ...]) -> Self:
        return cls(questions=questions)

    def sentence(self) -> str:
        return f"each user {self.randomizer.sentence()}"

    def encode(self, values: NDArray[Any], randomness: RandomSource, *, first_row: int) -> Symbols:
        """A symbol for each question. Only one is sent, so that their encoders may use the same words."""
        return self.symbols_of(values, randomness, first_row, apart=False)

    def share(self, t: int) -> float:
        """How often a question is drawn."""
        return self.questions[t].weight / sum(one.weight for one in self.questions)

    @property
    def reading(self) -> "SampledSurveyReading":
        """What each question reads."""
        return SampledSurveyReading(self)

    def debias(self, counts: NDArray[np.int64], n: int) -> Reals:
        """Those of the people asked, as if they were all; 0 where nobody was."""
        return of_those_asked(self, counts, n)

    def standard_error(self, value: Reals, n: int) -> Reals:
        found = []
        for t, (one, mine) in enumerate(zip(self.questions, self.answers_of(value), strict=True)):
            sampling, scale = self._sampling(t, n), 1 if one.protocol.averages else n
            noise = sampling.inverse * n * one.protocol.standard_error(mine, n) ** 2
            sample = scale**2 * (sampling.inverse - (1 - sampling.nobody) / n) * as_sampleable(one).most_spread(mine, n)
            found.append(np.sqrt(noise + sample))
        return np.concatenate(found, axis=-1)

    def errors_for(self, population: Population) -> list[float]:
        """By the formula above."""
        return [self._error(t, part, population.n) for t, part in enumerate(self.parts_of(population))]

    def _error(self, t: int, part: Population, n: int) -> float:
        protocol, sampling = self.questions[t].protocol, self._sampling(t, n)
        scale = 1 if protocol.averages else n
        off = float(np.square(protocol.bias(part)).sum())  # the same for any part of the people
        noise = sampling.inverse * n * (protocol.expected_error(part) - off) + (1 - sampling.nobody) * off
        sample = scale**2 * (sampling.inverse - (1 - sampling.nobody) / n) * spread(protocol, part)
        nothing = sampling.nobody * float(np.square(protocol.expected(part)).sum()) if sampling.nobody else 0.0
        return noise + sample + nothing

    def bias(self, population: Population) -> Reals:
        """As each question's own, but nothing is said where nobody drew it."""
        found = []
        for t, (one, part) in enumerate(zip(self.questions, self.parts_of(population), strict=True)):
            nobody = self._sampling(t, population.n).nobody
            found.append((1 - nobody) * one.protocol.bias(part) - nobody * one.protocol.expected(part))
        return np.concatenate(found)

    def worst(self, n: int) -> Population:
        """The worst for a sample, of every question."""
        found = []
        for t, one in enumerate(self.questions):
            inverse = self._sampling(t, n).inverse
            found.append(
                as_sampleable(one).worst_sampled(n, max(0.0, (inverse * n - 1) / (inverse * n)) if inverse else 0.0)
            )
        return self.coupled(found)

    def max_shift(self, n: int) -> float:
        """A message more, less or other among those of a question, of which there are hardly ever fewer than counted here.

        The number of people who draw a question is more than 8 standard deviations below its mean with probability 1e-14.
        """
        found = []
        for t, one in enumerate(self.questions):
            expected = self.share(t) * n
            fewest = max(1, math.floor(expected - 8 * math.sqrt(expected)))
            found.append(one.protocol.max_shift(fewest) * (1 if one.protocol.averages else n / fewest))
        return max(found)

    def simulate(self, population: Population, generator: np.random.Generator, runs: int) -> Reals:
        """From the law of a person's message; where there are very many, from who draws which question."""
        if self.alphabet > _MOST_MESSAGES:
            return self._drawn(population, generator, runs)
        counts = np.zeros((runs, self.alphabet), dtype=np.int64)
        for j, users in enumerate(population.users.tolist()):
            law = np.concatenate(
                [
                    self.share(t) * one.by_one_message.message_law(self.domain.column(population.values[j : j + 1], t))
                    for t, one in enumerate(self.questions)
                ]
            )
            counts += generator.multinomial(users, law / law.sum(), size=runs)
        return self.debias(counts, population.n)

    def _drawn(self, population: Population, generator: np.random.Generator, runs: int) -> Reals:
        """Answers of those who draw each question, as their protocol simulates them."""
        shares = [self.share(t) for t in range(len(self.questions))]
        drawn = generator.multinomial(population.users, shares, size=(runs, len(population.users)))
        found = np.zeros((runs, len(self.names)))
        parts = self.parts_of(population)
        for run in range(runs):
            answers = []
            for t, one in enumerate(self.questions):
                asked, n = Population(values=parts[t].values, users=drawn[run, :, t]), int(drawn[run, :, t].sum())
                scale = 1 if one.protocol.averages else population.n / max(1, n)
                nothing = np.zeros((1, len(one.protocol.names)))
                answers.append(scale * one.protocol.simulate(asked, generator, 1) if n else nothing)
            found[run] = np.concatenate(answers, axis=1)[0]
        return found

    @property
    def cells_per_run(self) -> int:
        """A number per message, or of those who draw each question."""
        if self.alphabet > _MOST_MESSAGES:
            return sum(one.protocol.cells_per_run for one in self.questions)
        return self.alphabet

    @classmethod
    def examples(cls) -> list[Self]:
        """Two counts; a count and a mean, drawn unevenly; a table and a distribution on two grids."""
        sex = Histogram(RandomizedResponse(size=2, gamma=0.25), Labels(("female", "male")))
        diet = Histogram(RandomizedResponse(size=3, gamma=0.5), Labels(("meat", "fish", "plants")))
        hours = Summation(randomizer=RandomizedResponse(size=3, gamma=0.2), low=-2.0, high=8.0, total="mean")
        smokes = Histogram(
            RandomizedResponse(size=4, gamma=0.3),
            CrossTable((("sex", Labels(("female", "male"))),), Labels(("no", "yes"))),
        )
        ages = Distribution.examples()[1]
        return [
            cls(questions=(Asked(name="sex", protocol=sex), Asked(name="diet", protocol=diet))),
            cls(questions=(Asked(name="diet", protocol=diet), Asked(name="hours", protocol=hours, weight=2))),
            cls(questions=(Asked(name="smokes", protocol=smokes), Asked(name="age", protocol=ages, weight=3))),
        ]

    def _sampling(self, t: int, n: int) -> Sampling:
        return _sampling(n, self.share(t))


class SampledSurveyReading(SurveyReading):
    """What is read off where each question is answered by the people who drew it."""

    __slots__ = ()

    def beside(self, estimate: Estimate) -> dict[str, Estimate]:  # noqa: ARG002
        """Nothing: what questions say besides is about all people, not about a sample."""
        return {}


def as_sampleable(one: Asked) -> Sampleable:
    """A question that may be asked of a part of the people; refused if everybody must answer it."""
    if isinstance(one.protocol, Sampleable):
        return one.protocol
    raise InvalidInput(
        f"question {one.name!r}, {spoken(one.protocol.description.question)} by group, is asked of everybody, not of a sample. "
        "Use another way."
    )


@lru_cache(maxsize=256)
def _sampling(n: int, share: float) -> Sampling:
    """By summing over the binomial law, as far as it is above nothing."""
    mean, deviation = n * share, math.sqrt(n * share * (1 - share))
    low, high = math.floor(mean - _DEVIATIONS * deviation - 200), math.ceil(mean + _DEVIATIONS * deviation + 200)
    m = np.arange(max(0, low), min(n, high) + 1, dtype=np.float64)
    ratios = np.log((n - m[:-1]) / m[1:]) + math.log(share / (1 - share))  # of each chance to the one before
    log_chance = np.concatenate([[0.0], np.cumsum(ratios)])
    chance = np.exp(log_chance - log_chance.max())
    chance /= chance.sum()
    asked = m > 0
    return Sampling(float((chance[asked] / m[asked]).sum()), float(chance[~asked].sum()))
