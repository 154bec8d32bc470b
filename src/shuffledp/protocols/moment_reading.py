"""What is read off the means of columns, their squares and products: variances, covariances, correlations, a regression."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.estimate import Estimate, SideBySide
from shuffledp.core.population import Population
from shuffledp.core.ratio import SURE
from shuffledp.domains.products import Products
from shuffledp.protocols.linear_regression import Coefficients, Regression, fit
from shuffledp.protocols.reading import Reading

if TYPE_CHECKING:
    from shuffledp.protocols.row_moments import RowMoments

Reals = NDArray[np.float64]
COEFFICIENT: Final = "coefficient"
MEAN: Final = "mean"
VARIANCE: Final = "variance"
COVARIANCE: Final = "covariance"
CORRELATION: Final = "correlation"
_ROUNDING: Final = 1e-12
"""A variance of a column in [-1, 1] that is hardly above this is rounding."""
_TOLD: Final = 1e-9
"""What others leave of such a variance if they do not explain all of it."""


class Scatter(NamedTuple):
    """Means and covariances of columns that are scaled to [-1, 1].

    Attributes:
        means: of the columns.
        matrix: of their covariances, as estimated.
        possible: the nearest matrix that some data have: eigenvalues below 0 are 0.
    """

    means: Reals
    matrix: Reals
    possible: Reals

    @classmethod
    def of(cls, domain: Products, entries: Reals) -> Self:
        """Moments from the means of the columns, of their squares and of their products."""
        p = domain.width
        means, products = entries[:p], np.diag(entries[p : 2 * p])
        products[np.triu_indices(p, 1)] = entries[2 * p :]
        products = products + np.triu(products, 1).T
        matrix = products - np.outer(means, means)
        values, vectors = np.linalg.eigh(matrix)
        if values[0] >= -_ROUNDING:
            return cls(means, matrix, matrix)
        return cls(means, matrix, (vectors * np.maximum(values, 0.0)) @ vectors.T)

    @property
    def projected(self) -> bool:
        """Whether the matrix was none that data can have."""
        return self.possible is not self.matrix

    def moved(self, along: float) -> float:
        """By how much the matrix moves at most (Frobenius) if the means move by so much: see `MomentReading.shift`."""
        return along * float(np.sqrt(2) + 2 * np.linalg.norm(self.means) + along)

    def moves(self, by_matrix: Reals, by_means: Reals) -> Reals:
        """The derivatives by the entries, of numbers whose derivatives by covariances and by means these are."""
        along = by_means - 2 * by_matrix @ self.means
        squares = np.diagonal(by_matrix, axis1=1, axis2=2)
        first, second = np.triu_indices(len(self.means), 1)
        return np.concatenate([along, squares, 2 * by_matrix[:, first, second]], axis=1)


Spread = Callable[[Reals, Reals | None], Reals]
"""The covariance matrix of numbers, from their derivatives by covariances and by means."""
Said = tuple[Reals, Reals]
"""Numbers and their standard errors, NaN where there is none."""


class _Slopes(NamedTuple):
    """What is said about coefficients.

    Attributes:
        coefficients: the intercept and one for each feature, in the units of the columns.
        ratios: top, bottom, Var T, Cov(T, B) and Var B of the latter, as in `Coefficients`.
        unclear: which features the noise cannot tell from the others.
    """

    coefficients: Said
    ratios: tuple[Reals, ...]
    unclear: NDArray[np.bool_]


class _Read(NamedTuple):
    """All numbers that are read off one estimate."""

    means: Said
    variances: Said
    covariances: Said
    correlations: Said
    slopes: _Slopes
    projected: bool


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Correlations(Estimate):
    """Correlations of pairs of columns, between -1 and 1, where the variances of both are above the noise."""

    def limits(self, z: float) -> tuple[Reals, Reals]:
        low, high = Estimate.limits(self, z)
        return np.clip(low, -1.0, 1.0), np.clip(high, -1.0, 1.0)

    @property
    def refused(self) -> dict[str, str]:
        why = "the variance of one of both is not above the noise. Ask more people, or plan narrower ranges"
        return {name: why for name, value in zip(self.names, self.value, strict=True) if np.isnan(value)}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MomentAnswer(SideBySide):
    """All that is read off the moments of columns.

    Attributes:
        moments: those themselves, of columns that are scaled to [-1, 1].
        projected: whether their covariances were none that data can have, so that the nearest possible ones were used.
    """

    moments: Reals
    projected: bool = False


class MomentReading(Reading[Any]):
    """Means, variances, covariances and correlations; and the coefficients of the plan's regression before them.

    Formula: with E the estimated means of t, t^2 and t t' for columns t scaled to [-1, 1], the covariances are
    S = E[t t'] - E[t] E[t]'; everything else is a function of E[t] and S. Standard errors are those of its linear part (delta
    method), from the covariance of the errors of all entries; the intervals of coefficients are Fieller's.
    Regime: a correlation has a number where both variances are at least 4 of their standard errors, and the coefficients where
    that holds for what the other features leave of every feature's variance. Otherwise NaN.
    Reference: docs/maths/moments.md.
    """

    __slots__ = ()

    @property
    def _about(self) -> "RowMoments":
        """The protocol whose estimates are read."""
        return self.protocol  # type: ignore[no-any-return]

    @property
    def _domain(self) -> Products:
        return self._about.domain

    def of(self, estimate: Estimate) -> Estimate:
        domain, runs = self._domain, estimate.value.reshape(-1, estimate.value.shape[-1])
        errors = np.broadcast_to(estimate.standard_error, runs.shape)
        covariance = getattr(estimate, "covariance", None)
        found = [
            self._read(run, np.diag(np.square(error)) if covariance is None else covariance, self._along(estimate.n))
            for run, error in zip(runs, errors, strict=True)
        ]

        def stacked(rows: list[Reals]) -> Reals:
            """A row for each run, if there are several."""
            return np.array(rows).reshape(*estimate.value.shape[:-1], -1)

        def told(said: list[Said], names: tuple[str, ...]) -> dict[str, Any]:
            value, error = (stacked([one[which] for one in said]) for which in (0, 1))
            return {
                "value": value, "standard_error": error, "n": estimate.n, "guarantee": estimate.guarantee, "names": names,
            }  # fmt: skip

        pairs, asked = tuple(map(", ".join, domain.pairs)), self._about.regression
        parts: dict[str, Estimate] = {
            MEAN: Estimate(**told([one.means for one in found], domain.columns)),
            VARIANCE: Estimate(**told([one.variances for one in found], domain.columns)),
        }
        if pairs:
            parts[COVARIANCE] = Estimate(**told([one.covariances for one in found], pairs))
            parts[CORRELATION] = Correlations(**told([one.correlations for one in found], pairs))
        if asked is not None:
            top, bottom, *variances = (stacked([one.slopes.ratios[which] for one in found]) for which in range(5))
            slopes = Coefficients(
                **told([one.slopes.coefficients for one in found], asked.names),
                top=top, bottom=bottom, variances=(variances[0], variances[1], variances[2]), scale=self._scale(asked),
                unclear=tuple(np.array(asked.features)[found[0].slopes.unclear].tolist()),
            )  # fmt: skip
            parts = {COEFFICIENT: slopes} | parts
        together = SideBySide.of(list(parts.values()), [f"{name}: " for name in parts])
        return MomentAnswer(
            **{one.name: getattr(together, one.name) for one in fields(SideBySide)},
            moments=estimate.value, projected=any(one.projected for one in found),
        )  # fmt: skip

    def exactly(self, entries: Reals) -> Reals:
        size = entries.shape[-1]
        found = [self._read(run, np.zeros((size, size)), 0.0) for run in entries.reshape(-1, size)]
        rows = np.array([np.concatenate([part[0] for part in self._answers(one)]) for one in found])
        return np.asarray(rows.reshape(*entries.shape[:-1], rows.shape[-1]))

    def error(self, population: Population) -> Reals:
        """To first order; NaN where there is no number."""
        own = self._about.covariance_of(population)
        found = self._read(self._about.expected(population), own, self._along(population.n))
        return np.asarray(np.square(np.concatenate([part[1] for part in self._answers(found)])))

    def remarks(self, answer: Estimate) -> tuple[str, ...]:
        """What was done to these very numbers."""
        if not (isinstance(answer, MomentAnswer) and answer.projected):
            return ()
        return (
            "No data have the estimated covariances, because of the noise. Variances and covariances are shown as estimated; "
            "correlations and coefficients are those of the nearest possible ones.",
        )

    def shift(self, answer: Estimate, *, times: int = 1) -> float:
        """How far each number can move, in any unit: by norms, from the entries over means and covariances to what they say.

        Formula: if the point of the unit ball moves by e, |E[t]| moves by R e and |S| (Frobenius) by
        d = R e (sqrt(2) + 2 |E[t]| + R e), the nearest possible matrix by no more, and the coefficients of scaled columns by
        (d + d' |b|) / (l - d'), d' = (1 + ridge) d, l the least eigenvalue of the features' matrix with the ridge.
        Legend: R^2 = p (p + 1) / 2, as in `Products`.
        """
        if not isinstance(answer, MomentAnswer):
            return times * self._about.max_shift(answer.n)
        domain, halves = self._domain, self._domain.halves
        scatter, along = Scatter.of(domain, answer.moments), self._along(answer.n, times)
        apart = np.abs(scatter.means)
        each = along * (1 + apart[:, None] + apart[None, :] + along) * np.outer(halves, halves)
        found = [float(halves.max()) * along, float(each.max())]
        found += self._correlation_shift(scatter, scatter.moved(along))
        regression = self._about.regression
        if regression is not None and not np.isnan(answer.value[0]):
            slopes = answer.value[1 : 1 + len(regression.features)]
            found += self._coefficient_shift(regression, scatter, along, slopes)
        return max(found)

    def _along(self, n: int, times: int = 1) -> float:
        """By how much the scaled means move at most if so many send anything instead."""
        return times * self._about.max_shift(n)

    def _correlation_shift(self, scatter: Scatter, moved: float) -> list[float]:
        """At the corners of what both variances and the covariance can become."""
        held, (first, second) = np.diagonal(scatter.possible), np.triu_indices(len(scatter.means), 1)
        if not len(first):
            return []
        if held.min() <= moved:
            return [2.0]
        across = scatter.possible[first, second]
        ends = [
            (across + top * moved) / np.sqrt((held[first] + below * moved) * (held[second] + below * moved))
            for top in (-1, 1)
            for below in (-1, 1)
        ]
        return [min(2.0, float(np.abs(np.array(ends) - across / np.sqrt(held[first] * held[second])).max()))]

    def _coefficient_shift(self, asked: Regression, scatter: Scatter, along: float, slopes: Reals) -> list[float]:
        target, features = self._places(asked)
        domain, halves, scale = self._domain, self._domain.halves, self._scale(asked)
        means = domain.centre + halves * scatter.means
        moved = scatter.moved(along)
        ridged = (1 + asked.ridge) * moved
        moves = scale * (moved + ridged * float(np.linalg.norm(slopes / scale))) / self._slack(asked, scatter, along)
        constant = halves[target] * along + np.abs(slopes) @ halves[features] * along
        constant += moves @ (np.abs(means[features]) + halves[features] * along)
        return [float(moves.max()), float(constant)]

    def _slack(self, asked: Regression, scatter: Scatter, along: float) -> float:
        """What a false report leaves of the least eigenvalue of the features' matrix."""
        _, features = self._places(asked)
        own = scatter.possible[np.ix_(features, features)]
        least = float(np.linalg.eigvalsh(own + asked.ridge * np.diag(np.diagonal(own)))[0])
        return least - (1 + asked.ridge) * scatter.moved(along)

    # One estimate

    def _answers(self, found: _Read) -> list[tuple[Reals, Reals]]:
        first = [] if self._about.regression is None else [found.slopes.coefficients]
        return [*first, found.means, found.variances, found.covariances, found.correlations]

    def _scale(self, asked: Regression) -> Reals:
        """From coefficients of scaled columns to those of the columns."""
        target, features = self._places(asked)
        return np.asarray(self._domain.halves[target] / self._domain.halves[features])

    def _places(self, asked: Regression) -> tuple[int, list[int]]:
        """Where the target and the features are among the columns."""
        columns = self._domain.columns
        return columns.index(asked.target), [columns.index(name) for name in asked.features]

    def _read(self, entries: Reals, covariance: Reals, along: float) -> _Read:
        """From entries, the covariance of their errors, and how far a false report moves the means."""
        domain, p = self._domain, self._domain.width
        scatter, halves = Scatter.of(domain, entries), domain.halves
        unit, nothing = np.eye(p), np.zeros((p, p, p))
        first, second = np.triu_indices(p, 1)
        pairs = len(first)

        def spread(by_matrix: Reals, by_means: Reals | None = None) -> Reals:
            """The variances and covariances of numbers with these derivatives."""
            moves = scatter.moves(by_matrix, np.zeros((len(by_matrix), p)) if by_means is None else by_means)
            return np.asarray(moves @ covariance @ moves.T)

        def errors(by_matrix: Reals, by_means: Reals | None = None) -> Reals:
            return np.sqrt(np.maximum(np.diagonal(spread(by_matrix, by_means)), 0.0))

        squares = nothing.copy()
        squares[np.arange(p), np.arange(p), np.arange(p)] = 1.0
        variance, variance_error = np.diagonal(scatter.matrix), errors(squares)
        crossed = np.zeros((pairs, p, p))
        crossed[np.arange(pairs), first, second] = crossed[np.arange(pairs), second, first] = 0.5
        both = halves[first] * halves[second]
        # correlations, where both variances are above the noise
        held = np.diagonal(scatter.possible)
        sure = (variance > _ROUNDING) & (variance >= SURE * variance_error)
        known = sure[first] & sure[second]
        root = np.sqrt(np.where(sure, held, 1.0))
        rho = np.where(known, scatter.possible[first, second] / (root[first] * root[second]), np.nan)
        moves = crossed / (root[first] * root[second])[:, None, None]
        for end in (first, second):
            moves = moves - (np.nan_to_num(rho) / 2 / root[end] ** 2)[:, None, None] * squares[end]
        return _Read(
            means=(domain.centre + halves * scatter.means, halves * errors(nothing, unit)),
            variances=(halves**2 * variance, halves**2 * variance_error),
            covariances=(both * scatter.matrix[first, second], both * errors(crossed)),
            correlations=(rho, np.where(known, errors(moves), np.nan)),
            slopes=self._coefficients(scatter, spread, along), projected=scatter.projected,
        )  # fmt: skip

    def _coefficients(self, scatter: Scatter, spread: Spread, along: float) -> _Slopes:
        """The coefficients of the columns, their ratios, and which features cannot be told from the others."""
        asked, none = self._about.regression, np.zeros(0)
        if asked is None:
            return _Slopes((none, none), (none,) * 5, none.astype(np.bool_))
        domain, (target, features) = self._domain, self._places(asked)
        found = fit(scatter.possible, target, features, asked.ridge)
        count = len(features)
        both = spread(np.concatenate([found.top_moves, found.bottom_moves]), None)
        above, across, below = np.diagonal(both)[:count], np.diagonal(both[:count, count:]), np.diagonal(both)[count:]
        ratios = (found.top, found.bottom, above, across, below)
        unclear = (found.bottom <= _TOLD) | (found.bottom < SURE * np.sqrt(np.maximum(below, 0.0)))
        if self._slack(asked, scatter, along) <= 0:  # one false report could do anything
            unclear[:] = True
        if unclear.any():
            nothing = np.full(1 + count, np.nan)
            return _Slopes((nothing, nothing), ratios, unclear)
        scale, halves = self._scale(asked), domain.halves
        means, slopes = domain.centre + halves * scatter.means, scale * found.top / found.bottom
        by_matrix = (scale / found.bottom)[:, None, None] * (
            found.top_moves - (found.top / found.bottom)[:, None, None] * found.bottom_moves
        )
        constant = -np.einsum("j,jkl->kl", means[features], by_matrix)
        by_means = np.zeros((1 + count, domain.width))
        by_means[0, target] = halves[target]
        by_means[0, features] = -slopes * halves[features]
        variances = np.diagonal(spread(np.concatenate([constant[None], by_matrix]), by_means))
        value = np.concatenate([[means[target] - slopes @ means[features]], slopes])
        return _Slopes((value, np.sqrt(np.maximum(variances, 0.0))), ratios, unclear)
