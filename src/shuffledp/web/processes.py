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
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any, Final

from starlette.concurrency import run_in_threadpool

from shuffledp.errors import ShuffledpError
from shuffledp.web.form import FieldError, Tab

_PRELOADED: Final = ["__main__", "shuffledp.web.tabs", "dp_accounting.pld.privacy_loss_distribution"]
_AT_ONCE: Final = 2
_IN_ADVANCE: Final = 2
"""While one is started, somebody who moves a slider takes the other."""
_STARTING: Final = ThreadPoolExecutor(1, thread_name_prefix="shuffledp-web")
_LOOK: Final = 0.1
"""Seconds between two looks at whether somebody still listens."""


def steps(tab: Tab, given: Mapping[str, str]) -> Iterator[bytes]:
    """The blocks of an answer as lines of JSON, and its end, which says what is wrong if something is."""
    end: dict[str, Any] = {"kind": "end"}
    try:
        for block in tab.asked(given):
            yield _line(block)
    except FieldError as wrong:
        end |= {"field": wrong.name, "message": wrong.message.replace("`", "")}
    except ShuffledpError as refused:
        end |= {"field": "", "message": str(refused).replace("`", "")}
    except Exception as error:  # its message could show more than it should
        what = type(error).__name__
        end |= {"field": "", "message": f"something unexpected went wrong ({what}). Please report it."}
    yield _line(end)


def _line(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, allow_nan=False, separators=(",", ":")).encode() + b"\n"


class Workers:
    """A process for each answer, a few at a time; more wait for the next questions, because to start one takes a while."""

    def __init__(self, tabs: Mapping[str, Tab]) -> None:
        self._tabs = tabs
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._next: deque[_Worker] = deque()

    @staticmethod
    def warm() -> None:
        """Let the process that is forked from import everything meanwhile."""
        from multiprocessing import forkserver

        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # what is forked must have one thread
        multiprocessing.get_context("forkserver").set_forkserver_preload(_PRELOADED)
        forkserver.ensure_running()

    def prepare(self) -> None:
        """Start the processes of the next answers."""
        while len(self._next) < _IN_ADVANCE:
            self._next.append(_Worker(self._tabs))

    async def lines(self, tab: str, given: dict[str, str], gone: Callable[[], Any]) -> AsyncGenerator[bytes]:
        """The lines of an answer; it ends early if whoever asked is `gone`, and so does the process."""
        async with self._places:
            if await gone():
                return
            worker = self._next.popleft() if self._next else _Worker(self._tabs)
            try:
                async with contextlib.aclosing(worker.lines(tab, given, gone)) as lines:
                    async for line in lines:
                        yield line
                        self.prepare()  # not sooner: the first line is what people wait for
            finally:
                worker.end()
                self.prepare()


class _Worker:
    """A process that answers one question."""

    def __init__(self, tabs: Mapping[str, Tab]) -> None:
        context = multiprocessing.get_context("forkserver")
        self._here, there = context.Pipe(duplex=False)
        question, self._ask = context.Pipe(duplex=False)
        self._process = context.Process(target=_work, args=(tabs, question, there), daemon=True)
        self._started = _STARTING.submit(self._start, question, there)

    def _start(self, *theirs: Connection) -> None:
        self._process.start()
        for end in theirs:
            end.close()

    async def lines(self, tab: str, given: dict[str, str], gone: Callable[[], Any]) -> AsyncGenerator[bytes]:
        """The lines of its answer, as long as nobody is `gone`."""
        await asyncio.shield(asyncio.wrap_future(self._started))
        with contextlib.suppress(OSError):  # it has ended: there are no lines
            self._ask.send((tab, given))

        def following() -> bytes:
            """The next line, or nothing if it takes a while."""
            return self._here.recv_bytes() if self._here.poll(_LOOK) else b""

        while not await gone():
            try:
                line = await run_in_threadpool(following)
            except EOFError:
                return
            if line:
                yield line

    def end(self) -> None:
        """At once, whatever it is doing."""
        self._started.add_done_callback(lambda _: self._end())

    def _end(self) -> None:
        for end in (self._here, self._ask):
            end.close()
        if self._process.pid is not None:
            self._process.kill()
            self._process.join()


def _work(tabs: Mapping[str, Tab], question: Connection, there: Connection) -> None:
    """In the process: wait for a question, compute and send."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started it ends it
    with contextlib.suppress(OSError, EOFError):
        tab, given = question.recv()
        for line in steps(tabs[tab], given):
            there.send_bytes(line)
