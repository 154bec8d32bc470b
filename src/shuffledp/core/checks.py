"""Numbers within their limits, checked once, at construction: one sentence of fact, one of remedy."""

import contextlib
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.scalars import Side
from shuffledp.core.scalars import real as real
from shuffledp.core.scalars import settle as settle
from shuffledp.core.scalars import whole as whole
from shuffledp.errors import InvalidInput

LARGEST_N = 10**18
LARGEST_EPSILON = 700.0
"""e^700 is near the largest double; nothing beyond it deserves the word privacy."""
_NO_NUMBERS = "cmM"
"""Complex numbers, lengths of time and dates: numpy makes numbers of them by leaving something out."""


def users(n: Any) -> int:
    """A number of users: an integer from 1 to 10^18."""
    count = whole(n, "n", "Give the number of users, e.g. 1000.")
    if not 1 <= count <= LARGEST_N:
        raise InvalidInput(f"n must be from 1 to 1e18; got {count}. Give the number of users, e.g. 1000.")
    return count


def size(value: Any, *, name: str = "size") -> int:
    """A number of symbols: an integer from 2 to 2^32."""
    count = whole(value, name, "Use at least 2.")
    if not 2 <= count <= 2**32:
        remedy = "Use at least 2." if count < 2 else "Ask about texts instead: they are hashed to fewer points."
        raise InvalidInput(f"{name} must be a whole number from 2 to 2^32; got {count}. {remedy}")
    return count


def probability(value: Any, name: str, usual: str = "1e-6", side: Side = "down") -> float:
    """A number strictly between 0 and 1."""
    number = real(value, name, side)
    if not 0 < number < 1:
        raise InvalidInput(f"{name} must be strictly between 0 and 1; got {number}. A usual choice is {usual}.")
    return number


def numbers(values: Any) -> NDArray[np.float64]:
    """Users' values as a one-dimensional array of doubles. They are never shown, not even in an error's context."""
    array = None
    with contextlib.suppress(Exception):  # whatever a value's own methods raise may show it
        given = np.asarray(values)
        if given.dtype.kind not in _NO_NUMBERS:
            array = given.astype(np.float64, copy=False)
    if array is None or array.ndim != 1:
        raise InvalidInput("values must be a one-dimensional array of numbers. Convert them first.")
    return array


def within(values: NDArray[np.float64], low: float, high: float) -> bool:
    """Whether all are numbers from low to high."""
    if len(values) == 0:
        return True
    # doubles from 0 on are in the order of their bits, and whatever is below 0 or no number has larger ones: one pass, not two
    if low == 0 and values.view(np.uint64).max() <= np.float64(high).view(np.uint64):
        return True
    return bool(values.min() >= low and values.max() <= high)


def epsilon(value: Any, name: str = "epsilon", *, positive: bool = False, side: Side = "down") -> float:
    """A privacy parameter from 0 (or just above it) to 700."""
    number = real(value, name, side)
    if math.isnan(number) or number < 0 or number > LARGEST_EPSILON or (positive and number < 1e-9):
        low = "at least 1e-9" if positive else "at least 0"
        raise InvalidInput(f"{name} must be {low} and at most 700; got {number}. Usual values are 0.1 to 10.")
    return number


def settle_promise(noun: Any) -> None:
    """Settle what is promised at the least or spent at the most: an epsilon and a delta."""
    settle(noun, epsilon=epsilon(noun.epsilon, positive=True), delta=probability(noun.delta, "delta"))


def scale(value: Any, name: str) -> float:
    """A noise scale within reason, rounded down."""
    number = real(value, name, "down")
    if not 0.1 <= number <= 1e6:
        raise InvalidInput(f"{name} must be from 0.1 to 1e6; got {number}. Usual values are 0.5 to 10.")
    return number


def symbols(values: NDArray[Any], size: int) -> NDArray[np.unsignedinteger]:
    """Symbols to randomize: a copy of a one-dimensional array of whole numbers below `size`, in the least type they fit.

    Their values are never shown.
    """
    array = np.asarray(values)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise InvalidInput("symbols must be a one-dimensional array of whole numbers. Encode values first.")
    signed = np.issubdtype(array.dtype, np.signedinteger)
    if len(array) and ((signed and int(array.min()) < 0) or int(array.max()) >= size):
        raise InvalidInput(f"a symbol is outside 0..{size - 1}. Encode values before randomizing them.")
    return array.astype(np.min_scalar_type(size - 1))
