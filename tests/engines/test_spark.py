"""The engine spark beyond what every engine does: tables of Spark, work that is repeated, errors that show nothing."""

import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from oracles.fingerprint import fingerprinted
from oracles.scale import full
from oracles.spark_tasks import Interrupted, Unsent, dies_at_first, fails_with_a_value
from oracles.tallies import same
from shuffledp import InvalidInput, KeyedRandomness, Plan, Policy, SystemRandomness, plan, run, run_file
from shuffledp.engines.arrow import Arrow
from shuffledp.engines.memory import Memory
from shuffledp.engines.registry import engine_named
from shuffledp.engines.run import run_source, tally_source
from shuffledp.engines.spark import Spark
from shuffledp.engines.tally import Tally
from shuffledp.sources.file_source import FileSource
from shuffledp.sources.frame import FrameSource
from shuffledp.sources.spark_table import SparkSource
from shuffledp.sources.values import ValuesSource

pytestmark = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore"),
]  # Spark warns of versions of pandas
ROWS = 12_000
MANY = full(ROWS, 1_000_000)
WORDS = KeyedRandomness.seeded(5)
COLOURS = ["red", "green", "blue"]


def crowd(rows: int) -> pa.Table:
    drawn = np.random.default_rng(8)
    names = np.array(COLOURS)[drawn.integers(0, 3, rows)]
    return pa.table({"x": names, "y": drawn.uniform(0, 10, rows), "id": np.arange(rows)})


def written(people: pa.Table, folder: Path) -> list[Path]:
    """Three files of several row groups each."""
    each = -(-len(people) // 3)
    paths = [folder / f"{j}.parquet" for j in range(3)]
    for j, path in enumerate(paths):
        parquet.write_table(people.slice(j * each, each), path, row_group_size=-(-each // 4))
    return paths


@pytest.fixture(scope="module")
def people() -> pa.Table:
    return crowd(ROWS)


@pytest.fixture(scope="module")
def table(spark: Any, people: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """From files, as tables are: rows that `createDataFrame` sends would fill the driver's heap with every query."""
    paths = written(people, tmp_path_factory.mktemp("people"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return spark.read.parquet(*map(str, paths))


def tallied(made: Plan, data: Any, policy: Policy | None = None, **columns: Any) -> Tally:
    source = SparkSource(data, **{"column": "x", "row_id": "id"} | columns)
    return tally_source(made, source, WORDS, engine="spark", policy=policy or Policy())


def refused(made: Plan, data: Any, match: str, **columns: Any) -> None:
    with pytest.raises(InvalidInput, match=match) as error:
        tallied(made, data, **columns)
    assert "31337" not in "".join(traceback.format_exception(error.value))


# The same messages, however rows are cut into parts and however often tasks are run


def test_partitionings_and_killed_tasks_change_no_message(
    spark: Any, histogram: Plan, mean: Plan, tmp_path: Path
) -> None:
    """Sums of hashes of (address, message) and counts are the same on every engine, whatever is cut and killed."""
    people, spied = crowd(MANY), (fingerprinted(histogram.protocol), fingerprinted(mean.protocol))
    paths = written(people, tmp_path)
    table = spark.read.parquet(*map(str, paths))
    cuts = [
        table,
        table.repartition(1),
        table.repartition(7),
        table.repartitionByRange(4, "y").sortWithinPartitions("x"),
        table.repartition(5, "x"),
        table.repartition(4).mapInArrow(dies_at_first, table.schema),
    ]
    in_order = Interrupted(people.column("x").combine_chunks(), MANY // 5, tmp_path)
    for given, column in zip(spied, ("x", "y"), strict=True):
        expected = Memory().tally(given, FrameSource(people, column=column, row_id="id"), WORDS)
        assert expected.rows == MANY
        for cut in cuts if column == "x" else cuts[-1:]:
            assert same(Spark().tally(given, SparkSource(cut, column=column, row_id="id"), WORDS), expected)
        for engine in (Memory(), Arrow(), Spark()):
            assert same(engine.tally(given, FileSource(paths, column=column), WORDS), expected)
        if column == "x":
            assert same(Spark().tally(given, in_order, WORDS), expected)
    assert len(list(tmp_path.glob("[0-9]"))) == 2, "no task was interrupted"
    counted = tally_source(histogram, FrameSource(people, column="x", row_id="id"), WORDS, truth=True)
    assert same(
        tally_source(histogram, SparkSource(cuts[-1], column="x", row_id="id"), WORDS, truth=True, engine="spark"),
        counted,
    )


def test_a_table_is_answered_as_any_other(histogram: Plan, people: pa.Table, table: Any) -> None:
    found = run(histogram, table, column="x", row_id="id", randomness=WORDS)
    assert (
        found.counts.values == run(histogram, people, column="x", row_id="id", randomness=WORDS).counts.values
    ).all()
    assert found.n == ROWS
    randomness = KeyedRandomness.fresh()
    fresh = run(histogram, table, column="x", row_id="id", randomness=randomness)
    assert fresh.guarantee == histogram.guarantee
    with pytest.raises(InvalidInput, match="this randomness was used before"):
        run(histogram, table, column="x", row_id="id", randomness=randomness)
    repeated = run(histogram, people, column="x", row_id="id", randomness=randomness.replayed())
    assert repeated.guarantee is None
    assert (repeated.counts.values == fresh.counts.values).all()


def test_queries_people_and_policies_are_those_of_the_other_engines(spark: Any) -> None:
    people = pa.table({
        "x": ["red", None, "mauve", "blue", "green"] * 300, "age": list(range(1500)), "id": [3 * j for j in range(1500)],
        "who": [j % 900 for j in range(1500)],
    })  # fmt: skip
    table = spark.createDataFrame(people).repartition(3)
    colours = plan("histogram", n=500, epsilon=1.0, delta=1e-6, labels=COLOURS)
    policy = Policy(missing="skip", other="blue")
    limited = {"user": "who", "max_rows_per_user": 1}
    for columns in ({}, limited):
        options: dict[str, Any] = {"column": "x", "row_id": "id", **columns}
        expected = tally_source(colours, FrameSource(people, **options), WORDS, policy=policy)
        assert same(
            tally_source(colours, SparkSource(table, **options), WORDS, policy=policy, engine="spark"), expected
        )
    asked = plan("query", n=1000, epsilon=1.0, delta=1e-6)
    options = {"query": "age % 3 = 0", "row_id": "id"}
    expected = tally_source(asked, FrameSource(people, **options), WORDS)
    assert same(tally_source(asked, SparkSource(table, **options), WORDS, engine="spark"), expected)
    refused(asked, table, "the query has no answer for some row", column=None, query="CAST(x AS DOUBLE)")
    settled, options = Policy(missing_as="1", outside="clamp"), {"query": "CAST(x AS DOUBLE) + age", "row_id": "id"}
    expected = tally_source(asked, FrameSource(people, **options), WORDS, policy=settled)
    assert same(tally_source(asked, SparkSource(table, **options), WORDS, policy=settled, engine="spark"), expected)
    assert (expected.rows, expected.rejected, expected.adjusted) == (1500, {}, {})
    refused(asked, table, "the query does not work", column=None, query="upper(age, id)")
    refused(asked, table, "a user appears more than once", column="age", user="who")
    nobody = people.set_column(3, "who", pa.array([None, *range(1499)]))
    refused(asked, spark.createDataFrame(nobody), "does not say who", column="age", user="who")


def test_a_persons_first_rows_are_those_with_the_least_row_numbers(spark: Any) -> None:
    """Whatever the query names besides, and however row numbers are written: neither the values nor letters decide."""
    drawn = np.random.default_rng(11)
    number = np.sort(drawn.choice(100_000, 1500, replace=False))
    people = pa.table({"age": drawn.integers(0, 90, 1500), "id": number, "who": np.arange(1500) % 500})
    made = plan("mean", n=1000, epsilon=2.0, delta=1e-6, low=0.0, high=90.0)
    table = spark.createDataFrame(people).repartition(3)
    for query in ("id * 0 + age", "age + 0 * id", "CASE WHEN who >= 0 AND id >= 0 THEN age END"):
        options: dict[str, Any] = {"query": query, "row_id": "id", "user": "who", "max_rows_per_user": 2}
        expected = tally_source(made, FrameSource(people, **options), WORDS, truth=True)
        assert same(tally_source(made, SparkSource(table, **options), WORDS, truth=True, engine="spark"), expected)
    written = table.selectExpr("age", "cast(id as string) as id", "who")
    options = {"column": "age", "row_id": "id", "user": "who", "max_rows_per_user": 2}
    assert same(tally_source(made, SparkSource(written, **options), WORDS, truth=True, engine="spark"), expected)


def test_values_of_several_columns(spark: Any) -> None:
    made = plan("mean", n=1000, epsilon=2.0, delta=1e-6, low=0.0, high=10.0, by={"sex": ["f", "m"]})
    people = pa.table({"sex": ["f", "m"] * 600, "y": np.linspace(0, 10, 1200), "id": np.arange(1200)[::-1]})
    expected = tally_source(made, FrameSource(people, column="y", row_id="id"), WORDS)
    assert same(tallied(made, spark.createDataFrame(people), column="y"), expected)


# Tables that are not what they seem


def test_a_row_number_that_comes_twice_is_refused(spark: Any, histogram: Plan, table: Any) -> None:
    twice = "two rows with the same row number"
    refused(histogram, table.union(table), twice)
    refused(histogram, table.union(table.limit(1)).repartition(6), twice)
    refused(histogram, table.repartition(1).union(table.where("id = 17").repartition(1)), twice)
    for text in ("07", "0x7"):
        same_number = table.selectExpr("x", f"case when id = 4 then '{text}' else cast(id as string) end as id")
        refused(histogram, same_number, twice)
    refused(histogram, table.selectExpr("x", "id - 1 as id"), "negative, too large or not whole")
    refused(histogram, table.selectExpr("x", "nullif(id, 3) as id"), "missing")


def test_rows_need_numbers_and_words_a_key(histogram: Plan, table: Any, spark: Any) -> None:
    with pytest.raises(InvalidInput, match="Give `row_id`"):
        run(histogram, table, column="x")
    with pytest.raises(InvalidInput, match="a stream cannot be read again"):
        run(histogram, spark.readStream.format("rate").load(), column="value", row_id="value")
    with pytest.raises(InvalidInput, match="the same each time"):
        run(histogram, table, column="x", row_id="id", randomness=SystemRandomness())
    with pytest.raises(InvalidInput, match="only the engine spark"):
        run(histogram, table, column="x", row_id="id", engine="arrow")


def test_a_table_that_is_another_one_each_time_is_used_as_it_was_once(histogram: Plan, table: Any) -> None:
    from pyspark.sql import functions

    some = table.orderBy(functions.rand()).limit(2000)
    assert tallied(histogram, some).rows == 2000
    some = table.where(functions.rand() < 0.5)
    found = tallied(histogram, some)
    assert found.counts.total == found.rows < ROWS
    with pytest.raises(InvalidInput, match="900 reports are fewer than the plan's 1,000"):
        run(histogram, table.limit(900), column="x", row_id="id", engine="spark")
    refused(
        histogram, table.withColumn("id", functions.expr("floor(rand() * 50)")), "two rows with the same row number"
    )


def test_names_of_columns_mean_nothing_to_spark(spark: Any, histogram: Plan, people: pa.Table) -> None:
    odd = ["_metadata", "X", "x", "a.b", "back`tick", "_metadata.row_index"]
    columns = dict.fromkeys(odd, people.column("x")) | {"id": people.column("id")}
    columns["X"] = pa.array(np.zeros(ROWS))
    table = spark.createDataFrame(pa.table(columns))
    expected = tally_source(histogram, FrameSource(people, column="x", row_id="id"), WORDS)
    for name in odd:
        if name != "X":
            assert same(tallied(histogram, table, column=name), expected)
    refused(histogram, table, "has no column 'z'", column="z")
    refused(histogram, table.withColumnRenamed("a.b", "back`tick"), "several columns called", column="back`tick")


def test_settings_that_lose_rows_are_refused(spark: Any, histogram: Plan, table: Any) -> None:
    for name in ("spark.sql.files.ignoreCorruptFiles", "spark.sql.files.ignoreMissingFiles"):
        spark.conf.set(name, "true")
        try:
            refused(histogram, table, "leaves out files")
        finally:
            spark.conf.set(name, "false")


# Files


def test_files_that_spark_would_skip_or_read_as_patterns_are_read(
    spark: Any, histogram: Plan, people: pa.Table, tmp_path: Path
) -> None:
    names = ["_hidden.parquet", "[ab]*.parquet", "a?.parquet", "year=2024.parquet"]
    for j, name in enumerate(sorted(names)):
        parquet.write_table(people.slice(j * 500, 500), tmp_path / name)
    paths = sorted(tmp_path.iterdir())
    expected = run_file(histogram, paths, column="x", randomness=WORDS)
    found = run_file(histogram, paths, column="x", randomness=WORDS, engine="spark")
    assert found.n == 2000
    assert (found.counts.values == expected.counts.values).all()


def test_files_that_do_not_fit_are_refused_by_name(
    spark: Any, histogram: Plan, people: pa.Table, tmp_path: Path
) -> None:
    for j in range(3):
        parquet.write_table(people.slice(j * 500, 500), tmp_path / f"{j}.parquet", row_group_size=100)
    paths = sorted(tmp_path.iterdir())

    def check(match: str, files: list[Path], **columns: Any) -> None:
        with pytest.raises(InvalidInput, match=match):
            run_file(histogram, files, **{"column": "x"} | columns, engine="spark")

    check("named twice", [*paths, paths[0]])
    check("has no column 'z'", paths, column="z")
    parquet.write_table(people.slice(0, 500).drop_columns("y"), tmp_path / "1.parquet")
    check("1.parquet has other columns", paths)
    parquet.write_table(people.slice(500, 500), tmp_path / "1.parquet", compression="none", use_dictionary=False)
    whole = (tmp_path / "1.parquet").read_bytes()
    (tmp_path / "1.parquet").write_bytes(whole[: len(whole) // 2])
    check("1.parquet cannot be read as parquet|cannot read .*1.parquet", paths)
    (tmp_path / "1.parquet").write_bytes(b"\0" * 4 + bytes(len(whole) // 2) + whole[len(whole) // 2 + 4 :])
    check("1.parquet cannot be read as parquet|cannot read .*1.parquet|the value", paths)


def test_a_file_that_is_replaced_while_it_is_read_is_noticed(mean: Plan, people: pa.Table, tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    parquet.write_table(people, path)

    class Slow(Arrow):
        def tally(self, *args: Any, **options: Any) -> Tally:
            found = super().tally(*args, **options)
            parquet.write_table(people, tmp_path / "new")
            (tmp_path / "new").replace(path)
            return found

    with pytest.raises(InvalidInput, match=r"people\.parquet was changed while it was read"):
        run_file(mean, path, column="y", engine=Slow())


# Errors


def test_no_error_shows_a_value(spark: Any, histogram: Plan, mean: Plan, table: Any, tmp_path: Path) -> None:
    refused(histogram, table.selectExpr("'31337' as x", "id"), "a value")
    text = table.selectExpr("cast(concat('31337', x) as int) as x", "id")
    refused(mean, text, "Spark could not do the work .CAST_INVALID_INPUT")
    failing = table.mapInArrow(fails_with_a_value, table.schema)
    refused(mean, failing, "Spark could not do the work", column="y")
    with pytest.raises(InvalidInput, match="cannot be sent to Spark") as error:
        tally_source(mean, Unsent(), WORDS, engine="spark")
    assert "31337" not in "".join(traceback.format_exception(error.value))


def test_of_several_errors_the_first_row_is_named(spark: Any, mean: Plan, tmp_path: Path) -> None:
    values = np.full(3000, 5.0)
    values[[1600, 2900]] = 31337.0
    parquet.write_table(pa.table({"x": values}), tmp_path / "people.parquet", row_group_size=500)
    with pytest.raises(InvalidInput, match="in data row 1,601 ") as error:
        run_file(mean, tmp_path / "people.parquet", column="x", engine="spark")
    assert "31337" not in str(error.value)


def test_an_engine_can_have_a_session_of_its_own(spark: Any, mean: Plan) -> None:
    assert isinstance(engine_named("spark"), Spark)
    values = list(np.linspace(0, 10, 1200))
    expected = run_source(mean, ValuesSource(values), randomness=WORDS)
    found = run_source(mean, ValuesSource(values), randomness=WORDS, engine=Spark(spark.newSession()))
    assert (found.counts.values == expected.counts.values).all()


def test_rows_of_numbers_from_columns_and_from_lists(spark: Any) -> None:
    """Named columns, and a column of lists, give what the rows in memory give."""
    ranges = {"a": [0, 1], "b": [0, 1]}
    rows = np.random.default_rng(1).random((600, 2)) / 2
    data = [(j, float(a), float(b), [float(a), float(b)]) for j, (a, b) in enumerate(rows)]
    table = spark.createDataFrame(data, "id long, a double, b double, row array<double>").repartition(3)
    for asked in (
        plan.vector(columns=["a", "b"], n=500, epsilon=1.0, delta=1e-6),
        plan.regression(ranges=ranges, target="b", n=500, epsilon=1.0, delta=1e-6),
    ):
        randomness = KeyedRandomness.fresh()
        expected = run(asked, rows, randomness=randomness).counts.values
        named = run(asked, table, row_id="id", randomness=randomness.replayed()).counts.values
        listed = run(asked, table, column="row", row_id="id", randomness=randomness.replayed()).counts.values
        assert (named == expected).all()
        assert (listed == expected).all()
