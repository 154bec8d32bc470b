"""`shuffledp shuffler status | purge | retire` on a store."""

import json
from pathlib import Path
from typing import Any

import pytest

from oracles.parties import ANALYZER, SHUFFLER, SIXTEEN, prepared, sealed
from oracles.process import assert_refused
from oracles.process import called as run
from shuffledp.service.shuffler.shuffler import Shuffler
from shuffledp.service.stores.batch import Batch
from shuffledp.service.stores.sqlite.store import SQLiteStore


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """One released batch of 110 reports and an open one with 7."""
    prepared(tmp_path, SIXTEEN, SHUFFLER)
    shuffler = Shuffler(store=SQLiteStore(tmp_path / "store.db"), ring=SHUFFLER, clock=lambda: 0.0)
    shuffler.serve(SIXTEEN, ANALYZER.public())
    shuffler.accept(SIXTEEN.id, [sealed(j % 16, SIXTEEN) for j in range(110)])
    assert isinstance(shuffler.close(SIXTEEN.id, ignore_window=True), Batch)
    shuffler.accept(SIXTEEN.id, [sealed(j % 16, SIXTEEN) for j in range(7)])
    shuffler.shut_down()
    return tmp_path / "store.db"


def test_status_purge_and_retire(store: Path) -> None:
    here, before = store.parent, store.read_bytes()
    listed = json.loads(run("shuffler status store.db --json", cwd=here).stdout)["batches"]
    assert [(batch["state"], batch["reports"]) for batch in listed] == [("RELEASED", 110), ("OPEN", 7)]
    assert store.read_bytes() == before
    mixed = run("shuffler purge store.db --batch 1 --batch 2", cwd=here)  # all of them, or none
    assert (mixed.returncode, mixed.stdout) == (2, "")
    assert json.loads(run("shuffler status store.db --json", cwd=here).stdout)["batches"] == listed
    assert "110 reports, SHA-256 " in run("shuffler purge store.db --batch 1", cwd=here).stdout
    for line, why in (
        ("shuffler purge store.db --batch 2", "is not a released batch"),
        ("shuffler purge store.db --batch 9", "is not a released batch"),
        ("shuffler retire store.db task.json", "open reports that would be destroyed"),
    ):
        refused = run(line, cwd=here)
        assert_refused(refused, why)
    done = run("shuffler retire store.db task.json --destroy-open", cwd=here)
    assert done.stdout == f"retired task {SIXTEEN.id}; 7 reports were destroyed\n"
    assert "retired already" in run("shuffler retire store.db task.json --destroy-open", cwd=here).stderr
    assert "DESTROYED, 7 reports" in run("shuffler status store.db", cwd=here).stdout


def test_results_as_json(store: Path) -> None:
    here = store.parent

    def found(line: str) -> Any:
        done = run(f"{line} --json", cwd=here)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    assert found("shuffler backup store.db copy.db") == {"copy": "copy.db"}
    assert found("shuffler restore copy.db sqlite:///again.db") == {"store": "sqlite:///again.db"}
    (purged,) = found("shuffler purge sqlite:///again.db --batch 1")["batches"]
    assert (purged["batch"], purged["reports"], purged["purged"]) == (1, 110, True)
    assert found("shuffler status again.db")["batches"][0] == purged
    assert found("shuffler retire store.db task.json --destroy-open") == {"task": SIXTEEN.id, "destroyed": 7}
    keys = found("keygen shuffler -o new.key")
    assert (keys["file"], keys["published"], keys["keys"][0]["state"]) == ("new.key", "new.pub.json", "ACTIVE")
    shown = found("task show task.json --keys new.pub.json")
    assert (shown["task"], shown["document"]) == (SIXTEEN.id, SIXTEEN.document())
    assert shown["keys"] == [{"role": "shuffler", "keys": keys["keys"]}]
    assert found("tokens key -o admission.key") == {"file": "admission.key"}
    issued = found("tokens issue task.json --key admission.key --count 3 -o tokens.txt")
    assert issued == {"tokens": 3, "file": "tokens.txt"}


def test_a_store_of_an_unknown_kind(store: Path) -> None:
    done = run("shuffler status cloud://store", cwd=store.parent)
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        "there is no store of the kind cloud://. Use a path, or a URL that begins with postgresql:// or sqlite:///."
        in done.stderr
    )
