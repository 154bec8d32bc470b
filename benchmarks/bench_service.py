"""How fast the shuffler takes reports and releases them, and the analyzer opens them, against the cipher alone in the same run.

Reports are sealed beforehand; the shuffler is a real process on loopback with durable SQLite; the CPU that the generator and
the shuffler use is reported. SHUFFLEDP_BENCH_SECONDS shortens the sustained load (60).
"""

import asyncio
import hashlib
import json
import os
import re
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path
from unittest.mock import patch

import numpy as np

from shuffledp.service.analyzer.analyzer import analyze, open_batch
from shuffledp.service.analyzer.opened_reports import OpenedReports
from shuffledp.service.sealing.hpke import seal, seal_inner, unseal
from shuffledp.service.sealing.keys import KeyList, KeyRing, PublicKey
from shuffledp.service.sealing.unsealing import Unsealers
from shuffledp.service.shuffler.http import OCTETS
from shuffledp.service.shuffler.release import release as permuted
from shuffledp.service.stores.batch import NextKey
from shuffledp.service.stores.sqlite.store import SQLiteStore
from shuffledp.service.task import Task
from shuffledp.service.wire.record import Header
from shuffledp.service.wire.released_batch import ReleasedBatch
from small_task import small_task

SECONDS = float(os.environ.get("SHUFFLEDP_BENCH_SECONDS", "60"))
TOGETHER = 500
FLOOD = 400
"""Uploads sent at twice the capacity: more than may wait."""
MILLION = int(1_000_000 * min(1.0, SECONDS / 60))


def sealed(key: PublicKey, task_id: str, first: int, count: int) -> list[bytes]:
    """Reports as the shuffler sees them; their insides are only numbers, which it cannot know."""
    header = Header(0).encode()
    return [seal(header + j.to_bytes(64, "big"), key, "shuffler", task_id) for j in range(first, first + count)]


def cpu(pid: int) -> float:
    """CPU seconds of a process and its children so far."""
    children = [child for path in Path(f"/proc/{pid}/task").glob("*/children") for child in path.read_text().split()]
    total = sum(cpu(int(child)) for child in children)
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return total + (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Load:
    """A generator of uploads that costs little itself: HTTP/1.1 on kept connections."""

    def __init__(self, port: int, task_id: str) -> None:
        self._port = port
        self._head = f"POST /v2/tasks/{task_id}/reports HTTP/1.1\r\nHost: localhost\r\nContent-Type: {OCTETS}\r\n"
        self.waits: list[float] = []
        self.answers: Counter[int] = Counter()
        self.acknowledged = 0

    async def post(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, body: bytes) -> None:
        """One upload, and its answer."""
        begin = time.perf_counter()
        writer.write(f"{self._head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        answer = await reader.readexactly(int(re.search(rb"content-length: (\d+)", head).group(1)))  # type: ignore[union-attr]
        self.waits.append(time.perf_counter() - begin)
        self.answers[int(head[9:12])] += 1
        self.acknowledged += answer.count(b'"accepted"')

    async def closed(self, bodies: Iterator[bytes], connections: int, seconds: float) -> float:
        """Each connection sends the next as soon as it has an answer."""
        start = time.perf_counter()

        async def connection() -> None:
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
            for body in bodies:
                await self.post(reader, writer, body)
                if time.perf_counter() - start > seconds:
                    break
            writer.close()

        await asyncio.gather(*(connection() for _ in range(connections)))
        return time.perf_counter() - start

    async def open(self, bodies: list[bytes], each: float) -> float:
        """One upload every so many seconds, whether or not the others are answered."""
        start = time.perf_counter()

        async def one(number: int, body: bytes) -> None:
            await asyncio.sleep(max(0.0, start + number * each - time.perf_counter()))
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
            await self.post(reader, writer, body)
            writer.close()

        await asyncio.gather(*(one(number, body) for number, body in enumerate(bodies)))
        return time.perf_counter() - start


def served(
    folder: Path, task: Task, ring: KeyRing, public: KeyList, store: str = "store.db"
) -> tuple["subprocess.Popen[str]", int]:
    """A shuffler in a process of its own, and its port."""
    (folder / "task.json").write_text(json.dumps(task.document()))
    ring.save(folder / "shuffler.key")
    (folder / "analyzer.pub.json").write_text(json.dumps(public.document()))
    for role in ("operator", "analyzer"):
        path = folder / f"{role}.token"
        path.touch(mode=0o600)
        path.write_text(role * 4)
    tokens = "--operator-token operator.token --analyzer-token analyzer.token"
    line = (
        f"shuffler serve task.json --store {store} --keys shuffler.key --next-keys analyzer.pub.json {tokens} --port 0"
    )
    program = Path(sys.executable).with_name("shuffledp")
    process = subprocess.Popen([str(program), *line.split()], cwd=folder, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    port = next(match.group(1) for text in process.stdout if (match := re.match(r"listening on port (\d+)", text)))
    return process, int(port)


def submissions(task: Task, ring: KeyRing, records: list[bytes]) -> None:
    """Batches for a minute, single reports, and twice what it can take."""
    bodies = [b"".join(records[start : start + TOGETHER]) for start in range(0, len(records), TOGETHER)]
    singles, too_many, uploads = _cut(b"".join(bodies[:20])), bodies[20 : 20 + FLOOD], iter(bodies[20 + FLOOD :])
    with tempfile.TemporaryDirectory() as name:
        process, port = served(Path(name), task, ring, KeyRing.fresh("analyzer").public())

        def measured(what: str, job: Callable[[Load], float]) -> tuple[Load, float]:
            load = Load(port, task.id)
            mine, theirs = time.process_time(), cpu(process.pid)
            seconds = job(load)
            waits = sorted(load.waits)
            used = f"CPU: shuffler {cpu(process.pid) - theirs:.1f} s, generator {time.process_time() - mine:.1f} s"
            late = 1000 * waits[int(0.99 * len(waits))]
            rate = load.acknowledged / seconds
            print(
                f"{what}: {rate:,.0f} accepted/s for {seconds:.0f} s, p99 {late:.0f} ms, {dict(load.answers)}; {used}"
            )
            return load, rate

        try:
            asyncio.run(Load(port, task.id).closed(iter([next(uploads) for _ in range(4)]), 4, 60))  # wakes the pool
            batch, capacity = measured("A19 batches of 500", lambda load: asyncio.run(load.closed(uploads, 4, SECONDS)))
            one, _ = measured("A19 single reports", lambda load: asyncio.run(load.closed(iter(singles), 32, SECONDS)))
            every = TOGETHER / (2 * capacity)
            flood, _ = measured("A19 twice the capacity", lambda load: asyncio.run(load.open(too_many, every)))
        finally:
            process.terminate()
            process.wait(60)
        acknowledged = 4 * TOGETHER + batch.acknowledged + one.acknowledged + flood.acknowledged
        with closing(sqlite3.connect(Path(name) / "store.db")) as connection:
            (held,) = connection.execute("SELECT count(*) FROM sealed").fetchone()
        print(f"A19 acknowledged in all {acknowledged:,}, in the store {held:,}")
        assert acknowledged == held
        assert flood.answers[429], "twice the capacity was not too much"


def _cut(body: bytes) -> list[bytes]:
    return [body[start : start + 126] for start in range(0, len(body), 126)]


def release(task: Task, reports: int) -> None:
    """Close, permute and release a batch, in a process of its own so that its memory can be seen."""
    with tempfile.TemporaryDirectory() as name:
        store = SQLiteStore(Path(name) / "store.db")
        key = NextKey(id=0, fingerprint="")
        store.add_task(task.id, json.dumps(task.document()), hop=1, key=key, now=0.0)
        for first in range(0, reports, 10_000):
            store.add_reports(
                task.id,
                [(os.urandom(16), j.to_bytes(71, "big")) for j in range(first, min(reports, first + 10_000))],
                keys={0: key},
            )
        idle = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start, before = time.perf_counter(), time.process_time()
        closing_batch = store.start_closing(
            store.open_batch(task.id).id, at_least=reports, secret=os.urandom(32), key=key, now=1.0
        )
        assert closing_batch is not None
        permuted(store, closing_batch.id)
        seconds, used = time.perf_counter() - start, time.process_time() - before
        memory = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - idle)
        print(
            f"A20 close, permute, release {reports:,} reports: {seconds:.1f} s, that is {1e6 * seconds / reports:.1f} s "
            f"({1e6 * used / reports:.1f} CPU-s) a million; {memory / reports:.0f} bytes of memory a report"
        )
        store.close()


def opened_raw(records: list[bytes], ring_bytes: bytes, task_id: str) -> float:
    """The cipher alone: CPU seconds."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    from shuffledp.service.sealing.keys import PrivateKey

    key = PrivateKey(key_id=0, state="ACTIVE", private=X25519PrivateKey.from_private_bytes(ring_bytes))
    ring = KeyRing(role="analyzer", keys=(key,))
    start = time.process_time()
    for record in records:
        unseal(record, ring, task_id)
    return time.process_time() - start


def spent() -> float:
    """CPU seconds of this process and of those it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def analysis(task: Task) -> None:
    """Opening a batch, the start of its processes included, against as many processes that only open, in turn."""
    ring = KeyRing.fresh("analyzer")
    some = [seal_inner(j % 16, task, ring.public()) for j in range(5000)]
    secret = ring.keys[0].private.private_bytes_raw()
    for processes in (1, 2):
        records = some * (int(20 * min(1.0, SECONDS / 60)) or 1) * processes
        share = len(records) // processes
        raw, ours = list[tuple[float, float]](), list[tuple[float, float]]()
        with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
            list(pool.map(opened_raw, [some[:1]] * processes, [secret] * processes, [task.id] * processes))
            for _ in range(5):
                start = time.perf_counter()
                jobs = [
                    pool.submit(opened_raw, records[j * share : (j + 1) * share], secret, task.id)
                    for j in range(processes)
                ]
                raw.append((sum(job.result() for job in jobs), time.perf_counter() - start))
                before, start = spent(), time.perf_counter()
                open_batch(b"".join(records), task, ring, processes=processes)
                ours.append((spent() - before, time.perf_counter() - start))
        raw_cpu, raw_wall = (min(kind) for kind in zip(*raw, strict=True))
        our_cpu, our_wall = (min(kind) for kind in zip(*ours, strict=True))
        print(
            f"analyzer, {processes} process(es), best of 5: {len(records) / our_wall:,.0f} records/s, "
            f"{raw_wall / our_wall:.0%} of opening alone ({len(records) / raw_wall:,.0f}/s), {raw_cpu / our_cpu:.0%} by CPU time"
        )


def most_memory() -> int:
    """The most bytes that this process ever held."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found.group(1)) * 1024 if found else 0


def large_batch(task: Task) -> None:
    """What the analyzer does besides opening, on five million records that were never sealed: check, compare, remember."""
    count = int(5_000_000 * min(1.0, SECONDS / 60))
    header = np.frombuffer(Header(0).encode(), dtype=np.uint8)
    ring, generator, before = KeyRing.fresh("analyzer"), np.random.default_rng(1), most_memory()
    with tempfile.TemporaryDirectory() as name:
        memory = OpenedReports(Path(name))
        for which in ("the first batch", "beside one of the same size"):
            with tempfile.TemporaryFile() as file:
                digest = hashlib.sha256()
                for first in range(0, count, 100_000):
                    records = generator.integers(0, 256, (min(100_000, count - first), 71), dtype=np.uint8)
                    records[:, : len(header)] = header
                    digest.update(records.tobytes())
                    file.write(records.tobytes())
                file.flush()
                batch = ReleasedBatch.mapped(file, digest.hexdigest())
            used, start = time.process_time(), time.perf_counter()
            with patch.object(Unsealers, "tallies", lambda _, some, *__: [Counter({0: len(some)})]):
                result = analyze(batch, task, ring, opened_reports=memory)
            seconds, used = time.perf_counter() - start, time.process_time() - used
            held = most_memory() - before
            assert result.n == count
            million = count / 1_000_000
            print(
                f"analyzer, {count:,} records, all but opening, {which}: {seconds / million:.2f} s ({used / million:.2f} CPU-s) "
                f"a million; {held / count:.0f} bytes of memory a record, 71 of them the mapped file"
            )


def main() -> None:
    """Seal, submit, release, open."""
    task = small_task()
    ring = KeyRing.fresh("shuffler")
    analysis(task)
    context = get_context("spawn")
    for job, *arguments in ((large_batch,), (release, MILLION), (release, 5 * MILLION)):
        alone = context.Process(target=job, args=(task, *arguments))
        alone.start()
        alone.join()
        assert alone.exitcode == 0, f"{job.__name__} failed"
    count = int(20_000 * SECONDS) + (20 + FLOOD) * TOGETHER
    step = -(-count // 8)
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        key, start = ring.public().active, time.perf_counter()
        parts = pool.map(sealed, [key] * 8, [task.id] * 8, range(0, 8 * step, step), [step] * 8)
        records = [record for part in parts for record in part]
    print(f"sealed {len(records):,} reports in {time.perf_counter() - start:.0f} s with two processes")
    submissions(task, ring, records)


if __name__ == "__main__":
    main()
