"""What `make demo` shows: the privacy of a shuffled survey, and the paper's figures."""

import subprocess
import sys
from pathlib import Path

OUT = Path("demo")


def shuffledp(*arguments: str) -> None:
    """Run the command line as a user would, showing the command."""
    print(f"\n$ shuffledp {' '.join(arguments)}", flush=True)
    subprocess.run([str(Path(sys.executable).with_name("shuffledp")), *arguments], check=True)


SURVEY = ("account", "--randomizer", "rr", "--size", "10", "--epsilon0", "1", "--delta", "1e-6")


def main() -> None:
    """An accounting table, a sweep, and the figures."""
    print("A survey with ten answers; each of a million people hides theirs by a factor e (epsilon0 = 1).")
    shuffledp(*SURVEY, "--n", "1e6")
    print("\nHow it grows with the crowd:")
    shuffledp(*SURVEY, "--n", "1e3,1e4,1e5,1e6,1e7")
    print("\nThe figures of the paper:")
    shuffledp("figures", "--out", str(OUT))


if __name__ == "__main__":
    main()
