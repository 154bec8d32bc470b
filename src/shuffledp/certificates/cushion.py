"""Mixed crowds of few inputs: the theorem of docs/maths/cushion.md for every dataset at once, in balls.

The crowd is cut into blocks of m users with equal inputs. A block's sum S of l + kappa |l| depends on which input z they
hold. Its U_z(t) = E[(S - t)_+] is bounded at some t by a sum on a contour, as in positive_part.py; the largest over z, made
convex, is the U of a law Y, which is above every block in increasing convex order but for its last value e. So, with b
blocks,

    delta <= (e^rho / (b m)) (E[(Y_1 + ... + Y_b)_+] + b e) + P(fewer than M draws in the cushion),

and the expectation is again a sum on a contour. How a crowd is split, in doubles, decides how tight this is, never whether it
holds.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate, combinations, pairwise, permutations, repeat
from operator import mul
from typing import Final

from flint import acb, acb_mat, arb, fmpq, fmpq_mat

from shuffledp.certificates.contour_nodes import Fading, Term, positive, worth_summing
from shuffledp.certificates.effort import Effort
from shuffledp.certificates.positive_part import Crowd, contour_bound

_FEWEST: Final = 1000
"""Users below which it never wins."""
_LARGEST_BLOCK: Final = 8192
_SHARES: Final = [1e-6 * (0.6e6) ** (k / 59) for k in range(60)]
"""Of all users, those who may be left for the cushion."""
_STEP: Final = 0.03
"""Between the points of U, in standard deviations of a block."""
_SMOOTHING: Final = 0.01
"""Standard deviation of the noise that is added to a block, in those of the block."""
_LEFT: Final = 7.0
"""Where the points of U begin, in standard deviations below the mean."""
_CHARGED: Final = 1e-5
"""The part of delta that the last value of U may cost."""
_POINTS: Final = 600
_TILT, _PERIOD = 2.0, 30.0
"""Of the contour of a block: times its reciprocal standard deviation, and its standard deviation."""
_NEGLIGIBLE, _REACH = 1e-17, 9.0
"""Of the nodes of a block: what is charged for those left out raises its mean, and the means of 10^5 blocks add up."""
_WIDEST: Final = 0.3
_FINENESS: Final = (0.01, 0.003)
_TILTS: Final = (0.6, 0.8, 1.0, 1.3, 1.8)
Row = Sequence[fmpq]


@dataclass(frozen=True, slots=True)
class _Split:
    """So many blocks of so many users, and what the cushion costs: docs/maths/cushion.md."""

    blocks: int
    size: int
    rho: arb
    kappa: arb
    failure: arb

    @property
    def crowd(self) -> int:
        """Users in all blocks."""
        return self.blocks * self.size


def cushioned_delta(rows: Sequence[Row], n: int, epsilon: float, target: arb, effort: Effort) -> arb:
    """An upper bound on delta over all datasets, refined until it is at most the target, or does not get there."""
    rows = corners(rows, effort)
    split = _split(rows, n, epsilon)
    if split is None:
        return arb(1)
    growth, worst = arb(epsilon).exp(), split.failure
    scale = split.rho.exp() / split.crowd
    for x, y in permutations(rows, 2):
        laws = [_law(x, y, z, growth, split.kappa) for z in rows]
        enough = target.max(worst)
        if scale * _chernoff(laws, split.crowd) + split.failure <= enough:
            continue
        delta = arb(1)
        charged = (target / scale).max(arb(0)) / split.blocks * _CHARGED
        block, short = _largest_block(laws, split.size, charged, effort)
        for fineness in _FINENESS:
            expected = contour_bound(block, Crowd(split.blocks), fineness, effort) + split.blocks * short
            delta = delta.min(scale * expected + split.failure)
            if delta <= enough:
                break
        worst = worst.max(delta)
    return worst


def _law(x: Row, y: Row, z: Row, growth: arb, kappa: arb) -> Term:
    """The law of l + kappa |l|, l = (mu_x - e^epsilon mu_x') / mu_z under mu_z."""
    values = [arb(u / w) - growth * arb(v / w) for u, v, w in zip(x, y, z, strict=True)]
    return Term([value + kappa * abs(value) for value in values], [arb(w) for w in z])


def _chernoff(laws: Sequence[Term], n: int) -> arb:
    """E[S_+] <= M(x) / (e x) for a sum of n summands, each of any one of the laws: the largest M is the largest one's power."""
    squares = [math.fsum(float(m) * float(v) ** 2 for v, m in zip(law.values, law.masses, strict=True)) for law in laws]
    means = [math.fsum(float(m) * float(v) for v, m in zip(law.values, law.masses, strict=True)) for law in laws]
    saddle = max(-max(means) / max(squares), 0.3 / math.sqrt(n * max(squares)))
    bounds = []
    for tilt in _TILTS:
        x = arb(saddle * tilt)
        most = reduce(arb.max, [law.rise(x) for law in laws])
        bounds.append((n * most.log1p() - 1).exp() / x)
    return reduce(arb.min, bounds)


# Blocks.


def _largest_block(laws: Sequence[Term], size: int, short: arb, effort: Effort) -> tuple[Term, arb]:
    """A law above the sum of so many summands of any one of the laws, but for what is returned besides, if possible `short`."""
    moments = [_moments(law) for law in laws]
    mean = size * max(mean for mean, _ in moments)
    deviation = math.sqrt(size * max(variance for _, variance in moments))
    start, step = arb(mean - _LEFT * deviation), arb(_STEP * deviation)
    rows = [_points(law, size, deviation, start, step, effort) for law in laws]
    dots = list[tuple[arb, arb]]()
    for k, heights in enumerate(zip(*rows, strict=True)):
        dots.append((start + k * step, reduce(arb.max, heights).upper()))
        if dots[-1][1] <= short:
            break
    hull = _lower_hull(dots)
    slopes = [arb(-1), *(_slope(left, right) for left, right in pairwise(hull)), arb(0)]
    masses = [after - before for before, after in pairwise(slopes)]
    return Term([t for t, _ in hull], masses), hull[-1][1]


def _moments(law: Term) -> tuple[float, float]:
    """Mean and variance, roughly."""
    mean = math.fsum(float(m) * float(v) for v, m in zip(law.values, law.masses, strict=True))
    return mean, math.fsum(float(m) * (float(v) - mean) ** 2 for v, m in zip(law.values, law.masses, strict=True))


def _points(law: Term, size: int, deviation: float, start: arb, step: arb, effort: Effort) -> list[arb]:
    """Bounds on U at start, start + step, ...: sums over the nodes of one contour."""
    x, smooth = arb(_TILT / deviation), arb(_SMOOTHING * deviation)
    pace = arb(2 * math.pi / (_PERIOD * deviation))
    fading = Fading(law, x, arb(0))
    nodes = worth_summing(
        lambda middle, half: size * fading.log_size(middle, half),
        smooth, pace, _WIDEST / fading.deviation, _NEGLIGIBLE / float(x) ** 2, effort, len(law.values) + _POINTS, _REACH,
    )  # fmt: skip
    terms = list[tuple[acb, acb]]()
    for some in nodes.ranges:
        for j, rise in zip(some, law.rises(x, pace, some), strict=True):
            z = acb(x, j * pace)
            weight = (1 + rise) ** size * (smooth**2 * z * z / 2 - z * start).exp() / z**2
            terms.append((z, 2 * weight if j else weight))
    # point k is a multiple and a rest: a product of two matrices, of few powers each, whose errors balls keep
    side = math.isqrt(_POINTS - 1) + 1
    ratios = [(-z * step).exp() for z, _ in terms]
    multiples = [_powers(weight, ratio**side, side) for (_, weight), ratio in zip(terms, ratios, strict=True)]
    rests = [_powers(acb(1), ratio, side) for ratio in ratios]
    left = 2 * nodes.left * (size * law.rise(x).log1p() + smooth**2 * x**2 / 2 - x * start).exp()
    sums = [entry.real for entry in (acb_mat(multiples).transpose() * acb_mat(rests)).entries()[:_POINTS]]
    return [(total + left * (-x * k * step).exp()) * pace / (2 * arb.pi()) for k, total in enumerate(sums)]


def _powers(first: acb, ratio: acb, count: int) -> list[acb]:
    return list(accumulate(repeat(ratio, count - 1), mul, initial=first))


def _lower_hull(dots: Sequence[tuple[arb, arb]]) -> list[tuple[arb, arb]]:
    """Those of the points (t, U) on the lower convex hull with a line of slope -1 to the left of all; any choice is valid."""
    hull: list[tuple[arb, arb]] = []
    for dot in dots:
        while hull and not (_slope(hull[-2], hull[-1]) if len(hull) > 1 else arb(-1)) < _slope(hull[-1], dot):
            hull.pop()
        hull.append(dot)
    return hull


def _slope(left: tuple[arb, arb], right: tuple[arb, arb]) -> arb:
    return (right[1] - left[1]) / (right[0] - left[0])


# Which inputs the others hold, and how a crowd is split.


def corners(rows: Sequence[Row], effort: Effort) -> list[Row]:
    """The inputs that are no mixtures of others, exactly: whoever holds a mixture holds one of its parts, at random."""
    left = list(rows)
    for row in rows:
        others = [other for other in left if other is not row]
        effort.spend(2 ** len(others) * len(others) ** 2 * len(row))
        if len(left) > 2 and any(
            _mixed(row, some) for size in range(1, len(row) + 1) for some in combinations(others, size)
        ):
            left = others
    return left


def _mixed(row: Row, parts: Sequence[Row]) -> bool:
    """Whether a row is a mixture of others that are independent of each other."""
    columns = fmpq_mat(parts).transpose()
    try:
        weights = (columns.transpose() * columns).solve(columns.transpose() * fmpq_mat([row]).transpose())
    except ZeroDivisionError:
        return False  # dependent: fewer of them do as well
    return columns * weights == fmpq_mat([row]).transpose() and all(weight >= 0 for weight in weights.entries())


def _split(rows: Sequence[Row], n: int, epsilon: float) -> _Split | None:
    """The split that promises the smallest epsilon, by normal approximations."""
    if n < _FEWEST:
        return None
    floor = [min(column) for column in zip(*rows, strict=True)]
    ratio, gamma = (
        arb(max(u / low for row in rows for u, low in zip(row, floor, strict=True))),
        arb(sum(floor, fmpq(0))),
    )
    chi, skew, size = max(_shape(x, y, z) for x, y in permutations(rows, 2) for z in rows)
    drift = max(math.expm1(epsilon), 0.5 * chi / math.sqrt(n))
    deviations = drift * math.sqrt(n) / chi
    log_failure = -deviations * deviations / 2 - math.log(n) - 12
    best, least = None, math.inf
    for share in _SHARES:
        split = _split_at(len(rows), ratio, gamma, n, math.ceil(share * n), log_failure)
        if split is not None:
            lost = 0.5 * (1 - split.crowd / n) + 0.133 * skew / math.sqrt(split.size)
            lost += float(split.kappa) * size / drift + float(split.rho) / max(1.0, deviations**2)
            if lost < least:
                best, least = split, lost
    return best


def _shape(x: Row, y: Row, z: Row) -> tuple[float, float, float]:
    """Standard deviation, skewness and mean size of l at epsilon = 0, roughly."""
    points = [(float(arb((u - v) / w)), float(arb(w))) for u, v, w in zip(x, y, z, strict=True)]
    deviation, third, size = (math.fsum(m * abs(v) ** k for v, m in points) for k in (2, 3, 1))
    deviation = math.sqrt(deviation)
    return deviation, third / max(deviation**3, 1e-300), size


def _split_at(inputs: int, ratio: arb, gamma: arb, n: int, left: int, log_failure: float) -> _Split | None:
    """The crowd and the cushion if at least so many of the other users are left for the cushion.

    With `left` >= inputs (size - 1), all blocks can have users of one input: fewer than `size` users of each input fill no block.
    """
    size = max(1, min(_LARGEST_BLOCK, left // inputs + 1))
    blocks = (n - 1 - left) // size
    if blocks < 1:
        return None
    mean = gamma * (n - 1 - blocks * size)
    draws = math.floor(float(mean) - math.sqrt(2 * float(mean) * -log_failure) * (1 + 1e-12) - 1e-9 * float(mean))
    if draws < 1 or not ratio <= draws:
        return None
    rho = ratio / draws
    kappa = rho.exp() * (3 * rho**2 * (2 * rho).exp() + ratio / (blocks * size) * (2 * rho).expm1())
    short = positive(mean - draws)
    return _Split(blocks, size, rho, kappa, (-(short**2) / (2 * mean)).exp())
