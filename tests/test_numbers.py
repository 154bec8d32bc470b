"""Whatever kind of number people give, the answer is that of the plain float or int: every parameter, kind and output."""

import json
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import shuffledp
from oracles.scale import full
from shuffledp import InvalidInput, Plan
from shuffledp.accounting.account import bound_named
from shuffledp.planning.from_targets import plan_from_targets
from shuffledp.planning.rounds import plan_rounds, rounds_possible

KINDS: dict[str, Callable[[float], Any]] = {
    "int": int, "float": float, "float64": np.float64, "float32": np.float32, "longdouble": np.longdouble, "int64": np.int64,
    "uint32": np.uint32, "Fraction": Fraction, "Decimal": Decimal, "0-d float": np.array, "0-d int": lambda x: np.array(int(x)),
    "0-d object": lambda x: np.array(Fraction(x), dtype=object),
}  # fmt: skip
"""All values below are exact in 32 bits, so that every kind of number says the same."""
WRONG: list[Any] = [True, np.True_, "1", b"1", 1j, [1.0], np.array([1.0]), object(), np.datetime64("2020-01-01")]
DELTA = 2.0**-20
RESPONSE = shuffledp.RandomizedResponse(size=4, epsilon0=2.0)
PLAN = shuffledp.plan("histogram", n=1000, epsilon=1.0, delta=DELTA, size=4)
COINS = shuffledp.plan("histogram", n=200, epsilon=1.0, delta=2.0**-6, labels=["a", "b"])
ANSWER = shuffledp.run(COINS, ["a", "b"] * 100, randomness=shuffledp.KeyedRandomness.seeded(1))

READ: Any = ANSWER.statistics


def of_plan(made: Plan) -> str:
    return json.dumps(made.document()) + made.explain() + made._repr_html_() + repr(made)


def of_guarantee(made: shuffledp.Guarantee) -> str:
    return str(made) + made.meaning() + made._repr_html_() + repr(made)


def of_result(made: shuffledp.Result) -> str:
    return json.dumps(made.document())


def collection(**numbers: Any) -> Any:
    return shuffledp.Collection(blanket=RESPONSE.blanket(), bound=bound_named("numeric"), **numbers)


def session(**numbers: Any) -> str:
    with shuffledp.Session(**numbers) as made:
        made.run(COINS, ["a", "b"] * 100)
        return made._repr_html_()


def audit(**numbers: Any) -> Any:
    found = shuffledp.audit(RESPONSE, randomness=shuffledp.KeyedRandomness.seeded(1), **numbers)
    return found.epsilon, found.claimed


MATRIX: dict[str, tuple[Callable[..., Any], dict[str, float]]] = {
    "plan": (
        lambda **x: of_plan(shuffledp.plan("histogram", **x)),
        {"n": 1000, "epsilon": 1, "delta": DELTA, "honest_fraction": 0.5, "dropout": 0.25, "size": 4, "share": 0.5},
    ),
    "plan intervals": (
        lambda **x: of_plan(shuffledp.plan("histogram", n=1000, epsilon=1, delta=DELTA, **x)),
        {"size": 4, "low": -2, "high": 6, "messages_per_user": 1},
    ),
    "plan mean": (
        lambda **x: of_plan(shuffledp.plan("mean", n=1000, epsilon=1, delta=DELTA, **x)),
        {"low": 0.5, "high": 2, "precision": 8},
    ),
    "plan groups": (
        lambda **x: of_plan(shuffledp.plan("sum", n=1000, epsilon=4, delta=DELTA, by={"g": ["a", "b"]}, **x)),
        {"low": 0, "high": 2, "precision": 4, "share": 0.25},
    ),
    "plan distribution": (
        lambda **x: of_plan(shuffledp.plan("distribution", n=1000, epsilon=1, delta=DELTA, **x)),
        {"low": 0, "high": 2, "resolution": 8},
    ),
    "plan survey": (
        lambda weight: of_plan(
            shuffledp.plan(
                "survey", n=1000, epsilon=2, delta=DELTA, way="one",
                questions=[
                    {"name": "a", "ask": "histogram", "size": 3, "weight": weight},
                    {"name": "b", "ask": "mean", "high": 2},
                ],
            )
        ),
        {"weight": 2},
    ),
    "plan rounds": (
        lambda **x: of_plan(plan_rounds("mean", **x)),
        {"n": 1000, "epsilon": 1, "delta": DELTA, "rounds": 4, "rounds_per_person": 2, "dropout": 0.5},
    ),
    "rounds possible": (
        lambda **x: of_plan(rounds_possible("mean", **x)),
        {"n": 1000, "rmse": 0.125, "delta": DELTA, "rounds": 2},
    ),
    "plan by share": (
        lambda **x: of_plan(plan_from_targets("mean", x)), {"rmse_share": 0.125, "epsilon": 1, "delta": DELTA, "dropout": 0.25},
    ),
    "users_needed": (
        lambda **x: of_plan(shuffledp.users_needed("mean", **x)),
        {"rmse_share": 0.125, "epsilon": 1, "delta": DELTA, "honest_fraction": 0.5},
    ),
    "epsilon_possible": (
        lambda **x: of_plan(shuffledp.epsilon_possible("sum", **x)),
        {"n": 1000, "rmse": 32, "delta": DELTA, "honest_fraction": 0.5, "dropout": 0.25},
    ),
    "account for epsilon": (
        lambda **x: of_guarantee(shuffledp.account(RESPONSE, **x)), {"n": 1000, "delta": DELTA},
    ),
    "account for delta": (lambda **x: of_guarantee(shuffledp.account(RESPONSE, **x)), {"n": 1000, "epsilon": 1}),
    "account for n": (lambda **x: of_guarantee(shuffledp.account(RESPONSE, **x)), {"epsilon": 1, "delta": DELTA}),
    "calibrate": (
        lambda **x: shuffledp.calibrate(shuffledp.RandomizedResponse.family(size=4), **x),
        {"n": 1000, "epsilon": 1, "delta": DELTA},
    ),
    "family": (
        lambda **x: shuffledp.calibrate(
            shuffledp.RandomizedResponse.family(**x), n=1000, epsilon=1, delta=DELTA, bound="hoeffding"
        ),
        {"size": 4},
    ),
    "compare": (
        lambda **x: shuffledp.compare("mean", only=("shuffledp", "local Laplace"), **x)._repr_html_(),
        {"n": 1000, "epsilon": 1, "delta": DELTA, "runs": 2, "seed": 1, "low": 0, "high": 2},
    ),
    "Guarantee": (
        lambda **x: of_guarantee(shuffledp.Guarantee(bound="best", reference="", **x)),
        {"epsilon": 1, "delta": DELTA, "n": 1000},
    ),
    "hits": (lambda **x: ANSWER.plan.guarantee.hits(**x), {"false_alarms": 0.25}),
    "Certificate": (
        lambda **x: json.dumps(shuffledp.Certificate(randomizer=RESPONSE.document(), **x).document()),
        {"honest": 1000, "reports": 2000, "rounds": 2, "epsilon": 1, "delta": DELTA},
    ),
    "Collection": (
        lambda **x: shuffledp.compose([collection(**x)]).epsilon(DELTA),
        {"n": 1000, "rounds": 2, "nodes": 40, "fine": 16},
    ),
    "Composition.epsilon": (
        lambda **x: shuffledp.compose([collection(n=1000, rounds=2)]).epsilon(**x), {"delta": DELTA},
    ),
    "Composition.delta": (lambda **x: shuffledp.compose([collection(n=1000, rounds=2)]).delta(**x), {"epsilon": 1}),
    "Composition.least_epsilon": (
        lambda **x: shuffledp.compose([collection(n=1000, rounds=2)]).least_epsilon(**x), {"delta": DELTA},
    ),
    "Composition.least_delta": (
        lambda **x: shuffledp.compose([collection(n=1000, rounds=2)]).least_delta(**x), {"epsilon": 1},
    ),
    "summation_error_floor": (
        lambda **x: shuffledp.summation_error_floor(tightened=True, **x), {"n": 1000, "epsilon": 1, "delta": DELTA},
    ),
    "RandomizedResponse": (
        lambda **x: repr(shuffledp.RandomizedResponse(**x).document()), {"size": 4, "epsilon0": 1},
    ),
    "RandomizedResponse by gamma": (
        lambda **x: repr(shuffledp.RandomizedResponse(size=4, **x).document()), {"gamma": 0.25},
    ),
    "Laplace": (lambda **x: json.dumps(shuffledp.Laplace(**x).document()), {"epsilon0": 2}),
    "Gaussian": (lambda **x: json.dumps(shuffledp.Gaussian(**x).document()), {"sigma": 2}),
    "Generic": (lambda **x: json.dumps(shuffledp.Generic(**x).document()), {"epsilon0": 2}),
    "Channel": (
        lambda a, b: json.dumps(shuffledp.Channel([[a, b], [b, a]]).document()), {"a": 0.25, "b": 0.75},
    ),
    "Plan.epsilon_at": (lambda **x: PLAN.epsilon_at(**x), {"n": 500}),
    "Plan.honest_of": (lambda **x: PLAN.honest_of(**x), {"reports": 500}),
    "compose": (lambda **x: str(shuffledp.compose(PLAN, PLAN, **x)), {"delta": 2.0**-6}),
    "Session": (session, {"epsilon": 2, "delta": 2.0**-7}),
    "interval": (lambda **x: ANSWER.estimate.interval(**x)[0].tolist(), {"confidence": 0.5}),
    "result document": (lambda **x: json.dumps(ANSWER.document(**x)), {"confidence": 0.5}),
    "columns": (lambda **x: repr(ANSWER.columns(**x)), {"confidence": 0.5}),
    "quantile": (lambda **x: READ.quantile(**x), {"share": 0.5, "confidence": 0.5}),
    "in_range": (lambda **x: READ.in_range(**x).value.tolist(), {"first": 0, "last": 1}),
    "top": (lambda **x: READ.top(**x).tolist(), {"count": 1}),
    "threshold": (
        lambda **x: READ.threshold(**x), {"false_positives": 1},
    ),
    "audit": (
        audit, {"n": 8, "delta": DELTA, "epsilon": 1, "known": 2, "trials": 200, "confidence": 0.75, "enough": 0.5},
    ),
    "max_rows_per_user": (
        lambda **x: of_result(
            shuffledp.run(
                COINS, {"v": ["a", "b"] * 100, "p": list(range(200))}, column="v", user="p",
                randomness=shuffledp.KeyedRandomness.seeded(1), **x,
            )
        ),
        {"max_rows_per_user": 1},
    ),
}  # fmt: skip
SLOW = {"plan by share", "users_needed", "plan rounds", "rounds possible", "epsilon_possible", "audit", "compare"}
"""Of these make test takes every third kind of number, another third for each parameter."""
POINTS = [(name, parameter) for name, (_, given) in MATRIX.items() for parameter in given]


def test_every_public_function_that_takes_numbers_is_here() -> None:
    none = {
        "Comparison", "Contradiction", "DataWarning", "PlanWarning", "Finding", "InvalidInput", "KeyedRandomness",
        "LatticeChannel", "NoClaim", "NotDefined", "Policy", "Result", "SavedResult", "ShuffleIndex", "ShuffledpError",
        "Solution", "SystemRandomness", "Verification", "audit_command", "audit_service", "bounds", "run_file", "shuffle_index",
        "to_pld", "verify", "Histogram", "Summation", "Statistics", "Plan", "run", "example_people", "export",
        "read_export",
    }  # fmt: skip
    assert set(shuffledp.__all__) - none <= {name.split(" ")[0] for name in MATRIX}


@pytest.mark.parametrize(("name", "parameter"), POINTS)
def test_every_kind_of_number_says_the_same(name: str, parameter: str) -> None:
    call, given = MATRIX[name]
    plain = {key: int(value) if value == int(value) else value for key, value in given.items()}
    expected = call(**plain)
    every = full(3, 1) if name in SLOW else 1
    for kind, of in list(KINDS.items())[POINTS.index((name, parameter)) % every :: every]:
        value = given[parameter]
        if ("int" in kind and value != int(value)) or (kind == "uint32" and value < 0):
            continue
        assert call(**plain | {parameter: of(value)}) == expected, kind


@pytest.mark.parametrize(("name", "parameter"), POINTS)
def test_what_is_no_number_is_refused_by_name(name: str, parameter: str) -> None:
    call, given = MATRIX[name]
    for wrong in WRONG:
        with pytest.raises(InvalidInput, match=r"\. [A-Z]") as refused:
            call(**given | {parameter: wrong})
        assert "object at" not in str(refused.value)


def test_what_is_promised_is_never_less_private_than_what_was_asked_for() -> None:
    third: Any = Fraction(1, 3)
    tenth: Any = Decimal("0.1")
    made = shuffledp.plan("histogram", n=1000, epsilon=third, delta=tenth, size=4)
    assert made.guarantee.epsilon <= third
    assert made.guarantee.delta <= tenth
    assert shuffledp.Guarantee(epsilon=third, delta=0.5, n=10, bound="best", reference="").epsilon > third
    assert shuffledp.Laplace(epsilon0=third).epsilon0 > third
    assert shuffledp.Gaussian(sigma=third).sigma < third
