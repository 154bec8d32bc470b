"""The page and its answers over HTTP: nothing is kept but a small cache of answers, and nobody but this page may ask."""

import json
from collections import OrderedDict
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from functools import cache
from importlib import resources
from typing import Final

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shuffledp.core.parsing import Unreadable, parse_json
from shuffledp.web.form import Tab
from shuffledp.web.processes import Workers
from shuffledp.web.tabs import TABS

_CSP: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = {
    "content-security-policy": _CSP,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-cache",
}
_TYPES: Final = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_LONGEST: Final = 1 << 18
"""Bytes of what was typed."""
_KEPT: Final = 1 << 24
"""Bytes of answers that are kept."""
_LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")


class Answers:
    """Answers as lines of JSON, the last ones kept."""

    def __init__(self, tabs: Mapping[str, Tab]) -> None:
        self._workers = Workers(tabs)
        self._kept: OrderedDict[str, list[bytes]] = OrderedDict()
        self._bytes = 0

    def prepare(self) -> None:
        """For an answer that is about to be asked for."""
        self._workers.prepare()

    async def lines(self, request: Request, tab: str, given: dict[str, str]) -> AsyncGenerator[bytes]:
        """The blocks of an answer, then its end. Whoever no longer listens is no longer worked for."""
        key = json.dumps([tab, sorted(given.items())])
        if key in self._kept:
            self._kept.move_to_end(key)
            for line in self._kept[key]:
                yield line
            return
        said = list[bytes]()
        async with aclosing(self._workers.lines(tab, given, request.is_disconnected)) as lines:
            async for line in lines:
                said.append(line)
                yield line
        if said and b'"kind":"end"' in said[-1]:
            self._keep(key, said)

    def _keep(self, key: str, said: list[bytes]) -> None:
        self._kept[key] = said
        self._bytes += _size(key, said)
        while self._bytes > _KEPT:
            self._bytes -= _size(*self._kept.popitem(last=False))


def _size(key: str, said: list[bytes]) -> int:
    return len(key) + sum(map(len, said))


class _Lines(Response):
    """Lines that are sent as they come. They are closed in any case, so that what computes them ends."""

    media_type = "application/x-ndjson"

    def __init__(self, lines: AsyncGenerator[bytes]) -> None:
        super().__init__()
        self._lines = lines
        del self.headers["content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async with aclosing(self._lines) as lines:
            async for line in lines:
                await send({"type": "http.response.body", "body": line, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


class _Guard:
    """Refuses names that are not this machine's (DNS rebinding) and adds the headers of every answer."""

    def __init__(self, app: ASGIApp, hosts: tuple[str, ...]) -> None:
        self._app, self._hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
                message = {**message, "headers": [*message["headers"], *own]}
            await send(message)

        headers = Request(scope).headers
        host = headers.get("host", "").lower()
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        refusal = None
        if name not in self._hosts:
            refusal = f"this page is not served under that name. Open http://{self._hosts[0]} instead.\n"
        elif headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            refusal = "other pages may not ask here. Open the planner itself.\n"
        answer = self._app if refusal is None else PlainTextResponse(refusal, 403)
        await answer(scope, receive, guarded)


def app(*, names: Sequence[str] = (), tabs: Mapping[str, Tab] = TABS) -> ASGIApp:
    """The planner, for any ASGI server: under the names of this machine, and under these."""
    answers = Answers(tabs)

    async def forms(_: Request) -> Response:
        answers.prepare()
        return JSONResponse([tab.document() for tab in tabs.values()])

    async def answer(request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            return PlainTextResponse("send JSON.\n", 415)
        try:
            given = await _body(request)
        except ClientDisconnect:
            return Response(status_code=400)
        if given is None:
            return PlainTextResponse("the request is not a JSON object of strings, or it is too long.\n", 400)
        return _Lines(answers.lines(request, request.path_params["tab"], given))

    async def page(request: Request) -> Response:
        name = request.path_params.get("name", "index.html")
        content = _static().get(name)
        if content is None:
            return PlainTextResponse("there is no such file.\n", 404)
        return Response(content, media_type=_TYPES[name.rpartition(".")[2]])

    async def known(request: Request) -> Response:
        if request.path_params["tab"] not in tabs:
            return PlainTextResponse("there is no such tab.\n", 404)
        return await answer(request)

    routes = [
        Route("/", page),
        Route("/static/{name}", page),
        Route("/forms", forms),
        Route("/answer/{tab}", known, methods=["POST"]),
    ]
    return _Guard(Starlette(routes=routes), (*_LOOPBACK, *(name.lower() for name in names)))


async def _body(request: Request) -> dict[str, str] | None:
    """What was typed, by field; None if it is anything else."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _LONGEST:
            return None
    try:
        given = parse_json(body)
    except Unreadable:
        return None
    fits = isinstance(given, dict) and all(isinstance(text, str) for text in given.values())
    return given if fits else None


@cache
def _static() -> dict[str, bytes]:
    folder = resources.files("shuffledp.web") / "static"
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.name.rpartition(".")[2] in _TYPES}
