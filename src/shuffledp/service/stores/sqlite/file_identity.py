"""Which file a store is: files in which reports would be lost are refused, and copies are told from their originals.

SQLite keeps what was written last in a log whose name is that of the database. So one file under two names has two logs, and each
loses what is in the other; a file that is mounted by itself has its log in another folder.
"""

import ctypes
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import quote, unquote

from shuffledp.errors import InvalidInput

_MOUNTS: Final = Path("/proc/self/mountinfo")
_HERE, _BIRTH_TIME = -100, 0x800
"""AT_FDCWD and STATX_BTIME of Linux."""


class _Status(ctypes.Structure):
    """What Linux's statx tells of a file, as far as it is needed here."""

    _fields_ = (
        ("mask", ctypes.c_uint32), ("_before", ctypes.c_uint32 * 19), ("born", ctypes.c_int64),
        ("born_fraction", ctypes.c_uint32), ("_after", ctypes.c_uint32 * 41),
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class FileIdentity:
    """What tells a file from its copies, whatever the folder is called in which it is seen.

    Devices are not part of it: they are numbered anew at every start of a machine.

    Attributes:
        name: without its folder; its log is found by it.
        inode: its number on its disk, which a copy may get once the original is gone.
        born: when it was made, in nanoseconds, which no copy can repeat; None where the system does not say.
    """

    name: str
    inode: int
    born: int | None

    @classmethod
    def of(cls, path: Path, *, name: str | None = None) -> Self:
        """That of a file; `name` if it is about to be renamed."""
        return cls(name=quote(os.fsencode(name or path.name)), inode=path.stat().st_ino, born=_birth(path))

    @classmethod
    def read(cls, text: str) -> Self:
        """From what `str` gave."""
        name, inode, born = text.split("/")
        return cls(name=name, inode=int(inode), born=int(born) if born else None)

    def __str__(self) -> str:
        return f"{self.name}/{self.inode}/{'' if self.born is None else self.born}"

    def is_same_file(self, other: "FileIdentity") -> bool:
        """Whether these are one file, perhaps under another name."""
        return self.inode == other.inode and (None in (self.born, other.born) or self.born == other.born)


def check_file(path: Path, name: str) -> None:
    """Refuse what is not a file of its owner alone, has other names, or is mounted by itself; `name` is for the message."""
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise InvalidInput(f"{name} is not a file. Choose another one.")
    if found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise InvalidInput(f"others can read the store {name}. Set its permissions to 600.")
    if not found.st_size:
        raise InvalidInput(
            f"{name} is empty, so it is not a store. Remove it: shuffledp shuffler serve makes a new store where there is no "
            "file."
        )
    if found.st_nlink > 1:
        raise InvalidInput(
            f"{name} has another name (a hard link), under which it would have another log, and reports would be lost. Remove "
            "the other name; if it is a backup, restore a copy of it."
        )
    if is_mounted_alone(path):
        raise InvalidInput(
            f"{name} is mounted as a single file, so its log would be elsewhere and reports would be lost. Mount the folder "
            "that contains it."
        )


def check_identity(path: Path, place: FileIdentity, name: str) -> None:
    """Refuse a file that is not in the place where its store was made."""
    here, remedy = FileIdentity.of(path), f"make a store of it with shuffledp shuffler restore {name} NEW"
    if not here.is_same_file(place):
        raise InvalidInput(
            f"{name} is a copy of a store, or was moved to another disk, and what is open in it may have been released since. "
            f"Serve the original, or {remedy}."
        )
    if here.name != place.name:
        raise InvalidInput(
            f"the store {name} was called {unquote(place.name)}, and what was written last may be in the log of that name. Give "
            f"it and its log that name again, or {remedy}."
        )


def is_mounted_alone(path: Path, mounts: Path = _MOUNTS) -> bool:
    """Whether a file, and not a folder that it is in, was mounted; `path` has no symbolic links."""
    try:
        points = {line.split(b" ")[4] for line in mounts.read_bytes().splitlines()}
    except (OSError, IndexError):  # not Linux
        return path.stat().st_dev != path.parent.stat().st_dev
    wanted = os.fsencode(path)
    for byte in b"\\ \t\n":  # as the kernel writes them
        wanted = wanted.replace(bytes([byte]), b"\\%03o" % byte)
    return wanted in points


def _birth(path: Path) -> int | None:
    """When a file was made, in nanoseconds."""
    found: Any = path.stat()
    if hasattr(found, "st_birthtime"):  # macOS, Windows
        return int(found.st_birthtime * 1e9)
    try:
        statx = ctypes.CDLL(None).statx
    except (AttributeError, OSError, TypeError):
        return None
    status = _Status()
    if statx(_HERE, os.fsencode(path), 0, _BIRTH_TIME, ctypes.byref(status)) or not status.mask & _BIRTH_TIME:
        return None
    return int(status.born) * 10**9 + int(status.born_fraction)
