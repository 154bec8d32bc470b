"""Plans: as accurate as known, certified, and refused when tampered with."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from oracles.process import run
from shuffledp import InvalidInput
from shuffledp.core.canonical import digest
from shuffledp.planning.plan import Plan, epsilon_at, plan


@pytest.mark.parametrize(
    ("n", "epsilon", "most", "precision"),
    [(10**6, 1.0, 705, 33), (10**4, 1.0, 153, 7), (1000, 0.5, 175, 3), (1000, 1.0, 74, 4)],
)
def test_sums_are_as_accurate_as_known(n: int, epsilon: float, most: float, precision: int) -> None:
    found = plan("sum", n=n, epsilon=epsilon, delta=1e-6)
    assert found.mean_squared_error <= most
    assert abs(found.size - 1 - precision) <= 1
    assert found.holds()
    assert found.guarantee.bound == "best"


def test_no_neighbouring_precision_is_better() -> None:
    best = plan("sum", n=10**5, epsilon=1.0, delta=1e-6)
    for precision in (best.size - 3, best.size - 2, best.size, best.size + 1):
        assert (
            plan("sum", n=10**5, epsilon=1.0, delta=1e-6, precision=precision).mean_squared_error
            >= best.mean_squared_error
        )


def test_less_blanket_would_not_be_private() -> None:
    found = plan("histogram", n=10**5, epsilon=0.5, delta=1e-6, size=20)
    assert epsilon_at(found, 10**5) == pytest.approx(0.5, rel=1e-4)
    assert epsilon_at(found, 2 * 10**5) < 0.5 < epsilon_at(found, 5 * 10**4)
    document = found.document()
    less = int(found.threshold * 0.999)
    document["protocol"] |= {"threshold": str(less), "gamma": less / 2**64}
    with pytest.raises(InvalidInput, match="edited"):
        Plan.from_document(document)
    body = {k: v for k, v in document.items() if k != "sha256"}
    with pytest.raises(InvalidInput, match="does not follow"):
        Plan.from_document(body | {"sha256": digest(body)})


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
    ("section", "key", "value"),
    [("guarantee", "epsilon", 0.1), ("guarantee", "delta", 1e-9), ("guarantee", "n", 10), ("protocol", "size", 4),
     ("protocol", "epsilon0", 0.1), ("guarantee", "bound", "witness"), ("guarantee", "adjacency", "add-remove"),
     ("forecast", "mean_squared_error", 1.0), ("guarantee", "delta", 2), ("guarantee", "epsilon", True),
     ("guarantee", "epsilon", "1"), ("guarantee", "epsilon", 1e300), ("guarantee", "n", None), ("guarantee", "n", -5),
     ("protocol", "threshold", "1"), ("protocol", "threshold", 1.5), ("protocol", "labels", [1, 2, 3, 4, 5]),
     ("protocol", "low", False), ("protocol", "low", [1]), ("protocol", "name", "mean"), ("protocol", "size", 10**12)],
)  # fmt: skip
def test_an_edit_with_a_new_hash_is_refused_if_the_claim_does_not_follow(section: str, key: str, value: Any) -> None:
    document = plan("histogram", n=10**4, epsilon=1.0, delta=1e-6, size=5).document()
    body = {k: v for k, v in document.items() if k != "sha256"}
    body[section] = body[section] | {key: value}
    with pytest.raises(InvalidInput):
        Plan.from_document(body | {"sha256": digest(body)})


@pytest.mark.parametrize("batch", [None, "100", -1, 0, 1e4, 10**30])
def test_a_strange_min_batch_is_refused(batch: Any) -> None:
    document = plan("histogram", n=10**4, epsilon=1.0, delta=1e-6, size=5).document()
    body = {k: v for k, v in document.items() if k != "sha256"} | {"min_batch": batch}
    with pytest.raises(InvalidInput):
        Plan.from_document(body | {"sha256": digest(body)})


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
    assert Plan.from_document(document).size == document["protocol"]["precision"] + 1
    words = run(command).stdout
    assert "differentially private after shuffling 1,000,000 reports" in words
    assert "if only 500,000 honest reports arrive" in words


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("plan histogram --n 1e4 --epsilon 1 --delta 1e-6", "number of bins"),
        ("plan histogram --size 1 --n 1e4 --epsilon 1 --delta 1e-6", "size must be"),
        ("plan sum --size 3 --n 1e4 --epsilon 1 --delta 1e-6", "--size and --labels belong to histogram"),
        ("plan histogram --size 3 --low 1 --n 1e4 --epsilon 1 --delta 1e-6", "both low and high"),
        ("plan sum --n 1e4 --epsilon 0 --delta 1e-6", "epsilon must be"),
        ("plan sum --n 1e4,1e5 --epsilon 1 --delta 1e-6", "one set of values"),
        ("plan sum --low 2 --high 1 --n 1e4 --epsilon 1 --delta 1e-6", "low must be below high"),
        ("plan sum --n 1e4 --epsilon 1 --delta 1e-6 --honest-fraction 2", "honest_fraction must be"),
        ("plan sum --high 1e300 --n 1e4 --epsilon 1 --delta 1e-6", "high must be a number"),
        ("plan sum --rmse 1e-300 --n 1e4 --delta 1e-6", "error that small"),
        ("plan mean --rmse 0.01 --epsilon 1 --delta 1e-6 --precision 0", "precision + 1 must be"),
        ("plan guess --n 1e4 --epsilon 1 --delta 1e-6", "guess"),
    ],
)
def test_bad_input(command: str, why: str) -> None:
    done = run(command)
    assert done.returncode == 2
    assert why in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_plan_of_the_former_version_is_refused_with_what_to_do() -> None:
    document = plan("histogram", n=10**4, epsilon=1.0, delta=1e-6, size=5).document()
    del document["version"]
    document["protocol"]["threshold"] = int(document["protocol"]["threshold"])
    with pytest.raises(InvalidInput, match=r"not of version 2.* Make it again"):
        Plan.from_document(document)
