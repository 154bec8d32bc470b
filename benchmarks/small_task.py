"""A collection to measure a service with: a small histogram, run by parties that nobody is."""

from shuffledp import plan
from shuffledp.service.task import Task


def small_task(n: int = 1000) -> Task:
    """A histogram of 16 values is asked of so many people."""
    made = plan("histogram", n=n, epsilon=1.0, delta=1e-6, size=16)
    return Task(plan=made, window=3600, max_age=7200, shufflers=("Alpha",), analyzer="Beta", honest_fraction=1.0)
