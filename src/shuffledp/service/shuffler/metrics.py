"""What monitoring may see, as Prometheus metrics: nothing that tells when one report arrived.

Whoever sees a counter rise with each report knows when a victim's has arrived, and can send the rest of the batch. So reports are
counted when their batch ends, the fill of an open batch is rounded down to quarters, and what is waiting to thousands.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from shuffledp.core.report_outcome import Outcome
from shuffledp.service.shuffler.shuffler import Shuffler

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST


class Metrics(Collector):
    """The metrics of one shuffler, a handle used for nothing else; `waiting` says how many reports are waiting.

    Attributes:
        refused: requests that were refused, by kind: exact, because none of their reports was accepted.
    """

    def __init__(self, shuffler: Shuffler, waiting: Callable[[], int]) -> None:
        self._shuffler, self._waiting = shuffler, waiting
        self.refused: Counter[str] = Counter()
        self._seen: dict[str, Counter[Outcome]] = {}
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)

    def ended(self, task_id: str) -> None:
        """Show the reports of a batch from now on: it has ended."""
        self._seen[task_id] = Counter(self._shuffler.counters[task_id])

    def text(self) -> bytes:
        """All metrics in Prometheus' format; reads the store."""
        return generate_latest(self._registry)

    def describe(self) -> list[Metric]:
        """Nothing: values are looked up when they are asked for."""
        return []

    def collect(self) -> Iterator[Metric]:
        """The current values of all metrics."""
        reports = CounterMetricFamily(
            "shuffledp_reports", "Reports by outcome, counted when their batch ends.", labels=("task", "outcome")
        )
        destroyed = CounterMetricFamily(
            "shuffledp_reports_destroyed", "Accepted reports that were destroyed.", labels=("task",)
        )
        fill = GaugeMetricFamily(
            "shuffledp_batch_fill", "Share of the reports that a release needs, in quarters.", labels=("task",)
        )
        closing = GaugeMetricFamily("shuffledp_batches_closing", "Batches that are being released.", labels=("task",))
        for task_id in list(self._shuffler.counters):
            batches = self._shuffler.store.batches(task_id)
            lost = sum(batch.count for batch in batches if batch.state == "DESTROYED")
            reports.add_metric(
                (task_id, Outcome.ACCEPTED), lost + sum(batch.count for batch in batches if batch.state == "RELEASED")
            )
            for outcome, count in sorted(self._seen.get(task_id, Counter[Outcome]()).items()):
                if outcome is not Outcome.ACCEPTED:
                    reports.add_metric((task_id, outcome), count)
            destroyed.add_metric((task_id,), lost)
            closing.add_metric((task_id,), sum(batch.state == "CLOSING" for batch in batches))
            task = self._shuffler.tasks.get(task_id)
            for batch in batches if task is not None else ():
                if batch.state == "OPEN" and task is not None:
                    fill.add_metric((task_id,), math.floor(4 * min(1.0, batch.count / task.release_size)) / 4)
        refused = CounterMetricFamily("shuffledp_refused_requests", "Requests that were refused.", labels=("kind",))
        for kind, count in sorted(self.refused.items()):
            refused.add_metric((kind,), count)
        waiting = GaugeMetricFamily("shuffledp_waiting_reports", "Reports waiting for the disk, in thousands.")
        waiting.add_metric((), self._waiting() // 1000 * 1000)
        yield from (reports, destroyed, fill, closing, refused, waiting)
