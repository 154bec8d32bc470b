"""A user's side: randomize once, write it down, seal, and send the same bytes until they arrive.

A second randomization of the same value would be a second release, so the sealed report is on disk before the first attempt to
send. When the shuffler's keys change, the same inside gets a new wrapping, so the report is still recognized and counted once.
Nothing on the wire says who, when, or how often.
"""

import base64
import contextlib
import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shuffledp.core.words import SystemWords, WordSource
from shuffledp.errors import InvalidInput
from shuffledp.esa.crypto import seal_inner, wrap_once
from shuffledp.esa.disk import write_private
from shuffledp.esa.keys import KeyList
from shuffledp.esa.task import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """Reports of one user for one task, one a window.

    Attributes:
        task: what the user agreed to; its plan is proved when it is read.
        analyzer: the analyzer's published keys.
        shufflers: the shufflers' published keys, the innermost first.
        folder: where reports wait; only the user can read it.
        words: the randomness; the system's unless told otherwise.
    """

    task: Task
    analyzer: KeyList
    shufflers: Sequence[KeyList]
    folder: Path
    words: WordSource | None = None

    def __post_init__(self) -> None:
        if len(self.shufflers) != self.task.hops:
            raise InvalidInput(f"this task has {self.task.hops} shufflers; got the keys of {len(self.shufflers)}.")

    def report(self, value: Any, *, window: int, credential: bytes = b"") -> bytes:
        """What to send for a window: the credential, if the shuffler wants one, and the sealed report.

        Asked again, for any value, it is the same: one report a window.
        """
        with self._alone():
            kept = self._kept()
            found = kept.get(str(window))
            if found is None:
                inside = seal_inner(randomized(self.task, value, self.words), self.task, self.analyzer)
                for hop, keys in enumerate(self.shufflers[:-1], start=1):
                    inside = wrap_once(inside, self.task, keys, hop)
                found = self._wrapped(inside, credential)
                self._keep(kept | {str(window): found})
            elif credential and not found["sent"] and found.get("credential") != _text(credential):
                found = found | {"credential": _text(credential)}  # the one of before was refused
                self._keep(kept | {str(window): found})
        return _upload(found)

    def rewrapped(self, *, window: int) -> bytes:
        """The same report for the shuffler's keys of now, after it said outdated_config."""
        with self._alone():
            kept = self._kept()
            if str(window) not in kept:
                raise InvalidInput("there is no report for this window yet. Make one first.")
            before = kept[str(window)]
            found = self._wrapped(base64.b64decode(before["inner"]), base64.b64decode(before.get("credential", "")))
            self._keep(kept | {str(window): found})
        return _upload(found)

    def moved(self, window: int, now: int) -> bytes:
        """What to send for the window of now, when one had ended before its report arrived: the same, if there is none yet."""
        with self._alone():
            kept = self._kept()
            late = kept.pop(str(window), None)
            if str(now) not in kept:
                if late is None or late["sent"]:
                    raise InvalidInput("there is no report that could go to this window. Make one first.")
                kept[str(now)] = late
            self._keep(kept)
        return _upload(kept[str(now)])

    def arrived(self, *, window: int) -> None:
        """The shuffler has it."""
        with self._alone():
            kept = self._kept()
            if str(window) in kept:
                self._keep(kept | {str(window): kept[str(window)] | {"sent": True}})

    @property
    def reports(self) -> int:
        """How many reports this user made for the task: each costs at most the task's guarantee."""
        return len(self._kept())

    @property
    def waiting(self) -> list[int]:
        """Windows whose report has not arrived yet."""
        return [int(window) for window, entry in self._kept().items() if not entry["sent"]]

    def _wrapped(self, inside: bytes, credential: bytes) -> dict[str, Any]:
        """The outermost layer is the only one that is ever renewed, so that every shuffler knows the report again."""
        sealed = wrap_once(inside, self.task, self.shufflers[-1], self.task.hops)
        return {"inner": _text(inside), "sealed": _text(sealed), "credential": _text(credential), "sent": False}

    @property
    def _file(self) -> Path:
        return self.folder / f"{self.task.id}.json"

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """One thread or process of the user at a time: two that both found no report would randomize twice."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = os.open(self._file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise InvalidInput(f"cannot write in {self.folder}: {error.strerror}. Nothing was reported.") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def _kept(self) -> dict[str, Any]:
        try:
            data = self._file.read_bytes()
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise InvalidInput(f"cannot read {self._file}: {error.strerror}. Mend it before reporting.") from None
        try:
            found = json.loads(data.decode())
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict) or not all(_is_report(window, entry) for window, entry in found.items()):
            # guessing could mean a second randomization of the same value
            raise InvalidInput(
                f"{self._file} is damaged, so it is not known what was reported. Restore it, or stop reporting."
            )
        return found

    def _keep(self, kept: dict[str, Any]) -> None:
        """On disk, whole, before anything is sent."""
        try:
            write_private(self._file, json.dumps(kept))
        except OSError as error:
            raise InvalidInput(f"cannot write {self._file}: {error.strerror}. Nothing was reported.") from None


def randomized(task: Task, value: Any, words: WordSource | None = None) -> int:
    """One user's message: encoded and randomized with the system's randomness."""
    source, protocol = words or SystemWords(), task.plan.protocol
    values: Any = [value]
    symbols = protocol.encode(values, source, first_row=0)
    return int(protocol.randomizer.randomize(symbols, source, first_row=0)[0])


def _upload(entry: dict[str, Any]) -> bytes:
    return base64.b64decode(entry.get("credential", "")) + base64.b64decode(entry["sealed"])


def _is_report(window: str, entry: Any) -> bool:
    """Whether an entry is one that was kept."""
    try:
        int(window)
        reports = [base64.b64decode(entry[name], validate=True) for name in ("inner", "sealed")]
        base64.b64decode(entry.get("credential", ""), validate=True)
        return all(reports) and type(entry["sent"]) is bool
    except (AttributeError, KeyError, TypeError, ValueError):
        return False


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
