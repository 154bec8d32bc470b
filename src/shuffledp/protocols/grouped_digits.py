"""Means of reals by group from a few messages per user: the digits of a grid point, each with the group, among dummies."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.arithmetic.exact import exact_sum
from shuffledp.core.attacker_view import AttackerView
from shuffledp.core.digits import counted
from shuffledp.core.document import Document, fields, text
from shuffledp.core.population import Population
from shuffledp.core.randomness import RandomSource
from shuffledp.domains.grouped_reals import GroupedReals
from shuffledp.domains.labels import Labels
from shuffledp.domains.reals import RealRange
from shuffledp.errors import InvalidInput
from shuffledp.protocols.by_group import BySum, Moments
from shuffledp.protocols.in_digits import InDigits
from shuffledp.protocols.rounding import points_beside, to_grid
from shuffledp.protocols.summing import Total, document_of_sums
from shuffledp.randomizers.digit_by_digit import Digits
from shuffledp.references import cite

Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedDigits(InDigits, BySum):
    """The users of each group and the sum of their values, read as means or sums.

    Formula: the users N of a group are estimated by sum over j of a_j (T_j - D_j / G), and the sum X of their x by
    N / 2 + sum over j of w_j sum over messages of the group's digits j of (v - (B - 1) / 2).
    The covariance of the estimates of a N + b X and of a' N + b' X is (a + b / 2) (a' + b' / 2) n V + b b' (n W / G + R).
    Legend: as in `InDigits`; T_j = messages of the group about digit j, D_j = dummies of digit j, V = spread_of_users,
    W = spread_of_digits, R = sum of f (1 - f) / r^2 with f = frac(x r), r = precision.
    Reference: GGKPV21 for counts among dummies; docs/maths/digits.md.
    """

    randomizer: Digits
    domain: GroupedReals
    total: Total = "mean"
    kind = "grouped-digit-sums"
    reference: ClassVar[str] = cite("GGKPV21")

    def __post_init__(self) -> None:
        self.check_total()
        if self.randomizer.groups != self.groups:
            raise InvalidInput(
                f"messages carry one of {self.randomizer.groups:,} groups, and there are {self.groups:,}. Make the plan again."
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The users of all groups, then the sums, each value as a share of the range."""
        groups = self.domain.group_names
        return (*(f"{name}: users" for name in groups), *(f"{name}: sum" for name in groups))

    def sentence(self) -> str:
        """Rounding, digits, groups and dummies in words."""
        grid = counted(self.precision, "step")
        return f"each user rounds the value at random to a grid of {grid}, then {self.randomizer.sentence()}"

    # Messages

    def encode(self, values: NDArray[Any], randomness: RandomSource, *, first_row: int) -> NDArray[np.integer]:
        """Groups and grid points, rounded at random so that the mean stays, counted through."""
        if values.dtype.names != ("group", "value") or (len(values) and values["group"].max() >= self.groups):
            raise InvalidInput("a value is not a group and a number. Clean values first.")
        range_ = self.domain.value
        points = to_grid(
            values["value"], randomness, low=range_.low, high=range_.high, steps=self.precision, first_row=first_row
        )
        return values["group"].astype(np.int64) * self.randomizer.levels + points

    def attacker_view(self) -> AttackerView:
        """The randomizer's, of both grid points beside a value."""
        view = self.randomizer.attacker_view()

        def law(value: NDArray[Any]) -> Reals:
            first = int(value["group"][0]) * self.randomizer.levels
            beside = points_beside(float(self.domain.value.share(value["value"])[0]), self.precision)
            return np.asarray(
                sum(often * self.randomizer.true_law(np.array([first + point])) for point, often in beside)
            )

        return AttackerView(messages=view.messages, law=law, releases=view.releases, dummies=view.dummies)

    def debias(self, counts: NDArray[np.int64], n: int) -> Reals:
        users = self.users_of(counts, n)
        return np.concatenate([users, users / 2 + self.from_the_middle(counts)], axis=-1)

    # Errors

    def covariance(self, one: tuple[Any, Any], other: tuple[Any, Any], moments: Moments, n: int) -> Reals:
        (a, b), (c, d) = one, other
        users, digits = n * self.spread_of_users, n * self.spread_of_digits / self.groups
        return np.asarray((a + b / 2) * (c + d / 2) * users + b * d * (digits + moments.rounding))

    def sums(self, value: Reals) -> tuple[Reals, Reals, Reals]:
        """The squares are those of as many equal numbers: nothing here depends on them."""
        users, total = value[..., : self.groups], value[..., self.groups :]
        return users, total, total**2 / np.maximum(np.abs(users), 1e-300)

    def variances(self, value: Reals, n: int) -> tuple[Reals, Reals, Reals]:
        users = np.clip(self.sums(value)[0], 0, n)
        moments, sums, counts = self.at_worst(users, users, users), (0.0, 1.0), (1.0, 0.0)
        return (
            self.covariance(sums, sums, moments, n),
            self.covariance(sums, counts, moments, n) + 0 * users,
            self.covariance(counts, counts, moments, n) + 0 * users,
        )

    def standard_error(self, value: Reals, n: int) -> Reals:
        """At the most rounding."""
        sums, _, users = self.variances(value, n)
        return np.asarray(np.sqrt(np.concatenate([users, sums], axis=-1)))

    def expected_error(self, population: Population) -> float:
        moments = self.moments_of(population)
        each = [self.covariance(pair, pair, moments, population.n) for pair in ((1.0, 0.0), (0.0, 1.0))]
        return float(sum(np.broadcast_to(one, self.groups).sum() for one in each))

    def worst(self, n: int) -> Population:
        """Everybody between two points of the grid."""
        middle = self.domain.value.low + self.domain.value.span / (2 * self.precision)
        return Population(values=np.array([(0, middle)], dtype=self.domain.dtype), users=np.array([n]))

    def max_shift(self, n: int) -> float:  # noqa: ARG002
        """A report of nothing but the most significant digit of one group."""
        return self.largest_shift

    # Simulation and truth

    def simulate(self, population: Population, generator: np.random.Generator, runs: int) -> Reals:
        """From sums of grid points, and dummies."""
        r, values, users = self.precision, population.values, population.users
        scaled = self.domain.value.share(values["value"]) * r
        floor = np.minimum(np.floor(scaled), r - 1)
        points = floor.astype(np.int64) * users + generator.binomial(users, scaled - floor, size=(runs, len(users)))
        held, total = np.zeros(self.groups), np.zeros((self.groups, runs))
        np.add.at(held, values["group"], users)
        np.add.at(total, values["group"], points.T / r)
        dummies = self.drawn_dummies(population.n, generator, runs)
        found = self.users_of(dummies, 0)
        return np.concatenate([held + found, total.T + found / 2 + self.from_the_middle(dummies)], axis=-1)

    def truth(self, values: NDArray[Any]) -> NDArray[Any]:
        """Users and exact sums of their values, group by group."""
        found = np.array([Fraction(0)] * (2 * self.groups), dtype=object)
        if len(values):
            order = np.argsort(values["group"], kind="stable")
            groups, starts = np.unique(values["group"][order], return_index=True)
            for group, part in zip(groups.tolist(), np.split(values["value"][order], starts[1:]), strict=True):
                found[group], found[self.groups + group] = Fraction(len(part)), exact_sum(part)
        return found

    def truth_of(self, population: Population) -> NDArray[Any]:
        """Users and exact sums of their values, group by group."""
        found = np.array([Fraction(0)] * (2 * self.groups), dtype=object)
        for (group, value), often in zip(population.values.tolist(), population.users.tolist(), strict=True):
            found[group] += often
            found[self.groups + group] += Fraction(value) * often
        return found

    def true_answer(self, truth: NDArray[Any]) -> Reals:
        """Sums as shares of the range."""
        users, sums = truth[: self.groups], truth[self.groups :]
        shares = (sums - Fraction(self.domain.value.low) * users) / Fraction(self.domain.value.span)
        return np.concatenate([users, shares]).astype(np.float64)

    # As data

    def document(self) -> Document:
        return document_of_sums(self, self.total)

    @classmethod
    def from_document(cls, document: object) -> Self:
        return cls(
            **fields(document, cls.kind, total=text, domain=GroupedReals.from_document, randomizer=Digits.from_document)
        )

    @classmethod
    def examples(cls) -> list[Self]:
        """One digit and two, one column of groups and two."""
        carriers = ("carrier", Labels(("AA", "B6", "DL")))
        sexes, ages = ("sex", Labels(("f", "m"))), ("old", Labels(("no", "yes")))
        return [
            cls(
                randomizer=Digits(base=3, dummies=(3.0,), groups=3),
                domain=GroupedReals((carriers,), RealRange(0.0, 1.0)), total="query",
            ),
            cls(
                randomizer=Digits(base=2, dummies=(1.6, 0.8), groups=4),
                domain=GroupedReals((sexes, ages), RealRange(-2.0, 3.0)),
            ),
            cls(
                randomizer=Digits(base=3, dummies=(0.9, 0.3), groups=3),
                domain=GroupedReals((carriers,), RealRange(0.0, 10.0)), total="sum",
            ),
        ]  # fmt: skip
