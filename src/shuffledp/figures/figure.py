"""A matplotlib figure that a notebook shows, whether or not pyplot was ever loaded there."""

import io
from typing import Any, Final

from matplotlib.figure import Figure

_SHARP: Final = 2
"""Pixels for each of the page's, so that letters are sharp on fine screens."""
_PER_INCH: Final = 96


class ShownFigure(Figure):
    """Drawn on white, so that it can be read on a dark page, too."""

    def _repr_png_(self) -> tuple[bytes, dict[str, Any]]:
        """The picture, and how wide it is on the page."""
        file = io.BytesIO()
        self.savefig(file, format="png", dpi=_SHARP * _PER_INCH, facecolor="white", metadata={"Software": "shuffledp"})
        return file.getvalue(), {"width": round(self.get_figwidth() * _PER_INCH)}
