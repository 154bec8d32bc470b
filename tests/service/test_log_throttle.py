"""Log lines that repeat are written a few times a minute, and then counted."""

import logging
from collections.abc import Iterator

import pytest

from oracles.clock import Clock
from shuffledp.service.shuffler.log_throttle import NAMES, PERIOD, LogThrottle, throttled

LOG = logging.getLogger(NAMES[0])


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def throttle(clock: Clock, caplog: pytest.LogCaptureFixture) -> Iterator[LogThrottle]:
    caplog.set_level(logging.INFO, NAMES[0])
    made = LogThrottle(3, clock)
    with throttled(made):
        yield made


def test_a_few_of_a_kind_pass_in_a_period(
    throttle: LogThrottle, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    del throttle
    for number in range(100):
        LOG.error("%d uploads were not accepted: %s", number, "full")
        LOG.error("%d uploads were not accepted: %s", number, "locked")
    assert [text for text in caplog.messages if text.endswith("full")] == [
        f"{number} uploads were not accepted: full" for number in range(3)
    ]
    assert len(caplog.messages) == 6
    clock.now += PERIOD
    LOG.error("%d uploads were not accepted: %s", 100, "full")
    assert caplog.messages[-1] == "100 uploads were not accepted: full (97 more like this were not logged)"


def test_what_is_no_trouble_is_always_written(throttle: LogThrottle, caplog: pytest.LogCaptureFixture) -> None:
    del throttle
    for number in range(100):
        LOG.info("batch %d is released", number)
    assert len(caplog.messages) == 100


def test_what_was_held_back_is_summed_up(throttle: LogThrottle, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(5):
        logging.getLogger("uvicorn.error").warning("Invalid HTTP request received.")
        LOG.error("once")
    caplog.clear()
    throttle.sum_up()
    assert sorted(caplog.messages) == [
        "Invalid HTTP request received. (2 more like this were not logged)",
        "once (2 more like this were not logged)",
    ]
    throttle.sum_up()
    assert len(caplog.messages) == 2


def test_kinds_take_little_memory(throttle: LogThrottle, caplog: pytest.LogCaptureFixture) -> None:
    """Of thousands of kinds each is written, or counted with others."""
    for number in range(5000):
        LOG.error("trouble with %s", f"file {number}")
    assert 1000 <= len(caplog.messages) <= 1010
    throttle.sum_up()
    assert "more like this were not logged" in caplog.messages[-1]


def test_other_logs_are_left_alone_and_so_are_these_afterwards(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    with throttled(LogThrottle(1, clock)):
        for _ in range(5):
            logging.getLogger("elsewhere").error("twice")
    for _ in range(5):
        LOG.error("twice")
    assert len(caplog.messages) == 10
