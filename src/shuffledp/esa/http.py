"""The shuffler as a web service: few endpoints, fixed-size records, problem details (RFC 9457), nothing about senders.

Uploads that wait together are opened and committed together, in the order of arrival; while some are committed the next are
opened. All work on the store happens in one thread. An upload is answered only when what was accepted of it is on disk.
"""

import asyncio
import contextlib
import hmac
import ipaddress
import logging
import math
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, Final, TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from shuffledp.errors import InvalidInput
from shuffledp.esa.checkpoints import reached
from shuffledp.esa.keys import KeyList, KeyRing
from shuffledp.esa.opening import WORTH_ASKING
from shuffledp.esa.rate import Rate
from shuffledp.esa.shuffler import Shuffler, Unsealed
from shuffledp.esa.store import Batch, Kept, StoreUnavailable
from shuffledp.esa.wire import Reason, split

OCTETS: Final = "application/octet-stream"
LOG: Final = logging.getLogger("shuffledp.shuffler")
"""What happens to batches and keys; never anything about a report or its sender."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one shuffler takes on.

    Attributes:
        body: bytes of an upload.
        waiting: reports that may wait for the disk; above that, 429.
        requests: uploads that may wait; above that, 429.
        together: reports that are committed together.
        reading: bytes of uploads on their way at the same time; above that, 429.
        patience: seconds an upload may take to come.
        tick: seconds between looks at the clock and the key file.
        rate: reports a second from everybody together; None for no limit.
        rate_per_address: reports a second from one address (IPv6: one /64), remembered in memory only; None for no limit.
    """

    body: int = 1 << 20
    waiting: int = 20_000
    requests: int = 2_000
    together: int = 5_000
    reading: int = 64 << 20
    patience: float = 30.0
    tick: float = 1.0
    rate: float | None = None
    rate_per_address: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """Who may close, and who may fetch: compared in constant time, never shown."""

    operator: str = field(repr=False)
    analyzer: str = field(repr=False)


class Problem(Exception):  # noqa: N818 - a problem detail
    """An answer that is not what was asked for."""

    def __init__(self, status: int, kind: str, title: str, **headers: str) -> None:
        super().__init__(title)
        self.status, self.kind, self.title, self.headers = status, kind, title, headers

    def response(self) -> Response:
        """As RFC 9457 has it."""
        body = {"type": f"urn:shuffledp:{self.kind}", "title": self.title, "status": self.status}
        return JSONResponse(body, self.status, headers=self.headers, media_type="application/problem+json")


class Service:
    """The endpoints of one shuffler."""

    def __init__(
        self,
        shuffler: Shuffler,
        tokens: Tokens,
        limits: Limits | None = None,
        keys: Callable[[], KeyRing] | None = None,
        next_keys: Mapping[str, Callable[[], KeyList]] = MappingProxyType({}),
    ) -> None:
        """`keys` and `next_keys`, by task, are asked at every tick for the current ones, so that rotation needs no restart."""
        self._shuffler, self._tokens, self._limits, self._keys = shuffler, tokens, limits or Limits(), keys
        self._next_keys = next_keys
        self._rates = [
            (Rate(most, time.monotonic), of)
            for most, of in ((self._limits.rate, _everybody), (self._limits.rate_per_address, _address))
            if most is not None
        ]
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="shuffler")
        self._opening = ThreadPoolExecutor(max_workers=1, thread_name_prefix="opening")
        self._waiting: deque[tuple[tuple[str, int | None], list[bytes], asyncio.Future[Any]]] = deque()
        self._records = self._reading = 0
        self._arrived = asyncio.Event()
        self._draining = False
        self._refused: Counter[str] = Counter()

    def app(self) -> Starlette:
        """For any ASGI server."""
        routes = [
            Route("/v2/tasks/{task}/reports", self._answering(self._submit), methods=["POST"]),
            Route("/v2/tasks/{task}", self._answering(self._describe), methods=["GET"]),
            Route("/v2/tasks/{task}/batches/close", self._answering(self._close), methods=["POST"]),
            Route("/v2/tasks/{task}/batches", self._answering(self._list), methods=["GET"]),
            Route("/v2/batches/{batch}", self._answering(self._fetch), methods=["GET"]),
            Route("/healthz", self._answering(self._health), methods=["GET"]),
            Route("/metrics", self._answering(self._metrics), methods=["GET"]),
        ]
        made = Starlette(routes=routes, lifespan=self._lifespan, exception_handlers={HTTPException: _plain})  # type: ignore[dict-item]
        made.router.redirect_slashes = False  # it would name whatever host the request names
        return made

    @contextlib.asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        jobs = [asyncio.create_task(self._take()), asyncio.create_task(self._clockwork())]
        try:
            yield
        finally:  # answer what waits, take nothing new
            self._draining = True
            self._arrived.set()
            jobs[1].cancel()
            await asyncio.gather(*jobs, return_exceptions=True)
            await self._work(self._shuffler.shut_down)
            self._thread.shutdown()
            self._opening.shutdown()

    def _answering(
        self, endpoint: Callable[[Request], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            try:
                return await endpoint(request)
            except Problem as problem:
                self._refused[problem.kind] += 1
                return problem.response()
            except ClientDisconnect:  # nobody is there to hear an answer
                self._refused["disconnected"] += 1
                return Problem(400, "disconnected", "the upload was cut short").response()
            except Exception as error:  # what it says could show a value
                if not isinstance(error, StoreUnavailable):
                    LOG.error("a request failed (%s)", type(error).__name__)
                self._refused["unavailable"] += 1
                return Problem(
                    503, "unavailable", "the store cannot take anything now", **{"Retry-After": "1"}
                ).response()

        return answer

    async def _work(self, job: Callable[..., T], *values: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, job, *values)

    # Endpoints

    async def _submit(self, request: Request) -> Response:
        task_id = request.path_params["task"]
        if task_id not in self._shuffler.tasks:
            raise Problem(404, "task_unknown", "this shuffler does not serve that task")
        if request.headers.get("content-type", "").lower() != OCTETS:
            raise Problem(415, "invalid_message", f"reports are sent as {OCTETS}")
        meant = request.query_params.get("window")
        if meant is not None and not (meant.isascii() and meant.isdecimal() and len(meant) <= 18):
            raise Problem(400, "invalid_message", "a window is a number that the shuffler gave")
        window = None if meant is None else int(meant)
        body = await self._body(request)
        records = split(body, self._shuffler.upload_length(task_id))
        if records is None:
            raise Problem(400, "invalid_message", "the body is not a whole number of reports")
        if self._draining:
            raise Problem(503, "unavailable", "the shuffler is stopping", **{"Retry-After": "5"})
        if self._records + len(records) > self._limits.waiting or len(self._waiting) >= self._limits.requests:
            raise Problem(429, "busy", "too many reports wait", **{"Retry-After": "1"})
        pause = max((rate.wait(of(request)) for rate, of in self._rates), default=0.0)
        if pause:
            raise Problem(429, "too_often", "too many reports come", **{"Retry-After": str(math.ceil(pause))})
        for rate, of in self._rates:
            rate.take(of(request), len(records))
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append(((task_id, window), records, done))
        self._records += len(records)
        self._arrived.set()
        return JSONResponse({"outcomes": await done})

    async def _body(self, request: Request) -> bytes:
        declared = request.headers.get("content-length", "0")
        if not declared.isdecimal() or len(declared) > 18 or int(declared) > self._limits.body:
            raise Problem(413, "invalid_message", f"a body has at most {self._limits.body} bytes")
        parts, size = [], 0
        try:
            async with asyncio.timeout(self._limits.patience):
                async for part in request.stream():
                    size += len(part)
                    self._reading += len(part)
                    if size > self._limits.body:
                        raise Problem(413, "invalid_message", f"a body has at most {self._limits.body} bytes")
                    if self._reading > self._limits.reading:
                        raise Problem(429, "busy", "too many uploads come", **{"Retry-After": "1"})
                    parts.append(part)
        except TimeoutError:
            raise Problem(408, "too_slow", "the body did not come in time", Connection="close") from None
        finally:
            self._reading -= size
        return b"".join(parts)

    async def _describe(self, request: Request) -> Response:
        task = self._shuffler.tasks.get(request.path_params["task"])
        if task is None:
            raise Problem(404, "task_unknown", "this shuffler does not serve that task")
        batch = await self._work(self._shuffler.store.open_batch, request.path_params["task"])
        announced = self._shuffler.announced(batch)
        return JSONResponse(
            {
                "task": task.document(),
                "window": batch.window,
                "key_id": None if announced is None else announced.id,
                "keys": self._shuffler.ring.public().document(),
                "next_keys": self._shuffler.next_keys(batch.task).document(),
                "credential": self._shuffler.admission.length if self._shuffler.admission is not None else 0,
            }
        )

    async def _close(self, request: Request) -> Response:
        self._only(request, self._tokens.operator)
        found = await self._work(lambda: self._shuffler.close(request.path_params["task"], whatever_the_window=True))
        if isinstance(found, Batch):
            LOG.info("batch %d is %s with %d reports", found.id, found.state, found.count)
            reached("release: about to answer")
            return JSONResponse(_shown(found))
        if found == "task_unknown":
            raise Problem(404, found, "this shuffler does not serve that task")
        raise Problem(409, found, "the batch has fewer reports than the plan needs, so it stays open")

    async def _list(self, request: Request) -> Response:
        self._only(request, self._tokens.analyzer)
        if request.path_params["task"] not in self._shuffler.tasks:
            raise Problem(404, "task_unknown", "this shuffler does not serve that task")
        found = await self._work(self._shuffler.store.batches, request.path_params["task"], "RELEASED")
        return JSONResponse({"batches": [_shown(batch) for batch in found]})

    async def _fetch(self, request: Request) -> Response:
        self._only(request, self._tokens.analyzer)
        named = request.path_params["batch"]
        if not (named.isascii() and named.isdecimal() and len(named) <= 30):  # int() refuses thousands of digits
            raise Problem(404, "not_found", "not found")
        batch = await self._work(self._shuffler.store.batch, int(named))
        pieces = await self._work(self._shuffler.fetch, int(named))
        if pieces is None or batch is None:
            raise Problem(404, "batch_unknown", "there is no such released batch")

        async def stream() -> AsyncIterator[bytes]:
            while (piece := await self._work(next, pieces, b"")) != b"":
                yield piece

        return StreamingResponse(stream(), media_type=OCTETS, headers={"Digest-SHA256": batch.digest or ""})

    async def _health(self, _: Request) -> Response:
        return PlainTextResponse("draining\n" if self._draining else "ok\n", 503 if self._draining else 200)

    async def _metrics(self, _: Request) -> Response:
        lines = ["# TYPE shuffledp_reports_total counter"]
        lines += [
            f'shuffledp_reports_total{{outcome="{name}"}} {n}'
            for name, n in sorted(sum(self._shuffler.counters.values(), Counter[str]()).items())
        ]
        lines.append("# TYPE shuffledp_refused_requests_total counter")
        lines += [f'shuffledp_refused_requests_total{{kind="{name}"}} {n}' for name, n in sorted(self._refused.items())]
        lines += ["# TYPE shuffledp_waiting_reports gauge", f"shuffledp_waiting_reports {self._records}"]
        fill, closing = ["# TYPE shuffledp_batch_fill gauge"], ["# TYPE shuffledp_batches_closing gauge"]
        for task_id, task in self._shuffler.tasks.items():
            batch = await self._work(self._shuffler.store.open_batch, task_id)
            fill.append(f'shuffledp_batch_fill{{task="{task_id}"}} {batch.count / task.plan.min_batch:.6g}')
            waiting = await self._work(self._shuffler.store.batches, task_id, "CLOSING")
            closing.append(f'shuffledp_batches_closing{{task="{task_id}"}} {len(waiting)}')
        lines += fill + closing
        return PlainTextResponse("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4")

    def _only(self, request: Request, token: str) -> None:
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(given.encode(), token.encode()):
            raise Problem(401, "unauthorized", "this needs the right token", **{"WWW-Authenticate": "Bearer"})

    # Work in the background

    async def _take(self) -> None:
        """Open what waits, and while it is written down, open what came meanwhile."""
        writing: asyncio.Task[None] | None = None
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            while self._waiting:
                together, count = [], 0
                while self._waiting and count < self._limits.together:
                    together.append(self._waiting.popleft())
                    count += len(together[-1][1])
                for task_id, window in {meant for meant, _, _ in together}:
                    uploads = [(records, done) for meant, records, done in together if meant == (task_id, window)]
                    records = [record for mine, _ in uploads for record in mine]
                    job: Callable[[], Any] = partial(self._shuffler.accept, task_id, records, window)
                    if len(records) >= WORTH_ASKING:
                        opening = self._opening.submit(self._shuffler.open, task_id, records, window)
                        job = partial(_kept, self._shuffler, opening)
                        with contextlib.suppress(Exception):  # it comes again when the result is asked for
                            await asyncio.wrap_future(opening)
                    if writing is not None:
                        await writing
                    writing = asyncio.create_task(self._settle(job, uploads))
                    if len(records) < WORTH_ASKING:  # more will have come until then: fewer, larger commits
                        await writing
            if self._draining:
                if writing is not None:
                    await writing
                return

    async def _settle(self, job: Callable[[], Any], uploads: list[tuple[list[bytes], "asyncio.Future[Any]"]]) -> None:
        """Write reports down, and answer; or say of each that nothing was accepted."""
        try:
            outcomes = await self._work(job)
        except Exception as error:  # the waiting requests hear of it; the loop goes on
            LOG.error("the store took nothing (%s)", type(error).__name__)
            for _, done in uploads:
                if not done.done():
                    done.set_exception(
                        error if isinstance(error, StoreUnavailable) else StoreUnavailable("not accepted")
                    )
            return
        finally:
            self._records -= sum(len(records) for records, _ in uploads)
        reached("accept: about to answer")
        start = 0
        for records, done in uploads:
            if not done.done():
                done.set_result(outcomes[start : start + len(records)])
            start += len(records)

    async def _clockwork(self) -> None:
        """Let time pass for the batches."""
        while True:
            await asyncio.sleep(self._limits.tick)
            self._renew_keys()
            try:
                ended = await self._work(self._shuffler.tick)
            except Exception as error:  # time must go on
                LOG.error("batches wait (%s)", type(error).__name__)
                continue
            for batch in ended:
                LOG.info("batch %d is %s with %d reports", batch.id, batch.state, batch.count)

    def _renew_keys(self) -> None:
        """The current keys; a file that is damaged or gone leaves the previous ones in use."""
        for task_id, published in self._next_keys.items():
            try:
                found = published()
                if task_id in self._shuffler.tasks and found is not self._shuffler.next_keys(task_id):
                    self._shuffler.seal_to(task_id, found)
                    LOG.info("new next keys: %s", ", ".join(f"{key.key_id} {key.state}" for key in found.keys))
            except InvalidInput as error:
                self._refused["bad_key_file"] += 1
                LOG.error("still using the previous next keys: %s", error)
        if self._keys is None:
            return
        try:
            ring = self._keys()
        except InvalidInput as error:
            self._refused["bad_key_file"] += 1
            LOG.error("still using the previous keys: %s", error)
            return
        if ring is not self._shuffler.ring:
            self._shuffler.ring = ring
            LOG.info("new keys: %s", ", ".join(f"{key.key_id} {key.state}" for key in ring.keys))


def _kept(shuffler: Shuffler, opening: "Future[Unsealed]") -> list[Kept | Reason]:
    return shuffler.keep(opening.result())


def _everybody(_: Request) -> str:
    return ""


def _address(request: Request) -> str:
    """Who a connection is from; of IPv6 the network, because everybody there has many addresses."""
    host = request.client.host if request.client is not None else ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return str(address) if address.version == 4 else str(ipaddress.ip_network((host, 64), strict=False))


def _shown(batch: Batch) -> dict[str, Any]:
    return {"batch": batch.id, "task": batch.task, "state": batch.state, "reports": batch.count, "sha256": batch.digest}


async def _plain(_: Request, error: HTTPException) -> Response:
    """Starlette's own refusals (no such path, wrong method) in the same form."""
    kind = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "refused")
    return Problem(error.status_code, kind, error.detail.lower(), **dict(error.headers or {})).response()
