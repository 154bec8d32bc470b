"""Which reports an analyzer has opened before: a report is opened in one batch only, however often it is released.

For each task and batch there is one file with the sorted ids of the records that were opened. It is on disk before the
first of them is opened.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.files import alone, place_of, sync_folder, write_private
from shuffledp.errors import InvalidInput
from shuffledp.service.wire.released_batch import Ids


def first_of_each(ids: Ids) -> NDArray[np.int64]:
    """Where each id occurs first, in the order of the ids."""
    order = np.argsort(ids, kind="stable")
    ordered = ids[order]
    new = np.ones(len(ids), dtype=np.bool_)
    new[1:] = ordered[1:] != ordered[:-1]
    return order[new]


class OpenedReports:
    """A folder of what was opened, for any number of tasks; only its owner can read it."""

    def __init__(self, folder: Path | str) -> None:
        self._folder = place_of(folder)

    @contextlib.contextmanager
    def of(self, task_id: str) -> Iterator["OpenedOfTask"]:
        """What was opened of one task. Only one analysis of a task at a time: two could both open the same report."""
        folder = self._folder / task_id
        with contextlib.ExitStack() as turn:
            try:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                sync_folder(folder)
                turn.enter_context(alone(folder / "lock"))
            except OSError as error:
                raise _unusable(folder, error) from None
            yield OpenedOfTask(folder)


@dataclass(frozen=True, slots=True)
class OpenedOfTask:
    """What was opened of one task, batch by batch."""

    folder: Path

    def among(self, ids: Ids, batch: str) -> NDArray[np.bool_]:
        """Which of these ids, sorted and different, were opened in another batch than this one."""
        known = np.zeros(len(ids), dtype=np.bool_)
        for path in sorted(self.folder.glob("*.ids")):
            if path.stem != batch:
                before = _mapped(path, ids.dtype)
                few, many = (ids, before) if len(ids) < len(before) else (before, ids)
                places = np.searchsorted(many, few)
                places[places == len(many)] = 0
                found = many[places] == few
                known[found if few is ids else places[found]] = True
        return known

    def remember(self, ids: Ids, batch: str) -> None:
        """Write down what is about to be opened: sorted ids."""
        path = self.folder / f"{batch}.ids"
        try:
            write_private(path, ids.tobytes())
        except OSError as error:
            raise _unusable(path, error) from None


def _mapped(path: Path, kind: np.dtype[np.bytes_]) -> Ids:
    altered = InvalidInput(f"{path} was altered, so opened reports could be missed. Restore it from a copy.")
    try:
        ids: Ids = np.memmap(path, dtype=kind, mode="r")
    except OSError as error:
        raise _unusable(path, error) from None
    except ValueError:  # empty, or not a whole number of ids
        raise altered from None
    if (ids[1:] <= ids[:-1]).any():
        raise altered
    return ids


def _unusable(path: Path, error: OSError) -> InvalidInput:
    return InvalidInput(
        f"cannot remember in {path} which reports were opened: {error.strerror}. Choose another folder with --opened."
    )
