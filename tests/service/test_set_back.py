"""What operators do with the files of a store, against a shuffler that runs: no open batch is released a second time."""

import json
import os
import shutil
import signal
from pathlib import Path

import pytest

from oracles.parties import SHUFFLER, prepared, sealed
from oracles.parties import SIXTEEN as TASK
from oracles.process import assert_refused, called
from oracles.server import Place, Server
from shuffledp.service.analyzer.batch_fetcher import BatchFetcher
from shuffledp.service.client.sender import Sender


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return prepared(tmp_path / "shuffler", TASK, SHUFFLER)


def released(server: Server) -> None:
    operator = BatchFetcher(url=server.url, token=(server.folder / "operator.token").read_text())
    operator.close(TASK)


def refused(folder: Path, store: str, more: str = "") -> str:
    """What `serve` says that does not serve."""
    try:
        server = Server(folder, more, store=store)
    except AssertionError as error:
        said = str(error)
        assert said.startswith("shuffledp: ")
        assert "Traceback" not in said
        return said
    server.stop()
    raise AssertionError(f"{store} is served")


def analysis(server: Server) -> list[str]:
    return f"analyzer run task.json --url {server.url} --token analyzer.token --keys analyzer.key --json".split()


def test_a47_a_backup_is_not_served(folder: Path, place: Place) -> None:
    """Else 210 people are in two releases, and 20 in the second only: the difference of the two shows them."""
    server = Server(folder, store=place(folder / "store.db"))
    assert set(Sender(url=server.url).send(TASK, [sealed(j % 16, TASK) for j in range(210)])) == {"accepted"}
    assert called(["shuffler", "backup", place(folder / "store.db"), "copy.db"], cwd=folder).returncode == 0
    released(server)
    server.stop()
    said = refused(folder, "copy.db")
    assert "copy.db is a backup, and what is open in it may have been released since" in said
    assert "Make a store of it with shuffledp shuffler restore copy.db NEW" in said
    for line in ("purge copy.db --batch 1", "retire copy.db task.json --destroy-open"):
        done = called(f"shuffler {line}", cwd=folder)
        assert (done.returncode, "is a backup" in done.stderr) == (2, True)
    done = called("shuffler restore copy.db new.db --nothing-released-since", cwd=folder)
    assert (done.returncode, "closed or destroyed after the backup was made" in done.stderr) == (2, True)
    assert called("shuffler restore copy.db new.db", cwd=folder).returncode == 0
    states = [
        batch["state"] for batch in json.loads(called("shuffler status new.db --json", cwd=folder).stdout)["batches"]
    ]
    assert states == ["DESTROYED", "OPEN"]


def test_a47_neither_a_copy_nor_an_earlier_state_of_the_file_is_served(folder: Path, tmp_path: Path) -> None:
    """As by cp, and as from a snapshot of the disk: the same file, as it was before its batch was released."""
    store, witness = folder / "store.db", f"--witness {tmp_path / 'witness'}"
    server = Server(folder, witness)
    assert set(Sender(url=server.url).send(TASK, [sealed(j % 16, TASK) for j in range(210)])) == {"accepted"}
    server.stop()
    earlier = store.read_bytes()
    shutil.copy2(store, folder / "copied.db")
    assert "copied.db is a copy of a store" in refused(folder, "copied.db", witness)
    server = Server(folder, witness)
    released(server)
    server.stop()
    store.write_bytes(earlier)
    said = refused(folder, "store.db", witness)
    assert "was set back to an earlier state" in said
    assert "shuffledp shuffler restore" in said
    assert called(f"shuffler restore store.db new.db {witness}", cwd=folder).returncode == 0
    server = Server(folder, witness, store="new.db")
    assert set(Sender(url=server.url).send(TASK, [sealed(j % 16, TASK) for j in range(110)])) == {"accepted"}
    released(server)
    _, log = server.stop()
    assert "Traceback" not in log


def test_an_analyzer_opens_nobody_twice_when_a_shuffler_released_them_twice(folder: Path, tmp_path: Path) -> None:
    """A store that was set back where its witness was too: 210 people in both releases, 20 in the second only."""
    store, witness = folder / "store.db", tmp_path / "witness"
    people = [sealed(j % 16, TASK) for j in range(230)]
    server = Server(folder, f"--witness {witness}")
    Sender(url=server.url).send(TASK, people[:210])
    server.stop()
    shutil.copytree(witness, tmp_path / "snapshot")
    earlier = store.read_bytes()
    server = Server(folder, f"--witness {witness}")
    released(server)
    first = called(analysis(server), cwd=folder)
    assert json.loads(first.stdout)["n"] == 210, first.stderr
    server.stop()
    store.write_bytes(earlier)
    shutil.rmtree(witness)
    (tmp_path / "snapshot").rename(witness)
    server = Server(folder, f"--witness {witness}")  # which nothing can tell on this machine
    Sender(url=server.url).send(TASK, people[210:])
    released(server)
    second = called(analysis(server), cwd=folder)
    assert_refused(second, "only 20 of the 230 reports received are neither repeated nor opened before")
    server.stop()


def test_a48_a_store_with_two_names_or_no_content_is_not_served(folder: Path) -> None:
    server = Server(folder)
    Sender(url=server.url).send(TASK, [sealed(j % 16, TASK) for j in range(60)])
    os.link(folder / "store.db", folder / "alias.db")
    assert "alias.db has another name (a hard link)" in refused(folder, "alias.db")
    server.stop(signal.SIGKILL)
    (folder / "alias.db").unlink()
    (folder / "linked.db").symlink_to("store.db")
    server = Server(folder, store="linked.db")
    sent = [sealed(j % 16, TASK) for j in range(60)]
    assert set(Sender(url=server.url).send(TASK, sent)) == {"accepted"}
    server.stop(signal.SIGKILL)
    server = Server(folder)
    assert set(Sender(url=server.url).send(TASK, sent)) == {"report_replayed"}
    server.stop()
    (folder / "short.db").write_bytes(b"x")
    (folder / "short.db").chmod(0o600)
    assert "is not a store" in refused(folder, "short.db")


def test_a_store_that_the_witness_does_not_know_is_served_with_a_note(folder: Path, tmp_path: Path) -> None:
    server = Server(folder, f"--witness {tmp_path / 'witness'}")
    Sender(url=server.url).send(TASK, [sealed(j % 16, TASK) for j in range(110)])
    released(server)
    assert "note:" not in server.stop()[1]
    shutil.rmtree(tmp_path / "witness")
    assert (
        "note: the witness does not know this store yet"
        in Server(folder, f"--witness {tmp_path / 'witness'}").stop()[1]
    )
    (tmp_path / "file").touch()
    assert "Choose another folder with --witness" in refused(folder, "store.db", f"--witness {tmp_path}/file/below")
