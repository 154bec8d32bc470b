"""`shuffledp shuffler`: the shuffler as a service."""

import ipaddress
import socket
import stat
import time
from pathlib import Path

import click

from shuffledp.cli.numbers import Wholes
from shuffledp.cli.task import read_task
from shuffledp.errors import InvalidInput
from shuffledp.esa.keys import KeyRing
from shuffledp.esa.shuffler import Shuffler
from shuffledp.esa.store import SQLiteStore

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.group("shuffler")
def shuffler_group() -> None:
    """The shuffler: takes sealed reports, releases whole permuted batches, knows no sender."""


@shuffler_group.command("serve")
@click.argument("tasks", type=_FILE, nargs=-1, required=True)
@click.option("--store", type=_FILE, required=True, help="Database file; made if missing.")
@click.option("--keys", type=_FILE, required=True, help="The shuffler's key file, from shuffledp keygen.")
@click.option("--operator-token", type=_FILE, required=True, help="File with the token that may close batches.")
@click.option("--analyzer-token", type=_FILE, required=True, help="File with the token that may fetch batches.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=Wholes(), default="8470", show_default=True, help="Port to listen on; 0 for any free one.")
@click.option("--tls-cert", type=_FILE, help="Certificate chain (PEM).")
@click.option("--tls-key", type=_FILE, help="Its private key (PEM).")
@click.option(
    "--insecure-http", is_flag=True, help="Allow plain HTTP on other addresses than loopback, behind a TLS proxy."
)
@click.option(
    "--access-log", is_flag=True, help="Log requests, addresses included. Off, because it is who sent what when."
)
def serve(
    tasks: tuple[Path, ...], store: Path, keys: Path, operator_token: Path, analyzer_token: Path, host: str,
    port: tuple[int, ...], tls_cert: Path | None, tls_key: Path | None, insecure_http: bool, access_log: bool,
) -> None:  # fmt: skip
    """Serve TASKS until stopped. SIGTERM answers what waits and takes nothing new."""
    try:
        import uvicorn

        from shuffledp.esa.http import Service, Tokens
    except ImportError:
        raise InvalidInput(
            "the service needs starlette and uvicorn, which are not installed. Install shuffledp[service]."
        ) from None
    if len(port) != 1 or not 0 <= port[0] <= 65535:
        raise InvalidInput("a port is one number from 0 to 65535. Give e.g. 8470.")
    if (tls_cert is None) != (tls_key is None):
        raise InvalidInput("TLS needs a certificate and its key. Give both, or neither.")
    if tls_cert is None and not insecure_http and not _is_loopback(host):
        raise InvalidInput(
            f"plain HTTP on {host} would show who sends. Give --tls-cert and --tls-key, or --insecure-http."
        )
    secrets = Tokens(operator=read_token(operator_token), analyzer=read_token(analyzer_token))
    if secrets.operator == secrets.analyzer:
        raise InvalidInput("operator and analyzer have the same token. Give each its own.")
    shuffler = Shuffler(store=SQLiteStore(store), ring=KeyRing.load(keys), clock=time.time)
    for path in tasks:
        task = read_task(path)
        shuffler.serve(task)
        click.echo(f"serving task {task.id}")
    config = uvicorn.Config(
        Service(shuffler, secrets).app(), host=host, port=port[0], access_log=access_log, log_level="warning",
        server_header=False, ssl_certfile=tls_cert, ssl_keyfile=tls_key, timeout_graceful_shutdown=30,
    )  # fmt: skip
    server = uvicorn.Server(config)
    listener = config.bind_socket()
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else answers wait 40 ms for an acknowledgement
    listener.listen(2048)  # from now on clients may come: they wait until we are ready
    click.echo(f"listening on port {listener.getsockname()[1]}")
    server.run(sockets=[listener])


@shuffler_group.command("close")
@click.argument("task", type=_FILE)
@click.option("--url", required=True, help="Address of the shuffler.")
@click.option("--token", type=_FILE, required=True, help="File with the operator's token.")
def close(task: Path, url: str, token: Path) -> None:
    """Release the open batch of TASK now, if it has enough reports."""
    from shuffledp.esa.collector import Collector

    done = Collector(url=url.rstrip("/"), token=read_token(token)).close(read_task(task))
    click.echo(f"released batch {done['batch']} with {done['reports']:,} reports, SHA-256 {done['sha256']}")


@shuffler_group.command("status")
@click.argument("store", type=_FILE)
def status(store: Path) -> None:
    """The batches in STORE."""
    if not store.is_file():
        raise InvalidInput(f"there is no store {store}. shuffledp shuffler serve makes one.")
    kept = SQLiteStore(store)
    for task_id in kept.tasks():
        for batch in kept.batches(task_id):
            click.echo(f"task {task_id[:12]} batch {batch.id}: {batch.state}, {batch.count:,} reports")
    kept.close()


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_token(path: Path) -> str:
    """A token from a file that only its owner can read."""
    try:
        mode, text = path.stat().st_mode, path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        raise InvalidInput(f"cannot read the token {path}. Write 16 or more characters to it.") from None
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise InvalidInput(f"others can read the token {path}. Set its permissions to 600.")
    if len(text) < 16:
        raise InvalidInput(f"the token in {path} is too short. Use 16 or more random characters.")
    return text
