"""Plans: as accurate as known, certified, and refused when tampered with."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from oracles.process import called as run
from shuffledp import InvalidInput, account
from shuffledp.core.canonical import digest
from shuffledp.planning.from_targets import plan_for as plan
from shuffledp.planning.plan import Plan

FORMER = Path(__file__).parents[1] / "golden" / "plan-version-2.json"


def rehashed(document: dict[str, Any]) -> dict[str, Any]:
    """An edited plan with the hash that belongs to the edit."""
    promised = {
        key: value for key, value in document.items() if key not in ("sha256", "local", "forecast", "certificate")
    }
    return document | {"sha256": digest(promised)}


@pytest.mark.parametrize(
    ("n", "epsilon", "most", "precision"),
    [(10**6, 1.0, 705, 33), (10**4, 1.0, 153, 7), (1000, 0.5, 175, 3), (1000, 1.0, 74, 4)],
)
def test_sums_are_as_accurate_as_known(n: int, epsilon: float, most: float, precision: int) -> None:
    found = plan("sum", n=n, epsilon=epsilon, delta=1e-6)
    assert found.mean_squared_error <= most
    assert abs(found.protocol.alphabet - 1 - precision) <= 1
    assert found.holds()
    assert found.guarantee.bound == "best"


def test_no_neighbouring_precision_is_better() -> None:
    best = plan("sum", n=10**5, epsilon=1.0, delta=1e-6)
    steps = best.protocol.alphabet - 1
    for precision in (steps - 2, steps - 1, steps + 1, steps + 2):
        assert (
            plan("sum", n=10**5, epsilon=1.0, delta=1e-6, precision=precision).mean_squared_error
            >= best.mean_squared_error
        )


def test_less_blanket_would_not_be_private() -> None:
    found = plan("histogram", n=10**5, epsilon=0.5, delta=1e-6, size=20)
    assert found.epsilon_at(10**5) == pytest.approx(0.5, rel=1e-4)
    assert found.epsilon_at(2 * 10**5) < 0.5 < found.epsilon_at(5 * 10**4)
    document = found.document()
    randomizer = document["protocol"]["randomizer"]
    randomizer["threshold"] = str(int(randomizer["threshold"]) * 999 // 1000)
    with pytest.raises(InvalidInput, match="edited"):
        Plan.from_document(document)
    with pytest.raises(InvalidInput, match="does not follow"):
        Plan.from_document(rehashed(document))


def test_a_plan_survives_its_file() -> None:
    for found in (
        plan("histogram", n=10**4, epsilon=1.0, delta=1e-6, size=5, honest_fraction=0.9),
        plan("mean", n=10**4, epsilon=1.0, delta=1e-6, low=-3.0, high=8.5),
    ):
        assert Plan.from_document(json.loads(json.dumps(found.document()))) == found
    assert found.mean_squared_error == pytest.approx(
        plan("sum", n=10**4, epsilon=1.0, delta=1e-6, low=-3.0, high=8.5).mean_squared_error / 1e8
    )


@pytest.mark.parametrize(
    ("question", "more", "entry"),
    [
        ("histogram", {"size": 3}, "one entry of the answer"),
        ("sum", {"high": 10.0, "by": {"sex": ["f", "m"]}}, "the number of people in a group"),
    ],
)
def test_what_false_reports_do_is_said_where_some_are_expected(question: str, more: dict[str, Any], entry: str) -> None:
    given: dict[str, Any] = {"n": 1000, "epsilon": 1.0, "delta": 1e-6} | more
    made = plan(question, honest_fraction=0.9, **given)
    (said,) = [line for line in made.explain().splitlines() if "false" in line]
    before, most = said.rsplit(" ", 1)
    assert before == f"if 100 reports are false, {entry} shifts by at most"
    assert float(most.replace(",", "")) == pytest.approx(100 * made.protocol.max_shift(1000), rel=1e-3)
    assert float(most.replace(",", "")) >= 100 * made.protocol.max_shift(1000)
    assert "false" not in plan(question, **given).explain()


@pytest.mark.parametrize(
    ("place", "value"),
    [("guarantee.epsilon", 0.1), ("guarantee.delta", 1e-9), ("guarantee.n", 10), ("protocol.domain.size", 4),
     ("protocol.epsilon0", 0.1), ("guarantee.bound", "witness"), ("guarantee.adjacency", "add-remove"),
     ("protocol.randomizer.size", 4), ("guarantee.delta", 2), ("guarantee.epsilon", True),
     ("guarantee.epsilon", "1"), ("guarantee.epsilon", 1e300), ("guarantee.n", None), ("guarantee.n", -5),
     ("protocol.randomizer.threshold", "1"), ("protocol.randomizer.threshold", 1.5),
     ("protocol.domain", {"kind": "labels", "labels": [1, 2, 3, 4, 5]}),
     ("protocol.domain", {"kind": "intervals", "size": 5, "low": False, "high": 1.0}),
     ("protocol.domain", {"kind": "intervals", "size": 5, "low": [1], "high": 2.0}),
     ("protocol.domain", {"kind": "reals", "low": 0.0, "high": 1.0}), ("protocol.kind", "summation"),
     ("protocol.kind", "rappor"), ("protocol.domain.size", 10**12), ("protocol.randomizer.size", 10**12),
     ("guarantee.reference", "ours"), ("comment", "harmless")],
)  # fmt: skip
def test_an_edit_with_a_new_hash_is_refused_if_the_claim_does_not_follow(place: str, value: Any) -> None:
    document = plan("histogram", n=10**4, epsilon=1.0, delta=1e-6, size=5).document()
    *sections, key = place.split(".")
    section = document
    for name in sections:
        section = section[name]
    section[key] = value
    with pytest.raises(InvalidInput):
        Plan.from_document(rehashed(document))


@pytest.mark.parametrize("batch", [None, "100", -1, 0, 1e4 + 0.5, True, 10**30])
def test_a_strange_min_batch_is_refused(batch: Any) -> None:
    document = plan("histogram", n=10**4, epsilon=1.0, delta=1e-6, size=5).document()
    with pytest.raises(InvalidInput):
        Plan.from_document(rehashed(document | {"min_batch": batch}))


@pytest.mark.parametrize("document", [{}, [], None, {"sha256": "x"}, {"sha256": 1, "protocol": {}}])
def test_something_else_is_not_a_plan(document: Any) -> None:
    with pytest.raises(InvalidInput):
        Plan.from_document(document)


def test_command(tmp_path: Path) -> None:
    command = "plan sum --low 0 --high 1 --n 1e6 --epsilon 1 --delta 1e-6"
    done = run(f"{command} --json -o plan.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["forecast"]["mean_squared_error"] <= 705
    assert document["forecast"]["rmse"] == pytest.approx(math.sqrt(document["forecast"]["mean_squared_error"]))
    assert document["min_batch"] == 10**6
    assert json.loads((tmp_path / "plan.json").read_text()) == document
    assert Plan.from_document(document).protocol.alphabet == document["protocol"]["randomizer"]["size"]
    words = run(command).stdout
    assert "differentially private after shuffling 1,000,000 reports" in words
    assert "if only 500,000 honest reports arrive" in words


@pytest.mark.parametrize("version", [2, None])
def test_a_plan_of_a_former_version_is_refused_with_what_to_do(version: int | None) -> None:
    """A file that version 2 wrote; and one of before there were versions."""
    document = json.loads(FORMER.read_text())
    assert document["version"] == 2
    if version is None:
        del document["version"]
    with pytest.raises(InvalidInput, match=r"not of version 3.* Make it again with shuffledp plan"):
        Plan.from_document(document)


def test_what_is_only_shown_may_be_edited_and_is_computed_anew() -> None:
    """A better formula for the forecast invalidates no file; a wrong one does not pass on."""
    found = plan("sum", n=10**4, epsilon=1.0, delta=1e-6)
    document = found.document()
    for edited in (
        document | {"forecast": {"mean_squared_error": 1.0, "rmse": 1.0}},
        found.promise(),
    ):
        read = Plan.from_document(json.loads(json.dumps(edited)))
        assert read == found
        assert read.document() == document
        assert read.sha256 == found.sha256


@pytest.mark.parametrize("n", [1, 2, 20])
def test_the_best_grid_is_found_for_few_users_too(n: int) -> None:
    asked: dict[str, Any] = {"n": n, "epsilon": 8.0, "delta": 1e-3}
    best = plan("mean", **asked).rmse
    assert best == pytest.approx(min(plan("mean", **asked, precision=k).rmse for k in range(2, 40)), rel=1e-9)


def test_liars_hide_nobody_when_a_plan_is_proved() -> None:
    """As many reports as before, of which fewer are honest: what was proved of all of them no longer holds."""
    made = plan("histogram", n=2000, epsilon=1.0, delta=1e-6, size=4)
    assert made.holds()
    fewer = replace(made, guarantee=replace(made.guarantee, n=1000))
    assert not fewer.holds()
    with pytest.raises(InvalidInput, match="does not follow"):
        Plan.from_document(fewer.promise())
    assert plan("histogram", n=2000, epsilon=1.0, delta=1e-6, size=4, honest_fraction=0.5).guarantee.n == 1000


def test_what_other_numbers_of_reports_give_is_by_the_bound_of_the_plan() -> None:
    papers = plan("query", n=20_000, epsilon=0.5, delta=1e-6, paper=True)
    randomizer, bound = papers.protocol.randomizer, papers.guarantee.bound
    expected = account(randomizer, n=30_000, delta=1e-6, bound=bound).epsilon
    assert papers.epsilon_at(30_000) == expected
    assert expected > account(randomizer, n=30_000, delta=1e-6).epsilon
