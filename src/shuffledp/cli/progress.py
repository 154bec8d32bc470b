"""Signs of life on stderr, shown on a terminal only: a bar where it is known how much there is to do, else the seconds."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any, Final

import click

from shuffledp.core.visible import visible

_PATIENCE: Final = 1.0
"""Seconds in which nothing need be said, and between two signs."""


def progress(length: int, label: str) -> Any:
    """A bar to `update`."""
    return click.progressbar(length=length, label=label, file=sys.stderr, hidden=not sys.stderr.isatty())


@contextmanager
def working(label: str, patience: float = _PATIENCE) -> Iterator[Callable[[str], None]]:
    """While something takes longer than a second: what it is, and since when. What is yielded takes a few words more."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    label = visible(label)
    done, said, start = Event(), [""], time.monotonic()

    def tell() -> None:
        while not done.wait(patience):
            sys.stderr.write(f"\r{label}{said[0]}: {time.monotonic() - start:.0f} s\033[K")
            sys.stderr.flush()

    teller = Thread(target=tell, daemon=True)
    teller.start()

    def say(words: str) -> None:
        said[0] = f", {words}"

    try:
        yield say
    finally:
        done.set()
        teller.join()
        sys.stderr.write("\r\033[K")
        sys.stderr.flush()
