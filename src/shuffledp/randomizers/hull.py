"""Which inputs of a channel are mixtures of others: what holds for the others holds for them.

A view is linear in the law of each user and a divergence is convex in a pair of views, so the worst datasets hold only
inputs whose laws are corners of the hull of all laws. An input is left out only if its weights are found as exact fractions.
"""

from typing import Final

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

Rows = tuple[tuple[fmpq, ...], ...]
_MOST_ROWS: Final = 64
"""Of more distinct inputs than these, none is looked at."""
_CLOSE: Final = 1e-10
"""Distance of a law from the hull of others, in float64, that is worth an exact look."""


def corners(rows: Rows) -> Rows:
    """The rows without copies of others and without exact mixtures of others.

    >>> half = (fmpq(1, 2), fmpq(1, 2))
    >>> len(corners(((fmpq(1), fmpq(0)), half, (fmpq(0), fmpq(1)), half)))
    2
    """
    left = list(dict.fromkeys(rows))
    if len(left) > _MOST_ROWS:
        return tuple(left)
    for row in list(left):
        others = [other for other in left if other is not row]
        if len(others) > 1 and _is_mixture(row, others):
            left = others
    return tuple(left)


def _is_mixture(row: tuple[fmpq, ...], others: list[tuple[fmpq, ...]]) -> bool:
    """Whether the row is certainly a mixture of the others."""
    table = np.array([[float(entry) for entry in other] for other in others])
    aim = np.array([float(entry) for entry in row])
    if (aim > table.max(axis=0) + _CLOSE).any() or (aim < table.min(axis=0) - _CLOSE).any():
        return False
    used = _nearest(table.T, aim)
    return bool(used) and _has_weights(row, [others[i] for i in used])


def _nearest(table: NDArray[np.float64], aim: NDArray[np.float64]) -> list[int]:
    """Columns that the nearest non-negative combination uses (Lawson and Hanson); none if it is not near."""
    used: list[int] = []
    weights = np.zeros(table.shape[1])
    for _ in range(3 * table.shape[1]):
        slope = table.T @ (aim - table @ weights)
        slope[used] = -np.inf
        if np.abs(aim - table @ weights).max() < _CLOSE:
            return used
        if not slope.max() > 1e-14:
            return []
        used.append(int(slope.argmax()))
        while used:
            found = np.linalg.lstsq(table[:, used], aim, rcond=None)[0]
            if (found > 0).all():
                weights[:] = 0.0
                weights[used] = found
                break
            old = weights[used]
            bad = found <= 0
            weights[used] = old + (found - old) * float((old[bad] / (old[bad] - found[bad] + 1e-300)).min())
            used = [i for i in used if weights[i] > 1e-13]
    return []


def _has_weights(row: tuple[fmpq, ...], others: list[tuple[fmpq, ...]]) -> bool:
    """Whether exact weights, none negative, give the row; they sum to 1 because all rows do."""
    width = len(others)
    system = fmpq_mat(len(row), width + 1, [e for y in range(len(row)) for e in (*(o[y] for o in others), row[y])])
    reduced, rank = system.rref()
    if rank != width or any(reduced[i, i] != 1 for i in range(width)):
        return False  # the weights are not unique, or there are none
    return all(reduced[i, width] >= 0 for i in range(width))
