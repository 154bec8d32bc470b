"""Engines and stores that only this file knows: registered, they are used by name as ours are."""

import json
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import csv

from shuffledp import InvalidInput, KeyedRandomness, plan, run_file
from shuffledp.cli import cli
from shuffledp.engines import registry as engines
from shuffledp.engines.memory import Memory
from shuffledp.engines.tally import Tally
from shuffledp.service.stores import registry as stores
from shuffledp.service.stores.registry import Backend, open_store, restore_store, shown
from shuffledp.service.stores.sqlite.store import SQLiteStore, restore


class Watched:
    """As in memory, and it remembers what it ran."""

    name: ClassVar[str] = "watched"

    def __init__(self) -> None:
        self.ran = list[str]()

    def tally(self, protocol: Any, *given: Any, **more: Any) -> Tally:
        self.ran.append(protocol.kind)
        return Memory().tally(protocol, *given, **more)


def test_an_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    found = plan("histogram", n=1000, epsilon=1.0, delta=1e-6, size=3)
    found.save(tmp_path / "plan.json")
    data = tmp_path / "people.csv"
    csv.write_csv(pa.table({"x": np.arange(1000) % 3}), data)
    ours = run_file(found, data, column="x", engine="memory", randomness=KeyedRandomness.seeded(1))
    line = ["run", str(tmp_path / "plan.json"), str(data), "--column", "x", "--engine", "watched", "--json"]
    assert "'watched' is not one of" in CliRunner().invoke(cli, line).output
    watched = Watched()
    engines.register(watched)
    try:
        theirs = run_file(found, data, column="x", engine="watched", randomness=KeyedRandomness.seeded(1))
        assert (theirs.estimate.value == ours.estimate.value).all()
        assert json.loads(CliRunner().invoke(cli, line).stdout)["n"] == 1000
        assert watched.ran == ["histogram", "histogram"]
        assert "|watched]" in "".join(CliRunner().invoke(cli, ["run", "--help"]).output.split())
    finally:
        engines.unregister(watched)
    with pytest.raises(InvalidInput, match="there is no engine 'watched'"):
        run_file(found, data, column="x", engine="watched")
    for wrong, why in (
        (Memory(), "already has an engine 'memory'"),
        (7, "must be an engine"),
        ("watched", "must be an engine"),
    ):
        with pytest.raises(InvalidInput, match=why):
            engines.register(wrong)  # type: ignore[arg-type]


def test_a_store(tmp_path: Path) -> None:
    shelf = Backend(
        begins="shelf://",
        open=lambda place, /, **how: SQLiteStore(str(tmp_path / place), **how),
        restore=lambda copy, place, **how: restore(copy, str(tmp_path / place), **how),
        place=lambda rest: f"{rest}.db",
        shown=lambda url: url.replace("secret", "***"),
    )
    with pytest.raises(InvalidInput, match=r"a URL that begins with postgresql:// or sqlite:///\."):
        open_store("shelf://one")
    stores.register(shelf)
    try:
        open_store("shelf://one").backup(tmp_path / "copy")
        restore_store(tmp_path / "copy", "shelf://two", nothing_released_since=True)
        assert (tmp_path / "two.db").exists()
        assert shown("shelf://secret") == "shelf://***"
        with pytest.raises(InvalidInput, match=r"postgresql:// or shelf:// or sqlite:///\."):
            open_store("drawer://one")
    finally:
        stores.unregister(shelf)
    with pytest.raises(InvalidInput, match="there is no store of the kind shelf://"):
        open_store("shelf://one")
    with pytest.raises(InvalidInput, match="must be a kind of store"):
        stores.register(SQLiteStore)  # type: ignore[arg-type]
