"""Answers computed in processes of their own: one that nobody waits for any more ends at once, whatever it is doing.

Processes are forked from one that has imported everything, which takes milliseconds. They share no state, so that the precision
of the arithmetic, which is global, is that of one answer.
"""

import asyncio
import contextlib
import json
import multiprocessing
import os
import signal
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Final

from starlette.concurrency import run_in_threadpool

from shuffledp.errors import ShuffledpError
from shuffledp.web.form import FieldError, Tab

_PRELOADED: Final = ["__main__", "shuffledp.web.tabs", "dp_accounting.pld.privacy_loss_distribution", "opendp.prelude"]
_AT_ONCE: Final = 2
_LOOK: Final = 0.1
"""Seconds between two looks at whether somebody still listens."""


def steps(tab: Tab, given: Mapping[str, str]) -> Iterator[bytes]:
    """The blocks of an answer as lines of JSON, and its end, which says what is wrong if something is."""
    end: dict[str, Any] = {"kind": "end"}
    try:
        for block in tab.asked(given):
            yield _line(block)
    except FieldError as wrong:
        end |= {"field": wrong.name, "message": wrong.message}
    except ShuffledpError as refused:
        end |= {"field": "", "message": str(refused)}
    except Exception as error:  # its message could show more than it should
        what = type(error).__name__
        end |= {"field": "", "message": f"something unexpected went wrong ({what}). Please report it."}
    yield _line(end)


def _line(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, allow_nan=False, separators=(",", ":")).encode() + b"\n"


class Workers:
    """Starts a process for each answer, a few at a time."""

    def __init__(self, tabs: Mapping[str, Tab]) -> None:
        self._tabs = tabs
        self._context = multiprocessing.get_context("forkserver")
        self._places = asyncio.Semaphore(_AT_ONCE)

    @staticmethod
    def warm() -> None:
        """Let the process that is forked from import everything meanwhile."""
        from multiprocessing import forkserver

        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # what is forked must have one thread
        multiprocessing.get_context("forkserver").set_forkserver_preload(_PRELOADED)
        forkserver.ensure_running()

    async def lines(self, tab: str, given: dict[str, str], gone: Callable[[], Any]) -> AsyncGenerator[bytes]:
        """The lines of an answer; it ends early if whoever asked is `gone`, and so does the process."""
        async with self._places:
            if await gone():
                return
            here, there = self._context.Pipe(duplex=False)
            process = self._context.Process(target=_work, args=(self._tabs[tab], given, there), daemon=True)
            try:
                await run_in_threadpool(process.start)
                there.close()
                async with contextlib.aclosing(_received(here, gone)) as lines:
                    async for line in lines:
                        yield line
            finally:
                here.close()
                _end(process)


async def _received(here: Connection, gone: Callable[[], Any]) -> AsyncGenerator[bytes]:
    def following() -> bytes:
        """The next line, or nothing if it takes a while."""
        return here.recv_bytes() if here.poll(_LOOK) else b""

    while not await gone():
        try:
            line = await run_in_threadpool(following)
        except EOFError:
            return
        if line:
            yield line


def _end(process: BaseProcess) -> None:
    if process.pid is not None:
        process.kill()
        process.join()


def _work(tab: Tab, given: dict[str, str], there: Connection) -> None:
    """In the process: compute and send."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started it ends it
    with contextlib.suppress(OSError):
        for line in steps(tab, given):
            there.send_bytes(line)
