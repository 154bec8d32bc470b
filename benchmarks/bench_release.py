"""How long single uploads wait while a million reports are released, with garbage and rotations of keys beside.

The shuffler is a real process on loopback; its store is filled beforehand. SHUFFLEDP_BENCH_SECONDS shortens everything (60).
"""

import asyncio
import json
import os
import random
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path

import httpx

from bench_service import MILLION, Load, cpu, served
from shuffledp.service.sealing.hpke import seal, seal_message
from shuffledp.service.sealing.keys import KeyRing
from shuffledp.service.stores.batch import NextKey
from shuffledp.service.stores.sqlite.store import SQLiteStore
from shuffledp.service.wire.record import Header
from small_task import small_task

TASK = small_task()
SINGLES = 20_000
CONNECTIONS = 8


def filled(folder: Path, key: NextKey) -> None:
    """A store with a batch of a million."""
    store = SQLiteStore(folder / "store.db")
    store.add_task(TASK.id, json.dumps(TASK.document()), hop=1, key=key, now=time.time())
    header = Header(key.id).encode()
    for first in range(0, MILLION, 10_000):
        some = range(first, min(MILLION, first + 10_000))
        store.add_reports(TASK.id, [(os.urandom(16), header + j.to_bytes(64, "big")) for j in some], keys={key.id: key})
    store.close()


async def beside(
    folder: Path, port: int, rings: list[KeyRing], uploads: list[bytes]
) -> tuple[Load, Load, float, dict[str, object]]:
    """Single uploads all the time; then the release; garbage and rotations beside."""
    load, garbage, generator = Load(port, TASK.id), Load(port, TASK.id), random.Random(1)
    done = asyncio.Event()
    bodies = iter(uploads)

    async def singles() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while not done.is_set():
            await load.post(reader, writer, next(bodies))
        writer.close()

    async def rubbish() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while not done.is_set():
            await garbage.post(reader, writer, generator.randbytes(126 * 20))
            await asyncio.sleep(0.05)
        writer.close()

    async def rotations() -> None:
        while not done.is_set():
            rings[0] = rings[0].rotated()
            rings[0].save(folder / "shuffler.key")
            await asyncio.sleep(2)

    jobs = [asyncio.create_task(job) for job in (*(singles() for _ in range(CONNECTIONS)), rubbish(), rotations())]
    await asyncio.sleep(2)
    load.waits.clear()
    token = (folder / "operator.token").read_text()
    async with httpx.AsyncClient(timeout=600) as web:
        start = time.perf_counter()
        answer = await web.post(
            f"http://127.0.0.1:{port}/v2/tasks/{TASK.id}/batches/close", headers={"Authorization": f"Bearer {token}"}
        )
        seconds = time.perf_counter() - start
    done.set()
    await asyncio.gather(*jobs)
    return load, garbage, seconds, answer.json()


def main() -> None:
    """Fill, serve, release, and count."""
    analyzer, ring = KeyRing.fresh("analyzer"), KeyRing.fresh("shuffler")
    public = analyzer.public()
    key = NextKey(id=public.active.key_id, fingerprint=public.fingerprint(public.active))
    uploads = [
        seal(Header(0).encode() + os.urandom(64), ring.public().active, "shuffler", TASK.id) for _ in range(SINGLES)
    ]
    assert len(seal_message(1, TASK, public, [ring.public()])) == len(uploads[0])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        filled(folder, key)
        process, port = served(folder, TASK, ring, public)
        before = cpu(process.pid)
        try:
            load, garbage, seconds, batch = asyncio.run(beside(folder, port, [ring], uploads))
            used = cpu(process.pid) - before
        finally:
            process.terminate()
            process.wait(60)
        waits = sorted(load.waits)
        print(
            f"released {batch['reports']:,} reports in {seconds:.1f} s ({used:.1f} CPU-s in all); "
            f"meanwhile {len(waits):,} single uploads, "
            f"median {1000 * waits[len(waits) // 2]:.0f} ms, p99 {1000 * waits[int(0.99 * len(waits))]:.0f} ms, "
            f"worst {1000 * waits[-1]:.0f} ms; garbage answered {dict(garbage.answers)}"
        )
        with closing(sqlite3.connect(folder / "store.db")) as connection:
            (held,) = connection.execute("SELECT count(*) FROM sealed").fetchone()
        released = int(str(batch["reports"]))
        print(f"acknowledged {load.acknowledged:,} + {MILLION:,} filled in, released {released:,} + held {held:,}")
        assert load.acknowledged + MILLION == released + held


if __name__ == "__main__":
    main()
