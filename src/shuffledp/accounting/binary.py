"""Randomizers with two messages over *all* datasets: both sides, to a fraction of a per cent.

Every input is a mixture of the two whose coins are most unlike, so the worst datasets hold these two only. The view is the number
of ones. If A of the other users hold x, whose coin shows 1 with probability q, and m - A hold x', with probability r < q, and N
is the number of ones among them, the divergence is

    D(A) = max over J of  alpha P(N = J-1) - (a - 1) P(N >= J),     alpha = q - a r,

because N is log-concave. Dropping B known users cannot lower the divergence, so the dataset with A1 users at x and m - B - A1
at x' covers every A from A1 to A1 + B: some 2,400 such cells cover all datasets. For the reverse pair, zeros are counted.
Probabilities come from the tilted characteristic function at a few dozen nodes per cell, with aliases, truncation and rounding
charged (docs/maths/binary.md).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from shuffledp.accounting.bound import CERTAINLY_PRIVATE, BoundKind, Claim, Side, outside
from shuffledp.arithmetic.balls import evaluate, round_up
from shuffledp.arithmetic.enclosure import Enclosure
from shuffledp.arithmetic.summand_law import ULP, Reals
from shuffledp.core.blanket import Blanket
from shuffledp.core.free_memory import settle_allocator
from shuffledp.references import cite

_BITS: Final = 2500
"""Enough for 1 - (1 - 1e-300)."""
_CELLS: Final = 2400
_DATASETS: Final = 200
_AT_ONCE: Final = 300
"""Datasets that are evaluated side by side."""
_GROUPS: Final = (50, 5)
"""So many cells beside each other are at first covered by one dataset, and then fewer."""
_FEW: Final = 0.5
"""If a larger share of the cells is left, they are not worth being looked at in groups again."""
_WINDOW: Final = np.arange(-4, 5)
_PERIOD: Final = 26.0
"""Sampling period in standard deviations of N."""
_CUT: Final = 9.5
"""Nodes go that many reciprocal standard deviations out."""
_PACES: Final = np.array([0.3, 1.0, 2.0, 4.0, 7.0, 11.0, 16.0])[:, None]
"""How far, in reciprocal standard deviations, the tilts are at which copies are bounded."""

Wholes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Binary:
    """The divergence of the worst pair of neighbouring datasets, where users send one of two messages.

    Regime: two messages, both of which every input can send.
    Reference: BBGN19, Lemma A.2 (users may be dropped).
    Rounding: the lower end down, the upper end up.
    """

    name: str = "binary"
    kind: BoundKind = "numeric"
    reference: str = cite("BBGN19", "Lemma A.2") + " and a cover of all datasets"

    def claim(self, blanket: Blanket, *, n: int, epsilon: float, side: Side = "both") -> Claim:
        """Both ends over all datasets."""
        [claim] = self.claims(blanket, n=n, epsilons=[epsilon], side=side)
        return claim

    def claims(self, blanket: Blanket, *, n: int, epsilons: Sequence[float], side: Side = "both") -> list[Claim]:
        """Claims at several epsilons, which take less time together than one after the other."""
        if blanket.coins() is None:
            return [
                outside(f"this bound covers only randomizers with two messages, and this is {blanket.label}.")
            ] * len(epsilons)
        each = [_both_ways(blanket, epsilon) for epsilon in epsilons]
        pairs = [pair for both in each for pair in both]
        highest = iter(_highest(pairs, *_cover(n - 1)).tolist() if pairs and n > 1 and side != "lower" else ())
        return [
            self._claim(blanket, n, epsilon, both, max(islice(highest, len(both)), default=0.0), side)
            for epsilon, both in zip(epsilons, each, strict=True)
        ]

    def _claim(
        self, blanket: Blanket, n: int, epsilon: float, both: "Sequence[_Coins]", high: float, side: Side
    ) -> Claim:
        """What is said at one epsilon, once the upper end is known."""
        if not both:
            return CERTAINLY_PRIVATE
        if n == 1:
            alone = evaluate(lambda: _alpha_of_one(blanket, epsilon).log())
            low, high = alone.lower, alone.upper
        else:
            low = _lowest(both, *_datasets(n - 1)) if side != "upper" else -math.inf
        if side != "lower" and not high < 0:
            return outside("the bound exceeds delta = 1 here and so says nothing. Use more users or a larger epsilon.")
        return Claim(
            log_delta=Enclosure(float(min(low, high)), float(min(high, 0.0))), lower_by=self.name, upper_by=self.name
        )


def _alpha_of_one(blanket: Blanket, epsilon: float) -> arb:
    """One user: the larger of the two divergences of the coins."""
    (*_, forward), (*_, backward) = _directions(blanket, epsilon)
    return forward.max(backward)


def _directions(blanket: Blanket, epsilon: float) -> list[tuple[arb, arb, arb]]:
    """The coins and alpha = q - a r: ones counted, and zeros counted for the reverse pair."""
    q, r = blanket.coins() or (arb(0), arb(0))
    a = arb(epsilon).exp()
    return [(more, less, more - a * less) for more, less in ((q, r), (1 - r, 1 - q))]


def _both_ways(blanket: Blanket, epsilon: float) -> "list[_Coins]":
    """Both directions; only one, if they are alike or if the other has no divergence."""
    with ctx.workprec(_BITS):
        directions = [
            _Coins(*direction, epsilon) for direction in _directions(blanket, epsilon) if not direction[2] <= 0
        ]
    return list({(coins.q, coins.r, coins.alpha): coins for coins in directions}.values())


def _highest(pairs: "Sequence[_Coins]", ones: Wholes, zeros: Wholes) -> Reals:
    """The largest upper end of log D over all cells, for each pair.

    Most of them are left out: a dataset that covers many cells at once, because it lacks all users who vary within them, shows
    that D is no larger there than elsewhere.
    """
    settle_allocator()
    highest = np.full(len(pairs), -math.inf)
    of, cells = np.repeat(np.arange(len(pairs)), len(ones)), np.tile(np.arange(len(ones)), len(pairs))
    for size in _GROUPS if len(ones) > _AT_ONCE else ():
        leading = cells % size == 0
        first, its = cells[leading], of[leading]
        end = np.minimum(first + size, len(ones))
        ceilings = _upper_ends(pairs, its, ones[first], zeros[end - 1])
        if size == _GROUPS[0]:
            promising = (first // size == ceilings.reshape(len(pairs), -1).argmax(axis=1)[its]).repeat(end - first)
            np.maximum.at(highest, of[promising], _of_cells(pairs, of[promising], ones, zeros, cells[promising]))
        left = (ceilings > highest[its]).repeat(end - first)
        of, cells = of[left], cells[left]
        if not 0 < len(cells) < _FEW * len(ones) * len(pairs):
            break
    np.maximum.at(highest, of, _of_cells(pairs, of, ones, zeros, cells))
    return highest


def _of_cells(pairs: "Sequence[_Coins]", of: Wholes, ones: Wholes, zeros: Wholes, cells: Wholes) -> Reals:
    """Upper ends for some cells, each at as many nodes as those beside it take: so they do not depend on which are asked for."""
    parts, index = np.unique(of * len(ones) + cells // _AT_ONCE, return_inverse=True)
    nodes = [pairs[part // len(ones)].nodes(*_beside(part % len(ones), ones, zeros)) for part in parts.tolist()]
    found, wanted = np.empty(len(cells)), np.array(nodes, dtype=np.int64)[index]
    for number in set(nodes):
        at = np.flatnonzero(wanted == number)
        found[at] = _upper_ends(pairs, of[at], ones[cells[at]], zeros[cells[at]], number)
    return found


def _beside(part: int, ones: Wholes, zeros: Wholes) -> tuple[Wholes, Wholes]:
    """Cells of one part."""
    here = slice(part * _AT_ONCE, (part + 1) * _AT_ONCE)
    return ones[here], zeros[here]


def _upper_ends(pairs: "Sequence[_Coins]", of: Wholes, ones: Wholes, zeros: Wholes, nodes: int | None = None) -> Reals:
    """Upper ends of log D for datasets, each of one of the pairs, so many at a time as stay in the processor's cache."""
    found = np.empty(len(of))
    for start in range(0, len(of), _AT_ONCE):
        at = slice(start, start + _AT_ONCE)
        found[at] = _Coins.of_rows(pairs, of[at]).log_divergence(ones[at], zeros[at], nodes)[1]
    return found


def _lowest(both: "Sequence[_Coins]", ones: Wholes, zeros: Wholes) -> float:
    """The largest lower end of log D over datasets, some at a time: so many as stay in the processor's cache."""
    settle_allocator()
    parts = range(0, len(ones), _AT_ONCE)
    ends = [
        pair.log_divergence(ones[i : i + _AT_ONCE], zeros[i : i + _AT_ONCE])[0].max() for pair in both for i in parts
    ]
    return float(np.max(ends))


def _cover(others: int) -> tuple[Wholes, Wholes]:
    """Cells that cover every number of ones: what is left of each after dropping the users that vary within it."""
    width = max(1, -(-(others + 1) // _CELLS))
    first = np.arange(0, others + 1, width, dtype=np.int64)
    dropped = np.minimum(width - 1, others - first)
    return first, others - dropped - first


def _datasets(others: int) -> tuple[Wholes, Wholes]:
    """Some explicit datasets: near all of one kind, where the worst usually is, and spread out."""
    half = _DATASETS // 2
    spread = [others * k // half for k in range(half)]
    ends = [*range(min(half, others)), *range(max(0, others - half), others + 1)]
    ones = np.unique(np.array([*ends, *spread], dtype=np.int64))
    return ones, others - ones


class _Coins:
    """Two coins, q and r below it, and the tilt at which the maximising J is the mean; or such a pair for each dataset."""

    rise: float | Reals
    alpha: float | Reals
    q: float | Reals
    not_q: float | Reals
    r: float | Reals
    not_r: float | Reals
    theta: float | Reals

    def __init__(self, q: arb, r: arb, alpha: arb, epsilon: float) -> None:
        rise = arb(epsilon).expm1()
        self.rise = float(rise)
        self.alpha = round_up(alpha) if alpha.contains(0) else float(alpha)
        self.q, self.not_q = float(q), float(1 - q)
        self.r, self.not_r = float(r), float(1 - r)
        self.theta = min(float((1 + rise / alpha).log()), 40.0) if alpha > 0 else 40.0

    @classmethod
    def of_rows(cls, pairs: "Sequence[_Coins]", of: Wholes) -> "_Coins":
        """For each row the pair with this number."""
        rows = cls.__new__(cls)
        for name in cls.__annotations__:
            setattr(rows, name, np.array([getattr(pair, name) for pair in pairs])[of])
        return rows

    def nodes(self, ones: Wholes, zeros: Wholes) -> int:
        """How many nodes are enough for all of these datasets."""
        _, _, _, sd = self._tilted(ones, zeros, np.full(len(ones), self.theta))
        _, _, _, sd = self._tilted(ones, zeros, self._raised(sd))
        return _enough_nodes(sd)

    def log_divergence(self, ones: Wholes, zeros: Wholes, nodes: int | None = None) -> tuple[Reals, Reals]:
        """Lower and upper ends of log D for each dataset; at so many nodes, or as many as are enough for all of them."""
        nodes = self.nodes(ones, zeros) if nodes is None else nodes
        total = ones + zeros
        _, _, mean, sd = self._tilted(ones, zeros, np.full(len(ones), self.theta))
        center = np.clip(np.ceil(mean + 0.5), 0, total + 1).astype(np.int64)
        stride = np.maximum(1, np.minimum(2e-3 * sd, 0.2 / np.maximum(self.theta, 1e-9)).astype(np.int64))
        theta = self._raised(sd)
        low, high = self._enclose(ones, zeros, theta, center, stride, nodes)
        # D is unimodal in J: its maximum must not be at an end of the window, unless J can go no further
        points = center[:, None] + stride[:, None] * _WINDOW
        possible = (points >= 0) & (points <= total[:, None] + 1)
        low, high = np.where(possible, low, 0.0), np.where(possible, high, 0.0)
        best = low.max(axis=1)
        safe = ((high[:, 0] < best) | (points[:, 0] <= 0)) & ((high[:, -1] < best) | (points[:, -1] >= total + 1))
        upper = high.max(axis=1)
        # between points that are a stride apart D can exceed them by no more than its last step up, because above
        # the mode of N its steps shrink while they are positive
        overshoot = np.maximum(high[:, 1:] - low[:, :-1], 0.0) + high[:, 1:]
        above_mode = points[:, 0] > ones * self.q + zeros * self.r + 2
        upper = np.where(stride > 1, np.where(above_mode, overshoot.max(axis=1), np.inf), upper)
        upper = np.where(safe, upper, np.inf)
        scale, fuzz = self._scale(ones, zeros, theta, center)
        with np.errstate(divide="ignore"):
            return np.log(best) + scale - fuzz, np.log(upper) + scale + fuzz

    def _raised(self, sd: Reals) -> Reals:
        """The tilt, raised to 1 / sd where it is so small that copies of the tail would not fade."""
        return np.maximum(self.theta, np.minimum(1 / np.maximum(sd, 1.0), 1.0))

    def _scale(self, ones: Wholes, zeros: Wholes, theta: Reals, center: Wholes) -> tuple[Reals, Reals]:
        """log(M(theta) e^(-theta J)) and a bound on its error: all values are relative to it."""
        error = 64 * ULP * (1 + (ones + zeros + center) * theta)
        return self._log_m(ones, zeros, theta) - theta * center, error

    def _tilted(self, ones: Wholes, zeros: Wholes, theta: Reals) -> tuple[Reals, Reals, Reals, Reals]:
        growth = np.exp(theta)
        chance_if_1 = self.q * growth / (self.not_q + self.q * growth)
        chance_if_0 = self.r * growth / (self.not_r + self.r * growth)
        mean = ones * chance_if_1 + zeros * chance_if_0
        return (
            chance_if_1,
            chance_if_0,
            mean,
            np.sqrt(ones * chance_if_1 * (1 - chance_if_1) + zeros * chance_if_0 * (1 - chance_if_0)),
        )

    def _log_m(self, ones: Wholes, zeros: Wholes, theta: Reals) -> Reals:
        rise = np.expm1(theta)
        return np.asarray(ones * np.log1p(self.q * rise) + zeros * np.log1p(self.r * rise))

    def _enclose(
        self, ones: Wholes, zeros: Wholes, theta: Reals, center: Wholes, stride: Wholes, nodes: int
    ) -> tuple[Reals, Reals]:
        """Lower and upper ends of D at the points of the window, relative to M(theta) e^(-theta center)."""
        chance_if_1, chance_if_0, _, sd = self._tilted(ones, zeros, theta)
        period = _period(sd)
        h = 2 * np.pi / period
        k = np.arange(nodes)
        inside = k <= ((period - 1) / 2)[:, None]
        t = np.where(inside, h[:, None] * k, 0.0)
        less, sine = _less_and_sine(t)
        # real and imaginary parts apart: numpy's functions of real numbers take a tenth of the time of those of complex ones
        logs = [_log_turned(chance[:, None], less, sine) for chance in (chance_if_1, chance_if_0)]
        log_size, phase = (ones[:, None] * x + zeros[:, None] * y for x, y in zip(*logs, strict=True))
        size = np.where(inside, np.exp(log_size), 0.0) / period[:, None]
        size[:, 1:] *= 2
        # alpha e^z - (a - 1) / (1 - e^-z), with 1 - e^-z = u + i v
        growth = np.exp(theta)[:, None]
        alpha, rise = np.reshape(self.alpha, (-1, 1)), np.reshape(self.rise, (-1, 1))
        u, v = -np.expm1(-theta)[:, None] + less / growth, sine / growth
        square = u * u + v * v
        real = alpha * growth * (1 - less) - rise * u / square
        imaginary = alpha * growth * sine + rise * v / square
        lacks, up = _less_and_sine(phase - t * center[:, None])
        across, up = size * (1 - lacks), size * up
        real, imaginary = across * real - up * imaginary, across * imaginary + up * real
        value = _turned_sums(real, imaginary, t * stride[:, None]) * np.exp(-(theta * stride)[:, None] * _WINDOW)
        size *= alpha * growth + rise / np.sqrt(square)
        turns = (ones * chance_if_1 + zeros * chance_if_0 + center + 8 * stride + 1)[:, None] * t
        rounding = (size * (nodes + 64 * (1 + turns + np.abs(log_size) + np.abs(phase)))).sum(axis=1) * ULP
        last = np.minimum(h * nodes, np.pi)
        log_last = _log_modulus(ones, chance_if_1, last) + _log_modulus(zeros, chance_if_0, last)
        cap = self.alpha * np.exp(theta) + self.rise / -np.expm1(-theta)
        truncation = np.where(2 * nodes - 1 >= period, 0.0, np.exp(log_last) * cap)
        grow = np.exp(-(theta * stride)[:, None] * _WINDOW)
        slack = (rounding + truncation)[:, None] * grow + self._aliases(ones, zeros, theta, center, stride, period)[
            :, None
        ]
        slack *= 1 + 1e-9
        return np.maximum(value - slack, 0.0), np.maximum(value + slack, 0.0)

    def _aliases(
        self, ones: Wholes, zeros: Wholes, theta: Reals, center: Wholes, stride: Wholes, period: Reals
    ) -> Reals:
        """Chernoff bounds on the copies of pmf and tail, a period apart, that the sampling folds in."""
        base = self._log_m(ones, zeros, theta)
        _, _, _, sd = self._tilted(ones, zeros, theta)
        total = np.zeros(len(ones))
        for room in (-0.97 * theta, np.full(len(theta), 20.0)):  # to smaller tilts, and to larger ones
            shift = np.sign(room) * np.minimum(_PACES / np.maximum(sd, 0.1), np.abs(room))
            other, gap = theta + shift, np.abs(shift) * period
            log_copy = self._log_m(ones, zeros, other) - base - shift * center - gap
            log_copy += other * (4 * stride + 1) + 1e-9 * (1 + np.abs(base))
            total += (np.exp(np.minimum(log_copy, 300.0)) / -np.expm1(-gap)).min(axis=0)
        return total * (self.alpha + self.rise) * (1 + 1e-9)


def _period(sd: Reals) -> Reals:
    """An odd number of nodes around the circle: the sum over all of them is exact but for the copies."""
    return np.asarray(2 * np.ceil(np.maximum(_PERIOD * sd, 40.0) / 2) + 1)


def _enough_nodes(sd: Reals) -> int:
    """So many that they go far enough out whichever of these is the standard deviation of N."""
    period = _period(sd)
    wanted = np.ceil(_CUT / np.maximum(sd, 1e-9) / (2 * np.pi / period))
    return int(np.minimum(wanted, (period - 1) / 2).max()) + 1


def _less_and_sine(angle: Reals) -> tuple[Reals, Reals]:
    """1 - cos and sin of angles, from the tangents of half of them: numpy has these in a tenth of the time."""
    half = np.tan(angle / 2)
    square = half * half
    share = 2 / (1 + square)
    return square * share, half * share


def _log_turned(chance: Reals, less: Reals, sine: Reals) -> tuple[Reals, Reals]:
    """Real and imaginary part of log(1 - c + c e^(it)), from 1 - cos t and sin t."""
    real, imaginary = -chance * less, chance * sine
    square_less_1 = np.maximum(2 * real + real * real + imaginary * imaginary, -1 + 1e-15)
    return 0.5 * np.log1p(square_less_1), np.arctan2(imaginary, 1 + real)


def _turned_sums(real: Reals, imaginary: Reals, angle: Reals) -> Reals:
    """The real parts of the sums over nodes of (real + i imaginary) e^(-i w angle), one column for each w of the window."""
    less, sine = _less_and_sine(angle)
    cosine = 1 - less
    sums = np.empty((len(real), len(_WINDOW)))
    half = len(_WINDOW) // 2
    sums[:, half] = real.sum(axis=1)
    c, s = cosine, sine
    for w in range(1, half + 1):
        even, odd = np.einsum("ij,ij->i", real, c), np.einsum("ij,ij->i", imaginary, s)
        sums[:, half + w], sums[:, half - w] = even + odd, even - odd
        c, s = c * cosine - s * sine, s * cosine + c * sine
    return sums


def _log_modulus(count: Wholes, chance: Reals, t: Reals) -> Reals:
    """Count log |1 - c + c e^(it)|, rounded up a little."""
    inner = np.maximum(-4 * chance * (1 - chance) * np.sin(t / 2) ** 2, -1 + 1e-15)
    return np.asarray(0.5 * count * np.log1p(inner) * (1 - 1e-12))
