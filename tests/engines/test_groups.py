"""Groups from tables, files, lists and reports: the same pair of group and value, whatever it is written in."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from oracles.parties import ANALYZER, PARTIES, announced, released, serving
from oracles.process import assert_refused, called
from shuffledp import InvalidInput, KeyedRandomness, Policy, plan, run, run_file
from shuffledp.service.analyzer.analyzer import open_batch, result_of
from shuffledp.service.client.client import Client, messages_of
from shuffledp.service.task import Task

WORDS = KeyedRandomness.seeded(8)
ROWS = 400
LABELS = ["AA", "B6", "late, very"]
GROUPS = [LABELS[j] for j in np.random.default_rng(0).integers(0, 3, ROWS)]
SEXES = ["fm"[j] for j in np.random.default_rng(1).integers(0, 2, ROWS)]
NUMBERS = np.random.default_rng(2).uniform(0, 10, ROWS)
TABLE = pa.table({"delay": NUMBERS, "sex": SEXES, "carrier": GROUPS, "flag": [str(x > 5) for x in NUMBERS]})
BY = {"carrier": LABELS, "sex": ["f", "m"]}
MEAN = plan("mean", n=ROWS, epsilon=8.0, delta=1e-2, high=10.0, by=BY)
CELLS = plan("histogram", n=ROWS, epsilon=8.0, delta=1e-2, labels=["False", "True"], by=BY)


def lines(column: str) -> list[str]:
    return [
        f'"{group}", {sex}, {value}' for group, sex, value in zip(GROUPS, SEXES, TABLE[column].to_pylist(), strict=True)
    ]


@pytest.mark.parametrize(("asked", "column"), [(MEAN, "delay"), (CELLS, "flag")], ids=["mean", "table"])
def test_every_table_and_file_gives_the_same_bits(tmp_path: Path, asked: Any, column: str) -> None:
    csv.write_csv(TABLE, tmp_path / "people.csv")
    parquet.write_table(TABLE, tmp_path / "people.parquet", row_group_size=150)
    expected = run(asked, lines(column), randomness=WORDS).counts.values
    assert expected.sum() == ROWS
    encoded = TABLE.set_column(2, "carrier", TABLE["carrier"].dictionary_encode())
    records = [
        {"sex": sex, "carrier": group, "value": value}
        for sex, group, value in zip(SEXES, GROUPS, TABLE[column].to_pylist(), strict=True)
    ]
    for frame in (TABLE, encoded, TABLE.to_pandas(), pl.from_arrow(TABLE), TABLE.to_pydict()):
        assert (run(asked, frame, column=column, randomness=WORDS).counts.values == expected).all()
    assert isinstance(TABLE.to_pandas(), pd.DataFrame)
    for values in (records, pa.array(records), pa.array(lines(column)), np.array(lines(column))):
        assert (run(asked, values, randomness=WORDS).counts.values == expected).all()
    for name in ("people.csv", "people.parquet"):
        for engine in ("memory", "arrow"):
            found = run_file(asked, tmp_path / name, column=column, randomness=WORDS, engine=engine)
            assert (found.counts.values == expected).all()
        found = run_file(
            asked, tmp_path / name, query=column if column == "flag" else "delay::DOUBLE", randomness=WORDS
        )
        assert (found.counts.values == expected).all()


def test_the_value_may_be_a_query_beside_the_groups() -> None:
    doubled = run(MEAN, TABLE, query="2 * delay / 2", randomness=WORDS)
    assert (doubled.counts.values == run(MEAN, TABLE, column="delay", randomness=WORDS).counts.values).all()


def test_each_column_has_its_own_policy() -> None:
    rows: list[Any] = [
        *lines("delay"),
        "XX, f, 3",  # an unknown group
        "AA, m, 99",  # a number outside
        "AA, , 5",  # a missing group
        "AA, m, ",  # a missing number
        None,
    ]
    for bad, what in zip(
        rows[-5:],
        (
            "'carrier': in data row 401 the value is not one",
            "outside",
            "'sex': in data row 401 the value is missing",
            "in data row 401 the value is missing",
            "'carrier': in data row 401",
        ),
        strict=True,
    ):
        with pytest.raises(InvalidInput, match=what) as refused:
            run(MEAN, [*lines("delay"), bad])
        assert "XX" not in str(refused.value)
        assert "99" not in str(refused.value)
    skipped = run(MEAN, rows, policy=Policy(missing="skip", other="B6", outside="clamp"), randomness=WORDS)
    assert skipped.rejected == {"missing": 3}
    assert skipped.adjusted == {"other": 1, "clamped": 1}
    filled = run(MEAN, rows, policy=Policy(missing_as="AA, f, 5", other="B6,,", outside="clamp"), randomness=WORDS)
    assert filled.adjusted == {"other": 1, "clamped": 1, "missing": 3}
    same = [*lines("delay"), "B6, f, 3", "AA, m, 10", "AA, f, 5", "AA, m, 5", "AA, f, 5"]
    assert (filled.counts.values == run(MEAN, same, randomness=WORDS).counts.values).all()
    for policy, what in (
        (Policy(other="Q7"), "none of the columns carrier, sex, value has 'Q7'"),
        (Policy(other="B6, Q7,"), "'sex': 'Q7' is not a bin"),
        (Policy(missing_as="a, b"), "a cell for each"),
    ):
        with pytest.raises(InvalidInput, match=what):
            run(MEAN, rows, policy=policy)


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        (["AA, f"], "not a row of the columns carrier, sex, value"),
        (['"AA, f, 3'], "not a row"),
        ([{"carrier": "AA", "value": 3}], "not a row"),
        ([3.5], "not a row"),
        (pa.array([{"carrier": "AA", "value": 3}]), "not a row"),
        (["AA, f, 31337x"], "not a number"),
    ],
)
def test_what_is_not_a_row_is_refused_without_being_shown(rows: Any, what: str) -> None:
    with pytest.raises(InvalidInput, match=what) as refused:
        run(MEAN, rows)
    assert "31337" not in str(refused.value)


def test_a_column_that_the_table_has_not_is_named() -> None:
    with pytest.raises(InvalidInput, match="no column 'sex'"):
        run(MEAN, TABLE.drop_columns(["sex"]), column="delay")


# The command line


def test_plan_run_and_simulate_by_group(tmp_path: Path) -> None:
    csv.write_csv(TABLE, tmp_path / "people.csv")
    environment = {"XDG_STATE_HOME": str(tmp_path / "state")}

    def done(line: str) -> str:
        found = called(line, cwd=tmp_path, environment=environment)
        assert found.returncode == 0, found.stderr
        return found.stdout

    asked = f'--by "carrier=AA,B6,""late, very""" --n {ROWS} --epsilon 8 --delta 1e-2'.replace('""', '\\"')
    text = done(f"plan mean --high 10 {asked} --share 0.3 -o mean.json")
    assert "standard error of the mean of a group with 10 % of the users: at most" in text
    found = json.loads(done("run mean.json people.csv --column delay --json --simultaneous --report page.html"))
    assert found["estimate"]["names"] == ["AA", "B6", '"late, very"']
    assert found["also"]["users"]["value"] == pytest.approx([GROUPS.count(label) for label in LABELS], abs=60)
    assert "Mean of the users" in (tmp_path / "page.html").read_text(encoding="utf-8")
    (tmp_path / "truth.csv").write_text('carrier,delay,users\nAA,2.5,200\nB6,10,199\n"late, very",1,1\n')
    simulated = done("simulate mean.json --truth truth.csv --trials 500 --seed 1")
    assert "entries without a number" in simulated
    done(f"plan histogram --labels False,True {asked} -o cells.json")
    text = done("run cells.json people.csv --column flag")
    assert "users by carrier" in text
    assert "share of each value within carrier" in text


def test_a_population_needs_a_cell_for_every_column(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(json.dumps(MEAN.document()))
    (tmp_path / "truth.csv").write_text("AA,f,3,10\nAA,3,10\n")
    found = called("simulate plan.json --truth truth.csv", cwd=tmp_path)
    assert_refused(found, "line 2 of truth.csv is not carrier, sex, a value and a count")


# The service


def test_a_pair_travels_through_the_service(tmp_path: Path) -> None:
    asked = plan("mean", n=40, epsilon=8.0, delta=1e-2, high=10.0, by={"carrier": ["AA", "B6"]})
    task = Task(plan=asked, window=60, max_age=600, **PARTIES)
    shuffler = serving(task)
    values: list[Any] = ["AA, 10", {"carrier": "B6", "value": 0.0}] * 20
    for j, value in enumerate(values):
        client = Client(task=task, analyzer=ANALYZER.public(), folder=tmp_path / str(j))
        sealed = client.report(value, announced(shuffler, task))
        assert sealed is not None
        assert shuffler.accept(task.id, [sealed], announced(shuffler, task).window) == ["accepted"]
    batch, data = released(shuffler, task)
    assert batch.digest is not None
    result = result_of(open_batch(data, task, ANALYZER), task, digest=batch.digest)
    assert result.names == ("AA", "B6")
    assert result.also["users"].value == pytest.approx([20, 20], abs=20)
    with pytest.raises(InvalidInput, match="not a row") as refused:
        messages_of(task, "s3cret")
    assert "s3cret" not in str(refused.value)
