"""Uploads that are written together: each hears what became of its own reports, and only once these are on disk."""

import asyncio
from collections.abc import Iterable
from threading import Event
from typing import Any, cast

import pytest

from shuffledp.core.report_outcome import Outcome
from shuffledp.service.shuffler.limits import Limits
from shuffledp.service.shuffler.shuffler import Shuffler, Unsealed
from shuffledp.service.shuffler.write_queue import NotWritten, WriteQueue
from shuffledp.service.stores.store import StoreUnavailable

OUTCOMES = list(Outcome)


class Kept:
    """In place of a shuffler: what becomes of a report is its first byte; what is on disk is a list."""

    def __init__(self) -> None:
        self.on_disk: list[tuple[str, int | None, bytes]] = []
        self.answered: list[int] = []
        self.may_write = Event()
        self.fails: dict[str, Exception] = {}

    def open(self, task: str, records: Iterable[bytes], window: int | None) -> Unsealed:
        return Unsealed(
            task=task, window=window, outcome=[], good=[(j, b"", record) for j, record in enumerate(records)]
        )

    def keep(self, unsealed: Unsealed) -> list[Outcome]:
        assert self.may_write.wait(60)
        if unsealed.task in self.fails:
            raise self.fails[unsealed.task]
        self.on_disk += [(unsealed.task, unsealed.window, record) for _, _, record in unsealed.good]
        return [OUTCOMES[record[0]] for _, _, record in unsealed.good]

    def accept(self, task: str, records: Iterable[bytes], window: int | None) -> list[Outcome]:
        return self.keep(self.open(task, records, window))

    def reached(self, point: str) -> None:
        assert point == "accept: about to answer"
        self.answered.append(len(self.on_disk))


def upload(number: int, size: int) -> tuple[str, int | None, list[bytes]]:
    """Of one of two tasks, for one of three windows or any; its reports become different things."""
    task, window = "ab"[number % 2], [None, 0, 1, 2][number // 2 % 4]
    return task, window, [bytes([(number + 3 * j) % len(OUTCOMES), number, *j.to_bytes(2, "big")]) for j in range(size)]


def run(kept: Kept, uploads: list[tuple[str, int | None, list[bytes]]]) -> list[Any]:
    """What each of them hears, if all are waiting before anything is written."""

    async def all_of_them() -> list[Any]:
        write_queue = WriteQueue(cast("Shuffler", kept), Limits())
        answers = [
            asyncio.ensure_future(write_queue.add(task, window, records, f"sender {number % 3}"))
            for number, (task, window, records) in enumerate(uploads)
        ]
        await asyncio.sleep(0)
        running = asyncio.ensure_future(write_queue.run())
        await asyncio.sleep(0)
        assert not any(answer.done() for answer in answers)
        kept.may_write.set()
        found = await asyncio.gather(*answers, return_exceptions=True)
        write_queue.stop()
        await running
        write_queue.close()
        return found

    return asyncio.run(all_of_them())


@pytest.mark.parametrize("sizes", [[1, 3, 2, 5, 1, 1, 4], [150, 1, 2, 300, 7, 131]], ids=["few", "many"])
def test_each_upload_hears_what_became_of_its_own_reports(sizes: list[int]) -> None:
    """Of several tasks and windows, opened here or beside: reports are kept under their own, each once."""
    kept, uploads = Kept(), [upload(number, sizes[number % len(sizes)]) for number in range(20)]
    found = run(kept, uploads)
    for (_, _, records), heard in zip(uploads, found, strict=True):
        assert heard == [OUTCOMES[record[0]] for record in records]
    expected = [(task, window, record) for task, window, records in uploads for record in records]
    assert sorted(kept.on_disk, key=repr) == sorted(expected, key=repr)
    assert 0 not in kept.answered


@pytest.mark.parametrize("size", [2, 150])
def test_what_cannot_be_written_is_refused_to_all_who_sent_it_and_to_nobody_else(size: int) -> None:
    kept, uploads = Kept(), [upload(number, size) for number in range(12)]
    for error in (StoreUnavailable("the disk is full"), ValueError("secret")):
        kept.fails, kept.on_disk = {"a": error}, []
        found = run(kept, uploads)
        for (task, _, records), heard in zip(uploads, found, strict=True):
            if task == "b":
                assert heard == [OUTCOMES[record[0]] for record in records]
            else:
                assert isinstance(heard, StoreUnavailable if isinstance(error, StoreUnavailable) else NotWritten)
                assert "secret" not in str(heard)
        assert {task for task, _, _ in kept.on_disk} == {"b"}
