"""Clients: one randomization a window, whatever happens to the network, the process, the keys, or the shuffler's honesty."""

import contextlib
import json
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock, Timeout

from oracles.clock import Clock
from oracles.parties import ANALYZER, EIGHT, LABELS, PARTIES, SHUFFLER, announced, serving
from oracles.server import Place
from shuffledp import InvalidInput, KeyedRandomness
from shuffledp.core.randomness import NoWords
from shuffledp.core.report_outcome import Outcome
from shuffledp.planning.rounds import plan_rounds
from shuffledp.service.client.client import Announcement, Client
from shuffledp.service.client.sender import Sender, Submitted, submit
from shuffledp.service.sealing.hpke import unseal
from shuffledp.service.sealing.keys import KeyRing
from shuffledp.service.shuffler.shuffler import Shuffler
from shuffledp.service.task import Task
from shuffledp.service.wire.record import decode_message

TASK = EIGHT


def client(folder: Path, clock: Clock | None = None, analyzer: KeyRing = ANALYZER) -> Client:
    return Client(task=TASK, analyzer=analyzer.public(), folder=folder, clock=clock or Clock(1e9))


def message(sealed: bytes | None, shuffler: KeyRing = SHUFFLER, analyzer: KeyRing = ANALYZER) -> int | None:
    assert sealed is not None
    inner = unseal(sealed, shuffler, TASK.id)
    assert isinstance(inner, bytes)
    payload = unseal(inner, analyzer, TASK.id)
    assert isinstance(payload, bytes)
    return decode_message(payload, 8)


class Direct:
    """In a sender's place: hands reports over to a shuffler in memory; `lost` answers get lost."""

    patience = 60.0

    def __init__(self, shuffler: Shuffler, lost: int = 0) -> None:
        self.shuffler, self.lost = shuffler, lost

    async def describe(self, task: Task) -> Announcement:
        return announced(self.shuffler, task)

    async def deliver(self, task: Task, records: list[bytes], *, window: int) -> list[str]:
        outcomes = self.shuffler.accept(task.id, records, window)
        assert not isinstance(outcomes, str)
        if self.lost:
            self.lost -= 1
            raise ConnectionError
        return [*outcomes]


def sent(me: Client, value: str, shuffler: Shuffler, lost: int = 0) -> Submitted:
    network: Any = Direct(shuffler, lost)
    return submit(me, value, sender=network)


def test_a_second_report_under_the_same_key_is_refused(tmp_path: Path) -> None:
    """Reports have no addresses, so both would have the same coins. The first one stands."""
    clock, shuffler, randomness = Clock(1e9), serving(TASK), KeyedRandomness.fresh()
    me = replace(client(tmp_path, clock), randomness=randomness)
    said = announced(shuffler, TASK)
    first = me.report("c", said)
    clock.now += 60
    with pytest.raises(InvalidInput, match="this randomness was used before"):
        me.report("e", replace(said, window=2))
    assert me.report("c", said) == first
    assert me.reports == 1
    assert replace(me, randomness=KeyedRandomness.fresh()).report("e", replace(said, window=2)) not in (None, first)


def test_another_value_does_not_make_another_report(tmp_path: Path) -> None:
    clock, shuffler = Clock(1e9), serving(TASK)
    me, said = client(tmp_path, clock), announced(shuffler, TASK)
    first = me.report("c", said)
    assert me.report("e", said) == first
    later = replace(said, window=2)
    clock.now += 60
    assert me.report("c", later) != first
    assert me.reports == 2
    assert me.waiting == [1, 2]
    me.arrived(window=1)
    assert me.waiting == [2]
    assert me.report("c", said) is None  # it has arrived


def test_t4_a_second_submit_says_that_the_earlier_report_stands(tmp_path: Path) -> None:
    shuffler, me = serving(TASK), client(tmp_path)
    assert sent(me, "c", shuffler) == Submitted(outcome=Outcome.ACCEPTED, earlier=False)
    assert sent(me, "h", shuffler) == Submitted(outcome=Outcome.REPORT_REPLAYED, earlier=True)
    assert shuffler.store.open_batch(TASK.id).count == 1


def test_t32_a_shuffler_that_names_windows_at_will_gets_no_fresh_randomizations(tmp_path: Path) -> None:
    """40 windows in a minute gave 40 randomizations of one value; now one a window by the client's own clock."""
    clock, shuffler = Clock(1e9), serving(TASK)
    me, said, made = client(tmp_path, clock), announced(shuffler, TASK), 0
    for window in range(1, 41):
        with contextlib.suppress(InvalidInput):
            made += me.report("c", replace(said, window=window)) is not None
        clock.now += 1
    assert (made, me.reports) == (1, 1)
    clock.now -= 10_000  # a clock that goes back allows nothing
    with pytest.raises(InvalidInput, match="one report every"):
        me.report("c", replace(said, window=50))
    clock.now += 10_000 + 19  # 59 seconds after the first
    for window, made in ((51, False), (52, True), (53, False), (54, False)):
        if made:  # a minute after the first
            clock.now += 1
            assert me.report("c", replace(said, window=window)) is not None
        else:
            with pytest.raises(InvalidInput, match="one report every"):
                me.report("c", replace(said, window=window))
    clock.now += 600  # ten minutes later one more, not ten
    assert me.report("c", replace(said, window=55)) is not None
    with pytest.raises(InvalidInput, match="one report every"):
        me.report("c", replace(said, window=56))


def test_what_was_never_made_has_not_arrived(tmp_path: Path) -> None:
    """A shuffler that says so cannot keep a device from reporting in that window."""
    me, shuffler = client(tmp_path), serving(TASK)
    said = announced(shuffler, TASK)
    me.arrived(window=said.window)
    assert not me.has(said.window)
    assert me.report("c", said) is not None


def test_a_folder_is_made_with_those_around_it(tmp_path: Path) -> None:
    folder = tmp_path / "not" / "there" / "yet"
    assert sent(client(folder), "c", serving(TASK)).outcome == "accepted"
    assert len(list(folder.glob("*.json"))) == 1


def test_what_arrived_is_forgotten(tmp_path: Path) -> None:
    """Neither the message nor the sealed bytes stay on the device: only that the window is done."""
    me = client(tmp_path)
    assert sent(me, "c", serving(TASK)).outcome == "accepted"
    (kept,) = tmp_path.glob("*.json")
    assert json.loads(kept.read_text())["windows"] == {"1": {"sent": True}}


@pytest.mark.parametrize(
    "url", ["http://shuffler.example", "http://127.0.0.1.example:80", "ftp://x", "x", "http://[::2]", ""]
)
def test_nothing_is_sent_in_clear_to_another_machine(url: str) -> None:
    with pytest.raises(InvalidInput, match="https://"):
        Sender(url=url)
    for fine in ("http://127.0.0.1:8470", "http://localhost:8470/", "http://[::1]:1", "https://shuffler.example/"):
        assert not Sender(url=fine).url.endswith("/")


def test_a12_new_keys_wrap_the_same_report(tmp_path: Path, place: Place) -> None:
    """Ten rotations, each of which destroys the old key: new bytes on the wire, the same report, counted once."""
    shuffler, values = serving(TASK, place(tmp_path / "store.db")), set()
    me = client(tmp_path)
    first = me.report("g", announced(shuffler, TASK))
    assert first is not None
    assert shuffler.accept(TASK.id, [first], 1) == ["accepted"]  # and the answer is lost
    for _ in range(10):
        old = me.report("g", announced(shuffler, TASK))
        assert old is not None
        shuffler.ring = shuffler.ring.rotated().destroyed(shuffler.ring.keys[0].key_id)
        assert shuffler.accept(TASK.id, [old], 1) == ["outdated_config"]
        sealed = me.rewrapped(announced(shuffler, TASK), window=1)
        assert sealed != old
        values.add(message(sealed, shuffler.ring))
        assert shuffler.accept(TASK.id, [sealed], 1) == ["report_replayed"]
        assert me.report("g", announced(shuffler, TASK)) == sealed
    assert len(values) == 1
    assert shuffler.store.open_batch(TASK.id).count == 1
    with pytest.raises(InvalidInput, match="no report is pending"):
        me.rewrapped(announced(shuffler, TASK), window=9)


def test_a25_an_answer_lost_across_a_rotation_counts_nobody_twice(tmp_path: Path) -> None:
    """A resealed report has another id. It is made only when the shuffler has said that it does not have the first one."""
    shuffler, ring = serving(TASK), ANALYZER
    others = [client(tmp_path / str(j)) for j in range(50)]
    for j, other in enumerate(others):
        assert sent(other, LABELS[j % 8], shuffler).outcome == "accepted"
    arrived, not_arrived = client(tmp_path / "a"), client(tmp_path / "b")
    with pytest.raises(ConnectionError):
        sent(arrived, "a", shuffler, lost=1)
    lost = not_arrived.report("a", announced(shuffler, TASK))
    ring = ring.rotated()
    shuffler.seal_to(TASK.id, ring.public())
    (batch,) = shuffler.tick()  # rotation ends the window
    assert (batch.state, batch.count) == ("RELEASED", 51)
    both = [replace(me, analyzer=ring.public()) for me in (arrived, not_arrived)]
    assert sent(both[0], "b", shuffler) == Submitted(outcome=Outcome.REPORT_REPLAYED, earlier=True)
    assert sent(both[1], "b", shuffler) == Submitted(outcome=Outcome.ACCEPTED, earlier=True)
    assert shuffler.store.open_batch(TASK.id).count == 1
    assert [me.reports for me in both] == [1, 1]
    (row,) = shuffler.store._read("SELECT inner FROM sealed")  # type: ignore[attr-defined]
    assert row[0][0] == 1  # sealed to the new key
    payload = unseal(row[0], ring, TASK.id)
    assert isinstance(payload, bytes)
    assert decode_message(payload, 8) == message(lost)  # the same randomized message


def test_a_key_that_the_analyzer_did_not_publish_is_not_sealed_to(tmp_path: Path) -> None:
    """A shuffler that announces a key of its own, under an id that is known or not, gets nothing."""
    said, forged = announced(serving(TASK), TASK), KeyRing.fresh("analyzer")
    for lie in (
        replace(said, next_keys=forged.public()),
        replace(said, key_id=7),
        replace(said, next_keys=forged.rotated().public(), key_id=1),
        replace(said, next_keys=SHUFFLER.public()),
    ):
        with pytest.raises(InvalidInput, match="not in your list of the analyzer's keys"):
            client(tmp_path).report("c", lie)
    assert client(tmp_path).reports == 0
    # a list that already has the next key works before and after the rotation
    introduced = ANALYZER.introduced()
    rotated = introduced.rotated()
    me = client(tmp_path / "a", analyzer=introduced)
    new = me.report("c", replace(said, next_keys=rotated.public(), key_id=1))
    assert new is not None
    assert message(new, analyzer=rotated) is not None


def test_what_waits_is_the_users_own(tmp_path: Path) -> None:
    said = announced(serving(TASK), TASK)
    me = client(tmp_path / "state")
    me.report("c", said)
    (kept,) = (tmp_path / "state").glob("*.json")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700
    for damage in ("damaged", "{}", '{"first": 0, "period": 0, "fresh": 1, "windows": {"1": {"sent": false}}}', "[]"):
        kept.write_text(damage)
        with pytest.raises(InvalidInput, match="is damaged"):
            me.report("c", replace(said, window=2))
    (tmp_path / "blocked").write_text("")
    with pytest.raises(InvalidInput, match="cannot"):
        client(tmp_path / "blocked").report("c", said)
    with pytest.raises(InvalidInput) as refused:
        client(tmp_path / "fresh").report("s3cr3t", said)
    assert "s3cr3t" not in str(refused.value)
    assert not list((tmp_path / "fresh").glob("*.json"))


def test_threads_and_processes_of_one_user_randomize_once(tmp_path: Path) -> None:
    """Whoever comes first: all of them send the same bytes."""
    barrier, said = threading.Barrier(8), announced(serving(TASK), TASK)

    def report(_: int) -> bytes | None:
        mine = client(tmp_path)
        barrier.wait()
        return mine.report("c", said)

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(report, range(8)))) == 1
    assert client(tmp_path).reports == 1


def test_keys_of_the_wrong_party_are_not_sealed_to(tmp_path: Path) -> None:
    """Else the shuffler could read what is meant for the analyzer."""
    said = announced(serving(TASK), TASK)
    wrong = Client(task=TASK, analyzer=SHUFFLER.public(), folder=tmp_path)
    with pytest.raises(InvalidInput, match="keys"):
        wrong.report("c", said)
    with pytest.raises(InvalidInput, match="keys belong to the analyzer"):
        client(tmp_path).report("c", replace(said, keys=ANALYZER.public()))
    with pytest.raises(InvalidInput, match="has 1 shufflers"):
        Client(task=TASK, analyzer=ANALYZER.public(), inner_shufflers=[SHUFFLER.public()], folder=tmp_path)
    assert client(tmp_path).reports == 0


def test_a_refused_token_can_be_replaced_the_report_not(tmp_path: Path) -> None:
    me, said = client(tmp_path), announced(serving(TASK), TASK)
    first = me.report("c", said, credential=b"a" * 32)
    second = me.report("e", said, credential=b"b" * 32)
    assert first is not None
    assert second is not None
    assert (first[:32], second[:32]) == (b"a" * 32, b"b" * 32)
    assert first[32:] == second[32:]
    assert me.report("e", said) == second
    me.arrived(window=1)
    assert me.report("e", said, credential=b"c" * 32) is None


def test_a12_with_two_hops_each_shuffler_knows_a_rewrapped_report_again(tmp_path: Path) -> None:
    task, inner = replace(TASK, shufflers=("Alpha", "Gamma")), KeyRing.fresh("shuffler")
    me = Client(task=task, analyzer=ANALYZER.public(), inner_shufflers=[inner.public()], folder=tmp_path)
    said = Announcement(window=1, keys=SHUFFLER.public(), key_id=0, next_keys=inner.public())
    rotated = SHUFFLER.rotated()
    first = me.report("c", said)
    second = me.rewrapped(replace(said, keys=rotated.public()), window=1)
    assert first is not None
    assert first != second
    assert unseal(first, rotated, task.id, hop=2) == unseal(second, rotated, task.id, hop=2)


@pytest.mark.parametrize("hops", [1, 2, 3])
def test_a_report_that_moves_is_sealed_to_the_key_that_is_announced_then(tmp_path: Path, hops: int) -> None:
    """The same messages under every layer, and only that key opens the next one; where it is the same, the same bytes."""
    task = replace(TASK, shufflers=("Alpha", "Gamma", "Delta")[:hops])
    inner = [KeyRing.fresh("shuffler") for _ in range(hops - 1)]
    before = [ANALYZER, *inner]
    after = [*before[:-1], before[-1].rotated()]
    assert [key.state for key in after[-1].public().keys] == ["EXPIRED", "ACTIVE"]
    me = Client(
        task=task, analyzer=after[0].public(), inner_shufflers=[ring.public() for ring in after[1:]], folder=tmp_path
    )  # fmt: skip
    said = Announcement(window=1, keys=SHUFFLER.public(), key_id=0, next_keys=before[-1].public())
    first = me.report("c", said)
    assert me.moved(replace(said, window=2), window=1) == first
    moved = me.moved(replace(said, window=3, key_id=1, next_keys=after[-1].public()), window=2)
    found = list[int | None]()
    for record, last in ((first, 0), (moved, 1)):
        data, keys = record or b"", [SHUFFLER, *reversed(after)]
        for hop, ring in zip(range(hops, 0, -1), keys, strict=False):
            opened = unseal(data, ring, task.id, hop=hop)
            assert isinstance(opened, bytes)
            data = opened
            if hop == hops:
                assert data[0] == last
        payload = unseal(data, ANALYZER if hops > 1 else after[0], task.id)
        assert isinstance(payload, bytes)
        found.append(decode_message(payload, 8))
    assert found[0] == found[1] is not None
    assert me.reports == 1


def test_a_window_that_is_dropped_is_a_report_all_the_same(tmp_path: Path) -> None:
    """A late report that another one has overtaken is never sent; it was drawn, and counts towards what a person may report."""
    made = plan_rounds("histogram", n=500, epsilon=2.0, delta=1e-3, labels=LABELS, rounds=10, rounds_per_person=3)
    task, clock = Task(plan=made, window=60, max_age=600, **PARTIES), Clock(1e9)
    said = announced(serving(task), task)
    me = Client(task=task, analyzer=ANALYZER.public(), folder=tmp_path, clock=clock)
    for window in (1, 2):
        assert me.report("c", replace(said, window=window)) is not None
        clock.now += 60
    assert me.moved(replace(said, window=2), window=1) == me.again(2)
    assert (me.waiting, me.reports) == ([2], 2)
    assert me.report("c", replace(said, window=3)) is not None
    assert (me.waiting, me.reports) == ([2, 3], 3)
    clock.now += 60
    with pytest.raises(InvalidInput, match="at most 3 reports of one person"):
        me.report("c", replace(said, window=4))


def test_nothing_is_drawn_for_a_key_that_is_refused(tmp_path: Path) -> None:
    """Nor for a list that says it is of another party: neither a random word nor a file."""
    me, said = replace(client(tmp_path), randomness=NoWords()), announced(serving(TASK), TASK)
    claimed = replace(ANALYZER.public(), role="shuffler")
    for wrong in (replace(said, next_keys=claimed), replace(said, next_keys=KeyRing.fresh("analyzer").public())):
        with pytest.raises(InvalidInput, match="not in your list"):
            me.report("c", wrong)
    assert list(tmp_path.glob("*.json")) == []
    with pytest.raises(InvalidInput, match="depends on chance"):  # as it would have been
        me.report("c", said)


def test_whatever_is_written_down_is_written_by_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new report, one for new keys, one that moves, one that arrived, a new token: a turn for reading and writing."""
    me, said, kept, read = client(tmp_path), announced(serving(TASK), TASK), Client._keep, Client._kept
    turns = list[str]()

    def seen(name: str, method: Any) -> Any:
        def watched(self: Client, *rest: Any) -> Any:
            with contextlib.suppress(Timeout), FileLock(self._file.with_suffix(".lock"), timeout=0):
                pytest.fail(f"it is nobody's turn to {name}")
            turns.append(name)
            return method(self, *rest)

        return watched

    changes: list[Any] = [
        lambda: me.report("c", said),
        lambda: me.report("c", said, credential=b"token"),
        lambda: me.rewrapped(said, window=said.window),
        lambda: me.moved(replace(said, window=7), window=said.window),
        lambda: me.arrived(window=7),
    ]
    for change in changes:
        turns.clear()
        with monkeypatch.context() as patch:
            patch.setattr(Client, "_kept", seen("read", read))
            patch.setattr(Client, "_keep", seen("write", kept))
            change()
        assert turns == ["read", "write"]
