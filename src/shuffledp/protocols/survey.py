"""Several questions to the same people, in one plan: what all ways of asking them have in common."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.digits import about
from shuffledp.core.document import Document, fields, several, text, whole
from shuffledp.core.estimate import Estimate, SideBySide
from shuffledp.core.population import Population
from shuffledp.core.randomness import RandomSource, randomness_of
from shuffledp.domains.named_values import Field, Record
from shuffledp.domains.reals import RealRange
from shuffledp.errors import InvalidInput
from shuffledp.protocols.candidates import TakesCandidates, no_candidates
from shuffledp.protocols.counting import MANY, Counting
from shuffledp.protocols.cumulative import Cumulative
from shuffledp.protocols.deployable import Deployable
from shuffledp.protocols.description import Description
from shuffledp.protocols.estimator import Reals
from shuffledp.protocols.forecast import Forecast
from shuffledp.protocols.heavy_hitters import HeavyHitters
from shuffledp.protocols.one_message import OneMessage, OneSymbol, encoded
from shuffledp.protocols.protocol import ShuffleProtocol
from shuffledp.protocols.quantiles import Curve
from shuffledp.protocols.reading import Reading
from shuffledp.references import cite

LARGEST_WEIGHT: Final = 10**6


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One of several questions.

    Attributes:
        name: of the question, and of the column with its answers.
        weight: its importance among the others.
        protocol: that answers it.
    """

    name: str
    protocol: OneSymbol
    weight: int = 1

    @property
    def by_one_message(self) -> OneMessage:
        """The protocol of a question that is answered by one randomized message."""
        if not isinstance(self.protocol, OneMessage):
            raise InvalidInput(
                f"question {self.name!r} is not answered by one message. Make the plan with shuffledp plan."
            )
        return self.protocol

    @property
    def scale(self) -> float:
        """How large an answer can be for each user: the range of numbers, or one person more or less."""
        domain = self.protocol.domain
        return domain.span if isinstance(domain, RealRange) else 1.0

    def share_error(self, squared: float, n: int) -> float:
        """A squared error as one of the answer's share of its range: of all bins of a histogram, else of an entry.

        How finely something is asked, or about how many texts, does not make a question more important.
        """
        entries = len(self.protocol.names)
        together = entries <= MANY and isinstance(self.protocol, Counting)
        return squared / (self.scale * (1 if self.protocol.averages else n)) ** 2 / (1 if together else max(1, entries))


class Survey(Deployable, TakesCandidates):
    """Answers to all of several questions; an entry is called "question: entry"."""

    __slots__ = ()
    questions: tuple[Asked, ...]
    way: ClassVar[str]
    """How the questions are asked, in a word."""
    reference: ClassVar[str] = cite("BBGN19")

    @classmethod
    def takes(cls, protocol: OneSymbol) -> bool:
        """Whether questions that this answers can be asked so."""
        return isinstance(protocol, OneMessage)

    def check_questions(self) -> None:
        """Refuse what cannot be asked together."""
        if len(self.questions) < 2:
            raise InvalidInput("a survey has at least two questions. Plan a single one on its own.")
        for one in self.questions:
            if isinstance(one.protocol, Survey) or not self.takes(one.protocol):
                raise InvalidInput(
                    f"question {one.name!r} is not answered by a message that fits this survey. Make the plan with shuffledp "
                    "plan, or ask it on its own."
                )
            if isinstance(one.protocol, HeavyHitters):
                raise InvalidInput(
                    f"question {one.name!r} discovers its own answers, so there are none to forecast. Plan it on its own."
                )
            if type(one.weight) is not int or not 1 <= one.weight <= LARGEST_WEIGHT:
                raise InvalidInput(
                    f"the weight of question {one.name!r} is not a whole number from 1 to 1e6. Use e.g. 1."
                )
        names = self.domain.table_columns  # refuses names that are no names
        for name in names:
            if not name.isprintable() or any(name.startswith(f"{other}: ") for other in names):
                raise InvalidInput(
                    f"question {name!r} could be mistaken for an entry of another question, or cannot be shown. Give it a plain "
                    "name."
                )

    # What it answers

    @property
    def description(self) -> Description:
        """Each question has its own."""
        each = {one.name: one.protocol.description for one in self.questions}
        return Description(
            question="survey",
            measure="each question's own answer",
            measures={name: one.measure for name, one in each.items()},
            errors_are_bounds=any(one.errors_are_bounds for one in each.values()),
        )

    @property
    def domain(self) -> Record:
        """A value for each question."""
        return Record(tuple(Field(one.name, one.protocol.domain) for one in self.questions))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{one.name}: {entry}" for one in self.questions for entry in one.protocol.names)

    def forecast(self, n: int) -> Forecast:
        """The error of each question: of one of its entries, on average."""
        entries = [len(one.protocol.names) for one in self.questions]
        errors = [(error / max(1, several)) ** 0.5 for error, several in zip(self.errors(n), entries, strict=True)]
        named = list(zip([one.name for one in self.questions], entries, errors, strict=True))
        lines = tuple(
            f"{name}: {'an entry' if several > 1 else 'the answer'} errs by about {about(error)} "
            "(root mean square, for the worst data)"
            for name, several, error in named
        )
        return Forecast(lines=lines, by_question={name: error for name, _, error in named})

    def about(self, candidates: Sequence[str] | None) -> Self:
        """With these candidates for every question that takes any text."""
        questions, takers = list(self.questions), 0
        for t, one in enumerate(questions):
            if isinstance(one.protocol, TakesCandidates):
                questions[t], takers = replace(one, protocol=one.protocol.about(candidates)), takers + 1
        if candidates is not None and not takers:
            raise no_candidates(self.description.question)
        return self.of(tuple(questions)) if takers else self

    @property
    def decoding_memory(self) -> int:
        """Questions are decoded one after the other."""
        return max(one.protocol.decoding_memory for one in self.questions)

    # What is read off that

    @property
    def reading(self) -> "SurveyReading":
        """What each question reads."""
        return SurveyReading(self)

    def answers_of(self, value: Reals) -> list[Reals]:
        """The entries of each question."""
        ends = np.cumsum([len(one.protocol.names) for one in self.questions])
        return np.split(value, ends[:-1], axis=-1)

    def estimates_of(self, estimate: Estimate) -> list[Estimate]:
        """An estimate as one of each question."""
        columns = zip(
            self.questions, self.answers_of(estimate.value), self.answers_of(estimate.standard_error), strict=True
        )
        return [
            Estimate(
                value=value, standard_error=error, n=estimate.n, guarantee=estimate.guarantee, names=one.protocol.names
            )
            for one, value, error in columns
        ]

    # How far off that is

    @abstractmethod
    def errors_for(self, population: Population) -> list[float]:
        """The expected squared error of each question for these very data, summed over its entries."""

    def errors(self, n: int) -> list[float]:
        """The squared errors of the questions at the worst data; of one text, while candidates are not known."""
        if not all(one.protocol.names for one in self.questions):
            return self.about(("any text",)).errors(n)
        return self.errors_for(self.worst(n))

    def cost(self, n: int) -> float:
        """Squared errors as shares of the answers' ranges, weighted: what compares ways to ask."""
        total = sum(one.weight for one in self.questions)
        shares = (
            one.weight * one.share_error(error, n) for one, error in zip(self.questions, self.errors(n), strict=True)
        )
        return sum(shares) / total

    def mean_squared_error(self, n: int) -> float:
        """Summed over all entries of all questions."""
        return sum(self.errors(n))

    def expected_error(self, population: Population) -> float:
        return sum(self.errors_for(population))

    def worst(self, n: int) -> Population:
        """The worst for every question: they do not depend on each other."""
        return self.coupled([one.protocol.worst(n) for one in self.questions])

    def coupled(self, populations: Sequence[Population]) -> Population:
        """People who hold the values of each question as often as there: the first of each together, and so on."""
        ends = np.unique(np.concatenate([np.cumsum(one.users) for one in populations]))
        users = np.diff(ends, prepend=0)
        columns = [one.values[np.searchsorted(np.cumsum(one.users), ends)] for one in populations]
        some = users > 0
        return Population(values=self.domain.joined([column[some] for column in columns]), users=users[some])

    def parts_of(self, population: Population) -> list[Population]:
        """Who holds what, for each question."""
        domain = self.domain
        return [
            Population(values=domain.column(population.values, t), users=population.users)
            for t in range(len(self.questions))
        ]

    # The exact answer

    def truth(self, values: NDArray[Any]) -> NDArray[Any]:
        """Those of all questions, one after the other."""
        domain = self.domain
        return _joined([one.protocol.truth(domain.column(values, t)) for t, one in enumerate(self.questions)])

    def truth_of(self, population: Population) -> NDArray[Any]:
        parts = self.parts_of(population)
        return _joined([one.protocol.truth_of(part) for one, part in zip(self.questions, parts, strict=True)])

    def true_answer(self, truth: NDArray[Any]) -> Reals:
        """Those of all questions."""
        found, start, domain = [], 0, self.domain
        for t, one in enumerate(self.questions):
            nothing = one.protocol.truth(domain.column(np.empty(0), t))
            part = truth[start : start + len(nothing)].astype(nothing.dtype)
            found.append(one.protocol.true_answer(part))
            start += len(nothing)
        return np.concatenate(found)

    def symbols_of(
        self, values: NDArray[Any], randomness: RandomSource, first_row: int, *, apart: bool
    ) -> NDArray[np.uint32]:
        """The symbols of all questions, a column or more each; with `apart`, every question's encoder has words of its own."""
        domain, found = self.domain, []
        for t, one in enumerate(self.questions):
            mine = randomness_of(t, randomness) if apart else randomness
            found.append(encoded(one.protocol, domain.column(values, t), mine, first_row=first_row))
        return np.column_stack(found)

    # As data

    def document(self) -> Document:
        """Names, weights and the questions' protocols."""
        return {
            "kind": self.kind,
            "names": [one.name for one in self.questions],
            "weights": [one.weight for one in self.questions],
            "questions": [one.protocol.document() for one in self.questions],
        }

    @classmethod
    def from_document(cls, document: object) -> Self:
        found = fields(document, cls.kind, names=several(text), weights=several(whole), questions=several(_protocol))
        names, weights, protocols = found["names"], found["weights"], found["questions"]
        if not len(names) == len(weights) == len(protocols):
            raise InvalidInput("each question of a survey has a name, a weight and a protocol. Make the plan again.")
        asked = tuple(
            Asked(name=name, weight=weight, protocol=protocol)
            for name, weight, protocol in zip(names, weights, protocols, strict=True)
        )
        return cls.of(asked)

    @classmethod
    @abstractmethod
    def of(cls, questions: tuple[Asked, ...]) -> Self:
        """About these questions."""


class SurveyReading(Reading[Survey]):
    """What each question reads of its own entries."""

    __slots__ = ()

    def of(self, estimate: Estimate) -> Estimate:
        survey = self.protocol
        parts = zip(survey.questions, survey.estimates_of(estimate), strict=True)
        answers = [one.protocol.reading.of(part) for one, part in parts]
        return SideBySide.of(answers, [f"{one.name}: " for one in survey.questions])

    def exactly(self, entries: Reals) -> Reals:
        parts = zip(self.protocol.questions, self.protocol.answers_of(entries), strict=True)
        return np.concatenate([one.protocol.reading.exactly(part) for one, part in parts], axis=-1)

    def beside(self, estimate: Estimate) -> dict[str, Estimate]:
        """What each question says besides."""
        parts = zip(self.protocol.questions, self.protocol.estimates_of(estimate), strict=True)
        return {
            f"{one.name}: {name}": beside
            for one, part in parts
            for name, beside in one.protocol.reading.beside(part).items()
        }

    @property
    def curved(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.protocol.questions if isinstance(one.protocol, Cumulative))

    def curves(self, estimate: Estimate) -> dict[str, Curve]:
        """As alone: where a sample answers, errors are those of the sample, too."""
        parts = zip(self.protocol.questions, self.protocol.estimates_of(estimate), strict=True)
        return {
            one.name: one.protocol.reading.statistics(one.protocol.reading.of(part))
            for one, part in parts
            if isinstance(one.protocol, Cumulative)
        }

    def notes(self) -> tuple[str, ...]:
        return tuple(f"{one.name}: {note}" for one in self.protocol.questions for note in one.protocol.reading.notes())


class WholeSurveyReading(SurveyReading):
    """What is read off where everybody is asked every question, so that the error of each is its own."""

    __slots__ = ()

    def error(self, population: Population) -> Reals:
        """The expected squared error of what each question reads; groups of nobody apart."""
        parts = zip(self.protocol.questions, self.protocol.parts_of(population), strict=True)
        return np.array([float(np.nansum(one.protocol.reading.error(part))) for one, part in parts])

    def shift(self, answer: Estimate, *, times: int = 1) -> float:
        """A liar may use all of its messages for any one question."""
        times *= self.protocol.most_messages
        if not isinstance(answer, SideBySide):
            return times * max(one.protocol.max_shift(answer.n) for one in self.protocol.questions)
        parts = zip(self.protocol.questions, answer.parts, strict=True)
        return max(one.protocol.reading.shift(part, times=times) for one, part in parts)


def own_errors(survey: Survey, value: Reals, n: int) -> Reals:
    """The standard errors that the questions' protocols state for n people."""
    parts = zip(survey.questions, survey.answers_of(value), strict=True)
    return np.concatenate([one.protocol.standard_error(part, n) for one, part in parts], axis=-1)


def of_those_asked(survey: Survey, counts: NDArray[np.int64], n: int) -> Reals:
    """The answers to all questions, from messages of which those of the first question come first."""
    offsets = offsets_of(survey)
    answers = [
        as_if_all(one.protocol, counts[..., offsets[t] : offsets[t + 1]], n) for t, one in enumerate(survey.questions)
    ]
    return np.concatenate(answers, axis=-1)


def as_if_all(protocol: OneSymbol, counts: NDArray[np.int64], n: int) -> Reals:
    """The answer of those whose messages are counted, as if they were a random sample of n people; 0 if there is none."""
    asked = counts.sum(axis=-1)
    answer = np.zeros((*asked.shape, len(protocol.names)))
    for m in np.unique(asked[asked > 0]).tolist():
        here = asked == m
        answer[here] = protocol.debias(counts[here], m) * (1 if protocol.averages else n / m)
    return answer


def offsets_of(survey: Survey) -> tuple[int, ...]:
    """The first message of each question, and the number of messages."""
    return (0, *accumulate(one.protocol.alphabet for one in survey.questions))


def _joined(truths: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate([truth.astype(object) for truth in truths])


def _protocol(document: object) -> ShuffleProtocol:
    """A protocol from its document; not a survey, however deep."""
    from shuffledp.protocols.registry import from_document

    if isinstance(document, dict) and str(document.get("kind")).startswith("survey-"):
        raise InvalidInput("a survey cannot contain surveys. List their questions.")
    return from_document(document)
