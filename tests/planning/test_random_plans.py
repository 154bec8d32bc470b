"""Whatever `plan` writes can be loaded, verified and run: random plans of every family, however they are asked for."""

import contextlib
import json
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from oracles.process import called
from oracles.scale import full
from shuffledp import InvalidInput, NoClaim, Plan, plan, run, verify
from shuffledp.engines.run import run_source
from shuffledp.planning.registry import FAMILIES, questions
from shuffledp.protocols.deployable import Deployable
from shuffledp.protocols.registry import PROTOCOLS
from shuffledp.sources.values import ValuesSource

pytestmark = pytest.mark.filterwarnings("ignore::shuffledp.errors.PlanWarning")
PLANS = full(44, 300)
"""300 in `make test-all`."""
TRIES = 40
"""Of which one at least must be possible: there are crowds too small for any plan."""
Options = dict[str, Any]


def labels(coins: Random, most: int = 12) -> list[str]:
    return [f"label {j}" for j in range(coins.randint(2, most))]


def between(coins: Random) -> Options:
    low = coins.choice([0.0, -5.0, 1.5, -0.25])
    return {"low": low, "high": low + coins.choice([0.5, 1.0, 100.0])}


def ranges(coins: Random) -> Options:
    return {f"x{j}": list(between(coins).values()) for j in range(coins.randint(1, 3))}


def groups(coins: Random) -> Options:
    columns = ("carrier", "region")[: coins.randint(1, 2)]
    return {"by": {column: labels(coins, 4) for column in columns}}


def survey(coins: Random, way: str) -> Options:
    asked = [
        {"name": "smokes", "ask": "histogram", "labels": ["no", "yes"], "weight": coins.randint(1, 3)},
        {"name": "hours", "ask": "mean", **between(coins)},
        {"name": "colour", "ask": "histogram", "labels": labels(coins, 5)},
    ]
    return {"questions": asked[: coins.randint(2, 3)], "way": way}


KINDS: dict[str, tuple[str, Callable[[Random], Options]]] = {
    "labels": ("histogram", lambda coins: {"labels": labels(coins)}),
    "bins": ("histogram", lambda coins: {"size": coins.randint(2, 60)}),
    "intervals": ("histogram", lambda coins: between(coins) | {"size": coins.randint(2, 20)}),
    "table": ("histogram", lambda coins: {"labels": labels(coins, 4)} | groups(coins)),
    "large domain": ("histogram", lambda coins: {"size": coins.randint(257, 9000)}),
    "share": ("histogram", lambda coins: {"size": coins.randint(20, 90), "objective": "share", "share": 0.05}),
    "dummies": ("histogram", lambda coins: {"labels": labels(coins), "messages_per_user": coins.uniform(1.5, 9)}),
    "noise": (
        "histogram",
        lambda coins: {"labels": labels(coins), "noise": coins.choice(["shuffler", "shuffler-pure"])},
    ),
    "paper histogram": ("histogram", lambda coins: {"labels": labels(coins, 5), "paper": True}),
    "sum": ("sum", between),
    "mean": ("mean", between),
    "grid": ("mean", lambda coins: between(coins) | {"precision": coins.randint(1, 20)}),
    "paper mean": ("mean", lambda coins: between(coins) | {"paper": True}),
    "sums by group": ("sum", lambda coins: between(coins) | groups(coins)),
    "means by group": ("mean", lambda coins: between(coins) | groups(coins)),
    "query": ("query", lambda _: {}),
    "queries by group": ("query", groups),
    "letters": ("heavy-hitters", lambda coins: {"alphabet": "ab", "max_length": coins.randint(2, 5)}),
    "bytes": ("heavy-hitters", lambda coins: {"max_length": coins.randint(1, 2), "false_positives": 0.5}),
    "texts": ("texts", lambda coins: {"candidates": labels(coins)}),
    "coarse distribution": ("distribution", lambda coins: between(coins) | {"resolution": coins.choice([4, 8])}),
    "fine distribution": ("distribution", lambda coins: between(coins) | {"resolution": coins.choice([50, 100])}),
    "one of a survey": ("survey", lambda coins: survey(coins, "one")),
    "table of a survey": ("survey", lambda coins: survey(coins, "table")),
    "all of a survey": ("survey", lambda coins: survey(coins, "all")),
    "digits": ("mean", lambda coins: between(coins) | {"messages_per_user": coins.uniform(4, 9)}),
    "digits by group": (
        "sum",
        lambda coins: between(coins) | groups(coins) | {"messages_per_user": coins.uniform(4, 9)},
    ),
    "moments": ("moments", lambda coins: {"ranges": ranges(coins)}),
    "regression": ("regression", lambda coins: {"ranges": ranges(coins) | {"y": [0, 1]}, "target": "y"}),
    "rows": ("vector", lambda coins: {"dimension": coins.randint(1, 6), "norm": coins.choice([0.5, 1.0, 20.0])}),
    "noisy distribution": (
        "distribution",
        lambda coins: between(coins) | {"resolution": coins.randint(4, 40), "noise": "shuffler"},
    ),
    "noisy survey": (
        "survey",
        lambda coins: {
            "questions": [
                {"name": "smokes", "ask": "histogram", "labels": ["no", "yes"]},
                {"name": "colour", "ask": "histogram", "labels": labels(coins, 5)},
            ],
            "noise": "shuffler",
        },
    ),
}
ONLY_ROUGH = ("bytes", "all of a survey")
"""To plan or verify several rounds of these takes a minute."""


FAMILY = {
    "large domain": "frequencies", "dummies": "counts-with-dummies", "noise": "counts-with-shuffler-noise",
    "digits": "digit-sums", "digits by group": "grouped-digit-sums", "paper histogram": "histogram",
}  # fmt: skip
"""Of which protocol a plan must be where others may be better."""


def asked_how(kind: str, coins: Random) -> Options:
    """What a plan is asked for: (epsilon, delta), in all rounds or one, or an error."""
    one: Options = {"n": round(10 ** coins.uniform(2.3, 4.3)), "epsilon": coins.choice([0.3, 1.0, 2.5, 6.0])}
    one |= {"delta": coins.choice([1e-6, 1e-4, 1e-2]), "honest_fraction": coins.choice([1.0, 1.0, 0.9, 0.5])}
    one |= {"dropout": coins.choice([0.0, 0.0, 0.3])}
    way = coins.randrange(8)
    if "paper" in kind:
        return one | {"n": 10 * one["n"], "epsilon": min(1.0, one["epsilon"])}
    if way < 3 and kind not in ONLY_ROUGH:
        rounds = coins.choice([2, 10])
        return one | {"rounds": rounds, "rounds_per_person": coins.choice([1, rounds // 2, rounds])}
    if way == 3 and "survey" not in kind:
        return {name: value for name, value in one.items() if name != "epsilon"} | {
            "rmse_share": coins.choice([0.02, 0.1, 0.3])
        }
    if way == 4 and "survey" not in kind and kind not in ONLY_ROUGH:
        return {name: value for name, value in one.items() if name != "n"} | {"rmse_share": coins.choice([0.1, 0.3])}
    return one


@cache
def planned(number: int) -> tuple[str, Plan]:
    """The first possible plan of a kind with random options, crowd and privacy; what is not possible is said, not crashed."""
    kind = list(KINDS)[number % len(KINDS)]
    question, options = KINDS[kind]
    refusals = list[str]()
    for attempt in range(TRIES):
        coins = Random(f"{number}, {attempt}")
        try:
            made = plan(question, **options(coins), **asked_how(kind, coins))
        except (InvalidInput, NoClaim) as refused:
            refusals.append(str(refused))
            continue
        if made.min_batch <= 50_000 and made.protocol.kind == FAMILY.get(kind, made.protocol.kind):
            return kind, made
    assert not any("Please report this" in refusal for refusal in refusals)
    raise AssertionError((kind, refusals))


class Several(ValuesSource):
    """Values of which any three may be one person's."""

    rows_per_person = 3


def values_for(made: Plan) -> list[Any]:
    samples = made.protocol.domain.samples()
    return [samples[j % len(samples)] for j in range(made.min_batch + 3)]


def test_every_question_and_every_family_is_among_them() -> None:
    assert {question for question, _ in KINDS.values()} == set(questions())
    found = [planned(number)[1].protocol for number in range(len(KINDS))]
    assert {protocol.kind for protocol in found} == {
        kind for kind, protocol in PROTOCOLS.items() if issubclass(protocol, Deployable)
    } - {"one-bit-mean", "topped-up-histogram"}  # which nobody plans
    levels = {len(protocol.document()["widths"]) for protocol in found if "widths" in protocol.document()}
    assert len(levels) == 2
    assert len(FAMILIES) == 20  # more: give them a kind here


@pytest.mark.parametrize("number", range(PLANS))
def test_what_is_planned_is_written_loaded_verified_and_run(number: int, tmp_path: Path) -> None:
    kind, made = planned(number)
    if kind == "all of a survey" and number >= full(0, PLANS):
        return  # to verify one takes a minute: they are for `make test-all`
    made.save(tmp_path / "plan.json")
    document = json.loads((tmp_path / "plan.json").read_text())
    loaded = Plan.load(tmp_path / "plan.json")
    assert loaded.promise() == made.promise()
    found = verify(document)
    assert found.confirmed, (kind, found)
    rounds = made.over_time
    together = [one for one in found.proved if rounds is not None and rounds.rounds > 1 and "rounds" in one]
    assert bool(together) == (rounds is not None and (rounds.per_person > 1 or rounds.rounds > 1))
    values, candidates = values_for(loaded), ["label 0", "label 1"] if made.question == "texts" else None
    query = (lambda value: value) if made.protocol.description.asked else None
    answer = run(loaded, values, query=query, candidates=candidates)
    assert answer.guarantee == made.guarantee
    assert np.isfinite(answer.estimate.value).all() or answer.estimate.refused
    stated = verify(json.loads(json.dumps(answer.document())), beside=[document])
    assert stated.confirmed, (kind, stated)
    if number % 3 == 0:
        several_rows_each(loaded, values, candidates)


def several_rows_each(made: Plan, values: list[Any], candidates: list[str] | None) -> None:
    """Answered and verified, or refused where nothing can be promised: dummies protect one message of a person, not three."""
    if math.isinf(made.epsilon0):
        with contextlib.suppress(NoClaim):
            run_source(made, Several(values), engine="memory", candidates=candidates)
        return
    several = run_source(made, Several(values), engine="memory", candidates=candidates)
    found = verify(json.loads(json.dumps(several.document())), beside=[made.document()])
    assert found.confirmed, found
    assert "at most 3 rows" in found.proved[0]


ON_THE_COMMAND_LINE = {
    "histogram --labels no,yes --n 900 --rounds 10 --rounds-per-person 1": "no,yes",
    "histogram --labels no,yes --n 900 --rounds 2 --honest-fraction 0.7": "no,yes",
    "histogram --labels a,b,c --n 300 --dropout 0.2 --messages-per-user 4": "a,b,c",
    "mean --high 10 --n 500 --honest-fraction 0.9 --dropout 0.5": "1,9.5",
    "mean --high 10 --rmse 0.5": "1,9.5",
    "sum --low -1 --n 500 --rmse-share 0.1": "0.5,-1",
    "mean --n 400 --rmse 0.1 --rounds 2": "0,1",
    "distribution --low 0 --high 4 --resolution 8 --n 600": "1,3",
    "texts --n 900": "left,right",
    "heavy-hitters --alphabet ab --max-length 3 --n 900": "aba,b",
}


@pytest.mark.parametrize("asked", ON_THE_COMMAND_LINE)
def test_the_same_on_the_command_line(asked: str, tmp_path: Path) -> None:
    """Written with -o, verified, and run on a file, with one row per person and with several."""
    epsilon = "" if "rmse" in asked and "--n" in asked else "--epsilon 2"
    made = called(f"plan {asked} {epsilon} --delta 1e-3 -o plan.json", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    least = Plan.load(tmp_path / "plan.json").min_batch
    values = ON_THE_COMMAND_LINE[asked].split(",")
    rows = [f"{values[j % len(values)]},{j // 2}" for j in range(least + 4)]
    (tmp_path / "people.csv").write_text("\n".join(["x,who", *rows]) + "\n")
    (tmp_path / "texts").write_text("left\n")
    texts = "--candidates texts" if "texts" in asked else ""
    for more in ("", "--user who --max-rows-per-user 2"):
        ran = called(f"run plan.json people.csv --column x {texts} {more} -o result.json", cwd=tmp_path)
        if "--messages-per-user" in asked and more:
            assert (ran.returncode, "for so many rows per person" in ran.stderr) == (3, True)
            break
        assert ran.returncode == 0, ran.stderr
        shown = called("verify plan.json result.json", cwd=tmp_path)
        assert (shown.returncode, shown.stdout.count(": confirmed: ")) == (0, 2), shown.stdout
        assert math.isfinite(json.loads((tmp_path / "result.json").read_text())["guarantee"]["epsilon"])
