"""Means and moments of rows by others: a trusted curator with Gaussian noise, and codebook response that is private by itself."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.first_guess import gaussian_mu
from shuffledp.core.counts import Counts
from shuffledp.core.document import Document, fields, number
from shuffledp.core.population import Population
from shuffledp.core.randomness import RandomSource
from shuffledp.domains.products import Products
from shuffledp.domains.registry import from_document as domain_of
from shuffledp.domains.vectors import Ball, Vectors
from shuffledp.errors import InvalidInput
from shuffledp.planning.families.moments import MomentsQuestion
from shuffledp.planning.families.vector import SIZES, CodebookFamily, RowQuestion
from shuffledp.planning.family import Family
from shuffledp.protocols.codebook_mean import CodebookMean
from shuffledp.protocols.linear_regression import Regression, regression_of
from shuffledp.protocols.row_means import RowMeans
from shuffledp.protocols.row_moments import RowMoments
from shuffledp.randomizers.codebook_response import CodebookResponse
from shuffledp.references import cite

Reals = NDArray[np.float64]
_UNIT = 1 << 26


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyVector(RowMeans):
    """The sum of points of the unit ball plus Gaussian noise, once, by a curator who sees all rows.

    Its noise is drawn by floating point, so this is to compare with, and nothing to release.
    Formula: if one row is exchanged for another the sum moves by at most 2; noise of standard deviation sigma makes that
    a shift by 2 / sigma. The squared error of the mean is d sigma^2 / n^2 in the unit ball.
    """

    domain: Vectors
    sigma: float
    kind = "noisy-vector"
    reference: ClassVar[str] = cite("BW18")

    def __post_init__(self) -> None:
        if not 1e-6 <= self.sigma <= 1e12:
            raise InvalidInput("the noise is from 1e-6 to 1e12 radii of the ball. Give another sigma.")

    def sentence(self) -> str:
        """The curator does it."""
        return f"the curator adds Gaussian noise of standard deviation {self.sigma:.6g} radii to each entry of the sum"

    @property
    def epsilon0(self) -> None:
        """A curator's users have none."""
        return

    @property
    def bits(self) -> int:
        return 64 * self.domain.dimension

    def randomize(self, values: NDArray[Any], randomness: RandomSource, *, first_row: int) -> NDArray[Any]:
        """The rows themselves: the curator is trusted."""
        del randomness, first_row
        self.domain.rows(values)
        return values

    @property
    def counters(self) -> int:
        """A sum for each entry, and of how many rows."""
        return self.domain.dimension + 1

    def count(self, messages: NDArray[Any]) -> Counts:
        """Whole numbers of 2^-26, from -1 on, so that no sum is negative."""
        points = np.rint((self.domain.into_ball(messages) + 1) * _UNIT).astype(np.int64)
        return Counts(np.append(points.sum(axis=0), len(messages)))

    def reports(self, counts: NDArray[np.int64]) -> int:
        return int(counts[-1])

    def debias(self, counts: NDArray[np.int64], n: int) -> Reals:
        """With noise, new each time."""
        exact = counts[..., :-1] / _UNIT - n
        noise = self.sigma * np.random.default_rng().standard_normal(exact.shape)
        return np.asarray(self.domain.middle + self.domain.radii * (exact + noise) / n)

    def standard_error(self, value: Reals, n: int) -> Reals:
        return np.broadcast_to(self.domain.radii * self.sigma / n, np.shape(value)).copy()

    def worst(self, n: int) -> Population:
        return Population(values=self.domain.landmarks()[:1], users=np.array([n]))

    def expected_error(self, population: Population) -> float:
        radii = np.broadcast_to(self.domain.radii, (self.domain.dimension,))
        return float(np.square(radii * self.sigma / population.n).sum())

    def max_shift(self, n: int) -> float:
        """From one side of the ball to the other."""
        return 2 * float(self.domain.radii.max()) / n

    def simulate(self, population: Population, generator: np.random.Generator, runs: int) -> Reals:
        noise = generator.standard_normal((runs, self.domain.dimension))
        return np.asarray(self.expected(population) + self.domain.radii * self.sigma / population.n * noise)

    @property
    def cells_per_run(self) -> int:
        return self.domain.dimension

    def document(self) -> Document:
        return {"kind": self.kind, "domain": self.domain.document(), "sigma": self.sigma}

    @classmethod
    def from_document(cls, document: object) -> Self:
        found = fields(document, cls.kind, domain=domain_of, sigma=number)
        if not isinstance(found["domain"], Vectors):
            raise InvalidInput("a mean of rows is of rows of numbers. Give a ball or a box.")
        return cls(**found)

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(domain=Ball(3, 2.0), sigma=9.0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyMoments(RowMoments, NoisyVector):
    """A curator's noise on means of columns, their squares and products, and what is read off these."""

    domain: Products
    regression: Regression | None = None
    kind = "noisy-moments"

    def __post_init__(self) -> None:
        NoisyVector.__post_init__(self)
        self.check_moments()

    def covariance_of(self, population: Population) -> Reals:
        return np.diag(np.square(self.domain.radii * self.sigma / population.n))

    def document(self) -> Document:
        stated = None if self.regression is None else self.regression.document()
        return {"kind": self.kind, "domain": self.domain.document(), "sigma": self.sigma, "regression": stated}

    @classmethod
    def from_document(cls, document: object) -> Self:
        return cls(**fields(document, cls.kind, domain=Products.from_document, sigma=number, regression=regression_of))

    @classmethod
    def examples(cls) -> list[Self]:
        columns = Products((1.0, 1.0), (3.0, 5.0), ("rooms", "people"))
        return [cls(domain=columns, sigma=9.0, regression=Regression(target="people", features=("rooms",)))]


class AboutRows(Family[RowQuestion]):
    """What answers any one kind of question about rows."""

    def __init__(self, question_type: type[RowQuestion]) -> None:
        self.question_type = question_type


class CuratorRows(AboutRows):
    """A curator's mean."""

    name, trust, accounted_by = "Gaussian noise", "the curator", "sensitivity"

    def propose(self, question: RowQuestion) -> NoisyVector:
        """As much noise as the exact condition of Balle and Wang asks for."""
        sigma = 2 / gaussian_mu(question.epsilon, question.delta)
        if isinstance(question, MomentsQuestion):
            return NoisyMoments(domain=question.domain, sigma=sigma, regression=question.regression)
        return NoisyVector(domain=question.domain, sigma=sigma)


class LocalRows(AboutRows):
    """One message that is private by itself."""

    name, trust, accounted_by = "local codebook response", "nobody", "epsilon0"

    def propose(self, question: RowQuestion) -> CodebookMean:
        """With the question's epsilon as epsilon0, on the best number of codewords."""
        d = question.domain.dimension
        each = (CodebookResponse.private(dimension=d, size=size, epsilon0=question.epsilon) for size in SIZES)
        return min(map(question.protocol, each), key=lambda protocol: protocol.mean_squared_error(question.n))


class SeveralMessages(AboutRows):
    """What `plan` proposes for more messages per user than were asked for."""

    trust, accounted_by = "the shuffler", "composition"

    def __init__(self, question_type: type[RowQuestion], messages: int) -> None:
        AboutRows.__init__(self, question_type)
        self.name, self._messages = f"shuffledp, {messages} messages", messages

    def propose(self, question: RowQuestion) -> CodebookMean:
        return CodebookFamily().propose(question.at(repeats=self._messages))
