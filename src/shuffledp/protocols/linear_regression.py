"""A linear regression that is read off means and covariances of columns: its coefficients, and whether they can be told."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import checks
from shuffledp.core.document import Document, members, number, several, text
from shuffledp.core.estimate import Estimate
from shuffledp.core.ratio import fieller
from shuffledp.errors import InvalidInput, unknown

Reals = NDArray[np.float64]
INTERCEPT = "(intercept)"
"""What the constant is called among the coefficients."""
MOST_RIDGE = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Regression:
    """Which column is explained by which others, linearly and with an intercept.

    Formula: coefficients b with (A + ridge diag A) b = c; A = covariances of the features, c = theirs with the target. Without
    ridge that is least squares; with it the variance of each feature counts as that much larger, whatever its unit.

    Attributes:
        target: the column that is explained.
        features: the columns that explain it.
        ridge: the share of its own variance that is added to that of each feature.
    """

    target: str
    features: tuple[str, ...]
    ridge: float = 0.0

    def __post_init__(self) -> None:
        checks.settle(self, ridge=checks.real(self.ridge, "ridge"))
        if not 0 <= self.ridge <= MOST_RIDGE:
            raise InvalidInput(f"`ridge` must be from 0 to {MOST_RIDGE:,.0f}; got {self.ridge}. Leave it out for none.")
        if not self.features:
            raise InvalidInput("a regression needs a target and at least one feature. Name another column.")
        if self.target in self.features:
            raise InvalidInput(f"the target {self.target!r} is among the features. Name other columns as features.")
        if len(set(self.features)) < len(self.features):
            raise InvalidInput("a feature is named twice. Name each once.")
        if INTERCEPT in self.features:
            raise InvalidInput(f"a feature has the name of the constant, {INTERCEPT}. Rename that column.")

    def check(self, columns: Sequence[str]) -> None:
        """Refuse what is about other columns."""
        for name in (self.target, *self.features):
            if name not in columns:
                raise unknown("column", name, tuple(columns))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the coefficients: the intercept, then the features."""
        return (INTERCEPT, *self.features)

    def document(self) -> Document:
        """As JSON data."""
        return {"target": self.target, "features": list(self.features), "ridge": self.ridge}

    @classmethod
    def from_document(cls, document: object) -> Self:
        """From its document."""
        return cls(**members(document, "a regression", target=text, features=several(text), ridge=number))


def regression_of(document: object) -> Regression | None:
    """The regression of a document, or none."""
    return None if document is None else Regression.from_document(document)


class Fit(NamedTuple):
    """Coefficients of scaled columns as ratios, and how they move with the matrix of all covariances.

    Formula: with w = x_j less its regression on the other features, u = the target less its regression on those,
    b_j = (w' B u) / (w' B w), B being the matrix with the ridge; to first order the top moves by w' dB u, the bottom by w' dB w.

    Attributes:
        top: of each coefficient: the covariance of its feature with the target that the others do not explain.
        bottom: the variance of its feature that the others do not explain.
        top_moves: a symmetric matrix for each: the derivative of the top by covariances.
        bottom_moves: that of the bottom.
    """

    top: Reals
    bottom: Reals
    top_moves: Reals
    bottom_moves: Reals


def fit(matrix: Reals, target: int, features: Sequence[int], ridge: float) -> Fit:
    """Coefficients from the covariances of all columns; a bottom of 0 is a feature that the others explain."""
    columns = len(matrix)
    penalty = np.zeros(columns)
    penalty[list(features)] = ridge
    penalized = matrix + np.diag(penalty * np.diagonal(matrix))
    parts = []
    for own in features:
        others = [feature for feature in features if feature != own]
        inverse = np.linalg.pinv(penalized[np.ix_(others, others)], rcond=1e-12, hermitian=True)
        left = []
        for column in (own, target):
            rest = np.zeros(columns)
            rest[column] = 1.0
            rest[others] = -inverse @ penalized[others, column]
            left.append(rest)
        w, u = left
        moves = [(np.outer(w, v) + np.outer(v, w)) / 2 for v in (u, w)]
        moves = [move + np.diag(penalty * np.diagonal(move)) for move in moves]
        parts.append((w @ penalized @ u, w @ penalized @ w, *moves))
    return Fit(*(np.array(part) for part in zip(*parts, strict=True)))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Coefficients(Estimate):
    """The intercept and a coefficient for each feature, in the units of the columns.

    Attributes:
        top: of each feature's coefficient, as in `Fit`.
        bottom: likewise.
        variances: of both, and their covariance: Var T, Cov(T, B), Var B.
        scale: from the ratio of both to the coefficient.
        unclear: features that the noise cannot tell from the others, or from a constant.
    """

    top: Reals
    bottom: Reals
    variances: tuple[Reals, Reals, Reals]
    scale: Reals
    unclear: tuple[str, ...] = ()

    def limits(self, z: float) -> tuple[Reals, Reals]:
        """Those of ratios (Fieller 1954), and of a normal law for the intercept; NaN where there is no limit."""
        ends = fieller(self.top, self.bottom, self.variances, z)
        known = np.isfinite(ends[0]) & ~np.isnan(self.value[..., 1:])
        low, high = (np.where(known, end * self.scale, np.nan) for end in ends)
        constant = [self.value[..., :1] + way * z * self.standard_error[..., :1] for way in (-1, 1)]
        return np.concatenate([constant[0], low], axis=-1), np.concatenate([constant[1], high], axis=-1)

    @property
    def refused(self) -> dict[str, str]:
        """All of them if one feature cannot be told from the others: whatever it does, they may do."""
        if not self.unclear:
            return {}
        why = (
            f"what the other features do not explain of {', '.join(self.unclear)} is not above the noise. Ask more people, "
            "leave a feature out, or plan with a ridge"
        )
        return dict.fromkeys(self.names, why)
