"""Correlations of every two columns as a picture: a square for each pair."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from shuffledp.core.document import Document
from shuffledp.figures.style import BLACK, BLUE, VERMILION
from shuffledp.protocols.moment_reading import CORRELATION
from shuffledp.results.estimate_entries import Entry

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BETWEEN: Final = ", "
_GREY: Final = "#888888"


def columns_of(result: Document) -> list[str] | None:
    """The columns whose correlations these are, three or more of them; None if they are none, or are not told by their names."""
    names = result["estimate"]["names"]
    pairs = [name.split(_BETWEEN) for name in names]
    if result["question"] != CORRELATION or len(pairs) < 2 or any(len(pair) != 2 for pair in pairs):
        return None
    columns = list(dict.fromkeys([pairs[0][0], *(second for _, second in pairs)]))
    expected = [f"{one}{_BETWEEN}{other}" for j, one in enumerate(columns) for other in columns[j + 1 :]]
    return columns if names == expected else None


def draw_correlations(axis: "Axes", columns: Sequence[str], rows: Sequence[Entry], measure: str) -> None:
    """The colour is the estimate; the digits are grey where the interval holds 0, and a dash where there is no number."""
    from matplotlib.colors import LinearSegmentedColormap

    size = len(columns)
    shades = LinearSegmentedColormap.from_list("correlation", [VERMILION, "#FFFFFF", BLUE])
    squares = [[math.nan] * size for _ in columns]
    places = [(k, j) for j in range(size) for k in range(j + 1, size)]
    for (down, across), row in zip(places, rows, strict=True):
        squares[down][across] = row.value
        sure = row.low > 0 or row.high < 0
        axis.text(
            across, down, "-" if math.isnan(row.value) else f"{row.value:.2f}", ha="center", va="center", fontsize=8.0,
            color=("#FFFFFF" if abs(row.value) > 0.6 else BLACK) if sure else _GREY,
        )  # fmt: skip
    axis.imshow(squares, cmap=shades, vmin=-1, vmax=1, aspect="auto")
    axis.set_xticks(range(size - 1), columns[:-1], parse_math=False, rotation=30, ha="right")
    axis.set_yticks(range(1, size), columns[1:], parse_math=False)
    axis.set_xlim(-0.5, size - 1.5)
    axis.set_ylim(size - 0.5, 0.5)
    axis.grid(visible=False)
    axis.tick_params(length=0)
    axis.spines[["left", "bottom"]].set_visible(False)
    axis.set_xlabel(f"{measure} (grey: may be 0)", parse_math=False)
