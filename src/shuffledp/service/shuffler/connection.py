"""Connections that cannot be used to hold memory or slots: little besides bodies, and a deadline for every state but one.

That one is being answered, which the service bounds itself. The TLS handshake has a deadline of asyncio's own (a minute).
"""

import asyncio
import json
import socket
import struct
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from shuffledp.service.shuffler.connection_slots import ConnectionSlots
from shuffledp.service.shuffler.limits import Limits
from shuffledp.service.shuffler.problem import MEDIA_TYPE, HttpProblem
from shuffledp.service.shuffler.rate_limit import network

OVERHEAD: Final = 64 * 1024
"""Bytes that a request may have besides its body: head, chunk sizes, trailers, stray line ends."""

PIPELINE: Final = 16
"""Requests that may arrive before the first of them is answered: each takes memory."""
_NEVER: Final = float("inf")
_AT_ONCE: Final = struct.pack("ii", 1, 0)


class Connection(HttpToolsProtocol):
    """HTTP/1.1 as uvicorn speaks it, within these bounds; a client that exceeds them is hung up on.

    Attributes:
        sender: whose connection it is, for the shares of each.
    """

    def __init__(self, *values: Any, limits: Limits, slots: ConnectionSlots, **more: Any) -> None:
        super().__init__(*values, **more)
        self._limits, self._slots = limits, slots
        self._service = self.app
        self._running: RequestResponseCycle | None = None
        self._requests = self._overhead = self._head = self._answering = 0
        self._lost, self.sender = False, ""
        self._in_head = self._in_body = False
        self._state, self._watched, self._entered = "", 0, _NEVER
        self._due = self._rings = _NEVER
        self._alarm: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Take a slot, and start the deadline for the first request."""
        super().connection_made(transport)
        self.sender = "" if self.client is None else network(self.client[0])
        self._slots.arrive(self)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wake every request that still waits for its body or its turn; one that is being answered keeps its slot."""
        if self._alarm is not None:
            self._alarm.cancel()
        for cycle in (self._running, *(cycle for cycle, _ in self.pipeline)):  # uvicorn tells only the last one
            if cycle is not None:
                cycle.disconnected = True
                cycle.message_event.set()
        self.pipeline.clear()
        super().connection_lost(exc)
        self._lost = True
        if not self._answering:
            self._slots.leave(self)

    def data_received(self, data: bytes) -> None:
        """Feed the parser, never more than may be overhead at once; refuse what is more than a request needs besides its body."""
        while data and not self.transport.is_closing():
            if self._overhead >= OVERHEAD:
                self._too_long()
                break
            piece = data[: OVERHEAD - self._overhead]
            data = data[len(piece) :]
            self._overhead += len(piece)
            super().data_received(piece)
        self._watch()

    def _too_long(self) -> None:
        """Say that a head is too long, if nothing else is being said; and hang up."""
        if self._in_head and (self._running is None or self._running.response_complete):
            self._refuse(HttpProblem(431, "head_too_large", f"the head of a request has at most {OVERHEAD} bytes"))
        else:
            self.transport.abort()

    def on_message_begin(self) -> None:
        """Count the request, and begin to measure its head."""
        super().on_message_begin()
        self._requests += 1
        self._in_head, self._head = True, 0

    def on_url(self, url: bytes) -> None:
        """Measure this part of the head."""
        self._measure(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Measure the head: what came before it in the same packet may have hidden its length."""
        self._measure(len(name) + len(value) + len(": \r\n"))
        super().on_header(name, value)

    def _measure(self, size: int) -> None:
        self._head += size
        if self._head > OVERHEAD:
            raise ValueError("the head is too long")  # to the parser, which stops

    def on_headers_complete(self) -> None:
        """Choose who answers: the service, or a refusal if there are too many connections."""
        self._in_head, self._in_body = False, True
        self.app = self._answer if self._slots.has_slot(self) else _full
        super().on_headers_complete()
        if len(self.pipeline) > PIPELINE:
            raise ValueError("too many requests at once")  # to the parser, which stops

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        """Let the service answer. A client that does not wait for that keeps its slot until then all the same."""
        self._answering += 1
        try:
            await self._service(scope, receive, send)
        finally:
            self._answering -= 1
            if self._lost and not self._answering:
                self._slots.leave(self)

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
        if self._head > OVERHEAD:
            self._too_long()
        else:
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

    def silent_since(self) -> float | None:
        """When it began to wait for its client, by the loop's clock; None while the client waits for an answer or reads one."""
        return None if self._state in ("answering", "sending") else self._entered

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
        self._state, self._watched, self._entered = state, self._requests, self.loop.time()
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
