"""When two tallies are the same, bit for bit."""

import numpy as np

from shuffledp.engines.tally import Tally


def same(first: Tally, second: Tally) -> bool:
    """Rows, counts, what was rejected and adjusted and why, and the exact truth."""
    return (
        first.rows == second.rows
        and np.array_equal(first.counts.values, second.counts.values)
        and dict(first.rejected) == dict(second.rejected)
        and dict(first.adjusted) == dict(second.adjusted)
        and ((first.truth is None) == (second.truth is None))
        and (first.truth is None or second.truth is None or np.array_equal(first.truth, second.truth))
    )
