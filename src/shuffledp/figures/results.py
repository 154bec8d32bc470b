"""A result as a picture: estimates with their intervals, beside the truth if it is known."""

from pathlib import Path

import numpy as np

from shuffledp.core.digits import rounded_up
from shuffledp.figures.style import BLACK, BLUE, ORANGE, canvas, check_picture, save_picture
from shuffledp.results.result import Result


def draw(result: Result, path: Path, *, confidence: float = 0.95, simultaneous: bool = False) -> None:
    """Write the picture; its kind follows from the file's ending."""
    check_picture(path)
    low, high = result.estimate.interval(confidence, simultaneous=simultaneous)
    value, names = result.estimate.value, [name.replace("$", r"\$") for name in result.names]
    few = len(names) <= 30
    with canvas(max(5.0, min(10.0, 1.2 + 0.55 * len(names))), 3.6, 1, 1) as (figure, axes):
        axis, at = axes[0], np.arange(len(names))
        bars = result.truth is not None and few
        width = 0.38 if bars else 0.7
        if result.truth is not None:
            if bars:
                axis.bar(at - 0.2, result.truth, width, color=ORANGE, label="truth (not private)")
            else:
                axis.plot(at, result.truth, color=ORANGE, label="truth (not private)")
        offset = at + (0.2 if bars else 0.0)
        limits = np.stack([value - low, high - value])
        label = f"private estimate, {100 * confidence:g} % interval"
        if few:
            axis.bar(offset, value, width, color=BLUE, label=label)
            axis.errorbar(offset, value, limits, fmt="none", ecolor=BLACK, elinewidth=1.0, capsize=3)
        else:
            axis.fill_between(at, low, high, color=BLUE, alpha=0.3, linewidth=0)
            axis.plot(at, value, color=BLUE, label=label)
        axis.set_xticks(at if few else at[:: max(1, len(at) // 10)])
        long = max(len(name) for name in names) > 6
        axis.set_xticklabels(
            [names[int(j)] for j in axis.get_xticks()], rotation=30 if long else 0, ha="right" if long else "center"
        )
        axis.set_ylabel(result.plan.protocol.measure)
        axis.set_axisbelow(True)
        axis.set_title(_promise(result))
        axis.legend(loc="best")
        save_picture(figure, path)


def _promise(result: Result) -> str:
    if result.guarantee is None:
        return "simulation: no guarantee"
    epsilon, delta = rounded_up(result.guarantee.epsilon), rounded_up(result.guarantee.delta)
    return f"({epsilon}, {delta})-differentially private, {result.n:,} reports"
