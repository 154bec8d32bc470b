"""What protocols that average columns, their squares and products have in common: what is read off these means."""

from abc import abstractmethod

from shuffledp.core.population import Population
from shuffledp.domains.products import Products
from shuffledp.errors import InvalidInput
from shuffledp.protocols.description import Description
from shuffledp.protocols.estimator import Reals
from shuffledp.protocols.linear_regression import Regression
from shuffledp.protocols.moment_reading import (
    COEFFICIENT,
    CORRELATION,
    COVARIANCE,
    MEAN,
    VARIANCE,
    MomentReading,
)
from shuffledp.protocols.row_means import RowMeans


class RowMoments(RowMeans):
    """Means, variances, covariances and correlations of columns, and a linear regression if one is asked for."""

    __slots__ = ()
    domain: Products
    regression: Regression | None

    @abstractmethod
    def covariance_of(self, population: Population) -> Reals:
        """The covariance of the errors of the entries, for these very data."""

    def check_moments(self) -> None:
        """Refuse rows of other kinds, and a regression of columns that are not there."""
        if not isinstance(self.domain, Products):
            raise InvalidInput("moments are of columns with ranges. Make the plan with shuffledp plan.")
        if self.regression is not None:
            self.regression.check(self.domain.columns)

    @property
    def description(self) -> Description:
        """What the numbers are, part by part."""
        measures = {
            MEAN: "Mean of each column", VARIANCE: "Variance of each column", COVARIANCE: "Covariance of two columns",
            CORRELATION: "Correlation of two columns",
        }  # fmt: skip
        if len(self.domain.columns) == 1:
            del measures[COVARIANCE], measures[CORRELATION]
        if self.regression is None:
            return Description(question="moments", measure="Moments of the users' columns", measures=measures)
        target, ridge = self.regression.target, self.regression.ridge
        penalty = f", with a ridge of {ridge:g}" if ridge else ""
        first = {COEFFICIENT: f"Coefficient of each feature, for {target}{penalty}"}
        return Description(
            question="regression", measure=f"Linear regression of {target} on other columns", measures=first | measures
        )

    @property
    def reading(self) -> MomentReading:
        return MomentReading(self)
