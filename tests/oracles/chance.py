"""Whether chance explains what was found: p-values of means and of mean squares, to be compared with 1e-9."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

SIGNIFICANCE = 1e-9
Reals = NDArray[np.float64]


def p_mean(errors: Reals) -> float:
    """Whether errors, one run per row, have mean 0, by their own spread: the smallest p-value of all entries."""
    spread = np.maximum(errors.std(axis=0), 1e-300) / math.sqrt(len(errors))
    return float(np.min(2 * norm.sf(np.abs(errors.mean(axis=0)) / spread)))


def p_variance(errors: Reals, variance: Reals | float) -> float:
    """Whether their squares have that mean, by the squares' own spread."""
    squares = np.square(errors)
    spread = np.maximum(squares.std(axis=0), 1e-300) / math.sqrt(len(errors))
    return float(np.min(2 * norm.sf(np.abs(squares.mean(axis=0) - variance) / spread)))
