"""What an analyzer remembers: exactly the ids it opened, in files of its own that it can rely on."""

import os
import stat
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock, Timeout

from shuffledp import InvalidInput
from shuffledp.service.analyzer.opened_reports import OpenedReports, first_of_each
from shuffledp.service.wire.released_batch import Ids


def ids(names: list[bytes]) -> Ids:
    return np.frombuffer(b"".join(names), dtype="S16")


def test_ids_are_told_apart_by_every_byte(tmp_path: Path) -> None:
    """Ids that begin alike, or end in zeros, as an attacker could choose them: as Python's sets have it."""
    generator = np.random.default_rng(3)
    memory, seen = OpenedReports(tmp_path), set[bytes]()
    for batch in range(20):
        # few different bytes in few places, so that many are equal, nearly equal, or differ in a trailing zero
        array = np.zeros((int(generator.integers(1, 400)), 16), dtype=np.uint8)
        array[:, [0, 7, 8, 14, 15]] = generator.choice([0, 1, 255], (len(array), 5))
        names = [row.tobytes() for row in array]
        places = first_of_each(ids(names))
        assert sorted(places) == sorted({name: j for j, name in reversed(list(enumerate(names)))}.values())
        ordered = ids(names)[places]
        assert ordered.tobytes() == b"".join(sorted(set(names)))
        with memory.of("task") as remembered:
            known = remembered.among(ordered, str(batch))
            assert known.tolist() == [name in seen for name in sorted(set(names))]
            new = ordered[~known]
            if len(new):
                remembered.remember(new, str(batch))
            assert not remembered.among(new, str(batch)).any()  # its own batch is not another
        with memory.of("other") as remembered:
            assert not remembered.among(ordered, str(batch)).any()
        seen |= set(names)


def test_only_their_owner_can_read_what_was_opened(tmp_path: Path) -> None:
    with OpenedReports(tmp_path / "deep" / "opened").of("task") as remembered:
        remembered.remember(ids([b"a" * 16, b"b" * 16]), "batch")
    (path,) = tmp_path.rglob("*.ids")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_what_is_remembered_is_on_disk_with_its_folders_name_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder of the task in its folder, then the ids, then their name: a power cut forgets nothing that was opened."""
    synced = list[str]()

    def fsync(handle: int) -> None:
        names = {path.stat().st_ino: path.name for path in [tmp_path, *tmp_path.rglob("*")]}
        synced.append(names[os.fstat(handle).st_ino].partition("-")[0])

    monkeypatch.setattr(os, "fsync", fsync)
    with OpenedReports(tmp_path).of("task") as remembered:
        assert synced == [tmp_path.name.partition("-")[0]]
        remembered.remember(ids([b"a" * 16]), "batch")
        assert synced[1:] == [".batch.ids", "task"]
    assert {path.name for path in tmp_path.rglob("*.ids")} == {"batch.ids"}


@pytest.mark.parametrize("content", [b"", b"a" * 15, b"b" * 16 + b"a" * 16, b"a" * 32])
def test_a_damaged_memory_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "batch.ids").write_bytes(content)
    with OpenedReports(tmp_path).of("task") as remembered, pytest.raises(InvalidInput, match="was altered"):
        remembered.among(ids([b"a" * 16]), "another")


def test_only_one_analysis_of_a_task_has_its_turn_until_it_is_done(tmp_path: Path) -> None:
    """Until then another one of the same task waits, and those of other tasks do not."""
    memory = OpenedReports(tmp_path)
    with memory.of("task"):
        with pytest.raises(Timeout), FileLock(tmp_path / "task" / "lock", timeout=0):
            pytest.fail("two have the turn")
        with OpenedReports(tmp_path).of("other"):
            pass
    with FileLock(tmp_path / "task" / "lock", timeout=0):
        pass


def test_where_no_turn_can_be_taken_nothing_is_opened(tmp_path: Path) -> None:
    """Two analyses at once could both open a report."""
    (tmp_path / "task" / "lock").mkdir(parents=True)
    with pytest.raises(InvalidInput, match="cannot remember"), OpenedReports(tmp_path).of("task"):
        pytest.fail("there is no turn")


def test_where_nothing_can_be_remembered_nothing_is_opened(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(InvalidInput, match=r"cannot remember .* Choose another folder with --opened"),
        OpenedReports(tmp_path / "file").of("task"),
    ):
        pytest.fail("there is no such folder")
