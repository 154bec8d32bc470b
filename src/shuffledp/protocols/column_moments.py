"""Means, variances, covariances, correlations and a linear regression of columns, from one small message of each user."""

from dataclasses import dataclass
from typing import ClassVar, Final, Self

import numpy as np

from shuffledp.core.digits import about
from shuffledp.core.document import Document, fields
from shuffledp.core.population import Population
from shuffledp.domains.products import Products
from shuffledp.protocols.codebook_mean import CodebookMean
from shuffledp.protocols.estimator import Reals
from shuffledp.protocols.forecast import Forecast
from shuffledp.protocols.linear_regression import Regression, regression_of
from shuffledp.protocols.row_moments import RowMoments
from shuffledp.randomizers.codebook_response import CodebookResponse
from shuffledp.references import cite

_EVEN: Final = 1 / 3
"""The variance of a column that is spread evenly over [-1, 1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnMoments(RowMoments, CodebookMean):
    """The mean of a point that is made of scaled columns, their squares and products, and what is read off it.

    Attributes:
        regression: which column is explained by which; None if only moments are asked for. It changes no message.
    """

    randomizer: CodebookResponse
    domain: Products
    regression: Regression | None = None
    kind = "moments"
    reference: ClassVar[str] = cite("BDFKR18")

    def __post_init__(self) -> None:
        self.check_moments()
        self.check_fit()

    def sentence(self) -> str:
        return (
            "each user scales the columns to [-1, 1], makes a point of the unit ball of them, their squares and products, then "
            f"{self.randomizer.sentence()}"
        )

    def covariance_of(self, population: Population) -> Reals:
        points = self.domain.into_ball(population.values)
        own = (points * population.users[:, None]).T @ points / population.n
        law = self.law
        noise = (law.along * own + law.across * np.eye(len(own))) / law.gain**2 - own
        radii = self.domain.radii
        return np.asarray(noise * np.outer(radii, radii) / (population.n * self.repeats))

    def forecast(self, n: int) -> Forecast:
        """How far off means, squares and products are; and a coefficient, where features are unrelated."""
        p, errors = self.domain.width, self.entry_errors(n)
        mean, square = float(errors[0]), float(errors[p])
        lines = [
            f"{self.domain.off_by(mean / float(self.domain.radii[0]))} (standard error, at the worst data for it)",
            f"with columns scaled to [-1, 1], a variance is off by about {about(square)} and a covariance by {about(mean)}",
        ]
        others = {"entries": self.domain.dimension, "mean_standard_error": mean, "square_standard_error": square}
        if self.regression is not None:
            others["coefficient_standard_error"] = slope = mean / (_EVEN * (1 + self.regression.ridge))
            lines.append(
                f"if features are unrelated and spread evenly over their ranges, a coefficient of 0 is off by about "
                f"{about(slope)} ranges of the target for each range of the feature; related features err more"
            )
        lines.append(f"a false report moves a mean by at most {about(50 * self.max_shift(n))} % of its column's range")
        more = {"codewords": self.randomizer.size, "messages_per_user": self.repeats}
        return Forecast(lines=tuple(lines), others=others | more)

    # As data

    def document(self) -> Document:
        return {
            "kind": self.kind, "domain": self.domain.document(), "randomizer": self.randomizer.document(),
            "regression": None if self.regression is None else self.regression.document(),
        }  # fmt: skip

    @classmethod
    def from_document(cls, document: object) -> Self:
        return cls(
            **fields(
                document, cls.kind, domain=Products.from_document, randomizer=CodebookResponse.from_document,
                regression=regression_of,
            )
        )  # fmt: skip

    @classmethod
    def examples(cls) -> list[Self]:
        """Two columns, three with a regression, and several messages about two with a ridge."""
        return [
            cls(
                randomizer=CodebookResponse.private(dimension=5, size=8, gamma=0.2),
                domain=Products((0.0, 5.0), (4.0, 9.0), ("rooms", "age")),
            ),
            cls(
                randomizer=CodebookResponse.private(dimension=9, size=16, gamma=0.1),
                domain=Products((0.0, -1.0, 10.0), (1.0, 1.0, 90.0), ("share", "change", "age")),
                regression=Regression(target="age", features=("share", "change")),
            ),
            cls(
                randomizer=CodebookResponse.private(dimension=5, size=4, gamma=0.3, repeats=3),
                domain=Products((1.0, 1.0), (3.0, 5.0), ("rooms", "people")),
                regression=Regression(target="people", features=("rooms",), ridge=0.1),
            ),
        ]  # fmt: skip
