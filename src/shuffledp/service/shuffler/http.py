"""The shuffler as a web service: few endpoints, fixed-size records, problem details (RFC 9457), nothing about senders.

Writing uploads, releasing batches and reading batches have a thread and a connection to the store each, so that none waits
for the others. Everything that anybody can ask for has a time-out.
"""

import asyncio
import base64
import contextlib
import hmac
import logging
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from shuffledp.core.report_outcome import Outcome
from shuffledp.errors import InvalidInput
from shuffledp.service.sealing.keys import KeyList, KeyRing
from shuffledp.service.sealing.unsealing import Unsealers
from shuffledp.service.shuffler.key_rotation import KeyRotation
from shuffledp.service.shuffler.limits import Limits
from shuffledp.service.shuffler.metrics import CONTENT_TYPE, Metrics
from shuffledp.service.shuffler.problem import HttpProblem
from shuffledp.service.shuffler.rate_limit import RateLimit, network
from shuffledp.service.shuffler.readiness import Readiness
from shuffledp.service.shuffler.shared_rate import SharedRate
from shuffledp.service.shuffler.shuffler import Shuffler
from shuffledp.service.shuffler.upload_memory import ArrivingUpload, UploadMemory
from shuffledp.service.shuffler.waiting_uploads import TooManyWaiting
from shuffledp.service.shuffler.write_queue import NotWritten, WriteQueue, loggable
from shuffledp.service.stores.batch import Batch
from shuffledp.service.stores.store import StoreUnavailable
from shuffledp.service.wire.record import split

OCTETS: Final = "application/octet-stream"
LOG: Final = logging.getLogger("shuffledp.shuffler")
"""What happens to batches and keys; never anything about a report or its sender."""
_FOR_PAGES: Final = [(b"access-control-allow-origin", b"*"), (b"access-control-expose-headers", b"Retry-After")]
"""Scripts of any page may read the answer; browsers send no cookies or passwords along."""
T = TypeVar("T")
Endpoint = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """Who may close, who may fetch, and which shuffler may send to an inner one: compared in constant time, never shown."""

    operator: str = field(repr=False)
    analyzer: str = field(repr=False)
    forward: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        given = [token for token in (self.operator, self.analyzer, self.forward) if token is not None]
        if len(set(given)) < len(given):
            raise InvalidInput("two roles have the same token. Give each its own.")


class Service:
    """The endpoints of one shuffler."""

    def __init__(
        self,
        shuffler: Shuffler,
        tokens: Tokens,
        limits: Limits | None = None,
        keys: Callable[[], KeyRing] | None = None,
        next_keys: Mapping[str, Callable[[], KeyList]] = MappingProxyType({}),
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`keys` and `next_keys`, by task, are asked at every tick for the current ones, so that rotation needs no restart.

        `clock` is for the rates and for uploads that arrive.
        """
        if tokens.forward is None and any(map(shuffler.is_inner, shuffler.tasks)):
            raise InvalidInput(
                "another shuffler sends to this one, and only that one may: otherwise anybody could surround one report with "
                "their own. Give the token that it sends, with --forward-token."
            )
        self._shuffler, self._tokens, self._limits = shuffler, tokens, limits or Limits()
        longest = max(map(shuffler.upload_length, shuffler.tasks), default=0)
        if longest > self._limits.max_upload_bytes:
            raise InvalidInput(
                f"a report of these tasks has {longest:,} bytes, and an upload may have {self._limits.max_upload_bytes:,}. "
                "Raise --max-upload-bytes."
            )
        rate, each, window = self._limits.rate, self._limits.rate_per_address, self._limits.rate_window
        self._shared_rate = None if rate is None else SharedRate(rate, window, self._limits.max_waiting_uploads, clock)
        self._rate_per_address = None if each is None else RateLimit(each, window, clock)
        self._upload_memory = UploadMemory(self._limits.max_incoming_bytes, clock)
        self._write_queue = WriteQueue(shuffler, self._limits)
        self._releaser, self._reader = shuffler.twin(), shuffler.twin()
        self._releasing, self._reading = (
            ThreadPoolExecutor(max_workers=1, thread_name_prefix=name) for name in ("releasing", "reading")
        )
        self._metrics = Metrics(self._reader, lambda: self._write_queue.waiting.reports)
        self._readiness = Readiness(self._write_queue, shuffler, self._limits)
        self._key_rotation = KeyRotation(shuffler, keys, next_keys)
        self._draining = self._gave_up = False
        self._answers: set[asyncio.Task[Any] | None] = set()

    def app(self) -> Starlette:
        """The public endpoints, for any ASGI server."""
        task = "/v2/tasks/{task}"
        routes = [
            self._route(f"{task}/reports", self._submit, "POST", from_pages=True),
            self._route(task, self._describe, "GET", from_pages=True),
            self._route(f"{task}/batches/close", self._close, "POST"),
            self._route(f"{task}/batches", self._list, "GET"),
            self._route("/v2/batches/{batch}", self._fetch, "GET"),
            self._route("/healthz", self._health, "GET"),
            self._route("/readyz", self._ready, "GET"),
        ]
        return _application(routes, self._lifespan)

    def metrics_app(self) -> Starlette:
        """The metrics, for an address of their own: what monitoring sees is not for everybody."""
        return _application([self._route("/metrics", self._measured, "GET")])

    def _route(self, path: str, endpoint: Endpoint, method: str, *, from_pages: bool = False) -> Route:
        """An endpoint; with `from_pages` also for scripts of web pages, wherever they are from."""
        answer = self._answering(endpoint)
        if not from_pages:
            return Route(path, answer, methods=[method])
        allowed = {"Access-Control-Allow-Methods": method, "Access-Control-Allow-Headers": "Content-Type"}

        async def answer_page(request: Request) -> Response:
            asked = request.method == "OPTIONS"  # by a browser, before the script's own request
            answered = (
                Response(None, 204, {**allowed, "Access-Control-Max-Age": "86400"}) if asked else await answer(request)
            )
            answered.raw_headers.extend(_FOR_PAGES)
            return answered

        return Route(path, answer_page, methods=[method, "OPTIONS"])

    @contextlib.asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        writing = asyncio.create_task(self._write_queue.run())
        beside = [
            asyncio.create_task(job()) for job in (self._write_queue.watch, self._let_time_pass, self._follow_keys)
        ]
        try:
            yield
        finally:
            self.drain()
            for job in beside:
                job.cancel()
            self._write_queue.stop()
            await self._end(writing)

    async def _end(self, writing: "asyncio.Task[None]") -> None:
        """Let go of everything that does not hang."""
        closing = [
            self._write_queue.write(self._shuffler.store.close),
            self._release(self._releaser.store.close),
            self._read(self._reader.store.close),
        ]
        try:
            async with asyncio.timeout(self._limits.stop_timeout / 5):
                await writing
                await asyncio.gather(*closing, return_exceptions=True)
        except TimeoutError:
            LOG.error("the store did not finish in time. What was acknowledged is on disk.")
        if isinstance(self._shuffler.unsealer, Unsealers):
            await asyncio.to_thread(self._shuffler.unsealer.close)
        self._write_queue.close()
        for threads in (self._releasing, self._reading):
            threads.shutdown(wait=False, cancel_futures=True)

    def drain(self) -> None:
        """Refuse new uploads from now on."""
        self._draining = True

    def give_up(self) -> None:
        """Answer all pending requests: they may be sent again."""
        self._gave_up = True
        for answer in self._answers:
            if answer is not None:
                answer.cancel()

    def _answering(self, endpoint: Endpoint) -> Endpoint:
        async def answer(request: Request) -> Response:
            me = asyncio.current_task()
            self._answers.add(me)
            try:
                return await endpoint(request)
            except HttpProblem as problem:
                self._metrics.refused[problem.kind] += 1
                return problem.response()
            except ClientDisconnect:  # nobody is left to read an answer
                self._metrics.refused["disconnected"] += 1
                return HttpProblem(400, "disconnected", "the upload was cut short").response()
            except asyncio.CancelledError:
                if me is None or not self._gave_up:
                    raise
                me.uncancel()
                return _stopping().response()
            except Exception as error:
                return self._failed(error).response()
            finally:
                self._answers.discard(me)

        return answer

    def _failed(self, error: Exception) -> HttpProblem:
        """What a client is told of a failure: not its message, which could show a value or a path."""
        self._metrics.refused["unavailable"] += 1
        if isinstance(error, TimeoutError):
            title = "the store did not answer in time. Send the same bytes again: what was kept is recognized"
        elif isinstance(error, StoreUnavailable):
            title = "the store cannot be written to now"
        else:
            title = "something failed in the shuffler; its log says what"
        if not isinstance(error, StoreUnavailable | NotWritten | TimeoutError):  # the others are in the log already
            LOG.error("a request failed: %s", loggable(error))
        return HttpProblem(503, "unavailable", title, retry_after=1)

    async def _read(self, job: Callable[..., T], *values: Any) -> T:
        async with asyncio.timeout(self._limits.answer_timeout):
            return await asyncio.get_running_loop().run_in_executor(self._reading, job, *values)

    async def _release(self, job: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._releasing, job)

    # Endpoints

    async def _submit(self, request: Request) -> Response:
        task_id = self._known(request)
        if self._shuffler.is_inner(task_id):
            self._only(request, self._tokens.forward)
        if request.headers.get("content-type", "").lower() != OCTETS:
            raise HttpProblem(415, "invalid_message", f"reports are sent as {OCTETS}")
        meant = request.query_params.get("window")
        if meant is not None and not (meant.isascii() and meant.isdecimal() and len(meant) <= 18):
            raise HttpProblem(400, "invalid_message", "a window is a number that the shuffler announced")
        window = None if meant is None else int(meant)
        sender = "" if request.client is None else network(request.client.host)
        length = self._shuffler.upload_length(task_id)
        # before the body: one that never arrives must cost its sender too
        charged = self._charge(sender, self._declared(request), length)
        with self._arriving(sender) as arriving:
            records = await self._records(request, arriving, length)
            self._charge_for_all(sender, charged, len(records))
            await self._turn(sender, len(records))
        accepted = 0
        try:
            outcomes = await self._write_queue.add(task_id, window, records, sender)
            accepted = outcomes.count(Outcome.ACCEPTED)
        except TooManyWaiting:
            raise _too_many_waiting() from None
        finally:
            if self._shared_rate is not None:  # one sender's garbage must not use up the others' share
                self._shared_rate.give_back(len(records) - accepted)
        return JSONResponse({"outcomes": outcomes})

    def _declared(self, request: Request) -> int | None:
        """Length of the body as declared; None if it is not."""
        most = self._limits.max_upload_bytes
        declared = request.headers.get("content-length")
        if declared is not None and not (declared.isdecimal() and len(declared) <= 18 and int(declared) <= most):
            raise _too_large(most)
        return None if declared is None else int(declared)

    @property
    def _most_reports(self) -> float:
        """Reports in one upload that the rates allow."""
        return min(
            (rate.most for rate in (self._shared_rate, self._rate_per_address) if rate is not None), default=math.inf
        )

    def _charge(self, sender: str, declared: int | None, length: int) -> int:
        """Charge a sender for what it is about to send, good or bad, or all that it may send if it does not say how much."""
        reports = 1 if declared is None else max(1, -(-declared // length))
        if reports > self._most_reports:
            raise _too_many(int(self._most_reports))
        rate = self._rate_per_address
        if rate is None:
            return 0
        if declared is None:
            reports = max(1, min(int(rate.level(sender)), self._limits.max_upload_bytes // length))
        if pause := rate.take(sender, reports):
            raise _too_often(pause)
        return reports

    def _charge_for_all(self, sender: str, charged: int, reports: int) -> None:
        """Charge for the rest of an upload that did not say how much it was, or give back what it did not need."""
        if self._rate_per_address is None:
            return
        if reports < charged:
            self._rate_per_address.give_back(sender, charged - reports)
        elif self._rate_per_address.take(sender, reports - charged):
            raise _too_often(self._rate_per_address.wait(sender, reports))

    async def _turn(self, sender: str, reports: int) -> None:
        """Wait until it is this sender's turn, if there is a rate for everybody."""
        if self._shared_rate is not None:
            try:
                await self._shared_rate.take(sender, reports, self._limits.turn_timeout)
            except TooManyWaiting:
                raise _too_many_waiting() from None
            except TimeoutError:
                raise _too_often(min(self._limits.rate_window, self._shared_rate.wait(reports))) from None

    @contextlib.contextmanager
    def _arriving(self, sender: str) -> Iterator[ArrivingUpload]:
        """An upload until it can be written down; it is refused if it has to make room for others."""
        me = asyncio.current_task()
        with self._upload_memory.upload(sender, lambda: None if me is None else me.cancel()) as arriving:
            try:
                yield arriving
            except asyncio.CancelledError:
                if me is None or not arriving.dropped:
                    raise
                me.uncancel()
                raise _no_room() from None

    async def _records(self, request: Request, arriving: ArrivingUpload, length: int) -> list[bytes]:
        """The reports of an upload, once all have arrived."""
        most, most_reports = self._limits.max_upload_bytes, self._most_reports
        async for part in request.stream():  # the connection has a deadline for this
            size = len(arriving.body) + len(part)
            if size > most:
                raise _too_large(most)
            if size > length * most_reports:
                raise _too_many(int(most_reports))
            if not self._upload_memory.add(arriving, part):
                raise _no_room()
        if self._draining:
            raise _stopping()
        records = split(bytes(arriving.body), length)
        if records is None:
            raise HttpProblem(400, "invalid_message", "the body is not a whole number of reports")
        return records

    async def _describe(self, request: Request) -> Response:
        task_id = self._known(request)
        task, found = self._shuffler.tasks[task_id], await self._read(self._reader.current, task_id)
        if found is None:
            raise _unknown_task()
        announced = self._shuffler.announced(found)
        return JSONResponse(
            {
                "task": task.document(),
                "window": found.window,
                "key_id": None if announced is None else announced.id,
                "keys": self._shuffler.ring.public().document(),
                "next_keys": self._shuffler.next_keys(task_id).document(),
                "credential": self._shuffler.admission.length if self._shuffler.admission is not None else 0,
            }
        )

    async def _close(self, request: Request) -> Response:
        self._only(request, self._tokens.operator)
        task_id = self._known(request)
        found = await self._release(lambda: self._releaser.close(task_id, ignore_window=True))
        if isinstance(found, Batch):
            self._ended(found)
            self._shuffler.reached("release: about to answer")
            return JSONResponse(_shown(found))
        if found == "task_unknown":  # it was retired a moment ago
            raise _unknown_task()
        raise HttpProblem(409, found, "the batch has fewer reports than a release needs, so it stays open")

    async def _list(self, request: Request) -> Response:
        self._only(request, self._tokens.analyzer)
        task_id = request.path_params["task"]
        found = await self._read(self._reader.store.batches, task_id, "RELEASED")
        if not found and task_id not in self._shuffler.tasks:  # what a retired task released can still be fetched
            raise _unknown_task()
        return JSONResponse({"batches": [_shown(batch) for batch in found]})

    async def _fetch(self, request: Request) -> Response:
        self._only(request, self._tokens.analyzer)
        named = request.path_params["batch"]
        if not (named.isascii() and named.isdecimal() and len(named) <= 30):  # int() refuses thousands of digits
            raise HttpProblem(404, "not_found", "not found")
        batch = await self._read(self._reader.store.batch, int(named))
        pieces = await self._read(self._reader.fetch, int(named))
        if pieces is None or batch is None:
            raise HttpProblem(404, "batch_unknown", "there is no such released batch")

        async def stream() -> AsyncIterator[bytes]:
            while (piece := await self._read(next, pieces, b"")) != b"":
                yield piece

        digest = base64.b64encode(bytes.fromhex(batch.digest or "")).decode()
        return StreamingResponse(stream(), media_type=OCTETS, headers={"Repr-Digest": f"sha-256=:{digest}:"})

    async def _health(self, _: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def _ready(self, _: Request) -> Response:
        wrong = ["the shuffler is stopping"] if self._draining else await self._readiness.wrong()
        if wrong:
            raise HttpProblem(503, "not_ready", "this shuffler should get no reports now", retry_after=5, wrong=wrong)
        return PlainTextResponse("ready\n")

    async def _measured(self, _: Request) -> Response:
        return Response(await self._read(self._metrics.text), headers={"Content-Type": CONTENT_TYPE})

    def _known(self, request: Request) -> str:
        task_id = str(request.path_params["task"])
        if task_id not in self._shuffler.tasks:
            raise _unknown_task()
        return task_id

    def _only(self, request: Request, token: str | None) -> None:
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if token is None or scheme.lower() != "bearer" or not hmac.compare_digest(given.encode(), token.encode()):
            raise HttpProblem(401, "unauthorized", "a valid token is required", headers={"WWW-Authenticate": "Bearer"})

    # Work in the background

    async def _let_time_pass(self) -> None:
        """Release and end batches when it is time."""
        trouble = ""
        while True:
            await asyncio.sleep(self._limits.tick_interval)
            try:
                ended = await self._release(self._releaser.tick)
            except Exception as error:  # the next tick tries again
                if loggable(error) != trouble:  # logged once, not every second
                    trouble = loggable(error)
                    LOG.error("batches that are due are delayed: %s", trouble)
                continue
            trouble = ""
            for batch in ended:
                self._ended(batch)

    async def _follow_keys(self) -> None:
        """Use new keys as soon as their files have them."""
        while True:
            await asyncio.sleep(self._limits.tick_interval)
            with contextlib.suppress(TimeoutError):
                bad = await self._read(self._key_rotation.reload)
                self._metrics.refused.update({"bad_key_file": bad} if bad else {})

    def _ended(self, batch: Batch) -> None:
        self._metrics.ended(batch.task)
        LOG.info("batch %d is %s with %d reports", batch.id, batch.state, batch.count)


def _application(routes: list[Route], lifespan: Any = None) -> Starlette:
    made = Starlette(routes=routes, lifespan=lifespan, exception_handlers={HTTPException: _plain})  # type: ignore[dict-item]
    made.router.redirect_slashes = False  # it would name whatever host the request names
    return made


def _unknown_task() -> HttpProblem:
    return HttpProblem(404, "task_unknown", "this shuffler does not serve that task")


def _too_large(most: int) -> HttpProblem:
    return HttpProblem(413, "invalid_message", f"a body has at most {most} bytes")


def _too_many(most: int) -> HttpProblem:
    words = f"the rate limit allows at most {most} reports in one upload: send fewer at once"
    return HttpProblem(413, "too_many", words, most=most)


def _too_often(pause: float) -> HttpProblem:
    return HttpProblem(429, "too_often", "rate limit exceeded", retry_after=max(1, math.ceil(pause)))


def _no_room() -> HttpProblem:
    words = "there is no room for all uploads that are arriving, and the slowest are refused"
    return HttpProblem(429, "busy", words, retry_after=1)


def _too_many_waiting() -> HttpProblem:
    return HttpProblem(429, "busy", "too many reports are waiting", retry_after=1)


def _stopping() -> HttpProblem:
    return HttpProblem(503, "unavailable", "the shuffler is stopping", retry_after=5)


def _shown(batch: Batch) -> dict[str, Any]:
    return {"batch": batch.id, "task": batch.task, "state": batch.state, "reports": batch.count, "sha256": batch.digest}


async def _plain(_: Request, error: HTTPException) -> Response:
    """Starlette's own refusals (no such path, wrong method) in the same form."""
    kind = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "refused")
    return HttpProblem(error.status_code, kind, error.detail.lower(), headers=error.headers).response()
