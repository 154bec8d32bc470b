"""How much one shuffler accepts, and how long it waits: each limit is an option of `shuffledp shuffler serve`."""

from dataclasses import dataclass, field
from typing import Any

from shuffledp.service.wire.exchange import UPLOAD_BYTES


def _limit(default: Any, meaning: str) -> Any:
    return field(default=default, metadata={"meaning": meaning})


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Numbers that an operator may change. Times are in seconds; None is no limit."""

    max_upload_bytes: int = _limit(UPLOAD_BYTES, "Bytes of one upload; above that, 413.")
    max_incoming_bytes: int = _limit(
        64 << 20,
        "Bytes of uploads arriving, or waiting for the disk, at the same time; above that, 429 for the slowest.",
    )
    max_waiting_reports: int = _limit(20_000, "Reports waiting to be written to disk; above that, 429.")
    max_waiting_uploads: int = _limit(2_000, "Uploads waiting to be written to disk; above that, 429.")
    max_connections: int = _limit(4_000, "Connections at the same time; above that, 503.")
    reports_per_commit: int = _limit(5_000, "Reports written to disk together.")
    rate: float | None = _limit(
        None, "Accepted reports per second from everybody together, in turn; above that, uploads wait."
    )
    rate_per_address: float | None = _limit(None, "Reports per second, good or bad, from one address; above that, 429.")
    rate_window: float = _limit(
        10.0, "Size of a burst within either rate, as seconds of that rate; an upload with more gets 413."
    )
    turn_timeout: float = _limit(10.0, "Seconds that an upload may wait for its turn within --rate; then 429.")
    head_timeout: float = _limit(30.0, "Seconds in which the head of a request must arrive.")
    upload_timeout: float = _limit(30.0, "Seconds in which the body of an upload must arrive; then 408.")
    answer_timeout: float = _limit(30.0, "Seconds that an upload may wait for the disk; then 503.")
    read_timeout: float = _limit(30.0, "Seconds in which a client must read what is sent to it (64 kB at a time).")
    idle_timeout: float = _limit(5.0, "Seconds that a connection is kept between requests.")
    helper_timeout: float = _limit(10.0, "Seconds that a process may take to open 512 reports.")
    stop_timeout: float = _limit(30.0, "Seconds within which the shuffler ends after SIGTERM, whatever hangs.")
    tick_interval: float = _limit(1.0, "Seconds between checks of the clock and the key files.")
    ready_free_bytes: int = _limit(100_000_000, "Free bytes on the store's disk below which /readyz says no.")
    ready_wait: float = _limit(10.0, "Seconds that the oldest upload may wait before /readyz says no.")
    log_lines: int = _limit(
        10, "Warnings and errors of one kind logged per minute; of any others only the number is logged."
    )
