"""Programs to audit as black boxes: randomized response on two values, right or deliberately wrong.

python blackbox.py EPSILON0 [wrong] reads values 0 and 1 and writes answers, a line each.
"""

import math
import random
import sys

RIGHT, WRONG, NOISE = "right", "wrong", "noise"


def main() -> None:
    epsilon0, how = float(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else RIGHT
    coins = random.SystemRandom() if len(sys.argv) < 4 else random.Random(sys.argv[3])
    keep = 1 / (1 + math.exp(-epsilon0))
    if (
        how == WRONG
    ):  # the classic mistake: a fair coin decides between truth and a fair answer, whatever epsilon0 is asked for
        keep = 0.5 + 0.5 * keep
    for line in sys.stdin:
        value = int(line)
        if how == NOISE:
            answer: object = value + coins.expovariate(epsilon0) * coins.choice((-1, 1))
        else:
            answer = value if coins.random() < keep else 1 - value
        sys.stdout.write(f"{answer}\n")


if __name__ == "__main__":
    main()
