"""Audits of a running service, in this process and at an address: of the one that is shipped, and of three that are broken."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from oracles import careless
from oracles.parties import SHUFFLER, prepared, sealed
from oracles.scale import full
from oracles.server import Server, running
from shuffledp import Finding, InvalidInput, audit_service, plan
from shuffledp.auditing.conduct import conduct
from shuffledp.auditing.deployment import Deployment, InProcess, OverHttp
from shuffledp.auditing.service import Service
from shuffledp.auditing.subject import Claimed
from shuffledp.service.client.client import Announcement
from shuffledp.service.client.sender import Sender
from shuffledp.service.sealing.keys import KeyRing
from shuffledp.service.task import Task

PLAN = plan("histogram", n=20, epsilon=0.3, delta=0.1, size=2)
CLAIMED = Claimed(epsilon=PLAN.guarantee.epsilon, delta=PLAN.guarantee.delta, by="the plan")
TRIALS = full(80, 200)
"""Of which a message that can be told from the others is found with a chance of 97 %."""
TERMS: dict[str, Any] = {"window": 3600, "max_age": 7200, "analyzer": "Audit", "honest_fraction": 1.0}
TASK = Task(plan=PLAN, shufflers=("Audit",), allow_same_operator=True, **TERMS)
Where = Callable[..., Deployment]
PLACES = ["in process", "over HTTP"]
BOTH = pytest.mark.parametrize("where", PLACES, indirect=True)
MOSTLY_HERE = pytest.mark.parametrize("where", PLACES[: full(1, 2)], indirect=True)
"""A batch over HTTP costs four times as much."""


class Pinned:
    """New words at every call, like the system's, and the same ones in every run of the test."""

    private = False

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def reserve(self) -> None:
        """They are not for releases."""

    def stream(self, first_row: int, count: int, lane: int) -> NDArray[np.uint8]:
        return self._generator.integers(0, 256, count, dtype=np.uint8)

    def blocks(self, rows: NDArray[np.uint64], draw: int) -> NDArray[np.uint64]:
        return self._generator.integers(0, 1 << 64, (len(rows), 2), dtype=np.uint64)


def at(server: Server, task: Task = TASK, ring: KeyRing | None = None) -> OverHttp:
    tokens = {f"{role}_token": (server.folder / f"{role}.token").read_text() for role in ("operator", "analyzer")}
    return OverHttp(task, server.url, ring=ring or KeyRing.load(server.folder / "analyzer.key"), **tokens)


@pytest.fixture
def where(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Where]:
    """A new deployment, with a bug or without."""
    with ExitStack() as held:

        def made(bug: str = "", rotated: bool = False) -> Deployment:
            ring = KeyRing.fresh("analyzer").rotated() if rotated else KeyRing.fresh("analyzer")
            if request.param == "in process":
                if bug:
                    careless.BUGS[bug](monkeypatch.setattr)
                return InProcess(PLAN, ring)
            folder = prepared(tmp_path / f"served{bug}", TASK, SHUFFLER)
            ring.save(folder / "analyzer.key")
            (folder / "analyzer.pub.json").write_text(json.dumps(ring.public().document()))
            return at(held.enter_context(running(folder, bug=bug)))

        yield made


def audited(deployment: Deployment, kind: type[Service] = Service) -> Finding:
    return conduct(kind(deployment, claimed=CLAIMED, randomness=Pinned(1)), trials=TRIALS)


@MOSTLY_HERE
def test_the_service_that_is_shipped_keeps_its_claim(where: Where) -> None:
    found = audit_service(where(), trials=full(20, 200))
    assert found.verdict != "violated"
    assert found.n == 20
    assert found.epsilon <= found.claimed.epsilon


@BOTH
def test_a_shuffler_that_releases_in_the_order_of_arrival(where: Where) -> None:
    found = audited(where("in_the_order_of_arrival"))
    assert found.verdict == "violated"
    assert "the message at place 1" in found.worlds
    assert found.singled_out is not None
    assert found.singled_out > found.claimed.epsilon  # it was said in advance that this would be noticed


class FreshCoins(Service):
    """Its client randomizes again whenever it tries again."""

    def sent_by_user(self, value: Any, announced: Announcement, folder: Path) -> Sequence[bytes]:
        return [self.sent_by_another(value, announced) for _ in range(10)]


@MOSTLY_HERE
def test_a_client_that_retries_with_fresh_coins(where: Where) -> None:
    found = audited(where(), FreshCoins)
    assert found.verdict == "violated"
    assert "the counts" in found.worlds


class StaleKeys(Service):
    """Its user was given a key that nobody else uses any more."""

    def sent_by_user(self, value: Any, announced: Announcement, folder: Path) -> Sequence[bytes]:
        stale = next(key for key in self.deployment.ring.keys if key.state == "EXPIRED")
        return super().sent_by_user(value, replace(announced, key_id=stale.key_id), folder)


@MOSTLY_HERE
def test_a_user_with_a_key_of_its_own(where: Where) -> None:
    """The shuffler refuses such a report. One that does not gives the user away."""
    with pytest.raises(InvalidInput, match=r"release nothing.*outdated_key"):
        audited(where(rotated=True), StaleKeys)
    found = audited(where("under_any_key", rotated=True), StaleKeys)
    assert found.verdict == "violated"
    assert "the rarest key" in found.worlds


def test_a_shuffler_that_somebody_else_reports_to_is_not_audited(tmp_path: Path) -> None:
    folder = prepared(tmp_path, TASK, SHUFFLER)
    with running(folder) as server:
        Sender(url=server.url).send(TASK, [sealed(0, TASK)])
        with pytest.raises(InvalidInput, match="21 reports, and the audit sent 20"):
            audit_service(at(server), trials=20)
        wrong = OverHttp(TASK, server.url, ring=KeyRing.fresh("analyzer"), operator_token="x", analyzer_token="y")
        with pytest.raises(InvalidInput, match="not in your list"):
            audit_service(wrong, trials=20)
    with pytest.raises(InvalidInput, match="could not be reached"):
        audit_service(at(server), trials=20)


@pytest.mark.parametrize(
    ("task", "ring", "message"),
    [
        (Task(plan=PLAN, shufflers=("Alpha",), **TERMS), KeyRing.fresh("analyzer"), "people may report to"),
        (
            Task(plan=PLAN, shufflers=("Audit", "Audit"), allow_same_operator=True, **TERMS),
            KeyRing.fresh("analyzer"),
            "has 2 shufflers",
        ),
        (TASK, SHUFFLER, "keys belong to the shuffler"),
    ],
)
def test_tasks_and_keys_that_are_not_for_an_audit(task: Task, ring: KeyRing, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        OverHttp(task, "http://127.0.0.1:1", ring=ring, operator_token="x", analyzer_token="y")


def test_a_plan_whose_laws_are_not_known_is_refused() -> None:
    asked = plan("mean", n=40, epsilon=8.0, delta=1e-2, high=10.0, by={"carrier": ["AA", "B6"]})
    with pytest.raises(InvalidInput, match="closed form"):
        audit_service(asked, trials=20)
