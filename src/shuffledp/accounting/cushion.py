"""Crowds of any composition, for a randomizer of few inputs: close to what the worst homogeneous crowd shows.

The blanket bound counts of each of the others only what all inputs have in common. Here most of the others (the crowd) count
with their own law. The price is a cushion: a few users, of whom only the blanket is used, who hide which member of the crowd the
user who changes has displaced. The crowd is cut into blocks of users with equal inputs, and each block is replaced by one law
that is above every block in convex order (docs/maths/cushion.md).
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from shuffledp.accounting.bound import (
    CERTAINLY_PRIVATE,
    NOTHING,
    TOLERANCE,
    BoundKind,
    Claim,
    Side,
    is_local_guarantee,
    outside,
)
from shuffledp.accounting.numeric import out_of_range, upper_claim
from shuffledp.arithmetic.balls import evaluate
from shuffledp.arithmetic.blocks import largest_block
from shuffledp.arithmetic.positive_part import ErrorLedger, log_expected_positive_part
from shuffledp.arithmetic.summand_law import ULP, Law, Reals
from shuffledp.core.blanket import Blanket
from shuffledp.core.pair import Pair
from shuffledp.references import cite

_FEWEST: Final = 1000
"""Users below which it never wins."""
_LARGEST_BLOCK: Final = 8192
_SHARES: Final = np.geomspace(1e-6, 0.6, 60)
"""Of all users, those who may be left for the cushion."""
_TILTS: Final = np.array([0.6, 0.8, 1.0, 1.3, 1.8])
"""Around the saddle point of the normal approximation."""
_STEEPEST: Final = 600.0
"""Largest theta x: e^600 is a double."""
_LIKELY: Final = 1 / 3
"""The part of the forecast loss that is lost at least: the forecast is a cautious one."""
_ENOUGH: Final = 1e-5
"""Several pairs of inputs are not told apart for less than this of delta."""
_TOO_FEW: Final = "there are too few users for a crowd and a cushion. Use the numeric bound."


@dataclass(frozen=True, slots=True, kw_only=True)
class Cushion:
    """delta <= (e^rho / n') E[(sum over the crowd of l_i + kappa |l_i|)_+] + P(fewer than M in the cushion).

    Legend: l = (mu_x - e^epsilon mu_x') / mu_z of a user who holds z, under mu_z; n' users in the crowd, the rest in the cushion;
    rho = e^eps0 / M, kappa = e^rho (3 rho^2 e^(2 rho) + (e^eps0 / n') (e^(2 rho) - 1)).
    Regime: few inputs, all of which can send every message, and users enough for a gain.
    Reference: docs/maths/cushion.md; BBGN19, Lemma A.1 and Lemma A.2 (what may be revealed).
    Rounding: every step up.
    """

    name: str = "cushion"
    kind: BoundKind = "numeric"
    reference: str = cite("BBGN19", "Lemma A.2") + " and a cushion for mixed crowds"

    def claim(self, blanket: Blanket, *, n: int, epsilon: float, side: Side = "both") -> Claim:
        """An upper end, or none where the crowd is too small for it."""
        if side == "lower":
            return Claim(log_delta=NOTHING)
        if is_local_guarantee(blanket, epsilon):
            return CERTAINLY_PRIVATE
        crowds = blanket.crowds()
        if not crowds:
            return outside(
                f"this bound needs few inputs, each of which can send every message, and this is {blanket.label}."
            )
        refusal = out_of_range(crowds, epsilon)
        if refusal is not None:
            return refusal
        split, _ = _best_split(_profile(blanket), n, epsilon)
        if split is None:
            return outside(_TOO_FEW)
        return upper_claim(*_worst(blanket, split, epsilon), name=self.name)

    def promises(self, blanket: Blanket, *, n: int, epsilon: float) -> bool:
        """Whether it is worth evaluating: it is likely to be below the numeric bound."""
        if n < _FEWEST or not blanket.crowds() or out_of_range(blanket.crowds(), epsilon) is not None:
            return False
        profile = _profile(blanket)
        split, lost = _best_split(profile, n, epsilon)
        return split is not None and profile.chi * (1 + _LIKELY * lost) < profile.blanket_chi


@dataclass(frozen=True, slots=True, kw_only=True)
class _Profile:
    """What decides how a crowd is split; the first two also enter the claim.

    Attributes:
        ratio: e^eps0, rounded up.
        gamma: rounded down.
        inputs: how many the others may hold.
        chi: the largest standard deviation of l at epsilon = 0, its skewness and its mean size.
        blanket_chi: the same deviation relative to the blanket.
    """

    ratio: float
    gamma: float
    inputs: int
    chi: float
    skew: float
    size: float
    blanket_chi: float


@lru_cache(maxsize=16)
def _profile(blanket: Blanket) -> _Profile:
    epsilon0, crowds = blanket.epsilon0(), blanket.crowds()
    chi, skew, size = max(_shape(pair) for laws in crowds for pair in laws)
    return _Profile(
        ratio=math.inf if epsilon0 is None else evaluate(lambda: (blanket.epsilon0() or epsilon0).exp()).upper,
        gamma=max(0.0, evaluate(blanket.gamma).lower),
        inputs=len(crowds[0]),
        chi=chi,
        skew=skew,
        size=size,
        blanket_chi=math.sqrt(max(options[0].spread for options in blanket.pairs())),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Split:
    """So many blocks of so many users, and what the cushion costs.

    Attributes:
        blocks: how many.
        size: users in each.
        log_factor: rho.
        excess: kappa.
        log_failure: the logarithm of the probability that the cushion is thinner than that.
    """

    blocks: int
    size: int
    log_factor: float
    excess: float
    log_failure: float

    @property
    def crowd(self) -> int:
        """Users in all blocks."""
        return self.blocks * self.size


def _split(profile: _Profile, n: int, left: int, log_failure: float) -> _Split | None:
    """The crowd and the cushion if at least `left` of the other users are left for the cushion.

    With that many left, all blocks can have users of one input: fewer than `size` users of each input fill no block.
    """
    size = max(1, min(_LARGEST_BLOCK, left // profile.inputs + 1))
    blocks = (n - 1 - left) // size
    if blocks < 1:
        return None
    cushion = n - 1 - blocks * size
    mean = profile.gamma * cushion * (1 - 4 * ULP)
    draws = math.floor(mean - math.sqrt(2 * mean * -log_failure) * (1 + 8 * ULP) - 1e-9 * mean)
    if draws < 1 or profile.ratio > draws:
        return None
    rho = profile.ratio / draws * (1 + 4 * ULP)
    rise = math.expm1(2 * rho)
    excess = math.exp(rho) * (3 * rho * rho * (1 + rise) + profile.ratio / (blocks * size) * rise) * (1 + 32 * ULP)
    return _Split(blocks=blocks, size=size, log_factor=rho, excess=excess, log_failure=log_failure)


def _best_split(profile: _Profile, n: int, epsilon: float) -> tuple[_Split | None, float]:
    """The split that promises the smallest epsilon, and how much of epsilon it loses.

    Nothing depends on how good the promise is: normal approximations are enough.
    """
    drift = max(math.expm1(epsilon), 0.5 * profile.chi / math.sqrt(n))
    deviations = drift * math.sqrt(n) / profile.chi
    log_failure = -deviations * deviations / 2 - math.log(n) - 12
    best, least = None, math.inf
    for share in _SHARES.tolist():
        split = _split(profile, n, math.ceil(share * n), log_failure)
        if split is not None:
            lost = 0.5 * (1 - split.crowd / n) + 0.133 * profile.skew / math.sqrt(split.size)
            lost += split.excess * profile.size / drift + split.log_factor / max(1.0, deviations**2)
            if lost < least:
                best, least = split, lost
    return best, least


def _shape(pair: Pair) -> tuple[float, float, float]:
    """Standard deviation, skewness and mean size of l at epsilon = 0."""
    with np.errstate(over="ignore", invalid="ignore"):
        deviation = math.sqrt(pair.spread)
        third = float(pair.masses @ np.abs(pair.difference) ** 3)
        return deviation, third / max(deviation**3, 1e-300), float(pair.masses @ np.abs(pair.difference))


class _Crowd:
    """One pair of inputs at some epsilon: l + kappa |l| for each input that the others may hold, by rows."""

    def __init__(self, laws: "_Stack", excess: float, epsilon: float) -> None:
        loss = laws.second * math.expm1(epsilon)
        values = laws.difference - loss
        self.values = values * np.where(values > 0, 1 + excess, 1 - excess)
        self.masses, self.scales = laws.masses, (np.abs(laws.difference) + loss) * (1 + excess)
        self.ulps = laws.ulps + 6

    def laws(self) -> list[Law]:
        """The law of l + kappa |l| for each input that the others may hold."""
        return [Law(v, p, s, self.ulps) for v, p, s in zip(self.values, self.masses, self.scales, strict=True)]

    def ceiling(self, n: int) -> float:
        """Chernoff's bound on log E[S_+] for a sum of n summands, each of any one of the laws.

        s_+ <= e^(theta s) / (e theta), and E[e^(theta S)] is largest if all summands have the law with the largest moment.
        """
        x, p, scale = self.values, self.masses, float(self.scales.max())
        drift, square = -float((p * x).sum(axis=1).max()), float((p * x * x).sum(axis=1).max())
        saddle = max(drift / square, 0.3 / math.sqrt(n * square))
        best = math.inf
        for theta in (saddle * _TILTS).tolist():
            if theta * scale < _STEEPEST:
                moment = float((p * np.exp(theta * x)).sum(axis=1).max())
                slack = 4 * ULP * (8 + self.ulps + x.shape[1]) * (1 + theta * scale)
                best = min(best, n * (math.log(moment) + slack) - 1 - math.log(theta))
        return best + 16 * ULP * (1 + abs(best))


@dataclass(frozen=True, slots=True)
class _Stack:
    """The laws of one pair of inputs, one row for each input that the others may hold."""

    difference: Reals
    second: Reals
    masses: Reals
    ulps: float


@lru_cache(maxsize=16)
def _stacks(blanket: Blanket) -> list[_Stack]:
    return [
        _Stack(
            np.array([pair.difference for pair in pairs]),
            np.array([pair.second for pair in pairs]),
            np.array([pair.masses for pair in pairs]),
            max(pair.ulps for pair in pairs),
        )
        for pairs in blanket.crowds()
    ]


def _worst(blanket: Blanket, split: _Split, epsilon: float) -> tuple[float, ErrorLedger]:
    """An upper end of log delta over all pairs of inputs.

    The most promising pair first. Those whose Chernoff bound is not below it are then evaluated together: a block may be
    replaced by a law that is above it for every pair. Where that is too much for them, it is for each half of them alone.
    """
    crowds = [_Crowd(laws, split.excess, epsilon) for laws in _stacks(blanket)]
    ceilings = [crowd.ceiling(split.crowd) for crowd in crowds]
    first, *others = sorted(range(len(crowds)), key=ceilings.__getitem__, reverse=True)
    worst, ledger = _evaluated([crowds[first]], split, ceilings[first])
    groups = [others]
    while groups:
        group = [i for i in groups.pop() if ceilings[i] > worst]
        if not group:
            continue
        log_expectation, its_ledger = _evaluated([crowds[i] for i in group], split, ceilings[group[0]])
        if log_expectation > worst + _ENOUGH and len(group) > 1:
            half = (len(group) + 1) // 2
            groups += [group[half:], group[:half]]
        elif log_expectation > worst:
            worst, ledger = log_expectation, its_ledger
    log_delta = worst + split.log_factor - math.log(split.crowd)
    log_delta = float(np.logaddexp(log_delta, split.log_failure))
    return log_delta + 32 * ULP * (1 + abs(log_delta) + abs(worst) + abs(split.log_failure)), ledger


def _evaluated(crowds: list[_Crowd], split: _Split, ceiling: float) -> tuple[float, ErrorLedger]:
    """Log E[(...)_+] for the worst of some pairs of inputs, at most their ceiling."""
    block = largest_block([law for crowd in crowds for law in crowd.laws()], split.size)
    expectation = log_expected_positive_part(block.law, split.blocks, tolerance=TOLERANCE)
    lacking = math.log(block.shortfall) + math.log(split.blocks)
    return min(ceiling, float(np.logaddexp(expectation.log.upper, lacking))), expectation.ledger
