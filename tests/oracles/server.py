"""A real shuffler in a process of its own."""

import os
import re
import secrets
import shlex
import signal
import sqlite3
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import psycopg

from oracles.process import command
from oracles.tree import python_path
from shuffledp.service.stores.registry import open_store

Place = Callable[[Path], str]
"""From the name of a store to its URL, whatever kind is tested."""
TOKENS = "--next-keys analyzer.pub.json --operator-token operator.token --analyzer-token analyzer.token"


class Server:
    """`shuffledp shuffler serve` on loopback, stopped by process id.

    `more` are further arguments; `line` replaces all of them but the ports; `stuck_at` is a point at which threads stop;
    `bug` is one of `oracles.careless`.
    """

    def __init__(
        self,
        folder: Path,
        more: str = "",
        *,
        store: str = "store.db",
        line: str = "",
        ca_file: Path | None = None,
        stuck_at: str = "",
        bug: str = "",
    ) -> None:
        self.folder = folder
        for name in ("operator", "analyzer"):
            if not (folder / f"{name}.token").exists():
                (folder / f"{name}.token").write_text(secrets.token_hex(16))
                (folder / f"{name}.token").chmod(0o600)
        line = line or f"shuffler serve task.json --store {store} --keys shuffler.key {TOKENS} {more}"
        broken = ["oracles.stuck", stuck_at] if stuck_at else ["oracles.careless", bug]
        self.process = subprocess.Popen(
            [*([sys.executable, "-m", *broken] if stuck_at or bug else [command()]), *shlex.split(line),
             "--port", "0", "--metrics-port", "0"],
            cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": python_path()},
        )  # fmt: skip
        self.metrics_url = f"http://127.0.0.1:{self.said(r'metrics on port ([0-9]+)')}/metrics"
        self.url = f"{'https' if ca_file else 'http'}://127.0.0.1:{self.said(r'listening on port ([0-9]+)')}"
        trusted = ssl.create_default_context(cafile=ca_file) if ca_file else True
        for _ in range(200):
            try:
                if httpx.get(f"{self.url}/healthz", verify=trusted).status_code == 200:
                    return
            except httpx.TransportError:
                time.sleep(0.05)
        raise AssertionError("the server does not answer")

    def said(self, pattern: str) -> str:
        """Wait until it prints a line like this: its first group."""
        assert self.process.stdout is not None
        lines = iter(self.process.stdout.readline, "")
        found = next((match for text in lines if (match := re.match(pattern, text))), None)
        if found is None:
            raise AssertionError(self.process.communicate()[1])
        return found.group(found.lastindex or 0)

    def metrics(self) -> str:
        """What monitoring sees."""
        return httpx.get(self.metrics_url).text

    def headers(self, role: str) -> dict[str, str]:
        """What lets this role in."""
        return {"Authorization": f"Bearer {(self.folder / f'{role}.token').read_text()}"}

    def stop(self, how: signal.Signals = signal.SIGTERM) -> tuple[str, str]:
        """End it: what it had printed."""
        os.kill(self.process.pid, how)
        return self.process.communicate(timeout=60)


@contextmanager
def running(folder: Path, more: str = "", **how: object) -> Iterator[Server]:
    """One that is stopped when no longer needed."""
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
    """A number that is in its store."""
    with closing(sqlite3.connect(folder / "store.db", isolation_level=None)) as connection:
        return int(connection.execute(query).fetchone()[0])


def in_open_batches(url: str) -> int:
    """How many reports a store says it has that are not released."""
    with closing(open_store(url, create=False)) as store:
        return sum(batch.count for batch in store.history() if batch.state == "OPEN")


def inner_records(url: str) -> int:
    """How many inner records really are in a store."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as connection:
            return int(connection.execute("SELECT count(*) FROM sealed").fetchone()[0])
    named = "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relname ~ '^sealed_[0-9]+$'"
    with psycopg.connect(url) as other:
        counts = [other.execute(f"SELECT count(*) FROM {name}".encode()).fetchone() for (name,) in other.execute(named)]
    return sum(found[0] for found in counts if found is not None)
