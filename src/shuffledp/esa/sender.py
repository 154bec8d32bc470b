"""Getting sealed reports to a shuffler over a network that loses things: the same bytes, again, with growing pauses."""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from shuffledp.core.outcome import Outcome
from shuffledp.core.parsing import Unreadable, parse_json
from shuffledp.errors import InvalidInput, ShuffledpError
from shuffledp.esa.address import checked, trusted
from shuffledp.esa.client import Announcement, Client
from shuffledp.esa.keys import KeyList
from shuffledp.esa.limits import Limits
from shuffledp.esa.task import Task

_TURNS: Final = 5
"""How often keys or windows may change while a report is sent."""


_LARGEST: Final = Limits().max_upload_bytes


class NotDelivered(ShuffledpError):  # noqa: N818 - reads as what it is
    """The shuffler could not be reached in time. The report is kept; sending it again is safe."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """Uploads to one shuffler.

    Attributes:
        url: of the shuffler; plain HTTP only on this machine.
        token: what lets one shuffler forward to the next.
        attempts: at one upload before giving up.
        pause: seconds before the second attempt; doubled each time, up to a minute, and jittered.
        together: reports in one upload, fewer if they would be more than a mebibyte: what a shuffler takes by default.
        at_once: uploads at the same time.
    """

    url: str
    token: str = field(default="", repr=False)
    attempts: int = 8
    pause: float = 0.2
    together: int = 500
    at_once: int = 8

    def __post_init__(self) -> None:
        object.__setattr__(self, "url", checked(self.url))

    def send(self, task: Task, records: Sequence[bytes], *, window: int | None = None) -> list[Outcome]:
        """Deliver reports, for a window if one is given; returns the outcome of each."""
        return asyncio.run(self.deliver(task, records, window=window))

    async def deliver(self, task: Task, records: Sequence[bytes], *, window: int | None = None) -> list[Outcome]:
        """The same, among other asynchronous work."""
        httpx = _httpx()
        address = f"{self.url}/v2/tasks/{task.id}/reports" + ("" if window is None else f"?window={window}")
        gate = asyncio.Semaphore(self.at_once)
        try:
            client = httpx.AsyncClient(timeout=30.0, verify=trusted(self.url))
        except OSError:
            raise InvalidInput(
                "the certificates to check the shuffler by cannot be read. Check SSL_CERT_FILE."
            ) from None
        async with client as web:

            async def upload(part: Sequence[bytes]) -> list[Outcome]:
                async with gate:
                    return await self._upload(web, address, part)

            longest = max(map(len, records), default=1)
            together = max(1, min(self.together, _LARGEST // longest))
            parts = [records[start : start + together] for start in range(0, len(records), together)]
            return [outcome for outcomes in await asyncio.gather(*map(upload, parts)) for outcome in outcomes]

    async def _upload(self, web: Any, address: str, part: Sequence[bytes]) -> list[Outcome]:
        httpx = _httpx()
        headers, body = {"Content-Type": "application/octet-stream"}, b"".join(part)
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        for attempt in range(self.attempts):
            if attempt:
                pause = min(60.0, self.pause * 2 ** (attempt - 1))
                await asyncio.sleep(pause * (0.5 + random.random()))  # noqa: S311 - politeness, not privacy
            try:
                answer = await web.post(address, content=body, headers=headers)
            except httpx.TransportError:
                continue
            except (httpx.InvalidURL, ValueError):
                raise InvalidInput("this is not the address of a shuffler. Give one like https://host:8470.") from None
            if answer.status_code == 200:
                outcomes = _outcomes(answer)
                if len(outcomes) == len(part):  # anything else is no definite answer
                    return outcomes
            elif answer.status_code not in (408, 429, 502, 503, 504):
                raise InvalidInput(f"the shuffler refused the upload ({_why(answer)}). Check task, address and tokens.")
        raise NotDelivered("the shuffler could not be reached. Try again later; the same report will be sent.")

    def described(self, task: Task) -> Announcement:
        """What the shuffler announces now; one that serves another task under this id is refused."""
        httpx = _httpx()
        try:
            answer = httpx.get(f"{self.url}/v2/tasks/{task.id}", timeout=30.0, verify=trusted(self.url))
        except (httpx.TransportError, httpx.InvalidURL, OSError, ValueError):  # addresses can be wrong in many ways
            raise NotDelivered("the shuffler could not be reached. Check the address and certificates.") from None
        if answer.status_code != 200:
            raise InvalidInput(f"the shuffler does not describe this task ({_why(answer)}). Check task and address.")
        document = _document(answer)
        if Task.from_document(document.get("task")).id != task.id:
            raise InvalidInput("the shuffler describes another task than the one agreed to. Do not report to it.")
        keys, next_keys = (KeyList.from_document(document.get(name)) for name in ("keys", "next_keys"))
        if keys.role != "shuffler":
            raise InvalidInput("the shuffler published keys of another role. Do not report to it.")
        window, key_id = document.get("window"), document.get("key_id")
        if type(window) is not int or window < 0 or type(key_id) is not int:
            raise InvalidInput("the shuffler announces no window that takes reports. Try again later.")
        return Announcement(window=window, keys=keys, key_id=key_id, next_keys=next_keys)


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """The end of one submission.

    Attributes:
        outcome: what the shuffler answered.
        earlier: whether it is a report that was made before, which stands: the value that was given now was not used.
    """

    outcome: Outcome
    earlier: bool


def submit(client: Client, value: Any, *, sender: Sender, credential: bytes = b"") -> Submitted:
    """Report a value for the shuffler's current window. Safe to call again after any failure.

    A report that is still pending is sent first, and then nothing else: it stands, whatever the value is now.
    """
    announced = sender.described(client.task)
    waiting = client.waiting
    window = waiting[0] if waiting else announced.window
    earlier = bool(waiting) or client.has(window)
    if waiting and window != announced.window:
        sealed = client.again(window)
    else:
        sealed = client.report(value, announced, credential=credential)
    outcome = Outcome.REPORT_REPLAYED
    for _ in range(_TURNS):
        if sealed is None:  # it arrived before
            break
        (outcome,) = sender.send(client.task, [sealed], window=window)
        if outcome is Outcome.OUTDATED_CONFIG:
            sealed = client.rewrapped(sender.described(client.task), window=window)
        elif outcome in (Outcome.BATCH_COLLECTED, Outcome.OUTDATED_KEY):
            announced = sender.described(client.task)
            sealed, window = client.moved(announced, window=window), announced.window
        else:
            break
    if outcome.arrived:
        client.arrived(window=window)
    return Submitted(outcome=outcome, earlier=earlier)


def _why(answer: Any) -> str:
    """What the shuffler said of a refusal."""
    title = str(_document(answer).get("title", "no reason given"))[:200]
    return f"status {answer.status_code}: {title}"


def _outcomes(answer: Any) -> list[Outcome]:
    """What the shuffler said of each report; nothing if any of it is not an outcome."""
    found = _document(answer).get("outcomes")
    try:
        return [Outcome(outcome) for outcome in found] if isinstance(found, list) else []
    except ValueError:
        return []


def _document(answer: Any) -> dict[str, Any]:
    """The JSON object that a shuffler answered; empty if it is none."""
    try:
        found = parse_json(answer.content)
    except Unreadable:
        found = None
    return found if isinstance(found, dict) else {}


def _httpx() -> Any:
    try:
        import httpx
    except ImportError:
        raise InvalidInput("sending needs httpx, which is not installed. Install shuffledp[service].") from None
    return httpx
