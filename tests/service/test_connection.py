"""Clients that do not behave, against a real server with short deadlines: each is hung up on, whatever it does meanwhile.

Tests wait for the end of a connection, not for a time; a server that never hangs up fails them after a minute.
"""

import contextlib
import json
import select
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from oracles.parties import SHUFFLER, prepared, sealed
from oracles.parties import SIXTEEN as TASK
from oracles.server import Server, running, stored
from shuffledp.service.shuffler.connection import OVERHEAD
from shuffledp.service.shuffler.http import OCTETS

HEAD = f"POST /v2/tasks/{TASK.id}/reports HTTP/1.1\r\nHost: x\r\nContent-Type: {OCTETS}\r\n".encode()
GET = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
PATIENCE = 60.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = prepared(tmp_path_factory.mktemp("server"), TASK, SHUFFLER)
    short = "--head-timeout 3 --idle-timeout 3 --upload-timeout 3 --read-timeout 3 --max-connections 50"
    with running(folder, f"{short} --processes 1") as made:
        yield made
        output = "".join(made.stop())
    assert "Traceback" not in output, output


@contextlib.contextmanager
def connected(server: Server, address: str = "127.0.0.1") -> Iterator[socket.socket]:
    """A connection from one of this machine's own addresses."""
    there = ("127.0.0.1", int(server.url.rsplit(":", 1)[1]))
    with socket.create_connection(there, timeout=PATIENCE, source_address=(address, 0)) as connection:
        yield connection


def rest(connection: socket.socket) -> bytes:
    """What comes until the server hangs up."""
    parts = []
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


@contextlib.contextmanager
def dripping(connection: socket.socket, data: bytes) -> Iterator[None]:
    """Send the same again and again, faster than any deadline, until the connection is gone."""
    over = threading.Event()

    def drip() -> None:
        with contextlib.suppress(OSError):
            while not over.wait(0.05):
                connection.sendall(data)

    thread = threading.Thread(target=drip)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


STATES = {
    "nothing": (b"", b""),
    "a line end": (b"\r\n", b""),
    "line ends": (b"", b"\r\n"),
    "idle": (GET, b""),
    "a line end after a request": (GET + b"\r\n", b""),
    "line ends after a request": (GET, b"\r\n"),
    "half a head": (b"GET /healthz HTTP/1.1\r\n", b""),
    "an endless head": (b"GET /healthz HTTP/1.1\r\n", b"X: x\r\n"),
    "half a second head": (GET + b"G", b""),
    "a body that nobody wants": (GET.replace(b"\r\n\r\n", b"\r\nContent-Length: 100000\r\n\r\n"), b"x"),
    "chunks that nobody wants": (GET.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n"), b"1\r\nx\r\n"),
}


def test_no_state_of_a_connection_lasts_for_ever(server: Server) -> None:
    def answers(begin: bytes, drip: bytes) -> int:
        """How many come before the server hangs up."""
        with connected(server) as connection:
            connection.sendall(begin)
            with dripping(connection, drip) if drip else contextlib.nullcontext():
                return rest(connection).count(b"200 OK")

    with ThreadPoolExecutor(len(STATES)) as pool:
        jobs = {name: pool.submit(answers, begin, drip) for name, (begin, drip) in STATES.items()}
        found = {name: job.result() for name, job in jobs.items()}
    assert found == {name: begin.count(b"\r\n\r\n") for name, (begin, _) in STATES.items()}


@pytest.mark.parametrize("drip", [b"", b"x"])
def test_an_upload_that_does_not_arrive_is_answered(server: Server, drip: bytes) -> None:
    with connected(server) as connection:
        connection.sendall(HEAD + b"Content-Length: 100000\r\n\r\n")
        with dripping(connection, drip) if drip else contextlib.nullcontext():
            answer = rest(connection)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b'"urn:shuffledp:too_slow"' in answer


def test_a_client_that_reads_nothing_is_hung_up_on(server: Server) -> None:
    with connected(server) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        garbage = HEAD + b"Content-Length: 1008000\r\n\r\n" + bytes(1_008_000)  # the answer has 8,000 outcomes
        connection.settimeout(2)
        with contextlib.suppress(OSError):  # until neither side takes more
            send_for_ever(connection, garbage)
        gone = select.poll()
        gone.register(connection, select.POLLRDHUP | select.POLLHUP | select.POLLERR)
        assert gone.poll(1000 * PATIENCE)


@pytest.mark.parametrize("trailer", [b"X: " + b"x" * 1000 + b"\r\n", b"0" * 1000])
def test_what_is_not_body_is_short(server: Server, trailer: bytes) -> None:
    """Trailers and sizes of chunks, like heads, come in small amounts or not at all."""
    with connected(server) as connection:
        connection.sendall(
            HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + (b"0\r\n" if trailer.startswith(b"X") else b"")
        )
        with pytest.raises(ConnectionError):
            send_for_ever(connection, trailer)


def get(size: int) -> bytes:
    """A request with a head of so many bytes."""
    start = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX: "
    return start + b"x" * (size - len(start) - 4) + b"\r\n\r\n"


@pytest.mark.parametrize("piece", [1 << 20, 1000])
def test_a_head_above_64_kib_is_refused_however_it_arrives(server: Server, piece: int) -> None:
    for size, status in ((OVERHEAD, b"200 OK"), (OVERHEAD + 1, b"431 "), (OVERHEAD + 60_000, b"431 ")):
        head = get(size)
        with connected(server) as connection:
            with contextlib.suppress(ConnectionError):  # refused before all of it was sent
                for start in range(0, size, piece):
                    connection.sendall(head[start : start + piece])
            answer = rest(connection)
        assert answer.startswith(b"HTTP/1.1 " + status) or (size > OVERHEAD + 1 and not answer)


def test_a_long_head_behind_another_request_is_refused(server: Server) -> None:
    with connected(server) as connection:
        connection.sendall(GET + get(OVERHEAD + 100))
        assert rest(connection).count(b"200 OK") <= 1


def send_for_ever(connection: socket.socket, data: bytes) -> None:
    while True:
        connection.sendall(data)


def test_few_requests_may_wait_for_the_first(server: Server) -> None:
    with connected(server) as connection:
        connection.sendall(GET * 10_000)
        assert b'"urn:shuffledp:invalid_http"' in rest(connection)


def test_requests_that_are_not_http_are_problem_details(server: Server) -> None:
    with connected(server) as connection:
        connection.sendall(b"nonsense\r\n\r\n")
        head, _, body = rest(connection).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"application/problem+json" in head
    assert json.loads(body) == {
        "type": "urn:shuffledp:invalid_http", "title": "invalid http request received", "status": 400,
    }  # fmt: skip


def test_too_many_connections_are_told_so_and_leave_room_again(server: Server) -> None:
    with contextlib.ExitStack() as many:
        for _ in range(60):
            many.enter_context(connected(server))
        refused = httpx.get(f"{server.url}/v2/tasks/{TASK.id}")
        assert refused.status_code == 503
        assert refused.json()["type"] == "urn:shuffledp:busy"
        assert refused.headers["retry-after"] == "1"
        assert refused.headers["access-control-allow-origin"] == "*"
        while httpx.get(f"{server.url}/healthz").status_code != 200:  # the silent ones are hung up on
            pass


def test_silent_connections_from_one_address_keep_nobody_else_from_connecting(server: Server) -> None:
    with contextlib.ExitStack() as many:
        for _ in range(60):
            many.enter_context(connected(server, "127.0.0.2"))
        for _ in range(10):
            connection = many.enter_context(connected(server))
            connection.sendall(GET)
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")


def test_slow_uploads_from_one_address_keep_nobody_else_from_reporting(tmp_path: Path) -> None:
    """Three uploads that do not fit together: one is refused, and the others leave less room than a report needs."""
    folder = prepared(tmp_path / "server", TASK, SHUFFLER)
    with running(folder, "--max-upload-bytes 2520 --max-incoming-bytes 4096") as server, contextlib.ExitStack() as many:
        slow = [many.enter_context(connected(server, "127.0.0.2")) for _ in range(3)]
        for connection in slow:
            connection.sendall(HEAD + b"Content-Length: 2520\r\n\r\n" + bytes(2000))
        (refused,), _, _ = select.select(slow, [], [], PATIENCE)
        assert refused.recv(65536).startswith(b"HTTP/1.1 429 ")
        slow.remove(refused)
        for j in range(5):
            report = sealed(j, TASK)
            with connected(server) as honest:
                honest.sendall(HEAD + b"Content-Length: 126\r\nConnection: close\r\n\r\n" + report)
                assert rest(honest).count(b'"accepted"') == 1
        (refused,), _, _ = select.select(slow, [], [], PATIENCE)  # it made room for them
        assert refused.recv(65536).startswith(b"HTTP/1.1 429 ")
        assert httpx.get(f"{server.url}/readyz").status_code == 200


def test_those_who_behave_are_served_beside(server: Server, tmp_path: Path) -> None:
    one, two = sealed(1, TASK), sealed(2, TASK)
    length = b"Content-Length: 126\r\n"
    with connected(server) as connection:
        connection.sendall(HEAD + length + b"\r\n" + one + b"\r\n" + HEAD + length + b"Connection: close\r\n\r\n" + two)
        assert rest(connection).count(b'"accepted"') == 2
    assert stored(server.folder, "SELECT count FROM batch") == 2
