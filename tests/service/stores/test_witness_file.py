"""An earlier state of a store is not served, whoever brought it back: a witness elsewhere remembers how far it had come."""

import errno
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from uuid import UUID

import pytest

from oracles.clock import Clock
from oracles.postgres import PostgresServer
from oracles.server import Place
from oracles.shuffling import ANALYZER, RING, TASK, messages, reports
from oracles.store_suite import started
from shuffledp import InvalidInput
from shuffledp.service.shuffler.shuffler import Shuffler
from shuffledp.service.stores.batch import Batch
from shuffledp.service.stores.crash_points import Point
from shuffledp.service.stores.registry import open_store, restore_store
from shuffledp.service.stores.store import Instance, StoreUnavailable
from shuffledp.service.stores.witness_file import SetBack, Witness


@pytest.fixture
def witness(tmp_path: Path) -> Witness:
    return Witness(tmp_path / "witness")


def serving(url: str, witness: Witness | None, reached: Callable[[Point], None] = lambda _: None) -> Shuffler:
    shuffler = Shuffler(
        store=open_store(url, reached=reached), ring=RING, clock=Clock(1000.0), witness=witness, reached=reached
    )
    shuffler.serve(TASK, ANALYZER.public())
    return shuffler


def released(shuffler: Shuffler) -> Batch:
    batch = shuffler.close(TASK.id, ignore_window=True)
    assert isinstance(batch, Batch)
    return batch


# Setting a store back: what brings back what it was when the fixture began


SettingBack = Callable[[], None]


@pytest.fixture(params=["sqlite", "postgresql"])
def collected(request: pytest.FixtureRequest, tmp_path: Path, witness: Witness) -> Iterator[tuple[str, SettingBack]]:
    """A store with an open batch of 60, and what brings this state back as a snapshot does: the same file, the same server."""
    first = reports(60)
    if request.param == "sqlite":
        url = str(tmp_path / "store.db")
        shuffler = serving(url, witness)
        shuffler.accept(TASK.id, first)
        shuffler.shut_down()
        before = (tmp_path / "store.db").read_bytes()

        def write_over() -> None:
            (tmp_path / "store.db").write_bytes(before)

        yield url, write_over
        return
    server = PostgresServer()
    snapshot = server.folder / "snapshot"
    try:
        url = server.place("store")
        shuffler = serving(url, witness)
        shuffler.accept(TASK.id, first)
        shuffler.shut_down()

        def set_back() -> None:
            server.kill()
            shutil.rmtree(server.data)
            snapshot.rename(server.data)
            server.start()

        server.kill()
        subprocess.run(["cp", "-a", server.data, snapshot], check=True)
        server.start()
        yield url, set_back
    finally:
        server.stop()


def test_a_store_that_was_set_back_releases_nothing_again(
    collected: tuple[str, SettingBack], witness: Witness, tmp_path: Path
) -> None:
    url, set_back = collected
    shuffler = serving(url, witness)
    assert len(messages(shuffler, released(shuffler))) == 60
    shuffler.shut_down()
    set_back()
    for _ in range(2):
        with pytest.raises(SetBack, match=r"was set back to an earlier state: .* shuffledp shuffler restore"):
            serving(url, witness)
    with closing(open_store(url, read_only=True)) as looking:
        assert [batch.state for batch in looking.history()] == ["OPEN"]
        looking.backup(tmp_path / "copy.db")
    new = str(tmp_path / "new.db")
    with pytest.raises(
        InvalidInput, match=r"closed or destroyed after the backup was made\. Leave out --nothing-released-since"
    ):
        restore_store(tmp_path / "copy.db", new, nothing_released_since=True, witness=witness)
    restore_store(tmp_path / "copy.db", new, nothing_released_since=False, witness=witness)
    shuffler = serving(new, witness)
    assert shuffler.accept(TASK.id, reports(60)) == ["accepted"] * 60  # other people
    assert released(shuffler).count == 60
    shuffler.shut_down()


def test_without_a_witness_it_would_show_who_came_later(collected: tuple[str, SettingBack]) -> None:
    """Why there is one: both releases hold the 60, and one of them three people more."""
    url, set_back = collected
    shuffler = serving(url, None)
    first = messages(shuffler, released(shuffler))
    shuffler.shut_down()
    set_back()
    shuffler = serving(url, None)
    shuffler.accept(TASK.id, reports(3, first=60))
    second = messages(shuffler, released(shuffler))
    shuffler.shut_down()
    for message in first:
        second.remove(message)
    assert sorted(second) == [60, 61, 62]


def test_a_store_that_goes_on_is_served(place: Place, tmp_path: Path, witness: Witness) -> None:
    url = place(tmp_path / "store")
    for turn in range(3):
        shuffler = serving(url, witness)
        assert witness.knows(shuffler.store.instance())
        shuffler.accept(TASK.id, reports(60))
        assert released(shuffler).count == 60
        shuffler.tick()
        assert seen(tmp_path) == {"version": 1, "generation": turn + 1, "moved_to": None}
        shuffler.shut_down()


def seen(tmp_path: Path) -> object:
    (path,) = (tmp_path / "witness").glob("*.json")
    assert path.stat().st_mode & 0o077 == 0
    return json.loads(path.read_text())


def test_the_witness_knows_before_anything_is_released(place: Place, tmp_path: Path, witness: Witness) -> None:
    known = list[object]()

    def reached(point: Point) -> None:
        if point in ("close: committed", "release: permuted"):
            known.append(seen(tmp_path))

    shuffler = serving(place(tmp_path / "store"), witness, reached)
    shuffler.accept(TASK.id, reports(60))
    released(shuffler)
    assert known == [{"version": 1, "generation": turn, "moved_to": None} for turn in (0, 1)]
    shuffler.shut_down()


def test_a_batch_that_cannot_be_witnessed_is_released_later(
    place: Place, tmp_path: Path, witness: Witness, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    shuffler = serving(place(tmp_path / "store"), witness)
    shuffler.accept(TASK.id, reports(60))
    with monkeypatch.context() as patch:
        patch.setattr("shuffledp.service.stores.witness_file.write_private", full)
        for ask in (lambda: shuffler.close(TASK.id, ignore_window=True), shuffler.tick):
            with pytest.raises(StoreUnavailable, match=r"cannot remember in .*witness how far .*: No space left"):
                ask()
        (batch,) = shuffler.store.batches(TASK.id, "CLOSING")
        assert shuffler.fetch(batch.id) is None
        assert shuffler.accept(TASK.id, reports(2)) == ["accepted"] * 2  # which is no reason to refuse reports
    shuffler.tick()
    assert len(messages(shuffler, batch)) == 60
    shuffler.shut_down()
    (tmp_path / "file").touch()
    with pytest.raises(StoreUnavailable, match=r"Choose another folder with --witness"):
        serving(place(tmp_path / "another"), Witness(tmp_path / "file"))


@pytest.mark.parametrize(
    "content",
    [
        "", "{}", "[]", "7", '{"version": 2, "generation": 0, "moved_to": null}',
        '{"version": 1, "generation": "0", "moved_to": null}', '{"version": 1, "generation": true, "moved_to": null}',
        '{"version": 1, "generation": 9, "moved_to": 3}',
    ],
)  # fmt: skip
def test_a_damaged_witness_is_refused(tmp_path: Path, witness: Witness, content: str) -> None:
    url = str(tmp_path / "store.db")
    serving(url, witness).shut_down()
    (path,) = (tmp_path / "witness").glob("*.json")
    path.write_text(content)
    with pytest.raises(StoreUnavailable, match="is not the record of a store's witness"):
        serving(url, witness)


class At:
    """A store that has come so far."""

    def __init__(self, generation: int) -> None:
        self.found = Instance(id=UUID(int=5), generation=generation)

    def instance(self) -> Instance:
        return self.found


class Overtaken(At):
    """One that has come to 1, until something happens between its first two answers."""

    def __init__(self, happens: Callable[[], object], *, then: int = 1) -> None:
        super().__init__(1)
        self._happens, self._then, self._asked = happens, then, 0

    def instance(self) -> Instance:
        self._asked += 1
        if self._asked == 2:
            self._happens()
            self.found = Instance(id=UUID(int=5), generation=self._then)
        return self.found


def test_two_shufflers_that_follow_one_store_do_not_alarm_each_other(witness: Witness) -> None:
    """Between two questions of the first, the second takes store and witness further."""
    witness.follow(Overtaken(lambda: witness.follow(At(7)), then=7))  # type: ignore[arg-type]
    witness.follow(At(7))  # type: ignore[arg-type]
    with pytest.raises(SetBack):
        witness.follow(At(6))  # type: ignore[arg-type]


def test_a_shuffler_that_is_slow_does_not_make_the_witness_forget(witness: Witness) -> None:
    """It has looked how far the store has come, and while it waits for its turn another one takes both further."""
    witness.follow(Overtaken(lambda: witness.follow(At(7))))  # type: ignore[arg-type]
    with pytest.raises(SetBack):
        witness.follow(At(6))  # type: ignore[arg-type]


# Moving


def test_a_store_that_is_moved_while_a_batch_is_closed_does_not_release_it(witness: Witness) -> None:
    """The witness is asked by both at once, and the move has its turn first."""

    def moved() -> None:
        with witness.moving(Instance(id=UUID(int=5), generation=0), "new.db"):
            pass

    with pytest.raises(SetBack, match=r"was moved to new\.db"):
        witness.follow(Overtaken(moved))  # type: ignore[arg-type]


def test_a_store_that_was_moved_is_not_served_beside_the_new_one(
    place: Place, tmp_path: Path, witness: Witness
) -> None:
    """Both would release what is open in them."""
    url, copy = place(tmp_path / "store"), tmp_path / "copy.db"
    old = serving(url, witness)
    twin = old.twin()
    old.accept(TASK.id, reports(60))
    old.store.backup(copy)
    with pytest.raises(InvalidInput, match="exists"):  # it fails, and changes nothing
        restore_store(copy, url, nothing_released_since=True, witness=witness)
    old.tick()
    restore_store(copy, str(tmp_path / "new.db"), nothing_released_since=True, witness=witness)
    with pytest.raises(SetBack, match=r"was moved to .*new\.db"):
        old.tick()  # although it runs
    for shuffler in (old, twin):
        for job in (shuffler.check, lambda one=shuffler: one.accept(TASK.id, reports(1))):
            with pytest.raises(StoreUnavailable, match=r"was moved to .*new\.db"):
                job()
        with pytest.raises(SetBack):
            shuffler.close(TASK.id, ignore_window=True)
        assert [batch.state for batch in shuffler.store.history()] == ["OPEN"]
        shuffler.shut_down()
    with pytest.raises(SetBack, match=r"was moved to"):
        serving(url, witness)
    with pytest.raises(InvalidInput, match=r"was moved to .*new\.db before\. Leave out"):
        restore_store(copy, place(tmp_path / "third"), nothing_released_since=True, witness=witness)
    new = serving(str(tmp_path / "new.db"), witness)
    assert len(messages(new, released(new))) == 60
    new.shut_down()
    restore_store(copy, place(tmp_path / "third"), nothing_released_since=False, witness=witness)
    third = serving(place(tmp_path / "third"), witness)
    assert third.accept(TASK.id, reports(1)) == ["accepted"]
    third.shut_down()


def test_a_move_that_was_interrupted_is_done_again(tmp_path: Path, witness: Witness) -> None:
    """Killed in between, neither may be served; the same command again makes the new one."""
    with closing(started(open_store(str(tmp_path / "store.db")))) as store:
        store.backup(tmp_path / "copy.db")
        own = store.instance()
        moving = witness.moving(own, f"sqlite:///{tmp_path}/new.db")
        moving.__enter__()
        with pytest.raises(SetBack):
            witness.follow(store)
        del moving
    (tmp_path / "witness" / f"{own.id}.json").write_text(
        json.dumps({"version": 1, "generation": 0, "moved_to": f"sqlite:///{tmp_path}/new.db"})
    )
    restore_store(tmp_path / "copy.db", f"sqlite:///{tmp_path}/new.db", nothing_released_since=True, witness=witness)
