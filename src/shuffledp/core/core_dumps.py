"""Core dumps: files of a process's memory, made when it crashes. Those of a process that holds keys would hold them too."""

import ctypes
import sys
from contextlib import suppress
from typing import Final

_PR_SET_DUMPABLE: Final = 4
"""Of prctl, on Linux."""


def forbid_core_dumps() -> None:
    """Let this process leave none, as far as its system knows them.

    The limit alone does not keep a system from handing dumps to a program that collects them; not being dumpable does, and also
    keeps other processes of the same user from reading this one's memory.
    """
    with suppress(ImportError, ValueError, OSError):  # Windows has no such limit
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # a C library without prctl
            ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
