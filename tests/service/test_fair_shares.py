"""What is scarce is shared between senders: memory, places, the queue for the disk, a rate for everybody."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.clock import Clock
from shuffledp.service.shuffler.connection_slots import SURPLUS, ConnectionSlots
from shuffledp.service.shuffler.fair_shares import FairShares
from shuffledp.service.shuffler.limits import Limits
from shuffledp.service.shuffler.shared_rate import SharedRate, Turn
from shuffledp.service.shuffler.upload_memory import UploadMemory
from shuffledp.service.shuffler.waiting_uploads import TooManyWaiting, Upload, WaitingUploads


@pytest.fixture
def clock() -> Clock:
    return Clock()


# Shares


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(1, 30)), max_size=60))
def test_nobody_gives_way_to_a_sender_that_has_more(wishes: list[tuple[str, int]]) -> None:
    """While there is not enough the greatest gives, and never to somebody who would then have as much."""
    shares, held = FairShares(100), Counter[str]()
    for sender, amount in wishes:
        while shares.lack(amount):
            other = shares.giving_way(sender, amount)
            if other == sender:
                assert held[sender] + amount >= max(held.values())
                break
            assert held[other] == max(held.values()) > held[sender] + amount
            shares.give_back(other, 1)
            held[other] -= 1
        else:
            shares.take(sender, amount)
            held[sender] += amount
        assert shares.total == held.total() <= 100
        assert {name: shares.of(name) for name in "abcd"} == {name: held[name] for name in "abcd"}


def test_a_sender_alone_has_everything() -> None:
    shares = FairShares(10)
    shares.take("a", 10)
    assert shares.lack(1)
    assert shares.giving_way("a", 1) == "a"
    assert not FairShares(None).lack(1 << 60)


# Arriving bytes


class Slow:
    """Uploads that were begun, and which of them had to go."""

    def __init__(self, arrivals: UploadMemory) -> None:
        self.arrivals, self.dropped = arrivals, list[str]()
        self._open = ExitStack()

    def begin(self, sender: str, name: str = "") -> Any:
        name = name or sender
        return self._open.enter_context(self.arrivals.upload(sender, lambda: self.dropped.append(name)))


def test_sixty_six_slow_uploads_leave_room_for_everybody_else(clock: Clock) -> None:
    slow = Slow(UploadMemory(64 << 20, clock))
    hostile = [slow.begin("hostile", str(j)) for j in range(66)]
    for upload in hostile:
        slow.arrivals.add(upload, bytes((1 << 20) - 1))
    clock.now += 1.0
    for j in range(300):
        assert slow.arrivals.add(slow.begin(f"honest {j}"), bytes(126))
        clock.now += 0.1
    assert not any(name.startswith("honest") for name in slow.dropped)
    assert sum(len(upload.body) for upload in hostile) <= (64 << 20) - 300 * 126


@pytest.mark.parametrize("senders", [1, 66])
def test_the_slowest_goes_first(clock: Clock, senders: int) -> None:
    """The one that has held most for longest; with one address for all, as behind a proxy, or with one each."""
    slow = Slow(UploadMemory(1000, clock))
    for name in ("first", "second"):
        assert slow.arrivals.add(slow.begin("" if senders == 1 else name, name), bytes(490))
        clock.now += 1.0
    newcomer = slow.begin("" if senders == 1 else "newcomer", "newcomer")
    assert slow.arrivals.add(newcomer, bytes(126))
    assert slow.dropped == ["first"]
    clock.now += 1.0
    assert slow.arrivals.add(newcomer, bytes(300))
    assert slow.arrivals.add(newcomer, bytes(84))
    assert slow.dropped == ["first"]
    assert len(newcomer.body) == 510


def test_an_upload_that_must_itself_give_way_is_told_so_and_frees_what_it_had(clock: Clock) -> None:
    slow = Slow(UploadMemory(1000, clock))
    large, small = slow.begin("large"), slow.begin("small")
    assert slow.arrivals.add(large, bytes(900))
    assert slow.arrivals.add(small, bytes(100))
    assert not slow.arrivals.add(large, bytes(1))
    assert large.dropped
    assert slow.dropped == []  # it hears of it from `add`
    assert slow.arrivals.add(small, bytes(900))
    assert not slow.arrivals.add(slow.begin("larger than all"), bytes(1001))


def test_what_is_over_leaves_its_room(clock: Clock) -> None:
    arrivals = UploadMemory(1000, clock)
    for _ in range(10):
        with arrivals.upload("a", lambda: None) as upload:
            assert arrivals.add(upload, bytes(1000))
    with suppress(ZeroDivisionError), arrivals.upload("a", lambda: None) as upload:
        raise ZeroDivisionError(arrivals.add(upload, bytes(1000)))
    with arrivals.upload("b", lambda: pytest.fail("nobody else is here")) as upload:
        assert arrivals.add(upload, bytes(1000))


# Connections


class SlotHolder:
    def __init__(self, slots: ConnectionSlots, sender: str, since: float | None = 0.0) -> None:
        self.sender, self.since, self.gone = sender, since, False
        self._slots = slots
        slots.arrive(self)

    def silent_since(self) -> float | None:
        return self.since

    def hang_up(self) -> None:
        self.gone = True
        self._slots.leave(self)


def test_silent_connections_from_one_address_make_room_for_others() -> None:
    slots = ConnectionSlots(10)
    crowd = [SlotHolder(slots, "hostile", since=float(j)) for j in range(100)]
    assert [slots.has_slot(holder) for holder in crowd] == [True] * 10 + [False] * 90
    assert [holder.gone for holder in crowd] == [False] * (10 + SURPLUS) + [True] * (90 - SURPLUS)
    honest = [SlotHolder(slots, f"honest {j}") for j in range(5)]
    assert all(slots.has_slot(holder) for holder in honest)
    assert [holder.gone for holder in crowd[:10]] == [True] * 5 + [False] * 5  # the longest silent ones
    assert not slots.has_slot(crowd[10])
    crowd[9].hang_up()
    assert slots.has_slot(crowd[10])  # one that waited to be told gets the place that has become free


def test_a_connection_that_is_being_answered_keeps_its_place() -> None:
    slots = ConnectionSlots(3)
    busy = [SlotHolder(slots, "a", since=None) for _ in range(2)]
    silent = SlotHolder(slots, "a", since=5.0)
    assert slots.has_slot(SlotHolder(slots, "b"))
    assert [holder.gone for holder in (*busy, silent)] == [False, False, True]
    assert not slots.has_slot(SlotHolder(slots, "c"))
    assert not any(holder.gone for holder in busy)
    assert not slots.has_slot(SlotHolder(slots, "b"))  # it would have as many


# The queue for the disk


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = asyncio.new_event_loop()
    yield made
    made.close()


class Queue:
    def __init__(self, loop: asyncio.AbstractEventLoop, **limits: int) -> None:
        self.waiting, self._loop, self._count = WaitingUploads(Limits(**limits)), loop, 0

    def add(self, sender: str, reports: int) -> tuple[bool, Upload]:
        self._count += 1
        upload = Upload(
            task="", window=None, records=[bytes(126)] * reports, sender=sender, done=self._loop.create_future(),
            since=float(self._count),
        )  # fmt: skip
        return self.waiting.add(upload), upload

    def refused(self, upload: Upload) -> bool:
        return upload.done.done() and isinstance(upload.done.exception(), TooManyWaiting)


def test_uploads_of_one_sender_wait_for_those_of_others(loop: asyncio.AbstractEventLoop) -> None:
    queue = Queue(loop, reports_per_commit=100)
    for _ in range(5):
        queue.add("hostile", 90)
    queue.add("a", 1)
    queue.add("a", 1)
    queue.add("b", 1)
    order = [[(upload.sender, len(upload.records)) for upload in queue.waiting.begin()] for _ in range(3)]
    assert order[0] == [("hostile", 90), ("a", 1), ("b", 1), ("hostile", 90)]
    assert order[1] == [("a", 1), ("hostile", 90), ("hostile", 90)]
    assert order[2] == [("hostile", 90)]
    assert not queue.waiting


@pytest.mark.parametrize(
    "limits", [{"max_waiting_reports": 40}, {"max_incoming_bytes": 40 * 126}, {"max_waiting_uploads": 4}]
)
def test_a_full_queue_takes_others_and_refuses_the_latest_of_who_has_most(
    loop: asyncio.AbstractEventLoop, limits: dict[str, int]
) -> None:
    queue = Queue(loop, **limits)
    hostile = [queue.add("hostile", 10) for _ in range(5)]
    assert [added for added, _ in hostile] == [True] * 4 + [False]
    assert not queue.waiting.crowded(126)
    added, honest = queue.add("honest", 1)
    assert added
    assert [queue.refused(upload) for _, upload in hostile] == [False, False, False, True, False]
    assert not queue.refused(honest)


def test_what_is_being_written_takes_room_and_stays(loop: asyncio.AbstractEventLoop) -> None:
    queue = Queue(loop, max_waiting_reports=40, reports_per_commit=30)
    _, first = queue.add("a", 30)
    assert list(queue.waiting.begin()) == [first]
    assert queue.add("a", 10)[0]
    assert queue.waiting.reports == 40
    assert queue.add("b", 1)[0]  # instead of a's ten
    assert not queue.refused(first)
    assert not queue.add("b", 10)[0]
    queue.waiting.over(first)
    assert queue.add("b", 10)[0]
    assert queue.waiting.since() == 3.0
    assert [upload.since for upload in queue.waiting.before(3.0)] == [3.0]


def test_a_queue_is_crowded_when_it_would_refuse_whoever_has_nothing_in_it(loop: asyncio.AbstractEventLoop) -> None:
    queue = Queue(loop, max_waiting_uploads=3)
    for sender in "abc":
        assert not queue.waiting.crowded(126)
        queue.add(sender, 1)
    assert queue.waiting.crowded(126)
    assert not queue.add("d", 1)[0]
    queue.waiting.withdraw(next(iter(queue.waiting.begin())))
    assert not queue.waiting.crowded(126)


# A rate for everybody


def turns(clock: Clock, per_second: float = 5.0, *, window: float = 10.0, waiting: int = 1000) -> SharedRate:
    """Ones of which nothing is left."""
    made = SharedRate(per_second, window, waiting, clock)
    assert made.join("", made.most).over.is_set()
    return made


def test_a_flood_from_one_sender_costs_the_others_one_share(clock: Clock) -> None:
    """Five a second, a sender that always has a hundred waiting, and honest ones that come twice a second: each gets its turn."""
    made, mine, honest, hostile = turns(clock), 0, list[tuple[float, Turn]](), list[Turn]()
    for step in range(600):
        clock.now = step / 10
        made.deal()
        hostile = [turn for turn in hostile if not turn.over.is_set()]
        while len(hostile) < 100:
            hostile.append(made.join("hostile", 1))
            mine += 1
        if step % 5 == 0:
            honest.append((clock.now, made.join(f"honest {step}", 1)))
    assert all(turn.over.is_set() for came, turn in honest if came < clock.now - 1.0)
    assert 150 <= mine - 100 <= 190  # the rest of what there is


def test_large_uploads_do_not_hold_up_small_ones(clock: Clock) -> None:
    made = turns(clock)
    large = made.join("large", 50)
    small = [made.join(f"small {j}", 1) for j in range(4)]
    clock.now += 1.0
    made.deal()
    assert [turn.over.is_set() for turn in small] == [True] * 4
    assert (large.over.is_set(), large.dealt) == (False, 1)
    clock.now += 9.8
    made.deal()
    assert large.over.is_set()


def test_what_leaves_or_is_not_accepted_is_for_the_others(clock: Clock) -> None:
    made = turns(clock)
    first, second = made.join("a", 3), made.join("b", 3)
    clock.now += 0.8
    made.deal()
    assert (first.dealt, second.dealt) == (2, 2)
    made.leave(first)
    assert second.over.is_set()
    third = made.join("c", 4)
    assert third.dealt == 1
    made.give_back(3)  # garbage costs no rate
    assert third.over.is_set()
    made.leave(third)  # its client is gone: nothing was used
    assert made.join("d", 4).over.is_set()


def test_at_most_so_many_wait_and_who_has_most_gives_way(clock: Clock) -> None:
    made = turns(clock, waiting=10)
    crowd = [made.join("hostile", 1) for _ in range(11)]
    assert [turn.refused for turn in crowd] == [False] * 10 + [True]
    honest = [made.join(f"honest {j}", 1) for j in range(5)]
    assert not any(turn.refused for turn in honest)
    assert [turn.refused for turn in crowd] == [False] * 5 + [True] * 6
    assert made.wait() == pytest.approx(2.0)
    clock.now += 100.0
    made.deal()
    assert all(turn.over.is_set() for turn in honest)
    assert made.wait() == 0.0


def test_a_turn_that_does_not_come_is_given_up(clock: Clock) -> None:
    async def waits() -> SharedRate:
        made = turns(clock)
        with pytest.raises(TimeoutError):
            await made.take("a", 1, 0.01)
        asking = asyncio.create_task(made.take("b", 1, 3600.0))
        await asyncio.sleep(0)
        assert made.wait() == pytest.approx(0.2)
        clock.now += 0.2
        await asking  # it looks again by itself
        full = SharedRate(5.0, 10.0, 0, clock)
        with pytest.raises(TooManyWaiting):
            await full.take("a", 1, 3600.0)
        return made

    assert asyncio.run(waits()).wait() == 0.0


def test_what_is_dealt_is_never_more_than_the_rate(clock: Clock) -> None:
    """By any time: what the window allows at once, and the rate since."""
    made, granted = SharedRate(7.0, 3.0, 1000, clock), 0
    waiting = list[Turn]()
    for step in range(300):
        clock.now = step * 0.05
        waiting.append(made.join(str(step % 7), 1 + step % 5))
        made.deal()
        granted += sum(turn.reports for turn in waiting if turn.over.is_set())
        waiting = [turn for turn in waiting if not turn.over.is_set()]
        assert granted <= 21 + 7.0 * clock.now + 1e-6
    assert granted >= 0.9 * (21 + 7.0 * clock.now)
