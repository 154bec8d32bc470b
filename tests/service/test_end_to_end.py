"""Clients, shuffler and analyzer against a real server, from the first report to the result."""

import http.client
import json
import shutil
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import httpx
import numpy as np
import pytest

from oracles.lossy import LossyProxy
from oracles.parties import ANALYZER, SHUFFLER, SIXTEEN
from oracles.process import assert_refused, command
from oracles.process import called as run
from oracles.process import run as started
from oracles.scale import examples, full
from oracles.server import Place, Server, in_open_batches, inner_records, running
from oracles.survey import survey
from shuffledp import InvalidInput, KeyedRandomness
from shuffledp.service.analyzer.analyzer import open_batch, result_of
from shuffledp.service.analyzer.batch_fetcher import BatchFetcher
from shuffledp.service.client.client import Client
from shuffledp.service.client.sender import NotDelivered, Sender, submit
from shuffledp.service.sealing.hpke import seal_message
from shuffledp.service.sealing.keys import KeyRing
from shuffledp.service.shuffler.http import OCTETS
from shuffledp.service.task import Task


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    line = "plan histogram --size 16 --n 4000 --epsilon 1 --delta 1e-6 -o plan.json"
    assert run(line, cwd=tmp_path).returncode == 0
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


def test_a1_clients_end_to_end_over_loopback(folder: Path, place: Place, request: pytest.FixtureRequest) -> None:
    """Clients (5,000, or 100,000) on 8 connections, a kill -9 half-way: the error is as small as predicted."""
    task = Task.from_document(json.loads((folder / "task.json").read_text()))
    analyzer, shuffler = KeyRing.load(folder / "analyzer.key"), KeyRing.load(folder / "shuffler.key")
    n = full(5000, 100_000)
    values = np.random.default_rng(1).choice(16, n, p=np.arange(1, 17) / 136)
    # pinned coins: the bound of 99.9 % would fail by itself once in a while
    messages = task.plan.protocol.randomizer.randomize(values, KeyedRandomness.seeded(1), first_row=0)
    uploads = [seal_message(int(message), task, analyzer.public(), [shuffler.public()]) for message in messages]
    canary, store = "canary-4711", place(folder / "store.db")
    server = Server(folder, store=store)

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
    server = Server(folder, store=store)
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
    files = list(folder.glob("store.db*")) or request.getfixturevalue("postgres").files()
    kept = b"".join(path.read_bytes() for path in files) + batch + metrics.encode() + output.encode()
    assert canary.encode() not in kept
    some = uploads[:500] if len(kept) < 1 << 24 else uploads[:10]  # a server has much more than a file
    assert not any(record[39:71] in kept for record in some)
    assert inner_records(store) == 0


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
    closed = BatchFetcher(url=server.url, token=(folder / "operator.token").read_text()).close(task)
    fetcher = BatchFetcher(url=server.url, token=(folder / "analyzer.token").read_text())
    batch = fetcher.fetch(task, closed.batch).content.tobytes()
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


def test_a6_a_network_that_loses_things_loses_no_report(folder: Path, scheme: str, place: Place) -> None:
    """30 % of requests and of responses lost: every report arrives, none is counted twice."""
    task = Task.from_document(json.loads((folder / "task.json").read_text()))
    analyzer, shuffler = KeyRing.load(folder / "analyzer.key"), KeyRing.load(folder / "shuffler.key")
    n = examples(1000 if scheme == "sqlite" else 300)
    uploads = [seal_message(j % 16, task, analyzer.public(), [shuffler.public()]) for j in range(n)]
    store = place(folder / "store.db")
    server = Server(folder, store=store)
    proxy = LossyProxy(int(server.url.rsplit(":", 1)[1]), 0.3, 1)
    sender = Sender(url=f"http://127.0.0.1:{proxy.port}", attempts=40, pause=0.01, patience=3600, together=20)
    outcomes = sender.send(task, uploads)
    proxy.stop()
    assert all(outcome.arrived for outcome in outcomes)
    assert "report_replayed" in outcomes  # an answer was lost, and the second attempt was recognized
    assert proxy.counts["request lost"]
    assert proxy.counts["response lost"]
    server.stop()
    assert in_open_batches(store) == n
    assert inner_records(store) == n


def test_a_sender_cuts_what_is_too_much_at_once(folder: Path) -> None:
    """Where a shuffler takes smaller uploads than usual, or a rate limit refuses one whole."""
    task = Task.from_document(json.loads((folder / "task.json").read_text()))
    analyzer, shuffler = (KeyRing.load(folder / f"{role}.key") for role in ("analyzer", "shuffler"))
    reports = [seal_message(j % 16, task, analyzer.public(), [shuffler.public()]) for j in range(130)]
    with running(folder, "--max-upload-bytes 6300") as server:
        assert Sender(url=server.url).send(task, reports) == ["accepted"] * 130
    with running(folder, "--rate-per-address 0.01 --rate-window 8000") as server:  # 80 at once, and then very few
        sender = Sender(url=server.url, attempts=1, at_once=1)
        with pytest.raises(NotDelivered):  # not refused for good
            sender.send(task, reports)
        assert sender.send(task, reports[:10]) == ["report_replayed"] * 10


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
    plan_line = "plan histogram --labels 1,2,3,4,5 --n 6000 --epsilon 1 --delta 1e-6 -o plan.json --force"
    terms = "--window 3600 --max-age 7200 --honest-fraction 1"
    task_line = f"task new plan.json {terms} --shuffler Alpha --analyzer Beta -o task.json"
    assert run(plan_line, cwd=folder).returncode == 0
    assert run(task_line, cwd=folder).returncode == 0
    server = Server(folder)
    try:
        early = run(f"shuffler close task.json --url {server.url} --token operator.token", cwd=folder)
        assert_refused(early, "fewer reports than a release needs")
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
        randomness = run(f"{analyze_line} {budget}", cwd=folder)  # the same batch again: spent once
        assert "in 1 release\n" in randomness.stdout, randomness.stderr
        assert "Alpha runs the shuffler and Beta the analyzer" in randomness.stdout
        assert document["ledger"]["head"] in run("ledger show ledger.jsonl", cwd=folder).stdout
        small = run(f"{analyze_line} --ledger other.jsonl --budget-epsilon 0.5 --budget-delta 1e-6", cwd=folder)
        assert (small.returncode, small.stdout) == (3, "")
        assert "this release alone would be" in small.stderr
        assert "RELEASED, 6,367 reports" in run("shuffler status store.db", cwd=folder).stdout
        wrong = run(f"{analyze_line.replace('analyzer.token', 'operator.token')}", cwd=folder)
        assert_refused(wrong, "status 401")
    finally:
        server.stop()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("--host 0.0.0.0", "would reveal who sends"),
        ("--host 192.0.2.1", "would reveal who sends"),
        ("--tls-cert x.pem", "TLS needs a certificate and its key"),
        ("--port 70000", "70000 is too large"),
        ("--operator-token analyzer.token", "same token"),
        ("--operator-token open.token", "others can read"),
        ("--operator-token short.token", "too short"),
        ("--operator-token nowhere.token", "cannot read the token"),
        ("--keys analyzer.key", "keys belong to the analyzer"),
        ("--store plan.json", "cannot use the store"),
        ("--forward-token analyzer.token", "same token"),
        ("--idle-timeout 0", "0.0 is too small"),
        ("--metrics-port 0 --metrics-host 192.0.2.1", "cannot listen on 192.0.2.1"),
    ],
)
def test_a_server_that_should_not_start(tmp_path: Path, change: str, why: str) -> None:
    (tmp_path / "task.json").write_text(json.dumps(SIXTEEN.document()))
    (tmp_path / "plan.json").write_text(json.dumps(SIXTEEN.plan.document()))
    (tmp_path / "plan.json").chmod(0o600)
    SHUFFLER.save(tmp_path / "shuffler.key")
    ANALYZER.save(tmp_path / "analyzer.key")
    (tmp_path / "analyzer.pub.json").write_text(json.dumps(ANALYZER.public().document()))
    for name, text in (("operator", "o" * 20), ("analyzer", "a" * 20), ("open", "x" * 20), ("short", "x")):
        (tmp_path / f"{name}.token").write_text(text)
        (tmp_path / f"{name}.token").chmod(0o644 if name == "open" else 0o600)
    randomness = (
        "--store s.db --keys shuffler.key --next-keys analyzer.pub.json --operator-token operator.token "
        f"--analyzer-token analyzer.token {change}"
    ).split()
    options = dict(zip(randomness[::2], randomness[1::2], strict=True))  # what is changed is given once
    line = " ".join(f"{name} {value}" for name, value in options.items())
    done = started(f"shuffler serve task.json {line}", cwd=tmp_path)
    assert_refused(done, why)
