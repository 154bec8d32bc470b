"""The distribution of a number: how many users are below each edge of a grid, by one message about one level of a tree."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.digits import rounded_up
from shuffledp.core.document import Document, fields, several, whole
from shuffledp.core.population import Population
from shuffledp.core.randomizer import Thresholded
from shuffledp.core.randomness import RandomSource
from shuffledp.domains.intervals import Intervals
from shuffledp.errors import InvalidInput
from shuffledp.protocols.cumulative import Cumulative
from shuffledp.protocols.description import Description
from shuffledp.protocols.estimator import Reals
from shuffledp.protocols.one_message import OneMessage, Symbols
from shuffledp.protocols.sampling import Sampleable
from shuffledp.protocols.tree import Tree
from shuffledp.randomizers.mixture import Mixture
from shuffledp.randomizers.response import RandomizedResponse
from shuffledp.references import cite


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution(Cumulative, OneMessage, Sampleable):
    """How many of the users hold a number below each inner edge of `grid`.

    A user draws a level of the tree and says in which of its intervals the number is, by randomized response. One level is a
    plain histogram.

    Formula: y_t(v) = (count_t(v) - n w_t g_t / K_t) / (w_t (1 - g_t)) estimates how many users are in interval v of level t.
    Seen from edge e, users are set apart by one level each (`Tree`), so that
    F_e = n/2 + (sum of y to the left - sum of y to the right) / 2 is unbiased. With u_t users set apart at level t and F of the
    n users below e, its variance is sum_t u_t / (4 w_t (1 - g_t)) + n N_e - n/4 - n D_e^2 - D_e (2 F - n),
    N_e = sum_t g_t k_t / (4 K_t w_t (1 - g_t)^2), D_e = sum_t g_t (l_t - r_t) / (2 K_t (1 - g_t)).
    Legend: w_t = share of level t, g_t = its gamma, K_t = its intervals; l_t to the left and r_t to the right of e are
    set apart at level t, k_t = l_t + r_t.
    Reference: CKS19 (hierarchical histograms); docs/maths/distributions.md.
    """

    randomizer: Mixture
    domain: Intervals
    widths: tuple[int, ...]
    kind = "distribution"
    reference: ClassVar[str] = cite("CKS19")

    def __post_init__(self) -> None:
        sizes = tuple(part.blanket().uniform_size for part in self.randomizer.parts if isinstance(part, Thresholded))
        if sizes != self.tree.sizes or len(sizes) != len(self.randomizer.parts):
            raise InvalidInput(
                "every level of a tree is asked by a randomized response on its intervals. Make the plan with shuffledp plan."
            )
        if not all(part.gamma_as_run < 1 for part in self._responses):
            raise InvalidInput("gamma is 1: the messages say nothing about the values. Use a smaller gamma.")

    @property
    def tree(self) -> Tree:
        """The intervals of all levels."""
        return Tree(self.domain.size, self.widths)

    @property
    def description(self) -> Description:
        """Counts are of people. Standard errors are exact if there is one level."""
        return Description(question="distribution", measure="users", errors_are_bounds=self.tree.levels > 1)

    def sentence(self) -> str:
        """Draw a level, respond."""
        sizes = _listed(f"{size:,}" for size in self.tree.sizes)
        if self.tree.levels == 1:
            return f"each user finds the interval of the number, one of {sizes}, and {self._responses[0].sentence()}"
        shares = _listed(f"{self.randomizer.share(t):.3g}" for t in range(self.tree.levels))
        gammas = _listed(f"{part.gamma_as_run:.3g}" for part in self._responses)
        local = rounded_up(self.epsilon0 or 0.0)
        return (
            f"each user draws one of {self.tree.levels} grids of {sizes} intervals, with probability {shares}, and sends a "
            f"uniformly random interval of it with probability {gammas}, otherwise the interval of the number "
            f"(local epsilon0 = {local})"
        )

    def encode(self, values: NDArray[Any], randomness: RandomSource, *, first_row: int) -> Symbols:  # noqa: ARG002
        """The interval of each level."""
        return np.stack([values // width for width in self.widths], axis=1)

    # Estimates

    def debias(self, counts: NDArray[np.int64], n: int) -> Reals:
        """Users below each edge."""
        offsets, levels = self.randomizer.offsets, list[Reals]()
        for t, (share, gamma, size) in enumerate(zip(*self._law, strict=True)):
            messages = counts[..., offsets[t] : offsets[t + 1]].astype(np.float64)
            levels.append((messages - n * share * gamma / size) / (share * (1 - gamma)))
        return np.asarray(n / 2 + self.tree.around(levels, -1) / 2)

    def standard_error(self, value: Reals, n: int) -> Reals:
        """At most: as if all users were set apart from an edge at the level that counts them worst. One level: exact."""
        _, most, noise, tilt = self._terms()
        below = np.clip(value, 0, n)
        return np.sqrt(np.maximum(n * (most + noise - 0.25 - tilt**2) - tilt * (2 * below - n), 0.0))

    def range_variances(self, first: int, last: int) -> Reals:
        """What a user in each interval of the grid adds to the variance of the count in first ... last, both included.

        That count is the difference of two estimates; below the first edge there is nobody, below the last one everybody.
        """
        tree, (shares, gammas, sizes) = self.tree, self._law
        edges = [(edge, sign) for edge, sign in ((last + 1, 0.5), (first, -0.5)) if 0 < edge < tree.size]
        leaves = np.arange(tree.size)
        square, mean, noise, tilt = np.zeros(tree.size), np.zeros(tree.size), 0.0, 0.0
        for t, width in enumerate(tree.widths):
            weight = sum((sign * tree.signs(t, edge) for edge, sign in edges), np.zeros(tree.sizes[t]))
            square += np.square(weight)[leaves // width] / (shares[t] * (1 - gammas[t]))
            mean += weight[leaves // width]
            noise += float(np.square(weight).sum()) * gammas[t] / (sizes[t] * shares[t] * (1 - gammas[t]) ** 2)
            tilt += float(weight.sum()) * gammas[t] / (sizes[t] * (1 - gammas[t]))
        return np.maximum(square + noise - np.square(mean + tilt), 0.0)

    def range_variance(self, first: int, last: int, users: Reals) -> float:
        return float(users @ self.range_variances(first, last))

    # How far off they are

    def rank_variance(self, share: float, n: int) -> float:  # noqa: ARG002
        _, most, noise, tilt = self._terms()
        return float((most + noise - 0.25 - tilt**2 - tilt * (2 * share - 1)).max())

    def worst(self, n: int) -> Population:
        """Everybody holds the same number, where the summed variance of one user is the largest."""
        tree, (each, _, _, tilt) = self.tree, self._terms()
        apart = [
            tree.lengths(t - 1) - tree.lengths(t) for t in range(tree.levels)
        ]  # edges that a leaf is set apart from
        total = sum((weight * edges for weight, edges in zip(each, apart, strict=True)), np.zeros(tree.size))
        passed = np.concatenate([[0.0], np.cumsum(tilt)])
        worst = int(np.argmax(total + 2 * passed))
        return Population(values=np.array([worst]), users=np.array([n]))

    def most_spread(self, value: Reals, n: int) -> Reals:
        """P (1 - p), if a share p is below the edge."""
        share = np.clip(value / n, 0, 1)
        return np.asarray(share * (1 - share) * n / max(1, n - 1))

    def worst_sampled(self, n: int, weight: float) -> Population:
        """Half of the people at each end, so that they differ at every edge; all at the worst place if that errs more."""
        ends = Population(values=np.array([0, self.domain.size - 1]), users=np.array([n - n // 2, n // 2]))
        apart = weight * n / 4 * (self.domain.size - 1)
        worst = self.worst(n)
        return ends if self.expected_error(ends) + apart >= self.expected_error(worst) else worst

    def variance(self, users: NDArray[np.int64]) -> Reals:
        """The exact variance at each edge if so many users are in each interval of the grid."""
        tree, n, (each, _, noise, tilt) = self.tree, int(users.sum()), self._terms()
        zeros = [np.zeros(size) for size in tree.sizes]
        apart = np.zeros(tree.size - 1)
        for t, weight in enumerate(each):
            held = [*zeros[:t], tree.summed(users, t).astype(np.float64), *zeros[t + 1 :]]
            apart += weight * tree.around(held, 1)
        below = self.true_answer(users)
        return np.asarray(apart + n * (noise - 0.25 - tilt**2) - tilt * (2 * below - n))

    def max_shift(self, n: int) -> float:  # noqa: ARG002
        """A message moves from one side of an edge to the other."""
        shares, gammas, _ = self._law
        return max(1 / (share * (1 - gamma)) for share, gamma in zip(shares, gammas, strict=True))

    def simulate(self, population: Population, generator: np.random.Generator, runs: int) -> Reals:
        """Who draws which level, who answers at random, and with what."""
        tree, (shares, gammas, sizes) = self.tree, self._law
        rest, left, counts = np.tile(self.truth_of(population), (runs, 1)), 1.0, []
        for t in range(tree.levels):
            drawn = rest if t == tree.levels - 1 else generator.binomial(rest, min(1.0, shares[t] / left))
            rest, left = rest - drawn, left - shares[t]
            held = tree.summed(drawn, t)
            blanket = generator.binomial(held, gammas[t])
            uniform = np.full(sizes[t], 1 / sizes[t])
            counts.append(held - blanket + generator.multinomial(blanket.sum(axis=-1), uniform))
        return self.debias(np.concatenate(counts, axis=-1), population.n)

    @property
    def cells_per_run(self) -> int:
        """Numbers of users and messages at every level."""
        return (self.tree.levels + 1) * self.domain.size

    # As data

    def document(self) -> Document:
        """Grid, tree and randomizer."""
        return {
            "kind": self.kind,
            "domain": self.domain.document(),
            "widths": list(self.widths),
            "randomizer": self.randomizer.document(),
        }

    @classmethod
    def from_document(cls, document: object) -> Self:
        found = fields(
            document, cls.kind, domain=Intervals.from_document, widths=several(whole), randomizer=Mixture.from_document
        )
        return cls(domain=found["domain"], widths=found["widths"], randomizer=found["randomizer"])

    @classmethod
    def of(cls, grid: Intervals, widths: Sequence[int], weights: Sequence[int], thresholds: Sequence[int]) -> Self:
        """With a weight for each level, and a threshold for its randomized response."""
        parts = tuple(
            RandomizedResponse.of_threshold(size=size, threshold=threshold)
            for size, threshold in zip(Tree(grid.size, tuple(widths)).sizes, thresholds, strict=True)
        )
        return cls(randomizer=Mixture(weights=tuple(weights), parts=parts), domain=grid, widths=tuple(widths))

    @classmethod
    def examples(cls) -> list[Self]:
        """One level, two of which the last interval is cut short, and three."""
        third = (1 << 64) // 3
        return [
            cls.of(Intervals(4, -1.0, 1.0), (1,), (1,), (third,)),
            cls.of(Intervals(5, 0.0, 10.0), (2, 1), (2, 3), (third // 4, third)),
            cls.of(Intervals(8, 0.0, 1.0), (4, 2, 1), (1, 1, 2), (third // 3, third // 2, third)),
        ]

    @property
    def _responses(self) -> tuple[RandomizedResponse, ...]:
        found: Any = self.randomizer.parts
        return found  # type: ignore[no-any-return]

    @property
    def _law(self) -> tuple[list[float], list[float], tuple[int, ...]]:
        """Of each level: its share of the users, gamma, and how many intervals it has."""
        shares = [self.randomizer.share(t) for t in range(len(self.widths))]
        return shares, [part.gamma_as_run for part in self._responses], self.tree.sizes

    def _terms(self) -> tuple[list[float], Reals, Reals, Reals]:
        """1 / (4 w (1 - g)) of each level; the largest of it at each edge; N and D of each edge."""
        tree, (shares, gammas, sizes) = self.tree, self._law
        law = list(zip(shares, gammas, sizes, strict=True))
        each = [1 / (4 * share * (1 - gamma)) for share, gamma, _ in law]
        most = np.maximum.accumulate(each)[tree.first_levels]
        noise = tree.around([np.full(size, g / (4 * size * w * (1 - g) ** 2)) for w, g, size in law], 1)
        tilt = tree.around([np.full(size, g / (2 * size * (1 - g))) for _, g, size in law], -1)
        return each, most, noise, tilt


def _listed(texts: Iterable[str]) -> str:
    """A, b and c."""
    *first, last = texts
    return f"{', '.join(first)} and {last}" if first else last
