"""Lemma 5.3 itself, computed: the tightest upper bound that the blanket gives."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import arb, ctx

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
from shuffledp.arithmetic.balls import evaluate
from shuffledp.arithmetic.enclosure import Enclosure
from shuffledp.arithmetic.positive_part import ErrorLedger, Expectation, log_expected_positive_part
from shuffledp.arithmetic.summand_law import ULP, Summands, expected
from shuffledp.arithmetic.tilt import chernoff, chernoff_many
from shuffledp.core.blanket import Blanket
from shuffledp.core.pair import Pair, doubles
from shuffledp.references import cite

_ROUGH = 40 * TOLERANCE
LARGEST_LOG_RATIO = 170.0
LARGEST_RATIO = math.exp(LARGEST_LOG_RATIO)
_STRIDE = 4
"""The coarse search for a measure looks at every fourth one."""
_FLAT = 1e-4
"""Log deltas that differ by no more than this are not worth a finer search."""


@dataclass(frozen=True, slots=True)
class Numeric:
    """delta <= (1/n) E[(l_1 + ... + l_n)_+] + uncovered, for the worst pair of inputs.

    Where dummies hide the messages, n is a Poisson number and eta the law of a dummy: then that is the divergence itself.
    Legend: l = (mu_x - e^epsilon mu_x') / eta with probability eta(y), else 0; eta = gamma omega.
    Regime: a randomizer whose law is known.
    Reference: BBGN19, Lemma 5.3; docs/maths/numeric.md for what is computed.
    Rounding: every step up.
    """

    name: str = "numeric"
    kind: BoundKind = "numeric"
    reference: str = cite("BBGN19", "Lemma 5.3") + ", evaluated"

    def claim(self, blanket: Blanket, *, n: int, epsilon: float, side: Side = "both") -> Claim:
        """An upper end, by the worst pair of inputs and the best measure for it."""
        if side == "lower":
            return Claim(log_delta=NOTHING)
        if is_local_guarantee(blanket, epsilon):
            return CERTAINLY_PRIVATE
        pairs = blanket.pairs()
        if not pairs:
            return outside(f"the law of {blanket.label} is not known. Use the generic bound.")
        refusal = out_of_range(pairs, epsilon)
        if refusal is not None:
            return refusal
        log_delta, ledger = worst_pair(pairs, blanket.summands(n), epsilon)
        return upper_claim(_and_also(log_delta, blanket.shortfall(n, epsilon)), ledger, name=self.name)


@dataclass(frozen=True, slots=True)
class GenericBound:
    """delta <= (1/n) E[(l_1 + ... + l_n)_+] for every epsilon0-LDP randomizer.

    Formula: l = p - a and l = 1 - p a with probability r = 1 / (p + 1) each, else 0; a = e^epsilon, p = e^eps0.
    This law is the largest in convex order over all pairs of all such randomizers (docs/maths/generic.md).
    Regime: a finite epsilon0.
    Reference: the clones of FMT21, with the parameters of WCLZ24.
    Rounding: every step up.
    """

    name: str = "generic"
    kind: BoundKind = "numeric"
    reference: str = f"{cite('FMT21', 'clones')} and {cite('WCLZ24', 'variation ratio')}, evaluated"

    def claim(self, blanket: Blanket, *, n: int, epsilon: float, side: Side = "both") -> Claim:
        """An upper end for any randomizer with this epsilon0."""
        if side == "lower":
            return Claim(log_delta=NOTHING)
        if blanket.epsilon0() is None:
            return outside("the generic bound needs a pure epsilon0-LDP randomizer, and this one has no epsilon0.")
        if is_local_guarantee(blanket, epsilon):
            return CERTAINLY_PRIVATE
        pairs = [[three_atoms(blanket)]]
        return out_of_range(pairs, epsilon) or upper_claim(*worst_pair(pairs, n, epsilon), name=self.name)


def three_atoms(blanket: Blanket) -> Pair:
    """The pair that is worst for some epsilon0-LDP randomizer; a larger epsilon0 is only worse."""
    epsilon0 = evaluate(lambda: blanket.epsilon0() or arb(0)).upper
    with ctx.workprec(128):
        gain = arb(epsilon0).expm1()
        mass = 1 / (gain + 2)
        return Pair(doubles([gain, -gain]), doubles([arb(1), 1 + gain]), doubles([mass, mass]))


def out_of_range(pairs: Sequence[Sequence[Pair]], epsilon: float) -> Claim | None:
    """No claim where e^epsilon or a likelihood ratio would overflow a double when squared."""
    if epsilon <= LARGEST_LOG_RATIO and all(options[0].largest_ratio <= LARGEST_RATIO for options in pairs):
        return None
    return outside(
        "likelihood ratios above e^170 are beyond the numeric bounds. Only the local guarantee can be claimed."
    )


def worst_pair(pairs: Sequence[Sequence[Pair]], n: Summands, epsilon: float) -> tuple[float, ErrorLedger]:
    """An upper end of log delta over all pairs, each with its best measure; a pair that cannot win is not evaluated.

    More users never hide one less: what holds for a user alone holds among n.
    """
    alone = [_alone(options, epsilon) if isinstance(n, int) else math.inf for options in pairs]
    if len(pairs) == 1:
        log_delta, ledger = _best_measure(pairs[0], n, epsilon)
        return min(log_delta, alone[0]), ledger
    ceilings = chernoff_many([options[0].law(epsilon) for options in pairs], n).tolist()
    ranked = sorted(
        (
            (min(_with_uncovered(c, options[0], n, epsilon), alone[i]), i)
            for i, (c, options) in enumerate(zip(ceilings, pairs, strict=True))
        ),
        reverse=True,
    )
    worst, ledger = -math.inf, ErrorLedger()
    for ceiling, index in ranked:
        if ceiling <= worst:
            break
        if worst > -math.inf and len(pairs[index]) == 1 and _upper(pairs[index][0], n, epsilon, _ROUGH)[0] <= worst:
            continue
        log_delta, its_ledger = _best_measure(pairs[index], n, epsilon)
        if min(log_delta, alone[index]) > worst:
            worst, ledger = min(log_delta, alone[index]), its_ledger
    return worst, ledger


def _alone(options: Sequence[Pair], epsilon: float) -> float:
    """The log delta of somebody with no others at all: E[l_+] and what is uncovered, rounded up.

    It is the same for every measure but for what that leaves uncovered, which is least at one end of the list.
    """
    return min(_of_one(pair, epsilon) for pair in {id(pair): pair for pair in (options[0], options[-1])}.values())


def _of_one(pair: Pair, epsilon: float) -> float:
    law = pair.law(epsilon)
    positive = np.maximum(law.values + law.ulps * ULP * law.scales, 0.0)
    total = math.fsum((positive * law.masses).tolist()) * (1 + (law.ulps + 8) * ULP) + pair.uncovered_up(epsilon)
    total = total * (1 + 4 * ULP) + (1 + len(law.masses)) * math.ulp(0.0)  # what underflowed
    return math.log(total) + 4 * ULP * (1 + abs(math.log(total)))


def _best_measure(options: Sequence[Pair], n: Summands, epsilon: float) -> tuple[float, ErrorLedger]:
    """The smallest bound that one of the measures gives, which are in an order: a coarse search by Chernoff, then a fine one.

    Any of them is valid, so nothing is lost but tightness if the search goes astray.
    """
    low, high = 0, (len(options) - 1) // _STRIDE
    while low < high:
        middle = (low + high) // 2
        if _ceiling(options[_STRIDE * middle], n, epsilon) <= _ceiling(options[_STRIDE * (middle + 1)], n, epsilon):
            high = middle
        else:
            low = middle + 1
    best, stride, evaluated = _STRIDE * low, _STRIDE, dict[int, tuple[float, ErrorLedger]]()

    def height(index: int) -> float:
        if index not in evaluated:
            outside = not 0 <= index < len(options)
            evaluated[index] = (math.inf, ErrorLedger()) if outside else _upper(options[index], n, epsilon)
        return evaluated[index][0]

    while stride and len(options) > 1:
        rise = height(best + stride) - height(best)
        if abs(rise) < _FLAT:
            break  # what is cut off no longer matters
        if rise < 0:
            best += stride
        elif height(best - stride) < height(best):
            best -= stride
        else:
            stride //= 2
    height(best)
    return evaluated[best]


def _upper(pair: Pair, n: Summands, epsilon: float, tolerance: float = TOLERANCE) -> tuple[float, ErrorLedger]:
    expectation: Expectation = log_expected_positive_part(pair.law(epsilon), n, tolerance=tolerance)
    return _with_uncovered(expectation.log.upper, pair, n, epsilon), expectation.ledger


def _ceiling(pair: Pair, n: Summands, epsilon: float) -> float:
    """A quick upper bound, by Chernoff."""
    return _with_uncovered(chernoff(pair.law(epsilon), n), pair, n, epsilon)


def _with_uncovered(log_expectation: float, pair: Pair, n: Summands, epsilon: float) -> float:
    log_n = math.log(expected(n))
    log_delta = log_expectation - log_n
    log_delta += 4 * ULP * (abs(log_delta) + abs(log_n)) if math.isfinite(log_delta) else 0.0
    return _and_also(log_delta, pair.uncovered_up(epsilon))


def _and_also(log_delta: float, more: float) -> float:
    """The logarithm of the sum, rounded up."""
    if more == 0:
        return log_delta
    total = float(np.logaddexp(log_delta, math.log(more)))
    return total + 8 * ULP * (1 + abs(total) + abs(math.log(more)))


def upper_claim(log_delta: float, ledger: ErrorLedger, *, name: str) -> Claim:
    """An upper bound on delta; one that reaches 1 says nothing."""
    if not log_delta < 0:
        return outside("the bound exceeds delta = 1 here and so says nothing. Use more users or a larger epsilon.")
    return Claim(log_delta=Enclosure(-math.inf, log_delta), upper_by=name, ledger=ledger)
