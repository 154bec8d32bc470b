"""What operators do with a running shuffler: stopping, TLS, configuration, hops, backups, and those who do not behave."""

import configparser
import datetime
import ipaddress
import json
import os
import re
import resource
import signal
import socket
import time
import tomllib
from dataclasses import fields
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from oracles.parties import PARTIES, SHUFFLER, prepared, sealed
from oracles.parties import SIXTEEN as TASK
from oracles.process import assert_refused
from oracles.process import called as run
from oracles.process import run as started
from oracles.server import TOKENS, Server, running, stored
from shuffledp.cli.shuffler import serve
from shuffledp.service.analyzer.batch_fetcher import BatchFetcher
from shuffledp.service.client.sender import NotDelivered, Sender
from shuffledp.service.sealing.keys import KeyRing
from shuffledp.service.shuffler.http import OCTETS
from shuffledp.service.shuffler.limits import Limits
from shuffledp.service.task import Task

ROOT = Path(__file__).parents[2]

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
            Sender(url=server.url, attempts=1).send(TASK, [sealed(1, TASK)])
        monkeypatch.setenv("SSL_CERT_FILE", str(folder / "cert.pem"))
        assert Sender(url=server.url).send(TASK, [sealed(1, TASK)]) == ["accepted"]
        with pytest.raises(NotDelivered):
            Sender(url=server.url.replace("https", "http"), attempts=1).send(TASK, [sealed(1, TASK)])
    (folder / "key.pem").write_text("nonsense")
    done = started(
        f"shuffler serve task.json --store x.db --keys shuffler.key {TOKENS} --tls-cert cert.pem --tls-key key.pem",
        cwd=folder,
    )
    assert_refused(done, "matching pair")


def test_the_sample_configuration_serves(folder: Path) -> None:
    (folder / "shuffler.toml").write_text(run("shuffler sample-config").stdout)
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    with running(folder, line="shuffler serve --config shuffler.toml") as server:
        assert Sender(url=server.url).send(TASK, [sealed(1, TASK)]) == ["accepted"]
    assert (folder / "shuffler.db").is_file()
    for text, why in (
        ("stor = 'x'", "there is no option stor"),
        ("tasks = 'task.json'", "tasks must be a list"),
        ("store = ['a', 'b']", "store must be one value"),
        ("store = 7", "must be a path"),
        ("store = ", "not TOML"),
        ("processes = 'x'", "'x' is not a number"),
        ("rate = 0", "is too small"),
        ("hop = 2", "numbered from the analyzer out"),
        ("max-connections = 0", "is too small"),
        ("answer-timeout = 'long'", "'long' is not a number"),
    ):
        sample = [
            line
            for line in (folder / "shuffler.toml").read_text().splitlines()
            if line.split(" ")[0] != text.split(" ")[0]
        ]
        (folder / "bad.toml").write_text("\n".join([*sample, text]))
        done = started("shuffler serve --config ../bad.toml --port 0", cwd=elsewhere)
        assert done.returncode == 2, text
        assert why in done.stderr, done.stderr
    assert "cannot read the configuration" in started("shuffler serve --config none.toml", cwd=folder).stderr
    taken = started(
        f"shuffler serve --config shuffler.toml --port {server.url.rsplit(':')[-1]} --host 192.0.2.1 --insecure-http",
        cwd=folder,
    )
    assert_refused(taken, "cannot listen on 192.0.2.1")


def test_the_sample_configuration_shows_every_option_and_its_default() -> None:
    sample = run("shuffler sample-config").stdout
    shown = tomllib.loads(re.sub(r"^# (?=[a-z-]+ = )", "", sample, flags=re.MULTILINE))
    options = {str(option.name).replace("_", "-"): option for option in serve.params if option.name != "config"}
    assert set(shown) == set(options)
    for limit in fields(Limits):
        if limit.default is not None:
            assert shown[limit.name.replace("_", "-")] == limit.default


# Several hops


def test_two_hops_neither_of_which_sees_both_ends(tmp_path: Path) -> None:
    """The outer shuffler's batch goes to the inner one, twice over; the inner one's to the analyzer."""
    task = Task(plan=TASK.plan, window=3600, max_age=7200, **PARTIES | {"shufflers": ("Alpha", "Gamma")})
    inner_ring = KeyRing.fresh("shuffler")
    outer = prepared(tmp_path / "outer", task, SHUFFLER)
    inner = prepared(tmp_path / "inner", task, inner_ring)
    (outer / "inner.pub.json").write_text(json.dumps(inner_ring.public().document()))
    (outer / "people.csv").write_text("answer\n" + "\n".join(str(j % 16) for j in range(150)) + "\n")
    assert run("tokens key -o forward.token", cwd=inner).returncode == 0
    (outer / "forward.token").write_text((inner / "forward.token").read_text())
    (outer / "forward.token").chmod(0o600)
    refused = started(
        f"shuffler serve task.json --store store.db --keys shuffler.key {made_tokens(inner)} --hop 1", cwd=inner
    )
    assert_refused(refused, "Give the token that it sends, with --forward-token.")
    tokens = TOKENS.replace("analyzer.pub.json", "inner.pub.json")
    outer_line = f"shuffler serve task.json --store store.db --keys shuffler.key {tokens}"
    with running(outer, line=outer_line) as first, running(inner, "--hop 1 --forward-token forward.token") as second:
        keys = "--analyzer-keys analyzer.pub.json"
        sent = run(
            f"simulate-clients task.json people.csv --column answer --url {first.url} {keys} --shuffler-keys inner.pub.json",
            cwd=outer,
        )
        assert sent.stdout == "accepted: 150\n", sent.stderr
        assert run(f"shuffler close task.json --url {first.url} --token operator.token", cwd=outer).returncode == 0
        line = f"shuffler forward task.json --from {first.url} --token analyzer.token --to {second.url}"
        wrong = run(f"{line} --to-token operator.token", cwd=outer)
        assert_refused(wrong, "status 401")
        line += " --to-token forward.token"
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
    moved = started(
        f"shuffler serve task.json --store store.db --keys shuffler.key {TOKENS} --hop 2 --port 0", cwd=inner
    )
    assert_refused(moved, "this store is of hop 1")


def made_tokens(folder: Path) -> str:
    for name in ("operator", "analyzer"):
        run(f"tokens key -o {name}.token", cwd=folder)
    return TOKENS


# Backups


def test_a_backup_taken_while_running_is_restored(folder: Path) -> None:
    first, second = [sealed(j % 16, TASK) for j in range(150)], [sealed(j % 16, TASK) for j in range(120)]
    with running(folder) as server:
        sender, url = Sender(url=server.url), server.url
        token = (folder / "operator.token").read_text()
        assert set(sender.send(TASK, first)) == {"accepted"}
        BatchFetcher(url=url, token=token).close(TASK)
        before = BatchFetcher(url=url, token=(folder / "analyzer.token").read_text()).fetch(TASK).sha256
        assert set(sender.send(TASK, second)) == {"accepted"}
        done = run("shuffler backup store.db copy.db", cwd=folder)
        assert done.returncode == 0, done.stderr
        assert run("shuffler backup store.db copy.db", cwd=folder).returncode == 2
        server.stop(signal.SIGKILL)
    assert (folder / "copy.db").stat().st_mode & 0o077 == 0
    for extra, open_reports in (("", 0), ("--nothing-released-since", 120)):
        for path in folder.glob("store.db*"):
            path.unlink()
        (folder / "store.db-wal").write_bytes(b"the log of the store that was lost")  # SQLite would replay it
        assert "store.db-wal exists" in run(f"shuffler restore copy.db store.db {extra}", cwd=folder).stderr
        (folder / "store.db-wal").unlink()
        done = run(f"shuffler restore copy.db store.db {extra}", cwd=folder)
        assert done.returncode == 0, done.stderr
        assert run("shuffler restore copy.db store.db", cwd=folder).returncode == 2  # never over a store
        listed = json.loads(run("shuffler status store.db --json", cwd=folder).stdout)["batches"]
        assert [batch["reports"] for batch in listed if batch["state"] == "OPEN"] == [open_reports]
        assert (
            [batch["state"] for batch in listed] == ["RELEASED", "OPEN"] if extra else ["RELEASED", "DESTROYED", "OPEN"]
        )
        with running(folder) as server:
            again = BatchFetcher(url=server.url, token=(folder / "analyzer.token").read_text()).fetch(TASK).sha256
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
    deploy = ROOT / "docs" / "deploy"
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


def locked(name: str) -> dict[str, set[str]]:
    """The hashes of each requirement in a file, by its name and version."""
    text = (ROOT / "requirements" / name).read_text()
    found = re.findall(r"^(\S+==[^\s;]+).*\n((?:    --hash.*\n)+)", text, re.MULTILINE)
    return {package: set(re.findall(r"sha256:\w+", hashes)) for package, hashes in found}


def test_the_container_has_what_was_tested_by_hash_on_a_base_that_is_named_by_digest() -> None:
    container = (ROOT / "docs" / "deploy" / "Containerfile").read_text().replace("\\\n", "")
    assert re.findall(r"^(?:ARG|FROM) .*$", container, re.MULTILINE) == [
        "ARG BASE", "FROM ${BASE} AS built", "ARG BASE", "FROM ${BASE}",
    ]  # fmt: skip
    assert 'RUN case "${BASE}" in *@sha256:*) ;; *)' in container
    installed = re.findall(r"pip install (.*?)(?: &&|$)", container, re.MULTILINE)
    assert len(installed) == 3
    assert all("--require-hashes" in line or "--no-deps --no-index" in line for line in installed)
    assert "--no-deps --no-build-isolation" in re.findall(r"pip wheel (.*)$", container, re.MULTILINE)[0]
    tested = locked("lock.txt")
    for name in ("service.txt", "build.txt"):
        assert f"COPY requirements/{name} " in container
        assert {package: tested[package] for package in locked(name)} == locked(name)
    pinned = {package.partition("==")[0].partition("[")[0] for package in locked("service.txt")}
    service = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for one in (*service["dependencies"], *service["optional-dependencies"]["service"]):
        assert re.split(r"[>=\[;]", one)[0] in pinned


# Clients that do not behave


def test_hostile_connections_leave_no_traceback_and_no_memory(folder: Path) -> None:
    """Cut uploads, endless heads, chunks, pipelines, odd methods and paths, against the real server."""
    with running(folder) as server:
        port = int(server.url.rsplit(":", 1)[1])
        path = f"/v2/tasks/{TASK.id}/reports"
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
        one, two = sealed(1, TASK), sealed(2, TASK)
        chunked = said(head + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n7e\r\n" + one + b"\r\n0\r\n\r\n")
        assert b"200 OK" in chunked
        assert b'"accepted"' in chunked
        length = b"Content-Length: 126\r\n"
        pipelined = said(head + length + b"\r\n" + one + head + length + b"Connection: close\r\n\r\n" + two)
        assert pipelined.count(b"200 OK") == 2
        assert b'"report_replayed"' in pipelined
        said(head + b"Content-Length: 252\r\n\r\n" + sealed(3, TASK), wait=False)  # truncated: half of it is not taken
        assert b" 400 " in said(b"nonsense\r\n\r\n")
        for method, where, status in (
            ("HEAD", "/readyz", 200), ("OPTIONS", path, 204), ("GET", "/healthz/", 404), ("POST", f"{path}/", 404),
            ("GET", "//healthz", 404), ("GET", "/v2/tasks/../../etc/passwd", 404), ("GET", f"/v2/batches/{'9' * 5000}", 401),
            ("POST", f"/v2/tasks/{TASK.id}/batches", 405),
        ):  # fmt: skip
            answer = httpx.request(method, server.url + where)
            assert answer.status_code == status, (method, where)
        assert httpx.get(f"{server.url}/healthz").text == "ok\n"
        assert stored(folder, "SELECT count FROM batch") == 2
        output = "".join(server.stop())
        assert "Traceback" not in output


def resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


# Logs


def test_requests_that_are_not_http_fill_no_log(folder: Path) -> None:
    with running(folder, "--log-lines 5") as server:
        port = int(server.url.rsplit(":", 1)[1])
        for _ in range(50):
            with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
                connection.sendall(b"nonsense\r\n\r\n")
                assert b" 400 " in connection.recv(65536)
        _, errors = server.stop()
    lines = [line for line in errors.splitlines() if "Invalid HTTP" in line]
    assert len(lines) == 6
    assert "45 more like this were not logged" in lines[-1]


def ready(server: Server, status: int) -> list[str]:
    """Ask until it is ready, or not, because an answer is reused for a second: what is wrong."""
    for _ in range(600):
        answer = httpx.get(f"{server.url}/readyz")
        if answer.status_code == status:
            return [] if status == 200 else list(answer.json()["wrong"])
        time.sleep(0.1)
    raise AssertionError(f"/readyz never says {status}")


def test_a_store_that_may_not_grow_is_not_ready_and_fills_no_log(folder: Path) -> None:
    """A file-size limit, under which the disk has room: nothing is lost, and once it is lifted all is well."""
    with running(folder, "--log-lines 5") as server:

        def may_be(size: int) -> None:
            """Limit the files of the shuffler to so many bytes."""
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

        sender = Sender(url=server.url, attempts=1)
        assert sender.send(TASK, [sealed(1, TASK)]) == ["accepted"]
        assert ready(server, 200) == []
        may_be(50_000_000)
        assert ready(server, 503) == ["the store has too little room"]
        may_be(4096)  # not even a page of the log of the database
        refused = [sealed(j % 16, TASK) for j in range(40)]
        for report in refused:
            with pytest.raises(NotDelivered):
                sender.send(TASK, [report])
        ready(server, 503)
        may_be(resource.RLIM_INFINITY)
        assert set(Sender(url=server.url).send(TASK, refused)) == {"accepted"}
        assert ready(server, 200) == []
        _, errors = server.stop()
    lines = [line for line in errors.splitlines() if "not accepted" in line]
    assert len(lines) == 6
    assert "35 more like this were not logged" in lines[-1]


# Core dumps


def test_a_shuffler_and_its_helpers_leave_no_core_dumps(folder: Path) -> None:
    with running(folder, "--processes 2") as server:
        assert set(Sender(url=server.url).send(TASK, [sealed(j % 16, TASK) for j in range(300)])) == {"accepted"}
        pid = server.process.pid
        helpers = [
            int(child) for path in Path(f"/proc/{pid}/task").glob("*/children") for child in path.read_text().split()
        ]
        assert len(helpers) >= 2
        for process in (pid, *helpers):
            assert resource.prlimit(process, resource.RLIMIT_CORE) == (0, 0)
