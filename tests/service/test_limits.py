"""Too much at once: 429 and nothing lost; too often: 429 and a time to come back."""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import Any

import httpx
import pytest

from oracles.clock import Clock
from oracles.parties import PARTIES
from shuffledp import plan
from shuffledp.service.sealing.hpke import seal_message
from shuffledp.service.sealing.keys import KeyRing
from shuffledp.service.shuffler.http import OCTETS, Service, Tokens
from shuffledp.service.shuffler.limits import Limits
from shuffledp.service.shuffler.rate_limit import RateLimit
from shuffledp.service.shuffler.shuffler import Shuffler
from shuffledp.service.stores.sqlite.store import SQLiteStore
from shuffledp.service.task import Task

TASK = Task(plan=plan("histogram", n=20, epsilon=4.0, delta=1e-2, size=8), window=3600, max_age=7200, **PARTIES)
SHUFFLER, ANALYZER = KeyRing.fresh("shuffler"), KeyRing.fresh("analyzer")
TOKENS = Tokens(operator="operator-token-1234", analyzer="analyzer-token-1234")
REPORTS, HEADERS = f"/v2/tasks/{TASK.id}/reports", {"Content-Type": OCTETS}


def body(count: int) -> bytes:
    return b"".join(seal_message(j % 8, TASK, ANALYZER.public(), [SHUFFLER.public()]) for j in range(count))


def service(limits: Limits) -> tuple[Service, Shuffler]:
    shuffler = Shuffler(store=SQLiteStore(":memory:"), ring=SHUFFLER, clock=lambda: 0.0)
    shuffler.serve(TASK, ANALYZER.public())
    return Service(shuffler, TOKENS, limits, clock=lambda: 0.0), shuffler


def test_rates() -> None:
    clock = Clock()
    rate = RateLimit(10.0, 2.0, clock)
    assert rate.most == 20
    assert [rate.take("a", 10) for _ in range(2)] == [0.0, 0.0]  # what the window allows may come at once
    assert rate.take("a", 1) == pytest.approx(0.1)
    assert rate.take("b", 20) == 0.0
    pause = rate.take("b", 15)
    assert pause == pytest.approx(1.5)
    clock.now += pause - 0.1
    assert rate.take("b", 15) == pytest.approx(0.1)  # all or none: nothing was charged in vain
    clock.now += 0.1  # what was said was true
    assert rate.wait("b", 15) == pytest.approx(0.0)
    assert rate.take("b", 14.9) == 0.0
    rate.give_back("b", 30)
    assert rate.level("b") == 20  # never more than the window allows
    clock.now -= 100.0  # a clock that steps back gives nothing away
    assert rate.take("a", 20) > 0


def test_a_rate_below_one_report_in_its_window_lets_one_pass() -> None:
    clock = Clock()
    rate = RateLimit(0.01, 10.0, clock)
    assert rate.most == 1
    assert rate.take("a", 1) == 0.0
    assert rate.take("a", 1) == pytest.approx(100.0)


@pytest.mark.parametrize("busy", [False, True])
def test_rates_forget(monkeypatch: pytest.MonkeyPatch, busy: bool) -> None:
    """Memory is bounded, whoever comes."""
    monkeypatch.setattr("shuffledp.service.shuffler.rate_limit._BUCKETS", 100)
    clock = Clock()
    rate: Any = RateLimit(1.0, 50.0, clock)
    for j in range(1000):
        assert rate.take(str(j), 50) == 0.0
        clock.now += 0.01 if busy else 100.0
    assert len(rate._buckets) <= 100


def statuses(limits: Limits, uploads: Sequence[tuple[str, int | bytes]]) -> tuple[list[httpx.Response], str, Shuffler]:
    """Answers to uploads of so many reports from these addresses, one after the other; and the metrics."""
    instance, shuffler = service(limits)

    async def attempt() -> tuple[list[httpx.Response], str]:
        app = instance.app()
        answers = []
        async with app.router.lifespan_context(app):
            for address, what in uploads:
                content = what if isinstance(what, bytes) else body(what)
                transport = httpx.ASGITransport(app, client=(address, 1))
                async with httpx.AsyncClient(transport=transport, base_url="http://shuffler") as web:
                    answers.append(await web.post(REPORTS, content=content, headers=HEADERS))
            transport = httpx.ASGITransport(instance.metrics_app())
            async with httpx.AsyncClient(transport=transport, base_url="http://monitoring") as web:
                metrics = (await web.get("/metrics")).text
        return answers, metrics

    return (*asyncio.run(attempt()), shuffler)


def test_a_rate_for_each_address() -> None:
    uploads = [
        ("192.0.2.1", 5),
        ("192.0.2.1", 1),
        ("192.0.2.2", 5),
        ("2001:db8::1", 5),
        ("2001:db8::2", 5),
        ("unix", 1),
    ]
    answers, metrics, shuffler = statuses(Limits(rate_per_address=0.5), uploads)
    assert [answer.status_code for answer in answers] == [
        200,
        429,
        200,
        200,
        429,
        200,
    ]  # a network of IPv6 is one address
    assert answers[1].json()["type"] == "urn:shuffledp:too_often"
    assert [int(answers[j].headers["retry-after"]) for j in (1, 4)] == [2, 10]
    assert 'kind="too_often"} 2' in metrics
    assert shuffler.counters[TASK.id] == {"accepted": 16}
    mapped = [("::ffff:192.0.2.1", 5), ("::ffff:192.0.2.2", 5), ("::ffff:192.0.2.1", 1)]  # IPv4 on a socket for both
    answers, _, _ = statuses(Limits(rate_per_address=0.5), mapped)
    assert [answer.status_code for answer in answers] == [200, 200, 429]


@pytest.mark.parametrize(
    "limits", [Limits(rate_per_address=1.0), Limits(rate=1.0), Limits(rate=1.0, rate_per_address=5.0)]
)
def test_an_upload_with_more_than_a_rate_allows_in_its_window_is_refused_whole(limits: Limits) -> None:
    """Waiting would not help, so there is no Retry-After, but the number that would be taken; and nothing was charged."""
    answers, _, shuffler = statuses(limits, [("192.0.2.1", 11), ("192.0.2.1", 10), ("192.0.2.1", bytes(126 * 8300))])
    assert [answer.status_code for answer in answers] == [413, 200, 413]
    for refused in (answers[0], answers[2]):
        assert refused.json()["type"] == "urn:shuffledp:too_many"
        assert refused.json()["most"] == 10
        assert "retry-after" not in refused.headers
    assert shuffler.counters[TASK.id] == {"accepted": 10}


def test_a_window_for_rates() -> None:
    uploads = [("192.0.2.1", 20), ("192.0.2.1", 21)]
    answers, _, _ = statuses(Limits(rate_per_address=1.0, rate_window=20.0), uploads)
    assert [answer.status_code for answer in answers] == [200, 413]


def chunked(limits: Limits, bodies: Sequence[Sequence[bytes] | None]) -> list[httpx.Response]:
    """Answers to uploads that do not say how long they are; one of None is cut short."""

    async def parts(what: Sequence[bytes] | None) -> AsyncIterator[bytes]:
        for part in (b"x" * 126,) if what is None else what:
            yield part
        if what is None:
            raise ConnectionError

    async def attempt() -> list[httpx.Response]:
        app = service(limits)[0].app()
        answers = []
        async with app.router.lifespan_context(app):
            transport = httpx.ASGITransport(app, client=("192.0.2.1", 1))
            async with httpx.AsyncClient(transport=transport, base_url="http://shuffler") as web:
                for what in bodies:
                    with contextlib.suppress(ConnectionError):
                        answers.append(await web.post(REPORTS, content=parts(what), headers=HEADERS))
        return answers

    return asyncio.run(attempt())


def test_an_upload_that_does_not_say_how_long_it_is_is_charged_for_what_it_has() -> None:
    answers = chunked(Limits(rate_per_address=1.0), [[body(4), body(2)], [body(3)], [body(2)], [body(1)], [body(1)]])
    assert [answer.status_code for answer in answers] == [200, 200, 429, 429, 429]
    assert answers[2].headers["retry-after"] == "2"
    (refused,) = chunked(Limits(rate_per_address=1.0), [[body(11)]])
    assert (refused.status_code, refused.json()["most"]) == (413, 10)


def test_a_body_that_never_comes_costs_its_sender() -> None:
    """Who declares a megabyte, or does not say how much, is charged before any of it is read."""
    assert chunked(Limits(rate_per_address=1.0), [None, [body(1)]])[-1].json()["type"] == "urn:shuffledp:too_often"

    async def never() -> AsyncIterator[bytes]:
        yield b"x" * 126
        raise ConnectionError

    async def attempt() -> httpx.Response:
        app = service(Limits(rate_per_address=832.2))[0].app()
        async with app.router.lifespan_context(app):
            transport = httpx.ASGITransport(app, client=("192.0.2.1", 1))
            async with httpx.AsyncClient(transport=transport, base_url="http://shuffler") as web:
                declared = {"Content-Length": str(126 * 8322)}
                with contextlib.suppress(ConnectionError):
                    await web.post(REPORTS, content=never(), headers=HEADERS | declared)
                return await web.post(REPORTS, content=body(1), headers=HEADERS)

    assert asyncio.run(attempt()).json()["type"] == "urn:shuffledp:too_often"


def test_a_rate_for_everybody() -> None:
    """Whoever does not get a turn in time hears when to try again."""
    limits = Limits(rate=0.5, turn_timeout=0.01)
    answers, _, _ = statuses(limits, [("192.0.2.1", 5), ("192.0.2.2", 5)])
    assert [answer.status_code for answer in answers] == [200, 429]
    assert answers[1].json()["type"] == "urn:shuffledp:too_often"
    assert answers[1].headers["retry-after"] == "10"
    # garbage, and who is refused for its address, do not use up what is for everybody
    both = Limits(rate=0.8, rate_per_address=5.0, turn_timeout=0.01)
    answers, _, _ = statuses(both, [*[("192.0.2.1", bytes(126 * 8))] * 7, ("192.0.2.2", 8)])
    assert [answer.status_code for answer in answers] == [*[200] * 6, 429, 200]


def test_one_sender_does_not_use_up_the_rate_of_everybody() -> None:
    """While one sender has many uploads waiting, others have their turn after one of its each."""
    clock = Clock()
    shuffler = Shuffler(store=SQLiteStore(":memory:"), ring=SHUFFLER, clock=lambda: 0.0)
    shuffler.serve(TASK, ANALYZER.public())
    instance = Service(shuffler, TOKENS, Limits(rate=5.0, turn_timeout=3600.0), clock=clock)
    order: list[str] = []

    async def upload(app: Any, address: str, content: bytes) -> None:
        transport = httpx.ASGITransport(app, client=(address, 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://shuffler") as web:
            answer = await web.post(REPORTS, content=content, headers=HEADERS)
        assert answer.json()["outcomes"] == ["accepted"] * (len(content) // 126)
        order.append(address)

    async def attempt() -> None:
        app = instance.app()
        async with app.router.lifespan_context(app):
            await upload(app, "192.0.2.1", body(50))  # as many as the window allows
            crowd = [asyncio.create_task(upload(app, "192.0.2.1", body(1))) for _ in range(20)]
            while len(waiting(instance)) < 20:
                await asyncio.sleep(0)
            others = [asyncio.create_task(upload(app, f"192.0.2.{j}", body(1))) for j in range(2, 7)]
            while len(waiting(instance)) < 25:
                await asyncio.sleep(0)
            clock.now += 1.2  # six reports: one of each sender
            await asyncio.gather(*others)
            assert sum(task.done() for task in crowd) <= 1
            clock.now += 100.0
            await asyncio.gather(*crowd)

    def waiting(instance: Any) -> list[Any]:
        return [turn for queue in instance._shared_rate._waiting.values() for turn in queue]

    asyncio.run(attempt())
    assert len(order) == 26
    assert {f"192.0.2.{j}" for j in range(2, 7)} <= set(order[1:7])


@pytest.mark.parametrize(
    "limits",
    [Limits(max_waiting_reports=60, reports_per_commit=20), Limits(max_waiting_uploads=5, reports_per_commit=20)],
)
def test_more_than_it_can_take_gets_429_and_no_acknowledged_report_is_lost(
    monkeypatch: pytest.MonkeyPatch, limits: Limits
) -> None:
    """Many uploads at once to a slow disk: each is either acknowledged and kept, or refused whole, and works when tried again."""
    instance, shuffler = service(limits)
    honest = SQLiteStore.add_reports

    def slow(store: SQLiteStore, *values: Any, **more: Any) -> Any:
        time.sleep(0.02)
        return honest(store, *values, **more)

    monkeypatch.setattr(SQLiteStore, "add_reports", slow)
    uploads = [body(10) for _ in range(40)]
    seen: Counter[int] = Counter()

    async def attack() -> int:
        app = instance.app()
        kept = 0

        async def upload(web: httpx.AsyncClient, content: bytes) -> None:
            nonlocal kept
            while True:
                answer = await web.post(REPORTS, content=content, headers=HEADERS)
                seen[answer.status_code] += 1
                if answer.status_code == 200:
                    assert answer.json()["outcomes"] == ["accepted"] * 10
                    kept += 10
                    return
                assert answer.status_code == 429
                assert answer.headers["retry-after"]
                await asyncio.sleep(0.05)

        async with app.router.lifespan_context(app):
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://shuffler") as web:
                await asyncio.gather(*(upload(web, content) for content in uploads))
            assert shuffler.store.open_batch(TASK.id).count == kept
        return kept

    assert asyncio.run(attack()) == 400
    assert seen[200] == 40
    assert seen[429] > 0
