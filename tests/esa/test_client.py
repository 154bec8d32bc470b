"""Clients: one randomization a window, whatever happens to the network, the process or the keys."""

import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from oracles.parties import PARTIES
from shuffledp import InvalidInput, plan
from shuffledp.esa.client import Client
from shuffledp.esa.crypto import unseal
from shuffledp.esa.keys import KeyRing
from shuffledp.esa.shuffler import Shuffler
from shuffledp.esa.sqlite import SQLiteStore
from shuffledp.esa.task import Task
from shuffledp.esa.wire import decode_message

TASK = Task(plan=plan("histogram", n=50, epsilon=0.5, delta=1e-2, size=8), window=60, max_age=600, **PARTIES)
SHUFFLER, ANALYZER = KeyRing.fresh("shuffler"), KeyRing.fresh("analyzer")


def client(folder: Path, shuffler: KeyRing = SHUFFLER) -> Client:
    return Client(task=TASK, analyzer=ANALYZER.public(), shufflers=[shuffler.public()], folder=folder)


def message(sealed: bytes, shuffler: KeyRing = SHUFFLER) -> int | None:
    inner = unseal(sealed, shuffler, TASK.id)
    assert isinstance(inner, bytes)
    payload = unseal(inner, ANALYZER, TASK.id)
    assert isinstance(payload, bytes)
    return decode_message(payload, 8)


def test_another_value_does_not_make_another_report(tmp_path: Path) -> None:
    me = client(tmp_path)
    first = me.report(3, window=1)
    assert me.report(5, window=1) == first
    assert me.report(3, window=2) != first
    assert me.reports == 2
    assert me.waiting == [1, 2]
    me.arrived(window=1)
    assert me.waiting == [2]
    assert me.report(3, window=1) == first


def test_a12_new_keys_wrap_the_same_report(tmp_path: Path) -> None:
    """Ten rotations, each of which destroys the old key: new bytes on the wire, the same report, counted once."""
    clock = [0.0]
    ring, values = SHUFFLER, set()
    shuffler = Shuffler(store=SQLiteStore(":memory:"), ring=ring, clock=lambda: clock[0])
    shuffler.serve(TASK, ANALYZER.public())
    assert shuffler.accept(TASK.id, [client(tmp_path, ring).report(6, window=1)]) == [
        "accepted"
    ]  # and the answer is lost
    for _ in range(10):
        ring = ring.rotated()
        old = client(tmp_path, ring).report(6, window=1)
        ring = ring.destroyed(ring.keys[0].key_id)
        shuffler.ring = ring
        assert shuffler.accept(TASK.id, [old]) == ["outdated_config"]
        sealed = client(tmp_path, ring).rewrapped(window=1)
        assert sealed != old
        values.add(message(sealed, ring))
        assert shuffler.accept(TASK.id, [sealed]) == ["report_replayed"]
        assert client(tmp_path, ring).report(6, window=1) == sealed
    assert len(values) == 1
    assert shuffler.store.open_batch(TASK.id).count == 1
    with pytest.raises(InvalidInput, match="no report for this window"):
        client(tmp_path, ring).rewrapped(window=9)


def test_what_waits_is_the_users_own(tmp_path: Path) -> None:
    me = client(tmp_path / "state")
    me.report(3, window=1)
    (kept,) = (tmp_path / "state").glob("*.json")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700
    kept.write_text("damaged")
    with pytest.raises(InvalidInput, match="is damaged"):
        me.report(3, window=2)
    (tmp_path / "blocked").write_text("")
    with pytest.raises(InvalidInput, match="cannot"):
        client(tmp_path / "blocked").report(3, window=1)
    with pytest.raises(InvalidInput) as refused:
        client(tmp_path / "fresh").report(31337, window=1)
    assert "31337" not in str(refused.value)
    assert not list((tmp_path / "fresh").glob("*.json"))


def test_threads_and_processes_of_one_user_randomize_once(tmp_path: Path) -> None:
    """Whoever comes first: all of them send the same bytes."""
    barrier = threading.Barrier(8)

    def report(_: int) -> bytes:
        mine = client(tmp_path)
        barrier.wait()
        return mine.report(3, window=1)

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(report, range(8)))) == 1
    assert client(tmp_path).reports == 1


def test_keys_of_the_wrong_party_are_not_sealed_to(tmp_path: Path) -> None:
    """Else the shuffler could read what is meant for the analyzer."""
    wrong = Client(task=TASK, analyzer=SHUFFLER.public(), shufflers=[SHUFFLER.public()], folder=tmp_path)
    with pytest.raises(InvalidInput, match="keys of the shuffler"):
        wrong.report(3, window=1)
    wrong = Client(task=TASK, analyzer=ANALYZER.public(), shufflers=[ANALYZER.public()], folder=tmp_path)
    with pytest.raises(InvalidInput, match="keys of the analyzer"):
        wrong.report(3, window=1)
    with pytest.raises(InvalidInput, match="has 1 shufflers"):
        Client(task=TASK, analyzer=ANALYZER.public(), shufflers=[], folder=tmp_path)
    assert client(tmp_path).reports == 0


def test_a_refused_token_can_be_replaced_the_report_not(tmp_path: Path) -> None:
    me = client(tmp_path)
    first = me.report(3, window=1, credential=b"a" * 32)
    second = me.report(5, window=1, credential=b"b" * 32)
    assert (first[:32], second[:32]) == (b"a" * 32, b"b" * 32)
    assert first[32:] == second[32:]
    assert me.report(5, window=1) == second
    me.arrived(window=1)
    assert me.report(5, window=1, credential=b"c" * 32) == second


def test_a12_with_two_hops_each_shuffler_knows_a_rewrapped_report_again(tmp_path: Path) -> None:
    task, inner = replace(TASK, shufflers=("Alpha", "Gamma")), KeyRing.fresh("shuffler")
    rings = [SHUFFLER, SHUFFLER.rotated()]
    clients = [
        Client(task=task, analyzer=ANALYZER.public(), shufflers=[inner.public(), ring.public()], folder=tmp_path)
        for ring in rings
    ]
    first, second = clients[0].report(3, window=1), clients[1].rewrapped(window=1)
    assert first != second
    assert unseal(first, rings[1], task.id, hop=2) == unseal(second, rings[1], task.id, hop=2)
