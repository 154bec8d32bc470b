"""Seconds to import shuffledp, against an empty interpreter in the same run. Goal: 0.3 s."""

import subprocess
import sys
import time


def seconds(code: str, repeats: int = 10) -> float:
    """The best of some runs."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        best = min(best, time.perf_counter() - start)
    return best


empty = seconds("pass")
bare = seconds("import shuffledp")
used = seconds("from shuffledp import Generic, account; account(Generic(epsilon0=1.0), n=1000, delta=1e-6)")
print(f"empty interpreter             {empty:.3f} s")
print(f"import shuffledp              {bare:.3f} s  (+{bare - empty:.3f})")
print(f"first analytic account()      {used:.3f} s  (+{used - empty:.3f})")
