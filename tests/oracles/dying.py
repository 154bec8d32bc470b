"""`python -m oracles.dying POINT NTH shuffler serve ...`: the real command, killed dead at the NTH passage of a named point."""

import os
import signal
import sys

from shuffledp.cli import main
from shuffledp.esa import checkpoints, sqlite


def die_at(point: str, nth: int) -> None:
    """Let the process end as by kill -9 when the point is reached for the nth time."""
    passages = 0

    def hook(reached: str) -> None:
        nonlocal passages
        passages += reached == point
        if passages == nth:
            os.kill(os.getpid(), signal.SIGKILL)

    checkpoints.hook = hook
    sqlite.CHUNK = 50  # type: ignore[misc] # several pieces in a small batch; the bytes are the same


if __name__ == "__main__":
    die_at(sys.argv[1], int(sys.argv[2]))
    sys.argv = ["shuffledp", *sys.argv[3:]]
    main()
