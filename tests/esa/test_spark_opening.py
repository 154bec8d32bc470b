"""Sealed reports on Spark: opened, kept once, released in a secret order, opened again and counted, as without it."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oracles.parties import ANALYZER, EIGHT, SHUFFLER, sealed
from oracles.scale import full
from shuffledp import InvalidInput
from shuffledp.cluster import session as sessions
from shuffledp.esa.analyzer import analyze
from shuffledp.esa.crypto import seal_inner
from shuffledp.esa.keys import KeyRing
from shuffledp.esa.ledger import Ledger
from shuffledp.esa.opened import OpenedBefore
from shuffledp.esa.opening import open_here, tally_here
from shuffledp.esa.shuffler import Shuffler
from shuffledp.esa.spark_opening import SparkOpeners, _secrets
from shuffledp.stores.registry import open_store

pytestmark = pytest.mark.xdist_group("spark")
REPORTS = full(1_500, 200_000)
GARBAGE = [b"", b"x" * 126, bytes(126)]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Spark warns of versions of pandas."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture
def openers(spark: Any) -> SparkOpeners:
    return SparkOpeners(spark)


def test_the_whole_way_is_the_same_on_spark(openers: SparkOpeners, tmp_path: Path) -> None:
    """Outer layers opened, duplicates and garbage dropped, permuted by a key, inner layers opened, counted."""
    messages = np.random.default_rng(6).integers(0, 8, REPORTS).tolist()
    reports = [sealed(message, EIGHT) for message in messages]
    broken = bytes([*reports[0][:-1], reports[0][-1] ^ 1])
    sent = [*reports, *GARBAGE, broken, *reports[: REPORTS // 10]]
    batches, outcomes, results = [], [], []
    for opener, tallier in ((open_here, None), (openers, openers)):
        shuffler = Shuffler(
            store=open_store(":memory:"), ring=SHUFFLER, clock=lambda: 0.0, secrets=lambda: bytes(32), opener=opener
        )
        shuffler.serve(EIGHT, ANALYZER.public())
        outcomes.append(shuffler.accept(EIGHT.id, sent))
        batch = shuffler.close(EIGHT.id, whatever_the_window=True)
        assert not isinstance(batch, str)
        batches.append(b"".join(shuffler.fetch(batch.id) or ()))
        ledger = Ledger(tmp_path / f"{len(batches)}.ledger", epsilon=1.0, delta=1e-2)
        opened = OpenedBefore(tmp_path / f"{len(batches)}")
        results.append(analyze(batches[-1], EIGHT, ANALYZER, ledger=ledger, opened_before=opened, tallier=tallier))
        with pytest.raises(InvalidInput, match="fewer than"):
            analyze(batches[-1][: 71 * 20], EIGHT, ANALYZER, tallier=tallier)
    assert outcomes[0] == outcomes[1]
    assert batches[0] == batches[1]
    here, there = results
    assert here.counts.values.tolist() == there.counts.values.tolist() == np.bincount(messages, minlength=8).tolist()
    assert here.document()["ledger"]["spent_epsilon"] == there.document()["ledger"]["spent_epsilon"]


def test_records_that_do_not_open_are_told_apart_as_here(openers: SparkOpeners) -> None:
    rotated = ANALYZER.introduced()
    records = [seal_inner(j % 8, EIGHT, ANALYZER.public()) for j in range(40)]
    records += [b"", b"y" * 71, bytes([9, *records[0][1:]]), bytes([*records[0][:-1], 1 ^ records[0][-1]])]
    (found,) = openers.tallies(records, rotated, EIGHT.id, 8)
    assert found == tally_here(records, rotated, EIGHT.id, 8)
    assert found.total() == len(records)
    assert openers(records, rotated, EIGHT.id, 1) == open_here(records, rotated, EIGHT.id, 1)
    assert openers([], rotated, EIGHT.id, 1) == []


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
            SparkOpeners(_Session(master))


def test_a_ring_of_the_wrong_party_opens_nothing(openers: SparkOpeners) -> None:
    records = [seal_inner(1, EIGHT, ANALYZER.public())] * 60
    with pytest.raises(InvalidInput, match="keys of the shuffler"):
        analyze(b"".join(records), EIGHT, KeyRing.fresh("shuffler"), tallier=openers)
