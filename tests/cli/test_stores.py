"""`shuffledp shuffler status | purge | retire` on a store."""

import json
from pathlib import Path

import pytest

from oracles.parties import ANALYZER, SHUFFLER, SIXTEEN, prepared, sealed
from oracles.process import run
from shuffledp.esa.shuffler import Shuffler
from shuffledp.stores.batch import Batch
from shuffledp.stores.sqlite.store import SQLiteStore


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """One released batch of 110 reports and an open one with 7."""
    prepared(tmp_path, SIXTEEN, SHUFFLER)
    shuffler = Shuffler(store=SQLiteStore(tmp_path / "store.db"), ring=SHUFFLER, clock=lambda: 0.0)
    shuffler.serve(SIXTEEN, ANALYZER.public())
    shuffler.accept(SIXTEEN.id, [sealed(j % 16, SIXTEEN) for j in range(110)])
    assert isinstance(shuffler.close(SIXTEEN.id, whatever_the_window=True), Batch)
    shuffler.accept(SIXTEEN.id, [sealed(j % 16, SIXTEEN) for j in range(7)])
    shuffler.shut_down()
    return tmp_path / "store.db"


def test_status_purge_and_retire(store: Path) -> None:
    here, before = store.parent, store.read_bytes()
    listed = json.loads(run("shuffler status store.db --json", cwd=here).stdout)["batches"]
    assert [(batch["state"], batch["reports"]) for batch in listed] == [("RELEASED", 110), ("OPEN", 7)]
    assert store.read_bytes() == before
    assert "110 reports, SHA-256 " in run("shuffler purge store.db --batch 1", cwd=here).stdout
    for line, why in (
        ("shuffler purge store.db --batch 2", "is not a released batch"),
        ("shuffler purge store.db --batch 9", "is not a released batch"),
        ("shuffler retire store.db task.json", "open reports that would be destroyed"),
    ):
        refused = run(line, cwd=here)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert why in refused.stderr
    done = run("shuffler retire store.db task.json --destroy-open", cwd=here)
    assert done.stdout == f"retired task {SIXTEEN.id}; 7 reports were destroyed\n"
    assert "retired already" in run("shuffler retire store.db task.json --destroy-open", cwd=here).stderr
    assert "DESTROYED, 7 reports" in run("shuffler status store.db", cwd=here).stdout
