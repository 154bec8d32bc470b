"""Privacy curves in one picture."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shuffledp.figures import style


def draw_curves(rows: Sequence[dict[str, Any]], path: Path, *, title: str) -> None:
    """Delta against epsilon on a log scale: a line for each bound's upper end, a dotted one for a lower end."""
    with style.canvas(6.0, 4.0, 1, 1) as (figure, (axes,)):
        for i, name in enumerate(dict.fromkeys(row["bound"] for row in rows)):
            colour = style.PALETTE[i % len(style.PALETTE)]
            for end, line in (("upper", "-"), ("lower", ":")):
                points = [(r["epsilon"], r[end]) for r in rows if r["bound"] == name and r[end]]
                if points:
                    axes.plot(*zip(*points, strict=True), color=colour, linestyle=line, label=f"{name}, {end}")
        axes.set(xlabel=r"$\varepsilon$", ylabel=r"$\delta$", yscale="log")
        axes.set_title(title, loc="left")
        axes.legend()
        style.save_picture(figure, path)
