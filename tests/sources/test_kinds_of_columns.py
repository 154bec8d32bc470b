"""The same data mean the same in a column of any kind: every kind, with every sort of value, under every policy."""

import csv
import gzip
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from oracles.scale import full
from shuffledp import InvalidInput, KeyedRandomness, Plan, Policy, Result, plan, run, run_file

TIMES = 12
SEED = 7
N = 30


def labels(*names: Any) -> Plan:
    return plan("histogram", n=N, epsilon=6, delta=1e-3, labels=list(names))


MEAN = plan("mean", n=N, epsilon=6, delta=1e-3, low=0, high=10)
WHOLE = plan("histogram", n=N, epsilon=6, delta=1e-3, size=3)
TEXTS = plan("texts", n=N, epsilon=6, delta=1e-3, candidates=["yes", "1", "0.5"])

Values = list[Any]
DATA: dict[str, tuple[Plan, Values]] = {
    "texts": (labels("yes", "no"), ["yes", "no", "yes"]),
    "texts and none": (labels("yes", "no"), ["yes", None, "no"]),
    "whole numbers": (labels("0", "1"), [0, 1, 1]),
    "whole numbers and none": (labels("0", "1"), [0, None, 1]),
    "numbers with a point": (labels("0", "1"), [0.0, 1.0, 1.0]),
    "numbers with a point and none": (labels("0", "1"), [0.0, None, 1.0]),
    "halves": (labels("0.5", "1"), [0.5, 1.0, 0.5]),
    "truth values": (labels("false", "true"), [False, True, True]),
    "truth values and none": (labels("false", "true"), [False, None, True]),
    "truth values for numbers": (labels("0", "1"), [False, True, True]),
    "numbers for truth values": (labels("false", "true"), [0, 1, 1]),
    "a label of another case": (labels("yes", "no"), ["yes", "No", "no"]),
    "a label with a blank": (labels("yes", "no"), ["yes", "no ", "no"]),
    "a label of no list": (labels("yes", "no"), ["yes", "perhaps", "no"]),
    "numbers": (MEAN, [0.5, 9.25, 3.0]),
    "numbers and none": (MEAN, [0.5, None, 3.0]),
    "numbers outside": (MEAN, [0.5, 11.0, 3.0]),
    "whole numbers as numbers": (MEAN, [1, 9, 3]),
    "truth values as numbers": (MEAN, [True, False, True]),
    "numbers as texts": (MEAN, ["1.5", " 2", "3e0"]),
    "no numbers": (MEAN, ["1.5", "1_0", "3"]),
    "places": (WHOLE, [0, 2, 1]),
    "places with a point": (WHOLE, [0.0, 2.0, 1.0]),
    "places and none": (WHOLE, [0, None, 1]),
    "places outside": (WHOLE, [0, 3, 1]),
    "any texts": (TEXTS, ["yes", "other", "yes"]),
    "any texts and none": (TEXTS, ["yes", None, "yes"]),
    "any texts of numbers": (TEXTS, [1, 2, 1]),
    "any texts of points": (TEXTS, [1.0, 0.5, 1.0]),
}
POLICIES: dict[str, dict[str, Any]] = {
    "strict": {},
    "skip": {"missing": "skip"},
    "stand-in": {"missing_as": "1"},
    "other": {"other": "no"},
    "clamp": {"outside": "clamp", "missing": "skip"},
}


def marked(values: Values, mark: Any) -> Values:
    return [mark if value is None else value for value in values]


def pandas_type(values: Values) -> str:
    kinds = {type(value) for value in values if value is not None}
    (kind,) = kinds
    return {str: "string", int: "Int64", float: "Float64", bool: "boolean"}[kind]


def masked(values: Values) -> Any:
    stand_in = next(value for value in values if value is not None)
    return np.ma.array(marked(values, stand_in), mask=[value is None for value in values])


MEMORY: dict[str, Callable[[Values], Any]] = {
    "list": list,
    "list with NaN": lambda values: marked(values, float("nan")),
    "list with NA": lambda values: marked(values, pd.NA),
    "list with NaT": lambda values: marked(values, pd.NaT),
    "list of numpy's": lambda values: [value if value is None else np.asarray(value)[()] for value in values],
    "tuple": tuple,
    "array of objects": lambda values: np.array(values, dtype=object),
    "array of objects with NA": lambda values: np.array(marked(values, pd.NA), dtype=object),
    "masked array": masked,
    "Series of objects": lambda values: pd.Series(values, dtype=object),
    "Series of objects with NA": lambda values: pd.Series(marked(values, pd.NA), dtype=object),
    "Series": pd.Series,
    "Series with nulls": lambda values: pd.Series(values, dtype=pandas_type(values)),
    "Series of categories": lambda values: pd.Series(values, dtype="category"),
    "polars": lambda values: pl.Series(values),
    "Arrow": pa.array,
    "Arrow, chunked": lambda values: pa.chunked_array([pa.array(values)[:1], pa.array(values)[1:]]),
    "Arrow, coded": lambda values: pa.array(values).dictionary_encode(),
    "dict of a list": lambda values: {"v": values},
    "dict of a masked array": lambda values: {"v": masked(values)},
    "dict of a Series with NA": lambda values: {"v": pd.Series(marked(values, pd.NA), dtype=object)},
    "frame of pandas": lambda values: pd.DataFrame({"v": values}),
    "frame of objects": lambda values: pd.DataFrame({"v": pd.Series(marked(values, pd.NA), dtype=object)}),
    "frame with nulls": lambda values: pd.DataFrame({"v": pd.Series(values, dtype=pandas_type(values))}),
    "frame of polars": lambda values: pl.DataFrame({"v": values}),
    "table of Arrow": lambda values: pa.table({"v": values}),
}  # fmt: skip
REASONS = (
    "is missing", "is not one of", "is outside", "is not a number", "`other`", "`outside", "`missing_as`", "is not a bin",
)  # fmt: skip
FILES = ["csv", "quoted csv", "csv with NA", "gzipped csv", "parquet", "feather"]


def written(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value)) if isinstance(value, float) and value == int(value) else str(value)


def file(kind: str, values: Values, folder: Path) -> Path:
    path = folder / f"people.{ {'parquet': 'parquet', 'feather': 'arrow', 'gzipped csv': 'csv.gz'}.get(kind, 'csv') }"
    if kind == "parquet":
        parquet.write_table(pa.table({"v": values}), path)
    elif kind == "feather":
        feather.write_feather(pa.table({"v": values}), path, compression="uncompressed")
    else:
        with gzip.open(path, "wt", newline="") if kind == "gzipped csv" else path.open("w", newline="") as out:
            rows = csv.writer(out, quoting=csv.QUOTE_MINIMAL)
            mark = "NA" if kind == "csv with NA" else ""
            rows.writerow(["v", "w"])
            for value in values:
                if kind == "quoted csv" and value is not None:
                    out.write(f'"{written(value)}",x\r\n')
                else:
                    rows.writerow([mark if value is None else written(value), "x"])
    return path


def said(call: Callable[[], Result]) -> Any:
    """The counts and what became of every row; or why it was refused, as far as that does not depend on where it stands."""
    try:
        found = call()
    except InvalidInput as refused:
        reason = str(refused).split(" the value ")[-1].split("a value ")[-1]
        return next(
            (why for why in REASONS if why in reason),
            reason,
        )
    return found.counts.values.tolist(), dict(found.rejected), dict(found.adjusted)


def asked(planned: Plan, kind: str, values: Values, policy: Policy, folder: Path) -> Any:
    randomness = KeyedRandomness.seeded(SEED)
    given = [value for value in values for _ in range(TIMES)]
    if kind in FILES:
        path = file(kind, given, folder)
        return said(lambda: run_file(planned, path, column="v", policy=policy, randomness=randomness))
    made = MEMORY[kind](given)
    table = "dict" in kind or "frame" in kind or "table" in kind
    return said(lambda: run(planned, made, column="v" if table else None, policy=policy, randomness=randomness))


@pytest.mark.parametrize("sort", DATA)
@pytest.mark.parametrize("rule", list(POLICIES)[: full(2, len(POLICIES))])
def test_columns_of_every_kind_say_the_same(sort: str, rule: str, tmp_path: Path) -> None:
    planned, values = DATA[sort]
    policy = Policy(**POLICIES[rule])
    expected = asked(planned, "list", values, policy, tmp_path)
    for kind in [*MEMORY, *FILES]:
        if sort == "truth values as numbers" and "csv" in kind:
            continue  # there they are texts, which are no numbers
        assert asked(planned, kind, values, policy, tmp_path) == expected, kind


def test_who_gave_no_answer_is_never_counted() -> None:
    """2,000 people of whom a quarter have no answer, in all the ways in which that is said."""
    planned = labels("insured", "uninsured")
    for gone in (None, float("nan"), pd.NA, pd.NaT, np.nan, np.datetime64("NaT"), np.ma.masked, Decimal("NaN")):
        people = ["insured", "uninsured", "insured", gone] * 500
        for column in (people, pd.Series(people, dtype=object), {"v": people}):
            with pytest.raises(InvalidInput, match="is missing"):
                run(planned, column, column="v" if isinstance(column, dict) else None)
            found = run(
                planned, column, column="v" if isinstance(column, dict) else None, policy=Policy(missing="skip")
            )
            assert (found.n, dict(found.rejected)) == (1500, {"missing": 500})
