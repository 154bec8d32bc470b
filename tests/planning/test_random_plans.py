"""Whatever `plan` writes can be loaded, verified and run: random plans of every question."""

import json
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

from oracles.scale import examples, full
from shuffledp import InvalidInput, NoClaim, Plan, plan, run, verify
from shuffledp.core.words import KeyedWords
from shuffledp.planning.rounds import plan_rounds
from shuffledp.protocols.registry import questions

PLANS = examples(50)
WAYS = full(2, 3)
"""Of asking a survey: to verify all questions of everybody takes a minute, so that is for `make test-all`."""


def labels(coins: Random) -> list[str]:
    return [f"label {j}" for j in range(coins.randint(2, 12))]


def reals(coins: Random) -> dict[str, Any]:
    low = coins.choice([0.0, -5.0, 1.5, -0.25])
    return {"low": low, "high": low + coins.choice([0.5, 1.0, 100.0])}


def summed(coins: Random) -> dict[str, Any]:
    by = {"by": {"group": labels(coins)[:4]}} if coins.random() < 0.4 else {}
    return reals(coins) | by


def histogram(coins: Random) -> dict[str, Any]:
    if coins.random() < 0.3:
        return {"labels": labels(coins), "messages_per_user": coins.randint(2, 4)}
    return {"labels": labels(coins)} if coins.random() < 0.6 else {"size": coins.randint(2, 40)}


def survey(coins: Random) -> dict[str, Any]:
    asked = [
        {"name": "smokes", "ask": "histogram", "labels": ["no", "yes"], "weight": coins.randint(1, 3)},
        {"name": "hours", "ask": "mean", **reals(coins)},
        {"name": "colour", "ask": "histogram", "labels": labels(coins)},
    ]
    return {"questions": asked[: coins.randint(2, 3)], "way": coins.choice(["one", "table", "all"][:WAYS])}


OPTIONS: dict[str, Callable[[Random], dict[str, Any]]] = {
    "histogram": histogram,
    "sum": summed,
    "mean": summed,
    "query": lambda _: {},
    "heavy-hitters": lambda coins: {"alphabet": "ab", "max_length": coins.randint(2, 5)},
    "texts": lambda coins: {"candidates": labels(coins)},
    "distribution": lambda coins: reals(coins) | {"resolution": coins.choice([8, 20, 50])},
    "survey": survey,
}


def planned(seed: int) -> Plan | None:
    """A plan with random options, crowd and privacy; None if there is none, which must be said and not crash."""
    coins = Random(seed)
    question = list(OPTIONS)[seed % len(OPTIONS)]
    numbers: dict[str, Any] = {
        "n": round(10 ** coins.uniform(2, 4.3)),
        "epsilon": coins.choice([0.3, 1.0, 2.5, 6.0]),
        "delta": coins.choice([1e-6, 1e-4, 1e-2]),
        "honest_fraction": coins.choice([1.0, 1.0, 0.9, 0.5]),
        "dropout": coins.choice([0.0, 0.0, 0.3]),
    }
    rounds = coins.choice([None, None, None, 2, 10])
    options = OPTIONS[question](coins)
    try:
        if rounds is None:
            return plan(question, **numbers, **options)
        per_person = coins.choice([1, rounds // 2, rounds])
        return plan_rounds(question, rounds=rounds, rounds_per_person=per_person, **numbers, **options)
    except (InvalidInput, NoClaim):
        return None


def test_every_question_is_among_them() -> None:
    assert set(OPTIONS) == set(questions())


@pytest.mark.parametrize("seed", range(PLANS))
def test_what_is_planned_is_loaded_verified_and_run(seed: int) -> None:
    made = planned(seed)
    if made is None:
        return
    document = json.loads(json.dumps(made.document()))
    assert Plan.from_document(document).promise() == made.promise()
    found = verify(document)
    assert found.confirmed, found
    samples = made.protocol.domain.samples()
    values = [samples[j % len(samples)] for j in range(made.min_batch + 3)]
    asked: dict[str, Any] = {"query": lambda value: value} if made.protocol.asks else {}
    asked |= {"candidates": ["label 0", "label 1"]} if made.question == "texts" else {}
    answer = run(Plan.from_document(document), values, words=KeyedWords.fresh(), **asked)
    assert answer.guarantee == made.guarantee
    assert np.isfinite(answer.estimate.value).all() or answer.estimate.refused
    stated = json.loads(json.dumps(answer.document()))
    assert verify(stated, beside=[document]).confirmed


def test_most_of_them_are_plans() -> None:
    assert sum(planned(seed) is not None for seed in range(0, PLANS, 5)) >= PLANS // 10
