"""Files survive a power cut: their bytes are synced before their name, and their name before anybody goes on."""

import os
import stat
from pathlib import Path

import pytest

from shuffledp.core.files import write_private


def test_bytes_then_name_then_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, steps = tmp_path / "file", list[str]()

    def fsync(handle: int) -> None:
        steps.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "bytes")
        assert path.read_text() == ("new" if steps[-1] == "folder" else "old")

    path.write_text("old")
    monkeypatch.setattr(os, "fsync", fsync)
    write_private(path, "new")
    assert steps == ["bytes", "folder"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fsync(_: int) -> None:
        raise OSError(28, "No space left on device")

    (tmp_path / "file").write_text("old")
    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match="No space left"):
        write_private(tmp_path / "file", "new")
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]
    assert (tmp_path / "file").read_text() == "old"
