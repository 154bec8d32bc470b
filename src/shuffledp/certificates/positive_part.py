"""An upper bound on E[(l_1 + ... + l_N)_+] by one finite sum over a contour, in balls throughout.

S is the sum of n independent copies of l, or of a Poisson number of them; Z is an independent Gaussian of mean 0 and standard
deviation t. (.)_+ is convex, so E[S_+] <= E[(S + Z)_+] (Jensen). Let g(s) = E[(S + Z - s)_+]. For x > 0 the function
e^(xs) g(s) has the Fourier transform M(z) e^(t^2 z^2 / 2) / z^2 at z = x + iy, M(z) = E[e^(zS)]. Poisson's summation formula,

    sum over k of e^(x k P) g(k P) = (1/P) sum over j of M(z_j) e^(t^2 z_j^2 / 2) / z_j^2,    z_j = x + 2 pi i j / P,

has g(0) among the terms on its left, and all of them are at least 0. So the sum on the right is above E[S_+] for *every* x, P and
t: there is no error of discretisation to bound. (Outcomes in which at most one l differs from 0 are summed up as they are, and
taken out of M: what is left is still the transform of a positive measure.) What is left out of it, |j| > J, is at most the sum of
absolute values, which the Gaussian makes small. How x, P, t and J are chosen, in doubles, decides how tight the bound is, never
whether it holds.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

from flint import acb, acb_mat, arb

BITS = 192
"""Working precision of every check."""
_ENUMERABLE, _FEW_VALUES = 20_000, 12
"""Outcomes that are summed up one by one."""
_PASSES = 8
_REACH = 8.0
"""Nodes go that many reciprocal standard deviations of Z out."""
_FADED = 14.0
"""And that many of S, where its characteristic function is known to have faded until Z's has."""


@dataclass(frozen=True, slots=True)
class Crowd:
    """How many copies there are: exactly `users`, or a Poisson number of mean `mean`."""

    users: int = 0
    mean: arb | None = None

    def expected(self) -> arb:
        """On average."""
        return arb(self.users) if self.mean is None else self.mean

    def log_transform(self, rise: arb) -> arb:
        """Log M(x), if E[e^(x l)] = 1 + rise."""
        return self.users * rise.log1p() if self.mean is None else self.mean * rise

    def ratio(self, rise: acb, at_axis: arb) -> acb:
        """M(z) / M(x), if E[e^(z l)] = 1 + rise and E[e^(x l)] = 1 + at_axis."""
        if self.mean is None:
            return ((1 + rise) / (1 + at_axis)) ** self.users
        return (self.mean * (rise - at_axis)).exp()

    def few(self, mass: arb) -> tuple[arb, arb]:
        """The probability that no copy has a listed value, all of which have this mass; that just one has, per unit of mass."""
        if self.mean is None:
            rest = (1 - mass).max(arb(0))
            return rest**self.users, self.users * (rest ** (self.users - 1) if self.users > 1 else arb(1))
        return (-self.mean * mass).exp(), self.mean * (-self.mean * mass).exp()


@dataclass(frozen=True, slots=True)
class Term:
    """The law of l: values with their masses; 0 with the mass that is left."""

    values: Sequence[arb]
    masses: Sequence[arb]

    def positive_part(self) -> arb:
        """E[l_+]."""
        return sum((mass * _positive(value) for value, mass in zip(self.values, self.masses, strict=True)), arb(0))

    def rise(self, x: arb) -> arb:
        """E[e^(x l)] - 1."""
        return sum((w * (x * v).expm1() for v, w in zip(self.values, self.masses, strict=True)), arb(0))

    @property
    def positive(self) -> bool:
        """Whether l can be positive, by more than is known about it."""
        return any(float(value) > 0 for value in self.values)


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


def enumerable(law: Term, crowd: Crowd) -> bool:
    """Whether all outcomes can be listed."""
    few = crowd.mean is None and len(law.values) <= _FEW_VALUES
    return few and comb(crowd.users + len(law.values), len(law.values)) <= _ENUMERABLE


def enumerated(law: Term, crowd: Crowd) -> arb:
    """E[S_+] itself, over all outcomes: how many of the copies have which value."""
    masses = [*law.masses, 1 - sum(law.masses, arb(0))]
    values = [*law.values, arb(0)]

    def total(kind: int, left: int, weight: arb, reached: arb) -> arb:
        if kind == len(values) - 1:
            return weight * masses[kind] ** left * _positive(reached) if left else weight * _positive(reached)
        found = arb(0)
        for count in range(left + 1):
            part = weight * comb(left, count) * (masses[kind] ** count if count else 1)
            found += total(kind + 1, left - count, part, reached + count * values[kind])
        return found

    return total(0, crowd.users, arb(1), arb(0))


def contour_bound(law: Term, crowd: Crowd, fineness: float) -> arb:
    """An upper bound on E[S_+]; `fineness` is the standard deviation of Z in those of S."""
    if not law.positive:
        return crowd.expected() * law.positive_part()
    guess = _guess(law, crowd)
    x, smooth = arb(guess.x), arb(fineness * guess.deviation)
    period = 11 * guess.deviation + 24 / guess.x
    step = arb(2 * math.pi / period)  # a double; the period is 2 pi over it
    at_axis, mass = law.rise(x), sum(law.masses, arb(0))
    last = math.ceil(_REACH / (fineness * guess.deviation) / float(step))
    nodes, remainder = _faded(law, crowd, x, at_axis, smooth, step, last)
    scale = crowd.log_transform(at_axis)
    # outcomes with no or one value are settled without Z; where nodes are left out their transform would not have faded
    none, one = crowd.few(mass) if nodes == last else (arb(0), arb(0))
    known, none, one = one * law.positive_part(), none / scale.exp(), one / scale.exp()
    total = arb(0)
    for j, rise in enumerate(_rises(law, x, step, nodes)):
        z = acb(x, j * step)
        damping = (smooth**2 * (z * z - x * x) / 2).exp()
        part = ((crowd.ratio(rise, at_axis) - none - one * (rise + mass)) * damping * (x / z) ** 2).real
        total += 2 * part if j else part
    total += 2 * x**2 * remainder
    return known + (scale + (smooth * x) ** 2 / 2).exp() / x**2 * total * step / (2 * arb.pi())


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


def _faded(law: Term, crowd: Crowd, x: arb, at_axis: arb, smooth: arb, step: arb, last: int) -> tuple[int, arb]:
    """How many nodes are summed up, and a bound on the rest of |M(z) / M(x)| e^(-(t y)^2 / 2) / y^2.

    |M(z) / M(x)| is at most 1. It is also at most e^(-c y^2 / 4) for y^2 <= c / (4 d), by 1 - cos u >= u^2/2 - u^4/24: for a
    Poisson number of terms log |M(z) / M(x)| = -m E[e^(x l) (1 - cos(y l))], and for n terms, with l' a copy of l, both
    tilted, |M(z) / M(x)|^2 = (1 - E[1 - cos(y (l - l'))])^n. Large values, which are rare, may be left out of these sums.
    """
    weights = [w * (x * v).exp() for v, w in zip(law.values, law.masses, strict=True)]
    rest = 1 - sum(law.masses, arb(0))
    if crowd.mean is None:
        weights = [w / (1 + at_axis) for w in weights]
        rest = rest / (1 + at_axis)
    sizes = sorted({abs(float(v)) for v in law.values})
    best = None
    for size in sizes[:: max(1, len(sizes) // 12)] + sizes[-1:]:
        light = [(v, w) for v, w in zip(law.values, weights, strict=True) if abs(float(v)) <= size]
        c, d = _fading(light, rest, crowd)
        if c > 0 and d > 0 and c / (4 * d) > (last * step) ** 2 and (best is None or c > best):
            best = c
    if best is not None:
        first = math.ceil(_FADED / float(best.sqrt()) / float(step))
        if first < last:
            y = (first + 1) * step
            between = (-best * y**2 / 4).exp() / (1 - (-best * step * y / 2).exp()) / y**2
            return first, between + _beyond(smooth, step, last)
    return last, _beyond(smooth, step, last)


def _fading(light: list[tuple[arb, arb]], rest: arb, crowd: Crowd) -> tuple[arb, arb]:
    """C and d of some of the values, and of 0 with probability `rest`."""
    _, one, two, three, four = (sum((w * v**k for v, w in light), arb(0)) for k in range(5))
    if crowd.mean is not None:
        return crowd.mean * two, crowd.mean * four / 24
    mass = sum((w for _, w in light), rest)
    return crowd.users * (mass * two - one**2), crowd.users * (2 * mass * four - 8 * one * three + 6 * two**2) / 48


def _beyond(smooth: arb, step: arb, last: int) -> arb:
    """The sum over j > last of e^(-(t y_j)^2 / 2) / y_j^2: at most a geometric series."""
    y = (last + 1) * step
    return (-((smooth * y) ** 2) / 2).exp() / (1 - (-(smooth**2) * step * y).exp()) / y**2


def _rises(law: Term, x: arb, step: arb, nodes: int) -> list[acb]:
    """E[e^(z_j l)] - 1 at z_j = x + i j step, j = 0 ... nodes, as a product of two matrices: j is a multiple and a rest."""
    side = math.isqrt(nodes) + 1
    multiples = [
        [w * acb(x * v, k * side * step * v).exp() for v, w in zip(law.values, law.masses, strict=True)]
        for k in range(side)
    ]
    rests = [[acb(0, k * step * v).exp() for k in range(side)] for v in law.values]
    mass = sum(law.masses, arb(0))
    return [entry - mass for entry in (acb_mat(multiples) * acb_mat(rests)).entries()[: nodes + 1]]


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

    largest = max(values)
    square = math.fsum(w * v * v for v, w in zip(values, masses, strict=True))
    top = math.log(700 / largest)
    low, high = min(top, -0.5 * math.log(copies * square)) - 8, top
    golden = (math.sqrt(5) - 1) / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = height(left), height(right)
    while high - low > 1e-3:
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = height(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = height(right)
    x = math.exp((low + high) / 2)
    weights = [w * math.exp(x * v) for v, w in zip(values, masses, strict=True)]
    whole = 1.0 if poisson else 1 + math.fsum(weights) - math.fsum(masses)
    mean = 0.0 if poisson else math.fsum(w * v for v, w in zip(values, weights, strict=True)) / whole
    square = math.fsum(w * (v - mean) ** 2 for v, w in zip(values, weights, strict=True)) / whole
    square += 0.0 if poisson else max(0.0, 1 - math.fsum(masses)) / whole * mean**2
    return _Guess(x, math.sqrt(copies * square))


def _positive(value: arb) -> arb:
    """The positive part, of a ball."""
    if value <= 0:
        return arb(0)
    return value if value >= 0 else value.max(arb(0))
