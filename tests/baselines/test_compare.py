"""The paper's story as a table: local n^(1/2), shuffled n^(1/6), curator constant; every row as measured."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oracles.process import called as run
from shuffledp import InvalidInput
from shuffledp.baselines.compare import compare
from shuffledp.baselines.unary import ManyMessages
from shuffledp.domains.reals import RealRange
from shuffledp.planning.families.summation import SumQuestion

LOCAL = ("local Laplace", "local randomized response", "1BitMean")


def test_growth_with_the_crowd() -> None:
    """Fitted exponents of the error over n = 1e4 ... 1e8."""
    sizes = [10**j for j in range(4, 9)]
    names = (*LOCAL, "discrete Laplace", "shuffledp", "IKOS split and mix", "lower bound")
    errors: dict[str, list[float]] = {name: [] for name in names}
    for n in sizes:
        for row in compare("sum", n=n, epsilon=1.0, delta=1e-6, only=names):
            assert row.rmse is not None
            errors[row.name].append(row.rmse)
    for name, found in errors.items():
        exponent = float(np.polyfit(np.log(sizes), np.log(found), 1)[0])
        wanted = 0.5 if name in LOCAL else 0.0 if name in ("discrete Laplace", "IKOS split and mix") else 1 / 6
        assert exponent == pytest.approx(wanted, abs=0.02), name


@pytest.mark.parametrize(("question", "rows"), [("sum", 11), ("histogram", 21), ("mean", 11)])
def test_every_row_is_as_simulated(question: str, rows: int) -> None:
    """100,000 runs of each at the worst data: the predicted error within 2 %."""
    size = 8 if question == "histogram" else None
    found = compare(question, n=10**6, epsilon=1.0, delta=1e-6, size=size, runs=100_000, seed=1)
    assert len(found) == rows
    for row in found:
        assert row.rmse is not None, row.note
        if row.name != "lower bound":
            assert row.simulated == pytest.approx(row.rmse, rel=0.02), row.name
            assert row.messages
            assert row.bits


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_the_error_of_one_value_is_as_simulated(share: float) -> None:
    """If one value is what counts: for protocols whose errors depend on what the others hold, and for some that do not."""
    names = (
        "shuffledp", "shuffledp, plane", "Apple CMS", "Apple HCMS", "Hadamard response", "local hashing, shuffled",
        "Hadamard response, shuffled", "subset selection", "discrete Laplace",
    )  # fmt: skip
    found = compare("histogram", n=10**5, epsilon=1.0, delta=1e-6, size=9, share=share, runs=20_000, seed=1, only=names)
    assert {row.name for row in found} == set(names)
    for row in found:
        assert row.simulated == pytest.approx(row.rmse, rel=0.02), row.name
        assert row.share == share


def test_shuffling_is_between_local_and_curator() -> None:
    by_name = {
        row.name: row
        for row in compare("sum", n=10**6, epsilon=1.0, delta=1e-6, only=(*LOCAL, "shuffledp", "discrete Laplace"))
    }
    ours, curator = by_name["shuffledp"].rmse, by_name["discrete Laplace"].rmse
    assert ours is not None
    assert curator is not None
    for name in LOCAL:
        local = by_name[name].rmse
        assert local is not None
        assert curator < ours < local
    assert by_name["shuffledp"].trust == "the shuffler"
    floor = by_name["lower bound"].rmse
    assert floor is not None
    assert floor < ours


def test_a_query_is_compared_as_a_mean_of_answers() -> None:
    names = (*LOCAL, "shuffledp", "discrete Laplace")
    found = [
        [(row.name, row.rmse) for row in compare(question, n=10**4, epsilon=1.0, delta=1e-6, only=names)]
        for question in ("query", "mean")
    ]
    assert len(found[0]) == len(names) + 1
    assert found[0] == found[1]


def test_what_cannot_be_done_says_why() -> None:
    """Theorem 3.1 has no solution at n = 1000, epsilon = 0.5: a note, no number, last place."""
    rows = compare(
        "sum", n=1000, epsilon=0.5, delta=1e-6, only=("shuffledp", "privacy blanket, the paper's parameters")
    )
    assert rows[-1].name == "privacy blanket, the paper's parameters"
    assert rows[-1].rmse is None
    assert rows[-1].note


def test_many_messages_are_certified_and_near_the_gaussian_guess() -> None:
    protocol = ManyMessages().propose(SumQuestion(name="sum", domain=RealRange(), n=10**4, epsilon=1.0, delta=1e-6))
    assert protocol.messages > 10
    assert 1.4 < math.sqrt(protocol.mean_squared_error(10**4)) < 6


@pytest.mark.parametrize(
    "wrong", [{"question": "median"}, {"epsilon": 0.0}, {"delta": 2.0}, {"n": 0}, {"question": "histogram"}]
)
def test_bad_input(wrong: dict[str, object]) -> None:
    arguments: dict[str, object] = {"question": "sum", "n": 1000, "epsilon": 1.0, "delta": 1e-6} | wrong
    with pytest.raises(InvalidInput):
        compare(arguments.pop("question"), **arguments)  # type: ignore[arg-type]


def test_command(tmp_path: Path) -> None:
    done = run("compare histogram --size 4 --n 1e4 --epsilon 1 --delta 1e-6 --simulate --seed 3 --json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert [row["name"] for row in document["candidates"][:2]] == ["shuffledp, shuffler's noise", "discrete Laplace"]
    assert document["runs"] == 100_000
    picture = run("compare histogram --size 4 --n 1e4 --epsilon 1 --delta 1e-6 --plot story.png", cwd=tmp_path)
    assert picture.returncode == 0, picture.stderr
    assert (tmp_path / "story.png").read_bytes().startswith(b"\x89PNG")
    assert "shuffledp" in picture.stdout
    for line, why in (
        ("compare sum --size 4 --n 1e4 --epsilon 1 --delta 1e-6", "a sum has no --size: it is for histogram"),
        ("compare histogram --size 4 --low 1 --n 1e4 --epsilon 1 --delta 1e-6", "two ends"),
        ("compare histogram --n 1e4 --epsilon 1 --delta 1e-6", "needs the values to count"),
        ("compare sum --n 1e4,1e5 --epsilon 1 --delta 1e-6", "not a single number"),
        ("compare sum --n 1e4 --epsilon 1 --delta 1e-6 --plot story.doc", "not a kind of picture"),
        ("compare sum --low 3 --high 2 --n 1e4 --epsilon 1 --delta 1e-6", "low must be below high"),
    ):
        bad = run(line, cwd=tmp_path)
        assert (bad.returncode, bad.stdout) == (2, ""), line
        assert why in bad.stderr


def test_fewer_runs_than_none_are_refused() -> None:
    with pytest.raises(InvalidInput, match="`runs` must be at least 0; got -1"):
        compare("mean", n=1000, epsilon=1.0, delta=1e-6, low=0, high=1, runs=-1)


def test_every_question_has_a_comparison_of_its_own_as_it_has_a_plan() -> None:
    given: dict[str, Any] = {"n": 10**4, "epsilon": 1.0, "delta": 1e-6, "only": ("shuffledp", "discrete Laplace")}
    rows = compare.histogram(size=4, **given)
    assert rows == compare("histogram", size=4, **given)
    assert compare.heavy_hitters.args == ("heavy-hitters",)  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="histogram"):
        compare.histogramm(size=4, **given)
    frame = rows.to_frame()
    assert frame["rmse"].tolist() == [row.rmse for row in rows]
    assert list(frame["name"]) == [row.name for row in rows]
    assert str(rows).endswith("rmse: of all entries of the answer together")
    assert "rmse: of" not in str(compare.mean(**given))
    assert "rmse: of one value" in str(compare.histogram(size=4, objective="share", **given))
