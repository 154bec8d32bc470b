"""The service under uvicorn: listening, and stopping in time, whatever hangs."""

import asyncio
import contextlib
import logging
import os
import socket
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, Final

import uvicorn

from shuffledp.errors import InvalidInput
from shuffledp.service.shuffler.connection import Connection
from shuffledp.service.shuffler.connection_slots import ConnectionSlots
from shuffledp.service.shuffler.http import Service
from shuffledp.service.shuffler.limits import Limits
from shuffledp.service.shuffler.log_throttle import PERIOD, LogThrottle, throttled

LOG: Final = logging.getLogger("shuffledp.shuffler")
_ANSWER, _HANG_UP, _CANCEL = 0.5, 0.6, 0.7
"""Shares of the time to stop after which pending requests are answered, slow clients hung up on, and nothing is waited for."""


class Server(uvicorn.Server):
    """One service on one address, and its metrics on another if one is given."""

    def __init__(
        self,
        service: Service,
        limits: Limits,
        *,
        connections: int,
        tls: tuple[Path, Path] | None = None,
        access_log: bool = False,
    ) -> None:
        """`tls` is a certificate chain and its private key."""
        certificate, key = tls or (None, None)
        config = _config(
            service.app(), limits, connections=connections, access_log=access_log,
            ssl_certfile=certificate, ssl_keyfile=key, timeout_graceful_shutdown=_CANCEL * limits.stop_timeout,
        )  # fmt: skip
        try:
            config.load()
        except OSError:
            raise InvalidInput("cannot use the TLS certificate and key. Give a matching pair of PEM files.") from None
        super().__init__(config)
        self._service, self._limits, self._throttle = service, limits, LogThrottle(limits.log_lines)

    def listen(self, public: socket.socket, metrics: socket.socket | None = None) -> None:
        """Serve until a signal arrives."""
        with asyncio.Runner(loop_factory=self.config.get_loop_factory()) as runner:
            runner.run(self._listen(public, metrics))

    async def _listen(self, public: socket.socket, metrics: socket.socket | None) -> None:
        with throttled(self._throttle):
            await self._serve_both(public, metrics)

    async def _serve_both(self, public: socket.socket, metrics: socket.socket | None) -> None:
        beside = _Beside(_config(self._service.metrics_app(), self._limits, connections=100, lifespan="off"))
        jobs = [asyncio.create_task(beside.serve(sockets=[metrics]))] if metrics is not None else []
        summing_up = asyncio.create_task(_sum_up(self._throttle))
        try:
            await self.serve(sockets=[public])
        finally:
            summing_up.cancel()
            beside.should_exit = True
            await asyncio.gather(*jobs)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to stop, and make sure that it ends in time."""
        if not self.should_exit:
            watchdog = threading.Timer(self._limits.stop_timeout, _end, [self._limits.stop_timeout])
            watchdog.daemon = True
            watchdog.start()
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Refuse new uploads, answer pending ones, and wait for nobody for ever."""
        loop, grace = asyncio.get_running_loop(), self._limits.stop_timeout
        self._service.drain()
        loop.call_later(_ANSWER * grace, self._give_up)
        await super().shutdown(sockets)
        self._throttle.sum_up()  # here, because the signal ends the process as soon as the server is done

    def _give_up(self) -> None:
        """Answer all pending requests; a while later, hang up on clients that have not read their answers."""
        self._service.give_up()
        asyncio.get_running_loop().call_later((_HANG_UP - _ANSWER) * self._limits.stop_timeout, self._hang_up)

    def _hang_up(self) -> None:
        for connection in list(self.server_state.connections):
            if isinstance(connection, Connection):
                connection.hang_up()


async def _sum_up(throttle: LogThrottle) -> None:
    """Say now and then what the log did not show."""
    while True:
        await asyncio.sleep(PERIOD)
        throttle.sum_up()


class _Beside(uvicorn.Server):
    """A server that leaves signals to another."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _config(app: Any, limits: Limits, *, connections: int, **more: Any) -> uvicorn.Config:
    connection: Any = partial(Connection, limits=limits, slots=ConnectionSlots(connections))
    more["timeout_keep_alive"] = limits.idle_timeout
    return uvicorn.Config(
        app, http=connection, ws="none", log_level="warning", server_header=False, proxy_headers=False, **more
    )


def _end(seconds: float) -> None:
    """The last resort: everything that was acknowledged is on disk. Not even a log that nobody reads delays it."""
    words = "still busy %g s after the signal to stop; ending now. What was acknowledged is on disk."
    saying = threading.Thread(target=LOG.error, args=(words, seconds), daemon=True)
    saying.start()
    saying.join(1.0)
    os._exit(1)
