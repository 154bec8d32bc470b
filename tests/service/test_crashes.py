"""A5: a shuffler killed dead at every named point of accept, close and release loses nothing and counts nothing twice."""

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import httpx
import numpy as np
import pytest

from oracles.parties import PARTIES
from oracles.process import command
from oracles.scale import full
from oracles.server import Place, in_open_batches, inner_records
from oracles.tree import python_path
from shuffledp import plan
from shuffledp.service.analyzer.analyzer import analyze
from shuffledp.service.sealing.hpke import seal_message, unseal
from shuffledp.service.sealing.keys import KeyRing
from shuffledp.service.shuffler.http import OCTETS
from shuffledp.service.stores.crash_points import POINTS
from shuffledp.service.stores.registry import open_store
from shuffledp.service.task import Task
from shuffledp.service.wire.record import decode_message

TASK = Task(plan=plan("histogram", n=100, epsilon=8.0, delta=1e-2, size=4000), window=3600, max_age=7200, **PARTIES)
SHUFFLER, ANALYZER = KeyRing.fresh("shuffler"), KeyRing.fresh("analyzer")
OPERATOR, ANALYST = "operator-token-1234", "analyzer-token-1234"
THEIRS = [
    "accept: first report written", "close: marked", "release: a piece written", "release: records erased",
]  # fmt: skip
"""Points that are in the store itself: what `make test` takes for stores that share the others with SQLite."""


RELEASING = [
    "release: a piece written",
    "release: gathered",
    "release: permuted",
    "release: marked",
    "release: committed",
]


class Collection:
    """Reports that each say something else, sent until they are acknowledged, to a shuffler that keeps dying."""

    def __init__(self, folder: Path, store: str, task: Task = TASK) -> None:
        self.folder, self.store, self.task = folder, store, task
        self.sent: dict[int, bytes] = {}
        self.acknowledged: set[int] = set()
        (folder / "task.json").write_text(json.dumps(self.task.document()))
        SHUFFLER.save(folder / "shuffler.key")
        (folder / "analyzer.pub.json").write_text(json.dumps(ANALYZER.public().document()))
        for name, text in (("operator", OPERATOR), ("analyzer", ANALYST)):
            (folder / name).write_text(text)
            (folder / name).chmod(0o600)

    def start(self, *dying: str) -> tuple["subprocess.Popen[str]", str]:
        """The server and its address; no address if it died before it listened."""
        program = [sys.executable, "-m", "oracles.dying", *dying] if dying else [command()]
        tokens = "--operator-token operator --analyzer-token analyzer"
        serving = f"shuffler serve task.json --store {self.store} --keys shuffler.key"
        line = f"{serving} --next-keys analyzer.pub.json {tokens}"
        process = subprocess.Popen(
            [*program, *line.split(), "--processes", "1", "--port", "0"],
            cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env={**os.environ, "PYTHONPATH": python_path()},
        )  # fmt: skip
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")
        port = next((match.group(1) for text in lines if (match := re.match(r"listening on port (\d+)", text))), "")
        return process, f"http://127.0.0.1:{port}" if port else ""

    def more(self, count: int) -> None:
        """New reports, if all others are acknowledged and no batch is half released."""
        with closing(open_store(self.store)) as store:
            if any(batch.state == "CLOSING" for batch in store.history()):
                return
        if len(self.acknowledged) == len(self.sent):
            for bucket in range(len(self.sent), len(self.sent) + count):
                message = bucket % self.task.plan.protocol.alphabet
                self.sent[bucket] = seal_message(message, self.task, ANALYZER.public(), [SHUFFLER.public()])

    def submit(self, url: str) -> None:
        """Send everything that is not acknowledged, from four connections, ten together."""
        waiting = sorted(set(self.sent) - self.acknowledged)

        def upload(buckets: list[int]) -> None:
            body = b"".join(self.sent[bucket] for bucket in buckets)
            answer = httpx.post(
                f"{url}/v2/tasks/{self.task.id}/reports", content=body, headers={"Content-Type": OCTETS}
            )
            if answer.status_code == 200:
                assert set(answer.json()["outcomes"]) <= {"accepted", "report_replayed"}
                self.acknowledged.update(buckets)

        with ThreadPoolExecutor(4) as pool:
            jobs = [pool.submit(upload, waiting[start : start + 10]) for start in range(0, len(waiting), 10)]
        errors = [error for job in jobs if (error := job.exception()) is not None]
        assert all(isinstance(error, httpx.TransportError) for error in errors), errors
        if errors:
            raise errors[0]

    def close(self, url: str) -> int:
        """Ask for a release."""
        headers = {"Authorization": f"Bearer {OPERATOR}"}
        return httpx.post(f"{url}/v2/tasks/{self.task.id}/batches/close", headers=headers, timeout=60).status_code

    def released(self, url: str) -> dict[int, bytes]:
        """The bytes of all released batches."""
        headers = {"Authorization": f"Bearer {ANALYST}"}
        listed = httpx.get(f"{url}/v2/tasks/{self.task.id}/batches", headers=headers).json()["batches"]
        found = [entry["batch"] for entry in listed]
        return {number: httpx.get(f"{url}/v2/batches/{number}", headers=headers).content for number in found}


@pytest.mark.parametrize("seed", range(full(1, 20)))
def test_a5_kill_at_every_named_point(tmp_path: Path, scheme: str, place: Place, seed: int) -> None:
    """One death at each point, in order: what dies while releasing is released by the next start, which dies at the next."""
    collection, chance = Collection(tmp_path, place(tmp_path / "store.db")), random.Random(seed)
    seen: dict[int, bytes] = {}
    for point in POINTS if scheme == "sqlite" or full(0, 1) else THEIRS:
        several = point.startswith("accept") or "a piece" in point
        process, url = collection.start(point, str(chance.randint(1, 3 if several else 1)))
        try:
            while url and process.poll() is None:
                collection.more(130)
                collection.submit(url)
                for number, data in collection.released(url).items():
                    assert seen.setdefault(number, data) == data
                if not point.startswith("accept"):
                    collection.close(url)
        except httpx.TransportError:
            pass
        try:
            process.communicate(timeout=60)
        finally:
            process.kill()
        assert process.returncode == -signal.SIGKILL, point
    process, url = collection.start()
    collection.submit(url)
    collection.close(url)
    batches = collection.released(url)
    assert {number: batches[number] for number in seen} == seen  # what was fetched between deaths has not changed
    assert collection.released(url) == batches
    process.terminate()
    process.communicate(timeout=60)
    assert collection.acknowledged == set(collection.sent)
    buckets: Counter[int] = Counter()
    for data in batches.values():
        assert len(data) // 71 >= TASK.plan.min_batch
        for start in range(0, len(data), 71):
            payload = unseal(data[start : start + 71], ANALYZER, TASK.id)
            assert isinstance(payload, bytes)
            bucket = decode_message(payload, 4000)
            assert bucket is not None
            buckets[bucket] += 1
    held = in_open_batches(collection.store)
    assert set(buckets.values()) == {1}
    assert len(buckets) + held == len(collection.sent)
    assert held < TASK.plan.min_batch


@pytest.mark.parametrize("point", RELEASING[: full(1, len(RELEASING))])
def test_a5_dummies_are_the_same_after_a_kill(tmp_path: Path, place: Place, point: str) -> None:
    """What was written of a batch with noise before a death is what is written after it, and the batch is whole."""
    made = plan("histogram", n=40, epsilon=1.0, delta=1e-6, size=5, noise="shuffler")
    task = Task(plan=made, window=3600, max_age=7200, **PARTIES)
    collection = Collection(tmp_path, place(tmp_path / "store.db"), task)
    process, url = collection.start(point, "2" if "a piece" in point else "1")
    collection.more(40)
    collection.submit(url)
    with contextlib.suppress(httpx.TransportError):
        collection.close(url)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    process, url = collection.start("release: about to answer", "99")  # never: with pieces of the same size
    for _ in range(600):
        batches = collection.released(url)
        if batches:
            break
        time.sleep(0.1)
    [data] = batches.values()
    assert collection.released(url) == batches
    process.terminate()
    process.communicate(timeout=60)
    answer = analyze(data, task, ANALYZER)  # opens every record, and refuses one that is there twice
    assert answer.n == 40
    assert answer.rejected == {}
    assert np.abs(answer.estimate.value - 8).max() < 40
    assert answer.counts.values[:-1].sum() > 40 + 80


# Killed at any moment


class Load:
    """Clients that send new reports all the time, to a shuffler that is killed whenever enough of them were acknowledged."""

    def __init__(self, collection: Collection, chance: random.Random) -> None:
        self.collection, self.chance = collection, chance
        self.acknowledged: set[bytes] = set()
        self.waiting: deque[list[bytes]] = deque()
        self.sent = 0

    def next_upload(self) -> list[bytes]:
        """Reports that nobody acknowledged to another client, or new ones."""
        with contextlib.suppress(IndexError):
            return self.waiting.popleft()
        self.sent += 10
        public = ANALYZER.public(), [SHUFFLER.public()]
        return [seal_message(self.chance.randrange(4000), TASK, *public) for _ in range(10)]

    def life(self) -> None:
        """Start a shuffler, send from four clients at once, and kill it."""
        process, url = self.collection.start()
        enough = len(self.acknowledged) + self.chance.randint(10, 150)
        asked = threading.Lock()

        def client() -> None:
            with httpx.Client() as connection:
                while process.poll() is None:
                    upload = self.next_upload()
                    try:
                        address = f"{url}/v2/tasks/{TASK.id}/reports"
                        answer = connection.post(address, content=b"".join(upload), headers={"Content-Type": OCTETS})
                    except httpx.TransportError:
                        self.waiting.append(upload)
                        return
                    if answer.status_code in (429, 503):  # not now: sent again, as every client does
                        self.waiting.append(upload)
                        continue
                    assert answer.status_code == 200, answer.text
                    assert set(answer.json()["outcomes"]) <= {"accepted", "report_replayed"}
                    self.acknowledged.update(upload)
                    if len(self.acknowledged) >= enough and asked.acquire(blocking=False):
                        if self.chance.random() < 0.5:  # while it releases
                            closing = threading.Thread(target=close)
                            closing.start()
                        os.kill(process.pid, signal.SIGKILL)

        def close() -> None:
            with contextlib.suppress(httpx.TransportError):
                self.collection.close(url)

        try:
            with ThreadPoolExecutor(4) as pool:
                for job in [pool.submit(client) for _ in range(4)]:
                    job.result()
        finally:
            process.kill()
            process.communicate(timeout=60)

    def end(self) -> Counter[bytes]:
        """What became of every report that was ever sent, by its inner record: how often it is in a release or a batch."""
        process, url = self.collection.start()
        try:
            while self.waiting:
                upload = self.waiting.popleft()
                address = f"{url}/v2/tasks/{TASK.id}/reports"
                answer = httpx.post(address, content=b"".join(upload), headers={"Content-Type": OCTETS})
                assert set(answer.json()["outcomes"]) <= {"accepted", "report_replayed"}
                self.acknowledged.update(upload)
            self.collection.close(url)
            batches = self.collection.released(url)
            assert self.collection.released(url) == batches
        finally:
            process.terminate()
            process.communicate(timeout=60)
        assert all(len(data) // 71 >= TASK.plan.min_batch for data in batches.values())
        return Counter(data[start : start + 71] for data in batches.values() for start in range(0, len(data), 71))


def test_a5_killed_under_load(tmp_path: Path, scheme: str, place: Place) -> None:
    """At any moment, with uploads of several clients on their way, and often while a batch is released."""
    load = Load(Collection(tmp_path, place(tmp_path / "store.db")), random.Random(7))
    kills = full(2, 60 if scheme == "sqlite" else 20)
    for _ in range(kills):
        load.life()
    found = load.end()
    inner = {unseal(record, SHUFFLER, TASK.id) for record in load.acknowledged}
    held = in_open_batches(load.collection.store)
    duplicated = sum(often > 1 for often in found.values())
    lost = len(inner) - len(found.keys() & inner) - held
    print(f"{kills} kills, {len(inner):,} reports acknowledged, {lost} lost, {duplicated} duplicated")  # noqa: T201
    assert len(inner) == load.sent
    assert (lost, duplicated) == (0, 0)
    assert found.keys() <= inner
    assert inner_records(load.collection.store) == held < TASK.release_size
