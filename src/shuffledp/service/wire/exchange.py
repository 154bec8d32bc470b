"""HTTP exchanges with a peer that need not be trusted: bounded in bytes and in time, never unpacked, never led elsewhere.

Everything that this package asks over HTTP goes through here. An answer is read as it was sent: a compressed one is refused,
because a small one can unpack to any size. It has a limit in bytes, and a deadline for the exchange as a whole, from looking up
the name to the last byte: one that sends a byte now and then gets no more time than a silent one. Redirects are answers
like any other, and no cookie is kept.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.cookiejar import CookieJar
from types import TracebackType
from typing import Any, Final, Self, TypeVar
from urllib.parse import urlsplit

from shuffledp.core.installed import not_installed
from shuffledp.core.parsing import Unreadable, parse_exactly
from shuffledp.core.visible import visible
from shuffledp.errors import InvalidInput
from shuffledp.service.wire.address import trusted

ANSWER_SECONDS: Final = 20.0
"""For a short exchange as a whole."""
SHORT: Final = 1 << 16
"""Bytes of a short answer."""
UPLOAD_BYTES: Final = 1 << 20
"""Bytes of one upload that any shuffler takes, unless its operator decides otherwise."""
SLOWEST: Final = 1 << 18
"""Bytes per second: each second's worth that has arrived of a long answer buys another second."""
_LONGEST_REASON: Final = 200
T = TypeVar("T")


class Unreachable(InvalidInput):
    """Nobody is there, or they hung up before the end of its answer: the same request may succeed later."""

    def __init__(self) -> None:
        super().__init__("the shuffler could not be reached. Check the address and certificates.")


class TooSlow(InvalidInput):
    """The answer was not complete at the deadline."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the shuffler gave no complete answer within {seconds:g} s. Try again later.")


class TooLong(InvalidInput):
    """The answer has more bytes than it should."""

    def __init__(self, most: int) -> None:
        super().__init__(
            f"the shuffler's answer is longer than {most:,} bytes, which it should not be. Check the address."
        )


class Compressed(InvalidInput):
    """The answer is not as it was asked for: what it would unpack to is not known."""

    def __init__(self) -> None:
        super().__init__(
            "the shuffler compressed its answer, which it was asked not to do. Check the proxies on the way."
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """A status and a body, no longer than the caller allowed."""

    status: int
    content: bytes = field(repr=False)

    def document(self) -> dict[str, Any]:
        """The JSON object in it; empty if it is none."""
        try:
            found = parse_exactly(self.content)
        except Unreadable:
            found = None
        return found if isinstance(found, dict) else {}

    def reason(self) -> str:
        """What a refusal says, for people.

        >>> Answer(404, b'{"title": "no such task"}').reason()
        'status 404: no such task'
        """
        title = str(self.document().get("title", "no reason given"))
        return f"status {self.status}: {visible(title[:_LONGEST_REASON])}"


class Peer:
    """Whoever is at an address, asked over connections that are kept while this is open.

    Attributes:
        url: as `address.checked` returned it.
        token: sent with every request, if there is one.
    """

    def __init__(self, url: str, token: str = "") -> None:
        self.url = url
        if not (token.isascii() and token.isprintable()):  # HTTP's own error would show it
            raise InvalidInput("the token has characters that HTTP cannot carry. Use the file that was given to you.")
        httpx = self._httpx = _httpx()
        on_this_machine = urlsplit(url).scheme == "http"  # and stays there, whatever proxies the environment names
        try:
            self._client = httpx.AsyncClient(
                verify=trusted(url), timeout=None, follow_redirects=False, cookies=_NoCookies(),
                trust_env=not on_this_machine, headers={"Accept-Encoding": "identity"},
            )  # fmt: skip
        except OSError:
            raise InvalidInput(
                "the certificates for checking the shuffler cannot be read. Check SSL_CERT_FILE."
            ) from None
        except (ImportError, ValueError):
            raise InvalidInput(
                "the proxy of the environment cannot be used. Check HTTPS_PROXY and ALL_PROXY."
            ) from None
        if token:
            self._client.headers["Authorization"] = f"Bearer {token}"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        await self._client.aclose()

    async def ask(
        self, method: str, path: str, *, body: bytes | None = None, headers: Mapping[str, str] | None = None,
        most: int = SHORT, seconds: float | None = ANSWER_SECONDS,
    ) -> Answer:  # fmt: skip
        """The answer to a request, of at most so many bytes and seconds; without `seconds` the caller sets the deadline."""
        content = bytearray()
        status = await self._read(method, path, content.extend, body=body, headers=headers, most=most, seconds=seconds)
        return Answer(status, bytes(content))

    async def fetch(self, path: str, keep: Callable[[bytes], Any], *, most: int, seconds: float) -> Answer:
        """Hand a long body over piece by piece, as long as it comes faster than SLOWEST; a refusal is the answer instead."""
        refused = bytearray()
        status = await self._read("GET", path, keep, refused=refused.extend, most=most, seconds=seconds, rate=SLOWEST)
        return Answer(status, bytes(refused))

    async def _read(
        self, method: str, path: str, keep: Callable[[bytes], Any], *, body: bytes | None = None,
        headers: Mapping[str, str] | None = None, refused: Callable[[bytes], Any] | None = None, most: int,
        seconds: float | None, rate: int | None = None,
    ) -> int:  # fmt: skip
        """The status of an answer whose body was kept; that of a refusal is short, and kept apart if told so."""
        httpx, size, deadline = self._httpx, 0, asyncio.timeout(seconds)
        try:
            async with (
                deadline,
                self._client.stream(method, f"{self.url}{path}", content=body, headers=headers) as answer,
            ):
                if answer.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
                    raise Compressed
                if refused is not None and answer.status_code != 200:
                    keep, most, rate = refused, min(most, SHORT), None
                async for piece in answer.aiter_raw():
                    size += len(piece)
                    if size > most:
                        raise TooLong(most)
                    keep(piece)
                    due = deadline.when()
                    if rate is not None and due is not None:
                        deadline.reschedule(due + len(piece) / rate)
                return int(answer.status_code)
        except (httpx.InvalidURL, UnicodeError):  # addresses can be wrong in many ways
            raise InvalidInput("this is not the address of a shuffler. Give one like https://host:8470.") from None
        except (httpx.RequestError, OSError):
            if deadline.expired():
                raise TooSlow(seconds or 0.0) from None
            raise Unreachable from None


class _NoCookies(CookieJar):
    """Keeps none: they would link the uploads of one person, and reading them takes as long as their author likes."""

    def extract_cookies(self, response: Any, request: Any) -> None:
        """Keep no cookie of any answer."""


def done(work: Coroutine[Any, Any, T]) -> T:
    """The outcome of some exchanges, waited for; where a loop runs already, as in a notebook, in a thread of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as beside:
        return beside.submit(asyncio.run, work).result()


def _httpx() -> Any:
    try:
        import httpx
    except ImportError:
        raise not_installed("the service needs httpx", "service") from None
    return httpx
