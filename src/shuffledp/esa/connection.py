"""Connections that cannot be used to hold memory or places: a head is short and comes in time."""

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD: Final = 512 * 1024
"""Bytes that may come before the head of a request is complete. One read, of 256 kB, may bring its end and much of the body."""
PATIENCE: Final = 30.0
"""Seconds within which it must be complete."""


class Connection(HttpToolsProtocol):
    """HTTP/1.1 as uvicorn speaks it, within these bounds; a client that exceeds them is hung up on."""

    _head = 0
    _in_head = True
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Somebody comes."""
        super().connection_made(transport)
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Somebody goes."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Something comes."""
        if self._in_head:
            self._head += len(data)
            if self._head > HEAD:
                self.transport.abort()
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._head, self._in_head = 0, True
        self._wait_for_head()

    def on_headers_complete(self) -> None:
        """The head is there."""
        self._in_head = False
        self._stop_waiting()
        super().on_headers_complete()

    def _wait_for_head(self) -> None:
        self._stop_waiting()
        self._deadline = self.loop.call_later(PATIENCE, self._hang_up)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _hang_up(self) -> None:
        if self._in_head and not self.transport.is_closing():
            self.transport.abort()
