"""OpenDP's randomized response as a program to audit: `python opendp_box.py CATEGORIES CHANCE_OF_THE_TRUTH`."""

import sys
from typing import Any

import opendp.prelude as dp


def response(categories: int, truth: float) -> Any:
    """OpenDP's own measurement; its map says what it promises."""
    dp.enable_features("contrib")
    return dp.m.make_randomized_response(categories=list(range(categories)), prob=truth)


def main() -> None:
    measurement = response(int(sys.argv[1]), float(sys.argv[2]))
    for line in sys.stdin:
        sys.stdout.write(f"{measurement(int(line))}\n")


if __name__ == "__main__":
    main()
