"""Every registered store passes the suite of `oracles.store_suite`; and the suite rejects stores that are wrong."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oracles import store_suite as suite
from oracles.scale import examples, full
from oracles.server import Place
from oracles.store_suite import KEYS, Opening, closed, name, released, reports, started
from shuffledp import InvalidInput
from shuffledp.core.report_outcome import Outcome
from shuffledp.service.shuffler import release as releasing
from shuffledp.service.shuffler.release import release
from shuffledp.service.stores.batch import Batch, Contents
from shuffledp.service.stores.crash_points import Reached, pass_by
from shuffledp.service.stores.registry import BACKENDS, open_store, restore_store
from shuffledp.service.stores.sqlite import records as sqlite_records
from shuffledp.service.stores.sqlite.store import SQLiteStore
from shuffledp.service.stores.store import Store


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(releasing, "CHUNK", 7)
    monkeypatch.setattr(sqlite_records, "STEP", 4)


@pytest.fixture
def opening(place: Place, tmp_path: Path) -> Opening:
    return lambda name="store", reached=pass_by: open_store(place(tmp_path / name), reached=reached)


@pytest.mark.parametrize("check", suite.CHECKS, ids=lambda check: check.__name__)
def test_a_registered_store(check: Callable[[Opening], None], opening: Opening) -> None:
    check(opening)


def histories(many: int, few: int) -> pytest.MarkDecorator:
    """Random histories in every kind of store; a server takes longer, so fewer of them."""
    cases = [
        (kind, seed)
        for kind in sorted(BACKENDS)
        for seed in range(1, examples(many) if kind == "sqlite" else full(few, many))
    ]
    return pytest.mark.parametrize(("scheme", "seed"), cases, indirect=["scheme"])


@histories(10, few=3)
def test_a_registered_store_does_what_its_model_does(opening: Opening, seed: int) -> None:
    suite.does_what_its_model_does(opening, seed)


@histories(6, few=2)
def test_tasks_in_one_store_have_nothing_to_do_with_each_other(opening: Opening, seed: int) -> None:
    suite.keeps_tasks_keys_and_windows_apart(opening, seed)


def test_a_backup_is_a_store_and_open_batches_are_not_released_twice(
    place: Place, opening: Opening, tmp_path: Path
) -> None:
    store = started(opening())
    store.add_reports("t", reports(1, 2), keys=KEYS)
    batch = closed(store)
    release(store, batch.id)
    store.add_reports("t", reports(3), keys=KEYS)
    store.backup(tmp_path / "copy")
    with pytest.raises(InvalidInput, match="exists"):
        store.backup(tmp_path / "copy")
    with pytest.raises(InvalidInput, match="exists"):
        restore_store(tmp_path / "copy", place(tmp_path / "store"), nothing_released_since=True)
    for kept in (True, False):
        url = place(tmp_path / f"again {kept}")
        restore_store(tmp_path / "copy", url, nothing_released_since=kept)
        again = open_store(url, create=False)
        assert released(again, batch.id) == released(store, batch.id)
        assert again.open_batch("t").count == kept
        assert again.add_reports("t", reports(1, 3, 4), keys=KEYS) == ["report_replayed"] * 2 + ["accepted"]
        again.close()
    store.close()


def test_whatever_is_open_in_a_backup_is_destroyed_and_what_was_closing_leaves_as_it_would_have(
    place: Place, opening: Opening, tmp_path: Path
) -> None:
    """In every task, under every key; credentials stay spent, and what the tasks are stays known."""
    store = started(opening())
    store.add_task("u", "another", hop=2, key=suite.OTHER, now=0.0)
    store.add_reports("t", reports(1, 2, 3), [name(j) for j in (51, 52, 53)], keys=KEYS)
    closing = closed(store)
    both = [*reports(4), (name(5), suite.inner(5, key=1))]
    assert store.add_reports("t", both, [name(54), name(55)], keys=suite.BOTH, opened_at=1.0) == ["accepted"] * 2
    assert store.add_reports("u", [(name(6), suite.inner(6, key=1))], [name(56)], keys=suite.BOTH) == ["accepted"]
    store.backup(tmp_path / "copy")
    release(store, closing.id)
    for kept in (True, False):
        url = place(tmp_path / f"again {kept}")
        restore_store(tmp_path / "copy", url, nothing_released_since=kept)
        again = open_store(url, create=False)
        assert again.tasks() == store.tasks()
        assert [(batch.id, batch.state) for batch in again.unfinished()] == [(closing.id, "CLOSING")]
        release(again, closing.id)
        assert released(again, closing.id) == released(store, closing.id)
        for task, held in (("t", 2), ("u", 1)):
            batches = again.batches(task)
            assert sum(batch.count for batch in batches if batch.state == "OPEN") == (held if kept else 0)
            assert sum(batch.count for batch in batches if batch.state == "DESTROYED") == (0 if kept else held)
        assert again.add_reports("t", reports(1, 2, 3, 4, 5), keys=KEYS) == ["report_replayed"] * 5
        assert again.add_reports("u", reports(6, 1), keys=KEYS) == ["report_replayed", "outdated_key"]
        spent = again.add_reports("t", reports(*range(60, 66)), [name(j) for j in range(51, 57)], keys=KEYS)
        assert spent == ["not_admitted"] * 5 + ["accepted"]
        again.close()
    store.close()


def test_a_store_that_is_not_there(place: Place, tmp_path: Path) -> None:
    url = place(tmp_path / "store")
    for create, read_only in ((False, False), (True, True), (False, True)):
        with pytest.raises(InvalidInput, match="there is no store"):
            open_store(url, create=create, read_only=read_only)
    assert list(tmp_path.iterdir()) == []


def test_urls_name_the_kind_of_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for url, path in (
        ("a.db", "a.db"), ("sqlite:///b.db", "b.db"), (f"{tmp_path}/c.db", "c.db"), (f"sqlite:///{tmp_path}/d.db", "d.db")
    ):  # fmt: skip
        open_store(url).close()
        assert (tmp_path / path).is_file()
    for url, why in (
        ("cloud:///x", r"no store of the kind cloud://. Use a path, or a URL that begins with .*sqlite:///"),
        ("sqlite://x", "Give e.g. sqlite:///store.db"),
        ("sqlite:///", "Give e.g. sqlite:///store.db"),
    ):
        with pytest.raises(InvalidInput, match=why):
            open_store(url)


# And wrong ones do not


class ReleasesTooEarly(SQLiteStore):
    """Closes whatever it has."""

    def start_closing(self, batch_id: int, *, at_least: int, **more: Any) -> Batch | None:
        return super().start_closing(batch_id, at_least=min(at_least, 1), **more)


class KeepsTheOrderOfArrival(SQLiteStore):
    """Lets the permutation see when a report arrived, instead of its id."""

    def __init__(self, path: Path | str, **how: Any) -> None:
        super().__init__(path, **how)
        self.arrived: list[bytes] = []

    def add_reports(
        self, task_id: str, reports: Sequence[tuple[bytes, bytes]], *more: Any, **how: Any
    ) -> list[Outcome]:
        self.arrived += [report for report, _ in reports]
        return super().add_reports(task_id, reports, *more, **how)

    def contents(self, batch_id: int) -> Contents | None:
        found = super().contents(batch_id)
        if found is None:
            return None
        numbers = b"".join(name(self.arrived.index(row.tobytes())) for row in found.ids)
        ids = np.frombuffer(numbers, np.uint8).reshape(-1, 16)
        return replace(found, ids=ids)


class SortsWhatItReleases(SQLiteStore):
    """Makes an order of its own."""

    def add_piece(self, batch_id: int, number: int, piece: bytes) -> None:
        records = sorted(piece[start : start + 71] for start in range(0, len(piece), 71))
        super().add_piece(batch_id, number, b"".join(records))


class CountsADuplicate(SQLiteStore):
    """Says of a replay that it was accepted, and counts it."""

    def add_reports(self, *values: Any, **how: Any) -> list[Outcome]:
        kept = super().add_reports(*values, **how)
        again = kept.count(Outcome.REPORT_REPLAYED)
        with self._transaction() as connection:
            connection.execute("UPDATE batch SET count = count + ? WHERE state = 'OPEN'", (again,))
        return [Outcome.ACCEPTED] * len(kept)


class ForgetsReports(SQLiteStore):
    """Erases the ids with the records, so that the same report can come twice."""

    def erase(self, batch_id: int) -> Batch:
        batch = super().erase(batch_id)
        with self._transaction() as connection:
            connection.execute("DELETE FROM report")
        return batch


class MixesKeys(SQLiteStore):
    """Takes records of any listed key into the open batch."""

    def add_reports(
        self, task_id: str, reports: Sequence[tuple[bytes, bytes]], *more: Any, **how: Any
    ) -> list[Outcome]:
        return super().add_reports(task_id, [(one, b"\0" + record[1:]) for one, record in reports], *more, **how)


class CutsRecords(SQLiteStore):
    """Has room for one message only."""

    def add_reports(
        self, task_id: str, reports: Sequence[tuple[bytes, bytes]], *more: Any, **how: Any
    ) -> list[Outcome]:
        return super().add_reports(task_id, [(one, record[:72]) for one, record in reports], *more, **how)


class AcknowledgesTooEarly(SQLiteStore):
    """Says accepted before anything is written down."""

    def __init__(self, path: Path | str, **how: Any) -> None:
        super().__init__(path, **how)
        self.seen: set[bytes] = set()

    def add_reports(self, task_id: str, reports: Sequence[tuple[bytes, bytes]], *_: Any, **how: Any) -> list[Outcome]:
        new = [report not in self.seen for report, _ in reports]
        self.seen.update(report for report, _ in reports)
        return [Outcome.ACCEPTED if one else Outcome.REPORT_REPLAYED for one in new]


class ReleasesAnythingAgain(SQLiteStore):
    """Draws a new secret at every attempt, so that two attempts differ."""

    def contents(self, batch_id: int) -> Contents | None:
        found = super().contents(batch_id)
        return None if found is None else replace(found, secret=os.urandom(32))


WRONG: list[tuple[type[SQLiteStore], Callable[[Opening], None]]] = [
    (ReleasesTooEarly, suite.releases_nothing_below_the_minimum),
    (ReleasesTooEarly, suite.does_what_its_model_does),
    (KeepsTheOrderOfArrival, suite.releases_in_the_order_that_the_permutation_gives),
    (SortsWhatItReleases, suite.releases_in_the_order_that_the_permutation_gives),
    (ReleasesAnythingAgain, suite.takes_up_an_interrupted_release),
    (CountsADuplicate, suite.does_what_its_model_does),
    (ForgetsReports, suite.forgets_purged_bytes_and_no_report),
    (ForgetsReports, suite.does_what_its_model_does),
    (MixesKeys, suite.has_one_key_per_batch),
    (CutsRecords, suite.gives_bundles_of_all_lengths_back),
    (AcknowledgesTooEarly, suite.keeps_all_or_nothing_of_an_upload),
    (AcknowledgesTooEarly, suite.does_what_its_model_does),
]


@pytest.mark.parametrize(("wrong", "check"), WRONG, ids=[f"{w.__name__}-{c.__name__}" for w, c in WRONG])
def test_the_suite_rejects(wrong: type[SQLiteStore], check: Callable[[Opening], None], tmp_path: Path) -> None:
    def opening(name: str = "store", reached: Reached = pass_by) -> Store:
        return wrong(tmp_path / name, reached=reached)

    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check(opening)
