"""Fetching a batch: it goes through a file, and only the bytes that were announced come out."""

import hashlib
import http.server
import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from oracles.parties import EIGHT, LABELS, MEAN, PARTIES
from shuffledp import InvalidInput, plan
from shuffledp.service.analyzer.batch_fetcher import AnnouncedBatch, BatchFetcher
from shuffledp.service.task import Task

BATCH = bytes(range(71)) * 40_000
"""More than is sent in one piece."""
CHATTY = Task(
    plan=plan("histogram", n=50, epsilon=2.0, delta=1e-2, labels=LABELS, messages_per_user=2), window=60, max_age=600, **PARTIES,
)  # fmt: skip
ANNOUNCED: dict[str, Any] = {
    "batch": 3, "task": EIGHT.id, "state": "RELEASED", "reports": 40_000, "sha256": hashlib.sha256(BATCH).hexdigest(),
}  # fmt: skip


class Shuffler:
    """Serves one batch, or what is made of it."""

    def __init__(self) -> None:
        self.announced: list[dict[str, Any]] = []
        self.clear()
        mine = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path == f"/v2/tasks/{EIGHT.id}/batches":
                    self._answer(200, json.dumps({"batches": mine.announced}).encode())
                elif self.path == "/v2/batches/3":
                    self._answer(mine.status, mine.body, mine.length)

            def do_POST(self) -> None:
                self._answer(200, json.dumps(mine.announced[0]).encode())

            def _answer(self, status: int, body: bytes, length: int | None = None) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(body) if length is None else length))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.fetcher = BatchFetcher(url=f"http://127.0.0.1:{self.server.server_port}", token="t")

    def clear(self) -> None:
        """Serve the batch as it should be."""
        self.body, self.status, self.length, self.announced = BATCH, 200, len(BATCH), [ANNOUNCED]


@pytest.fixture(scope="module")
def shared() -> Iterator[Shuffler]:
    found = Shuffler()
    yield found
    found.server.shutdown()
    found.server.server_close()


@pytest.fixture
def shuffler(shared: Shuffler) -> Shuffler:
    shared.clear()
    return shared


def test_a_batch_is_mapped_from_a_file_without_a_name(
    shuffler: Shuffler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = shuffler.fetcher.fetch(EIGHT)
    assert found.content.tobytes() == BATCH
    assert type(found.content).__name__ == "memmap"
    assert found.sha256 == hashlib.sha256(BATCH).hexdigest()
    assert found.records(71).shape == (40_000, 71)
    assert list(tmp_path.iterdir()) == []
    assert list(chain(*shuffler.fetcher.records(EIGHT, 3))) == [bytes(range(71))] * 40_000


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"body": BATCH[:-1] + b"x"}, "does not match its hash"),
        ({"body": b"", "length": 0}, "does not match its hash"),
        ({"length": len(BATCH) + 1}, "could not be reached"),
        ({"status": 404, "body": b'{"title": "no such batch"}', "length": 26}, r"status 404: no such batch\)"),
    ],
)
def test_other_bytes_than_announced_are_refused(shuffler: Shuffler, change: dict[str, Any], why: str) -> None:
    for name, value in change.items():
        setattr(shuffler, name, value)
    with pytest.raises(InvalidInput, match=why):
        shuffler.fetcher.fetch(EIGHT)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"task": MEAN.id}, "a batch of another task"),
        ({"task": None}, "a batch of another task"),
        ({"state": "OPEN"}, "has not released"),
        ({"reports": 39_999}, "longer than"),
        ({"reports": 40_001}, "not of the 40,001 reports"),
        ({"reports": 0}, "could not be understood"),
        ({"reports": "40000"}, "could not be understood"),
        ({"reports": True}, "could not be understood"),
        ({"reports": 40_000.5}, "could not be understood"),
        ({"reports": 10**12}, r"1,000,000,000,000 reports, and it does not fit .* raise --max-batch-bytes"),
        ({"batch": 0}, "could not be understood"),
        ({"batch": -3}, "could not be understood"),
        ({"batch": "3/../4"}, "could not be understood"),
        ({"sha256": "\x1b[2J"}, "could not be understood"),
    ],
)
def test_what_is_announced_is_compared_with_the_task_and_with_what_arrives(
    shuffler: Shuffler, change: dict[str, Any], why: str
) -> None:
    shuffler.announced = [ANNOUNCED | change]
    for collect in (shuffler.fetcher.fetch, lambda task: list(shuffler.fetcher.records(task))):
        with pytest.raises(InvalidInput, match=why):
            collect(EIGHT)
    if "longer" not in why and "arrive" not in why and "reports" not in why:
        with pytest.raises(InvalidInput, match=why):
            shuffler.fetcher.close(EIGHT)


def test_a_number_is_of_one_batch_and_a_batch_fits_into_the_limit(shuffler: Shuffler) -> None:
    shuffler.announced = [ANNOUNCED, ANNOUNCED | {"sha256": "0" * 64}]
    with pytest.raises(InvalidInput, match="several batches of the number 3"):
        shuffler.fetcher.fetch(EIGHT, 3)
    shuffler.announced = [ANNOUNCED | {"comment": ["of a later version"], "reports": 40_000.0}]
    assert len(shuffler.fetcher.fetch(EIGHT, 3).content) == len(BATCH)
    assert replace(shuffler.fetcher, max_batch_bytes=len(BATCH)).fetch(EIGHT).sha256 == ANNOUNCED["sha256"]
    with pytest.raises(InvalidInput, match="raise --max-batch-bytes"):
        replace(shuffler.fetcher, max_batch_bytes=len(BATCH) - 1).fetch(EIGHT)


@pytest.mark.parametrize(("stated", "good"), [(3, True), (2, False), (4, False)])
def test_the_number_of_reports_before_their_messages_is_the_announced_one(
    shuffler: Shuffler, stated: int, good: bool
) -> None:
    """Where a report may have several messages; bytes that match their hash are not enough."""
    shuffler.body = stated.to_bytes(8, "big") + bytes(71) * 4
    shuffler.length = len(shuffler.body)
    announced = AnnouncedBatch(batch=3, task=CHATTY.id, reports=3, sha256=hashlib.sha256(shuffler.body).hexdigest())
    if good:
        assert shuffler.fetcher.download(CHATTY, announced).reports(CHATTY.plan.protocol.most_messages).number == 3
    else:
        with pytest.raises(InvalidInput, match="not of the 3 reports that the shuffler announced"):
            shuffler.fetcher.download(CHATTY, announced)


def test_no_room_for_a_batch_is_said_so(shuffler: Shuffler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(InvalidInput, match=r"cannot keep the batch .*: No such file or directory\. Set TMPDIR"):
        shuffler.fetcher.fetch(EIGHT)
