"""How many people would say yes to a sensitive question, and how often they must be asked a harmless one."""

from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp import calibrate
from shuffledp.core.document import Readers, Written
from shuffledp.core.population import Population
from shuffledp.core.randomness import WORD, RandomSource
from shuffledp.domains.labels import Labels
from shuffledp.errors import InvalidInput
from shuffledp.planning.family import PlannedFamily
from shuffledp.planning.options import Option
from shuffledp.planning.question import Given, Question
from shuffledp.protocols.counting import Counting
from shuffledp.protocols.description import Description
from shuffledp.protocols.one_message import OneMessage
from shuffledp.randomizers.mixing import threshold_of
from shuffledp_unrelated.randomizer import BORN_IN_MAY, UnrelatedQuestion

Reals = NDArray[np.float64]
ANSWERS: Final = Labels(("no", "yes"))
HARMLESS: Final = Option(
    "harmless", "real", "Share of people who say yes to the harmless question (sensitive) [default: 1/12]."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SensitiveAnswers(Written, Counting, OneMessage):
    """How many people would say yes, and how many no.

    Formula: with T times "yes" from n people, (T - n g p) / (1 - g) is unbiased; its variance is the sum of q (1 - q) / (1 - g)^2
    over the people, q = g p + (1 - g) x being how likely one with the true answer x says yes.
    Legend: g and p as in `UnrelatedQuestion`.
    """

    randomizer: UnrelatedQuestion
    kind = "sensitive-answers"
    readers: ClassVar[Readers] = {"randomizer": UnrelatedQuestion.from_document}
    reference: ClassVar[str] = "Greenberg, Abul-Ela, Simmons and Horvitz (1969)"
    domain = ANSWERS
    description = Description(question="sensitive", measure="users")

    @property
    def _yes(self) -> tuple[float, float]:
        """How likely people say yes whose answer is no, and those whose answer is yes."""
        no, yes = (float(self.randomizer.probability(1, symbol)) for symbol in (0, 1))
        return no, yes

    def sentence(self) -> str:
        """What one person does."""
        return (
            f"each user answers a harmless question with probability {self.randomizer.threshold / WORD:.6g}, otherwise the "
            "sensitive one"
        )

    def encode(self, values: NDArray[Any], randomness: RandomSource, *, first_row: int) -> NDArray[np.unsignedinteger]:  # noqa: ARG002
        """No is 0, yes is 1."""
        return values

    def debias(self, counts: NDArray[np.int64], n: int) -> Reals:
        """Those who say yes less those expected among the harmless answers; the others say no."""
        no, yes = self._yes
        found = (counts[..., 1] - n * no) / (yes - no)
        return np.stack([n - found, found], axis=-1)

    def variance(self, users: Reals, n: int) -> Reals:  # noqa: ARG002
        """The same for both answers."""
        no, yes = self._yes
        both = (users[..., 0] * no * (1 - no) + users[..., 1] * yes * (1 - yes)) / (yes - no) ** 2
        return np.stack([both, both], axis=-1)

    def worst(self, n: int) -> Population:
        """Everybody has the answer whose messages vary most."""
        return Population(values=np.array([int(np.argmin([abs(one - 0.5) for one in self._yes]))]), users=np.array([n]))

    def max_shift(self, n: int) -> float:  # noqa: ARG002
        """One message more or less."""
        no, yes = self._yes
        return 1 / (yes - no)

    @classmethod
    def examples(cls) -> list[Self]:
        """What the conformance suite judges."""
        return [cls(randomizer=one) for one in UnrelatedQuestion.examples()]


@dataclass(frozen=True, slots=True, kw_only=True)
class SensitiveQuestion(Question):
    """How many people would say yes.

    Attributes:
        harmless: how likely a "yes" to the harmless question is, in units of 2^-64.
    """

    harmless: int
    called: ClassVar[tuple[str, ...]] = ("sensitive",)
    options: ClassVar[tuple[Option, ...]] = (HARMLESS,)

    @classmethod
    def read(cls, given: Given, **terms: Any) -> Self:
        """Born in May, unless another share is given."""
        share = given.get(HARMLESS.name)
        if share is not None and not 0 < share < 1:
            raise InvalidInput(f"harmless must be above 0 and below 1; got {share}. Use e.g. 0.25.")
        return cls(harmless=BORN_IN_MAY if share is None else threshold_of(share), **terms)


class SensitiveFamily(PlannedFamily[SensitiveQuestion]):
    """The harmless question as seldom as is private enough."""

    question_type = SensitiveQuestion

    def propose(self, question: SensitiveQuestion) -> SensitiveAnswers:
        """By the certified accountant."""
        family = UnrelatedQuestion.family(question.harmless)
        gamma = calibrate(family, n=question.honest, epsilon=question.epsilon, delta=question.delta)
        return SensitiveAnswers(randomizer=UnrelatedQuestion.of(gamma, question.harmless))
