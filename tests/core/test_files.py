"""Files survive a power cut: their bytes are synced before their name, and their name before anybody goes on."""

import os
import stat
import threading
from pathlib import Path

import pytest

from shuffledp import InvalidInput
from shuffledp.core.files import (
    alone,
    create_private,
    drafted,
    others_can_read,
    read_json,
    write_private,
    write_whole,
)


class Disk:
    """What was synced, in order, and what the folder held at that moment."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.steps = list[tuple[str, dict[str, bytes]]]()
        self._folder = folder
        monkeypatch.setattr(os, "fsync", self._fsync)

    def _fsync(self, handle: int) -> None:
        found = os.fstat(handle)
        inside = {path: path.read_bytes() for path in self._folder.iterdir()}
        contents = {path.stat().st_ino: content.decode() for path, content in inside.items()}
        what = {self._folder.stat().st_ino: "folder", **contents}[found.st_ino]
        self.steps.append((what, {path.name: content for path, content in inside.items()}))


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


def test_a_draft_is_synced_then_renamed_then_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("old")
    disk = Disk(tmp_path, monkeypatch)
    with drafted(tmp_path / "file") as draft:
        draft.write_text("new")
        assert draft.parent == tmp_path
    (first, before), (second, after) = disk.steps
    assert (first, second) == ("new", "folder")
    assert before["file"] == b"old"
    assert after == {"file": b"new"}
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o666 & ~mask


def test_a_draft_that_fails_leaves_the_old_file_and_the_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")

    def fail() -> None:
        with drafted(tmp_path / "file") as draft:
            draft.write_text("half")
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        fail()
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]
    assert (tmp_path / "file").read_text() == "old"


def test_a_new_private_file_is_synced_with_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(tmp_path, monkeypatch)
    create_private(tmp_path / "file", ["one", "two"])
    assert [what for what, _ in disk.steps] == ["one\ntwo\n", "folder"]
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600
    with pytest.raises(FileExistsError):
        create_private(tmp_path / "file", ["three"])
    assert (tmp_path / "file").read_text() == "one\ntwo\n"


def test_a_new_private_file_that_fails_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fsync(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match="No space left"):
        create_private(tmp_path / "file", ["one"])
    assert not list(tmp_path.iterdir())


def test_a_whole_file_is_everybodys_and_is_there_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mask = os.umask(0o027)
    try:
        write_whole(tmp_path / "file", "text")
        write_whole(tmp_path / "file", b"bytes")
        assert os.umask(0o027) == 0o027  # left as it was
    finally:
        os.umask(mask)
    assert (tmp_path / "file").read_bytes() == b"bytes"
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


@pytest.mark.parametrize("mode", [0o600, 0o700, 0o640, 0o620, 0o610, 0o604, 0o602, 0o601])
def test_whatever_others_may_do_with_a_file_is_noticed(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "file"
    assert not others_can_read(path)
    path.touch()
    path.chmod(mode)
    assert others_can_read(path) == (mode not in (0o600, 0o700))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"secret-31337", "it is not JSON"),
        (b"\xff", "it is not JSON"),
        (b"[" * 100_000, "it is nested too deeply"),
        (b'{"secret-31337": 1, "secret-31337": 2}', "a name occurs twice in it"),
    ],
)
def test_a_file_that_is_no_document_is_refused_without_its_content(tmp_path: Path, content: bytes, why: str) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(InvalidInput, match=rf"is not a list: {why}\. Use another") as refused:
        read_json(tmp_path / "file", "a list", "Use another.")
    assert refused.value.__context__ is None
    assert "31337" not in str(refused.value)
    with pytest.raises(InvalidInput, match=r"cannot read .*: No such file"):
        read_json(tmp_path / "none", "a list", "Use another.")
    (tmp_path / "file").write_bytes('["\u00e9"]'.encode())
    assert read_json(tmp_path / "file", "a list", "Use another.") == ["\u00e9"]


def test_one_at_a_time(tmp_path: Path) -> None:
    """Whoever is let in first leaves before the next one is let in."""
    seen, waiting = list[str](), threading.Event()

    def other() -> None:
        waiting.set()
        with alone(tmp_path / "lock"):
            seen.append("second")

    thread = threading.Thread(target=other)
    with alone(tmp_path / "lock"):
        thread.start()
        assert waiting.wait(60)
        thread.join(0.2)  # long enough to go ahead if nothing stops it; waiting longer changes nothing
        seen.append("first")
    thread.join(60)
    assert seen == ["first", "second"]
