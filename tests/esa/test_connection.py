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
from shuffledp.esa.http import OCTETS

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
def connected(server: Server) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", int(server.url.rsplit(":", 1)[1])), timeout=PATIENCE) as connection:
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


def test_those_who_behave_are_served_beside(server: Server, tmp_path: Path) -> None:
    one, two = sealed(1, TASK), sealed(2, TASK)
    length = b"Content-Length: 126\r\n"
    with connected(server) as connection:
        connection.sendall(HEAD + length + b"\r\n" + one + b"\r\n" + HEAD + length + b"Connection: close\r\n\r\n" + two)
        assert rest(connection).count(b'"accepted"') == 2
    assert stored(server.folder, "SELECT count FROM batch") == 2
