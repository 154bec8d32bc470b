"""Connections that cannot be used to hold memory or places: little besides bodies, and a deadline for every state but one.

That one is being answered, which the service bounds itself. The TLS handshake has a deadline of asyncio's own (a minute).
"""

import asyncio
import json
import socket
import struct
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from shuffledp.esa.limits import Limits
from shuffledp.esa.problem import MEDIA_TYPE, HttpProblem

OVERHEAD: Final = 64 * 1024
"""Bytes that a request may have besides its body: head, chunk sizes, trailers, stray line ends."""

PIPELINE: Final = 16
"""Requests that may arrive before the first of them is answered: each takes memory."""
_NEVER: Final = float("inf")
_AT_ONCE: Final = struct.pack("ii", 1, 0)


class Connection(HttpToolsProtocol):
    """HTTP/1.1 as uvicorn speaks it, within these bounds; a client that exceeds them is hung up on."""

    def __init__(self, *values: Any, limits: Limits, **more: Any) -> None:
        super().__init__(*values, **more)
        self._limits = limits
        self._most, self.limit_concurrency = self.limit_concurrency, None  # refused here, as problem details
        self._service = self.app
        self._running: RequestResponseCycle | None = None
        self._requests = self._overhead = 0
        self._in_head = self._in_body = False
        self._state, self._watched = "", 0
        self._due = self._rings = _NEVER
        self._alarm: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start the deadline for the first request."""
        super().connection_made(transport)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wake every request that still waits for its body or its turn."""
        if self._alarm is not None:
            self._alarm.cancel()
        for cycle in (self._running, *(cycle for cycle, _ in self.pipeline)):  # uvicorn tells only the last one
            if cycle is not None:
                cycle.disconnected = True
                cycle.message_event.set()
        self.pipeline.clear()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Feed the parser; hang up if there is more than a request needs besides its body."""
        self._overhead += len(data)
        super().data_received(data)
        if self._overhead > OVERHEAD:
            self.transport.abort()
        self._watch()

    def on_message_begin(self) -> None:
        """Count the request."""
        super().on_message_begin()
        self._requests += 1
        self._in_head = True

    def on_headers_complete(self) -> None:
        """Choose who answers: the service, or a refusal if there are too many connections."""
        self._in_head, self._in_body = False, True
        full = self._most is not None and max(len(self.connections), len(self.tasks)) > self._most
        self.app = _full if full else self._service
        super().on_headers_complete()
        if len(self.pipeline) > PIPELINE:
            raise ValueError("too many requests at once")  # to the parser, which stops

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def on_body(self, body: bytes) -> None:
        """Do not count what belongs to the body as overhead."""
        self._overhead = max(0, self._overhead - len(body))
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request has arrived as a whole."""
        self._in_body, self._overhead = False, 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Start the deadline for the next request."""
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        """Start the deadline for a client that reads too slowly."""
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        """End that deadline: the client has read most of what was sent."""
        super().resume_writing()
        self._watch()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP, as problem details."""
        self._refuse(HttpProblem(400, "invalid_http", msg.lower().rstrip(".")))

    def _refuse(self, problem: HttpProblem) -> None:
        """Answer without the service, and end the connection."""
        body = json.dumps(problem.document()).encode()
        headers = {
            "content-type": MEDIA_TYPE, "content-length": len(body), "connection": "close", "access-control-allow-origin": "*"
        }  # fmt: skip
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items()) + "\r\n"
        self.transport.write(STATUS_LINE[problem.status] + head.encode() + body)
        self.transport.close()

    def _over(self) -> None:
        """The deadline of the current state has passed."""
        waited_for = self._in_body and self._running is self.cycle and not self.cycle.response_started
        if waited_for and not self.transport.is_closing():
            self._refuse(HttpProblem(408, "too_slow", "the body did not arrive in time"))
            self._watch()
        else:
            self.hang_up()

    def hang_up(self) -> None:
        """End the connection, and drop what its client has not read."""
        if self._current()[0] == "sending":
            self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        self.transport.abort()

    def _watch(self) -> None:
        """Set the deadline of the state that the connection is in; one that it stays in keeps its own, whatever arrives."""
        state, seconds = self._current()
        if state is self._state and self._requests == self._watched:
            return
        self._state, self._watched = state, self._requests
        self._due = _NEVER if seconds is None else self.loop.time() + seconds
        if self._due < self._rings:
            self._set_alarm()

    def _set_alarm(self) -> None:
        """Look again at the deadline. One that moves on leaves the alarm alone: most requests need none of their own."""
        if self._alarm is not None:
            self._alarm.cancel()
        self._rings = self._due
        self._alarm = None if self._due == _NEVER else self.loop.call_at(self._due, self._look)

    def _look(self) -> None:
        self._alarm, self._rings = None, _NEVER
        if self.loop.time() < self._due:
            self._set_alarm()
        else:
            self._over()

    def _current(self) -> tuple[str, float | None]:
        """The state, and how long it may last."""
        if self.transport.is_closing() or self.flow.write_paused:  # also closing waits for the client to take the rest
            return "sending", self._limits.read_timeout
        if self._in_body:
            return "body", self._limits.upload_timeout
        if self.cycle is not None and not self.cycle.response_complete:
            return "answering", None
        if self._in_head:
            return "head", self._limits.head_timeout
        return "idle", self._limits.idle_timeout if self._requests else self._limits.head_timeout


async def _full(scope: Any, receive: Any, send: Any) -> None:
    headers = {"Connection": "close", "Access-Control-Allow-Origin": "*"}
    problem = HttpProblem(503, "busy", "the shuffler has too many connections", retry_after=1, headers=headers)
    await problem.response()(scope, receive, send)
