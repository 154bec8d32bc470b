"""The service over HTTP: every endpoint's contract."""

import base64
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from oracles.parties import PARTIES
from shuffledp import InvalidInput, plan
from shuffledp.service.analyzer.analyzer import open_batch
from shuffledp.service.sealing.hpke import seal_message
from shuffledp.service.sealing.keys import KeyRing
from shuffledp.service.shuffler.http import OCTETS, Service, Tokens
from shuffledp.service.shuffler.limits import Limits
from shuffledp.service.shuffler.shuffler import Shuffler
from shuffledp.service.stores.crash_points import Point
from shuffledp.service.stores.sqlite.store import SQLiteStore
from shuffledp.service.stores.store import StoreUnavailable
from shuffledp.service.task import Task

TASK = Task(plan=plan("histogram", n=20, epsilon=4.0, delta=1e-2, size=8), window=3600, max_age=7200, **PARTIES)
SHUFFLER, ANALYZER = KeyRing.fresh("shuffler"), KeyRing.fresh("analyzer")
TOKENS = Tokens(operator="operator-token-1234", analyzer="analyzer-token-1234")
OPERATOR, ANALYST = ({"Authorization": f"Bearer {token}"} for token in (TOKENS.operator, TOKENS.analyzer))


def sealed(message: int) -> bytes:
    return seal_message(message, TASK, ANALYZER.public(), [SHUFFLER.public()])


def service(limits: Limits | None = None) -> tuple[Service, Shuffler]:
    shuffler = Shuffler(store=SQLiteStore(":memory:"), ring=SHUFFLER, clock=lambda: 0.0)
    shuffler.serve(TASK, ANALYZER.public())
    return Service(shuffler, TOKENS, limits), shuffler


@pytest.fixture
def web() -> Iterator[TestClient]:
    with TestClient(service(Limits(max_upload_bytes=126 * 50))[0].app(), raise_server_exceptions=False) as client:
        yield client


REPORTS = f"/v2/tasks/{TASK.id}/reports"
UNKNOWN = "/v2/tasks/" + "0" * 64


@pytest.mark.parametrize(
    ("method", "path", "headers", "body", "status", "kind"),
    [
        ("POST", REPORTS, {"Content-Type": OCTETS}, b"", 400, "invalid_message"),
        ("POST", REPORTS, {"Content-Type": OCTETS}, b"x" * 125, 400, "invalid_message"),
        ("POST", REPORTS, {"Content-Type": OCTETS}, b"x" * 127, 400, "invalid_message"),
        ("POST", REPORTS, {"Content-Type": "text/plain"}, b"x" * 126, 415, "invalid_message"),
        ("POST", REPORTS, {}, b"x" * 126, 415, "invalid_message"),
        ("POST", REPORTS, {"Content-Type": OCTETS}, b"x" * 126 * 51, 413, "invalid_message"),
        ("POST", REPORTS, {"Content-Type": OCTETS, "Content-Length": "nonsense"}, b"x" * 126, 413, "invalid_message"),
        ("POST", f"{UNKNOWN}/reports", {"Content-Type": OCTETS}, b"x" * 126, 404, "task_unknown"),
        ("GET", REPORTS, {}, None, 405, "method_not_allowed"),
        ("PUT", REPORTS, {}, b"", 405, "method_not_allowed"),
        ("GET", UNKNOWN, {}, None, 404, "task_unknown"),
        ("POST", f"/v2/tasks/{TASK.id}", {}, b"", 405, "method_not_allowed"),
        ("POST", f"/v2/tasks/{TASK.id}/batches/close", {}, b"", 401, "unauthorized"),
        ("POST", f"/v2/tasks/{TASK.id}/batches/close", ANALYST, b"", 401, "unauthorized"),
        ("POST", f"/v2/tasks/{TASK.id}/batches/close", {"Authorization": TOKENS.operator}, b"", 401, "unauthorized"),
        ("POST", f"/v2/tasks/{TASK.id}/batches/close", OPERATOR, b"", 409, "batch_too_small"),
        ("POST", f"{UNKNOWN}/batches/close", OPERATOR, b"", 404, "task_unknown"),
        ("GET", f"/v2/tasks/{TASK.id}/batches/close", OPERATOR, None, 405, "method_not_allowed"),
        ("GET", f"/v2/tasks/{TASK.id}/batches", OPERATOR, None, 401, "unauthorized"),
        ("GET", f"{UNKNOWN}/batches", ANALYST, None, 404, "task_unknown"),
        ("GET", "/v2/batches/1", {}, None, 401, "unauthorized"),
        ("GET", "/v2/batches/1", OPERATOR, None, 401, "unauthorized"),
        ("GET", "/v2/batches/1", ANALYST, None, 404, "batch_unknown"),
        ("GET", "/v2/batches/99999999999999999999", ANALYST, None, 404, "batch_unknown"),
        ("GET", "/v2/batches/x", ANALYST, None, 404, "not_found"),
        ("DELETE", "/v2/batches/1", ANALYST, None, 405, "method_not_allowed"),
        ("POST", "/healthz", {}, b"", 405, "method_not_allowed"),
        ("GET", "/metrics", {}, None, 404, "not_found"),
        ("POST", "/readyz", {}, b"", 405, "method_not_allowed"),
        ("OPTIONS", f"/v2/tasks/{TASK.id}/batches", {"Origin": "https://x.example", "Access-Control-Request-Method": "GET"}, None,
         405, "method_not_allowed"),
        ("GET", "/", {}, None, 404, "not_found"),
    ],
)  # fmt: skip
def test_refusals_are_problem_details(
    web: TestClient, method: str, path: str, headers: dict[str, str], body: bytes | None, status: int, kind: str
) -> None:
    answer = web.request(method, path, headers=headers, content=body)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["type"] == f"urn:shuffledp:{kind}"
    assert answer.json()["status"] == status


def test_what_each_endpoint_does(web: TestClient) -> None:
    described = web.get(f"/v2/tasks/{TASK.id}")
    assert Task.from_document(described.json()["task"]).id == TASK.id
    assert described.json()["keys"] == SHUFFLER.public().document()
    sent = [sealed(j % 8) for j in range(25)]
    answer = web.post(REPORTS, content=b"".join([*sent, sent[0], b"x" * 126]), headers={"Content-Type": OCTETS})
    assert answer.status_code == 200
    assert answer.json()["outcomes"] == ["accepted"] * 25 + ["report_replayed", "invalid_message"]
    closed = web.post(f"/v2/tasks/{TASK.id}/batches/close", headers=OPERATOR)
    assert closed.status_code == 200
    assert closed.json()["reports"] == 25
    listed = web.get(f"/v2/tasks/{TASK.id}/batches", headers=ANALYST).json()["batches"]
    assert listed == [closed.json()]
    fetched = [web.get(f"/v2/batches/{closed.json()['batch']}", headers=ANALYST) for _ in range(2)]
    assert fetched[0].content == fetched[1].content
    digest = base64.b64encode(bytes.fromhex(closed.json()["sha256"])).decode()
    assert fetched[0].headers["repr-digest"] == f"sha-256=:{digest}:"  # RFC 9530
    opened = open_batch(fetched[0].content, TASK, ANALYZER)
    assert opened.counts.total == 25
    assert web.get("/healthz").text == "ok\n"
    assert web.get("/readyz").text == "ready\n"


def test_a_full_queue_says_try_again_and_loses_nothing() -> None:
    instance, shuffler = service(Limits(max_waiting_reports=10))
    with TestClient(instance.app()) as web:
        full = web.post(REPORTS, content=b"".join(sealed(j % 8) for j in range(11)), headers={"Content-Type": OCTETS})
        assert full.status_code == 429
        assert full.headers["retry-after"] == "1"
        assert shuffler.counters[TASK.id].total() == 0
        fits = web.post(REPORTS, content=b"".join(sealed(j % 8) for j in range(10)), headers={"Content-Type": OCTETS})
        assert fits.json()["outcomes"] == ["accepted"] * 10


def test_a_store_in_trouble_acknowledges_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    instance, shuffler = service()
    sent = sealed(1)

    def trouble(*_: Any) -> list[bool]:
        raise StoreUnavailable("full")

    def bug(*_: Any) -> list[bool]:
        raise RuntimeError("s3cr3t")

    with TestClient(instance.app()) as web:
        for failure in (trouble, bug):
            with monkeypatch.context() as patch:
                patch.setattr(type(shuffler.store), "add_reports", failure)
                answer = web.post(REPORTS, content=sent, headers={"Content-Type": OCTETS})
            assert answer.status_code == 503
            assert "s3cr3t" not in answer.text
        again = web.post(REPORTS, content=sent, headers={"Content-Type": OCTETS})
        assert again.json()["outcomes"] == ["accepted"]


def test_what_is_accepted_can_be_trusted_although_it_failed_for_another_reason(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The log says what failed and where, and not what it was about."""
    instance, shuffler = service()

    def bug(*_: Any, **__: Any) -> list[str]:
        raise RuntimeError("s3cr3t")

    monkeypatch.setattr(type(shuffler.store), "add_reports", bug)
    with TestClient(instance.app()) as web:
        answer = web.post(REPORTS, content=sealed(1), headers={"Content-Type": OCTETS})
    assert answer.json()["title"] == "something failed in the shuffler; its log says what"
    assert "unexpected RuntimeError in test_http.py, line " in caplog.text
    assert "s3cr3t" not in caplog.text


# Pages


def test_pages_from_anywhere_may_report_and_nothing_else(web: TestClient) -> None:
    page = {"Origin": "https://survey.example"}
    described = web.get(f"/v2/tasks/{TASK.id}", headers=page)
    accepted = web.post(REPORTS, content=sealed(1), headers={**page, "Content-Type": OCTETS})
    refused = web.post(REPORTS, content=b"", headers={**page, "Content-Type": OCTETS})
    unknown = web.get(UNKNOWN, headers=page)
    assert [answer.status_code for answer in (described, accepted, refused, unknown)] == [200, 200, 400, 404]
    for answer in (described, accepted, refused, unknown):
        assert answer.headers["access-control-allow-origin"] == "*"
        assert answer.headers["access-control-expose-headers"] == "Retry-After"
    for path, method in ((REPORTS, "POST"), (f"/v2/tasks/{TASK.id}", "GET")):
        asked = {**page, "Access-Control-Request-Method": method, "Access-Control-Request-Headers": "content-type"}
        allowed = web.options(path, headers=asked)
        assert allowed.status_code == 204
        assert allowed.headers["access-control-allow-origin"] == "*"
        assert allowed.headers["access-control-allow-methods"] == method
        assert "Content-Type" in allowed.headers["access-control-allow-headers"]
        assert int(allowed.headers["access-control-max-age"]) > 0
        assert "access-control-allow-credentials" not in allowed.headers
    for path in (f"/v2/tasks/{TASK.id}/batches", f"/v2/tasks/{TASK.id}/batches/close", "/v2/batches/1", "/healthz"):
        assert web.options(path, headers={**page, "Access-Control-Request-Method": "GET"}).status_code == 405
        assert "access-control-allow-origin" not in web.get(path, headers={**page, **ANALYST}).headers


# Inner hops


def inner_service(tokens: Tokens) -> Service:
    task = replace(TASK, shufflers=("Alpha", "Gamma"))
    shuffler = Shuffler(store=SQLiteStore(":memory:"), ring=SHUFFLER, clock=lambda: 0.0)
    shuffler.serve(task, ANALYZER.public(), hop=1)
    return Service(shuffler, tokens)


def test_only_the_shuffler_before_may_send_to_an_inner_one() -> None:
    """Otherwise an attacker could send it one victim's report among many of its own."""
    with pytest.raises(InvalidInput, match="--forward-token"):
        inner_service(TOKENS)
    task = replace(TASK, shufflers=("Alpha", "Gamma"))
    path, body = f"/v2/tasks/{task.id}/reports", seal_message(1, task, ANALYZER.public(), [SHUFFLER.public()] * 2)[55:]
    with TestClient(inner_service(replace(TOKENS, forward="forward-token-1234")).app()) as web:
        for headers in ({}, ANALYST, OPERATOR, {"Authorization": "Bearer "}):
            answer = web.post(path, content=body, headers={**headers, "Content-Type": OCTETS})
            assert (answer.status_code, answer.json()["type"]) == (401, "urn:shuffledp:unauthorized")
        right = {"Authorization": "Bearer forward-token-1234", "Content-Type": OCTETS}
        assert web.post(path, content=body, headers=right).status_code == 200


# Nobody waits for others


def test_a_release_blocks_neither_uploads_nor_descriptions_nor_downloads_nor_metrics(
    tmp_path: Path,
) -> None:
    go_on = threading.Event()

    def reached(point: Point) -> None:
        if point == "release: permuted":
            go_on.wait(60)

    store = SQLiteStore(tmp_path / "store.db")
    shuffler = Shuffler(store=store, ring=SHUFFLER, clock=lambda: 0.0, reached=reached)
    shuffler.serve(TASK, ANALYZER.public())
    instance = Service(shuffler, TOKENS)
    headers = {"Content-Type": OCTETS}
    with TestClient(instance.app()) as web, ThreadPoolExecutor(1) as pool:
        many = b"".join(sealed(j % 8) for j in range(TASK.release_size))
        assert web.post(REPORTS, content=many, headers=headers).status_code == 200
        closing_it = pool.submit(web.post, f"/v2/tasks/{TASK.id}/batches/close", headers=OPERATOR)
        while web.get(f"/v2/tasks/{TASK.id}").json()["window"] == 1:  # it has begun
            pass
        assert web.post(REPORTS, content=sealed(1), headers=headers).json()["outcomes"] == ["accepted"]
        assert web.get(f"/v2/tasks/{TASK.id}/batches", headers=ANALYST).json() == {"batches": []}
        assert web.get("/readyz").status_code == 200
        assert "shuffledp_batches_closing" in TestClient(instance.metrics_app()).get("/metrics").text
        assert not closing_it.done()
        go_on.set()
        assert closing_it.result().json()["reports"] == TASK.release_size
