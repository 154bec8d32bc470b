"""Sums and means of reals from a few messages per user: the digits of a grid point, each among dummies."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.attacker_view import AttackerView
from shuffledp.core.digits import counted
from shuffledp.core.document import Document, fields, text
from shuffledp.core.population import Population
from shuffledp.core.randomness import RandomSource
from shuffledp.domains.reals import RealRange
from shuffledp.errors import InvalidInput
from shuffledp.protocols.estimator import Reals
from shuffledp.protocols.in_digits import InDigits
from shuffledp.protocols.rounding import grid_counts, points_beside, to_grid
from shuffledp.protocols.sampling import Sampleable
from shuffledp.protocols.summing import Summing, Total, document_of_sums
from shuffledp.randomizers.digit_by_digit import Digits
from shuffledp.references import cite


@dataclass(frozen=True, slots=True, kw_only=True)
class DigitSums(Summing, InDigits, Sampleable):
    """The sum of values in [low, high], the digits of each sent as messages of their own; or their mean.

    Formula: with x = (value - low) / (high - low) in [0, 1], rounded at random to k / (B^D - 1), the sum of x is estimated by
    n / 2 + sum over j of w_j sum over messages of digit j of (v - (B - 1) / 2), unbiased. A user with value x adds
    f (1 - f) / (B^D - 1)^2 + sum over j of w_j^2 d_j (B^2 - 1) / 12 to the mean squared error, f = frac(x (B^D - 1)).
    Legend: as in `InDigits`, with one group; v = what a message says.
    Reference: GGKPV21 for counts among dummies; docs/maths/digits.md for what is sent here and its privacy.
    """

    randomizer: Digits
    low: float = 0.0
    high: float = 1.0
    total: Total = "sum"
    kind = "digit-sums"
    reference: ClassVar[str] = cite("GGKPV21")

    def __post_init__(self) -> None:
        self.check_total()
        if self.randomizer.groups != 1:
            raise InvalidInput("the messages of a sum carry no group. Make the plan again with shuffledp plan.")

    def sentence(self) -> str:
        """Rounding, digits and dummies in words."""
        grid = counted(self.precision, "step")
        return f"each user rounds the value at random to a grid of {grid}, then {self.randomizer.sentence()}"

    def encode(self, values: Reals, randomness: RandomSource, *, first_row: int) -> NDArray[np.unsignedinteger]:
        """Grid points, rounded at random so that the mean stays; a value outside the range is refused."""
        return to_grid(values, randomness, low=self.low, high=self.high, steps=self.precision, first_row=first_row)

    def attacker_view(self) -> AttackerView:
        """The randomizer's, of both grid points beside a value."""
        view = self.randomizer.attacker_view()

        def law(value: NDArray[Any]) -> Reals:
            beside = points_beside(float(self.domain.share(value)[0]), self.precision)
            return np.asarray(sum(often * self.randomizer.true_law(np.array([point])) for point, often in beside))

        return AttackerView(messages=view.messages, law=law, releases=view.releases, dummies=view.dummies)

    def debias_sum(self, counts: NDArray[np.int64], n: int) -> Reals:
        shares = self.from_the_middle(counts)[..., 0] + n / 2
        return np.asarray(n * self.low + (self.high - self.low) * shares)

    def user_error(self, value: Reals | float) -> Reals:
        x = self.domain.share(value) * self.precision
        f = x - np.floor(x)
        return np.asarray((self.high - self.low) ** 2 * (f * (1 - f) / self.precision**2 + self.spread_of_digits))

    @property
    def worst_value(self) -> float:
        """Halfway between two grid points."""
        return self.low + (self.high - self.low) / (2 * self.precision)

    def max_shift(self, n: int) -> float:
        """A liar may send as many messages as anybody at most, all of the most significant digit."""
        return (self.high - self.low) * self.largest_shift / self.scale(n)

    def worst_sampled(self, n: int, weight: float) -> Population:
        """Half the people at x, half as far from the other end: f (1 - f) / k^2 + weight (x - 1/2)^2 is largest for x = f / k."""
        k, distance = self.precision, weight * n / max(1, n - 1)
        rising = 1 / k**2 - distance / k
        share = min(1.0, rising / (2 * (1 - distance) / k**2)) / k if rising > 0 and distance < 1 else 0.0
        ends = np.array([self.low + share * (self.high - self.low), self.high - share * (self.high - self.low)])
        return Population(values=ends, users=np.array([n - n // 2, n // 2]))

    def sums(self, population: Population, generator: np.random.Generator, runs: int) -> Reals:
        """From sums of grid points, and dummies."""
        n, k = population.n, self.precision
        points = grid_counts(
            population.values, population.users, generator, low=self.low, high=self.high, steps=k, runs=runs
        )
        shares = points / k + self.from_the_middle(self.drawn_dummies(n, generator, runs))[..., 0]
        return np.asarray(n * self.low + (self.high - self.low) * shares)

    def document(self) -> Document:
        return document_of_sums(self, self.total)

    @classmethod
    def from_document(cls, document: object) -> Self:
        found = fields(document, cls.kind, total=text, domain=RealRange.from_document, randomizer=Digits.from_document)
        range_ = found["domain"]
        return cls(randomizer=found["randomizer"], low=range_.low, high=range_.high, total=found["total"])

    @classmethod
    def examples(cls) -> list[Self]:
        """One digit, two and three, each total."""
        return [
            cls(randomizer=Digits(base=4, dummies=(0.5,))),
            cls(randomizer=Digits(base=3, dummies=(3.0, 1.0)), low=-2.0, high=3.0, total="mean"),
            cls(randomizer=Digits(base=2, dummies=(1.2, 0.6, 0.3)), total="query"),
        ]
