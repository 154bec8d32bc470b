"""How many random points a property test takes: a few hundred in `make test`, thousands in `make test-all`."""

import os


def examples(count: int) -> int:
    """The count, times SHUFFLEDP_TEST_SCALE."""
    return count * int(os.environ.get("SHUFFLEDP_TEST_SCALE", "1"))


def full(small: int, large: int) -> int:
    """The small size in `make test`, the large one in `make test-all`."""
    return large if int(os.environ.get("SHUFFLEDP_TEST_SCALE", "1")) > 1 else small
