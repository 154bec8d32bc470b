"""More digits than doubles have."""

from collections.abc import Callable, Iterator
from typing import Any

import mpmath as mp
import pytest


def digits(count: int) -> Callable[[], Iterator[None]]:
    """A fixture with which all tests of a file compute with so many decimal digits."""

    @pytest.fixture(autouse=True)
    def _digits() -> Iterator[None]:
        with mp.workdps(count):
            yield

    return _digits


def exact(values: Any) -> list[Any]:
    """Doubles, as they are."""
    return [mp.mpf(float(value)) for value in values]
