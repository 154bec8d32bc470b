"""The mean of rows of numbers, from one small message each: codebook response, whatever the number of columns."""

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from shuffledp.core.digits import about
from shuffledp.core.population import Population
from shuffledp.domains.vectors import Ball, Box, Vectors
from shuffledp.errors import InvalidInput
from shuffledp.protocols.codebook_mean import CodebookMean
from shuffledp.protocols.estimator import Reals
from shuffledp.protocols.forecast import Forecast
from shuffledp.protocols.on_domain import OnDomain
from shuffledp.protocols.sampling import Sampleable
from shuffledp.randomizers.codebook_response import CodebookResponse
from shuffledp.references import cite


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorMean(OnDomain, CodebookMean, Sampleable):
    """The mean of rows of numbers, each a point of a ball or of a box."""

    randomizer: CodebookResponse  # type: ignore[assignment]  # its inputs are points, not symbols
    domain: Vectors
    kind = "vector-mean"
    randomizer_type = CodebookResponse
    domain_type = Vectors
    domain_in_words = "a mean of rows is of rows of numbers"
    reference: ClassVar[str] = cite("BDFKR18")

    def __post_init__(self) -> None:
        self.check_fit()
        if self.domain.width != self.domain.dimension:
            raise InvalidInput("a mean of rows is of the numbers themselves. Plan moments for their products.")

    # Asking only some of the people

    def most_spread(self, value: Reals, n: int) -> Reals:
        points = (value - self.domain.middle) / self.domain.radii
        left = np.maximum(self.domain.most_squares - np.square(points), 0.0)
        return np.asarray(np.square(self.domain.radii) * left * n / max(1, n - 1))

    def worst_sampled(self, n: int, weight: float) -> Population:
        """Half of the people at either of two opposite ends, or all in the middle: both errors are linear in the length."""
        if (self.law.along / self.law.gain**2 - 1) / self.repeats + weight <= 0:
            return Population(values=self.domain.landmarks()[2:3], users=np.array([n]))
        return Population(values=self.domain.landmarks()[:2], users=np.array([n - n // 2, n // 2]))

    def population_error(self, n: int) -> float:
        """The largest squared error about the mean of a population of which the users are a random sample."""
        return self.most(n, drawn=1.0)

    def forecast(self, n: int) -> Forecast:
        """The length of the error, that of one entry, and what a liar can do."""
        domain, errors = self.domain, self.entry_errors(n)
        entry = float((errors / domain.radii).max())
        return Forecast(
            lines=(
                f"expected length of the error: {about(self.rmse(n))} (root mean square, at the worst data)",
                f"{domain.off_by(entry)} (standard error, at the worst data for it)",
                f"a false report moves an entry by at most {about(self.max_shift(n))}",
            ),
            others={
                "entries": domain.dimension, "entry_standard_error": float(errors.max()),
                "population_rmse": math.sqrt(self.population_error(n)), "codewords": self.randomizer.size,
                "messages_per_user": self.repeats,
            },
        )  # fmt: skip

    # As data

    @classmethod
    def examples(cls) -> list[Self]:
        """A ball, a box of named columns, and several messages each."""
        return [
            cls(randomizer=CodebookResponse.private(dimension=3, size=8, gamma=0.2), domain=Ball(3, 2.0)),
            cls(
                randomizer=CodebookResponse.private(dimension=4, size=5, gamma=0.1),
                domain=Box((0.0, -1.0, 10.0, 0.0), (1.0, 1.0, 90.0, 3.0), ("share", "change", "age", "rooms")),
            ),
            cls(
                randomizer=CodebookResponse.private(dimension=3, size=4, gamma=0.3, repeats=3),
                domain=Ball(3, 1.0, ("x", "y", "z")),
            ),
        ]


def averages_updates(protocol: object) -> VectorMean:
    """The protocol, if it averages rows of numbers, as federated averaging needs; refused if it does not."""
    if not isinstance(protocol, VectorMean):
        raise InvalidInput("updates are rows of numbers, and this plan asks for something else. Use plan.vector(...).")
    return protocol
