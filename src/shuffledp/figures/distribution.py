"""The picture of a distribution: the curve of shares below each number with its band, quantiles marked."""

from typing import TYPE_CHECKING, Final

from shuffledp.core.document import Document
from shuffledp.core.visible import printable
from shuffledp.figures.style import BLACK, BLUE, GREEN, ORANGE, SKY
from shuffledp.results.estimate_entries import percent, quantiles

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TRUTH: Final = "truth (not private)"


def draw_distribution(axis: "Axes", result: Document) -> None:
    """In percent of the users; below the first edge is nobody, below the last everybody."""
    read_off, estimate, n = result["derived"], result["estimate"], result["n"]
    edges = read_off["curve"]["edges"]

    def whole(inner: list[float]) -> list[float]:
        return [0.0, *(100 * value / n for value in inner), 100.0]

    low, high = (whole([min(max(ends[side], 0.0), n) for ends in estimate["interval"]]) for side in (0, 1))
    together = " for all edges at once" if estimate["simultaneous"] else " at each edge"
    axis.fill_between(edges, low, high, color=SKY, linewidth=0, label=f"{percent(result)} interval{together}")
    axis.plot(edges, whole(estimate["value"]), color=BLUE, linewidth=1.0, label="private estimate")
    if "consistent" in read_off:
        axis.plot(
            edges, whole(read_off["consistent"]["cumulative"]), color=GREEN, linewidth=1.0, linestyle="--",
            label="never falling (biased)",
        )  # fmt: skip
    if result["truth"] is not None:
        axis.plot(edges, whole(result["truth"]), color=ORANGE, linewidth=1.0, label=TRUTH)
    for j, (quantile, (_, number, *_)) in enumerate(
        zip(read_off["quantiles"], quantiles(read_off["quantiles"]), strict=True)
    ):
        at, (start, end) = 100 * quantile["share"], quantile["interval"]
        label = "quantiles, with intervals" if j == 0 else None
        axis.errorbar(
            [quantile["value"]], [at], xerr=[[quantile["value"] - start], [end - quantile["value"]]],
            fmt="o", color=BLACK, markersize=3.5, elinewidth=1.0, capsize=2.5, label=label, zorder=3,
        )  # fmt: skip
        axis.annotate(number, (quantile["value"], at), (5, -9), textcoords="offset points", fontsize=8.0, zorder=4)
    axis.set_xlim(edges[0], edges[-1])
    axis.set_ylim(-2, 102)
    axis.set_ylabel("users below (%)")
    axis.set_xlabel(printable(result["wording"]["unit"] or "value"), parse_math=False)
    axis.xaxis.set_major_formatter(lambda x, _: f"{x:,.10g}")
    axis.set_axisbelow(True)
