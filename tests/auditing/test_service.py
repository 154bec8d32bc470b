"""Audits of a running service: of the one that is shipped, and of three that are broken."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from oracles.scale import full
from shuffledp import Finding, InvalidInput, audit_service, plan
from shuffledp.auditing.conduct import conduct
from shuffledp.auditing.service import Service
from shuffledp.auditing.subject import Claimed
from shuffledp.core.outcome import Outcome
from shuffledp.esa.client import Announcement
from shuffledp.esa.keys import KeyRing
from shuffledp.esa.wire import report_id
from shuffledp.stores.batch import Batch, NextKey
from shuffledp.stores.intake import Intake

PLAN = plan("histogram", n=16, epsilon=0.5, delta=0.1, size=2)
CLAIMED = Claimed(epsilon=PLAN.guarantee.epsilon, delta=PLAN.guarantee.delta, by="the plan")
TRIALS = full(90, 600)


class Pinned:
    """New words at every call, like the system's, and the same ones in every run of the test."""

    private = False

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def stream(self, first_row: int, count: int, lane: int) -> NDArray[np.uint8]:
        return self._generator.integers(0, 256, count, dtype=np.uint8)

    def blocks(self, rows: NDArray[np.uint64], draw: int) -> NDArray[np.uint64]:
        return self._generator.integers(0, 1 << 64, (len(rows), 2), dtype=np.uint64)


def audited(kind: type[Service]) -> Finding:
    return conduct(kind(PLAN, claimed=CLAIMED, words=Pinned(1)), trials=TRIALS)


def test_the_service_that_is_shipped_keeps_its_claim() -> None:
    found = audit_service(PLAN, trials=full(20, 600), words=Pinned(1))
    assert found.verdict != "violated"
    assert found.n == 16
    assert found.epsilon <= found.claimed.epsilon


class FreshCoins(Service):
    """Its client randomizes again whenever it tries again."""

    def sent_by_user(self, value: Any, announced: Announcement, folder: Path) -> Sequence[bytes]:
        return [self.sent_by_another(value, announced) for _ in range(10)]


def test_a_client_that_retries_with_fresh_coins() -> None:
    found = audited(FreshCoins)
    assert found.verdict == "violated"
    assert "the counts" in found.worlds


def test_a_shuffler_that_releases_in_the_order_of_arrival(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its store already forgets that order, so it must be remembered elsewhere for this to go wrong."""
    arrived: list[bytes] = []

    def remembered(inner: bytes) -> bytes:
        arrived.append(report_id(inner))
        return arrived[-1]

    def as_they_came(ids: NDArray[np.uint8], secret: bytes) -> NDArray[np.intp]:
        places = {name: place for place, name in reversed(list(enumerate(arrived)))}
        return np.argsort([places[row.tobytes()] for row in ids])

    monkeypatch.setattr("shuffledp.esa.shuffler.report_id", remembered)
    monkeypatch.setattr("shuffledp.esa.release.order", as_they_came)
    found = audited(Service)
    assert found.verdict == "violated"
    assert "the message at place 1" in found.worlds


class StaleKeys(Service):
    """Its user was given a key that nobody else uses any more."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.analyzer_ring = KeyRing.fresh("analyzer").rotated()

    def sent_by_user(self, value: Any, announced: Announcement, folder: Path) -> Sequence[bytes]:
        stale = next(key for key in self.analyzer_ring.keys if key.state == "EXPIRED")
        return super().sent_by_user(value, replace(announced, key_id=stale.key_id), folder)


class AnyKey(dict[int, Batch]):
    """One batch, whichever key a report names."""

    def get(self, key: int, default: Any = None) -> Any:
        return next(iter(self.values()), None)


def test_a_user_with_a_key_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shuffler refuses such a report. One that does not gives the user away."""
    with pytest.raises(InvalidInput, match="released nothing"):
        audited(StaleKeys)

    def careless(opened: Sequence[Batch], keys: dict[int, NextKey], window: int | None) -> Intake:
        return Intake(batches=AnyKey({0: opened[-1]}), missed=Outcome.OUTDATED_KEY)

    monkeypatch.setattr("shuffledp.stores.sqlite.collecting.announced", careless)
    found = audited(StaleKeys)
    assert found.verdict == "violated"
    assert "the rarest key" in found.worlds


def test_a_plan_whose_laws_are_not_known_is_refused() -> None:
    asked = plan("mean", n=40, epsilon=8.0, delta=1e-2, high=10.0, by={"carrier": ["AA", "B6"]})
    with pytest.raises(InvalidInput, match="closed form"):
        audit_service(asked, trials=20)
