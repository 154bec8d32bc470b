"""Helper processes that open records: whatever becomes of them, nothing is lost and nobody waits for ever."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from multiprocessing import active_children
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from oracles.clock import Clock
from oracles.parties import ANALYZER, EIGHT, SHUFFLER, sealed
from shuffledp.service.sealing.unsealing import Unsealers, unseal_here

RECORDS = [sealed(j % 8, EIGHT) for j in range(300)] + [b"x" * 126]
OPENED = unseal_here(RECORDS, SHUFFLER, EIGHT.id, 1)


OTHERS = set[int]()
"""Processes that earlier tests left running in this one."""


@pytest.fixture(autouse=True)
def _others() -> None:
    OTHERS.clear()
    OTHERS.update(child.pid for child in active_children() if child.pid is not None)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def unsealers(clock: Clock) -> Iterator[Unsealers]:
    with Unsealers(2, timeout=120.0, pause=10.0, clock=clock) as made:
        yield made


def opened(unsealers: Unsealers) -> bool:
    """Whether all records are opened as they should be."""
    return unsealers(RECORDS, SHUFFLER, EIGHT.id, 1) == OPENED


def helpers() -> list[int]:
    return [child.pid for child in active_children() if child.pid is not None and child.pid not in OTHERS]


def test_helpers_open_what_this_process_would(unsealers: Unsealers) -> None:
    assert opened(unsealers)
    first = helpers()
    assert len(first) == 2
    assert opened(unsealers)
    assert helpers() == first
    assert sum(
        map(len, unsealers.tallies([record for record in OPENED if isinstance(record, bytes)], ANALYZER, EIGHT.id, 8))
    )


@pytest.mark.parametrize("trouble", [OSError(11, "no more processes"), PermissionError(1, "no"), RuntimeError("no")])
def test_helpers_that_cannot_start_are_done_without(
    unsealers: Unsealers, clock: Clock, monkeypatch: pytest.MonkeyPatch, trouble: Exception
) -> None:
    """Also when only the second cannot; and it is not tried again at every upload, but after a pause."""
    honest, started = BaseProcess.start, 0

    def start(process: Any) -> None:
        nonlocal started
        started += 1
        if started % 2 == 0:
            raise trouble
        honest(process)

    with monkeypatch.context() as patch:
        patch.setattr(BaseProcess, "start", start)
        for _ in range(3):
            assert opened(unsealers)
        assert started == 2
        assert helpers() == []
        clock.now += 10.1
        assert opened(unsealers)
        assert started == 4
        clock.now += 10.1  # a second failure in a row: twice as long
        assert opened(unsealers)
        assert started == 4
    clock.now += 10.1
    assert opened(unsealers)
    assert len(helpers()) == 2


def test_a_helper_that_does_not_answer_is_killed_and_its_records_are_opened_here(
    unsealers: Unsealers, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    assert opened(unsealers)
    stopped = helpers()
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    unsealers.timeout = 0.2
    assert opened(unsealers)
    assert not any(Path(f"/proc/{pid}").exists() for pid in stopped)
    assert "did not answer in time" in caplog.text
    unsealers.timeout = 120.0
    clock.now += 10.1
    assert opened(unsealers)
    assert len(helpers()) == 2


def test_killed_helpers_lose_nothing(unsealers: Unsealers) -> None:
    assert opened(unsealers)
    for pid in helpers():
        os.kill(pid, signal.SIGKILL)
    assert opened(unsealers)


def test_stopped_helpers_do_not_keep_anybody_from_closing(unsealers: Unsealers) -> None:
    assert opened(unsealers)
    stopped = helpers()
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    unsealers.close()
    unsealers.close()
    assert not any(Path(f"/proc/{pid}").exists() for pid in stopped)


def test_a_failure_in_a_helper_is_heard_here(unsealers: Unsealers, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(TypeError):
        unsealers(RECORDS, SHUFFLER, 7, 1)  # type: ignore[arg-type]
    assert capfd.readouterr().err == ""


def test_the_start_of_a_helper_imports_little() -> None:
    line = (
        "import sys, shuffledp.service.sealing.unsealing; "
        "print(any(m in sys.modules for m in ('numpy', 'flint', 'starlette')))"
    )
    done = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
