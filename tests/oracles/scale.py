"""How many random points a property test takes: a few hundred in `make test`, thousands in `make test-all`."""

import os

_SCALE = int(os.environ.get("SHUFFLEDP_TEST_SCALE", "1"))


def examples(count: int) -> int:
    """The count, times SHUFFLEDP_TEST_SCALE."""
    return count * _SCALE


def full(small: int, large: int) -> int:
    """The large size in `make test-all`, the small one in `make test`."""
    return large if _SCALE > 1 else small
