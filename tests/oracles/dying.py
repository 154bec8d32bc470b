"""`python -m oracles.dying POINT NTH shuffler serve ...`: the real command, killed dead at the NTH passage of a named point."""

import os
import signal
import sys

from shuffledp.cli import cli
from shuffledp.service.shuffler import release
from shuffledp.service.stores.crash_points import Point, Reached


def dying_at(point: str, nth: int) -> Reached:
    """Ends the process as by kill -9 when the point is reached for the nth time."""
    passages = 0

    def hook(reached: Point) -> None:
        nonlocal passages
        passages += reached == point
        if passages == nth:
            os.kill(os.getpid(), signal.SIGKILL)

    return hook


if __name__ == "__main__":
    release.CHUNK = 50  # type: ignore[misc] # several pieces in a small batch; the bytes are the same
    cli(sys.argv[3:], prog_name="shuffledp", obj=dying_at(sys.argv[1], int(sys.argv[2])))
