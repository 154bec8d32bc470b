"""How fast the shuffler takes reports and the analyzer opens them, against the cipher alone in the same run.

Reports are sealed beforehand; the shuffler is a real process on loopback with durable SQLite; the generator's own CPU is
reported.
"""

import asyncio
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx

from shuffledp import plan
from shuffledp.esa.analyzer import open_batch
from shuffledp.esa.crypto import seal_message, unseal
from shuffledp.esa.http import OCTETS
from shuffledp.esa.keys import KeyRing
from shuffledp.esa.store import SQLiteStore
from shuffledp.esa.task import Task

TASK = Task(plan=plan("histogram", n=1000, epsilon=1.0, delta=1e-6, size=16), window=3600, max_age=7200)
SHUFFLER, ANALYZER = KeyRing.fresh("shuffler"), KeyRing.fresh("analyzer")
REPORTS = int(os.environ.get("SHUFFLEDP_BENCH_REPORTS", "20000"))


async def load(url: str, records: list[bytes], together: int, connections: int) -> tuple[float, list[float]]:
    """Seconds for all uploads, and the time of each."""
    uploads = [b"".join(records[start : start + together]) for start in range(0, len(records), together)]
    waits: list[float] = []
    limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
    async with httpx.AsyncClient(limits=limits, timeout=120) as web:
        gate = asyncio.Semaphore(connections)

        async def upload(body: bytes) -> None:
            async with gate:
                begin = time.perf_counter()
                answer = await web.post(
                    f"{url}/v1/tasks/{TASK.id}/reports", content=body, headers={"Content-Type": OCTETS}
                )
                waits.append(time.perf_counter() - begin)
                assert set(answer.json()["outcomes"]) == {"accepted"}

        start = time.perf_counter()
        await asyncio.gather(*map(upload, uploads))
        return time.perf_counter() - start, sorted(waits)


def served(folder: Path) -> tuple["subprocess.Popen[str]", str]:
    """A shuffler in a process of its own."""
    (folder / "task.json").write_text(json.dumps(TASK.document()))
    SHUFFLER.save(folder / "shuffler.key")
    for role in ("operator", "analyzer"):
        path = folder / f"{role}.token"
        path.touch(mode=0o600)
        path.write_text(role * 4)
    tokens = "--operator-token operator.token --analyzer-token analyzer.token"
    line = f"shuffler serve task.json --store store.db --keys shuffler.key {tokens}"
    program = Path(sys.executable).with_name("shuffledp")
    process = subprocess.Popen(
        [str(program), *line.split(), "--port", "0"], cwd=folder, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    port = next(match.group(1) for text in process.stdout if (match := re.match(r"listening on port (\d+)", text)))
    return process, f"http://127.0.0.1:{port}"


def main() -> None:
    """Seal, submit in batches and one by one, release, open."""
    start = time.process_time()
    records = [seal_message(j % 16, TASK, ANALYZER.public(), [SHUFFLER.public()]) for j in range(REPORTS)]
    print(f"seal: {REPORTS / (time.process_time() - start):,.0f} reports/s (two layers)")
    start = time.process_time()
    inners = [unseal(record, SHUFFLER, TASK.id) for record in records[:5000]]
    raw = 5000 / (time.process_time() - start)
    print(f"open one layer: {raw:,.0f} records a CPU-second")
    half = REPORTS // 2
    with tempfile.TemporaryDirectory() as name:
        process, url = served(Path(name))
        try:
            mine = resource.getrusage(resource.RUSAGE_SELF).ru_utime
            seconds, _ = asyncio.run(load(url, records[:half], 500, 4))
            cpu = resource.getrusage(resource.RUSAGE_SELF).ru_utime - mine
            rate = half / seconds
            share = rate / raw
            print(
                f"submit, 500 together: {rate:,.0f} reports/s, {share:.0%} of one core's opening; generator {cpu:.1f} CPU-s"
            )
            singles = records[half : half + min(half, 5000)]
            seconds, waits = asyncio.run(load(url, singles, 1, 32))
            late = 1000 * waits[int(0.99 * len(waits))]
            print(f"submit one by one: {len(singles) / seconds:,.0f} reports/s, p99 {late:.0f} ms")
        finally:
            process.terminate()
            process.wait(60)
    with tempfile.TemporaryDirectory() as name:
        store = SQLiteStore(Path(name) / "store.db")
        store.add_task(TASK.id, json.dumps(TASK.document()), 0.0)
        count = 50 * REPORTS // 2
        for first in range(0, count, 10_000):
            store.add_reports(
                TASK.id, [(j.to_bytes(16, "big"), j.to_bytes(71, "big")) for j in range(first, first + 10_000)]
            )
        start = time.perf_counter()
        closing = store.start_closing(TASK.id, at_least=count, secret=os.urandom(32), now=1.0)
        assert closing is not None
        store.release(closing.id)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"close, permute, release {count:,} reports: {time.perf_counter() - start:.1f} s, {memory:,.0f} MB in all"
        )
        store.close()
    batch = b"".join(inner for inner in inners if isinstance(inner, bytes)) * 8
    for processes in (1, 2):
        start = time.perf_counter()
        open_batch(batch, TASK, ANALYZER, processes=processes)
        rate = len(batch) // 71 / (time.perf_counter() - start)
        print(
            f"analyzer, {processes} process(es): {rate:,.0f} records/s, {rate / raw / processes:.0%} of opening alone"
        )


if __name__ == "__main__":
    main()
