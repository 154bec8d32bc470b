"""Floods, with honest people beside them: how many of these are accepted within five seconds, and what /readyz says meanwhile.

Each flood is sent to a real shuffler on loopback, for SHUFFLEDP_BENCH_SECONDS (30) and with at most as many connections and
uploads as are written here. Senders differ by their loopback address, 127.x.y.z. Name floods to try only some of them.
"""

import asyncio
import contextlib
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from shuffledp.service.sealing.hpke import seal_message
from shuffledp.service.sealing.keys import KeyRing
from shuffledp.service.shuffler.http import OCTETS
from small_task import small_task

SECONDS = float(os.environ.get("SHUFFLEDP_BENCH_SECONDS", "30"))
PATIENCE = 5.0
"""Seconds within which an honest person should have been accepted."""
LENGTH = 126
"""Bytes of a report."""
LARGEST = (1 << 20) // LENGTH * LENGTH
"""Bytes of the largest upload that a shuffler takes."""
MOST_UPLOADS = 20_000
"""That one connection of a flood sends, however fast they are answered."""
HOSTILE = "127.0.0.2"
TASK = small_task(100_000)
SHUFFLER, ANALYZER = KeyRing.fresh("shuffler"), KeyRing.fresh("analyzer")
HEAD = f"POST /v2/tasks/{TASK.id}/reports HTTP/1.1\r\nHost: localhost\r\nContent-Type: {OCTETS}\r\n"


def sealed(count: int) -> bytes:
    """Reports that are accepted."""
    return b"".join(seal_message(j % 16, TASK, ANALYZER.public(), [SHUFFLER.public()]) for j in range(count))


@dataclass
class Seen:
    """What came of one flood: answers to the flood and to honest people, how long these waited, what /readyz said."""

    hostile: Counter[int] = field(default_factory=Counter)
    accepted: int = 0
    honest: Counter[int] = field(default_factory=Counter)
    waits: list[float | None] = field(default_factory=list)
    ready: Counter[int] = field(default_factory=Counter)


Flood = Callable[[int, float, Seen], Coroutine[None, None, None]]
"""From the port, the time at which to end, and where to count answers."""


@contextlib.asynccontextmanager
async def connected(port: int, address: str) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection from one of this machine's loopback addresses."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0))
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def answered(reader: asyncio.StreamReader) -> tuple[int, float, bytes]:
    """The status of an answer, the seconds after which to try again, and the body."""
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = re.search(rb"content-length: (\d+)", head)
    body = await reader.readexactly(int(length.group(1))) if length else b""
    again = re.search(rb"retry-after: (\d+)", head)
    return int(head[9:12]), float(again.group(1)) if again else 1.0, body


async def asked(port: int, address: str, request: bytes) -> tuple[int, float, bytes]:
    """A request and its answer, or status 0 if there is none."""
    try:
        async with asyncio.timeout(PATIENCE), connected(port, address) as (reader, writer):
            writer.write(request)
            return await answered(reader)
    except (OSError, asyncio.IncompleteReadError, TimeoutError):
        return 0, 0.5, b""


# Honest people


async def honest(port: int, address: str, report: bytes, seen: Seen) -> None:
    """One person with one report, who tries again as told until it is accepted or five seconds are over."""
    begin = time.monotonic()
    request = f"{HEAD}Content-Length: {LENGTH}\r\nConnection: close\r\n\r\n".encode() + report
    while (left := begin + PATIENCE - time.monotonic()) > 0:
        status, again, body = await asked(port, address, request)
        seen.honest[status] += 1
        if status == 200 and (b'"accepted"' in body or b'"report_replayed"' in body):
            seen.waits.append(time.monotonic() - begin)
            return
        await asyncio.sleep(min(again, left))
    seen.waits.append(None)


async def people(port: int, trial: "Trial", until: float, seen: Seen) -> None:
    """One person after the other, each with an address of their own unless there is a proxy."""
    every = trial.every
    count = int((until - time.monotonic()) / every)
    reports = sealed(count)
    begin = time.monotonic()
    async with asyncio.TaskGroup() as group:
        for number in range(count):
            await asyncio.sleep(max(0.0, begin + number * every - time.monotonic()))
            report = reports[number * LENGTH : (number + 1) * LENGTH]
            address = HOSTILE if trial.proxy else f"127.1.{number // 250}.{1 + number % 250}"
            group.create_task(honest(port, address, report, seen))


async def watch(port: int, until: float, seen: Seen) -> None:
    """Ask now and then whether the shuffler is ready."""
    while time.monotonic() < until:
        status, _, _ = await asked(port, "127.2.0.1", b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        seen.ready[status] += 1
        await asyncio.sleep(1.0)


# Floods


def slow(addresses: list[str]) -> Flood:
    """Uploads of 1 MiB whose last byte does not come: 64 of them leave no room for a report, for 30 seconds at 2.2 MB/s."""

    async def upload(port: int, address: str, until: float, seen: Seen) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, TimeoutError):
            async with asyncio.timeout(until - time.monotonic()), connected(port, address) as (reader, writer):
                writer.write(f"{HEAD}Content-Length: {1 << 20}\r\n\r\n".encode() + bytes((1 << 20) - 1))
                seen.hostile[(await answered(reader))[0]] += 1

    async def flood(port: int, until: float, seen: Seen) -> None:
        async def connection(address: str) -> None:
            for _ in range(MOST_UPLOADS):
                if time.monotonic() + 0.1 > until:
                    break
                await upload(port, address, until, seen)
                await asyncio.sleep(5.0)  # without this it would be a flood of another kind

        await asyncio.gather(*map(connection, addresses))

    return flood


def fast(addresses: list[str], body: bytes, pause: float = 0.0) -> Flood:
    """The same upload again and again on each connection, as fast as it is answered."""

    async def flood(port: int, until: float, seen: Seen) -> None:
        async def connection(address: str) -> None:
            request = f"{HEAD}Content-Length: {len(body)}\r\n\r\n".encode() + body
            uploads = 0
            while uploads < MOST_UPLOADS and time.monotonic() + 0.1 < until:
                with contextlib.suppress(OSError, asyncio.IncompleteReadError, TimeoutError):
                    async with asyncio.timeout(until - time.monotonic()), connected(port, address) as (reader, writer):
                        while uploads < MOST_UPLOADS:
                            uploads += 1
                            writer.write(request)
                            await writer.drain()
                            status, _, answer = await answered(reader)
                            seen.hostile[status] += 1
                            seen.accepted += answer.count(b'"accepted"')
                            await asyncio.sleep(pause)
                await asyncio.sleep(0.05)

        await asyncio.gather(*map(connection, addresses))

    return flood


def fresh(addresses: list[str], reports: int, uploads: int) -> Flood:
    """Uploads of reports that are all accepted, as fast as they are answered: each is sent until it is."""

    async def flood(port: int, until: float, seen: Seen) -> None:
        bodies = [sealed(reports) for _ in range(uploads)]

        async def connection(address: str) -> None:
            while bodies and time.monotonic() + 0.1 < until:
                body = bodies.pop()
                request = f"{HEAD}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body
                for _ in range(MOST_UPLOADS):
                    status, _, answer = await asked(port, address, request)
                    seen.hostile[status] += 1
                    seen.accepted += answer.count(b'"accepted"')
                    if status == 200 or time.monotonic() + 0.1 > until:
                        break
                    await asyncio.sleep(0.02)

        await asyncio.gather(*map(connection, addresses))

    return flood


def silent(address: str, connections: int) -> Flood:
    """Connections that say nothing, opened again when they are hung up on."""

    async def flood(port: int, until: float, seen: Seen) -> None:
        async def connection() -> None:
            while time.monotonic() + 0.1 < until:
                with contextlib.suppress(OSError, asyncio.IncompleteReadError, TimeoutError):
                    async with asyncio.timeout(until - time.monotonic()), connected(port, address) as (reader, _):
                        await reader.read(1)
                        seen.hostile[0] += 1
                await asyncio.sleep(0.2)

        await asyncio.gather(*(connection() for _ in range(connections)))

    return flood


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A flood, seconds between honest people, options of the shuffler, and whether all have one address, as behind a proxy."""

    what: str
    flood: Flood
    every: float = 0.1
    options: str = ""
    proxy: bool = False


TRIALS = {
    "slow": Trial(what="66 slow uploads from one address", flood=slow([HOSTILE] * 66)),
    "slow-many": Trial(what="66 slow uploads from 66 addresses", flood=slow([f"127.0.3.{j}" for j in range(1, 67)])),
    "slow-proxy": Trial(what="66 slow uploads from everybody's address", flood=slow([HOSTILE] * 66), proxy=True),
    "garbage": Trial(
        what="8 connections with 8,322 garbage reports each", flood=fast([HOSTILE] * 8, bytes(LARGEST))
    ),
    "rate": Trial(
        what="one sender of single reports, --rate 5", flood=fresh([HOSTILE] * 32, 1, 4000), every=0.5, options="--rate 5"
    ),
    "rate-large": Trial(
        what="one sender of 50 reports at once, --rate 5", flood=fresh([HOSTILE] * 8, 50, 200), every=0.5, options="--rate 5"
    ),
    "once": Trial(
        what="8,300 reports at once, --rate-per-address 1", flood=fresh([HOSTILE], 8300, 1), every=0.5,
        options="--rate-per-address 1",
    ),
    "silent": Trial(what="4,500 silent connections from one address", flood=silent(HOSTILE, 4500)),
}  # fmt: skip


# Measuring


@contextlib.contextmanager
def served(folder: Path, options: str) -> Iterator[tuple[int, "subprocess.Popen[str]"]]:
    """A shuffler in a process of its own: its port, and the process."""
    (folder / "task.json").write_text(json.dumps(TASK.document()))
    SHUFFLER.save(folder / "shuffler.key")
    (folder / "analyzer.pub.json").write_text(json.dumps(ANALYZER.public().document()))
    for role in ("operator", "analyzer"):
        path = folder / f"{role}.token"
        path.touch(mode=0o600)
        path.write_text(role * 4)
    tokens = "--operator-token operator.token --analyzer-token analyzer.token --port 0"
    line = f"shuffler serve task.json --store store.db --keys shuffler.key --next-keys analyzer.pub.json {tokens} {options}"
    program = [sys.executable, "-m", "shuffledp", *line.split()]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(program, cwd=folder, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        assert process.stdout is not None
        yield (
            next(int(found[1]) for text in process.stdout if (found := re.match(r"listening on port (\d+)", text))),
            process,
        )
    finally:
        process.terminate()
        process.wait(60)


async def flooded(port: int, trial: Trial) -> Seen:
    """Everything at once, until the time is over."""
    seen = Seen()
    assert (await asked(port, "127.2.0.1", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"))[0] == 200
    until = time.monotonic() + SECONDS
    hostile = asyncio.create_task(trial.flood(port, until, seen))
    await asyncio.gather(hostile, people(port, trial, until, seen), watch(port, until, seen))
    return seen


def measured(name: str) -> bool:
    """Print what came of a flood: whether nine in ten honest people were accepted in time."""
    trial = TRIALS[name]
    with tempfile.TemporaryDirectory() as folder, served(Path(folder), trial.options) as (port, process):
        seen = asyncio.run(flooded(port, trial))
        most = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
        lines = (Path(folder) / "log").read_bytes().count(b"\n")
    waits = sorted(wait for wait in seen.waits if wait is not None)
    share = len(waits) / max(1, len(seen.waits))
    late = f"{waits[int(0.95 * len(waits))]:.2f} s" if waits else "never"
    print(
        f"{name}: {trial.what}: {len(waits)} of {len(seen.waits)} honest people accepted within {PATIENCE:g} s ({share:.0%}), "
        f"95 % of them after {late}; answers to them {dict(seen.honest)}; to the flood {dict(seen.hostile)}, "
        f"{seen.accepted:,} reports of it accepted; /readyz {dict(seen.ready)}; "
        f"{int(most[1]) / 1e3 if most else 0:.0f} MB, {lines:,} lines of log",
        flush=True,
    )
    return share >= 0.9


def main() -> None:
    """All floods, or those that are named."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 20_000)), hard))
    starved = [name for name in sys.argv[1:] or TRIALS if not measured(name)]
    if starved:
        sys.exit(f"fewer than nine in ten honest people were accepted in time: {', '.join(starved)}")


if __name__ == "__main__":
    main()
