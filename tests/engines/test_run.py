"""Engines: the same bits however the rows are cut, every row accounted for, files of every kind."""

import json
import math
import warnings
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.people import COLOURS, NUMBERS, write
from oracles.process import called
from shuffledp import (
    DataWarning,
    InvalidInput,
    KeyedRandomness,
    Plan,
    Policy,
    RandomizedResponse,
    Result,
    Summation,
    account,
    plan,
    run,
    run_file,
)
from shuffledp.accounting.group import group
from shuffledp.core.digits import rounded_up
from shuffledp.core.randomness import EncodingRandomness, QuestionRandomness, RandomSource
from shuffledp.engines.export import message_table
from shuffledp.engines.run import result_of
from shuffledp.engines.tally import tally_rows
from shuffledp.sources import csv_file, person_rows, source
from shuffledp.sources.values import ValuesSource

WORDS = KeyedRandomness.seeded(1)
MEAN = plan("mean", n=2, epsilon=6, delta=0.1)


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet", ".feather", ".arrow"])
def test_every_kind_of_file_and_memory_agree_bit_for_bit(
    tmp_path: Path, mean: Plan, histogram: Plan, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / f"people{ending}", {"number": NUMBERS, "colour": COLOURS})
    monkeypatch.setattr(source, "CHUNK", 128)
    monkeypatch.setattr(csv_file, "_BLOCK", 1 << 12)
    found = run_file(mean, path, column="number", randomness=WORDS)
    assert (found.estimate.value == run(mean, NUMBERS, randomness=WORDS).estimate.value).all()
    colours = run_file(histogram, path, column="colour", randomness=WORDS, truth=True)
    assert (colours.estimate.value == run(histogram, list(COLOURS), randomness=WORDS).estimate.value).all()
    assert colours.truth is not None
    assert colours.truth.tolist() == [int(np.sum(name == COLOURS)) for name in ("red", "green", "blue")]


@given(st.lists(st.integers(1, 60), min_size=1, max_size=8), st.integers(1, 64))
def test_any_partitioning_gives_the_same_counts(parts: list[int], block: int) -> None:
    protocol = Summation(randomizer=RandomizedResponse(size=6, gamma=0.1))
    values = np.random.default_rng(2).uniform(0, 1, sum(parts))
    whole = tally_rows(protocol, values, WORDS).counts.values
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "CHUNK", block)
        pieces, row = np.zeros_like(whole), 0
        for part in parts:
            pieces += tally_rows(protocol, values[row : row + part], WORDS, first_row=row).counts.values
            row += part
    assert (pieces == whole).all()


def test_estimates_are_near_the_truth_and_carry_the_guarantee(tmp_path: Path, mean: Plan) -> None:
    path = write(tmp_path / "people.csv", {"number": NUMBERS})
    found = run_file(mean, path, column="number", truth=True)
    assert found.truth is not None
    assert found.truth[0] == pytest.approx(NUMBERS.mean())
    low, high = found.estimate.interval(1 - 1e-9)
    assert low[0] <= found.truth[0] <= high[0]
    assert found.guarantee == mean.guarantee
    assert found.realised_epsilon is not None
    assert found.realised_epsilon < 1.0
    assert found.unit == "one row = one person"
    document = found.document()
    assert document["n"] == 2000
    estimate = document["estimate"]
    assert estimate["names"] == ["mean"]
    assert estimate["interval"][0][0] < estimate["value"][0] < estimate["interval"][0][1]


def test_seeded_randomness_carries_no_guarantee(mean: Plan) -> None:
    found = run(mean, NUMBERS, randomness=WORDS)
    assert found.guarantee is None
    assert found.estimate.guarantee is None
    assert found.document()["guarantee"] is None
    assert "simulation" in found.notes[0]


def test_too_few_rows_release_nothing(mean: Plan) -> None:
    with pytest.raises(InvalidInput, match=r"500 reports are fewer than the plan's 1,000.*epsilon would be 1\.[3-9]"):
        run(mean, NUMBERS[:500])


def test_the_minimum_is_exactly_the_plans(mean: Plan, engine_name: str) -> None:
    """With that many rows there is an answer, with one fewer none: neither from the rows nor from their counts, nor a table."""
    least = mean.min_batch
    assert run(mean, NUMBERS[:least], engine=engine_name).n == least
    with pytest.raises(InvalidInput, match="fewer than the plan's"):
        run(mean, NUMBERS[: least - 1], engine=engine_name)
    with pytest.raises(InvalidInput, match="fewer than the plan's"):
        message_table(mean, ValuesSource(NUMBERS[: least - 1]), engine=engine_name)
    few = tally_rows(mean.protocol, NUMBERS[: least - 1], WORDS)
    with pytest.raises(InvalidInput, match="fewer than the plan's"):
        result_of(mean, few, rows=1, checked=True, private=True)


def test_several_rows_per_person_rely_on_honest_reports_only(tmp_path: Path) -> None:
    """Every figure of the guarantee: the honest share of the reports, the plan's delta, and the epsilon that these two give."""
    rows = 3
    half = plan("mean", n=1000, epsilon=1.0, delta=1e-6, low=0.0, high=10.0, honest_fraction=0.5)
    path = write(tmp_path / "people.parquet", {"who": np.arange(2000) // rows, "number": NUMBERS})
    found = run_file(half, path, column="number", user="who", max_rows_per_user=rows)
    assert found.guarantee is not None
    assert (found.guarantee.n, found.guarantee.delta) == (1000, half.guarantee.delta)
    assert found.guarantee == group(half.protocol.randomizer, n=1000, delta=1e-6, rows=rows)
    assert found.realised_epsilon == found.guarantee.epsilon
    assert found.guarantee.epsilon > group(half.protocol.randomizer, n=2000, delta=1e-6, rows=rows).epsilon
    assert found.realised_honest == 1000


@pytest.mark.parametrize("honest_fraction", [1.0, 0.7])
@pytest.mark.parametrize(
    "asked",
    [{"delta": 1e-9}, {"delta": 1e-4, "paper": True}, {"delta": 1e-4}],
    ids=["a small delta", "another bound", "a large delta"],
)
def test_several_rows_are_promised_at_the_plans_delta_by_its_bound(
    asked: dict[str, Any], honest_fraction: float
) -> None:
    """Whichever these are, and whatever the plan promises of one row."""
    made = plan("histogram", n=1000, epsilon=1.0, size=4, honest_fraction=honest_fraction, **asked)
    table = {"who": np.arange(2000) // 2, "x": np.arange(2000) % 4}
    found = run(made, table, column="x", user="who", max_rows_per_user=2)
    honest, bound = 2000 * made.guarantee.n // 1000, made.guarantee.bound
    expected = group(made.protocol.randomizer, n=honest, delta=asked["delta"], rows=2, bound=bound)
    assert found.guarantee == expected
    assert found.guarantee.bound.startswith(bound)
    assert (found.realised_epsilon, found.realised_honest) == (expected.epsilon, honest)
    assert (found.spend, found.certificate) == (None, None)


@pytest.mark.parametrize("rows", [1, 3])
def test_no_seed_carries_a_guarantee_however_many_rows_a_person_has(rows: int, histogram: Plan) -> None:
    table = {"who": np.arange(2000) // rows, "colour": COLOURS}
    found = run(histogram, table, column="colour", user="who", max_rows_per_user=rows, randomness=WORDS)
    assert (found.guarantee, found.realised_epsilon, found.realised_honest) == (None, None, None)
    assert (found.spend, found.certificate, found.estimate.guarantee) == (None, None, None)
    assert "simulation" in found.notes[0]


@pytest.mark.parametrize(
    "made", [partial(QuestionRandomness, question=3), EncodingRandomness, KeyedRandomness.replayed]
)
def test_words_of_other_words_carry_a_guarantee_only_if_those_do(
    histogram: Plan, made: Callable[[KeyedRandomness], RandomSource]
) -> None:
    """Nor is a table of messages made with them."""
    for randomness in (made(KeyedRandomness.seeded(4)), made(KeyedRandomness.fresh().replayed())):
        found = run(histogram, list(COLOURS), randomness=randomness)
        assert (found.guarantee, found.realised_epsilon, found.estimate.guarantee) == (None, None, None)
        with pytest.raises(InvalidInput, match="a table states a guarantee"):
            message_table(histogram, ValuesSource(list(COLOURS)), randomness=randomness)


@pytest.mark.parametrize("honest_fraction", [1.0, 0.35])
@pytest.mark.parametrize("n", [1000, 1001, 1999])
def test_what_more_reports_realise_relies_on_the_honest_share_of_them(n: int, honest_fraction: float) -> None:
    """Rounded down; and what is promised stays what was planned."""
    made = plan("histogram", n=1000, epsilon=1.0, delta=1e-6, size=4, honest_fraction=honest_fraction)
    found = run(made, np.arange(n) % 4)
    honest = math.floor(n * Fraction(str(honest_fraction)))
    assert found.realised_honest == honest
    assert found.realised_epsilon == account(made.protocol.randomizer, n=honest, delta=1e-6).epsilon
    assert found.guarantee == made.guarantee
    assert found.guarantee is not None
    assert found.guarantee.n == math.floor(1000 * honest_fraction)


@pytest.mark.parametrize("skipped", [0, 1])
def test_rows_that_are_rejected_do_not_count_towards_the_minimum(histogram: Plan, skipped: int) -> None:
    """One row too few is too few, also if there are others that took no part: of values that are missing, or of people."""
    least, kind = histogram.min_batch, Policy(missing="skip")
    missing: list[Any] = [None] * 500 + COLOURS[: least - skipped].tolist()
    people = {"who": [*[0] * 500, *range(1, least - skipped)], "colour": COLOURS[: least - skipped + 499]}
    if skipped:
        with pytest.raises(InvalidInput, match="fewer than the plan's"):
            run(histogram, missing, policy=kind)
        with pytest.raises(InvalidInput, match="fewer than the plan's"):
            run(histogram, people, column="colour", user="who", max_rows_per_user=1)
    else:
        for found in (
            run(histogram, missing, policy=kind),
            run(histogram, people, column="colour", user="who", max_rows_per_user=1),
        ):
            assert (found.n, found.realised_honest) == (least, histogram.guarantee.n)
            assert found.realised_epsilon == pytest.approx(histogram.guarantee.epsilon, rel=1e-3)
    counted = tally_rows(histogram.protocol, missing, KeyedRandomness.fresh(), kind)
    assert counted.rows == least + 500 - skipped
    if skipped:
        with pytest.raises(InvalidInput, match="fewer than the plan's"):
            result_of(histogram, counted, rows=1, checked=False, private=True)


@pytest.mark.parametrize("user", [None, "who"])
def test_whose_rows_are_whose_is_said_to_be_checked_only_if_it_was(histogram: Plan, user: str | None) -> None:
    table = {"who": np.arange(2000), "colour": COLOURS}
    assert run(histogram, table, column="colour", user=user).unit == (
        "one row = one person" if user is None else "one row = one person (checked)"
    )


def test_numeric_bins_and_whole_numbers(tmp_path: Path) -> None:
    path = write(tmp_path / "people.csv", {"number": NUMBERS, "whole": np.arange(2000) % 4})
    binned = plan("histogram", n=1000, epsilon=1.0, delta=1e-6, size=5, low=0.0, high=10.0)
    found = run_file(binned, path, column="number", truth=True)
    assert found.truth is not None
    assert found.truth.tolist() == np.histogram(NUMBERS, bins=5, range=(0, 10))[0].tolist()
    plain = plan("histogram", n=1000, epsilon=1.0, delta=1e-6, size=4)
    counted = run_file(plain, path, column="whole", truth=True)
    assert counted.truth is not None
    assert counted.truth.tolist() == [500] * 4


# Policies


def test_missing_values(tmp_path: Path, mean: Plan, histogram: Plan) -> None:
    holes: list[float | None] = [*NUMBERS[:1500].tolist(), None, math.nan, *NUMBERS[1500:].tolist()]
    for ending in (".csv", ".parquet"):
        path = write(tmp_path / f"holes{ending}", {"number": holes})
        with pytest.raises(InvalidInput, match="data row 1,501 the value is missing"):
            run_file(mean, path, column="number")
        skipped = run_file(mean, path, column="number", policy=Policy(missing="skip"), randomness=WORDS, truth=True)
        assert skipped.n == 2000
        assert skipped.rejected == {"missing": 2}
        assert skipped.truth is not None
        assert skipped.truth[0] == pytest.approx(NUMBERS.mean())
        assert any("not covered" in note for note in skipped.notes)
        counted = run_file(mean, path, column="number", policy=Policy(missing_as="5"), truth=True)
        assert (counted.n, counted.adjusted, counted.rejected) == (2002, {"missing": 2}, {})
        assert counted.truth is not None
        assert counted.truth[0] == pytest.approx((NUMBERS.sum() + 10) / 2002)
    colours = write(tmp_path / "colours.csv", {"colour": [*COLOURS.tolist(), None]})
    as_blue = run_file(histogram, colours, column="colour", policy=Policy(missing_as="blue"), truth=True)
    assert as_blue.truth is not None
    assert as_blue.truth[2] == (COLOURS == "blue").sum() + 1


def test_numbers_outside_the_range(tmp_path: Path, mean: Plan) -> None:
    path = write(tmp_path / "people.csv", {"number": [*NUMBERS.tolist(), 98765.0, -98765.0, math.inf]})
    with pytest.raises(InvalidInput, match=r"data row 2,001 the value is outside \[0, 10\]") as refused:
        run_file(mean, path, column="number")
    assert "98765" not in str(refused.value)
    clamped = run_file(mean, path, column="number", policy=Policy(outside="clamp"), truth=True)
    assert clamped.adjusted == {"clamped": 3}
    assert clamped.truth is not None
    assert clamped.truth[0] == pytest.approx((NUMBERS.sum() + 20) / 2003)


def test_unknown_labels(tmp_path: Path, histogram: Plan) -> None:
    path = write(tmp_path / "people.parquet", {"colour": [*COLOURS.tolist(), "ultraviolet", "infrared"]})
    with pytest.raises(InvalidInput, match="data row 2,001 the value is not one of the plan's bins") as refused:
        run_file(histogram, path, column="colour")
    assert "ultraviolet" not in str(refused.value)
    found = run_file(histogram, path, column="colour", policy=Policy(other="blue"), truth=True)
    assert found.adjusted == {"other": 2}
    assert found.truth is not None
    assert found.truth[2] == (COLOURS == "blue").sum() + 2


def test_one_more_skipped_row_changes_nobody_elses_message(tmp_path: Path, mean: Plan) -> None:
    """Addresses are rows of the file, so a gap shifts no one."""
    holes: list[float | None] = NUMBERS.tolist()
    holes[7] = None
    path = write(tmp_path / "people.parquet", {"number": holes})
    found = run_file(mean, path, column="number", policy=Policy(missing="skip"), randomness=WORDS)
    counts = tally_rows(mean.protocol, NUMBERS, WORDS, leave_out=[7]).counts
    assert found.estimate.value[0] == mean.protocol.estimate(counts).value[0]


@pytest.mark.parametrize(
    ("policy", "question"),
    [
        ({"other": "blue"}, "mean"),
        ({"outside": "clamp"}, "histogram"),
        ({"missing": "skip", "missing_as": "5"}, "mean"),
        ({"missing_as": "50"}, "mean"),
        ({"missing_as": "five"}, "mean"),
        ({"other": "mauve"}, "histogram"),
        ({"missing_as": "mauve"}, "histogram"),
    ],
)
def test_policies_that_make_no_sense(tmp_path: Path, mean: Plan, histogram: Plan, policy: Any, question: str) -> None:
    path = write(tmp_path / "people.csv", {"number": NUMBERS, "colour": COLOURS})
    with pytest.raises(InvalidInput):
        run_file(
            mean if question == "mean" else histogram,
            path,
            column="number" if question == "mean" else "colour",
            policy=Policy(**policy),
        )


# People


def test_a_repeated_user_is_refused_without_being_named(tmp_path: Path, mean: Plan) -> None:
    users = [f"user-{j}" for j in range(2000)]
    users[1999] = "user-17"
    path = write(tmp_path / "people.csv", {"who": users, "number": NUMBERS})
    with pytest.raises(InvalidInput, match="data row 2,000 a user appears more than once") as refused:
        run_file(mean, path, column="number", user="who")
    assert "user-17" not in str(refused.value)
    users[1999] = "user-1999"
    path = write(tmp_path / "people.csv", {"who": users, "number": NUMBERS})
    assert run_file(mean, path, column="number", user="who").unit == "one row = one person (checked)"


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_people_are_told_apart_by_the_whole_of_their_names(tmp_path: Path, histogram: Plan, ending: str) -> None:
    """Which may differ at their ends only, in case, by a blank, or by zeros in front; and equal ones are one person."""
    ends = [f"{end}{j:04}" for end in ("", "a", "A", "a ") for j in range(300)]
    names = [f"a person who lives in the town of Anytown, number {end}" for end in ends] + [
        "7",
        "07",
        "7.0",
        "+7",
        " 7",
        "NaN ",
    ]
    people = {"who": names, "colour": COLOURS[: len(names)]}
    assert run_file(histogram, write(tmp_path / f"all{ending}", people), column="colour", user="who").n == len(names)
    for again in (0, 5, 1203):
        twice = {"who": [*names, names[again]], "colour": COLOURS[: len(names) + 1]}
        path = write(tmp_path / f"twice{again}{ending}", twice)
        with pytest.raises(InvalidInput, match=f"data row {len(names) + 1:,} a user appears more than once"):
            run_file(histogram, path, column="colour", user="who")


@pytest.mark.parametrize("rows", [128, 1 << 18])
def test_rows_beyond_a_persons_share_are_left_out_and_the_rest_accounted_for(
    tmp_path: Path, mean: Plan, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "CHUNK", rows)
    users = np.random.default_rng(3).integers(0, 700, 2000)
    turn = [int((users[:j] == users[j]).sum()) for j in range(2000)]
    path = write(tmp_path / "people.parquet", {"who": users, "number": NUMBERS})
    found = run_file(mean, path, column="number", user="who", max_rows_per_user=2, truth=True)
    kept = np.array(turn) < 2
    assert found.n == kept.sum()
    assert found.rejected == {"more rows than allowed": 2000 - kept.sum()}
    assert found.truth is not None
    assert found.truth[0] == pytest.approx(NUMBERS[kept].mean())
    assert found.guarantee is not None
    assert found.guarantee.epsilon > 2 * 0.9 * mean.guarantee.epsilon * 1000 / 1300
    assert "at most 2" in found.guarantee.adjacency
    assert found.unit == "one person = at most 2 rows"


def test_what_further_rows_cost_is_said_before_and_after(tmp_path: Path, mean: Plan) -> None:
    path = write(tmp_path / "people.csv", {"who": [*range(1000), *range(1000)], "number": NUMBERS})
    with pytest.raises(InvalidInput, match="epsilon is at least as many times as large as with one row"):
        run_file(mean, path, column="number", user="who")
    asked: dict[str, Any] = {"column": "number", "user": "who", "max_rows_per_user": 2}
    with pytest.warns(DataWarning, match=r"With up to 2 rows per person, epsilon is [0-9.]+ for a person, instead of"):
        found = run_file(mean, path, **asked)
    assert found.guarantee is not None
    assert found.cost_of_rows is not None
    assert f"is {rounded_up(found.guarantee.epsilon)} for" in found.cost_of_rows
    (tmp_path / "plan.json").write_text(json.dumps(mean.document()))
    done = called("run plan.json people.csv --column number --user who --max-rows-per-user 2", cwd=tmp_path)
    assert "warning: With up to 2 rows per person, epsilon is" in done.stderr, done.stderr
    assert run_file(mean, path, column="number").cost_of_rows is None


def test_surplus_rows_come_in_order() -> None:
    batches = iter([np.array([1, 5, 9]), np.array([], dtype=np.int64), np.array([12, 40])])
    left = person_rows.Surplus(batches)
    assert [left.before(row).tolist() for row in (1, 2, 10, 13, 14, 100, 200)] == [[], [1], [5, 9], [12], [], [40], []]


def test_a_row_of_nobody_is_refused(tmp_path: Path, mean: Plan) -> None:
    path = write(tmp_path / "people.csv", {"who": ["a", None], "number": [1.0, 2.0]})
    with pytest.raises(InvalidInput, match="who a row belongs to"):
        run_file(mean, path, column="number", user="who")


# Bad files


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("empty.csv", b"", "is empty"),
        ("nobody.csv", b"number\n", "no rows"),
        ("ragged.csv", b"number,x\n1,2\n31337\n", "different lengths"),
        ("open.csv", b'number,x\n1,2\n1,"31337\n1,2\n1,2\n', "never closed"),
        ("twice.csv", b'number,x\n1,"31337\n1,2\n1,b"\n1,2\n', "never closed"),
        ("return.csv", b'number,x\n1,2\r5,6\n1,"31337\n2"\n', "never closed"),
        ("latin.csv", b"number,\xe4\n31337,2\n", "not in UTF-8"),
        ("header.csv", b"31337,2\n5,6\n", "no column 'number' among its 2"),
        ("double.csv", b"number,number\n31337,2\n", "several columns"),
        ("cut.csv.gz", b"\x1f\x8b31337", "cannot"),
        ("text.csv", b"number\n1\nsecret31337\n", "data row 2 the value is not a number"),
        ("other.csv", b"name\n1\n", "no column 'number'"),
        ("broken.parquet", b"31337 is not parquet", "cannot be read"),
        ("broken.arrow", b"31337 is not arrow", "cannot be read"),
        ("people.xlsx", b"31337", "not a kind of file"),
    ],
)
def test_bad_files(tmp_path: Path, mean: Plan, name: str, content: bytes, why: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidInput, match=why) as refused:
        run_file(mean, tmp_path / name, column="number")
    assert "31337" not in str(refused.value)


def test_cells_may_have_line_breaks_if_one_says_so(tmp_path: Path, mean: Plan) -> None:
    (tmp_path / "notes.csv").write_text("number,note\r\n" + '5,"two\r\nlines"\r\n' * 1000 + "\r\n6,one\r\n\r\n")
    with pytest.raises(InvalidInput, match="`multiline`"):
        run_file(mean, tmp_path / "notes.csv", column="number")
    found = run_file(mean, tmp_path / "notes.csv", column="number", multiline=True, truth=True)
    assert found.n == 1001


def test_lines_are_counted_across_blocks(tmp_path: Path, mean: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blank lines, both line ends, with and without a last one, at every alignment of the blocks."""
    for block in (40, 41, 64, 4096):
        monkeypatch.setattr(csv_file, "_BLOCK", block)
        for end in ("\n", "\r\n"):
            for tail in ("", end, end + end):
                path = tmp_path / "people.csv"
                path.write_text(
                    "number,x" + end + f"5,1{end}{end}6,2{end}7,3{end}{end}{end}" * 400 + "8,9" + tail, newline=""
                )
                assert run_file(mean, path, column="number").n == 1201


def test_labels_that_look_missing(tmp_path: Path) -> None:
    wanted = plan("histogram", n=1000, epsilon=1.0, delta=1e-6, labels=["None", "Some"])
    path = tmp_path / "people.csv"
    path.write_text("answer,x\n" + "None,1\nSome,2\n" * 600)
    assert run_file(wanted, path, column="answer").n == 1200
    floats = plan("histogram", n=1000, epsilon=1.0, delta=1e-6, labels=["1", "2"])
    holes = write(tmp_path / "holes.parquet", {"answer": [1.0, 2.0, math.nan] * 500})
    assert run_file(floats, holes, column="answer", policy=Policy(missing="skip")).rejected == {"missing": 500}


def test_too_few_rows_of_several_a_person(tmp_path: Path, mean: Plan) -> None:
    """The epsilon that would be is for all rows of a person."""
    path = write(tmp_path / "people.csv", {"who": np.arange(900) // 3, "number": NUMBERS[:900]})
    with pytest.raises(InvalidInput, match=r"epsilon would be [34]\."):
        run_file(mean, path, column="number", user="who", max_rows_per_user=3)


@pytest.mark.parametrize("kind", ["list", "struct", "binary"])
def test_odd_columns_of_users(tmp_path: Path, mean: Plan, kind: str) -> None:
    odd = {"list": [[1]] * 1000, "struct": [{"a": 1}] * 1000, "binary": [b"\xff\xfe"] * 1000}[kind]
    path = write(tmp_path / "people.parquet", {"who": odd, "number": NUMBERS[:1000]})
    with pytest.raises(InvalidInput):
        run_file(mean, path, column="number", user="who")


def test_wrong_types_and_arguments(tmp_path: Path, mean: Plan, histogram: Plan, query: Plan) -> None:
    path = write(tmp_path / "people.parquet", {"list": [[1.0]] * 1000, "number": NUMBERS[:1000]})
    with pytest.raises(InvalidInput, match="has no numbers"):
        run_file(mean, path, column="list")
    with pytest.raises(InvalidInput, match="has no labels"):
        run_file(histogram, path, column="list")
    with pytest.raises(InvalidInput, match="either a column or a query"):
        run_file(mean, path)
    with pytest.raises(InvalidInput, match="Give the user column"):
        run_file(mean, path, column="number", max_rows_per_user=2)
    with pytest.raises(InvalidInput, match="at least one row"):
        run_file(mean, path, column="number", user="number", max_rows_per_user=0)
    with pytest.raises(InvalidInput, match="no file"):
        run_file(mean, tmp_path / "nowhere.csv", column="number")
    with pytest.raises(InvalidInput, match="Give the function"):
        run(query, [1.0] * 1000)


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda: run([1, 2], plan("query", n=2, epsilon=1, delta=0.1)), "swapped"),  # type: ignore[arg-type]
        (lambda: run("plan.json", [1, 2]), r"Plan\.load"),  # type: ignore[arg-type]
        (lambda: run(Path("plan.json"), [1, 2]), r"Plan\.load"),  # type: ignore[arg-type]
        (lambda: run({"version": 3}, [1, 2]), "the plan is a dict"),  # type: ignore[arg-type]
        (lambda: run(MEAN, "people.csv"), "use run_file"),
        (lambda: run(MEAN, Path("people.csv")), "use run_file"),
        (lambda: run_file(MEAN, {"v": [1]}), "For a table use run"),  # type: ignore[arg-type]
        (lambda: run_file("people.csv", MEAN), "swapped"),  # type: ignore[arg-type]
        (lambda: run(MEAN, [1, 2], policy="skip"), "a policy is made with"),  # type: ignore[arg-type]
        (lambda: run(MEAN, [1, 2], missing="drop"), "'refuse' or 'skip'"),  # type: ignore[arg-type]
    ],
)
def test_what_people_swap_or_forget_is_a_sentence(call: Callable[[], Result], why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        call()


def test_what_becomes_of_values_is_said_in_words() -> None:
    made = plan("histogram", n=100, epsilon=1, delta=1e-6, labels=[0, 1])
    people = [0, 1, None, 2.0] * 60
    said = run(made, people, missing="skip", other=1, randomness=KeyedRandomness.seeded(1))
    same = run(made, people, policy=Policy(missing="skip", other="1"), randomness=KeyedRandomness.seeded(1))
    assert said.document() == same.document()
    assert (dict(said.rejected), dict(said.adjusted)) == ({"missing": 60}, {"other": 60})


def test_data_of_which_many_values_do_not_fit_warn() -> None:
    made = plan("histogram", n=90, epsilon=1, delta=1e-6, labels=[0, 1])
    people = [0, 1] * 45
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(made, [*people, *[None] * 10], missing="skip")
    with pytest.warns(DataWarning, match=r"11 of 101 rows .* left out or changed") as heard:
        run(made, [*people, *[None] * 5, *[2] * 6], missing="skip", other=1)
    assert heard[0].filename == __file__
