"""Sums of codewords that are nearest of many uniform points, drawn by their law and not by comparing any."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from shuffledp.arithmetic.largest_product import coordinate, largest_product
from shuffledp.randomizers.codebook_response import CodebookResponse

Reals = NDArray[np.float64]
_AT_ONCE: Final = 1 << 22
"""Numbers that are drawn at once."""
_PANELS: Final = 200
"""Parts of forty nodes each, between which a distribution function is taken to be straight."""


def simulated_sums(
    randomizer: CodebookResponse, point: Reals, messages: int, generator: np.random.Generator, runs: int, *, many: int
) -> Reals:
    """The first entries of the sum of the codewords of so many messages about a point of the unit ball, one run per row."""
    d = randomizer.dimension
    lifted = np.append(point, np.sqrt(max(0.0, 1 - float(point @ point))))
    found = np.zeros((runs, d))
    if messages > many:
        return _normal(randomizer, lifted, messages, generator, runs)
    each = max(1, _AT_ONCE // max(1, messages * (d + 1)))
    for start in range(0, runs, each):
        some = min(each, runs - start)
        rows = generator.standard_normal((some * messages, d + 1))
        truth = generator.random(len(rows)) >= randomizer.gamma_as_run
        rows[truth] -= np.outer(rows[truth] @ lifted, lifted)  # what is across is uniform
        rows /= np.linalg.norm(rows, axis=1)[:, None]
        along = _largest(d + 1, randomizer.size, generator.random(int(truth.sum())))[:, None]
        rows[truth] = along * lifted + np.sqrt(1 - along**2) * rows[truth]
        found[start : start + some] = rows.reshape(some, messages, d + 1)[:, :, :d].sum(axis=1)
    return found


def _normal(
    randomizer: CodebookResponse, lifted: Reals, messages: int, generator: np.random.Generator, runs: int
) -> Reals:
    """Normal sums with the exact mean and covariance: a part along the point, and one that is even across it."""
    d, g = randomizer.dimension, randomizer.gamma_as_run
    m, q = largest_product(d + 1, randomizer.size)
    gain, second = (1 - g) * m, (1 - g) * q + g / (d + 1)
    across = (1 - second) / d
    drawn = generator.standard_normal((runs, d + 1)) * np.sqrt(messages * across)
    drawn -= np.outer(drawn @ lifted, lifted)
    along = messages * gain + np.sqrt(messages * max(0.0, second - gain**2)) * generator.standard_normal(runs)
    return np.asarray((drawn + np.outer(along, lifted))[:, :d])


def _largest(dimension: int, size: int, chances: Reals) -> Reals:
    """The largest inner product at these points of its distribution F^size: 1 - F is -expm1(log(chance) / size)."""
    law = coordinate(dimension, _PANELS)
    with np.errstate(divide="ignore"):
        return np.interp(-np.log(-np.expm1(np.log(chances) / size)), -np.log(law.tails), law.values)
