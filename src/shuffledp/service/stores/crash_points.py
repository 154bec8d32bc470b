"""Named points of accept, close and release, in their order: where tests stop a shuffler dead.

Whatever happens there, nothing acknowledged may be lost, nothing counted twice, and a released batch keeps its bytes.
"""

from collections.abc import Callable
from typing import Final, Literal, get_args

Point = Literal[
    "accept: received",
    "accept: opened",
    "accept: first report written",
    "accept: all reports written",
    "accept: committed",
    "accept: about to answer",
    "close: asked",
    "close: marked",
    "close: committed",
    "release: gathered",
    "release: permuted",
    "release: a piece written",
    "release: all pieces written",
    "release: marked",
    "release: committed",
    "release: records erased",
    "release: log emptied",
    "release: about to answer",
]
POINTS: Final[tuple[Point, ...]] = get_args(Point)
Reached = Callable[[Point], None]
"""Called at each point. Tests pass their own."""


def pass_by(_: Point) -> None:
    """Do nothing, as in production."""
