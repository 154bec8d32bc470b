"""Sealed reports on Spark: opened, kept once, released in a secret order, opened again and counted, as without it."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import numpy as np
import pytest

from oracles.parties import ANALYZER, EIGHT, SHUFFLER, SIXTEEN, prepared, sealed
from oracles.process import called, run
from oracles.scale import full
from oracles.server import running
from oracles.spark import Recut, connect_url
from oracles.spark_tasks import dies_at_first
from shuffledp import InvalidInput
from shuffledp.cluster import spark_session as sessions
from shuffledp.core.report_outcome import Outcome
from shuffledp.service.analyzer.analyzer import analyze
from shuffledp.service.analyzer.ledger import Ledger
from shuffledp.service.analyzer.opened_reports import OpenedReports
from shuffledp.service.sealing import spark_unsealing
from shuffledp.service.sealing.hpke import seal_inner
from shuffledp.service.sealing.keys import KeyRing
from shuffledp.service.sealing.spark_unsealing import WORTH_A_JOB, SparkFirst, SparkUnsealers, _secrets
from shuffledp.service.sealing.unsealing import Tallier, Unsealer, Unsealers, tally_here, unseal_here
from shuffledp.service.shuffler.http import OCTETS
from shuffledp.service.shuffler.shuffler import Shuffler
from shuffledp.service.stores.registry import open_store

pytestmark = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore"),
]  # Spark warns of versions of pandas
REPORTS = full(1_500, 200_000)
GARBAGE = [b"", b"x" * 126, bytes(126)]


@pytest.fixture
def unsealers(spark: Any) -> SparkUnsealers:
    return SparkUnsealers(spark)


CUTS: list[Callable[[Any], Any]] = [
    lambda pieces: pieces,
    lambda pieces: pieces.repartition(1),
    lambda pieces: pieces.repartition(3).sortWithinPartitions("piece"),
    lambda pieces: pieces.repartitionByRange(5, "piece"),
    lambda pieces: pieces.repartition(4).mapInArrow(dies_at_first, pieces.schema),
]
"""Five ways to cut work into tasks; in the last, processes of tasks die."""
Way = tuple[Unsealer, Tallier | None]


@pytest.fixture
def ways(spark: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Way]]:
    """All engines: one process, several, and Spark however work is cut."""
    monkeypatch.setattr(spark_unsealing, "_TOGETHER", REPORTS // 15)
    found: list[Way] = [(on, on) for on in (SparkUnsealers(Recut(spark, cut)) for cut in CUTS)]
    with Unsealers(2, timeout=600) as processes:
        yield [(unseal_here, None), (processes, processes), *found]


def shuffling(unsealer: Unsealer) -> Shuffler:
    """A shuffler whose secret order is the same each time."""
    made = Shuffler(
        store=open_store(":memory:"), ring=SHUFFLER, clock=lambda: 0.0, secrets=lambda: bytes(32), unsealer=unsealer
    )
    made.serve(EIGHT, ANALYZER.public())
    return made


def test_the_whole_way_is_the_same_on_every_engine(ways: list[Way], tmp_path: Path) -> None:
    """Outer layers opened, duplicates and garbage dropped, permuted by a key, inner layers opened, counted."""
    messages = np.random.default_rng(6).integers(0, 8, REPORTS).tolist()
    reports = [sealed(message, EIGHT) for message in messages]
    broken = bytes([*reports[0][:-1], reports[0][-1] ^ 1])
    sent = [*reports, *GARBAGE, broken, *reports[: REPORTS // 10]]
    first: list[Any] = []
    for number, (unsealer, tallier) in enumerate(ways):
        shuffler = shuffling(unsealer)
        outcomes = shuffler.accept(EIGHT.id, sent)
        batch = shuffler.close(EIGHT.id, ignore_window=True)
        assert not isinstance(batch, str)
        released = b"".join(shuffler.fetch(batch.id) or ())
        ledger = Ledger(tmp_path / f"{number}.ledger", epsilon=1.0, delta=1e-2)
        opened = OpenedReports(tmp_path / f"{number}")
        result = analyze(released, EIGHT, ANALYZER, ledger=ledger, opened_reports=opened, tallier=tallier)
        found = [outcomes, released, result.counts.values.tolist(), result.document()["ledger"]["spent_epsilon"]]
        first = first or found
        assert found == first  # the batch too: the same messages, in the same order
        shuffler.shut_down()
    assert first[2] == np.bincount(messages, minlength=8).tolist()


def test_every_engine_holds_a_batch_until_it_is_large_enough(ways: list[Way]) -> None:
    least = EIGHT.release_size
    reports = [sealed(j % 8, EIGHT) for j in range(least)]
    for unsealer, tallier in ways:
        shuffler = shuffling(unsealer)
        shuffler.accept(EIGHT.id, [*reports[:-1], *reports[:-1], *GARBAGE])
        assert shuffler.close(EIGHT.id, ignore_window=True) == "batch_too_small"
        shuffler.accept(EIGHT.id, [*reports, *GARBAGE])
        batch = shuffler.close(EIGHT.id, ignore_window=True)
        assert not isinstance(batch, str)
        assert batch.count == least
        released = b"".join(shuffler.fetch(batch.id) or ())
        each = len(released) // least
        with pytest.raises(InvalidInput, match=f"no shuffler may release fewer than {EIGHT.plan.min_batch:,}"):
            analyze(released[: each * (EIGHT.plan.min_batch - 1)], EIGHT, ANALYZER, tallier=tallier)
        assert analyze(released[: each * EIGHT.plan.min_batch], EIGHT, ANALYZER, tallier=tallier).n > 0
        shuffler.shut_down()


def test_records_that_do_not_open_are_told_apart_as_here(unsealers: SparkUnsealers) -> None:
    rotated = ANALYZER.introduced()
    records = [seal_inner(j % 8, EIGHT, ANALYZER.public()) for j in range(40)]
    records += [b"", b"y" * 71, bytes([9, *records[0][1:]]), bytes([*records[0][:-1], 1 ^ records[0][-1]])]
    (found,) = unsealers.tallies(records, rotated, EIGHT.id, 8)
    assert found == tally_here(records, rotated, EIGHT.id, 8)
    assert found.total() == len(records)
    assert unsealers(records, rotated, EIGHT.id, 1) == unseal_here(records, rotated, EIGHT.id, 1)
    assert unsealers([], rotated, EIGHT.id, 1) == []


def test_only_keys_that_records_name_leave_this_machine() -> None:
    ring = ANALYZER.introduced().rotated()
    record = seal_inner(1, EIGHT, ANALYZER.public())
    assert len(ring.keys) > 1
    role, keys = _secrets([record, b"garbage"], ring)
    assert role == "analyzer"
    assert [key_id for key_id, _, _ in keys] == [record[0]]


class _Conf:
    def __init__(self, settings: dict[str, str]) -> None:
        self._settings = settings

    def get(self, name: str, default: str | None) -> str | None:
        return self._settings.get(name, default)


class _Session:
    """What is asked of a session before keys are sent."""

    def __init__(self, master: str, **settings: str) -> None:
        self.conf = _Conf({name.replace("_", "."): value for name, value in settings.items()})
        self.sparkContext = type("Context", (), {"master": master})()


def test_keys_are_not_sent_over_a_network_in_clear() -> None:
    for master in ("local[2]", "spark://127.0.0.1:7077", "local-cluster[2,1,1024]"):
        sessions.check_carries_secrets(_Session(master))
    sessions.check_carries_secrets(_Session("yarn", spark_network_crypto_enabled="true"))
    for master in ("spark://cluster.example:7077", "yarn", "k8s://https://example:443"):
        with pytest.raises(InvalidInput, match="not encrypted"):
            SparkUnsealers(_Session(master))


def test_a_ring_of_the_wrong_party_opens_nothing(unsealers: SparkUnsealers) -> None:
    records = [seal_inner(1, EIGHT, ANALYZER.public())] * 60
    with pytest.raises(InvalidInput, match="keys belong to the shuffler"):
        analyze(b"".join(records), EIGHT, KeyRing.fresh("shuffler"), tallier=unsealers)


# A service that opens on Spark


class _Asked:
    """Spark as a service sees it, which does as it is told."""

    def __init__(self, does: Callable[[], None] = lambda: None) -> None:
        self.often, self.does = 0, does

    def __call__(self, records: Sequence[bytes], ring: KeyRing, task_id: str, hop: int) -> list[bytes | Outcome]:
        self.often += 1
        self.does()
        return [b"on Spark"] * len(records)


def _fails() -> None:
    raise InvalidInput("Spark could not do the work.")


def test_a_service_asks_spark_for_many_reports_only() -> None:
    asked = _Asked()
    with SparkFirst(asked, 1, patience=300) as unsealers:
        assert unsealers([b"x"] * (WORTH_A_JOB - 1), ANALYZER, EIGHT.id, 1) == [Outcome.INVALID_MESSAGE] * (
            WORTH_A_JOB - 1
        )
        assert asked.often == 0
        assert unsealers([b"x"] * WORTH_A_JOB, ANALYZER, EIGHT.id, 1) == [b"on Spark"] * WORTH_A_JOB


def test_a_service_goes_on_without_spark() -> None:
    records, here, now = [b"x"] * WORTH_A_JOB, [Outcome.INVALID_MESSAGE] * WORTH_A_JOB, [0.0]
    asked = _Asked(_fails)
    with SparkFirst(asked, 1, patience=300, clock=lambda: now[0]) as unsealers:
        for _ in range(2):  # it is left alone for a while
            assert unsealers(records, ANALYZER, EIGHT.id, 1) == here
        assert asked.often == 1
        now[0], asked.does = 1e3, lambda: None
        assert unsealers(records, ANALYZER, EIGHT.id, 1) == [b"on Spark"] * WORTH_A_JOB


def test_a_service_does_not_wait_for_spark_for_ever() -> None:
    records, here, now, wake = [b"x"] * WORTH_A_JOB, [Outcome.INVALID_MESSAGE] * WORTH_A_JOB, [0.0], Event()

    def waits() -> None:
        wake.wait()

    asked = _Asked(waits)
    with SparkFirst(asked, 1, patience=0.01, clock=lambda: now[0]) as unsealers:
        for now[0] in (0.0, 1e3, 1e6):  # busy with the first until it is woken
            assert unsealers(records, ANALYZER, EIGHT.id, 1) == here
        assert asked.often == 1
        wake.set()


def test_a_shuffler_and_an_analyzer_with_spark(spark: Any, tmp_path: Path) -> None:
    """The commands, from the upload to the answer: outer and inner layers are opened by jobs of Spark."""

    def jobs() -> int:
        return int(spark.sparkContext._jsc.sc().statusStore().jobsList(None).size())

    place = prepared(tmp_path / "service", SIXTEEN, SHUFFLER)
    where = f"--engine spark --remote {connect_url(spark)}"
    reports = [sealed(j % 16, SIXTEEN) for j in range(WORTH_A_JOB)]
    with running(place, f"{where} --answer-timeout 600") as server:
        before = jobs()
        sent = httpx.post(
            f"{server.url}/v2/tasks/{SIXTEEN.id}/reports", content=b"".join([*reports, reports[0]]), timeout=600,
            headers={"Content-Type": OCTETS},
        )  # fmt: skip
        assert sent.json()["outcomes"].count("accepted") == len(reports)
        assert jobs() > before
        closed = called(f"shuffler close task.json --url {server.url} --token operator.token", cwd=place)
        assert closed.returncode == 0, closed.stderr
        before, found = jobs(), list[Any]()
        for engine in (where, "--engine processes"):
            line = f"analyzer run task.json --url {server.url} --token analyzer.token --keys analyzer.key --json"
            done = run(f"{line} --opened opened-{len(found)} {engine}", cwd=place)
            assert done.returncode == 0, done.stderr
            found.append(json.loads(done.stdout))
            assert jobs() > before
    assert found[0] == found[1]
    assert found[0]["n"] == len(reports)
