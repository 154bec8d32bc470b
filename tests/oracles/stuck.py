"""`python -m oracles.stuck POINT shuffler serve ...`: the real command, in which whoever reaches a named point waits for ever."""

import sys
import threading

from shuffledp.cli import main
from shuffledp.esa import checkpoints


def wait_at(point: str) -> None:
    """Let threads stop there; says so when the first one does."""

    def hook(reached: str) -> None:
        if reached == point:
            print(f"stuck at {point}", flush=True)  # noqa: T201
            threading.Event().wait()

    checkpoints.hook = hook


if __name__ == "__main__":
    wait_at(sys.argv[1])
    sys.argv = ["shuffledp", *sys.argv[2:]]
    main()
