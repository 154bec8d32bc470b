"""SIGTERM: what waits is answered, what was acknowledged is kept, and the service ends in time, whatever hangs."""

import os
import signal
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from oracles.parties import SIXTEEN as TASK
from oracles.parties import sealed
from oracles.server import Server, running, stored
from shuffledp.service.client.sender import Sender
from shuffledp.service.shuffler.http import OCTETS

REPORTS, HEADERS = f"/v2/tasks/{TASK.id}/reports", {"Content-Type": OCTETS}
GRACE = 4
STOPPING = f"--stop-timeout {GRACE} --processes 1"


def children(pid: int) -> list[int]:
    return [int(child) for path in Path(f"/proc/{pid}/task").glob("*/children") for child in path.read_text().split()]


def test_on_sigterm_pending_uploads_are_answered_and_acknowledged_ones_kept(folder: Path) -> None:
    enough, known = threading.Semaphore(0), set[bytes]()
    with running(folder) as server:

        def send(number: int) -> None:
            """Report until it stops."""
            with httpx.Client(headers=HEADERS, timeout=60) as web:
                while True:
                    record = sealed(number % 16, TASK)
                    try:
                        answer = web.post(f"{server.url}{REPORTS}", content=record)
                    except httpx.TransportError:
                        return
                    if answer.status_code != 200:
                        assert answer.status_code == 503
                        return
                    known.add(record)
                    enough.release()

        with ThreadPoolExecutor(8) as pool:
            jobs = [pool.submit(send, number) for number in range(8)]
            for _ in range(30):
                assert enough.acquire(timeout=60)
            output = server.stop()
            for job in jobs:
                job.result()
    assert "Traceback" not in "".join(output)
    assert stored(folder, "SELECT count(*) FROM sealed") >= len(known) >= 30
    with running(folder) as server:
        again = Sender(url=server.url).send(TASK, sorted(known))
    assert again == ["report_replayed"] * len(known)


def test_a_store_that_hangs_does_not_keep_the_service_from_ending(folder: Path) -> None:
    with running(folder, STOPPING, stuck_at="accept: first report written") as server:
        port = int(server.url.rsplit(":", 1)[1])
        uploads = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(2)]
        for number, upload in enumerate(uploads):
            record = sealed(number, TASK)
            head = (
                f"POST {REPORTS} HTTP/1.1\r\nHost: x\r\nContent-Type: {OCTETS}\r\nContent-Length: {len(record)}\r\n\r\n"
            )
            upload.sendall(head.encode() + record)
        server.said("stuck at")
        assert httpx.get(f"{server.url}/healthz").text == "ok\n"  # what was sent before this has been read
        output = server.stop()
        for upload in uploads:  # both are answered: the one that is being written, and the one behind it
            with upload, upload.makefile("rb") as answer:
                assert b" 503 " in answer.readline()
                assert b"the shuffler is stopping" in answer.read()
    assert "Traceback" not in "".join(output)


def test_a_release_that_hangs_does_not_keep_the_service_from_ending(folder: Path) -> None:
    with running(folder, STOPPING, stuck_at="release: permuted") as server, ThreadPoolExecutor(1) as pool:
        sent = [sealed(j % 16, TASK) for j in range(TASK.release_size)]
        assert set(Sender(url=server.url).send(TASK, sent)) == {"accepted"}
        close = f"{server.url}/v2/tasks/{TASK.id}/batches/close"
        job = pool.submit(httpx.post, close, headers=server.headers("operator"), timeout=60)
        server.said("stuck at")
        output = server.stop()
        assert job.result().status_code == 503
    assert "Traceback" not in "".join(output)
    with running(folder) as server:  # taken up again
        assert stored(folder, "SELECT count FROM batch WHERE state = 'RELEASED'") == TASK.release_size


def test_the_service_ends_even_if_its_event_loop_hangs(folder: Path) -> None:
    with running(folder, STOPPING, stuck_at="accept: about to answer") as server, ThreadPoolExecutor(1) as pool:
        job = pool.submit(httpx.post, f"{server.url}{REPORTS}", content=sealed(1, TASK), headers=HEADERS, timeout=60)
        server.said("stuck at")
        output = server.stop()
        assert isinstance(job.exception(), httpx.TransportError)
    assert server.process.returncode == 1
    assert f"still busy {GRACE} s after the signal to stop" in output[1]
    assert stored(folder, "SELECT count(*) FROM sealed") == 1


def test_slow_clients_do_not_keep_the_service_from_ending(folder: Path) -> None:
    with running(folder, STOPPING) as server:
        port = int(server.url.rsplit(":", 1)[1])
        slow = [socket.create_connection(("127.0.0.1", port)) for _ in range(3)]
        head = f"POST {REPORTS} HTTP/1.1\r\nHost: x\r\nContent-Type: {OCTETS}\r\n".encode()
        slow[0].sendall(head)  # half a head
        slow[1].sendall(head + b"Content-Length: 126\r\n\r\nx")  # half a body
        assert httpx.get(f"{server.url}/healthz").text == "ok\n"
        output = server.stop()
        for connection in slow:
            connection.close()
    assert "Traceback" not in "".join(output)


def test_helpers_that_hang_cost_nothing_and_do_not_keep_the_service_from_ending(folder: Path) -> None:
    with running(folder, "--processes 2 --helper-timeout 3") as server:
        sender = Sender(url=server.url)
        stopped = helpers(server)
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        before = stored(folder, "SELECT count FROM batch")
        assert set(sender.send(TASK, [sealed(j % 16, TASK) for j in range(400)])) == {"accepted"}
        assert not any(Path(f"/proc/{pid}").exists() for pid in stopped)
        output = server.stop()
    assert "helper processes did not answer in time" in output[1]
    assert stored(folder, "SELECT count FROM batch") == before + 400


def test_helpers_that_hang_are_ended_with_the_service(folder: Path) -> None:
    with running(folder, "--processes 2") as server:
        stopped = helpers(server)
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        server.stop()
        assert not any(alive(pid) for pid in stopped)


def test_killed_shufflers_leave_no_helpers_behind(folder: Path) -> None:
    with running(folder, "--processes 2") as server:
        left = helpers(server)
        server.process.send_signal(signal.SIGKILL)
        server.process.wait(60)
        while any(alive(pid) for pid in left):
            pass


def test_helpers_that_are_killed_lose_nothing(folder: Path) -> None:
    with running(folder, "--processes 2") as server:
        sender = Sender(url=server.url)
        for pid in helpers(server):
            os.kill(pid, signal.SIGKILL)
        before = stored(folder, "SELECT count FROM batch")
        for _ in range(2):
            assert set(sender.send(TASK, [sealed(j % 16, TASK) for j in range(400)])) == {"accepted"}
    assert stored(folder, "SELECT count FROM batch") == before + 800


def helpers(server: Server) -> list[int]:
    """Its processes that open reports, once they do; not the one that tidies up after them."""
    while True:  # on a busy machine they may not start in time at first
        sent = [sealed(j % 16, TASK) for j in range(400)]
        assert set(Sender(url=server.url).send(TASK, sent)) == {"accepted"}
        pids = children(server.process.pid)
        found = [pid for pid in pids if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        if len(found) == 2:
            return found


def alive(pid: int) -> bool:
    """Whether a process is there that is not just waiting to be reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
