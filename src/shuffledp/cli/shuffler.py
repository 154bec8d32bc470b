"""`shuffledp shuffler`: the shuffler as a service."""

import contextlib
import json
import logging
import os
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import fields
from importlib import resources
from pathlib import Path
from typing import Any

import click

from shuffledp.cli.command import Group
from shuffledp.cli.config_file import STORE, config_option
from shuffledp.cli.download_options import max_batch_option
from shuffledp.cli.numbers import RealRange, WholeRange
from shuffledp.cli.output import OneLine, json_option, print_error, print_lines, show
from shuffledp.cli.secret_files import read_secret
from shuffledp.cli.spark_options import spark_options
from shuffledp.cli.state_folder import state_folder
from shuffledp.cli.task import fingerprints, read_task
from shuffledp.cli.unsealing_option import chosen_unsealers, unsealing_option
from shuffledp.core.digits import counted
from shuffledp.core.installed import not_installed
from shuffledp.core.report_outcome import Outcome
from shuffledp.errors import InvalidInput
from shuffledp.service.sealing.keys import KeyFile, KeyList, KeyRing
from shuffledp.service.shuffler.admission import OneTimeTokens
from shuffledp.service.shuffler.batch_decision import ends_with_a_restore
from shuffledp.service.shuffler.limits import Limits
from shuffledp.service.shuffler.shuffler import Shuffler
from shuffledp.service.stores.batch import Batch
from shuffledp.service.stores.crash_points import Reached, pass_by
from shuffledp.service.stores.registry import open_store, restore_store, shown
from shuffledp.service.stores.store import Store
from shuffledp.service.stores.witness_file import Witness
from shuffledp.service.wire.address import is_loopback

_FILE = click.Path(dir_okay=False, path_type=Path)
_POSITIVE = RealRange(min=0, min_open=True)
_OWN_FILES = 150
"""Files that a shuffler opens besides its connections, and connections that are only told that there are too many."""


def _witness_option(command: Any) -> Any:
    """The option --witness FOLDER."""
    return click.option(
        "--witness", type=click.Path(file_okay=False, path_type=Path),
        help="Folder that remembers how far the store has come, so that an earlier state of it is refused; best on another disk "
        "than the store [default: stores in shuffledp's state folder].",
    )(command)  # fmt: skip


def _limit_options(command: Any) -> Any:
    """An option for each limit."""
    for limit in reversed(fields(Limits)):
        whole = isinstance(limit.default, int)
        kind = WholeRange(min=0 if limit.name == "ready_free_bytes" else 1) if whole else _POSITIVE
        command = click.option(
            f"--{limit.name.replace('_', '-')}", type=kind, default=limit.default, show_default=limit.default is not None,
            help=limit.metadata["meaning"],
        )(command)  # fmt: skip
    return command


@click.group("shuffler", cls=Group)
def shuffler_group() -> None:
    """The shuffler: takes sealed reports, releases whole permuted batches, knows no sender."""


@shuffler_group.command("serve")
@click.argument("tasks", type=_FILE, nargs=-1, required=True)
@config_option
@click.option(
    "--store",
    type=STORE,
    required=True,
    help="Database file, or URL (sqlite:///..., postgresql://...); created if missing.",
)
@_witness_option
@click.option("--keys", type=_FILE, required=True, help="The shuffler's key file; read again when it changes.")
@click.option(
    "--next-keys",
    type=_FILE,
    multiple=True,
    required=True,
    help="Published keys of whoever opens the batches: the analyzer's, or for outer shufflers the next one's. One file for all "
    "tasks, or one for each in their order; read again when it changes.",
)
@click.option("--operator-token", type=_FILE, required=True, help="File with the token that allows closing batches.")
@click.option("--analyzer-token", type=_FILE, required=True, help="File with the token that allows fetching batches.")
@click.option("--admission-key", type=_FILE, help="Only tokens issued with this key may report.")
@click.option("--hop", type=WholeRange(1), help="Which hop this is, from the analyzer out [default: the outermost].")
@click.option(
    "--forward-token", type=_FILE, help="For inner hops: file with the token of the shuffler that sends to this one."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=WholeRange(0, 65535), default=8470, show_default=True, help="0 for any free one.")
@click.option("--tls-cert", type=_FILE, help="Certificate chain (PEM).")
@click.option("--tls-key", type=_FILE, help="Its private key (PEM).")
@click.option("--insecure-http", is_flag=True, help="Allow plain HTTP off loopback, behind a TLS proxy.")
@click.option("--metrics-port", type=WholeRange(0, 65535), help="Serve metrics on this port; 0 for any free one.")
@click.option("--metrics-host", default="127.0.0.1", show_default=True, help="Address for metrics.")
@click.option("--processes", type=WholeRange(1), help="Processes that open reports [default: all cores].")
@unsealing_option
@spark_options
@click.option(
    "--access-log", is_flag=True, help="Log requests with addresses. Off by default, because it records who sent when."
)
@_limit_options
@click.pass_obj
def serve(
    reached: Reached | None, /, tasks: tuple[Path, ...], store: str, witness: Path | None, keys: Path,
    next_keys: tuple[Path, ...],
    operator_token: Path, analyzer_token: Path, forward_token: Path | None, admission_key: Path | None, hop: int | None,
    host: str, port: int, tls_cert: Path | None, tls_key: Path | None, insecure_http: bool, metrics_port: int | None,
    metrics_host: str, processes: int | None, engine: str, master: str | None, remote: str | None, access_log: bool,
    **numbers: Any,
) -> None:  # fmt: skip
    """Serve TASKS until stopped. On SIGTERM pending uploads are answered and new ones refused."""
    try:
        from shuffledp.service.shuffler.http import Service, Tokens
        from shuffledp.service.shuffler.server import Server
    except ImportError:
        raise not_installed("the service needs starlette with uvicorn and more", "service") from None
    limits = Limits(**numbers)
    if (tls_cert is None) != (tls_key is None):
        raise InvalidInput("TLS needs a certificate and its key. Give both, or neither.")
    if tls_cert is None and not insecure_http and not is_loopback(host):
        raise InvalidInput(
            f"plain HTTP on {host} would reveal who sends. Give --tls-cert and --tls-key, or --insecure-http."
        )
    tokens = Tokens(
        operator=read_secret(operator_token), analyzer=read_secret(analyzer_token),
        forward=None if forward_token is None else read_secret(forward_token),
    )  # fmt: skip
    admission = OneTimeTokens(read_secret(admission_key).encode()) if admission_key is not None else None
    key_file = KeyFile(keys, "shuffler", KeyRing.load)
    agreed = [read_task(path) for path in tasks]
    ring = key_file.current()
    if len(next_keys) not in (1, len(agreed)):
        raise InvalidInput("give one --next-keys for all tasks, or one for each in their order.")
    chosen = chosen_unsealers(engine, master, remote, processes=processes or os.cpu_count() or 1, limits=limits)
    unsealers = click.get_current_context().with_resource(chosen)
    passing = reached or pass_by  # tests stop a real shuffler at named points
    kept = open_store(store, reached=passing)
    watching = _witness(witness)
    if kept.instance().generation and not watching.knows(kept.instance()):
        print_error(
            "note: the witness does not know this store yet, so it cannot tell whether the store was set back to an "
            "earlier state."
        )
    shuffler = Shuffler(
        store=kept, ring=ring, clock=time.time, unsealer=unsealers, admission=admission, witness=watching, reached=passing
    )  # fmt: skip
    files: dict[str, Callable[[], KeyList]] = {}
    lists: list[KeyList] = []
    for task, path in zip(agreed, next_keys * (len(agreed) if len(next_keys) == 1 else 1), strict=True):
        files[task.id] = KeyFile(path, KeyList.load(path).role, KeyList.load).current
        lists.append(files[task.id]())
        shuffler.serve(task, lists[-1], hop=hop)
    service = Service(shuffler, tokens, limits, key_file.current, files)
    server = Server(
        service, limits, connections=_enough_files(limits.max_connections), access_log=access_log,
        tls=None if tls_cert is None or tls_key is None else (tls_cert, tls_key),
    )  # fmt: skip
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine("%(asctime)s %(levelname)s %(message)s"))
    logging.getLogger("shuffledp.shuffler").addHandler(handler)
    logging.getLogger("shuffledp.shuffler").setLevel(logging.INFO)
    metrics = None if metrics_port is None else _listening(metrics_host, metrics_port)
    public = _listening(host, port)
    for task, listed in zip(agreed, lists, strict=True):
        print_lines(f"serving task {task.id}")
        print_lines(fingerprints(listed))
    if metrics is not None:
        print_lines(f"metrics on port {metrics.getsockname()[1]}")
    print_lines(f"listening on port {public.getsockname()[1]}")
    server.listen(public, metrics)


@shuffler_group.command("sample-config")
def sample_config() -> None:
    """Print a commented configuration file for `serve --config`."""
    print_lines((resources.files("shuffledp.cli") / "shuffler.toml").read_text(encoding="utf-8").rstrip("\n"))


@shuffler_group.command("openapi")
def openapi() -> None:
    """Print the OpenAPI 3.1 document of the shuffler's endpoints, as JSON."""
    from shuffledp.service.shuffler.openapi import document

    print_lines(json.dumps(document(), indent=2))


@shuffler_group.command("close")
@click.argument("task", type=_FILE)
@click.option("--url", required=True, help="Address of the shuffler.")
@click.option("--token", type=_FILE, required=True, help="File with the operator's token.")
@json_option
def close(task: Path, url: str, token: Path, as_json: bool) -> None:
    """Release the open batch of TASK now, if it has enough reports."""
    from shuffledp.service.analyzer.batch_fetcher import BatchFetcher

    done = BatchFetcher(url=url, token=read_secret(token)).close(read_task(task))
    words = f"released batch {done.batch} with {counted(done.reports, 'report')}, SHA-256 {done.sha256}"
    show(done.document(), words, as_json=as_json)


@shuffler_group.command("forward")
@click.argument("task", type=_FILE)
@click.option("--from", "source", required=True, help="Address of the shuffler that released the batch.")
@click.option("--token", type=_FILE, required=True, help="File with the token that allows fetching there.")
@click.option("--to", "target", required=True, help="Address of the next shuffler.")
@click.option("--to-token", type=_FILE, required=True, help="File with the token that allows sending there.")
@click.option("--batch", type=WholeRange(1), help="Which batch [default: the latest released one].")
@max_batch_option
@json_option
def forward(
    task: Path, source: str, token: Path, target: str, to_token: Path, batch: int | None, max_batch_bytes: int, as_json: bool
) -> None:  # fmt: skip
    """Send a released batch of TASK to the next hop. Doing it again changes nothing."""
    from shuffledp.service.analyzer.batch_fetcher import BatchFetcher
    from shuffledp.service.client.sender import Sender

    loaded = read_task(task)
    sender, outcomes = Sender(url=target, token=read_secret(to_token)), Counter[Outcome]()
    fetcher = BatchFetcher(url=source, token=read_secret(token), max_batch_bytes=max_batch_bytes)
    for records in fetcher.records(loaded, batch):
        outcomes.update(sender.send(loaded, records))
    refused = Counter({outcome: often for outcome, often in outcomes.items() if not outcome.arrived})
    reports, arrived = outcomes.total(), outcomes.total() - refused.total()
    words = f"{arrived:,} of {counted(reports, 'report')} are at the next shuffler"
    show({"reports": reports, "arrived": arrived, "refused": refused}, words, as_json=as_json)
    if refused:
        print_lines(f"the others were refused: {', '.join(sorted(refused))}", err=True)
        sys.exit(1)


@shuffler_group.command("status")
@click.argument("store", type=STORE)
@json_option
def status(store: str, as_json: bool) -> None:
    """The batches in STORE."""
    with _existing(store, read_only=True) as kept:
        batches = kept.history()
    lines = [
        f"task {batch.task[:12]} batch {batch.id}: {batch.state}, {counted(batch.count, 'report')}" for batch in batches
    ]
    show({"batches": [_shown(batch) for batch in batches]}, "\n".join(lines) or "no batches", as_json=as_json)


@shuffler_group.command("backup")
@click.argument("store", type=STORE)
@click.argument("copy", type=_FILE)
@json_option
def backup(store: str, copy: Path, as_json: bool) -> None:
    """Copy STORE to the file COPY, consistently, while the shuffler runs. A store of any kind can be made from it."""
    with _existing(store, read_only=True) as kept:
        kept.backup(copy)
    show({"copy": str(copy)}, f"copied to {copy}", as_json=as_json)


@shuffler_group.command("restore")
@click.argument("copy", type=_FILE)
@click.argument("store", type=STORE)
@click.option(
    "--nothing-released-since",
    is_flag=True,
    help="No batch was released after the copy was made, and the store that was copied will not be served again.",
)
@_witness_option
@json_option
def restore(copy: Path, store: str, nothing_released_since: bool, witness: Path | None, as_json: bool) -> None:
    """Make STORE from COPY, which is a backup or the file of another store.

    Batches that were open then are destroyed, because they may have been released since, and releasing them again with other
    reports would reveal the difference. Their reports are not accepted again. Tasks whose batches get noise here are retired,
    because which dummies were added since is not known any more: make new ones.
    """
    restore_store(
        copy,
        store,
        nothing_released_since=nothing_released_since,
        ends=ends_with_a_restore,
        witness=_witness(witness),
    )
    show({"store": shown(store)}, f"restored {shown(store)}", as_json=as_json)


@shuffler_group.command("purge")
@click.argument("store", type=STORE)
@click.option(
    "--batch", "numbers", type=WholeRange(1), multiple=True, required=True, help="Which batch; may be repeated."
)
@json_option
def purge(store: str, numbers: tuple[int, ...], as_json: bool) -> None:
    """Erase the bytes of released batches from STORE, once the analyzer has them. The ids of its reports stay known."""
    with _existing(store) as kept:
        for number in numbers:  # all of them, or none
            if (batch := kept.batch(number)) is None or batch.state != "RELEASED":
                raise InvalidInput(f"batch {number} is not a released batch. Only the bytes of those can be purged.")
        done = [kept.purge(number) for number in numbers]
    lines = [f"purged batch {batch.id}, {counted(batch.count, 'report')}, SHA-256 {batch.digest}" for batch in done]
    show({"batches": [_shown(batch) for batch in done]}, "\n".join(lines), as_json=as_json)


@shuffler_group.command("retire")
@click.argument("store", type=STORE)
@click.argument("task", type=_FILE)
@click.option("--destroy-open", is_flag=True, help="Destroy the reports of its open batch, if there are any.")
@json_option
def retire(store: str, task: Path, destroy_open: bool, as_json: bool) -> None:
    """End TASK in STORE for good: a running shuffler takes no more reports for it. Released batches can still be fetched."""
    loaded = read_task(task)
    with _existing(store) as kept:
        destroyed = kept.retire(loaded.id, at_most=1 << 62 if destroy_open else 0)
    if destroyed is None:
        raise InvalidInput(
            "the task has open reports that would be destroyed. Close its batch first, or give --destroy-open."
        )
    words = f"retired task {loaded.id}; {counted(destroyed, 'report')} {'was' if destroyed == 1 else 'were'} destroyed"
    show({"task": loaded.id, "destroyed": destroyed}, words, as_json=as_json)


def _shown(batch: Batch) -> dict[str, Any]:
    return {
        "task": batch.task, "batch": batch.id, "state": batch.state, "reports": batch.count, "sha256": batch.digest,
        "purged": batch.purged,
    }  # fmt: skip


def _witness(folder: Path | None) -> Witness:
    return Witness(folder or state_folder() / "stores")


@contextlib.contextmanager
def _existing(url: str, *, read_only: bool = False) -> Iterator[Store]:
    with contextlib.closing(open_store(url, read_only=read_only, create=False)) as store:
        yield store


def _listening(host: str, port: int) -> socket.socket:
    """A socket that accepts connections from now on: clients wait until the server is ready."""
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
        raise InvalidInput(
            f"cannot listen on {host} port {port}: {error.strerror}. Choose another address or port."
        ) from None
    return listener


def _enough_files(connections: int) -> int:
    """How many connections the limit of open files leaves room for, raised as far as the system allows."""
    try:
        import resource
    except ImportError:  # Windows, which has no such limit
        return connections
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + _OWN_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return connections if soft == resource.RLIM_INFINITY else max(1, min(connections, soft - _OWN_FILES))
