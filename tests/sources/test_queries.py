"""Queries: an SQL expression of one row, or a function of one person, and nothing that sees more than one."""

from pathlib import Path

import pytest

from oracles.people import COLOURS, NUMBERS, write
from shuffledp import InvalidInput, KeyedRandomness, Plan, Policy, plan, run, run_file

WORDS = KeyedRandomness.seeded(1)


def test_sql_and_python_queries_agree(tmp_path: Path, query: Plan) -> None:
    path = write(tmp_path / "people.csv", {"number": NUMBERS, "Favourite Colour": COLOURS})
    by_sql = run_file(
        query, path, query="number::DOUBLE > 5 AND \"favourite colour\" <> 'red'", randomness=WORDS, truth=True
    )
    people_ = list(zip(NUMBERS.tolist(), COLOURS.tolist(), strict=True))
    by_python = run(query, people_, query=lambda p: p[0] > 5 and p[1] != "red", randomness=WORDS)
    assert (by_sql.estimate.value == by_python.estimate.value).all()
    assert by_sql.truth is not None
    assert by_sql.truth[0] == pytest.approx(((NUMBERS > 5) & (COLOURS != "red")).mean())


def test_a_query_can_make_values_for_any_plan(tmp_path: Path, mean: Plan, histogram: Plan) -> None:
    path = write(tmp_path / "people.parquet", {"number": NUMBERS})
    assert run_file(mean, path, query="number / 2 + 1", truth=True).truth == pytest.approx([NUMBERS.mean() / 2 + 1])
    colours = run_file(histogram, path, query="CASE WHEN number < 3 THEN 'red' ELSE 'blue' END", truth=True)
    assert colours.truth is not None
    assert colours.truth[0] == (NUMBERS < 3).sum()


@pytest.mark.parametrize(
    "text",
    [
        "avg(number) OVER ()", "sum(number)", "(SELECT max(number) FROM people)", "random()", "now() IS NULL",
        "number) , (number", "number) FROM people WHERE (true", "read_text('/etc/passwd')", "COLUMNS('n.*')", "*",
        "unnest([0, 1])", "number; SELECT 1", "people.number", "rank() OVER (ORDER BY number)", "list_sum([number])",
        "weighted_avg(number, 1)",
        "typeof(number) = 'x'", "current_localtimestamp() IS NULL", "number, number", "hash(number)",
        "nextval('x')", "getvariable('x')", "$1", "number >", "",
        "EXISTS (SELECT 1)", "number) FROM read_csv('/etc/passwd'", "number) UNION ALL SELECT (1", "row_number() over ()",
        "number ORDER BY 1", "max(number) FILTER (WHERE true)", "error('x')", "uuid()", "lag(number) OVER ()",
    ],
)  # fmt: skip
def test_queries_beyond_one_row_are_refused(tmp_path: Path, query: Plan, text: str) -> None:
    path = write(tmp_path / "people.csv", {"number": NUMBERS / 10})
    with pytest.raises(InvalidInput, match="query"):
        run_file(query, path, query=text)


@pytest.mark.parametrize(
    "text",
    ["number > 5", "number BETWEEN 1 AND 5", "abs(number - 5) / 5", "coalesce(number, 0) / 10", "number IN (1, 2, 3)",
     "CASE WHEN number > 5 THEN 1 ELSE 0.5 END", "TRY_CAST(colour AS DOUBLE) IS NULL", "lower(colour) LIKE 'r%'",
     "length(colour) / 10.0", "number > 5 -- a comment", "NOT (number > 5)", "sqrt(number) < 2", "colour || 'x' = 'redx'",
     "least(number / 10, 0.5)", "number % 2 < 1", "number::INTEGER = 3", "NUMBER > 5"],
)  # fmt: skip
def test_plain_queries_are_allowed(tmp_path: Path, query: Plan, text: str) -> None:
    path = write(tmp_path / "people.parquet", {"number": NUMBERS, "colour": COLOURS})
    assert run_file(query, path, query=text, randomness=WORDS).n == 2000


@pytest.mark.parametrize(
    "text",
    ["least(number::DOUBLE / 10, 0.5)", "greatest(number::DOUBLE / 10, 0.5)", "len(concat(number, 'x')) / 10",
     "CASE WHEN number::DOUBLE > 3 THEN 1 ELSE 0 END", "number::DOUBLE > 3 OR name = 'a'", "name = 'a' OR NUMBER::DOUBLE > 3",
     "CASE \"number\" WHEN '1' THEN 1 ELSE 0 END", "number::DOUBLE BETWEEN 5 AND 1 OR name = 'a'",
     "least(TRY_CAST(number AS DOUBLE) / 10, 0.5)", "least(TRY_CAST(word AS DOUBLE) / 2000, 0.5)",
     "length(concat_ws('-', number, name)) / 10",
     "coalesce(name, '') = 'a' OR number::DOUBLE > 3", "least(try_strptime(word, '%Y'), make_timestamp(0)) > make_timestamp(1)"],
)  # fmt: skip
def test_what_a_query_would_overlook_is_missing(tmp_path: Path, query: Plan, text: str) -> None:
    rows = ["1,a,1999"] * 1500
    rows[7] = ",a,x"
    path = tmp_path / "holes.csv"
    path.write_text("\n".join(["number,name,word", *rows]))
    with pytest.raises(InvalidInput, match="in data row 8 the value is missing"):
        run_file(query, path, query=text, policy=Policy(explain_errors=True))
    counted = run_file(query, path, query=text, policy=Policy(missing_as="1", explain_errors=True))
    assert (counted.n, counted.adjusted) == (1500, {"missing": 1})


@pytest.mark.parametrize(
    "text",
    ["coalesce(number, '0')::DOUBLE / 10", "CASE WHEN number IS NULL THEN 0 ELSE least(number::DOUBLE, 1) END",
     "number IS NOT NULL", "number IS DISTINCT FROM '1'", "least(coalesce(TRY_CAST(number AS DOUBLE), 0), 1)",
     "name = 'a'"],
)  # fmt: skip
def test_a_query_may_say_what_missing_means(tmp_path: Path, query: Plan, text: str) -> None:
    path = tmp_path / "holes.csv"
    path.write_text("\n".join(["number,name", ",a", *["1,a"] * 1500]))
    assert run_file(query, path, query=text).n == 1501


def test_cells_of_a_csv_file_are_texts_whatever_is_in_them(tmp_path: Path) -> None:
    """One person's cell must not change what the others' cells mean."""
    yes_no = plan("histogram", n=1000, epsilon=1.0, delta=1e-6, labels=["false", "true"])
    truths = []
    for last in ("01234", "K1A"):
        path = tmp_path / "zip.csv"
        path.write_text("zip\n" + "01234\n" * 1199 + f"{last}\n")
        found = run_file(yes_no, path, query="zip LIKE '0%'", truth=True)
        assert found.truth is not None
        truths.append(found.truth[1])
    assert truths == [1200, 1199]
    with pytest.raises(InvalidInput, match="Columns of a CSV file are texts"):
        run_file(yes_no, path, query="zip > 5")


def test_a_query_that_fails_on_a_row_shows_no_cell(tmp_path: Path, query: Plan) -> None:
    path = write(tmp_path / "people.csv", {"colour": COLOURS})
    for explained in (False, True):
        with pytest.raises(InvalidInput) as refused:
            run_file(query, path, query="colour::INTEGER > 3", policy=Policy(explain_errors=explained))
        assert not any(colour in str(refused.value) for colour in ("red", "green", "blue"))
    with pytest.raises(InvalidInput, match=r"outside \[0, 1\]"):
        run_file(query, path, query="length(colour)", policy=Policy(explain_errors=True))
    with pytest.raises(InvalidInput, match="does not work"):
        run_file(query, path, query="sqrt(colour > 'a', 3)")
    with pytest.raises(InvalidInput, match="more than 2000 characters"):
        run_file(query, path, query="1" + " + 1" * 900)
    for asked in (query, plan("sum", n=1000, epsilon=1.0, delta=1e-6)):
        with pytest.raises(InvalidInput, match="ZeroDivisionError") as failed:
            run(asked, [0.0] * 1000, query=lambda x: 1 / x)
        assert failed.value.__context__ is None


def test_values_in_memory_are_never_shown(mean: Plan) -> None:
    binned = plan("histogram", n=1000, epsilon=1.0, delta=1e-6, size=5, low=0.0, high=10.0)
    for asked in (mean, binned):
        for values in (["s3cr3t"] * 1000, [10**400] * 1000, [[1.0]] * 1000, iter(["s3cr3t"])):
            with pytest.raises(InvalidInput) as refused:
                run(asked, values)
            assert "s3cr3t" not in str(refused.value)
            assert refused.value.__context__ is None
