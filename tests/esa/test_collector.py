"""Fetching a batch: it goes through a file, and only the bytes that were announced come out."""

import hashlib
import http.server
import json
import threading
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from oracles.parties import EIGHT
from shuffledp import InvalidInput
from shuffledp.esa.collector import Collector

BATCH = bytes(range(71)) * 40_000
"""More than is sent in one piece."""


class Shuffler:
    """Serves one batch, or what is made of it."""

    def __init__(self) -> None:
        self.body, self.status, self.length = BATCH, 200, len(BATCH)
        mine = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                listed = {"batch": 3, "reports": 40_000, "sha256": hashlib.sha256(BATCH).hexdigest()}
                if self.path == f"/v2/tasks/{EIGHT.id}/batches":
                    self._answer(200, json.dumps({"batches": [listed]}).encode())
                elif self.path == "/v2/batches/3":
                    self._answer(mine.status, mine.body, mine.length)

            def _answer(self, status: int, body: bytes, length: int | None = None) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(body) if length is None else length))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.collector = Collector(url=f"http://127.0.0.1:{self.server.server_port}", token="t")


@pytest.fixture(scope="module")
def shared() -> Iterator[Shuffler]:
    found = Shuffler()
    yield found
    found.server.shutdown()
    found.server.server_close()


@pytest.fixture
def shuffler(shared: Shuffler) -> Shuffler:
    shared.body, shared.status, shared.length = BATCH, 200, len(BATCH)
    return shared


def test_a_batch_is_mapped_from_a_file_without_a_name(
    shuffler: Shuffler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = shuffler.collector.fetch(EIGHT)
    assert found.content.tobytes() == BATCH
    assert type(found.content).__name__ == "memmap"
    assert found.sha256 == hashlib.sha256(BATCH).hexdigest()
    assert found.records(71).shape == (40_000, 71)
    assert list(tmp_path.iterdir()) == []
    assert list(chain(*shuffler.collector.records(EIGHT, 3))) == [bytes(range(71))] * 40_000


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"body": BATCH[:-1] + b"x"}, "does not match its hash"),
        ({"body": b"", "length": 0}, "does not match its hash"),
        ({"length": len(BATCH) + 1}, "could not be reached"),
        ({"status": 404, "body": b'{"title": "no such batch"}', "length": 26}, r"status 404\): no such batch"),
    ],
)
def test_other_bytes_than_announced_are_refused(shuffler: Shuffler, change: dict[str, Any], why: str) -> None:
    for name, value in change.items():
        setattr(shuffler, name, value)
    with pytest.raises(InvalidInput, match=why):
        shuffler.collector.fetch(EIGHT)


def test_no_room_for_a_batch_is_said_so(shuffler: Shuffler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(InvalidInput, match=r"cannot keep the batch .*: No such file or directory\. Set TMPDIR"):
        shuffler.collector.fetch(EIGHT)
