"""An upper bound on E[(l_1 + ... + l_N)_+] by one finite sum over a contour, in balls throughout.

S is the sum of n independent copies of l, or of a Poisson number of them; Z is an independent Gaussian of mean 0 and standard
deviation t. (.)_+ is convex, so E[S_+] <= E[(S + Z)_+] (Jensen). Let g(s) = E[(S + Z - s)_+]. For x > 0 the function e^(xs)
g(s) has the Fourier transform M(z) e^(t^2 z^2 / 2) / z^2 at z = x + iy, M(z) = E[e^(zS)]. Poisson's summation formula,

    sum over k of e^(x k P) g(k P) = (1/P) sum over j of M(z_j) e^(t^2 z_j^2 / 2) / z_j^2,    z_j = x + 2 pi i j / P,

has g(0) among the terms on its left, and all of them are at least 0. So the sum on the right is above E[S_+] for *every* x, P
and t: there is no error of discretisation to bound. (Outcomes in which only a few l differ from 0 are summed up as they are,
and taken out of M: what is left is still the transform of a positive measure.) The nodes that are left out of it are at most
the sum of their absolute values, which M or the Gaussian makes small (contour_nodes.py). How x, P, t, the nodes and the few are
chosen, in doubles, decides how tight the bound is, never whether it holds.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb, factorial, prod
from typing import Final

from flint import acb, arb

from shuffledp.certificates.contour_nodes import Fading, Term, least, positive, worth_summing
from shuffledp.certificates.effort import Effort, unbounded

BITS = 192
"""Working precision of every check."""
_ENUMERABLE, _FEW_VALUES = 20_000, 12
"""Outcomes that are summed up one by one."""
_FEW, _OUTCOMES_OF_FEW = 10, 300
"""How many l that differ from 0 are a few, and the outcomes with so many or fewer."""
_RARE: Final = 6.0
"""If more than this differ from 0 on average, it is rarely just a few."""
_PASSES = 8
_PREPARED = 100
"""What thinning a law and finding its saddle point take, in terms of a sum."""
_NEGLIGIBLE = 1e-9
"""An interval of nodes is left out if it has less than this share of the sum."""
_NEGLIGIBLE_NODE = 1e-20
_LOG_FAINT = arb(-50)
_FAINT = _LOG_FAINT.exp()
"""A node whose M is below this, beside that on the axis, is charged and not summed up."""
_WIDEST = 0.3
"""An interval of nodes is no wider than this, in reciprocal standard deviations of l."""


@dataclass(frozen=True, slots=True)
class Crowd:
    """How many copies there are: exactly `users`, or a Poisson number of mean `mean`."""

    users: int = 0
    mean: arb | None = None

    def expected(self) -> arb:
        """How many there are on average."""
        return arb(self.users) if self.mean is None else self.mean

    def log_transform(self, rise: arb) -> arb:
        """Log M(x), if E[e^(x l)] = 1 + rise."""
        return self.users * rise.log1p() if self.mean is None else self.mean * rise

    def ratio(self, rise: acb, at_axis: arb) -> acb:
        """M(z) / M(x), if E[e^(z l)] = 1 + rise and E[e^(x l)] = 1 + at_axis."""
        if self.mean is None:
            return ((1 + rise) / (1 + at_axis)) ** self.users
        return (self.mean * (rise - at_axis)).exp()

    def faint(self, at_axis: arb) -> Callable[[acb], bool]:
        """For a rise: whether M(z) / M(x) is at most e^-50 for certain. That takes a fraction of the time of its value."""
        if self.mean is None:
            modulus = (1 + at_axis) * (_LOG_FAINT / self.users).exp()
            return lambda rise: bool(abs(1 + rise) < modulus)
        most = at_axis + _LOG_FAINT / self.mean
        return lambda rise: bool(rise.real < most)

    def fading(self, law: Term, x: arb) -> Fading:
        """How M(z) / M(x) fades: for a Poisson number only the values count."""
        return Fading(law, x, 1 - law.mass if self.mean is None else arb(0))

    def faded(self, fading: Fading, middle: arb, half: arb) -> arb:
        """A bound on log |M(z) / M(x)|, |y - middle| <= half."""
        if self.mean is None:
            return self.users * fading.log_size(middle, half)
        return self.mean * fading.whole * fading.real_part(middle, half)

    def exactly(self, count: int, mass: arb) -> arb:
        """P(so many copies differ from 0), without the factor mass^count: `mass` is that of all values that differ from 0."""
        if self.mean is not None:
            return (-self.mean * mass).exp() * self.mean**count / factorial(count)
        if count >= self.users:
            return arb(count == self.users)
        return comb(self.users, count) * (1 - mass).max(arb(0)) ** (self.users - count)


@dataclass(frozen=True, slots=True)
class _Guess:
    """A tilt x near the saddle point of M(z) / z^2, and the standard deviation of S there, in doubles."""

    x: float
    deviation: float


def chernoff(law: Term, crowd: Crowd) -> arb:
    """E[S_+] <= M(x) / (e x), because s <= e^(x s) / (e x)."""
    if not law.positive:
        return crowd.expected() * law.positive_part()
    x = arb(_guess(law, crowd).x)
    return (crowd.log_transform(law.rise(x)) - 1).exp() / x


def enumerable(law: Term, crowd: Crowd, most: int = _ENUMERABLE) -> bool:
    """Whether all outcomes can be listed, being no more than so many."""
    few = crowd.mean is None and len(law.values) <= _FEW_VALUES
    return few and comb(crowd.users + len(law.values), len(law.values)) <= most


def enumerated(law: Term, crowd: Crowd) -> arb:
    """E[S_+] itself, over all outcomes: how many of the copies have which value."""
    masses = [*law.masses, 1 - sum(law.masses, arb(0))]
    values = [*law.values, arb(0)]

    def total(kind: int, left: int, weight: arb, reached: arb) -> arb:
        if kind == len(values) - 1:
            return weight * masses[kind] ** left * positive(reached) if left else weight * positive(reached)
        sum_ = arb(0)
        for count in range(left + 1):
            part = weight * comb(left, count) * (masses[kind] ** count if count else 1)
            sum_ += total(kind + 1, left - count, part, reached + count * values[kind])
        return sum_

    return total(0, crowd.users, arb(1), arb(0))


def contour_bound(law: Term, crowd: Crowd, fineness: float, effort: Effort | None = None) -> arb:
    """An upper bound on E[S_+]; `fineness` is the standard deviation of Z in those of S."""
    if not law.positive:
        return crowd.expected() * law.positive_part()
    effort = effort or unbounded()
    effort.spend(_PREPARED * len(law.values))
    guess = _guess(law, crowd)
    x, smooth = arb(guess.x), arb(fineness * max(guess.deviation, 1 / guess.x))
    period = 11 * guess.deviation + 24 / guess.x
    step = arb(2 * math.pi / period)  # a double; the period is 2 pi over it
    at_axis = law.rise(x)
    fading, most = crowd.fading(law, x), _worth_listing(law, crowd)
    # without the outcomes with a few values, which are settled without Z, the transform need not fade as M does
    nodes = worth_summing(
        lambda middle, half: arb(0) if most > 1 else crowd.faded(fading, middle, half),
        smooth, step, _WIDEST / (fading.deviation if crowd.mean is None else fading.size), _NEGLIGIBLE / guess.x**2,
        effort, len(law.values),
    )  # fmt: skip
    scale = crowd.log_transform(at_axis)
    parts = _of_few(law, most) if most > 1 or nodes.complete else []
    few = [crowd.exactly(count, law.mass) for count in range(len(parts))]
    known = sum((often * part for often, part in zip(few, parts, strict=True)), arb(0))
    few = [often / scale.exp() for often in few]
    # E[e^(zl); l not 0] is largest on the axis, and so is a power series whose coefficients are not negative
    charged = 2 * (_FAINT + _power_series(few, acb(at_axis + law.mass)).real)
    faint = crowd.faint(at_axis) if charged < _NEGLIGIBLE_NODE else lambda _: False
    total = 2 * x**2 * nodes.left
    for some in nodes.ranges:
        for j, rise in zip(some, law.rises(x, step, some), strict=True):
            if faint(rise):
                total += charged
                continue
            z = acb(x, j * step)
            damping = (smooth**2 * (z * z - x * x) / 2).exp()
            part = ((crowd.ratio(rise, at_axis) - _power_series(few, rise + law.mass)) * damping * (x / z) ** 2).real
            total += 2 * part if j else part
    return known + (scale + (smooth * x) ** 2 / 2).exp() / x**2 * total * step / (2 * arb.pi())


def _worth_listing(law: Term, crowd: Crowd) -> int:
    """How many l may differ from 0 in the outcomes that are summed up as they are."""
    if float(crowd.expected() * law.mass) > _RARE:
        return 1
    values = len(law.values)
    return max(1, *(count for count in range(_FEW + 1) if comb(count + values, values) <= _OUTCOMES_OF_FEW))


def _of_few(law: Term, most: int) -> list[arb]:
    """For 0, 1, ... l that differ from 0, up to so many: the sum of their positive part by the product of their masses."""
    parts = []
    for used in range(most + 1):
        total = arb(0)
        for chosen in combinations_with_replacement(range(len(law.values)), used):
            reached = positive(sum((law.values[kind] for kind in chosen), arb(0)))
            orders = factorial(used) // prod(map(factorial, Counter(chosen).values()))
            total += orders * reached * prod((law.masses[kind] for kind in chosen), start=arb(1))
        parts.append(total)
    return parts


def _power_series(coefficients: Sequence[arb], at: acb) -> acb:
    """The value of a power series, by Horner's rule."""
    value = acb(0)
    for coefficient in reversed(coefficients):
        value = value * at + coefficient
    return value


def thinned(law: Term, crowd: Crowd, target: arb, loss: float) -> Term:
    """A law above this one in convex order, with fewer values: some give their mass to the two beside them, keeping the mean.

    Those go whose going raises log M(x) least; all of them together by no more than `loss`, and by less if E[S_+], which is
    about the target, is much less than Chernoff's bound.
    """
    budget = loss * min(1.0, 5 * float(target / chernoff(law, crowd)))
    x = _guess(law, crowd).x
    points = sorted(zip(law.values, law.masses, strict=True), key=lambda point: float(point[0]))
    scale = float(crowd.expected()) / (1.0 if crowd.mean is not None else 1 + float(law.rise(arb(x))))
    for _ in range(_PASSES):
        costs = []
        for i in range(1, len(points) - 1, 2):
            low, value, high = (float(points[j][0]) for j in (i - 1, i, i + 1))
            if not low < value < high:
                continue
            up = (value - low) / (high - low)
            bulge = (1 - up) * math.exp(x * low) + up * math.exp(x * high) - math.exp(x * value)
            costs.append((scale * float(points[i][1]) * max(bulge, 0.0), i))
        spent, gone = 0.0, set()
        for cost, i in sorted(costs):
            spent += cost
            if spent > budget / _PASSES:
                break
            gone.add(i)
        for i in gone:
            (left, before), (middle, mass), (right, after) = points[i - 1 : i + 2]
            moved = mass * (middle - left) / (right - left)
            points[i - 1], points[i + 1] = (left, before + mass - moved), (right, after + moved)
        points = [point for i, point in enumerate(points) if i not in gone]
        if not gone:
            break
    return Term([value for value, _ in points], [mass for _, mass in points])


def _guess(law: Term, crowd: Crowd) -> _Guess:
    """The x that minimises log M(x) - 2 log x, by golden section."""
    values, masses = [float(v) for v in law.values], [float(w) for w in law.masses]
    copies, poisson = float(crowd.expected()), crowd.mean is not None

    def height(log_x: float) -> float:
        x = math.exp(log_x)
        if x * largest > 700:
            return math.inf
        rise = math.fsum(w * math.expm1(x * v) for v, w in zip(values, masses, strict=True))
        return copies * (rise if poisson else math.log1p(rise)) - 2 * log_x

    largest, size = max(values), max(abs(v) for v in values)  # squares of values may be no doubles, those of shares are
    square = math.fsum(w * (v / size) ** 2 for v, w in zip(values, masses, strict=True))
    top = math.log(700 / largest)
    x = math.exp(least(height, min(top, -0.5 * math.log(copies * square) - math.log(size)) - 8, top))
    weights = [w * math.exp(x * v) for v, w in zip(values, masses, strict=True)]
    whole = 1.0 if poisson else 1 + math.fsum(weights) - math.fsum(masses)
    mean = 0.0 if poisson else math.fsum(w * v for v, w in zip(values, weights, strict=True)) / whole
    square = math.fsum(w * ((v - mean) / size) ** 2 for v, w in zip(values, weights, strict=True)) / whole
    square += 0.0 if poisson else max(0.0, 1 - math.fsum(masses)) / whole * (mean / size) ** 2
    return _Guess(x, size * math.sqrt(copies * square))
