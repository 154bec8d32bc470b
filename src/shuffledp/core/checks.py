"""Validation of numbers, once, at construction: one sentence of fact, one of remedy."""

import math

from shuffledp.errors import InvalidInput

LARGEST_N = 10**18
LARGEST_EPSILON = 700.0
"""e^700 is near the largest double; nothing beyond it deserves the word privacy."""


def users(n: int) -> int:
    """A number of users: an integer from 1 to 10^18."""
    if isinstance(n, bool) or not isinstance(n, int):
        raise InvalidInput(f"n must be a whole number; got {n!r}. Give the number of users, e.g. 1000.")
    if not 1 <= n <= LARGEST_N:
        raise InvalidInput(f"n must be from 1 to 1e18; got {n}. Give the number of users, e.g. 1000.")
    return n


def size(value: int, *, name: str = "size") -> int:
    """A number of symbols: an integer from 2 to 2^32."""
    if isinstance(value, bool) or not isinstance(value, int) or not 2 <= value <= 2**32:
        raise InvalidInput(f"{name} must be a whole number from 2 to 2^32; got {value!r}. Use at least 2 symbols.")
    return value


def probability(value: float, name: str) -> float:
    """A number strictly between 0 and 1."""
    if not 0 < value < 1:
        raise InvalidInput(f"{name} must be strictly between 0 and 1; got {value}. A usual choice is 1e-6.")
    return float(value)


def epsilon(value: float, name: str = "epsilon", *, positive: bool = False) -> float:
    """A privacy parameter from 0 (or just above it) to 700."""
    if math.isnan(value) or value < 0 or value > LARGEST_EPSILON or (positive and value == 0):
        low = "above 0" if positive else "at least 0"
        raise InvalidInput(f"{name} must be {low} and at most 700; got {value}. Usual values are 0.1 to 10.")
    return float(value)


def scale(value: float, name: str) -> float:
    """A positive finite number within reason."""
    if not 1e-3 <= value <= 1e9:
        raise InvalidInput(f"{name} must be from 0.001 to 1e9; got {value}. Usual values are 0.5 to 10.")
    return float(value)
