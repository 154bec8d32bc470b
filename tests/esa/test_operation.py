"""What operators do with a running shuffler: tokens, rotation, stopping, TLS, configuration, hops, limits, backups."""

import configparser
import datetime
import ipaddress
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from oracles.process import command, run
from oracles.scale import full
from oracles.server import TOKENS, Server
from shuffledp import InvalidInput, plan
from shuffledp.cli.tokens import read_tokens
from shuffledp.esa.admission import OneTimeTokens
from shuffledp.esa.client import Client
from shuffledp.esa.collector import Collector
from shuffledp.esa.crypto import seal_inner, seal_message, wrap
from shuffledp.esa.http import OCTETS
from shuffledp.esa.keys import KeyFile, KeyRing
from shuffledp.esa.sender import NotDelivered, Sender, submit
from shuffledp.esa.task import Task

TASK = Task(plan=plan("histogram", n=100, epsilon=8.0, delta=1e-2, size=16), window=3600, max_age=7200)
SHUFFLER, ANALYZER = KeyRing.fresh("shuffler"), KeyRing.fresh("analyzer")


def sealed(message: int, task: Task = TASK) -> bytes:
    return seal_message(message, task, ANALYZER.public(), [SHUFFLER.public()])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return prepared(tmp_path, TASK, SHUFFLER)


def prepared(folder: Path, task: Task, ring: KeyRing) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "task.json").write_text(json.dumps(task.document()))
    ring.save(folder / "shuffler.key")
    ANALYZER.save(folder / "analyzer.key")
    (folder / "analyzer.pub.json").write_text(json.dumps(ANALYZER.public().document()))
    return folder


@contextmanager
def running(folder: Path, more: str = "", **how: object) -> Iterator[Server]:
    server = Server(folder, more, **how)  # type: ignore[arg-type]
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.stop()
        for pipe in (server.process.stdout, server.process.stderr):
            if pipe is not None:
                pipe.close()


def stored(folder: Path, query: str) -> int:
    with closing(sqlite3.connect(folder / "store.db", isolation_level=None)) as connection:
        return int(connection.execute(query).fetchone()[0])


# Admission


def test_a15_a_token_admits_one_report(folder: Path) -> None:
    """Without a token nobody reports, and with one once: also after a restart, and however often the same bytes are sent."""
    assert run("tokens key -o admission.key", cwd=folder).returncode == 0
    issued = run("tokens issue task.json --key admission.key --count 120 -o tokens.txt", cwd=folder)
    assert issued.stdout == "issued 120 tokens\n", issued.stderr
    tokens = read_tokens(folder / "tokens.txt")
    assert len(set(tokens)) == 120
    assert (folder / "tokens.txt").stat().st_mode & 0o077 == 0
    key = (folder / "admission.key").read_text().strip().encode()
    other_task, forger = OneTimeTokens(key).issue("00" * 32), OneTimeTokens(b"guess" * 8)
    sent = [token + sealed(j % 16) for j, token in enumerate(tokens)]
    with running(folder, "--admission-key admission.key") as server:
        sender = Sender(url=server.url, attempts=2, pause=0.01)
        with pytest.raises(InvalidInput, match="status 400"):
            sender.send(TASK, [sealed(1)])
        assert sender.send(TASK, [forger.issue(TASK.id) + sealed(1)]) == ["not_admitted"]
        assert sender.send(TASK, [other_task + sealed(1)]) == ["not_admitted"]
        assert sender.send(TASK, sent[:100]) == ["accepted"] * 100
        assert sender.send(TASK, sent[:100]) == ["report_replayed"] * 100  # answers were lost
        flood = [token + sealed(3) for token in tokens[:100]]
        assert sender.send(TASK, flood) == ["not_admitted"] * 100
        twice = [tokens[100] + sealed(1), tokens[100] + sealed(2)]  # in one upload
        assert sorted(sender.send(TASK, twice)) == ["accepted", "not_admitted"]
        described = httpx.get(f"{server.url}/v1/tasks/{TASK.id}").json()
        assert described["credential"] == 32
    with running(folder, "--admission-key admission.key") as server:
        sender = Sender(url=server.url, attempts=2, pause=0.01)
        assert sender.send(TASK, flood[:5]) == ["not_admitted"] * 5
        # a report that is refused leaves nothing behind, and a bad report does not use its token up
        assert sender.send(TASK, [tokens[101] + b"x" * 126, tokens[101] + sealed(1)]) == ["invalid_message", "accepted"]
        (folder / "mine.txt").write_text((folder / "tokens.txt").read_text().splitlines()[102] + "\n")
        line = (
            f"client submit task.json --url {server.url} --analyzer-keys analyzer.pub.json --state me --token mine.txt"
        )
        for _ in range(2):  # the second time the same bytes are sent
            done = subprocess.run(
                [command(), *line.split()], input="5\n", capture_output=True, text=True, cwd=folder, check=False
            )
            assert done.stdout == "the report has arrived\n", done.stderr
    assert stored(folder, "SELECT count(*) FROM sealed") == 103
    assert stored(folder, "SELECT count FROM batch") == 103
    assert stored(folder, "SELECT count(*) FROM spending") == 103


def test_tokens_badly_asked_for(folder: Path) -> None:
    assert run("tokens key -o admission.key", cwd=folder).returncode == 0
    before = (folder / "admission.key").read_bytes()
    for line, why in (
        ("tokens key -o admission.key", "exists"),
        ("tokens key -o no/such/folder.key", "cannot write"),
        ("tokens issue task.json --key admission.key --count 0 -o t.txt", "count must be"),
        ("tokens issue task.json --key none.key --count 1 -o t.txt", "cannot read"),
        ("tokens issue task.json --key admission.key --count 1 -o task.json", "may have been given out"),
    ):
        done = run(line, cwd=folder)
        assert (done.returncode, done.stdout) == (2, "")
        assert why in done.stderr
    assert (folder / "admission.key").read_bytes() == before
    assert not (folder / "t.txt").exists()
    (folder / "bad.txt").write_text("not a token!\n")
    with pytest.raises(InvalidInput, match="not a file of tokens"):
        read_tokens(folder / "bad.txt")


# Keys that change


def test_a12_rotations_under_load_lose_no_report(folder: Path) -> None:
    """Clients keep sending while keys are introduced, rotated and destroyed: outdated reports arrive rewrapped, once each."""
    rotations, ring = full(3, 10), SHUFFLER
    done = threading.Event()
    outcomes: Counter[str] = Counter()
    first_tries: Counter[str] = Counter()

    def client(number: int) -> int:
        made, keys = 0, sender.keys(TASK)
        while not done.is_set() or made == 0:
            inner = seal_inner((number + made) % 16, TASK, ANALYZER.public())
            (outcome,) = sender.send(TASK, [wrap(inner, TASK, [keys])])
            first_tries[outcome] += 1
            while outcome == "outdated_config":  # learn the keys of now, wrap the same inside again
                keys = sender.keys(TASK)
                (outcome,) = sender.send(TASK, [wrap(inner, TASK, [keys])])
            outcomes[outcome] += 1
            made += 1
        return made

    with running(folder) as server:
        sender = Sender(url=server.url)
        with ThreadPoolExecutor(4) as pool:
            jobs = [pool.submit(client, number) for number in range(4)]
            for _ in range(rotations):
                for change in (KeyRing.introduced, KeyRing.rotated, without_the_oldest):
                    ring = change(ring)
                    ring.save(folder / "shuffler.key")
                    wanted = ring.public().document()
                    for _ in range(100):
                        if httpx.get(f"{server.url}/v1/tasks/{TASK.id}").json()["keys"] == wanted:
                            break
                        time.sleep(0.05)
                    else:
                        raise AssertionError("the service did not take the new keys")
            done.set()
            made = sum(job.result() for job in jobs)
        # a damaged file leaves the keys of before in use
        (folder / "shuffler.key").write_text("{}")
        time.sleep(1.5)
        assert httpx.get(f"{server.url}/v1/tasks/{TASK.id}").json()["keys"] == ring.public().document()
        assert 'kind="bad_key_file"} 1' in httpx.get(f"{server.url}/metrics").text
        output = server.stop()[1]
        assert "the keys of before stay in use" in output
    assert outcomes == {"accepted": made}
    assert first_tries["outdated_config"] >= rotations  # the test did exercise it
    assert stored(folder, "SELECT count FROM batch WHERE state = 'OPEN'") == made


def without_the_oldest(ring: KeyRing) -> KeyRing:
    return ring.destroyed(ring.keys[0].key_id)


def test_a12_the_client_library_rewraps_by_itself(folder: Path, tmp_path: Path) -> None:
    with running(folder) as server:
        old = SHUFFLER.public()
        ring = SHUFFLER.rotated()
        ring.destroyed(SHUFFLER.keys[0].key_id).save(folder / "shuffler.key")
        for _ in range(100):
            if len(httpx.get(f"{server.url}/v1/tasks/{TASK.id}").json()["keys"]["keys"]) == 1:
                break
            time.sleep(0.05)
        client = Client(task=TASK, analyzer=ANALYZER.public(), shufflers=[old], folder=tmp_path / "state")
        time.sleep(1.1)
        assert submit(client, 3, window=1, sender=Sender(url=server.url)) == "accepted"
        assert client.waiting == []


def test_nobody_is_twice_in_a_batch(folder: Path, tmp_path: Path) -> None:
    """A client reports once in each of the shuffler's windows; a report that is late for one goes to the next, once."""
    with running(folder) as server:
        sender, operator = (
            Sender(url=server.url),
            Collector(url=server.url, token=(folder / "operator.token").read_text()),
        )
        me = Client(task=TASK, analyzer=ANALYZER.public(), shufflers=[SHUFFLER.public()], folder=tmp_path / "me")
        _, first = sender.described(TASK)
        assert submit(me, 3, sender=sender) == "accepted"
        assert submit(me, 5, sender=sender) == "report_replayed"  # a second value in the same window is not randomized
        late = Client(task=TASK, analyzer=ANALYZER.public(), shufflers=[SHUFFLER.public()], folder=tmp_path / "late")
        made = late.report(3, window=first)  # and then the network is gone for a while
        assert set(sender.send(TASK, [sealed(j % 16) for j in range(120)], window=first)) == {"accepted"}
        operator.close(TASK)
        _, second = sender.described(TASK)
        assert second > first
        assert sender.send(TASK, [made], window=first) == ["batch_collected"]
        assert submit(late, 3, window=first, sender=sender) == "accepted"
        assert (late.reports, late.waiting) == (1, [])
        assert late.report(3, window=second) == made  # the same randomization, in the other window
        assert submit(late, 3, sender=sender) == "report_replayed"
        assert submit(me, 3, sender=sender) == "accepted"
        assert me.reports == 2
        # two unsent reports, and the window of the older one is over: the newer one stands
        both = Client(task=TASK, analyzer=ANALYZER.public(), shufflers=[SHUFFLER.public()], folder=tmp_path / "both")
        both.report(1, window=first)
        newer = both.report(2, window=second)
        assert submit(both, 1, window=first, sender=sender) == "accepted"
        assert (both.reports, both.report(9, window=second)) == (1, newer)
        wrong = httpx.post(
            f"{server.url}/v1/tasks/{TASK.id}/reports?window=x", content=made, headers={"Content-Type": OCTETS}
        )
        assert wrong.status_code == 400
        with pytest.raises(InvalidInput, match="no report that could go"):
            me.moved(first, 99)


def test_key_files_of_the_wrong_role_or_none(tmp_path: Path) -> None:
    ANALYZER.save(tmp_path / "a.key")
    with pytest.raises(InvalidInput, match="keys of the analyzer"):
        KeyFile(tmp_path / "a.key", "shuffler").ring()
    with pytest.raises(InvalidInput, match="cannot read"):
        KeyFile(tmp_path / "none.key", "shuffler").ring()


# Stopping


def test_sigterm_answers_what_waits_and_keeps_what_it_acknowledged(folder: Path) -> None:
    with running(folder) as server:
        records = [[sealed(j % 16) for j in range(200)] for _ in range(8)]

        def send(mine: list[bytes]) -> list[bytes]:
            """What was acknowledged."""
            known = []
            with httpx.Client(headers={"Content-Type": OCTETS}) as web:
                for record in mine * 50:
                    try:
                        answer = web.post(f"{server.url}/v1/tasks/{TASK.id}/reports", content=record)
                    except httpx.TransportError:
                        break
                    if answer.status_code != 200:
                        assert answer.status_code == 503
                        break
                    known.append(record)
            return known

        with ThreadPoolExecutor(8) as pool:
            jobs = [pool.submit(send, mine) for mine in records]
            time.sleep(0.5)
            begin = time.monotonic()
            server.stop()
            known = {record for job in jobs for record in job.result()}
        assert time.monotonic() - begin < 30
    assert len(known) > 20
    assert stored(folder, "SELECT count(*) FROM sealed") >= len(known)
    with running(folder) as server:
        again = Sender(url=server.url).send(TASK, sorted(known))
    assert again == ["report_replayed"] * len(known)


def test_killed_shufflers_leave_no_helpers_behind(folder: Path) -> None:
    with running(folder, "--processes 2") as server:
        assert set(Sender(url=server.url).send(TASK, [sealed(j % 16) for j in range(400)])) == {"accepted"}
        helpers = children(server.process.pid)
        assert helpers
        server.process.send_signal(signal.SIGKILL)
        server.process.wait(30)
        for _ in range(100):
            if not any(Path(f"/proc/{pid}").exists() for pid in helpers):
                return
            time.sleep(0.1)
        raise AssertionError("a helper outlived the shuffler")


def test_a_helper_that_is_killed_loses_nothing(folder: Path) -> None:
    with running(folder, "--processes 2") as server:
        sender = Sender(url=server.url)
        assert set(sender.send(TASK, [sealed(j % 16) for j in range(400)])) == {"accepted"}
        for pid in children(server.process.pid):
            os.kill(pid, signal.SIGKILL)
        assert set(sender.send(TASK, [sealed(j % 16) for j in range(400)])) == {"accepted"}
        assert set(sender.send(TASK, [sealed(j % 16) for j in range(400)])) == {"accepted"}
    assert stored(folder, "SELECT count FROM batch") == 1200


def children(pid: int) -> list[int]:
    return [int(child) for path in Path(f"/proc/{pid}/task").glob("*/children") for child in path.read_text().split()]


# TLS, configuration


def certificate(folder: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )


def test_tls(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate(folder)
    with running(folder, "--tls-cert cert.pem --tls-key key.pem", ca_file=folder / "cert.pem") as server:
        with pytest.raises(NotDelivered):  # a certificate nobody vouches for
            Sender(url=server.url, attempts=1).send(TASK, [sealed(1)])
        monkeypatch.setenv("SSL_CERT_FILE", str(folder / "cert.pem"))
        assert Sender(url=server.url).send(TASK, [sealed(1)]) == ["accepted"]
        with pytest.raises(NotDelivered):
            Sender(url=server.url.replace("https", "http"), attempts=1).send(TASK, [sealed(1)])
    (folder / "key.pem").write_text("nonsense")
    done = run(
        f"shuffler serve task.json --store x.db --keys shuffler.key {TOKENS} --tls-cert cert.pem --tls-key key.pem",
        cwd=folder,
    )
    assert done.returncode == 2
    assert "matching pair" in done.stderr


def test_the_sample_configuration_serves(folder: Path) -> None:
    (folder / "shuffler.toml").write_text(run("shuffler sample-config").stdout)
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    with running(folder, line="shuffler serve --config shuffler.toml") as server:
        assert Sender(url=server.url).send(TASK, [sealed(1)]) == ["accepted"]
    assert (folder / "shuffler.db").is_file()
    for text, why in (
        ("stor = 'x'", "there is no option stor"),
        ("tasks = 'task.json'", "tasks must be a list"),
        ("store = ['a', 'b']", "store must be one value"),
        ("store = 7", "must be a path"),
        ("store = ", "not TOML"),
        ("processes = 'x'", "not a valid integer"),
        ("rate = 0", "is not in the range"),
        ("hop = 2", "numbered from the analyzer out"),
    ):
        sample = [
            line
            for line in (folder / "shuffler.toml").read_text().splitlines()
            if line.split(" ")[0] != text.split(" ")[0]
        ]
        (folder / "bad.toml").write_text("\n".join([*sample, text]))
        done = run("shuffler serve --config ../bad.toml --port 0", cwd=elsewhere)
        assert done.returncode == 2, text
        assert why in done.stderr, done.stderr
    assert "cannot read the configuration" in run("shuffler serve --config none.toml", cwd=folder).stderr
    taken = run(
        f"shuffler serve --config shuffler.toml --port {server.url.rsplit(':')[-1]} --host 192.0.2.1 --insecure-http",
        cwd=folder,
    )
    assert taken.returncode == 2
    assert "cannot listen on 192.0.2.1" in taken.stderr


# Several hops


def test_two_hops_neither_of_which_sees_both_ends(tmp_path: Path) -> None:
    """The outer shuffler's batch goes to the inner one, twice over; the inner one's to the analyzer."""
    task = Task(plan=TASK.plan, window=3600, max_age=7200, hops=2)
    inner_ring = KeyRing.fresh("shuffler")
    outer = prepared(tmp_path / "outer", task, SHUFFLER)
    inner = prepared(tmp_path / "inner", task, inner_ring)
    (outer / "inner.pub.json").write_text(json.dumps(inner_ring.public().document()))
    (outer / "people.csv").write_text("answer\n" + "\n".join(str(j % 16) for j in range(150)) + "\n")
    with running(outer) as first, running(inner, "--hop 1") as second:
        keys = "--analyzer-keys analyzer.pub.json"
        sent = run(
            f"simulate-clients task.json people.csv --column answer --url {first.url} {keys} --shuffler-keys inner.pub.json",
            cwd=outer,
        )
        assert sent.stdout == "accepted: 150\n", sent.stderr
        assert run(f"shuffler close task.json --url {first.url} --token operator.token", cwd=outer).returncode == 0
        line = f"shuffler forward task.json --from {first.url} --token analyzer.token --to {second.url}"
        for _ in range(2):
            done = run(line, cwd=outer)
            assert done.stdout == "150 of 150 reports are at the next shuffler\n", done.stderr
        wrong = run(
            f"analyzer run task.json --url {first.url} --token analyzer.token --keys analyzer.key --json", cwd=outer
        )
        assert wrong.returncode == 2  # a batch of the outer shuffler is still sealed to the inner one
        closed = run(f"shuffler close task.json --url {second.url} --token operator.token --json", cwd=inner)
        assert json.loads(closed.stdout)["reports"] == 150
        done = run(
            f"analyzer run task.json --url {second.url} --token analyzer.token --keys analyzer.key --json", cwd=inner
        )
        assert json.loads(done.stdout)["n"] == 150, done.stderr
        assert json.loads(done.stdout)["rejected"] == {}
    moved = run(f"shuffler serve task.json --store store.db --keys shuffler.key {TOKENS} --hop 2 --port 0", cwd=inner)
    assert moved.returncode == 2
    assert "this store is of hop 1" in moved.stderr


# Backups


def test_a_backup_taken_while_running_is_restored(folder: Path) -> None:
    first, second = [sealed(j % 16) for j in range(150)], [sealed(j % 16) for j in range(120)]
    with running(folder) as server:
        sender, url = Sender(url=server.url), server.url
        token = (folder / "operator.token").read_text()
        assert set(sender.send(TASK, first)) == {"accepted"}
        Collector(url=url, token=token).close(TASK)
        before = Collector(url=url, token=(folder / "analyzer.token").read_text()).fetch(TASK)
        assert set(sender.send(TASK, second)) == {"accepted"}
        done = run("shuffler backup store.db copy.db", cwd=folder)
        assert done.returncode == 0, done.stderr
        assert run("shuffler backup store.db copy.db", cwd=folder).returncode == 2
        server.stop(signal.SIGKILL)
    assert (folder / "copy.db").stat().st_mode & 0o077 == 0
    for extra, open_reports in (("", 0), ("--nothing-released-since", 120)):
        for path in folder.glob("store.db*"):
            path.unlink()
        done = run(f"shuffler restore copy.db store.db {extra}", cwd=folder)
        assert done.returncode == 0, done.stderr
        assert run("shuffler restore copy.db store.db", cwd=folder).returncode == 2  # never over a store
        listed = json.loads(run("shuffler status store.db --json", cwd=folder).stdout)["batches"]
        assert [batch["reports"] for batch in listed if batch["state"] == "OPEN"] == [open_reports]
        assert (
            [batch["state"] for batch in listed] == ["RELEASED", "OPEN"] if extra else ["RELEASED", "DESTROYED", "OPEN"]
        )
        with running(folder) as server:
            again = Collector(url=server.url, token=(folder / "analyzer.token").read_text()).fetch(TASK)
            assert again == before
            assert set(Sender(url=server.url).send(TASK, first + second)) == {"report_replayed"}
    (folder / "empty.db").touch()
    for line in (
        "shuffler backup none.db x.db",
        "shuffler restore none.db x.db",
        "shuffler status none.db",
        "shuffler restore empty.db x.db",
    ):
        assert run(line, cwd=folder).returncode == 2
    assert not (folder / "x.db").exists()


# Files to deploy with


def test_the_unit_and_the_container_start_what_exists(folder: Path) -> None:
    deploy = Path(__file__).parents[2] / "docs" / "deploy"
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read(deploy / "shuffledp-shuffler.service")
    started = unit["Service"]["ExecStart"].split()
    container = (deploy / "Containerfile").read_text()
    asked = json.loads(re.findall(r"^CMD (.*)$", container, re.MULTILINE)[0])
    assert started[1:] == asked
    (folder / "shuffler.toml").write_text(run("shuffler sample-config").stdout)
    line = " ".join(asked).replace("/etc/shuffledp/shuffler.toml", "shuffler.toml")
    with running(folder, line=line) as server:
        assert httpx.get(f"{server.url}/healthz").text == "ok\n"


# Clients that do not behave


def test_hostile_connections_leave_no_traceback_and_no_memory(folder: Path) -> None:
    """Cut uploads, endless heads, chunks, pipelines, odd methods and paths, against the real server."""
    with running(folder) as server:
        port = int(server.url.rsplit(":", 1)[1])
        path = f"/v1/tasks/{TASK.id}/reports"
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {OCTETS}\r\n".encode()

        def said(data: bytes, *, wait: bool = True) -> bytes:
            with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
                try:
                    connection.sendall(data)
                    return b"".join(iter(lambda: connection.recv(65536), b"")) if wait else b""
                except (ConnectionError, TimeoutError):
                    return b""

        before = resident(server.process.pid)
        for _ in range(20):
            said(head + b"Content-Length: 126\r\n\r\n" + bytes(60), wait=False)  # gone half-way
        for _ in range(5):
            said(head + b"X: " + b"x" * (8 << 20), wait=False)  # a head that does not end
        assert resident(server.process.pid) - before < 60_000_000
        one, two = sealed(1), sealed(2)
        chunked = said(head + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n7e\r\n" + one + b"\r\n0\r\n\r\n")
        assert b"200 OK" in chunked
        assert b'"accepted"' in chunked
        length = b"Content-Length: 126\r\n"
        pipelined = said(head + length + b"\r\n" + one + head + length + b"Connection: close\r\n\r\n" + two)
        assert pipelined.count(b"200 OK") == 2
        assert b'"report_replayed"' in pipelined
        said(head + b"Content-Length: 252\r\n\r\n" + sealed(3), wait=False)  # truncated: half of it is not taken
        assert b" 400 " in said(b"nonsense\r\n\r\n")
        for method, where, status in (
            ("HEAD", "/metrics", 200), ("OPTIONS", path, 405), ("GET", "/healthz/", 404), ("POST", f"{path}/", 404),
            ("GET", "//healthz", 404), ("GET", "/v1/tasks/../../etc/passwd", 404), ("GET", f"/v1/batches/{'9' * 5000}", 401),
            ("POST", f"/v1/tasks/{TASK.id}/batches", 405),
        ):  # fmt: skip
            answer = httpx.request(method, server.url + where)
            assert answer.status_code == status, (method, where)
        assert httpx.get(f"{server.url}/healthz").text == "ok\n"
        assert stored(folder, "SELECT count FROM batch") == 2
        output = "".join(server.stop())
        assert "Traceback" not in output


def resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
