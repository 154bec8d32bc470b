"""Moments of columns and a linear regression: what is asked about them. They are planned as means of rows are."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from shuffledp.domains.products import Products
from shuffledp.errors import InvalidInput
from shuffledp.planning.families.vector import CodebookFamily, RowQuestion, ends_of, repeats_of
from shuffledp.planning.options import FEATURES, MESSAGES_PER_USER, RANGES, RIDGE, TARGET, Option
from shuffledp.planning.question import Given
from shuffledp.protocols.column_moments import ColumnMoments
from shuffledp.protocols.linear_regression import Regression
from shuffledp.randomizers.codebook_response import CodebookResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class MomentsQuestion(RowQuestion):
    """Means, variances, covariances and correlations of columns with ranges.

    Attributes:
        regression: what is asked besides; None if nothing.
    """

    domain: Products
    regression: Regression | None = None
    called: ClassVar[tuple[str, ...]] = ("moments",)
    options: ClassVar[tuple[Option, ...]] = (RANGES, MESSAGES_PER_USER)

    @classmethod
    def read(cls, given: Given, **terms: Any) -> Self:
        """Columns, each with its range."""
        ranges = given.get(RANGES.name)
        if not ranges:
            raise InvalidInput(
                "moments are of columns with ranges. Write e.g. ranges={'age': [0, 100], 'rent': [0, 3000]}."
            )
        domain = Products(*ends_of(ranges), tuple(ranges))
        return cls(domain=domain, repeats=repeats_of(given), regression=cls._regression(given, domain), **terms)

    @classmethod
    def _regression(cls, given: Given, domain: Products) -> Regression | None:  # noqa: ARG003
        return None

    def protocol(self, randomizer: CodebookResponse) -> ColumnMoments:
        return ColumnMoments(randomizer=randomizer, domain=self.domain, regression=self.regression)

    @property
    def objective(self) -> str:
        return "expected length of the error of all moments of columns scaled to [-1, 1] (root mean square)"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegressionQuestion(MomentsQuestion):
    """A linear regression of one column on others, and their moments."""

    called: ClassVar[tuple[str, ...]] = ("regression",)
    options: ClassVar[tuple[Option, ...]] = (RANGES, TARGET, FEATURES, RIDGE, MESSAGES_PER_USER)

    @classmethod
    def _regression(cls, given: Given, domain: Products) -> Regression:
        target, features, ridge = (given.get(option.name) for option in (TARGET, FEATURES, RIDGE))
        if target is None:
            raise InvalidInput(f"a regression explains one column. Give `target`, e.g. target={domain.columns[-1]!r}.")
        others = tuple(column for column in domain.columns if column != target)
        found = Regression(
            target=target, features=others if features is None else features, ridge=0.0 if ridge is None else ridge
        )
        found.check(domain.columns)
        return found


class MomentsFamily(CodebookFamily):
    """Moments of columns."""

    question_type = MomentsQuestion


class RegressionFamily(CodebookFamily):
    """A linear regression."""

    question_type = RegressionQuestion
