"""Getting sealed reports to a shuffler over a network that loses things: the same bytes, again, with growing pauses."""

import asyncio
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from shuffledp.core.canonical import digest
from shuffledp.core.document import whole
from shuffledp.core.report_outcome import Outcome
from shuffledp.errors import InvalidInput, ShuffledpError
from shuffledp.service.client.client import Announcement, Client
from shuffledp.service.sealing.keys import KeyList
from shuffledp.service.task import Task
from shuffledp.service.wire.address import checked
from shuffledp.service.wire.exchange import (
    ANSWER_SECONDS,
    SHORT,
    UPLOAD_BYTES,
    Answer,
    Peer,
    TooSlow,
    Unreachable,
    done,
)

_TURNS: Final = 5
"""How often keys or windows may change while a report is sent."""

_OCTETS: Final = {"Content-Type": "application/octet-stream"}
_LATER: Final = (408, 429, 502, 503, 504)
"""Statuses of a shuffler that may take the same bytes later."""
_TOO_MUCH: Final = 413
"""The status of one that takes fewer bytes, or within a rate limit fewer reports, at once."""
_AN_OUTCOME: Final = 64
"""Bytes of one outcome in an answer, white space included."""
_AROUND_A_TASK: Final = 1 << 18
"""Bytes of a description besides its task: two lists of at most 256 keys."""


class NotDelivered(ShuffledpError):  # noqa: N818 - reads as what it is
    """The shuffler could not be reached in time. The report is kept; sending it again is safe."""


class _TooMuch(Exception):  # noqa: N818 - reads as what it is
    """None of an upload was kept, because it was more than the shuffler takes at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """Uploads to one shuffler.

    Attributes:
        url: of the shuffler; plain HTTP only on this machine.
        token: what lets one shuffler forward to the next.
        attempts: at one upload before giving up.
        pause: seconds before the second attempt; doubled each time, up to a minute, and jittered.
        patience: seconds for one upload with all its attempts and pauses, or for a submission without its first question.
        together: reports in one upload, fewer if they would be more than a mebibyte: what a shuffler takes by default.
        at_once: uploads at the same time.
    """

    url: str
    token: str = field(default="", repr=False)
    attempts: int = 8
    pause: float = 0.2
    patience: float = 40.0
    together: int = 500
    at_once: int = 8

    def __post_init__(self) -> None:
        object.__setattr__(self, "url", checked(self.url))

    def send(self, task: Task, records: Sequence[bytes], *, window: int | None = None) -> list[Outcome]:
        """Deliver reports, for a window if one is given; returns the outcome of each."""
        return done(self.deliver(task, records, window=window))

    async def deliver(self, task: Task, records: Sequence[bytes], *, window: int | None = None) -> list[Outcome]:
        """Deliver reports, as `send` does, among other asynchronous work."""
        path = f"/v2/tasks/{task.id}/reports" + ("" if window is None else f"?window={window}")
        gate = asyncio.Semaphore(self.at_once)
        async with Peer(self.url, self.token) as peer:

            async def upload(part: Sequence[bytes]) -> list[Outcome]:
                async with gate:
                    return await self._cut(peer, path, part)

            longest = max(map(len, records), default=1)
            together = max(1, min(self.together, UPLOAD_BYTES // longest))
            parts = [records[start : start + together] for start in range(0, len(records), together)]
            return [outcome for outcomes in await asyncio.gather(*map(upload, parts)) for outcome in outcomes]

    async def _cut(self, peer: Peer, path: str, part: Sequence[bytes]) -> list[Outcome]:
        """An upload, or its halves one after the other if it is more than the shuffler takes at once."""
        try:
            return await self._upload(peer, path, part)
        except _TooMuch:
            half = len(part) // 2
            return await self._cut(peer, path, part[:half]) + await self._cut(peer, path, part[half:])

    async def _upload(self, peer: Peer, path: str, part: Sequence[bytes]) -> list[Outcome]:
        """Attempts until there is a definite answer, within the patience that there is for all of them."""
        try:
            async with asyncio.timeout(self.patience):
                for attempt in range(self.attempts):
                    if attempt:
                        pause = min(60.0, self.pause * 2 ** (attempt - 1))
                        await asyncio.sleep(pause * (0.5 + random.random()))  # noqa: S311 - politeness, not privacy
                    outcomes = await _attempt(peer, path, part)
                    if outcomes is not None:
                        return outcomes
        except TimeoutError:
            raise _out_of_patience(self.patience) from None
        raise NotDelivered("the shuffler could not be reached. Try again later; the same report will be sent.")

    def described(self, task: Task) -> Announcement:
        """What the shuffler announces now; one that serves another task under this id is refused."""
        return done(self.describe(task))

    async def describe(self, task: Task) -> Announcement:
        """Ask what `described` asks, among other asynchronous work."""
        most = len(json.dumps(task.document(), indent=2)) + _AROUND_A_TASK
        try:
            async with Peer(self.url) as peer:
                answer = await peer.ask(
                    "GET", f"/v2/tasks/{task.id}", most=most, seconds=min(ANSWER_SECONDS, self.patience)
                )
        except (Unreachable, TooSlow) as error:
            raise NotDelivered(str(error)) from None
        if answer.status != 200:
            raise InvalidInput(f"the shuffler does not describe this task ({answer.reason()}). Check task and address.")
        return _announcement(answer.document(), task)


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """The end of one submission.

    Attributes:
        outcome: what the shuffler answered.
        earlier: whether it is a report that was made before, which stands: the value that was given now was not used.
    """

    outcome: Outcome
    earlier: bool


def submit(
    client: Client, value: Any, *, sender: Sender, credential: bytes = b"", announced: Announcement | None = None
) -> Submitted:
    """Report a value for the shuffler's current window. Safe to call again after any failure.

    A report that is still pending is sent first, and then nothing else: it stands, whatever the value is now. `announced` is
    what the shuffler has just described; otherwise it is asked. The sender's patience is for all of this.
    """
    return done(_submitted(client, value, sender, credential, announced))


async def _submitted(
    client: Client, value: Any, sender: Sender, credential: bytes, announced: Announcement | None
) -> Submitted:
    announced = announced or await sender.describe(client.task)
    try:
        async with asyncio.timeout(sender.patience):
            return await _reported(client, value, sender, credential, announced)
    except TimeoutError:
        raise _out_of_patience(sender.patience) from None


async def _reported(
    client: Client, value: Any, sender: Sender, credential: bytes, announced: Announcement
) -> Submitted:
    """Make the report unless there is one, and send it until it is known what became of it."""
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
        (outcome,) = await sender.deliver(client.task, [sealed], window=window)
        if outcome is Outcome.OUTDATED_CONFIG:
            sealed = client.rewrapped(await sender.describe(client.task), window=window)
        elif outcome in (Outcome.BATCH_COLLECTED, Outcome.OUTDATED_KEY):
            announced = await sender.describe(client.task)
            sealed, window = client.moved(announced, window=window), announced.window
        else:
            break
    if outcome.arrived:
        client.arrived(window=window)
    return Submitted(outcome=outcome, earlier=earlier)


async def _attempt(peer: Peer, path: str, part: Sequence[bytes]) -> list[Outcome] | None:
    """What became of each report of an upload; None if that is not known, and the same bytes should be sent again."""
    try:
        answer = await peer.ask(
            "POST", path, body=b"".join(part), headers=_OCTETS, most=SHORT + _AN_OUTCOME * len(part), seconds=None
        )
    except Unreachable:
        return None
    if answer.status == 200:
        outcomes = _outcomes(answer)
        return outcomes if len(outcomes) == len(part) else None
    if answer.status in _LATER:
        return None
    if answer.status == _TOO_MUCH and len(part) > 1:
        raise _TooMuch
    raise InvalidInput(f"the shuffler refused the upload ({answer.reason()}). Check task, address and tokens.")


def _announcement(document: Mapping[str, Any], task: Task) -> Announcement:
    """What is announced for that task and no other."""
    if (
        digest(document.get("task")) != task.id
    ):  # before anything of it is read: proving a plan takes as long as its author likes
        raise InvalidInput("the shuffler describes another task than the one agreed to. Do not report to it.")
    keys, next_keys = (KeyList.from_document(document.get(name)) for name in ("keys", "next_keys"))
    if keys.role != "shuffler":
        raise InvalidInput("the shuffler published keys of another role. Do not report to it.")
    try:
        window, key_id = whole(document.get("window")), whole(document.get("key_id"))
    except ValueError:
        window, key_id = -1, -1
    if window < 0:
        raise InvalidInput("the shuffler announces no window that is open for reports. Try again later.")
    return Announcement(window=window, keys=keys, key_id=key_id, next_keys=next_keys)


def _outcomes(answer: Answer) -> list[Outcome]:
    """What the shuffler said of each report; nothing if any of it is not an outcome."""
    found = answer.document().get("outcomes")
    try:
        return [Outcome(outcome) for outcome in found] if isinstance(found, list) else []
    except ValueError:
        return []


def _out_of_patience(seconds: float) -> NotDelivered:
    return NotDelivered(
        f"the shuffler gave no complete answer within {seconds:g} s. Try again later; the same report will be sent."
    )
