"""Whatever is given in place of whatever else, at every public door: a sentence that names the parameter."""

import inspect
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import shuffledp
from shuffledp import InvalidInput, RandomizedResponse, ShuffledpError, plan
from shuffledp.accounting.account import bound_named
from shuffledp.accounting.composition import Collection

DOOR: Any = shuffledp
COIN = RandomizedResponse(size=2, epsilon0=1.0)
PLAN = plan.histogram(labels=["no", "yes"], n=100, epsilon=3, delta=1e-3)
NUMBERS: dict[str, Any] = {"n": 1000, "epsilon": 1.0, "delta": 1e-6}
COLUMNS: dict[str, Any] = dict.fromkeys(("query", "user", "max_rows_per_user", "row_id"))
POLICY: dict[str, Any] = {
    "missing": "refuse", "missing_as": None, "outside": "refuse", "other": None, "match": "exactly", "explain_errors": None,
}  # fmt: skip
HOW: dict[str, Any] = {"policy": shuffledp.Policy(), "truth": False, "randomness": None, "candidates": None}
WAYS: dict[str, Any] = dict.fromkeys(
    ("rmse", "rmse_share", "rounds", "rounds_per_person", "honest_fraction", "dropout", "paper")
)
GROUPS: dict[str, Any] = dict.fromkeys(("by", "share", "precision"))
BUDGET: dict[str, Any] = {"trials": 5, "seconds": None, "confidence": 0.999, "enough": 0.5, "watch": None}
"""So few trials are refused, after all else was looked at."""

DOORS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "Certificate.from_document": (shuffledp.Certificate.from_document, {"document": {}}),
    "Certificate.load": (shuffledp.Certificate.load, {"path": "x"}),
    "Certificate.of": (
        shuffledp.Certificate.of, {"randomizer": COIN, "guarantee": PLAN.guarantee, "reports": 100, "rounds": 1},
    ),
    "Channel": (shuffledp.Channel, {"matrix": [[0.6, 0.4], [0.4, 0.6]]}),
    "Collection": (
        Collection, {"blanket": COIN.blanket(), "n": 1000, "rounds": 2, "bound": bound_named("best")},
    ),
    "Gaussian": (shuffledp.Gaussian, {"sigma": 1.0}),
    "Generic": (shuffledp.Generic, {"epsilon0": 1.0}),
    "Guarantee": (shuffledp.Guarantee, {**NUMBERS, "bound": "best", "reference": ""}),
    "Histogram": (shuffledp.Histogram, {"randomizer": COIN, "domain": PLAN.protocol.domain}),
    "KeyedRandomness.seeded": (shuffledp.KeyedRandomness.seeded, {"seed": 1}),
    "Laplace": (shuffledp.Laplace, {"epsilon0": 1.0}),
    "Plan.load": (shuffledp.Plan.load, {"path": "x"}),
    "Plan.from_document": (shuffledp.Plan.from_document, {"document": {}}),
    "Plan.save": (PLAN.save, {"path": "x"}),
    "Policy": (shuffledp.Policy, POLICY),
    "RandomizedResponse": (RandomizedResponse, {"size": 2, "epsilon0": 1.0}),
    "Result.load": (shuffledp.Result.load, {"path": "x"}),
    "SavedResult.from_document": (shuffledp.SavedResult.from_document, {"document": {}}),
    "Session": (shuffledp.Session, {"epsilon": 1.0, "delta": 1e-6}),
    "account": (shuffledp.account, {"randomizer": COIN, "n": 1000, "delta": 1e-6, "bound": "best"}),
    "audit": (
        shuffledp.audit,
        {"subject": COIN, "n": 10, "delta": 1e-3, "view": "shuffled", "known": 0, "learned": False, "randomness": None, **BUDGET},
    ),
    "audit_command": (
        shuffledp.audit_command, {"line": "false", "symbols": ["0", "1"], "epsilon": 1.0, "view": "local", **BUDGET},
    ),
    "audit_service": (shuffledp.audit_service, {"service": PLAN, **BUDGET}),
    "calibrate": (
        shuffledp.calibrate, {"family": RandomizedResponse.family(size=2), "bound": "best", **NUMBERS},
    ),
    "compare": (
        shuffledp.compare,
        {"question": "mean", "runs": 0, "seed": 1, "only": ["shuffledp"], "progress": None, "low": 0, "high": 1, **NUMBERS},
    ),
    "compose": (lambda parts: shuffledp.compose(parts), {"parts": PLAN}),
    "epsilon_possible": (
        shuffledp.epsilon_possible, {"question": "mean", "n": 1000, "delta": 1e-6, "rmse": 0.1},
    ),
    "plan": (
        plan,
        {
            "question": "histogram", "labels": ["no", "yes"], **NUMBERS, **WAYS,
            **dict.fromkeys(("size", "objective", "share", "by", "messages_per_user", "low", "high")),
        },
    ),
    "plan.distribution": (plan.distribution, {"low": 0, "high": 1, "resolution": 10, **NUMBERS}),
    "plan.heavy_hitters": (
        plan.heavy_hitters,
        {"max_length": 2, "alphabet": "ab", "false_positives": 1, "n": 20_000, "epsilon": 4, "delta": 1e-3},
    ),
    "plan.mean": (plan.mean, {"low": 0, "high": 1, **GROUPS, **NUMBERS}),
    "plan.query": (plan.query, {**GROUPS, **NUMBERS}),
    "plan.sum": (plan.sum, {"low": 0, "high": 1, **GROUPS, **NUMBERS}),
    "plan.survey": (plan.survey, {"questions": [{"name": "a", "ask": "mean"}], "way": "one", **NUMBERS}),
    "plan.texts": (plan.texts, {"candidates": ["a"], "share": None, **NUMBERS}),
    "run": (
        shuffledp.run,
        {"plan": PLAN, "values": ["no", "yes"] * 50, "column": None, "engine": "memory", **COLUMNS, **HOW, **POLICY},
    ),
    "run_file": (
        shuffledp.run_file,
        {
            "plan": PLAN, "path": "people.csv", "column": "answer", "engine": "arrow", "separator": ",", "decimal": ".",
            "multiline": False, "progress": None, **COLUMNS, **HOW, **POLICY,
        },
    ),
    "export": (
        shuffledp.export,
        {
            "plan": PLAN, "values": ["no", "yes"] * 50, "path": "messages.parquet", "column": None, "engine": "memory",
            "randomness": None, **COLUMNS, **POLICY,
        },
    ),
    "read_export": (shuffledp.read_export, {"path": "messages.parquet"}),
    "shuffle_index": (shuffledp.shuffle_index, {"randomizer": COIN}),
    "summation_error_floor": (shuffledp.summation_error_floor, NUMBERS),
    "to_pld": (
        shuffledp.to_pld,
        {"collection": Collection(blanket=COIN.blanket(), n=1000, rounds=2, bound=bound_named("best"))},
    ),
    "users_needed": (
        shuffledp.users_needed, {"question": "mean", "epsilon": 1.0, "delta": 1e-6, "rmse_share": 0.1},
    ),
    "verify": (shuffledp.verify, {"document": {}}),
}  # fmt: skip
NO_DOORS = {
    "Comparison", "Contradiction", "DataWarning", "Finding", "InvalidInput", "LatticeChannel", "NoClaim", "NotDefined",
    "PlanWarning", "Plan", "Result", "SavedResult", "ShuffleIndex", "ShuffledpError", "Solution", "Statistics", "Summation",
    "SystemRandomness", "Verification", "bounds", "Certificate", "KeyedRandomness", "example_people",
}  # fmt: skip
"""What others make, errors, and what takes nothing; of some of them, doors above."""
UNNAMED = {
    "document", "parts", "values", "missing_as", "other", "questions", "way", "matrix", "by", "plan", "query", "user",
    "row_id", "max_rows_per_user", "path", "labels", "service", "symbols", "line", "epsilon", "trials",
}  # fmt: skip
"""Errors about these say what they are in other words, or that another one is missing."""


def _generator() -> Iterator[int]:
    yield 1


KINDS: dict[str, Any] = {
    "None": None, "a number": 3, "a text": "x", "a path": Path("x"), "an object": object(), "a dict": {"a": 1},
    "a list": [object()], "a set": {1}, "a frame": pd.DataFrame({"a": [1]}), "a series": pd.Series([1, 2]), "a class": int,
    "a function": len, "a truth value": True, "bytes": b"x", "a generator": None, "a plan": PLAN, "no number": float("nan"),
}  # fmt: skip


def test_every_public_name_is_tried() -> None:
    assert {name.partition(".")[0] for name in DOORS} | NO_DOORS >= set(shuffledp.__all__)


@pytest.mark.parametrize("door", DOORS)
def test_the_wrong_kind_is_refused_in_a_sentence(door: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("answer\n" + "no\nyes\n" * 50)
    call, usual = DOORS[door]
    for parameter in usual:
        for kind, wrong in KINDS.items():
            if wrong is usual[parameter] or (
                kind in ("a function", "a class") and parameter in ("progress", "watch", "query")
            ):
                continue
            if wrong is None and parameter == "trials":  # not a wrong kind, but an audit of a minute
                continue
            said = refusal(call, usual | {parameter: _generator() if kind == "a generator" else wrong})
            if said is None or said.startswith("5 trials"):
                continue
            assert "object at 0x" not in said, (parameter, kind, said)
            if parameter not in UNNAMED:
                assert parameter.replace("_", " ") in said.replace("_", " "), (parameter, kind, said)


def refusal(call: Callable[..., Any], given: dict[str, Any]) -> str | None:
    """What an error of ours says; any other one is a failure."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call(**given)
    except ShuffledpError as error:
        return str(error)
    return None


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda: DOOR.run(["no"], PLAN), "the plan and the data are swapped"),
        (lambda: DOOR.run("plan.json", ["no"]), "the plan is a string"),
        (lambda: DOOR.run(PLAN, "people.csv"), "For a file use run_file"),
        (lambda: DOOR.run_file(PLAN, pd.DataFrame()), "For a table use run"),
        (lambda: DOOR.plan(1.0, "histogram"), "a positional argument"),
        (lambda: DOOR.compose("plan.json"), "not a str"),
        (lambda: DOOR.account(PLAN, n=1000, delta=1e-6), "`randomizer` must be a randomizer"),
        (lambda: DOOR.account(DOOR.RandomizedResponse, n=1000, delta=1e-6), "`randomizer` must be"),
        (lambda: DOOR.run(PLAN, ["no"], column=pd.Series(["no"])), "leave out `column`"),
        (lambda: DOOR.plan.histogram(labels={"no": 1, "yes": 2}, **NUMBERS), "labels must be several texts"),
        (lambda: DOOR.run(PLAN, {"no", "yes"}), "one per person, in their order"),
        (lambda: DOOR.run(PLAN, None), "values are a list"),
    ],
)  # fmt: skip
def test_what_people_swap(call: Callable[[], Any], why: str) -> None:
    with pytest.raises((InvalidInput, TypeError), match=why):
        call()


def test_keywords_are_shown_and_typed() -> None:
    for name in ("histogram", "mean", "sum", "query", "distribution", "texts", "heavy_hitters", "survey"):
        parameters = inspect.signature(getattr(plan, name)).parameters
        assert {"n", "epsilon", "delta", "rmse", "rounds", "dropout"} <= parameters.keys()
        assert all(one.annotation is not inspect.Parameter.empty for one in parameters.values())
    assert set(dir(shuffledp)) == {*shuffledp.__all__, "__doc__", "__version__"}
