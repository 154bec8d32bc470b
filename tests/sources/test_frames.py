"""Data frames of any library: the same bits as from a file of the same rows."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from shuffledp import InvalidInput, KeyedRandomness, Plan, Policy, plan, run, run_file

WORDS = KeyedRandomness.seeded(5)
ROWS = 3000
LABELS = ["red", "green", "blue", "7"]
CODES = np.random.default_rng(0).integers(0, 4, ROWS)
TEXTS = [LABELS[code] for code in CODES]
NUMBERS = np.random.default_rng(1).uniform(0, 10, ROWS)
TABLE = pa.table({"colour": TEXTS, "number": NUMBERS, "who": np.arange(ROWS)})

FRAMES: dict[str, Callable[[], Any]] = {
    "pandas": lambda: pd.DataFrame({"colour": TEXTS, "number": NUMBERS, "who": np.arange(ROWS)}),
    "pandas objects": lambda: TABLE.to_pandas().astype({"colour": object}),
    "pandas categories": lambda: TABLE.to_pandas().astype({"colour": "category"}),
    "pandas on Arrow": lambda: TABLE.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda: pl.DataFrame({"colour": TEXTS, "number": NUMBERS, "who": np.arange(ROWS)}),
    "polars categories": lambda: pl.from_arrow(TABLE).with_columns(pl.col("colour").cast(pl.Categorical)),  # type: ignore[union-attr]
    "polars, lazy": lambda: pl.from_arrow(TABLE).lazy(),  # type: ignore[union-attr]
    "Arrow": lambda: TABLE,
    "Arrow, one batch": lambda: TABLE.to_batches()[0],
    "Arrow, several dictionaries": lambda: pa.concat_tables(
        [TABLE.slice(0, 900).set_column(0, "colour", TABLE["colour"].slice(0, 900).dictionary_encode()),
         TABLE.slice(900).set_column(0, "colour", TABLE["colour"].slice(900).dictionary_encode())]
    ),
    "dict": lambda: {"colour": TEXTS, "number": NUMBERS, "who": list(range(ROWS))},
    "structured array": lambda: np.array(
        list(zip(TEXTS, NUMBERS, range(ROWS), strict=True)), dtype=[("colour", "U8"), ("number", "f8"), ("who", "i8")]
    ),
    "interchange protocol": lambda: OnlyInterchange(TABLE),
    "stream of Arrow": lambda: OnlyStream(TABLE),
}  # fmt: skip


class OnlyInterchange:
    """A frame of a library that nobody here knows."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __dataframe__(self, **options: Any) -> Any:
        return self._table.__dataframe__(**options)


class OnlyStream:
    """The same in the other standard."""

    def __init__(self, table: pa.Table) -> None:
        self._table, self.column_names = table, table.column_names

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


@pytest.fixture(scope="module")
def histogram() -> Plan:
    return plan("histogram", n=1000, epsilon=1.0, delta=1e-6, labels=LABELS)


@pytest.fixture(scope="module")
def mean() -> Plan:
    return plan("mean", n=1000, epsilon=1.0, delta=1e-6, low=0.0, high=10.0)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("frames") / "people.parquet"
    parquet.write_table(TABLE, path)
    return path


@pytest.mark.parametrize("kind", FRAMES)
def test_every_frame_gives_the_answer_of_the_file(kind: str, file: Path, histogram: Plan, mean: Plan) -> None:
    frame = FRAMES[kind]()
    for asked, columns in (
        (histogram, {"column": "colour"}),
        (mean, {"column": "number"}),
        (mean, {"query": "number / 2 + 1", "user": "who"}),
    ):
        expected = run_file(asked, file, randomness=WORDS, truth=True, **columns)  # type: ignore[arg-type]
        for engine in ("memory", "arrow"):
            found = run(asked, frame, randomness=WORDS, truth=True, engine=engine, **columns)  # type: ignore[arg-type]
            assert np.array_equal(found.estimate.value, expected.estimate.value)
            assert found.truth is not None
            assert expected.truth is not None
            assert np.array_equal(found.truth, expected.truth)
            assert found.unit == expected.unit


@pytest.mark.parametrize(
    "column",
    [TEXTS, np.array(TEXTS), pd.Series(TEXTS), pd.Series(TEXTS, dtype="category"), pl.Series(TEXTS),
     pl.Series(TEXTS, dtype=pl.Categorical), TABLE["colour"], pa.array(TEXTS).cast(pa.string_view()), tuple(TEXTS),
     [int(text) if text == "7" else text for text in TEXTS]],
    ids=lambda column: f"{type(column).__module__}.{type(column).__name__}",
)  # fmt: skip
def test_every_column_gives_the_answer_of_the_file(column: Any, file: Path, histogram: Plan) -> None:
    expected = run_file(histogram, file, column="colour", randomness=WORDS)
    assert np.array_equal(run(histogram, column, randomness=WORDS).estimate.value, expected.estimate.value)


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pl.Series, pa.array])
def test_whole_numbers_and_truth_values_are_labels(kind: Any) -> None:
    digits = plan("histogram", n=1000, epsilon=1.0, delta=1e-6, labels=["1", "2", "3"])
    answers = plan("histogram", n=1000, epsilon=1.0, delta=1e-6, labels=["false", "true"])
    for asked, values, texts in (
        (digits, [1, 2, 3] * 400, ["1", "2", "3"] * 400),
        (answers, [True, False] * 600, ["true", "false"] * 600),
    ):
        found = run(asked, kind(values), randomness=WORDS).estimate.value
        assert np.array_equal(found, run(asked, texts, randomness=WORDS).estimate.value)


def test_missing_cells_are_missing_in_every_frame(histogram: Plan, mean: Plan) -> None:
    colours, numbers = [None, *TEXTS[1:]], [float("nan"), *NUMBERS[1:]]
    for frame in (
        pd.DataFrame({"colour": colours, "number": numbers}),
        pd.DataFrame({"colour": pd.Categorical(colours), "number": numbers}),
        pl.DataFrame({"colour": colours, "number": [None, *NUMBERS[1:]]}),
        {"colour": colours, "number": numbers},
    ):
        for asked, column in ((histogram, "colour"), (mean, "number")):
            with pytest.raises(InvalidInput, match="missing"):
                run(asked, frame, column=column)
            assert run(asked, frame, column=column, policy=Policy(missing="skip")).rejected == {"missing": 1}


@pytest.mark.parametrize(
    ("data", "arguments", "why"),
    [
        (TABLE, {}, "either a column or a query"),
        (TABLE, {"column": "shade"}, "no column 'shade'"),
        (TABLE, {"query": len}, "an SQL expression"),
        (TABLE, {"column": "colour", "query": "colour"}, "either a column or a query"),
        (TEXTS, {"column": "colour"}, "columns are for tables"),
        (TEXTS, {"query": "colour"}, "columns are for tables"),
        (pd.DataFrame([[1]] * 1500), {"column": "0"}, "not texts"),
        ({"a": [1, 2], "b": [1]}, {"query": "a + b"}, "cannot be read"),
        ({"a": ["secret31337", 5]}, {"column": "a"}, "not one of the plan's bins"),
        (pd.Series(["secret31337", 5, None] * 500, dtype=object), {}, "not one of the plan's bins"),
        (None, {}, "one per person"),
        (7, {}, "one per person"),
        ("secret31337", {}, "For a file use run_file"),
        ({"secret31337"}, {}, "one per person"),
        (np.ones((1500, 2)), {}, "one"),
        ([{"a": "secret31337"}] * 1500, {}, "not one of the plan's bins"),
    ],
)
def test_what_is_no_column_is_refused_unseen(histogram: Plan, data: Any, arguments: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidInput, match=why) as raised:
        run(histogram, data, **arguments)
    assert "31337" not in str(raised.value)
    assert raised.value.__context__ is None


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table, dict])
@pytest.mark.parametrize(
    ("column", "what"), [("colour", "not one of the plan's bins"), ("far", r"outside \[0, 10\]"), ("gap", "missing")]
)
def test_a_row_that_does_not_fit_is_named(kind: Any, column: str, what: str, histogram: Plan, mean: Plan) -> None:
    """From 1, as in a list or a file, in whatever part of the rows it is."""
    colours = ["red"] * 2999
    table = {"colour": [*colours, "mauve"], "far": [1.0] * 2999 + [99.0], "gap": [*colours, None]}
    with pytest.raises(InvalidInput, match=f"in data row 3,000 the value is {what}"):
        run(mean if column == "far" else histogram, kind(table), column=column)


@pytest.mark.parametrize("kind", ["<f8", ">f8"])
def test_numbers_in_either_order_of_bytes_are_the_same_numbers(kind: str) -> None:
    few, numbers = plan("mean", n=ROWS, epsilon=1.0, delta=1e-6, high=10.0), NUMBERS.astype(kind)
    expected = run(few, NUMBERS, randomness=WORDS).counts.values
    frames = [
        pd.DataFrame({"number": numbers}),
        {"number": numbers},
        numbers.view([("number", numbers.dtype)]),
    ]
    for frame in frames:
        assert (run(few, frame, column="number", randomness=WORDS).counts.values == expected).all()


def test_a_misspelt_column_gets_a_hint_that_shows_no_value(histogram: Plan, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"no column 'color' among its 3\. Did you mean 'colour'\?"):
        run(histogram, TABLE, column="color")
    parquet.write_table(TABLE, tmp_path / "people.parquet")
    with pytest.raises(InvalidInput, match="Did you mean 'colour'"):
        run_file(histogram, tmp_path / "people.parquet", column="color")
    (tmp_path / "people.csv").write_text("secret31337,x\n" * 50)  # no header: its names are somebody's values
    with pytest.raises(InvalidInput, match="nearly that name") as refused:
        run_file(histogram, tmp_path / "people.csv", column="secret3133")
    assert "secret31337" not in str(refused.value)
