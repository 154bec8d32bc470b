"""Privacy curves in one picture."""

from collections.abc import Sequence
from pathlib import Path

from shuffledp.accounting.curve import Point
from shuffledp.figures import style


def draw_curves(curve: Sequence[Point], path: Path, *, title: str) -> None:
    """Delta against epsilon on a log scale: a line for each bound's upper end, a dotted one for a lower end."""
    with style.canvas(6.0, 4.0, 1, 1) as (figure, (axes,)):
        for i, name in enumerate(dict.fromkeys(point.bound for point in curve)):
            colour = style.PALETTE[i % len(style.PALETTE)]
            again = i >= len(style.PALETTE)  # then the colours begin anew
            for end, line in (("upper", "--" if again else "-"), ("lower", ":")):
                points = [(p.epsilon, value) for p in curve if p.bound == name and (value := getattr(p, end))]
                if points:
                    axes.plot(*zip(*points, strict=True), color=colour, linestyle=line, label=f"{name}, {end}")
        axes.set(xlabel=r"$\varepsilon$", ylabel=r"$\delta$", yscale="log")
        axes.set_title(title, loc="left")
        axes.legend()
        style.save_picture(figure, path)
