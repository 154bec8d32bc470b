"""Whether what is about to be computed fits in this machine's memory, and how freed memory is kept."""

import contextlib
import os
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np

from shuffledp.errors import InvalidInput

_MEMORY: Final = Path("/proc/meminfo")
_GROUP: Final = Path("/sys/fs/cgroup")


def check_memory(needed: int, what: str, remedy: str) -> None:
    """Refuse, before anything is allocated, what needs more bytes than there are."""
    there = available_memory()
    if there is not None and needed > there:
        raise InvalidInput(
            f"{what} takes {_size(needed)} of memory, and this machine has {_size(there)} free. {remedy}."
        )


def available_memory() -> int | None:
    """Bytes that can still be used, as the system and its limits for this process say; None if they do not."""
    limits = [bytes_ for bytes_ in (_of_system(), _of_group()) if bytes_ is not None]
    return min(limits) if limits else None


def _of_system() -> int | None:
    with contextlib.suppress(OSError, ValueError):
        for line in _MEMORY.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    with contextlib.suppress(OSError, ValueError, AttributeError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return None


def _of_group() -> int | None:
    """What a container may use, less what it does."""
    with contextlib.suppress(OSError, ValueError):  # "max" if there is no limit
        limit, used = (int((_GROUP / name).read_text(encoding="ascii")) for name in ("memory.max", "memory.current"))
        return max(0, limit - used)
    return None


def _size(count: int) -> str:
    return f"{count / 2**30:,.1f} GiB" if count >= 2**30 else f"{count / 2**20:,.0f} MiB"


@cache
def settle_allocator() -> None:
    """Let glibc keep freed arrays of up to 32 MB for the next ones instead of returning them to the system each time.

    Freeing one large array moves its thresholds (mallopt(3), M_MMAP_THRESHOLD); elsewhere this does nothing.
    """
    np.empty(31 << 20, dtype=np.uint8)
