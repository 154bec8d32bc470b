"""A user's side: randomize once, write it down, seal, and send the same bytes until they arrive.

A second randomization of the same value would be a second release, so the report is on disk before the first attempt to send.
When the shuffler's keys change, the same inner record gets a new wrapping, so the report is still recognized and counted once.
When its window ended, or the next key changed, before it arrived, the same randomized messages are sealed anew: the shuffler says
so only of a report that it does not have and will never take. Nothing on the wire says who, when, or how often.

The shuffler is not trusted: what it announces must be a key that the user has from the analyzer, and however many windows it
names, there is at most one fresh randomization per window of the user's own clock.
"""

import base64
import contextlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shuffledp.core.files import alone, place_of, write_private
from shuffledp.core.parsing import parse_json
from shuffledp.core.randomness import RandomSource, SystemRandomness
from shuffledp.errors import InvalidInput
from shuffledp.protocols.randomized import randomized
from shuffledp.service.sealing.hpke import seal_below, wrap_once
from shuffledp.service.sealing.keys import KeyList, PublicKey
from shuffledp.service.task import Task
from shuffledp.service.wire.record import record_length


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcement:
    """What a shuffler says to everybody: its current window, its keys, and the key that whoever opens its batches uses.

    Attributes:
        window: number of the window.
        keys: the shuffler's own published keys.
        key_id: the only key that reports of this window may be sealed to, under the shuffler's layer.
        next_keys: the published list that it is from.
    """

    window: int
    keys: KeyList
    key_id: int
    next_keys: KeyList

    def key_in(self, trusted: KeyList) -> PublicKey:
        """The announced key, which must be one that the user has from its owner: else anybody could read or tag the report."""
        key, claimed = trusted.find(self.key_id), self.next_keys.find(self.key_id)
        if key is None or claimed is None or self.next_keys.role != trusted.role or key.public != claimed.public:
            raise InvalidInput(
                f"the shuffler announces a key that is not in your list of the {trusted.role}'s keys. Get the current list from "
                f"the {trusted.role}; if it is the same, do not report to this shuffler."
            )
        return key

    def sealed(self, messages: Sequence[int], task: Task, lists: Sequence[KeyList]) -> bytes:
        """A user's messages under all layers but the shuffler's own; `lists` are the analyzer's keys and the inner shufflers'.

        The innermost layers are for the active keys, the one under the shuffler's for the key it announces.
        """
        return seal_below(messages, task, lists, self.key_in(lists[-1]))

    def wrapped(self, inner: bytes, task: Task) -> bytes:
        """The shuffler's own layer around that."""
        return wrap_once(inner, task, self.keys, task.hops)


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """Reports of one user for one task, one per window.

    Attributes:
        task: what the user agreed to; its plan is proved when it is read.
        analyzer: the analyzer's keys, as published by the analyzer, not by the shuffler.
        inner_shufflers: with several hops, likewise the keys of all shufflers but the outermost, from the analyzer out.
        folder: where reports wait; only the user can read it.
        randomness: the randomness; the system's by default. A private key is good for one report.
        clock: the user's own clock, in seconds.
    """

    task: Task
    analyzer: KeyList
    folder: Path | str
    inner_shufflers: Sequence[KeyList] = ()
    randomness: RandomSource | None = None
    clock: Callable[[], float] = time.time

    def __post_init__(self) -> None:
        if len(self.inner_shufflers) != self.task.hops - 1:
            raise InvalidInput(
                f"this task has {self.task.hops} shufflers; got the keys of {len(self.inner_shufflers)} inner ones. "
                "Give the published lists of all but the outermost."
            )

    @property
    def _lists(self) -> list[KeyList]:
        return [self.analyzer, *self.inner_shufflers]

    def report(self, value: Any, announced: Announcement, *, credential: bytes = b"") -> bytes | None:
        """What to send for the announced window: the credential, if the shuffler wants one, and the sealed report.

        Asked again, for any value, it is the same: one report per window. None if it has already arrived.
        """
        with self._alone():
            kept = self._kept()
            found = kept["windows"].get(str(announced.window))
            if found is None:
                announced.key_in(self._lists[-1])  # refused before anything is randomized
                pace, messages = self._paced(kept), messages_of(self.task, value, self.randomness)
                found = self._sealed(messages, announced, credential)
                kept |= pace
                self._keep(kept, announced.window, found)
            elif credential and not found["sent"] and found["credential"] != _text(credential):
                found = found | {"credential": _text(credential)}  # the former one was refused
                self._keep(kept, announced.window, found)
        return _upload(found)

    def rewrapped(self, announced: Announcement, *, window: int) -> bytes:
        """A report that was made before, wrapped for the shuffler's current keys, after it said outdated_config."""
        with self._alone():
            kept = self._kept()
            before = kept["windows"].get(str(window))
            if before is None or before["sent"]:
                raise InvalidInput("no report is pending for this window. Make one first.")
            # only the outermost layer is new, so that the shuffler knows the report again
            found = before | {"sealed": _text(announced.wrapped(base64.b64decode(before["inner"]), self.task))}
            self._keep(kept, window, found)
        return _upload(found) or b""

    def moved(self, announced: Announcement, *, window: int) -> bytes | None:
        """What to send now for a report that the shuffler does not have and cannot take for `window` any more.

        The same messages, sealed anew if the key is another; nothing new if there is a report for the current window already.
        """
        with self._alone():
            kept = self._kept()
            late = kept["windows"].get(str(window))
            found = kept["windows"].get(str(announced.window))
            if found is None or announced.window == window:
                if late is None or late["sent"]:
                    raise InvalidInput("there is no report that could move to this window. Make one first.")
                found = late
                if late["key"] != self._key(announced):
                    found = self._sealed(late["messages"], announced, base64.b64decode(late["credential"]))
            del kept["windows"][str(window)]
            self._keep(kept, announced.window, found)
        return _upload(found)

    def arrived(self, *, window: int) -> None:
        """Remember that the shuffler has the report, and forget its bytes."""
        with self._alone():
            kept = self._kept()
            if str(window) in kept["windows"]:
                self._keep(kept, window, {"sent": True})

    def has(self, window: int) -> bool:
        """Whether there is, or was, a report for this window."""
        return str(window) in self._kept()["windows"]

    def again(self, window: int) -> bytes | None:
        """The bytes of a report that was made before; None if it has arrived."""
        return _upload(self._kept()["windows"][str(window)])

    @property
    def reports(self) -> int:
        """How many reports this user made for the task: each costs at most the task's guarantee."""
        return int(self._kept()["fresh"])

    @property
    def waiting(self) -> list[int]:
        """Windows whose report has not arrived yet. One of another length was made before reports had a salt, and is given up."""
        length = record_length(self.task.hops + 1, self.task.plan.protocol.most_messages)
        return [
            int(window)
            for window, entry in self._kept()["windows"].items()
            if not entry["sent"] and len(base64.b64decode(entry["sealed"])) == length
        ]

    def _paced(self, kept: dict[str, Any]) -> dict[str, Any]:
        """What to remember if another report may be made now; refused if not.

        The user's own clock, from the first report on, is cut into periods of the length of a window: one report for each that
        begins after the last, whatever windows are announced. Periods that pass unused are gone.
        """
        limit = self.task.plan.over_time
        if limit is not None and kept["fresh"] >= limit.per_person:
            raise InvalidInput(
                f"this task takes at most {limit.per_person:,} reports of one person, and you have made yours. Do not report "
                "again."
            )
        now = self.clock()
        first = now if kept["first"] is None else kept["first"]
        period = int((now - first) // self.task.window)
        if kept["period"] is not None and period <= kept["period"]:
            raise InvalidInput(
                f"this task takes one report every {self.task.window:,} seconds, and you have already made the one for this "
                "period. Report again later; do not trust a shuffler that asks more often."
            )
        return {"first": first, "period": period, "fresh": kept["fresh"] + 1}

    def _sealed(self, messages: list[int], announced: Announcement, credential: bytes) -> dict[str, Any]:
        inner = announced.sealed(messages, self.task, self._lists)
        return {
            "messages": messages, "key": self._key(announced), "inner": _text(inner),
            "sealed": _text(announced.wrapped(inner, self.task)), "credential": _text(credential), "sent": False,
        }  # fmt: skip

    def _key(self, announced: Announcement) -> str:
        """The fingerprint of the announced key."""
        return self._lists[-1].fingerprint(announced.key_in(self._lists[-1]))

    @property
    def _file(self) -> Path:
        return place_of(self.folder) / f"{self.task.id}.json"

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """One thread or process of the user at a time: two that both found no report would randomize twice."""
        with contextlib.ExitStack() as turn:
            try:
                place_of(self.folder).mkdir(parents=True, exist_ok=True, mode=0o700)
                turn.enter_context(alone(self._file.with_suffix(".lock")))
            except OSError as error:
                raise InvalidInput(f"cannot write in {self.folder}: {error.strerror}. Nothing was reported.") from None
            yield

    def _kept(self) -> dict[str, Any]:
        try:
            data = self._file.read_bytes()
        except FileNotFoundError:
            return {"first": None, "period": None, "fresh": 0, "windows": {}}
        except OSError as error:
            raise InvalidInput(f"cannot read {self._file}: {error.strerror}. Fix it before reporting.") from None
        try:
            found = parse_json(data)
            good = _is_state(found)
        except (AttributeError, KeyError, TypeError, ValueError):
            good = False
        if not good:
            # guessing could mean a second randomization of the same value
            raise InvalidInput(
                f"{self._file} is damaged, so it is not known what was reported. Restore it, or stop reporting."
            )
        return found  # type: ignore[no-any-return]

    def _keep(self, kept: dict[str, Any], window: int, entry: dict[str, Any]) -> None:
        """On disk, whole, before anything is sent."""
        try:
            write_private(self._file, json.dumps(kept | {"windows": kept["windows"] | {str(window): entry}}))
        except OSError as error:
            raise InvalidInput(f"cannot write {self._file}: {error.strerror}. Nothing was reported.") from None


def messages_of(task: Task, value: Any, randomness: RandomSource | None = None) -> list[int]:
    """One user's messages: cleaned, encoded and randomized with the system's randomness.

    In increasing order, so that not even what is kept tells which of several is true.
    """
    protocol, source = task.plan.protocol, randomness or SystemRandomness()
    source.reserve()  # reports have no addresses: a second one under the same key would have the same coins
    return sorted(protocol.of_user(randomized(protocol, [value], source).messages))


def _upload(entry: dict[str, Any]) -> bytes | None:
    return None if entry["sent"] else base64.b64decode(entry["credential"]) + base64.b64decode(entry["sealed"])


def _is_state(found: Any) -> bool:
    """Whether this is what was kept."""
    first, period, fresh, windows = (found[name] for name in ("first", "period", "fresh", "windows"))
    if type(fresh) is not int or fresh < 1 or type(first) not in (int, float) or type(period) is not int:
        return False
    for window, entry in windows.items():
        int(window)
        if entry["sent"] is True:
            continue
        texts = [base64.b64decode(entry[name], validate=True) for name in ("inner", "sealed", "credential")]
        whole = texts[0] and texts[1] and entry["messages"] and type(entry["key"]) is str
        whole = whole and all(type(message) is int for message in entry["messages"])
        if entry["sent"] is not False or not whole:
            return False
    return True


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
