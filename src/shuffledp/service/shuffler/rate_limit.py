"""Rate limits: buckets, in memory only, under names that mean nothing outside this process."""

import hmac
import ipaddress
import os
from collections.abc import Callable
from typing import Final

_BUCKETS: Final = 100_000


class RateLimit:
    """A number of reports per second for each name: as many as it allows in its window may come at once, and no more.

    Attributes:
        most: reports that may come at once; at least one.
    """

    def __init__(self, per_second: float, window: float, clock: Callable[[], float]) -> None:
        self._per_second, self._clock = per_second, clock
        self._full = max(1.0, per_second * window)
        self.most = int(self._full)
        self._key = os.urandom(32)
        self._buckets: dict[bytes, tuple[float, float]] = {}

    def level(self, name: str) -> float:
        """How many reports this name may send now."""
        return self._level(self._bucket(name))

    def wait(self, name: str, reports: float) -> float:
        """Seconds until this name may send so many; 0 if it may now."""
        return max(0.0, reports - self.level(name)) / self._per_second

    def take(self, name: str, reports: float) -> float:
        """Charge a name for reports, all or none: how long it has to wait, and 0 if it was charged."""
        bucket = self._bucket(name)
        level = self._level(bucket)
        if level < reports:
            return (reports - level) / self._per_second
        self._set(bucket, level - reports)
        return 0.0

    def give_back(self, name: str, reports: float) -> None:
        """Reports that were charged and not sent after all."""
        bucket = self._bucket(name)
        self._set(bucket, min(self._full, self._level(bucket) + reports))

    def _bucket(self, name: str) -> bytes:
        return hmac.digest(self._key, name.encode(), "sha256")

    def _level(self, bucket: bytes) -> float:
        now = self._clock()
        level, since = self._buckets.get(bucket, (self._full, now))
        return min(self._full, level + max(0.0, now - since) * self._per_second)

    def _set(self, bucket: bytes, level: float) -> None:
        if len(self._buckets) >= _BUCKETS and bucket not in self._buckets:
            self._forget()
        self._buckets[bucket] = (level, self._clock())

    def _forget(self) -> None:
        """Names that would be full again need not be known; if all are busy, what they sent is not worth the memory."""
        busy = {bucket: found for bucket, found in self._buckets.items() if self._level(bucket) < self._full}
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
