"""`python -m oracles.stuck POINT shuffler serve ...`: the real command, in which whoever reaches a named point waits for ever."""

import sys
import threading

from shuffledp.cli import cli
from shuffledp.service.stores.crash_points import Point, Reached


def waiting_at(point: str) -> Reached:
    """Lets threads stop there; says so when the first one does."""

    def hook(reached: Point) -> None:
        if reached == point:
            print(f"stuck at {point}", flush=True)  # noqa: T201
            threading.Event().wait()

    return hook


if __name__ == "__main__":
    cli(sys.argv[2:], prog_name="shuffledp", obj=waiting_at(sys.argv[1]))
