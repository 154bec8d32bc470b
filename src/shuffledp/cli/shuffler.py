"""`shuffledp shuffler`: the shuffler as a service."""

import contextlib
import ipaddress
import json
import logging
import os
import resource
import socket
import sys
import time
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path

import click

from shuffledp.cli.config import config_option
from shuffledp.cli.secrets import read_secret
from shuffledp.cli.task import fingerprints, read_task
from shuffledp.errors import InvalidInput
from shuffledp.esa.admission import OneTimeTokens
from shuffledp.esa.disk import sync_folder
from shuffledp.esa.keys import KeyFile, KeyList, KeyRing
from shuffledp.esa.opening import Openers
from shuffledp.esa.shuffler import Shuffler
from shuffledp.esa.sqlite import SQLiteStore

_FILE = click.Path(dir_okay=False, path_type=Path)
_CONNECTIONS = 4000
_RATE = click.FloatRange(min=0, min_open=True)


@click.group("shuffler")
def shuffler_group() -> None:
    """The shuffler: takes sealed reports, releases whole permuted batches, knows no sender."""


@shuffler_group.command("serve")
@click.argument("tasks", type=_FILE, nargs=-1, required=True)
@config_option
@click.option("--store", type=_FILE, required=True, help="Database file; made if missing.")
@click.option("--keys", type=_FILE, required=True, help="The shuffler's key file; read again when it changes.")
@click.option(
    "--next-keys",
    type=_FILE,
    multiple=True,
    required=True,
    help="Published keys of whoever opens the batches: the analyzer's, or for outer shufflers the next one's. One file for all "
    "tasks, or one for each in their order; read again when it changes.",
)
@click.option("--operator-token", type=_FILE, required=True, help="File with the token that may close batches.")
@click.option("--analyzer-token", type=_FILE, required=True, help="File with the token that may fetch batches.")
@click.option("--admission-key", type=_FILE, help="Only tokens issued with this key may report.")
@click.option(
    "--hop", type=click.IntRange(1), help="Which hop this is, from the analyzer out [default: the outermost]."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8470, show_default=True, help="0 for any free one.")
@click.option("--tls-cert", type=_FILE, help="Certificate chain (PEM).")
@click.option("--tls-key", type=_FILE, help="Its private key (PEM).")
@click.option("--insecure-http", is_flag=True, help="Allow plain HTTP off loopback, behind a TLS proxy.")
@click.option("--rate", type=_RATE, help="Reports a second from everybody together; above that, 429.")
@click.option("--rate-per-address", type=_RATE, help="Reports a second from one address; above that, 429.")
@click.option("--processes", type=click.IntRange(1), help="Processes that open reports [default: all cores].")
@click.option("--access-log", is_flag=True, help="Log requests with addresses. Off, because it is who sent when.")
def serve(
    tasks: tuple[Path, ...], store: Path, keys: Path, next_keys: tuple[Path, ...], operator_token: Path,
    analyzer_token: Path, admission_key: Path | None, hop: int | None, host: str,
    port: int, tls_cert: Path | None, tls_key: Path | None, insecure_http: bool,
    rate: float | None, rate_per_address: float | None, processes: int | None, access_log: bool,
) -> None:  # fmt: skip
    """Serve TASKS until stopped. SIGTERM answers what waits and takes nothing new."""
    try:
        import uvicorn

        from shuffledp.esa.connection import Connection
        from shuffledp.esa.http import LOG, Limits, Service, Tokens
    except ImportError:
        raise InvalidInput(
            "the service needs starlette and uvicorn, which are not installed. Install shuffledp[service]."
        ) from None
    if (tls_cert is None) != (tls_key is None):
        raise InvalidInput("TLS needs a certificate and its key. Give both, or neither.")
    if tls_cert is None and not insecure_http and not _is_loopback(host):
        raise InvalidInput(
            f"plain HTTP on {host} would show who sends. Give --tls-cert and --tls-key, or --insecure-http."
        )
    secrets = Tokens(operator=read_secret(operator_token), analyzer=read_secret(analyzer_token))
    if secrets.operator == secrets.analyzer:
        raise InvalidInput("operator and analyzer have the same token. Give each its own.")
    admission = OneTimeTokens(read_secret(admission_key).encode()) if admission_key is not None else None
    key_file = KeyFile(keys, "shuffler", KeyRing.load)
    agreed = [read_task(path) for path in tasks]
    ring = key_file.current()
    openers = Openers(processes or os.cpu_count() or 1)
    kept = SQLiteStore(store)
    shuffler = Shuffler(store=kept, ring=ring, clock=time.time, opener=openers, admission=admission)
    if len(next_keys) not in (1, len(agreed)):
        raise InvalidInput("give one --next-keys for all tasks, or one for each in their order.")
    lists: dict[str, Callable[[], KeyList]] = {}
    for task, path in zip(agreed, next_keys * (len(agreed) if len(next_keys) == 1 else 1), strict=True):
        listed = KeyList.load(path)
        shuffler.serve(task, listed, hop=hop)
        lists[task.id] = KeyFile(path, listed.role, KeyList.load).current
        click.echo(f"serving task {task.id}")
        click.echo(fingerprints(listed))
    service = Service(shuffler, secrets, Limits(rate=rate, rate_per_address=rate_per_address), key_file.current, lists)
    config = uvicorn.Config(
        service.app(), host=host, port=port, access_log=access_log, log_level="warning", server_header=False,
        proxy_headers=False, ssl_certfile=tls_cert, ssl_keyfile=tls_key, timeout_graceful_shutdown=30, http=Connection,
        limit_concurrency=_enough_files(),
    )  # fmt: skip
    try:
        config.load()
    except OSError:
        raise InvalidInput("cannot use the TLS certificate and key. Give a matching pair of PEM files.") from None
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    LOG.addHandler(handler)
    LOG.setLevel(logging.INFO)
    listener = _listening(host, port)
    click.echo(f"listening on port {listener.getsockname()[1]}")
    uvicorn.Server(config).run(sockets=[listener])


@shuffler_group.command("sample-config")
def sample_config() -> None:
    """Print a commented configuration file for `serve --config`."""
    click.echo((resources.files("shuffledp.cli") / "shuffler.toml").read_text(encoding="utf-8"), nl=False)


@shuffler_group.command("close")
@click.argument("task", type=_FILE)
@click.option("--url", required=True, help="Address of the shuffler.")
@click.option("--token", type=_FILE, required=True, help="File with the operator's token.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def close(task: Path, url: str, token: Path, as_json: bool) -> None:
    """Release the open batch of TASK now, if it has enough reports."""
    from shuffledp.esa.collector import Collector

    done = Collector(url=url.rstrip("/"), token=read_secret(token)).close(read_task(task))
    words = f"released batch {done['batch']} with {done['reports']:,} reports, SHA-256 {done['sha256']}"
    click.echo(json.dumps(done) if as_json else words)


@shuffler_group.command("forward")
@click.argument("task", type=_FILE)
@click.option("--from", "source", required=True, help="Address of the shuffler that released the batch.")
@click.option("--token", type=_FILE, required=True, help="File with the token that may fetch there.")
@click.option("--to", "target", required=True, help="Address of the next shuffler.")
@click.option("--batch", type=click.IntRange(1), help="Which batch [default: the latest released one].")
def forward(task: Path, source: str, token: Path, target: str, batch: int | None) -> None:
    """Take a released batch of TASK to the next hop. Doing it again changes nothing."""
    from shuffledp.esa.collector import Collector
    from shuffledp.esa.sender import ARRIVED, Sender

    found = read_task(task)
    records = Collector(url=source.rstrip("/"), token=read_secret(token)).records(found, batch)
    outcomes = Sender(url=target.rstrip("/")).send(found, records)
    arrived = sum(outcome in ARRIVED for outcome in outcomes)
    click.echo(f"{arrived:,} of {len(outcomes):,} reports are at the next shuffler")
    if arrived < len(outcomes):
        click.echo(f"the others were refused: {', '.join(sorted(set(outcomes) - set(ARRIVED)))}", err=True)
        sys.exit(1)


@shuffler_group.command("status")
@click.argument("store", type=_FILE)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def status(store: Path, as_json: bool) -> None:
    """The batches in STORE."""
    with _existing(store, "serve", read_only=True) as kept:
        found = kept.history()
    if as_json:
        rows = [
            {"task": b.task, "batch": b.id, "state": b.state, "reports": b.count, "sha256": b.digest} for b in found
        ]
        click.echo(json.dumps({"batches": rows}, indent=2))
        return
    for batch in found:
        click.echo(f"task {batch.task[:12]} batch {batch.id}: {batch.state}, {batch.count:,} reports")


@shuffler_group.command("backup")
@click.argument("store", type=_FILE)
@click.argument("copy", type=_FILE)
def backup(store: Path, copy: Path) -> None:
    """Copy STORE to COPY, consistently, while the shuffler runs."""
    with _existing(store, "serve") as kept:
        kept.backup(copy)
    click.echo(f"copied to {copy}")


@shuffler_group.command("restore")
@click.argument("copy", type=_FILE)
@click.argument("store", type=_FILE)
@click.option("--nothing-released-since", is_flag=True, help="No batch was released after the copy was made.")
def restore(copy: Path, store: Path, nothing_released_since: bool) -> None:
    """Make STORE from COPY.

    Batches that were open then are destroyed: they may have been released since, and releasing them again with other
    reports would tell their difference. Their reports are not taken a second time.
    """
    if store.exists():
        raise InvalidInput(f"{store} exists. Choose another file.")
    draft = store.with_name(f".{store.name}.restoring")  # a store with batches that may be out must never be there
    draft.unlink(missing_ok=True)
    with _existing(copy, "backup") as kept:
        kept.backup(draft)
    with _existing(draft, "restore") as restored:
        for task_id in [] if nothing_released_since else restored.tasks():
            restored.end(restored.open_batch(task_id).id, below=1 << 62, roll_over=False, now=time.time())
    draft.rename(store)
    sync_folder(store)
    click.echo(f"restored {store}")


@shuffler_group.command("purge")
@click.argument("store", type=_FILE)
@click.option(
    "--batch", "numbers", type=click.IntRange(1), multiple=True, required=True, help="Which batch; may be repeated."
)
def purge(store: Path, numbers: tuple[int, ...]) -> None:
    """Erase the bytes of released batches from STORE, once the analyzer has them. What was reported stays known."""
    with _existing(store, "serve") as kept:
        for number in numbers:
            done = kept.purge(number)
            click.echo(f"purged batch {done.id}, {done.count:,} reports, SHA-256 {done.digest}")


@shuffler_group.command("retire")
@click.argument("store", type=_FILE)
@click.argument("task", type=_FILE)
@click.option("--destroy-open", is_flag=True, help="Destroy the reports of its open batch, if there are any.")
def retire(store: Path, task: Path, destroy_open: bool) -> None:
    """End TASK in STORE for ever: a running shuffler takes no more reports for it. Released batches can still be fetched."""
    found = read_task(task)
    with _existing(store, "serve") as kept:
        waiting = kept.open_batch(found.id).count
        if waiting and not destroy_open:
            raise InvalidInput(
                f"the open batch has {waiting:,} reports that would be destroyed. Close it first, or give --destroy-open."
            )
        done = kept.retire(found.id)
    click.echo(f"retired task {found.id}; {done.count:,} reports were destroyed")


@contextlib.contextmanager
def _existing(path: Path, maker: str, *, read_only: bool = False) -> Iterator[SQLiteStore]:
    if not path.is_file() or not path.stat().st_size:
        raise InvalidInput(f"there is no store {path}. shuffledp shuffler {maker} makes one.")
    with contextlib.closing(SQLiteStore(path, read_only=read_only)) as store:
        yield store


def _listening(host: str, port: int) -> socket.socket:
    """A socket that takes connections from now on: clients wait until we are ready."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            # inherited by connections: without it every answer waits 40 ms for an acknowledgement
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            listener.bind(address)
            listener.listen(2048)
        except BaseException:
            listener.close()
            raise
    except OSError as error:
        raise InvalidInput(f"cannot listen on {host} port {port}: {error.strerror}. Choose others.") from None
    return listener


def _enough_files() -> int:
    """Connections that fit beside our own files, as many as the system allows up to a few thousand."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _CONNECTIONS + 100
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return _CONNECTIONS if soft == resource.RLIM_INFINITY else max(1, min(_CONNECTIONS, soft - 100))


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
