"""How many cores this process may use."""

import os


def cores() -> int:
    """At least one; those that the operating system lets it run on, where that can be told."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
