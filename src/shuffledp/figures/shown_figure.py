"""A matplotlib figure that a notebook shows, whether or not pyplot was ever loaded there."""

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from matplotlib.figure import Figure

_SHARP: Final = 2
"""Pixels for each of the page's, so that letters are sharp on fine screens."""
_PER_INCH: Final = 96


@contextmanager
def _boxes() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")
        yield


class ShownFigure(Figure):
    """Drawn on white, so that it can be read on a dark page, too; a letter that no font here has is a box, not a warning."""

    def draw(self, renderer: Any) -> None:
        with _boxes():
            super().draw(renderer)

    def savefig(self, *arguments: Any, **options: Any) -> None:
        with _boxes():
            super().savefig(*arguments, **options)

    def _repr_png_(self) -> tuple[bytes, dict[str, Any]]:
        """The picture, and how wide it is on the page."""
        file = io.BytesIO()
        self.savefig(file, format="png", dpi=_SHARP * _PER_INCH, facecolor="white", metadata={"Software": "shuffledp"})
        return file.getvalue(), {"width": round(self.get_figwidth() * _PER_INCH)}
