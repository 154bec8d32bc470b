"""Rate limits: leaky buckets, in memory only, under names that mean nothing outside this process."""

import hmac
import ipaddress
import os
from collections.abc import Callable
from typing import Final

_BUCKETS: Final = 100_000
DEBT: Final = 10.0
"""The longest that anybody has to wait, in seconds: debt beyond that is forgiven."""


class Rate:
    """A number of reports per second for each name. An upload passes while its bucket is not empty, and may leave it in debt."""

    def __init__(self, per_second: float, clock: Callable[[], float]) -> None:
        self._per_second, self._clock = per_second, clock
        self._key = os.urandom(32)
        self._buckets: dict[bytes, tuple[float, float]] = {}

    def wait(self, name: str) -> float:
        """Seconds until this name may send again; 0 if it may now."""
        level, _ = self._level(name)
        return 0.0 if level > 0 else 0.001 - level / self._per_second

    def take(self, name: str, reports: int) -> None:
        """Charge a name for reports."""
        level, bucket = self._level(name)
        if len(self._buckets) >= _BUCKETS and bucket not in self._buckets:
            self._forget(self._clock())
        self._buckets[bucket] = (max(level - reports, -DEBT * self._per_second), self._clock())

    def _level(self, name: str) -> tuple[float, bytes]:
        bucket, now = hmac.digest(self._key, name.encode(), "sha256"), self._clock()
        level, since = self._buckets.get(bucket, (self._per_second, now))
        return min(self._per_second, level + max(0.0, now - since) * self._per_second), bucket

    def _forget(self, now: float) -> None:
        """Names that would be full again need not be known; if all are busy, nobody's debt is worth the memory."""
        busy = {
            bucket: (level, since)
            for bucket, (level, since) in self._buckets.items()
            if level + (now - since) * self._per_second < self._per_second
        }
        self._buckets = busy if len(busy) < _BUCKETS else {}


def network(host: str) -> str:
    """What a connection is charged to: its IPv4 address, or its IPv6 network, because everybody there has many addresses."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return str(address) if address.version == 4 else str(ipaddress.ip_network((host, 64), strict=False))
