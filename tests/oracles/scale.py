"""How many random points a property test takes: a few hundred in `make test`, thousands in `make test-all`."""

import os


def examples(count: int) -> int:
    """The count, times SHUFFLEDP_TEST_SCALE."""
    return count * int(os.environ.get("SHUFFLEDP_TEST_SCALE", "1"))
