"""What monitoring sees: on an address of its own, true about batches that have ended, coarse about those that have not."""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from oracles.clock import Clock
from oracles.parties import ANALYZER, PARTIES, SHUFFLER, sealed
from oracles.parties import SIXTEEN as TASK
from oracles.server import running
from shuffledp.service.shuffler.http import OCTETS, Service, Tokens
from shuffledp.service.shuffler.limits import Limits
from shuffledp.service.shuffler.metrics import Metrics
from shuffledp.service.shuffler.shuffler import Shuffler
from shuffledp.service.stores.sqlite.store import SQLiteStore
from shuffledp.service.task import Task

TOKENS = Tokens(operator="operator-token-1234", analyzer="analyzer-token-1234")
OPERATOR = {"Authorization": f"Bearer {TOKENS.operator}"}
DESTROYED = Task(plan=TASK.plan, window=60, max_age=60, on_expiry="destroy", **PARTIES)


def served(folder: Path, task: Task, clock: Clock | None = None) -> Shuffler:
    clock = clock or Clock()
    shuffler = Shuffler(store=SQLiteStore(folder / "store.db"), ring=SHUFFLER, clock=clock, steady=clock)
    shuffler.serve(task, ANALYZER.public())
    return shuffler


def numbers(text: str) -> dict[str, float]:
    """Samples by name and labels, the task left out."""
    return {
        " ".join([sample.name, *(value for label, value in sample.labels.items() if label != "task")]): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return Service(served(tmp_path, TASK), TOKENS, Limits(tick_interval=3600))


@pytest.fixture
def web(service: Service) -> Iterator[TestClient]:
    with TestClient(service.app()) as client:
        yield client


def test_nothing_tells_when_a_report_arrived(service: Service, web: TestClient) -> None:
    """One report more changes nothing that is shown, until its batch is released; only every quarter of a batch shows."""
    monitoring = TestClient(service.metrics_app())
    release = TASK.release_size
    seen = []
    for j in range(release + 3):
        web.post(f"/v2/tasks/{TASK.id}/reports", content=sealed(j % 16, TASK), headers={"Content-Type": OCTETS})
        seen.append(numbers(monitoring.get("/metrics").text))
    web.post(f"/v2/tasks/{TASK.id}/reports", content=b"x" * 126, headers={"Content-Type": OCTETS})
    fills = [shown.pop("shuffledp_batch_fill") for shown in seen]
    assert fills == [min(1.0, (4 * (j + 1) // release) / 4) for j in range(release + 3)]
    assert all(shown == seen[0] for shown in seen)
    assert seen[0]["shuffledp_reports_total accepted"] == 0
    assert web.post(f"/v2/tasks/{TASK.id}/batches/close", headers=OPERATOR).status_code == 200
    web.post(f"/v2/tasks/{TASK.id}/reports", content=sealed(1, TASK), headers={"Content-Type": OCTETS})
    shown = numbers(monitoring.get("/metrics").text)
    assert shown["shuffledp_reports_total accepted"] == release + 3  # and not the one that came since
    assert shown["shuffledp_reports_total invalid_message"] == 1
    assert shown["shuffledp_batch_fill"] == 0
    assert shown["shuffledp_batches_closing"] == 0


def test_what_waits_is_shown_in_thousands(tmp_path: Path) -> None:
    waiting = 0
    metrics = Metrics(served(tmp_path, TASK), lambda: waiting)
    found = []
    for waiting in (0, 1, 999, 1000, 1999, 2000):  # noqa: B007 - it is what waits
        found.append(numbers(metrics.text().decode())["shuffledp_waiting_reports"])
    assert found == [0, 0, 0, 1000, 1000, 2000]


def test_every_destroyed_report_is_counted(tmp_path: Path) -> None:
    clock = Clock()
    shuffler = served(tmp_path, DESTROYED, clock)
    metrics = Metrics(shuffler, lambda: 0)
    assert shuffler.accept(DESTROYED.id, [sealed(j, DESTROYED) for j in range(7)]) == ["accepted"] * 7
    for _ in range(3):
        clock.now += 100.0
        for batch in shuffler.tick():
            metrics.ended(batch.task)
    shown = numbers(metrics.text().decode())
    assert shown["shuffledp_reports_destroyed_total"] == 7
    assert shown["shuffledp_reports_total accepted"] == 7


def test_metrics_are_not_on_the_public_port(folder: Path) -> None:
    with running(folder, "--processes 1") as server:
        assert httpx.get(f"{server.url}/metrics").status_code == 404
        assert httpx.post(f"{server.url}/nowhere").status_code == 404
        answer = httpx.get(server.metrics_url)
        assert answer.headers["content-type"].startswith("text/plain; version=")
        assert "shuffledp_batch_fill" in answer.text
        assert httpx.get(server.metrics_url.replace("/metrics", f"/v2/tasks/{TASK.id}")).status_code == 404
        assert httpx.get(server.metrics_url.replace("/metrics", "/healthz")).status_code == 404


def test_refused_requests_are_counted_by_kind(service: Service, web: TestClient) -> None:
    for _ in range(3):
        web.post(f"/v2/tasks/{'0' * 64}/reports")
    text = TestClient(service.metrics_app()).get("/metrics").text
    assert re.search(r'shuffledp_refused_requests_total\{kind="task_unknown"\} 3', text)
