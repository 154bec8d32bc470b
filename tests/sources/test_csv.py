"""CSV files as people write them: other separators, decimal commas, and errors that name the row and never its cells."""

import gc
import gzip
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from oracles.process import assert_refused, called
from shuffledp import InvalidInput, Plan, Policy, plan, run_file
from shuffledp.core.randomness import KeyedRandomness
from shuffledp.sources import csv_file
from shuffledp.sources.csv_dialect import Dialect
from shuffledp.sources.population_file import read_population
from shuffledp.sources.table_file import TableFile

WORDS = KeyedRandomness.seeded(1)
NUMBERS = np.round(np.random.default_rng(5).uniform(0, 10, 1200), 3)
GROUPS = ["AA" if j % 3 else "DL" for j in range(len(NUMBERS))]

ASKED: list[dict[str, Any]] = [{"column": "hours"}, {"query": "hours::DOUBLE"}]


def written(path: Path, separator: str, decimal: str) -> Path:
    """The same table in some dialect: names that look like numbers, groups, numbers."""
    lines = [separator.join(("who", "carrier", "hours", "more"))]
    for j, (group, number) in enumerate(zip(GROUPS, NUMBERS.tolist(), strict=True)):
        lines.append(separator.join((f"{j}{decimal}5", group, str(number).replace(".", decimal), f"-{decimal}5e1")))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def survey() -> Plan:
    questions = [
        {"name": "carrier", "ask": "histogram", "labels": ["AA", "DL"]},
        {"name": "hours", "ask": "mean", "low": 0.0, "high": 10.0},
    ]
    return plan("survey", n=1000, epsilon=1.0, delta=1e-6, questions=questions, way="one")


@pytest.mark.parametrize(
    ("separator", "decimal", "ending"), [(";", ",", ".csv"), ("\t", ",", ".tsv"), ("|", ".", ".csv.gz")]
)
def test_every_dialect_gives_the_same_answer(
    tmp_path: Path, mean: Plan, survey: Plan, separator: str, decimal: str, ending: str
) -> None:
    """A column, a query, people and a survey of the same table."""
    plain = written(tmp_path / "plain.csv", ",", ".")
    other = written(tmp_path / f"other{ending.removesuffix('.gz')}", separator, decimal)
    if ending.endswith(".gz"):
        (tmp_path / "other.csv.gz").write_bytes(gzip.compress(other.read_bytes()))
        other = tmp_path / "other.csv.gz"
    asked: list[tuple[Plan, dict[str, Any]]] = [
        (mean, {"column": "hours", "user": "who"}),
        (mean, {"query": "least(10, hours::DOUBLE + (more::DOUBLE + 5) / 2)"}),
        (survey, {}),
    ]
    for one, options in asked:
        expected = run_file(one, plain, randomness=WORDS, truth=True, **options)
        found = run_file(one, other, randomness=WORDS, truth=True, separator=separator, decimal=decimal, **options)
        assert (found.estimate.value == expected.estimate.value).all()
        assert found.truth is not None
        assert expected.truth is not None
        assert (found.truth == expected.truth).all()


def test_a_decimal_comma_leaves_texts_and_labels_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "sizes.csv"
    path.write_text("size;drink\n" + "1,5;2,0\n0.5;x\n" * 600)
    sizes = plan("histogram", n=1000, epsilon=1.0, delta=1e-6, labels=["1,5", "0.5"])
    counted = run_file(sizes, path, column="size", separator=";", decimal=",", truth=True)
    assert counted.truth is not None
    assert counted.truth.tolist() == [600, 600]
    drinks = plan("texts", n=1000, epsilon=1.0, delta=1e-6, candidates=["2,0", "2.0"])
    asked = run_file(drinks, path, column="drink", separator=";", decimal=",", truth=True)
    assert asked.truth is not None
    assert asked.truth.tolist() == [600, 0]


def test_a_point_where_a_comma_is_expected_is_refused_and_not_guessed(tmp_path: Path, mean: Plan) -> None:
    path = tmp_path / "people.csv"
    path.write_text("hours\n" + "1,5\n" * 1000 + "7.125\n")
    for options in ASKED:
        with pytest.raises(InvalidInput, match="data row 1,001 the value has a decimal point") as refused:
            run_file(mean, path, separator=";", decimal=",", **options)
        assert "7.125" not in str(refused.value)
    path.write_text("hours\n1.234,5\n")
    with pytest.raises(InvalidInput, match="data row 1 the value is not a number"):
        run_file(mean, path, column="hours", separator=";", decimal=",")


@pytest.mark.parametrize(
    ("separator", "decimal", "why"),
    [
        (",", ",", "both between cells and before decimals"),
        (".", ".", "both between cells and before decimals"),
        (";;", ".", "one character"),
        ("", ".", "one character"),
        ("\n", ".", "line break"),
        ("\r", ".", "line break"),
        ("x", ".", "letter"),
        ("7", ".", "digit"),
        ("§", ".", "one character"),
        ('"', ".", "quotation marks"),
        ("-", ".", "a sign is"),
        (";", "'", "a point or a comma"),
        (";", "", "a point or a comma"),
    ],
)
def test_bad_dialects(separator: str, decimal: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        Dialect(separator=separator, decimal=decimal)


def test_a_parquet_file_has_no_separators(tmp_path: Path, mean: Plan) -> None:
    with pytest.raises(InvalidInput, match="is not a CSV file"):
        run_file(mean, tmp_path / "people.parquet", column="hours", separator=";")


@pytest.mark.parametrize(
    ("content", "mark"),
    [
        ("who;hours\n31337;2\n", '";"'),
        ("who;hours\n31337;2,5\n", '";"'),  # so that rows look longer than the header
        ("who\thours\n31337\t2\n", "tab"),
        ("who|hours\n31337|2\n", '"|"'),
    ],
)
def test_another_separator_is_suggested(tmp_path: Path, mean: Plan, content: str, mark: str) -> None:
    (tmp_path / "people.csv").write_text(content)
    for asked in ASKED:
        with pytest.raises(InvalidInput, match=rf"Try `separator={mark.replace('|', '[|]')}`\.") as refused:
            run_file(mean, tmp_path / "people.csv", **asked)
        assert "31337" not in str(refused.value)
    (tmp_path / "people.csv").write_text("number\n1\n")
    with pytest.raises(InvalidInput, match="Check the name"):
        run_file(mean, tmp_path / "people.csv", column="hours")


# Rows in errors


@pytest.mark.parametrize("block", [64, 1 << 22])
@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (b"31337", "data row 102 of people.csv has 1 cells, and the header 2"),
        (b"31337,1,2", "data row 102 of people.csv has 3 cells, and the header 2"),
        (b"Row #7: Expected 9 columns, got 8: 31337,1,2", "data row 102 of people.csv has"),
        (b"\xff31337,1", "data row 102 of people.csv is not in UTF-8"),
        (b"31337x,1", "data row 102 the value is not a number"),
        (b",31337", "data row 102 the value is missing"),
        (b'1,"31337\n2"', r"\(data row 102\), which would hide"),
        (b'1,"31337', r"\(data row 102\), which would hide"),
    ],
)
def test_a_bad_row_is_named_by_its_number(
    tmp_path: Path, mean: Plan, monkeypatch: pytest.MonkeyPatch, bad: bytes, why: str, block: int
) -> None:
    """However the file is cut, and empty lines are no rows."""
    monkeypatch.setattr(csv_file, "_BLOCK", block)
    (tmp_path / "people.csv").write_bytes(b"number,x\n" + b"1,2\n" * 50 + b"\n\n" + b"1,2\n" * 51 + bad + b"\n1,2\n")
    with pytest.raises(InvalidInput, match=why) as refused:
        run_file(mean, tmp_path / "people.csv", column="number")
    assert "31337" not in str(refused.value)
    assert refused.value.__context__ is None


def test_a_query_that_fails_names_the_row_only_to_its_owner(
    tmp_path: Path, mean: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_file, "_BLOCK", 64)
    (tmp_path / "people.csv").write_text("who,number\n" + "a,1\n" * 77 + "a,31337x\n" + "a,1\n" * 9 + "a,31337x\n")
    asked: dict[str, Any] = {"query": "number::DOUBLE / 2"}
    with pytest.raises(InvalidInput, match=r"in data row 78 the value is missing\. The query fails there") as refused:
        run_file(mean, tmp_path / "people.csv", policy=Policy(explain_errors=True), **asked)
    assert "31337" not in str(refused.value)
    with pytest.raises(InvalidInput, match="has no answer for some row") as refused:
        run_file(mean, tmp_path / "people.csv", **asked)
    assert "78" not in str(refused.value)


def test_a_row_of_nobody_is_named(tmp_path: Path, mean: Plan) -> None:
    (tmp_path / "people.csv").write_text("who,number\n" + "a,1\n" * 3 + ",2\n")
    with pytest.raises(InvalidInput, match="in data row 4: it is empty"):
        run_file(mean, tmp_path / "people.csv", column="number", user="who")


# Populations


def test_populations_in_other_dialects(tmp_path: Path, mean: Plan, histogram: Plan) -> None:
    path = tmp_path / "truth.csv"
    path.write_text("hours;users\n1,5;100\n,25;20\n")
    found = read_population(path, mean.protocol.domain, Dialect(separator=";", decimal=","))
    assert found.values.tolist() == [1.5, 0.25]
    path.write_text("red;100\nblue;20\n")
    assert read_population(path, histogram.protocol.domain, Dialect(separator=";")).users.tolist() == [100, 20]
    with pytest.raises(InvalidInput, match='Try `separator=";"`'):
        read_population(path, histogram.protocol.domain)
    for content, why in (
        (b"1.5;100\n", "line 1 of .* decimal point"),
        (b"1,5;100\n\xff;2\n", "line 2 of .* not in UTF-8"),
        (b"1,5;100\n" + b"1" * 200_000 + b";2\n", "not a CSV file in line 2"),
    ):
        path.write_bytes(content)
        with pytest.raises(InvalidInput, match=why):
            read_population(path, mean.protocol.domain, Dialect(separator=";", decimal=","))


def test_the_commands_take_separators(tmp_path: Path, mean: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "plan.json").write_text(json.dumps(mean.document()))
    written(tmp_path / "people.csv", "\t", ",")
    done = called("run plan.json people.csv --column hours --separator tab --decimal , --truth --json", cwd=tmp_path)
    assert json.loads(done.stdout)["truth"] == pytest.approx([NUMBERS.mean()])
    (tmp_path / "truth.csv").write_text("1,5;1000\n")
    line = "simulate plan.json --truth truth.csv --trials 10"
    assert "1,000 users" in called(f"{line} --separator ; --decimal ,", cwd=tmp_path).stdout
    refused = called(f"{line} --separator , --decimal ,", cwd=tmp_path)
    assert_refused(refused, "both between cells")


def test_no_file_is_closed_that_is_still_read_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its number would be the next file's, whose bytes the reader that was given up would take. And none stays open."""
    path = tmp_path / "people.csv"
    path.write_text("number,x\n" + "5,1\n" * 10_000)
    opened = list[Any]()
    real = pa.OSFile

    def spy(name: str) -> Any:
        opened.append(real(name))
        return opened[-1]

    monkeypatch.setattr(csv_file, "_BLOCK", 64)
    monkeypatch.setattr(pa, "OSFile", spy)
    descriptors = Path("/proc/self/fd")
    before = sum(1 for _ in descriptors.iterdir())
    for _ in range(20):
        assert TableFile(path=path).columns() == ["number", "x"]  # reads one batch and no more
    assert len(opened) == 20
    assert not any(file.closed for file in opened)
    opened.clear()
    for _ in range(6000):  # until the last block that is read ahead has arrived
        gc.collect()
        if sum(1 for _ in descriptors.iterdir()) <= before + 2:
            break
        time.sleep(0.01)
    else:
        pytest.fail("files stay open")
