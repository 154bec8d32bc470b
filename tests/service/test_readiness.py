"""/healthz says that the process is alive, /readyz whether it should get reports, and if not, why."""

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

from oracles.parties import ANALYZER, SHUFFLER, sealed
from oracles.parties import SIXTEEN as TASK
from shuffledp.service.shuffler.http import OCTETS, Service, Tokens
from shuffledp.service.shuffler.limits import Limits
from shuffledp.service.shuffler.shuffler import Shuffler
from shuffledp.service.stores.crash_points import Point
from shuffledp.service.stores.sqlite.store import SQLiteStore

TOKENS = Tokens(operator="operator-token-1234", analyzer="analyzer-token-1234")
REPORTS, HEADERS = f"/v2/tasks/{TASK.id}/reports", {"Content-Type": OCTETS}


@pytest.fixture
def room() -> dict[str, int]:
    return {"free": 10**9}


@pytest.fixture
def limits() -> Limits:
    return Limits()


@pytest.fixture
def may_write() -> threading.Event:
    """Whether the store writes anything, or hangs."""
    event = threading.Event()
    event.set()
    return event


@pytest.fixture
def service(
    tmp_path: Path, room: dict[str, int], limits: Limits, may_write: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> Service:
    def reached(point: Point) -> None:
        if point == "accept: first report written":
            may_write.wait(60)

    monkeypatch.setattr("shuffledp.service.shuffler.readiness._FRESH", 0.0)
    monkeypatch.setattr(SQLiteStore, "free_bytes", lambda _: room["free"])
    store = SQLiteStore(tmp_path / "store.db", reached=reached)
    shuffler = Shuffler(store=store, ring=SHUFFLER, clock=lambda: 0.0)
    shuffler.serve(TASK, ANALYZER.public())
    return Service(shuffler, TOKENS, limits)


@pytest.fixture
def web(service: Service) -> Iterator[TestClient]:
    with TestClient(service.app()) as client:
        yield client


@pytest.fixture
def stuck(may_write: threading.Event) -> Iterator[threading.Event]:
    """A store that takes for ever, until told."""
    may_write.clear()
    yield may_write
    may_write.set()


def wrong(web: TestClient) -> list[str]:
    """What /readyz says; /healthz says yes whatever happens."""
    health, ready = web.get("/healthz"), web.get("/readyz")
    assert (health.status_code, health.text) == (200, "ok\n")
    if ready.status_code == 200:
        return []
    assert ready.status_code == 503
    assert ready.headers["content-type"] == "application/problem+json"
    document: dict[str, Any] = ready.json()
    assert document["type"] == "urn:shuffledp:not_ready"
    found: list[str] = document["wrong"]
    return found


def test_a_shuffler_that_can_work_is_ready(web: TestClient) -> None:
    assert wrong(web) == []


def test_too_little_room_on_the_disk(web: TestClient, room: dict[str, int]) -> None:
    room["free"] = 99_999_999
    (why,) = wrong(web)
    assert "too little room" in why
    room["free"] = 100_000_000
    assert wrong(web) == []


def test_a_store_that_is_gone(web: TestClient, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "store.db").rename(tmp_path / "away.db")
    assert wrong(web) == ["the store cannot be written to"]
    assert "removed or replaced" in caplog.text  # the log says more than a stranger may know
    assert web.post(REPORTS, content=sealed(1, TASK), headers=HEADERS).status_code == 503
    (tmp_path / "away.db").rename(tmp_path / "store.db")
    assert wrong(web) == []


@pytest.mark.parametrize("limits", [Limits(ready_wait=0.2, answer_timeout=0.5)])
def test_a_store_that_hangs(web: TestClient, stuck: threading.Event, tmp_path: Path) -> None:
    """The upload is answered, and may be kept all the same: the same bytes again are recognized."""
    sent = sealed(1, TASK)
    answer = web.post(REPORTS, content=sent, headers=HEADERS)
    assert answer.status_code == 503
    assert "Send the same bytes again" in answer.json()["title"]
    found = wrong(web)
    assert any("an upload has waited for" in why for why in found)
    assert any("the store has not answered" in why for why in found)
    late = web.post(REPORTS, content=sealed(2, TASK), headers=HEADERS)  # never begun, so not kept
    assert late.status_code == 503
    stuck.set()
    while wrong(web):
        pass
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection:
        assert connection.execute("SELECT count FROM batch").fetchone() == (1,)
    while (again := web.post(REPORTS, content=sent, headers=HEADERS)).status_code != 200:
        pass
    assert again.json()["outcomes"] == ["report_replayed"]


@pytest.mark.parametrize("limits", [Limits(max_waiting_uploads=1, ready_wait=3600.0, answer_timeout=3600.0)])
def test_a_queue_that_would_take_nobody(service: Service, may_write: threading.Event) -> None:
    """While as much waits as may wait, and nobody has so much of it that it could give way to a newcomer."""

    async def attempt() -> None:
        app = service.app()
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://shuffler") as web,
        ):
            assert (await web.get("/readyz")).status_code == 200
            may_write.clear()
            waiting, sent = service._write_queue.waiting, []
            for waits in (0, 1):  # the first is being written by then
                sent.append(asyncio.create_task(web.post(REPORTS, content=sealed(waits, TASK), headers=HEADERS)))
                while (waiting.reports, len(waiting)) != (1 + waits, waits):
                    await asyncio.sleep(0)
            asking = asyncio.create_task(web.get("/readyz"))
            assert (await web.post(REPORTS, content=sealed(3, TASK), headers=HEADERS)).status_code == 429
            may_write.set()  # only then does the store answer
            answer = await asking
            assert answer.json()["wrong"] == ["too many reports are waiting to be written"]
            assert {(await one).status_code for one in sent} == {200}
            assert (await web.get("/readyz")).status_code == 200

    asyncio.run(attempt())


def test_a_shuffler_that_stops(service: Service, web: TestClient) -> None:
    service.drain()
    assert wrong(web) == ["the shuffler is stopping"]
    answer = web.post(REPORTS, content=sealed(1, TASK), headers=HEADERS)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")


def test_many_questions_are_one_write(web: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shuffledp.service.shuffler.readiness._FRESH", 3600.0)
    checked, honest = [], SQLiteStore.check

    def check(store: SQLiteStore) -> None:
        checked.append(store)
        honest(store)

    monkeypatch.setattr(SQLiteStore, "check", check)
    with ThreadPoolExecutor(4) as pool:
        assert {answer.status_code for answer in pool.map(web.get, ["/readyz"] * 20)} == {200}
    assert len(checked) == 1
