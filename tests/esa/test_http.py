"""The service over HTTP: every endpoint's contract, and clients end to end against a real server."""

import base64
import http.client
import json
import shutil
import signal
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from starlette.testclient import TestClient

from oracles.lossy import LossyProxy
from oracles.parties import PARTIES
from oracles.process import command, run
from oracles.scale import examples, full
from oracles.server import Server
from oracles.survey import survey
from shuffledp import InvalidInput, KeyedWords, plan
from shuffledp.esa.analyzer import open_batch, result_of
from shuffledp.esa.client import Client
from shuffledp.esa.collector import Collector
from shuffledp.esa.crypto import seal_message
from shuffledp.esa.http import OCTETS, Service, Tokens
from shuffledp.esa.keys import KeyRing
from shuffledp.esa.limits import Limits
from shuffledp.esa.sender import NotDelivered, Sender, submit
from shuffledp.esa.shuffler import Shuffler
from shuffledp.esa.task import Task
from shuffledp.stores.checkpoints import Point
from shuffledp.stores.sqlite.store import SQLiteStore
from shuffledp.stores.store import StoreUnavailable

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
    assert answer.json()["title"] == "something failed in the shuffler, and its log says what"
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


# A real server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    assert run("plan histogram --size 16 --n 4000 --epsilon 1 --delta 1e-6 -o plan.json", cwd=tmp_path).returncode == 0
    assert (
        run(
            "task new plan.json --window 3600 --max-age 7200 --shuffler Alpha --analyzer Beta --honest-fraction 1 "
            "--release-margin 0 -o task.json",
            cwd=tmp_path,
        ).returncode
        == 0
    )
    for role in ("shuffler", "analyzer"):
        assert run(f"keygen {role} -o {role}.key", cwd=tmp_path).returncode == 0
    return tmp_path


def test_a1_clients_end_to_end_over_loopback(folder: Path) -> None:
    """Clients (5,000, or 100,000) on 8 connections, a kill -9 half-way: the error is as small as predicted."""
    task = Task.from_document(json.loads((folder / "task.json").read_text()))
    analyzer, shuffler = KeyRing.load(folder / "analyzer.key"), KeyRing.load(folder / "shuffler.key")
    n = full(5000, 100_000)
    values = np.random.default_rng(1).choice(16, n, p=np.arange(1, 17) / 136)
    # pinned coins: the bound of 99.9 % would fail by itself once in a while
    messages = task.plan.protocol.randomizer.randomize(values, KeyedWords.seeded(1), first_row=0)
    uploads = [seal_message(int(message), task, analyzer.public(), [shuffler.public()]) for message in messages]
    canary = "canary-4711"
    server = Server(folder)

    def send(records: list[bytes]) -> int:
        with httpx.Client(headers={"Content-Type": OCTETS, "User-Agent": canary, "Cookie": canary}) as web:
            accepted = 0
            for start in range(0, len(records), 100):
                answer = web.post(
                    f"{server.url}/v2/tasks/{task.id}/reports", content=b"".join(records[start : start + 100])
                )
                accepted += answer.json()["outcomes"].count("accepted")
            return accepted

    half = n // 2
    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(send, [uploads[j:half:8] for j in range(8)])) == half
    server.stop(signal.SIGKILL)
    server = Server(folder)
    with ThreadPoolExecutor(8) as pool:  # everybody again: those of before are not counted twice
        assert sum(pool.map(send, [uploads[j::8] for j in range(8)])) == n - half
    closed = httpx.post(
        f"{server.url}/v2/tasks/{task.id}/batches/close", headers=server.headers("operator"), timeout=60
    ).json()
    batch = httpx.get(
        f"{server.url}/v2/batches/{closed['batch']}", headers=server.headers("analyzer"), timeout=60
    ).content
    metrics = server.metrics()
    output = "".join(server.stop())
    assert server.process.returncode in (0, -signal.SIGTERM)
    opened = open_batch(batch, task, analyzer, processes=2)
    result = result_of(opened, task, digest=closed["sha256"])
    assert result.n == n
    estimate = task.plan.protocol.estimate(opened.counts)
    low, high = estimate.interval(0.999, simultaneous=True)
    truth = np.bincount(values, minlength=16)
    assert ((low <= truth) & (truth <= high)).all()
    # A11: nothing about senders, and none of the outer bytes, anywhere
    kept = b"".join(path.read_bytes() for path in folder.iterdir() if path.name.startswith("store.db")) + batch
    kept += metrics.encode() + output.encode()
    assert canary.encode() not in kept
    assert not any(record[39:71] in kept for record in uploads[:500])
    with closing(sqlite3.connect(folder / "store.db", isolation_level=None)) as connection:
        assert connection.execute("SELECT count(*) FROM sealed").fetchone() == (0,)


def test_a11_no_address_header_or_outer_byte_is_kept(folder: Path) -> None:
    """1,000 clients, each from its own loopback address and with its own header: nothing of them is anywhere."""
    task = Task.from_document(json.loads((folder / "task.json").read_text()))
    analyzer, shuffler = KeyRing.load(folder / "analyzer.key"), KeyRing.load(folder / "shuffler.key")
    uploads = [seal_message(j % 16, task, analyzer.public(), [shuffler.public()]) for j in range(4000)]
    server = Server(folder)
    addresses = [f"127.{40 + j // 250}.{1 + j % 250}.7" for j in range(1000)]

    def send(number: int) -> None:
        port = int(server.url.rsplit(":", 1)[1])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30, source_address=(addresses[number], 0))
        body = b"".join(uploads[number::1000])
        headers = {
            "Content-Type": OCTETS,
            "X-Forwarded-For": f"203.0.113.{number % 250}",
            "User-Agent": f"canary-{number:04}",
        }
        with closing(connection):
            connection.request("POST", f"/v2/tasks/{task.id}/reports", body, headers)
            assert json.loads(connection.getresponse().read())["outcomes"] == ["accepted"] * 4

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(send, range(1000)))
    before = b"".join(path.read_bytes() for path in folder.iterdir() if path.name.startswith("store.db"))
    closed = Collector(url=server.url, token=(folder / "operator.token").read_text()).close(task)
    collector = Collector(url=server.url, token=(folder / "analyzer.token").read_text())
    batch = collector.fetch(task, closed["batch"]).content.tobytes()
    metrics = server.metrics().encode()
    output = "".join(server.stop()).encode()
    after = b"".join(path.read_bytes() for path in folder.iterdir() if path.name.startswith("store.db"))
    for kept in (before, after, batch, metrics, output):
        assert b"canary-" not in kept
        assert b"203.0.113." not in kept
        assert not any(address.encode() in kept for address in addresses)
        windows = {kept[start : start + 16] for start in range(len(kept))}  # outer bytes, wherever they would be
        assert not any(record[7:23] in windows or record[-16:] in windows for record in uploads)
    assert len(batch) == 4000 * 71


def test_a6_a_network_that_loses_things_loses_no_report(folder: Path) -> None:
    """30 % of requests and of responses lost: every report arrives, none is counted twice."""
    task = Task.from_document(json.loads((folder / "task.json").read_text()))
    analyzer, shuffler = KeyRing.load(folder / "analyzer.key"), KeyRing.load(folder / "shuffler.key")
    n = examples(1000)
    uploads = [seal_message(j % 16, task, analyzer.public(), [shuffler.public()]) for j in range(n)]
    server = Server(folder)
    proxy = LossyProxy(int(server.url.rsplit(":", 1)[1]), 0.3, 1)
    sender = Sender(url=f"http://127.0.0.1:{proxy.port}", attempts=40, pause=0.01, together=20, at_once=8)
    outcomes = sender.send(task, uploads)
    proxy.stop()
    assert all(outcome.arrived for outcome in outcomes)
    assert "report_replayed" in outcomes  # an answer was lost, and the second attempt was recognized
    assert proxy.counts["request lost"]
    assert proxy.counts["response lost"]
    server.stop()
    with closing(sqlite3.connect(folder / "store.db", isolation_level=None)) as connection:
        assert connection.execute("SELECT count FROM batch WHERE state = 'OPEN'").fetchone() == (n,)
        assert connection.execute("SELECT count(*) FROM sealed").fetchone() == (n,)


def test_senders_give_up_clearly(folder: Path, tmp_path: Path) -> None:
    task = Task.from_document(json.loads((folder / "task.json").read_text()))
    nowhere = Sender(url="http://127.0.0.1:9", attempts=2, pause=0.01)
    with pytest.raises(NotDelivered):
        nowhere.send(task, [bytes(126)])
    with pytest.raises(NotDelivered):
        nowhere.described(task)
    server = Server(folder)
    try:
        with pytest.raises(InvalidInput, match="status 400"):
            Sender(url=server.url).send(task, [bytes(7)])
        other = replace(task, window=61)
        with pytest.raises(InvalidInput, match="status 404"):
            Sender(url=server.url).described(other)
        me = Client(task=task, analyzer=KeyRing.load(folder / "analyzer.key").public(), folder=tmp_path / "me")
        assert submit(me, 3, sender=Sender(url=server.url)).outcome == "accepted"
        assert submit(me, 3, sender=Sender(url=server.url)).outcome == "report_replayed"
        assert me.waiting == []
    finally:
        server.stop()


def test_the_whole_pipeline_from_the_command_line(folder: Path) -> None:
    """Clients with real survey answers, close, analyze with a budget: the truth is within the intervals."""
    shutil.copy(survey(), folder / "survey.csv")
    plan_line = "plan histogram --labels 1,2,3,4,5 --n 6000 --epsilon 1 --delta 1e-6 -o plan.json"
    terms = "--window 3600 --max-age 7200 --honest-fraction 1"
    task_line = f"task new plan.json {terms} --shuffler Alpha --analyzer Beta -o task.json"
    assert run(plan_line, cwd=folder).returncode == 0
    assert run(task_line, cwd=folder).returncode == 0
    server = Server(folder)
    try:
        early = run(f"shuffler close task.json --url {server.url} --token operator.token", cwd=folder)
        assert early.returncode == 2
        assert "fewer reports than a release needs" in early.stderr
        sent = run(
            f"simulate-clients task.json survey.csv --column rate_marriage --url {server.url} --analyzer-keys analyzer.pub.json",
            cwd=folder,
        )
        assert sent.stdout == "accepted: 6,366\n", sent.stderr
        one = subprocess.run(
            [command(), *f"client submit task.json --url {server.url} --analyzer-keys analyzer.pub.json --state me".split()],
            input="5\n", capture_output=True, text=True, cwd=folder, check=False,
        )  # fmt: skip
        assert one.stdout == "the report has arrived\n", one.stderr
        closed = run(f"shuffler close task.json --url {server.url} --token operator.token", cwd=folder)
        assert "6,367 reports" in closed.stdout, closed.stderr
        analyze_line = f"analyzer run task.json --url {server.url} --token analyzer.token --keys analyzer.key"
        budget = "--ledger ledger.jsonl --budget-epsilon 1.5 --budget-delta 1e-6"
        result = run(f"{analyze_line} {budget} --json", cwd=folder)
        assert result.returncode == 0, result.stderr
        document = json.loads(result.stdout)
        assert document["n"] == 6367
        for value, error, truth in zip(
            document["estimate"]["value"],
            document["estimate"]["standard_error"],
            (99, 348, 993, 2242, 2685),
            strict=True,
        ):
            assert abs(value - truth) < 7 * error
        words = run(f"{analyze_line} {budget}", cwd=folder)  # the same batch again: spent once
        assert "in 1 release\n" in words.stdout, words.stderr
        assert "Alpha runs the shuffler and Beta the analyzer" in words.stdout
        assert document["ledger"]["head"] in run("ledger show ledger.jsonl", cwd=folder).stdout
        small = run(f"{analyze_line} --ledger other.jsonl --budget-epsilon 0.5 --budget-delta 1e-6", cwd=folder)
        assert (small.returncode, small.stdout) == (3, "")
        assert "the budget is spent" in small.stderr
        assert "RELEASED, 6,367 reports" in run("shuffler status store.db", cwd=folder).stdout
        wrong = run(f"{analyze_line.replace('analyzer.token', 'operator.token')}", cwd=folder)
        assert wrong.returncode == 2
        assert "status 401" in wrong.stderr
    finally:
        server.stop()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("--host 0.0.0.0", "would show who sends"),
        ("--host 192.0.2.1", "would show who sends"),
        ("--tls-cert x.pem", "TLS needs a certificate and its key"),
        ("--port 70000", "70000 is not in the range"),
        ("--operator-token analyzer.token", "same token"),
        ("--operator-token open.token", "others can read"),
        ("--operator-token short.token", "too short"),
        ("--operator-token nowhere.token", "cannot read the token"),
        ("--keys analyzer.key", "keys of the analyzer"),
        ("--store plan.json", "cannot use the store"),
        ("--forward-token analyzer.token", "same token"),
        ("--idle-timeout 0", "is not in the range"),
        ("--metrics-port 0 --metrics-host 192.0.2.1", "cannot listen on 192.0.2.1"),
    ],
)
def test_a_server_that_should_not_start(tmp_path: Path, change: str, why: str) -> None:
    (tmp_path / "task.json").write_text(json.dumps(TASK.document()))
    (tmp_path / "plan.json").write_text(json.dumps(TASK.plan.document()))
    (tmp_path / "plan.json").chmod(0o600)
    SHUFFLER.save(tmp_path / "shuffler.key")
    ANALYZER.save(tmp_path / "analyzer.key")
    (tmp_path / "analyzer.pub.json").write_text(json.dumps(ANALYZER.public().document()))
    for name, text in (("operator", "o" * 20), ("analyzer", "a" * 20), ("open", "x" * 20), ("short", "x")):
        (tmp_path / f"{name}.token").write_text(text)
        (tmp_path / f"{name}.token").chmod(0o644 if name == "open" else 0o600)
    tokens = "--next-keys analyzer.pub.json --operator-token operator.token --analyzer-token analyzer.token"
    line = f"shuffler serve task.json --store s.db --keys shuffler.key {tokens}"
    done = run(f"{line} {change}", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert why in done.stderr
    assert "Traceback" not in done.stderr
