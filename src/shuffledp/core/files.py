"""Files: whole or not at all, private where they must be, still there after a power cut, and used by one at a time."""

import json
import os
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from shuffledp.core.parsing import Unreadable, parse_json
from shuffledp.errors import InvalidInput

_LONGEST: Final = 4096
"""Letters of a path; what is longer may be the content of a file, and is never shown."""


def place_of(path: Any) -> Path:
    """Where a file is that somebody named."""
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str) or "\0" in os.fspath(path):
        raise InvalidInput(
            f"`path` must be a string or a path; got a {type(path).__name__}. Give the name of the file."
        )
    if len(os.fspath(path)) > _LONGEST or ("\n" in os.fspath(path) and not Path(path).exists()):
        raise InvalidInput("`path` is a long string, not the name of a file. Give the name of a file.")
    return Path(path)


def read_json(path: Path | str, what: str, remedy: str) -> Any:
    """The JSON document in a file; `what` it should be and the `remedy` are for the error, which shows nothing of the content."""
    path, document, wrong = place_of(path), None, ""
    try:
        document = parse_json(path.read_bytes())
    except OSError as error:
        wrong = f"cannot read {path}: {error.strerror}"
    except Unreadable as why:
        wrong = f"{path} is not {what}: {why}"
    if wrong:  # raised outside the handlers, so that nothing of the content is in the error's context
        raise InvalidInput(f"{wrong}. {remedy}")
    return document


def save_json(path: Path | str, document: Any) -> None:
    """Write a JSON document to a file, whole or not at all."""
    place = place_of(path)
    if place.is_dir():
        raise InvalidInput(f"cannot write {place}: it is a folder. Name a file in it.")
    try:
        write_whole(place, json.dumps(document, indent=2, allow_nan=False) + "\n")
    except OSError as error:
        raise InvalidInput(f"cannot write {place}: {error.strerror}. Choose another place.") from None


def others_can_read(path: Path) -> bool:
    """Whether anybody but its owner may use a file that should be private; not if there is none."""
    try:
        return bool(path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))
    except OSError:
        return False


def may_grow(path: Path) -> int | None:
    """Bytes by which this process may lengthen a file, whatever room its disk has (ulimit -f); None if there is no limit."""
    try:
        import resource
    except ImportError:  # Windows, which has no such limit
        return None
    most, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    if most == resource.RLIM_INFINITY:
        return None
    return max(0, most - (path.stat().st_size if path.exists() else 0))


def write_whole(path: Path, content: str | bytes) -> None:
    """Replace a file so that a reader sees the old or the new one, never a part."""
    _replace(path, content, private=False)


def write_private(path: Path, content: str | bytes) -> None:
    """Replace a file likewise, so that only its owner can read it; it is on disk when this returns."""
    _replace(path, content, private=True)


@contextmanager
def drafted(path: Path) -> Iterator[Path]:
    """A file to write into, which takes the other one's name when all is written, and is gone if that fails."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    os.close(handle)
    draft = Path(name)
    try:
        yield draft
        draft.chmod(0o666 & ~_umask())
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        draft.replace(path)
        sync_folder(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def create_private(path: Path, lines: Iterable[str]) -> None:
    """Write a new file that only its owner can read; one that exists is left alone (FileExistsError)."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.writelines(f"{line}\n" for line in lines)
            file.flush()
            os.fsync(file.fileno())
        sync_folder(path)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def sync_folder(path: Path) -> None:
    """Put the name of a new or renamed file on disk too: it is only kept with its folder."""
    if os.name == "nt":  # which keeps names by itself, and opens no folders
        return
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@contextmanager
def alone(lock: Path) -> Iterator[None]:
    """Let threads and processes that name the same lock in, one at a time; the empty file stays behind."""
    from filelock import FileLock

    with FileLock(lock, fallback_to_soft=False):  # a soft lock would outlive a crash
        yield


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Let threads and processes that give new files their names in a folder in, one at a time; nothing stays behind."""
    if sys.platform == "win32":  # where no file takes the name of another
        yield
        return
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _replace(path: Path, content: str | bytes, *, private: bool) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")  # only its owner can read it
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            if private:
                file.flush()
                os.fsync(file.fileno())
        if not private:
            draft.chmod(0o666 & ~_umask())
        draft.replace(path)
        if private:
            sync_folder(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _umask() -> int:
    """What the user does not want others to do with new files."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
