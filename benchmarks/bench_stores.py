"""How fast the shuffler takes and releases reports in PostgreSQL, against SQLite in the same run.

Both are durable, on the same disk; the PostgreSQL server is started on this machine with its default configuration, and its CPU
is counted with the shuffler's. SHUFFLEDP_BENCH_SECONDS shortens the sustained load (60).
"""

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from bench_service import SECONDS, TOGETHER, Load, cpu, sealed, served
from goals import against
from oracles.postgres import PostgresServer
from shuffledp.service.sealing.keys import KeyRing
from shuffledp.service.shuffler.release import release
from shuffledp.service.stores.batch import NextKey
from shuffledp.service.stores.registry import open_store
from shuffledp.service.task import Task
from small_task import small_task

REPORTS = int(1_000_000 * min(1.0, SECONDS / 60))
KEY = NextKey(id=0, fingerprint="")


def stored(url: str, used: Callable[[], float]) -> tuple[float, float]:
    """Reports per second that a store alone takes, 5,000 together, and that it releases."""
    with closing(open_store(url)) as store:
        store.add_task("t", "{}", hop=1, key=KEY, now=0.0)
        some = [(os.urandom(16), j.to_bytes(71, "big")) for j in range(REPORTS)]
        rates = list[float]()
        start, before = time.perf_counter(), used()
        for first in range(0, REPORTS, 5000):
            store.add_reports("t", some[first : first + 5000], keys={0: KEY})
        rates.append(REPORTS / (time.perf_counter() - start))
        print(f"  store alone: {rates[0]:,.0f} reports/s, {1e6 * (used() - before) / REPORTS:.1f} CPU-s a million")
        start, before = time.perf_counter(), used()
        batch = store.start_closing(store.open_batch("t").id, at_least=REPORTS, secret=os.urandom(32), key=KEY, now=1.0)
        assert batch is not None
        release(store, batch.id)
        rates.append(REPORTS / (time.perf_counter() - start))
        print(f"  release: {rates[1]:,.0f} reports/s, {1e6 * (used() - before) / REPORTS:.1f} CPU-s a million")
        assert sum(map(len, store.pieces(batch.id))) == 71 * REPORTS
    return rates[0], rates[1]


def submitted(url: str, task: Task, ring: KeyRing, bodies: list[bytes], used: Callable[[], float]) -> float:
    """Reports per second that are acknowledged over HTTP, 500 in each upload, on four connections."""
    with tempfile.TemporaryDirectory() as name:
        process, port = served(Path(name), task, ring, KeyRing.fresh("analyzer").public(), url)
        try:
            uploads, load = iter(bodies), Load(port, task.id)
            asyncio.run(Load(port, task.id).closed(iter([next(uploads) for _ in range(4)]), 4, 60))  # wakes the pool
            mine, theirs, beside = time.process_time(), cpu(process.pid), used()
            seconds = asyncio.run(load.closed(uploads, 4, SECONDS))
            rate, own = load.acknowledged / seconds, time.process_time() - mine
            shuffler, server = cpu(process.pid) - theirs, used() - beside - own
            print(
                f"  batches of {TOGETHER} over HTTP: {rate:,.0f} accepted/s for {seconds:.0f} s, "
                f"p99 {1000 * sorted(load.waits)[int(0.99 * len(load.waits))]:.0f} ms, {dict(load.answers)}; "
                f"CPU: shuffler {shuffler:.1f} s, database server {server:.1f} s, generator {own:.1f} s"
            )
        finally:
            process.terminate()
            process.wait(60)
    with closing(open_store(url, create=False)) as store:
        assert store.open_batch(task.id).count == load.acknowledged + 4 * TOGETHER, "something acknowledged is missing"
    return rate


def main() -> None:
    """Both stores, one after the other."""
    task = small_task()
    ring, count = KeyRing.fresh("shuffler"), int(20_000 * SECONDS)
    step = -(-count // 8)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        parts = pool.map(sealed, [ring.public().active] * 8, [task.id] * 8, range(0, 8 * step, step), [step] * 8)
        records = [record for part in parts for record in part]
    bodies = [b"".join(records[start : start + TOGETHER]) for start in range(0, len(records), TOGETHER)]
    rates: dict[str, tuple[float, ...]] = {}
    server = PostgresServer(in_memory=False, settings={})
    try:
        with tempfile.TemporaryDirectory() as folder:
            for kind, place, used in (
                ("SQLite", lambda name: f"sqlite:///{folder}/{name}.db", time.process_time),
                ("PostgreSQL", server.place, lambda: time.process_time() + cpu(server.process.pid)),
            ):
                print(f"{kind}:")
                rates[kind] = (
                    *stored(place("alone"), used),
                    submitted(place("served"), task, ring, bodies, used),
                )
    finally:
        server.stop()
    ratios = [ours / other for ours, other in zip(rates["PostgreSQL"], rates["SQLite"], strict=True)]
    print(f"PostgreSQL against SQLite: {ratios[0]:.2f} alone, {ratios[1]:.2f} releasing, {ratios[2]:.2f} over HTTP")
    print(against("PostgreSQL over HTTP, durable reports/s", rates["PostgreSQL"][2]))


if __name__ == "__main__":
    main()
