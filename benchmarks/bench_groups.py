"""Means of 16 groups from one message for the pair (group, value), against 16 separate collections of the same people.

Goal: at n = 1e6, epsilon 1, the worst standard error of the mean of a group that holds 1 % of the people is smaller. A separate
collection about one group asks everybody "not in it, or where on the grid", each with its own best grid; all 16 together are
(1, 1e-6)-differentially private by the certified accountant. Beside it: the same if one argues that a person who changes moves
from one group to another, so that only two of the collections see a difference.
"""

import math

from shuffledp import plan
from shuffledp.accounting.account import bound_named, calibrate
from shuffledp.accounting.composition import Collection, compose
from shuffledp.randomizers.response import RandomizedResponse

N, GROUPS, EPSILON, DELTA, SHARE = 10**6, 16, 1.0, 1e-6, 0.01


def separate_error(size: int, gamma: float) -> float:
    """The worst standard error of the group's mean: size - 1 grid points, and one symbol for those who are not in it.

    docs/maths/groups.md, with one group and a symbol of weight 0.
    """
    n, users, r = N, SHARE * N, size - 2
    points = [j / r for j in range(r + 1)]
    found = 0.0
    for mean in (0.0, 0.5):
        first, second = (sum((x - mean) ** power for x in points) / size for power in (1, 2))
        blanket = n * (gamma * second - (gamma * first) ** 2)
        found = max(found, blanket + (1 - gamma) * users * (1 / (4 * r * r) + gamma * mean * (1 - mean)))
    return math.sqrt(found) / (1 - gamma) / users


def composed_gamma(size: int, rounds: int, start: float) -> float:
    """The least gamma, to a thousandth, with which so many collections of everybody are private enough together."""

    def private(gamma: float) -> bool:
        blanket = RandomizedResponse(size=size, gamma=gamma).blanket()
        together = compose([Collection(blanket=blanket, n=N, rounds=rounds, bound=bound_named("best"))])
        return together.epsilon(DELTA) <= EPSILON

    low, high = start, start
    while not private(high):
        low, high = high, 1.1 * high
    while private(low):
        low, high = low / 1.1, low
    while high > 1.001 * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if private(middle) else (middle, high)
    return high


def separately(rounds: int) -> tuple[int, float]:
    """Steps of the best grid and the standard error, if a person's answers count in so many of the collections."""
    guesses = {}
    for steps in range(1, 25):
        family = RandomizedResponse.family(size=steps + 2, parameter="gamma")
        gamma = min(0.9, rounds * calibrate(family, n=N, epsilon=EPSILON, delta=DELTA))  # noise adds up like variances
        guesses[steps] = separate_error(steps + 2, gamma), gamma
    steps = min(guesses, key=lambda steps: guesses[steps])
    return steps, separate_error(steps + 2, composed_gamma(steps + 2, rounds, guesses[steps][1]))


def main() -> None:
    """Print the errors and their ratios."""
    groups = {"group": [f"group {j}" for j in range(GROUPS)]}
    found = plan("mean", n=N, epsilon=EPSILON, delta=DELTA, by=groups, share=SHARE).protocol
    one = found.forecast(N).by_share[SHARE]
    print(f"one message for the pair, {found.alphabet} symbols: standard error at most {one:.6f} of the range")
    for rounds, why in ((GROUPS, "as the accountant composes them"), (2, "a changed person changes only two of them")):
        steps, error = separately(rounds)
        print(f"16 collections, {steps} steps, {why}: {error:.6f}, {error / one:.2f} times as much")


if __name__ == "__main__":
    main()
