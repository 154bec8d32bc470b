"""One look for every picture: colours a colour-blind reader can tell apart, no global state, repeatable files."""

import csv
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from shuffledp.core.installed import not_installed
from shuffledp.errors import InvalidInput

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

BLACK: Final = "#000000"
ORANGE: Final = "#E69F00"
SKY: Final = "#56B4E9"
GREEN: Final = "#009E73"
BLUE: Final = "#0072B2"
VERMILION: Final = "#D55E00"
PURPLE: Final = "#CC79A7"
PALETTE: Final = (VERMILION, BLUE, GREEN, PURPLE, ORANGE, SKY, BLACK)
"""Okabe and Ito's palette, without its yellow, in the order in which lines take colours."""

_OTHER_SCRIPTS: Final = (
    "Noto Sans", "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans Arabic", "Noto Sans Hebrew", "Noto Sans Devanagari",
    "Noto Sans Bengali", "Noto Sans Thai", "Noto Sans Symbols2", "Noto Emoji", "PingFang SC", "Hiragino Sans", "Arial Unicode MS",
    "Microsoft YaHei", "Yu Gothic", "Malgun Gothic", "Nirmala UI", "Leelawadee UI", "Segoe UI", "Segoe UI Symbol",
    "WenQuanYi Zen Hei", "Droid Sans Fallback", "Unifont",
)  # fmt: skip
"""Fonts for letters that matplotlib's own lacks, of which those that are installed are used."""
_SETTINGS: Final[dict[Any, Any]] = {
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "legend.labelspacing": 0.3,
    "savefig.dpi": 200,
    "svg.hashsalt": "shuffledp",
    "svg.fonttype": "none",
}


@contextmanager
def canvas(
    width: float, height: float, rows: int, columns: int, heights: Sequence[float] | None = None
) -> "Iterator[tuple[Figure, list[Axes]]]":
    """A figure and its axes in reading order; draw and save inside the context, where our look applies."""
    _check_matplotlib()
    import matplotlib as mpl

    from shuffledp.figures.shown_figure import ShownFigure

    with mpl.rc_context({**_SETTINGS, "font.family": ["DejaVu Sans", *_fonts()]}):
        figure = ShownFigure(figsize=(width, height), layout="constrained")
        yield figure, list(figure.subplots(rows, columns, squeeze=False, height_ratios=heights).flat)


@cache
def _fonts() -> list[str]:
    from matplotlib.font_manager import fontManager

    there = set(fontManager.get_font_names())
    return [name for name in _OTHER_SCRIPTS if name in there]


def plain_ticks(axis: "Axis", ticks: Iterable[float]) -> None:
    """Few ticks with plain numbers on a logarithmic axis."""
    axis.set_ticks(list(ticks))
    axis.set_ticks([], minor=True)
    axis.set_major_formatter(lambda value, _: f"{value:,.4g}" if value < 1000 else f"{value:,.0f}")


def round_numbers(values: Iterable[float]) -> list[float]:
    """From the least to the greatest of these: 1, 2 and 5 times powers of ten; the ends themselves if there are too few."""
    known = list(values)
    low, high = min(known), 1.001 * max(known)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    numbers = [value for power in powers for times in (1, 2, 5) if low <= (value := times * 10.0**power) <= high]
    return numbers if len(numbers) > 1 else sorted({low, high})


def save(figure: "Figure", out: Path, name: str) -> list[Path]:
    """Write a figure as PNG and SVG."""
    paths = [out / f"{name}.png", out / f"{name}.svg"]
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(paths[0], metadata={"Software": "shuffledp"})
    figure.savefig(paths[1], metadata={"Date": None, "Creator": "shuffledp"})
    return paths


def check_picture(path: Path) -> None:
    """Refuse a picture that cannot be drawn, before the work."""
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise InvalidInput(f"{path.name} is not a kind of picture that can be drawn. Use .png, .svg or .pdf.")
    check_drawing(path)


def check_drawing(path: Path) -> None:
    """Refuse a file that could not be drawn here or written there, before the work."""
    _check_matplotlib()
    if not path.parent.is_dir():
        raise InvalidInput(f"cannot write {path}: there is no folder {path.parent}. Choose another place.")


def _check_matplotlib() -> None:
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise not_installed("figures need matplotlib", "figures") from None


def save_picture(figure: "Figure", path: Path) -> None:
    """Write one picture, of the kind its ending says."""
    try:
        figure.savefig(path, metadata={"Date": None} if path.suffix.lower() == ".svg" else None)
    except OSError as error:
        raise InvalidInput(f"cannot write {path}: {error.strerror}. Choose another place.") from None


def save_table(out: Path, name: str, columns: Mapping[str, Sequence[float | None]]) -> Path:
    """Write the numbers behind a panel; an empty cell means that the bound claims nothing there."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{name}.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(["" if cell is None else cell for cell in row] for row in zip(*columns.values(), strict=True))
    return path
