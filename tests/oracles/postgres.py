"""A real PostgreSQL server for tests: its own folder, a socket in it, no port; and a schema of its own for each store."""

import hashlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

import psycopg

SMALL = {"max_connections": "60", "shared_buffers": "64MB", "log_min_messages": "fatal", "max_wal_size": "256MB"}
"""For tests, which refuse and interrupt much that would fill the log."""


def programs() -> Path:
    """Where the newest server's programs are."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    other = shutil.which("postgres")
    if not found and other is None:
        raise AssertionError("the tests need a PostgreSQL server. Install the package postgresql.")
    return found[-1].parent if found else Path(str(other)).resolve().parent


def _user() -> str | None:
    """Whom it runs as: PostgreSQL refuses root."""
    if os.geteuid():
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in known else "nobody"


class PostgresServer:
    """A server with a socket in a folder that only its user can enter; stopped by process id."""

    def __init__(self, *, in_memory: bool = True, settings: Mapping[str, str] = SMALL) -> None:
        self._settings = settings
        shared = Path("/dev/shm")
        memory = in_memory and os.access(shared, os.W_OK) and shutil.disk_usage(shared).free > 1 << 30
        self.folder = Path(tempfile.mkdtemp(prefix="pg-", dir=shared if memory else None))
        self._user = _user()
        if self._user is not None:
            shutil.chown(self.folder, self._user)
        self.data = self.folder / "data"
        options = "--auth=trust --username=postgres --encoding=UTF8 --locale=C --no-instructions --no-sync"
        made = subprocess.run(
            [str(programs() / "initdb"), *options.split(), "-D", str(self.data)],
            capture_output=True, text=True, check=False, cwd=self.folder, user=self._user, env={"LC_ALL": "C"},
        )  # fmt: skip
        assert made.returncode == 0, made.stderr
        self.start()

    def start(self) -> None:
        """Until it answers."""
        settings = {"listen_addresses": "", "unix_socket_directories": self.folder, **self._settings}
        words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [str(programs() / "postgres"), "-D", str(self.data), *words],
                stdout=log, stderr=log, cwd=self.folder, user=self._user, env={"LC_ALL": "C"},
            )  # fmt: skip
        for _ in range(600):
            assert self.process.poll() is None, (self.folder / "log").read_text()
            try:
                psycopg.connect(self.url()).close()
            except psycopg.OperationalError:
                time.sleep(0.05)
            else:
                return
        raise AssertionError("the PostgreSQL server does not answer")

    def url(self, schema: str | None = None, *, user: str = "postgres", more: str = "") -> str:
        """A schema of its one database."""
        options = f"?options={quote(f'-c search_path={schema}')}" if schema else "?"
        return f"postgresql://{user}@{quote(str(self.folder), safe='')}/postgres{options}{more}"

    def run(self, *statements: str) -> list[tuple[object, ...]]:
        """The rows of the last of these, as the administrator."""
        rows: list[tuple[object, ...]] = []
        with psycopg.connect(self.url(), autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement.encode())
                rows = cursor.fetchall() if cursor.description else []
        return rows

    def place(self, name: object) -> str:
        """The URL of a store by name: the same name is the same store."""
        schema = f"s{hashlib.sha256(str(name).encode()).hexdigest()[:16]}"
        self.run(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        return self.url(schema)

    def files(self) -> list[Path]:
        """All that it has on disk: tables, log of transactions, messages."""
        return [path for path in self.folder.rglob("*") if path.is_file()]

    def kill(self) -> None:
        """As when the power goes: each of its processes, at once."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        for number in (self.process.pid, *map(int, children)):
            os.kill(number, signal.SIGKILL)
        self.process.wait(60)

    def stop(self) -> None:
        """Let go of everything."""
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGINT)
            self.process.wait(60)
        shutil.rmtree(self.folder, ignore_errors=True)
