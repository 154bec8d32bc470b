"""A hostile shuffler gets little memory and time out of clients, operators and analyzers, and no word on their terminals."""

import asyncio
import functools
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from oracles.hostile import BEHAVIOURS, ENDLESS, UNPACKED, HostileShuffler
from oracles.parties import ANALYZER, EIGHT, MEAN, SHUFFLER
from shuffledp import InvalidInput
from shuffledp.service.analyzer.batch_fetcher import BatchFetcher
from shuffledp.service.client.client import Announcement, Client
from shuffledp.service.client.sender import NotDelivered, Sender, submit
from shuffledp.service.wire.exchange import ANSWER_SECONDS, SLOWEST, Peer, TooSlow, Unreachable, done

EXCHANGES = ("describe", "send", "list", "close", "fetch")
UNREACHABLE = r"could not be reached\. "
TOO_LONG = r"answer is longer than [\d,]+ bytes"
NOT_IT = r"describes another task|could not be reached|could not be understood|does not match its hash"
EXPECTED = {
    "gzip-bomb": "compressed its answer",
    **dict.fromkeys(("endless-body", "endless-chunks"), TOO_LONG),
    **dict.fromkeys(("endless-head", "endless-line", "endless-trailers", "too-short", "not-http"), UNREACHABLE),
    **dict.fromkeys(ENDLESS, r"gave no complete answer within 0\.2 s\. Try again later"),
    "redirect": "status 307",
    **dict.fromkeys(("deep-json", "deep-object", "huge-number", "cookie"), NOT_IT),
    "many-lists": f"{TOO_LONG}|{NOT_IT}",
    "refusal-with-escapes": re.escape(r"status 404: no\x1b[2J\r\nepsilon = 0.01\u202e"),
}
"""What each exchange says in the end, whatever the behaviour."""


@pytest.fixture(scope="module")
def shuffler() -> Iterator[HostileShuffler]:
    with closing(HostileShuffler()) as found:
        yield found


@pytest.fixture(scope="module")
def besieged(shuffler: HostileShuffler, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a process that asked for everything heard, and the most memory that it had."""
    task = tmp_path_factory.mktemp("besieged") / "task.json"
    task.write_text(json.dumps(EIGHT.document()))
    done = subprocess.run(
        [sys.executable, "-m", "oracles.besieged", shuffler.url, task], capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("behaviour", BEHAVIOURS)
def test_every_exchange_with_a_hostile_shuffler_ends_with_a_clear_error(
    besieged: dict[str, Any], behaviour: str
) -> None:
    said = besieged["said"][behaviour]
    assert tuple(said) == EXCHANGES
    for exchange, error in said.items():
        assert re.search(EXPECTED[behaviour], error), (exchange, error)
        assert error.isprintable()
        assert len(error) < 400


def test_a49_a_hostile_shuffler_gets_no_more_than_200_megabytes(besieged: dict[str, Any]) -> None:
    assert UNPACKED > 2 * 200e6
    assert besieged["peak"] < 200e6


def test_a49_what_a_hostile_shuffler_can_delay_ends_within_a_minute() -> None:
    """A submission: one question and the report. A collection: the list and the batch."""
    assert ANSWER_SECONDS + Sender(url="https://x").patience <= 60
    assert 2 * BatchFetcher(url="https://x", token="t").patience <= 60


def test_a_redirect_is_not_followed_and_no_cookie_is_sent_back(
    besieged: dict[str, Any], shuffler: HostileShuffler
) -> None:
    heads = [head.lower() for head in shuffler.heads]
    assert sum(b"/redirect/" in head for head in heads) >= len(EXCHANGES)
    assert not any(b" /elsewhere" in head for head in heads)
    assert sum(b"/cookie/v2/tasks" in head and head.startswith(b"post") for head in heads) >= 3
    assert not any(b"\r\ncookie:" in head for head in heads)
    assert all(b"\r\naccept-encoding: identity\r\n" in head for head in heads)


def test_plain_http_stays_on_this_machine_whatever_proxy_there_is(
    shuffler: HostileShuffler, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with pytest.raises(InvalidInput, match="status 307"):
        BatchFetcher(url=f"{shuffler.url}/redirect", token="t").announced(EIGHT)


def test_a_deadline_is_of_the_whole_delivery_and_nothing_is_lost(shuffler: HostileShuffler, tmp_path: Path) -> None:
    """Also of what is tried again; the report waits, and a later submission sends the same bytes."""
    stubborn = Sender(url=f"{shuffler.url}/too-short", attempts=10**9, pause=0.0, patience=0.2)
    me = Client(task=EIGHT, analyzer=ANALYZER.public(), folder=tmp_path)
    announced = Announcement(window=1, keys=SHUFFLER.public(), key_id=0, next_keys=ANALYZER.public())
    with pytest.raises(NotDelivered, match=r"no complete answer within 0\.2 s\. Try again later; the same report"):
        submit(me, "a", sender=stubborn, announced=announced)
    waits = me.again(1)
    assert waits
    with pytest.raises(NotDelivered):
        submit(me, "b", sender=stubborn, announced=announced)
    assert me.again(1) == waits


def test_an_exchange_can_be_waited_for_where_a_loop_runs_already(shuffler: HostileShuffler) -> None:
    async def notebook() -> str:
        try:
            Sender(url=f"{shuffler.url}/redirect").described(EIGHT)
        except InvalidInput as error:
            return str(error)
        return ""

    assert "status 307" in asyncio.run(notebook())


@pytest.mark.parametrize(("status", "good"), [(b"200 OK", True), (b"404 Not Found", False)])
def test_what_has_arrived_of_a_batch_buys_time_and_a_refusal_buys_none(status: bytes, good: bool) -> None:
    """Two minutes' worth arrive, then a minute and a half pass by the loop's clock: only a batch is still waited for."""
    start = 120 * SLOWEST if good else 1000
    arrived = bytearray()

    async def exchanged() -> int:
        loop = asyncio.get_running_loop()
        real, passed, gone = loop.time, 0.0, asyncio.Event()
        loop.time = lambda: real() + passed  # type: ignore[method-assign]

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal passed
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 %b\r\nContent-Length: %d\r\n\r\n" % (status, start + 1))
            writer.write(bytes(start))
            while good and len(arrived) < start:
                await asyncio.sleep(0)
            passed = 90.0
            writer.write(b"x")
            await reader.read()
            writer.close()
            gone.set()

        async with await asyncio.start_server(answer, "127.0.0.1", 0) as listener:
            try:
                async with Peer(f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}") as peer:
                    return (await peer.fetch("/", arrived.extend, most=1 << 30, seconds=60)).status
            finally:
                await gone.wait()

    if good:
        assert done(exchanged()) == 200
        assert len(arrived) == start + 1
    else:
        with pytest.raises(TooSlow):
            done(exchanged())
        assert not arrived


def test_a_token_that_no_header_can_hold_is_not_shown() -> None:
    async def ask() -> None:
        async with Peer("http://127.0.0.1:9", "sécret-token-of-sixteen") as peer:
            await peer.ask("GET", "/")

    with pytest.raises(InvalidInput) as refusal:
        done(ask())
    assert "cret" not in str(refusal.value)
    assert not isinstance(refusal.value, Unreachable)


def test_nothing_of_another_task_is_proved_and_no_key_of_too_long_a_list_is_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both take time, and a shuffler may send as much as it likes of them."""

    def untouched(*_: object) -> Any:
        raise AssertionError

    described = {"task": MEAN.document(), "window": 1, "key_id": 0, "keys": {}, "next_keys": {}}

    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, stream=httpx.ByteStream(json.dumps(described).encode()))

    client = functools.partial(httpx.AsyncClient, transport=httpx.MockTransport(answer))
    monkeypatch.setattr(httpx, "AsyncClient", client)
    monkeypatch.setattr("shuffledp.planning.plan.Plan.from_document", untouched)
    monkeypatch.setattr("shuffledp.service.sealing.keys._point", untouched)
    with pytest.raises(InvalidInput, match="another task than the one agreed to"):
        Sender(url="https://x").described(EIGHT)
    (key,) = ANALYZER.public().document()["keys"]
    described |= {"task": EIGHT.document(), "keys": {"role": "shuffler", "keys": [key] * 257}}
    with pytest.raises(InvalidInput, match="not a list of keys"):
        Sender(url="https://x").described(EIGHT)
