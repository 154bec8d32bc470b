"""Where a privacy curve is evaluated before it is composed: from 0 to where it is negligible, on grids that fit together."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from shuffledp.arithmetic.balls import round_up
from shuffledp.arithmetic.inversion import first_real
from shuffledp.core.blanket import Blanket
from shuffledp.errors import NoClaim

DEEPEST: Final = 4
"""Each depth doubles the bits of the cut, for deltas that are smaller still: down to 2^-896."""
_CUT_BITS: Final = 56
"""At first a curve is cut off where it is below 2^-56; what is left is charged as outright failure in every round."""
_BITS_BEYOND: Final = 72
"""Of masses, beyond those of the cut."""
_SPARE_BITS: Final = 16
"""What a convolution may cut off is so many bits below the cut."""
NODES: Final = 120
"""Points of a curve up to where it is cut off at first, and again beyond it for deeper cuts."""
_STEPS_PER_NODE: Final = 4
"""At least so many: nodes are on a grid of a power of two, so that all grids fit together, and still almost evenly spaced."""
_MOST_LEFT: Final = 1e-3
"""If delta never becomes negligible: the most that may be left where it stops falling. More would leave nothing to claim."""
_FALLING: Final = 0.9
"""Delta still falls if twice the epsilon makes it smaller by this factor."""
_REACH_PRECISION: Final = 0.065
"""Relative precision of where a curve is cut off."""
_NEAREST, _FARTHEST = 1e-12, 300.0
"""Where a curve may be cut off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LossGrid:
    """Points of a curve, and how masses are rounded.

    Attributes:
        points: in steps; 0 first.
        step: a power of two.
        bits: masses are multiples of 2^-bits.
        spare: what a convolution may cut off at either end, in these units.
    """

    points: tuple[int, ...]
    step: float
    bits: int
    spare: int

    @property
    def epsilons(self) -> list[float]:
        """Where the curve is evaluated, in units of epsilon."""
        return [k * self.step for k in self.points]


def negligible(depth: int) -> float:
    """Where a curve is cut off at this depth."""
    return 2.0 ** -(_CUT_BITS << depth)


def loss_grid(
    delta_up: Callable[[float], float], depth: int, *, guess: float, end: float = math.inf, nodes: int = NODES
) -> LossGrid:
    """About so many points for this curve, which is nothing from `end` on."""
    near = min(end, reach(delta_up, 0, guess))
    far = near if depth == 0 else max(near, min(end, reach(delta_up, depth, near)))
    step = 2.0 ** math.floor(math.log2(near / (nodes * _STEPS_PER_NODE)))
    points = _nodes(near, step, nodes)
    if far > near:
        points += [points[-1] + k for k in _nodes(far - near, step, nodes)[1:]]
    return LossGrid(
        points=tuple(points), step=step, bits=(_CUT_BITS << depth) + _BITS_BEYOND,
        spare=1 << (_BITS_BEYOND - _SPARE_BITS),
    )  # fmt: skip


def local_end(blanket: Blanket) -> float:
    """From where on one round's curve is nothing: epsilon0, if there is one."""
    epsilon0 = blanket.epsilon0()
    return (0.0 if epsilon0 is None else round_up(epsilon0)) or math.inf


def reach(delta_up: Callable[[float], float], depth: int, guess: float) -> float:
    """An epsilon at which delta is negligible, or falls no further; not much larger than the least such."""
    little, high = negligible(depth), max(_NEAREST, min(guess, _FARTHEST) / 3)
    while high > _NEAREST and delta_up(high) <= little:
        high /= 4
    least, at = 1.0, high
    while (delta := delta_up(high)) > little:
        if delta < _FALLING * least:
            least, at = delta, high
        high *= 2
        if high > _FARTHEST:
            if least > _MOST_LEFT:
                raise NoClaim("no epsilon up to 300 makes one round's delta negligible. Add users or local noise.")
            return at
    return first_real(lambda e: delta_up(e) <= little, high / 2, high, precision=_REACH_PRECISION)


def _nodes(reach: float, step: float, nodes: int) -> list[int]:
    """Multiples of a step, 0 first, almost evenly spaced, the last one at or beyond the reach."""
    last = math.ceil(reach / step)
    count = min(nodes, last)
    return sorted({round(k * last / count) for k in range(count + 1)})
