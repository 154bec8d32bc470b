"""Too much at once: 429 and nothing lost; too often: 429 and a time to come back."""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import Any

import httpx
import pytest

from oracles.parties import PARTIES
from shuffledp import plan
from shuffledp.esa.crypto import seal_message
from shuffledp.esa.http import OCTETS, Service, Tokens
from shuffledp.esa.keys import KeyRing
from shuffledp.esa.limits import Limits
from shuffledp.esa.rate import DEBT, Rate
from shuffledp.esa.shuffler import Shuffler
from shuffledp.esa.task import Task
from shuffledp.stores.sqlite.store import SQLiteStore

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


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def passes(rate: Rate, name: str, reports: int) -> float:
    """How long to wait; 0 if it passed."""
    pause = rate.wait(name)
    if not pause:
        rate.take(name, reports)
    return pause


def test_rates() -> None:
    clock = Clock()
    rate = Rate(10.0, clock)
    assert [passes(rate, "a", 5) for _ in range(2)] == [0.0, 0.0]
    assert passes(rate, "a", 1) > 0
    assert passes(rate, "b", 100) == 0.0  # a large upload passes, and is paid for later
    pause = passes(rate, "b", 1)
    assert pause == pytest.approx(9.0, abs=0.01)
    clock.now += pause - 0.1
    assert passes(rate, "b", 1) == pytest.approx(0.1, abs=0.01)
    clock.now += 0.1  # what was said was true
    assert passes(rate, "b", 1) == 0.0
    rate.take("c", 1_000_000)
    assert rate.wait("c") == pytest.approx(DEBT, abs=0.01)  # whatever came, nobody waits longer
    clock.now -= 100.0  # a clock that steps back gives nothing away
    assert passes(rate, "a", 1) > 0


@pytest.mark.parametrize("busy", [False, True])
def test_rates_forget(monkeypatch: pytest.MonkeyPatch, busy: bool) -> None:
    """Memory is bounded, whoever comes."""
    monkeypatch.setattr("shuffledp.esa.rate._BUCKETS", 100)
    clock = Clock()
    rate: Any = Rate(1.0, clock)
    for j in range(1000):
        passes(rate, str(j), 50)
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
        ("192.0.2.1", 6),
        ("192.0.2.1", 1),
        ("192.0.2.2", 6),
        ("2001:db8::1", 6),
        ("2001:db8::2", 6),
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
    assert int(answers[1].headers["retry-after"]) == 11
    assert 'kind="too_often"} 2' in metrics
    assert shuffler.counters[TASK.id] == {"accepted": 19}
    mapped = [("::ffff:192.0.2.1", 6), ("::ffff:192.0.2.2", 6), ("::ffff:192.0.2.1", 1)]  # IPv4 on a socket for both
    answers, _, _ = statuses(Limits(rate_per_address=0.5), mapped)
    assert [answer.status_code for answer in answers] == [200, 200, 429]


def test_a_body_that_never_comes_costs_its_sender() -> None:
    """Who declares a megabyte, or does not say how much, is charged before any of it is read."""
    for headers in ({"Content-Length": str(1 << 20)}, {"Transfer-Encoding": "chunked"}):
        instance, _ = service(Limits(rate_per_address=100.0))

        async def never() -> AsyncIterator[bytes]:
            yield b"x" * 126
            raise ConnectionError

        async def attempt(instance: Service, headers: dict[str, str]) -> httpx.Response:
            app = instance.app()
            async with app.router.lifespan_context(app):
                transport = httpx.ASGITransport(app, client=("192.0.2.1", 1))
                async with httpx.AsyncClient(transport=transport, base_url="http://shuffler") as web:
                    with contextlib.suppress(ConnectionError):
                        await web.post(REPORTS, content=never(), headers=HEADERS | headers)
                    return await web.post(REPORTS, content=body(1), headers=HEADERS)

        assert asyncio.run(attempt(instance, headers)).json()["type"] == "urn:shuffledp:too_often"


def test_a_rate_for_everybody() -> None:
    answers, _, _ = statuses(Limits(rate=0.5), [("192.0.2.1", 6), ("192.0.2.2", 6)])
    assert [answer.status_code for answer in answers] == [200, 429]
    # who is refused for its address does not use up what is for everybody
    both = Limits(rate=8.0, rate_per_address=0.1)
    answers, _, _ = statuses(both, [("192.0.2.1", 1), *[("192.0.2.1", 50)] * 5, ("192.0.2.2", 1)])
    assert [answer.status_code for answer in answers] == [200, *[429] * 5, 200]


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
