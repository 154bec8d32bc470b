"""What is read off the distribution of a number, as JSON data."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.estimate import Estimate
from shuffledp.domains.intervals import Intervals
from shuffledp.errors import InvalidInput
from shuffledp.protocols.quantiles import Curve
from shuffledp.protocols.statistics import like


def axis(curve: Curve, *, consistent: bool) -> dict[str, Any]:
    """Where the estimates are; and a curve that never falls and its steps, if wanted, which are labelled as biased."""
    read_off: dict[str, Any] = {"curve": {"edges": curve.protocol.domain.edges.tolist()}}
    if consistent:
        read_off["consistent"] = {
            "biased": True,
            "cumulative": curve.projected().tolist(),
            "histogram": curve.histogram().tolist(),
        }
    return read_off


def quantiles_of(
    curve: Curve, shares: Sequence[float], truth: NDArray[np.float64] | None, confidence: float, simultaneous: bool
) -> list[dict[str, Any]]:
    """A number for each share, its limits, the interval of the grid that it is in, and the one where it is in truth."""
    names, quantiles = curve.protocol.domain.names, []
    for share in shares:
        at = curve.quantile(share, confidence, simultaneous=simultaneous)
        quantiles.append({"share": share, "value": at.value, "interval": [at.low, at.high], "bin": names[at.bin]})
        if truth is not None:
            quantiles[-1]["truth"] = names[int(np.searchsorted(truth, share * curve.counts.n))]
    return quantiles


def in_ranges(curve: Curve, ranges: Sequence[str]) -> Estimate:
    """Users from one edge of the grid up to another, that one not included."""
    grid, sums = curve.protocol.domain, []
    for text in ranges:
        first, last = (_edge(grid, end, text) for end in text.partition("..")[::2])
        if not first < last:
            raise InvalidInput(f"{text!r} is an empty range. Write the smaller number first.")
        sums.append(curve.in_range(first, last - 1))
    value, error = (np.concatenate([getattr(summed, part) for summed in sums]) for part in ("value", "standard_error"))
    return like(curve.counts, value, error)


def _edge(grid: Intervals, text: str, whole: str) -> int:
    """Which edge of the grid a number is."""
    try:
        number = float(text)
    except ValueError:
        number = np.nan
    places = (number - grid.low) / grid.width
    if not (-0.5 < places < grid.size + 0.5 and abs(places - round(places)) < 1e-6):
        raise InvalidInput(
            f"{whole!r} is not a range of the plan. Write two of its edges with .. between them: "
            f"{grid.edge_names[0]}, {grid.edge_names[1]}, ..., {grid.edge_names[-1]}."
        )
    return round(places)
