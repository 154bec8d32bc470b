"""Several releases about the same users: laws of the privacy loss, composed on a contour, in balls throughout.

X is the sum of independent losses, whose law is a product of measures; what is asked for is E[(1 - e^(epsilon - X))_+]. One
more release with Gaussian noise, whose loss Z has mean t^2/2 and variance t^2, only makes it larger. Let g(s) = E[(1 - e^(s -
X - Z))_+]. For x > 0 the function e^(xs) g(s) has the Fourier transform M(z) e^(t^2 z (z+1) / 2) / (z (z+1)) at z = x + iy,
M(z) = E[e^(zX)]. Poisson's summation formula,

    sum over k of e^(x k P) g(epsilon + k P) = (1/P) sum over j of M(z_j) e^(t^2 z_j (z_j+1) / 2 - z_j epsilon) / (z_j (z_j+1)),
    z_j = x + 2 pi i j / P,

has g(epsilon) among the terms on its left, and all of them are at least 0: as in positive_part.py the sum on the right is an
upper bound for every x, P and t, and only the nodes that are left out are charged.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final

from flint import acb, arb

from shuffledp.certificates.contour_nodes import Fading, Term, least, positive, worth_summing
from shuffledp.certificates.curve import Curve
from shuffledp.certificates.effort import Effort, unbounded
from shuffledp.certificates.law import Law
from shuffledp.certificates.loss import LossLaw, loss_law

_CURVES: Final = ((180, 0.01), (360, 0.01), (360, 0.005), (720, 0.005))
"""Points of each curve, and how finely it is evaluated at them: a few are quick and often enough."""
_COVERED: Final = 480, 960
"""Points of the curves of two messages, at first and then: many take little more than few, however fine."""
_REFINED: Final = 360
"""With so many points a finer evaluation is tried, too."""
_FINENESS, _FINER = 0.004, 0.001
"""Of the last contour, the standard deviation of Z in those of X; the smaller one where a claim is missed narrowly."""
_NARROWLY: Final = 5e-4
"""What the larger one costs at most, of delta."""
_NEGLIGIBLE: Final = 1e-9
"""An interval of nodes is left out if it has less than this share of the sum."""
_WIDEST: Final = 0.3
"""An interval of nodes is no wider than this, in reciprocal standard deviations of one loss."""
_ENUMERABLE: Final = 20_000
"""Outcomes that are summed up one by one."""
_CHARGED, _COVER_CHARGED = 1e-8, 1e-5
"""The part of delta that may be charged for where the curves are cut off; the larger one where a curve is of a cover, whose rare
large losses would only spoil the contour."""
_FALLING: Final = 0.9
_FARTHEST: Final = 600.0
_PREPARED: Final = 100
"""What finding the saddle point takes, in terms of a sum."""


@dataclass(frozen=True, slots=True)
class Release:
    """One randomizer run by the same users so many times.

    Attributes:
        law: of the randomizer.
        rounds: how often.
    """

    law: Law
    rounds: int


def releases(law: Law, rounds: int) -> list[Release]:
    """What so many rounds consist of, if each part of a message is shuffled apart."""
    if law.parts:
        return [Release(part, times * rounds) for part, times in law.parts]
    return [Release(law, rounds)]


def composed_delta(parts: Sequence[Release], n: int, epsilon: float, target: arb, effort: Effort) -> arb:
    """An upper bound on the delta of all releases together, refined until it is at most the target, or seems not to get there."""
    best = _refined(parts, n, epsilon, target, effort, _COVER_CHARGED)
    if target < best <= (1 + 2 * _COVER_CHARGED) * target:
        best = best.min(_refined(parts, n, epsilon, target, effort, _CHARGED))
    return best


def _refined(parts: Sequence[Release], n: int, epsilon: float, target: arb, effort: Effort, of_cover: float) -> arb:
    """With this part of delta charged where a curve of a cover is cut off."""
    share = float(target) / len(parts)
    best, known = arb(1), [dict[tuple[float, float], arb]() for _ in parts]
    for nodes, fineness in _CURVES:
        curves = [
            (Curve(part.law, n, fineness, effort, before), part.rounds)
            for part, before in zip(parts, known, strict=True)
        ]
        if _alone(curves, epsilon):
            return arb(0)
        points = [
            (_points(curve, share * (of_cover if curve.covered else _CHARGED) / rounds, nodes), rounds)
            for curve, rounds in curves
        ]
        laws = [(loss_law(*each), rounds) for each, rounds in points]
        best = best.min(_delta(laws, epsilon, effort))
        if target < best <= (1 + _NARROWLY) * target:
            best = best.min(_delta(laws, epsilon, effort, _FINER))
        if best <= target or (nodes != _CURVES[0][0] and all(curve.covered for curve, _ in curves)):
            break
        # half as many points cost about four times as much, so that a third of the difference is left to gain; at kinks, more
        half = _delta([(loss_law(e[::2], d[::2]), rounds) for (e, d), rounds in points], epsilon, effort)
        if best - (half - best) > target and nodes != _REFINED:
            break
    return best


def _alone(curves: Sequence[tuple[Curve, int]], epsilon: float) -> bool:
    """Whether all that one user sends is that private by itself."""
    total = arb(0)
    for curve, rounds in curves:
        local = curve.local()
        if local is None:
            return False
        total += rounds * local
    return bool(total <= epsilon)


def _delta(laws: Sequence[tuple[LossLaw, int]], epsilon: float, effort: Effort, fineness: float = _FINENESS) -> arb:
    """The curve of all losses together at this epsilon, from above: exactly, if the outcomes can be listed."""
    outcomes = math.prod(math.comb(rounds + len(law.finite.values) - 1, rounds) for law, rounds in laws)
    if outcomes > _ENUMERABLE:
        return contour_delta(laws, epsilon, fineness, effort)
    effort.spend(outcomes * len(laws))
    return enumerated_delta(laws, epsilon)


def enumerated_delta(laws: Sequence[tuple[LossLaw, int]], epsilon: float) -> arb:
    """The sum over all outcomes: how many losses of each law have which value. Losses of few users are few values."""
    total = [(arb(1), arb(0))]
    for law, rounds in laws:
        outcomes = list(_outcomes(list(zip(law.finite.masses, law.finite.values, strict=True)), rounds))
        total = [(p * mass, x + loss) for p, x in total for mass, loss in outcomes]
    finite = sum((mass * positive(-(arb(epsilon) - loss).expm1()) for mass, loss in total), arb(0))
    return _infinite(laws) + finite


def _outcomes(points: Sequence[tuple[arb, arb]], rounds: int) -> Iterator[tuple[arb, arb]]:
    """Mass and sum of so many independent losses, for every way to distribute them over their values."""
    (mass, loss), *others = points
    if not others:
        yield mass**rounds, rounds * loss
        return
    for count in range(rounds + 1):
        part = math.comb(rounds, count) * mass**count
        for rest, total in _outcomes(others, rounds - count):
            yield part * rest, count * loss + total


def _infinite(laws: Sequence[tuple[LossLaw, int]]) -> arb:
    """The mass of those outcomes in which some loss is infinite."""
    whole = sum((rounds * law.finite.mass.log() for law, rounds in laws), arb(0))
    return whole.exp() * sum((r * (law.infinite / law.finite.mass).log1p() for law, r in laws), arb(0)).expm1()


def contour_delta(
    laws: Sequence[tuple[LossLaw, int]], epsilon: float, fineness: float = _FINENESS, effort: Effort | None = None
) -> arb:
    """The curve of all losses together at this epsilon, from above."""
    finite = [(law.finite, rounds) for law, rounds in laws]
    infinite = _infinite(laws)
    if sum((rounds * reduce(arb.max, law.values) for law, rounds in finite), arb(0)) <= epsilon:
        return infinite
    effort, values = effort or unbounded(), sum(len(law.values) for law, _ in finite)
    effort.spend(_PREPARED * values)
    x, deviation = _guess(finite, epsilon)
    at, smooth, period = arb(x), arb(fineness * max(deviation, 1 / x)), 11 * deviation + 24 / x
    step = arb(2 * math.pi / period)  # a double; the period is 2 pi over it
    fadings = [(Fading(law, at, arb(0)), rounds) for law, rounds in finite]
    nodes = worth_summing(
        lambda middle, half: sum((rounds * fading.log_size(middle, half) for fading, rounds in fadings), arb(0)),
        smooth, step, _WIDEST / max(fading.deviation for fading, _ in fadings), _NEGLIGIBLE / (x * (x + 1)),
        effort, values,
    )  # fmt: skip
    axis = [fading.whole for fading, _ in fadings]
    total = 2 * nodes.left
    for some in nodes.ranges:
        rises = [law.rises(at, step, some) for law, _ in finite]
        for j, at_node in zip(some, zip(*rises, strict=True), strict=True):
            z = acb(at, j * step)
            part = (smooth**2 * (z * (z + 1) - at * (at + 1)) / 2 - acb(0, j * step) * arb(epsilon)).exp()
            for rise, whole, (law, rounds) in zip(at_node, axis, finite, strict=True):
                part *= ((rise + law.mass) / whole) ** rounds
            height = (part / (z * (z + 1))).real
            total += 2 * height if j else height
    scale = sum((rounds * whole.log() for whole, (_, rounds) in zip(axis, finite, strict=True)), arb(0))
    return infinite + (scale + smooth**2 * at * (at + 1) / 2 - at * arb(epsilon)).exp() * total * step / (2 * arb.pi())


def _points(curve: Curve, charged: float, nodes: int) -> tuple[list[float], list[arb]]:
    """Points of one release's curve, up to where no more than this is charged for the rest."""
    if curve.covered:
        nodes = _COVERED[nodes != _CURVES[0][0]]
    end = _reach(curve, charged)
    epsilons = [end * k / nodes for k in range(nodes)] + [end]
    return epsilons, curve.along(epsilons)


def _reach(curve: Curve, little: float) -> float:
    """An epsilon at which delta is that little, or falls no further, or is 0: any is valid."""
    end, high = min(curve.end(), _FARTHEST), 1e-12
    at, before = high, 1.0
    while high < end and (height := curve.rough(high)) > little:
        if height < _FALLING * before:
            at, before = high, height
        high *= 2
    if high >= end:
        return end if end < _FARTHEST else at
    low = high / 2
    while high - low > 0.02 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if curve.rough(middle) <= little else (middle, high)
    return high


def _guess(laws: Sequence[tuple[Term, int]], epsilon: float) -> tuple[float, float]:
    """The x that minimises log M(x) - x epsilon - log(x (x + 1)), and the standard deviation of X there, in doubles."""
    doubles = [([float(v) for v in law.values], [float(w) for w in law.masses], rounds) for law, rounds in laws]
    largest = max(max(values) for values, _, _ in doubles)

    def height(log_x: float) -> float:
        x = math.exp(log_x)
        if x * largest > 700:
            return math.inf
        logs = (
            r * math.log(math.fsum(w * math.exp(x * v) for v, w in zip(vs, ws, strict=True))) for vs, ws, r in doubles
        )
        return math.fsum(logs) - x * epsilon - log_x - math.log1p(x)

    square = math.fsum(r * math.fsum(w * v * v for v, w in zip(vs, ws, strict=True)) for vs, ws, r in doubles)
    top = math.log(700 / largest)
    x = math.exp(least(height, min(top, -0.5 * math.log(square)) - 8, top))
    variance = 0.0
    for values, masses, rounds in doubles:
        weights = [w * math.exp(x * v) for v, w in zip(values, masses, strict=True)]
        whole = math.fsum(weights)
        mean = math.fsum(w * v for v, w in zip(values, weights, strict=True)) / whole
        variance += rounds * math.fsum(w * (v - mean) ** 2 for v, w in zip(values, weights, strict=True)) / whole
    return x, math.sqrt(variance)
