"""Whoever writes a query learns from what is released, and from what is refused, nothing exact about a person."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oracles.people import write
from oracles.process import called
from shuffledp import InvalidInput, KeyedRandomness, Plan, Policy, plan, run, run_file
from shuffledp.domains.domain import NO_ANSWER
from shuffledp.engines.export import message_table
from shuffledp.sources.file_source import FileSource

N = 1200
WORDS = KeyedRandomness.seeded(3)
PLANS: dict[str, Callable[[], Plan]] = {
    "mean": lambda: plan("mean", n=1000, epsilon=1.0, delta=1e-6, high=10.0),
    "query": lambda: plan("query", n=1000, epsilon=1.0, delta=1e-6),
    "intervals": lambda: plan("histogram", n=1000, epsilon=1.0, delta=1e-6, size=5, low=0.0, high=10.0),
    "whole numbers": lambda: plan("histogram", n=1000, epsilon=1.0, delta=1e-6, size=3),
    "labels": lambda: plan("histogram", n=1000, epsilon=1.0, delta=1e-6, labels=["0", "1"]),
    "distribution": lambda: plan("distribution", n=1000, epsilon=1.0, delta=1e-6, low=0.0, high=10.0, resolution=16),
    "texts": lambda: plan("texts", n=1000, epsilon=2.0, delta=1e-6),
}
ASKED: dict[str, dict[str, Any]] = {"texts": {"candidates": ["0", "1"]}}
SETTLED = {
    name: Policy(missing_as="0", other="0")
    if name in ("labels", "whole numbers")
    else Policy(missing_as="0", outside="clamp")
    for name in PLANS
} | {"texts": Policy(missing_as="0")}
"""Policies that say what becomes of every answer."""
AIMED = {
    "is missing": "NULL",
    "fails": "CAST(name AS INTEGER)",
    "divides": "1 // (income - income)",
    "is far outside": "1e300",
    "is infinite": "CAST('inf' AS DOUBLE)",
    "is below": "-5",
    "is no whole number": "0.25",
}
"""What a query may do on the row of one person whose income is high, and on no other."""


def query_about_ada(does: str) -> str:
    return f"CASE WHEN name = 'Ada' AND income > 100 THEN {AIMED[does]} ELSE income % 2 END"


@pytest.fixture(scope="module")
def asked() -> dict[str, Plan]:
    return {name: made() for name, made in PLANS.items()}


@pytest.fixture
def neighbours(tmp_path: Path) -> tuple[Path, Path]:
    """Two files of the same people, one of whom has another income."""
    names = [f"p{j}" for j in range(N)]
    names[700] = "Ada"
    income = np.arange(N) % 50
    low = write(tmp_path / "low.parquet", {"name": names, "income": income})
    income[700] = 1000
    return low, write(tmp_path / "high.parquet", {"name": names, "income": income})


def told(result: Any) -> dict[str, Any]:
    """All that a result says, except what follows from counts of messages."""
    document = result.document()
    return {
        name: value
        for name, value in document.items()
        if name not in ("estimate", "also", "max_shift_per_false_report")
    }


@pytest.mark.parametrize("does", AIMED)
def test_where_all_is_settled_results_tell_nothing_but_messages(
    asked: dict[str, Plan], neighbours: tuple[Path, Path], does: str
) -> None:
    for name, made in asked.items():
        first, second = (
            run_file(
                made, path, query=query_about_ada(does), policy=SETTLED[name], randomness=WORDS, **ASKED.get(name, {})
            )
            for path in neighbours
        )
        assert told(first) == told(second), name
        assert (first.n, first.received, first.rejected, first.adjusted) == (N, N, {}, {})
        assert any("were adjusted is not shown" in note for note in first.notes)
        changed = int(np.abs(first.counts.values - second.counts.values).sum())
        assert changed <= 2 * made.protocol.messages_per_user * 2


@pytest.mark.parametrize("does", AIMED)
def test_all_refusals_are_alike(asked: dict[str, Plan], neighbours: tuple[Path, Path], does: str) -> None:
    """That there was one is what the owner of the rows must keep."""
    low, high = neighbours
    for name in ("query", "labels"):
        assert run_file(asked[name], low, query=query_about_ada(does), randomness=WORDS).n == N
        if (name, does) != ("query", "is no whole number"):
            with pytest.raises(InvalidInput) as refused:
                run_file(asked[name], high, query=query_about_ada(does), randomness=WORDS)
            assert str(refused.value) == NO_ANSWER
            assert refused.value.__context__ is None


def test_answers_of_a_function_are_refused_alike(asked: dict[str, Plan]) -> None:
    answers: list[Any] = [None, 7.0, "a text", float("nan")]
    for odd in answers:
        with pytest.raises(InvalidInput) as refused:
            run(asked["query"], [*[0.0] * N, odd], query=lambda answer: answer)
        assert str(refused.value) == NO_ANSWER


def test_the_owner_may_ask_for_more(asked: dict[str, Plan], neighbours: tuple[Path, Path]) -> None:
    _, high = neighbours
    for does, why in (("fails", "is missing. The query fails there"), ("is below", r"is outside \[0, 10\]")):
        with pytest.raises(InvalidInput, match=f"in data row 701 the value {why}"):
            run_file(asked["mean"], high, query=query_about_ada(does), policy=Policy(explain_errors=True))
    policy = Policy(missing_as="0", outside="clamp", explain_errors=True)
    found = run_file(asked["mean"], high, query=query_about_ada("fails"), policy=policy)
    assert found.adjusted == {"missing": 1}
    assert any("adjusted values are for the operator" in note for note in found.notes)


def test_nobody_is_left_out_by_a_query(asked: dict[str, Plan], neighbours: tuple[Path, Path]) -> None:
    """Refused before anything is read, so that the refusal tells nothing either."""
    skip = Policy(missing="skip")
    for path in (*neighbours, neighbours[0].with_name("there is none.parquet")):
        with pytest.raises(InvalidInput, match="reveals exactly how many they are"):
            run_file(asked["mean"], path, query=query_about_ada("is missing"), policy=skip)
    with pytest.raises(InvalidInput, match="reveals exactly how many they are"):
        run(asked["query"], [0.0] * N, query=lambda x: x, policy=skip)


def test_types_are_refused_as_before(asked: dict[str, Plan], neighbours: tuple[Path, Path]) -> None:
    """They are known without a row."""
    with pytest.raises(InvalidInput, match="has no numbers"):
        run_file(asked["mean"], neighbours[0], query="make_date(2000, 1, 1)", policy=SETTLED["mean"])
    with pytest.raises(InvalidInput, match="has no labels"):
        run_file(asked["labels"], neighbours[0], query="make_timestamp(income)", policy=SETTLED["labels"])


def test_texts_that_are_no_numbers_are_missing(asked: dict[str, Plan], neighbours: tuple[Path, Path]) -> None:
    """Or a name would be enough to make a run fail, whatever its policy."""
    text = "CASE WHEN name = 'Ada' THEN name ELSE '5' END"
    policy = Policy(missing_as="5", explain_errors=True)
    found = run_file(asked["mean"], neighbours[0], query=text, policy=policy, truth=True)
    assert found.truth is not None
    assert (found.truth[0], found.adjusted) == (5.0, {"missing": 1})


def test_tables_of_neighbours_state_the_same(asked: dict[str, Plan], neighbours: tuple[Path, Path]) -> None:
    """And so does the command that writes them."""
    folder = neighbours[0].parent
    (folder / "plan.json").write_text(json.dumps(asked["mean"].document()))
    said, sizes = [], []
    for path in neighbours:
        given = ["export", "plan.json", path.name, "--query", query_about_ada("is missing"), "-o", "table.parquet"]
        done = called(
            [*given, "--missing-as", "0"], cwd=folder, environment={"XDG_STATE_HOME": str(folder / path.stem)}
        )
        assert done.returncode == 0, done.stderr
        said.append((done.stdout, done.stderr))
        sizes.append(json.loads(called("analyzer read table.parquet --json", cwd=folder).stdout)["n"])
        (folder / "table.parquet").unlink()
        source = FileSource(path, query=query_about_ada("is missing"))
        assert message_table(asked["mean"], source, policy=Policy(missing_as="0")).tally.adjusted == {}
    assert said[0] == said[1]
    assert sizes == [N, N]
    refused = called([*given, "--missing", "skip"], cwd=folder)
    assert (refused.returncode, (folder / "table.parquet").exists()) == (2, False)
    explained = called([*given, "--missing-as", "0", "--explain-errors", "--json"], cwd=folder)
    assert json.loads(explained.stdout)["adjusted"] == {"missing": 1}
    failed = called([*given, "--explain-errors"], cwd=folder)
    assert "in data row 701" in failed.stderr


@pytest.mark.parametrize("holes", [0, 1])
def test_a_result_says_which_of_its_numbers_are_exact(asked: dict[str, Plan], holes: int) -> None:
    """Also where they are 0, which is as exact."""
    values = [5.0] * N + [None] * holes
    skipped = run(asked["mean"], values, policy=Policy(missing="skip"))
    assert any("is exact and not covered by the guarantee" in note for note in skipped.document()["notes"])
    counted = run(asked["mean"], values, policy=Policy(missing_as="5"))
    assert any("does not cover publishing them" in note for note in counted.document()["notes"])
    assert (counted.n, counted.adjusted) == (N + holes, {"missing": 1} if holes else {})
