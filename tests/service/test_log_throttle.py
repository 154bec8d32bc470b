"""Log lines that repeat are written a few times a minute, and then counted."""

import logging
from collections.abc import Iterator

import pytest

from shuffledp.service.shuffler.log_throttle import NAMES, PERIOD, Repeated, limited

LOG = logging.getLogger(NAMES[0])


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def repeated(clock: Clock, caplog: pytest.LogCaptureFixture) -> Iterator[Repeated]:
    caplog.set_level(logging.INFO, NAMES[0])
    made = Repeated(3, clock)
    with limited(made):
        yield made


def test_a_few_of_a_kind_pass_in_a_period(repeated: Repeated, clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    del repeated
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


def test_what_is_no_trouble_is_always_written(repeated: Repeated, caplog: pytest.LogCaptureFixture) -> None:
    del repeated
    for number in range(100):
        LOG.info("batch %d is released", number)
    assert len(caplog.messages) == 100


def test_what_was_held_back_is_summed_up(repeated: Repeated, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(5):
        logging.getLogger("uvicorn.error").warning("Invalid HTTP request received.")
        LOG.error("once")
    caplog.clear()
    repeated.sum_up()
    assert sorted(caplog.messages) == [
        "Invalid HTTP request received. (2 more like this were not logged)",
        "once (2 more like this were not logged)",
    ]
    repeated.sum_up()
    assert len(caplog.messages) == 2


def test_kinds_take_little_memory(repeated: Repeated, caplog: pytest.LogCaptureFixture) -> None:
    """Of thousands of kinds each is written, or counted with others."""
    for number in range(5000):
        LOG.error("trouble with %s", f"file {number}")
    assert 1000 <= len(caplog.messages) <= 1010
    repeated.sum_up()
    assert "more like this were not logged" in caplog.messages[-1]


def test_other_logs_are_left_alone_and_so_are_these_afterwards(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    with limited(Repeated(1, clock)):
        for _ in range(5):
            logging.getLogger("elsewhere").error("twice")
    for _ in range(5):
        LOG.error("twice")
    assert len(caplog.messages) == 10
