"""A process that asks a hostile shuffler everything that a client, an operator and an analyzer ask, and how large it became."""

import json
import resource
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from oracles.hostile import BEHAVIOURS, ENDLESS
from shuffledp.cli.task import read_task
from shuffledp.errors import ShuffledpError
from shuffledp.service.analyzer.batch_fetcher import AnnouncedBatch, BatchFetcher
from shuffledp.service.client.sender import Sender

_SOON, _LATE = 0.2, 3600.0
"""Deadlines: of answers that never end by themselves, and of those that their size must end."""


def _main() -> None:
    url, task = sys.argv[1], read_task(Path(sys.argv[2]))
    said: dict[str, dict[str, str]] = {}
    announced = AnnouncedBatch(batch=1, task=task.id, reports=100_000, sha256="0" * 64)
    for behaviour in BEHAVIOURS:
        patience = _SOON if behaviour in ENDLESS else _LATE
        at = f"{url}/{behaviour}"
        sender = Sender(url=at, attempts=2, pause=0.0, patience=patience)
        fetcher = BatchFetcher(url=at, token="t" * 16, patience=patience, release_patience=patience)
        exchanges: dict[str, Callable[[], object]] = {
            "describe": partial(sender.described, task),
            "send": partial(sender.send, task, [bytes(task.report_bytes)] * 3),
            "list": partial(fetcher.announced, task),
            "close": partial(fetcher.close, task),
            "fetch": partial(fetcher.download, task, announced),
        }
        said[behaviour] = {}
        for name, exchange in exchanges.items():
            try:
                exchange()
            except ShuffledpError as error:
                said[behaviour][name] = f"{type(error).__name__}: {error}"
    print(json.dumps({"said": said, "peak": _peak()}))  # noqa: T201


def _peak() -> int:
    """The most bytes of memory that this process had since its program began: Linux counts what was before in ru_maxrss."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM:")).split()[1])


if __name__ == "__main__":
    _main()
