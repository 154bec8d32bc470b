"""Tables of messages: the answer they give, what is in them and what is not, and that edited ones are refused."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import shuffledp
from oracles.people import COLOURS, NUMBERS, write
from oracles.process import assert_refused, called
from shuffledp import InvalidInput, KeyedRandomness, Plan, Policy, plan, run
from shuffledp.engines import export
from shuffledp.engines.export import message_table, read_export
from shuffledp.sources.frame import FrameSource
from shuffledp.sources.values import ValuesSource


@pytest.fixture(scope="module")
def survey() -> Plan:
    asked = [{"name": name, "ask": "histogram", "labels": ["no", "yes"]} for name in "ab"]
    return plan("survey", n=1000, epsilon=2.0, delta=1e-6, questions=asked, way="all")


def exported(asked: Plan, values: list[Any], path: Path, randomness: KeyedRandomness | None = None) -> Path:
    message_table(asked, ValuesSource(values), randomness=randomness).write(path)
    return path


@pytest.mark.parametrize("question", ["histogram", "mean", "frequencies", "survey"])
def test_a_table_gives_the_answer_of_its_messages(
    tmp_path: Path, question: str, histogram: Plan, mean: Plan, survey: Plan
) -> None:
    """Of protocols with one message, with dummies, and with several."""
    asked, values = {
        "histogram": (histogram, list(COLOURS)),
        "mean": (mean, NUMBERS.tolist()),
        "frequencies": (
            plan("histogram", n=1000, epsilon=1.0, delta=1e-6, size=300, messages_per_user=20.0),
            [j % 300 for j in range(1500)],
        ),
        "survey": (survey, [{"a": "yes", "b": "no"}, {"a": "no", "b": "no"}] * 700),
    }[question]
    randomness = KeyedRandomness.fresh()
    found = read_export(exported(asked, values, tmp_path / "table.parquet", randomness))
    expected = run(asked, values, randomness=randomness.replayed())
    assert (found.counts.values == expected.counts.values).all()
    assert (found.estimate.value == expected.estimate.value).all()
    assert found.guarantee == asked.guarantee
    assert found.realised_epsilon is not None
    assert found.realised_epsilon <= asked.guarantee.epsilon


@pytest.mark.parametrize("user", [None, "who"])
def test_a_table_remembers_whether_it_was_checked_whose_row_is_whose(
    tmp_path: Path, histogram: Plan, user: str | None
) -> None:
    frame = pd.DataFrame({"colour": list(COLOURS), "who": range(len(COLOURS))})
    source = FrameSource(frame, column="colour", user=user)
    message_table(histogram, source).write(tmp_path / "table.parquet")
    found = read_export(tmp_path / "table.parquet")
    assert found.unit == ("one row = one person" if user is None else "one row = one person (checked)")


@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_table_promises_what_an_answer_to_the_same_rows_does(tmp_path: Path, histogram: Plan, most: int) -> None:
    """Of people with several rows, too, some of which are more than they may have."""
    frame = {"colour": list(COLOURS), "who": np.random.default_rng(1).integers(0, 1500, len(COLOURS))}
    options: dict[str, Any] = {"column": "colour", "user": "who", "max_rows_per_user": most}
    expected = run(histogram, frame, **options)
    assert expected.received > expected.n
    message_table(histogram, FrameSource(frame, **options)).write(tmp_path / "table.parquet")
    found = read_export(tmp_path / "table.parquet")
    assert (found.n, found.unit, found.guarantee) == (expected.n, expected.unit, expected.guarantee)
    assert (found.realised_epsilon, found.realised_honest) == (expected.realised_epsilon, expected.realised_honest)
    stated = json.loads(parquet.read_schema(tmp_path / "table.parquet").metadata[b"shuffledp"])
    assert (stated["users"], stated["rows_per_person"]) == (expected.n, most)
    assert expected.guarantee is not None
    assert stated["guarantee"]["epsilon"] == expected.guarantee.epsilon


def test_the_order_is_secret_and_does_not_depend_on_the_rows(tmp_path: Path, histogram: Plan) -> None:
    values = sorted(COLOURS)
    once = message_table(histogram, ValuesSource(values))
    tables = []
    for j in range(2):
        once.write(tmp_path / f"{j}.parquet")
        tables.append(parquet.read_table(tmp_path / f"{j}.parquet")["message"].to_numpy())
    assert Counter(tables[0].tolist()) == Counter(tables[1].tolist())
    assert (tables[0] != tables[1]).any()
    # of people sorted by their value, the first third is in the table like everybody else
    n = len(values)
    for message in range(3):
        share = float(np.mean(tables[0] == message))
        assert abs(float(np.mean(tables[0][: n // 3] == message)) - share) < 6 * np.sqrt(share * (1 - share) / (n // 3))


def test_a_table_says_nothing_of_rejected_or_adjusted_values(tmp_path: Path, mean: Plan) -> None:
    source = ValuesSource([*NUMBERS.tolist(), None, 77.0, None])
    found = message_table(mean, source, policy=Policy(missing_as="5", outside="clamp"))
    assert found.tally.adjusted == {"missing": 2, "clamped": 1}
    found.write(tmp_path / "table.parquet")
    stated = json.loads(parquet.read_schema(tmp_path / "table.parquet").metadata[b"shuffledp"])
    assert set(stated) == {"version", "plan", "guarantee", "users", "rows_per_person", "people_checked", "sha256"}
    assert stated["users"] == len(NUMBERS) + 3
    assert set(stated["guarantee"]) == {"epsilon", "delta", "n", "bound", "reference", "adjacency"}  # as ever
    read = read_export(tmp_path / "table.parquet")
    assert (read.rejected, read.adjusted, read.notes) == ({}, {}, ())


def test_nobody_is_left_out_of_a_table_for_want_of_a_value(tmp_path: Path, mean: Plan) -> None:
    """Not even where all have one: that it was refused would tell."""
    for values in ([*NUMBERS.tolist(), None], NUMBERS.tolist()):
        with pytest.raises(InvalidInput, match=r"exactly how many are left.* with `missing_as=VALUE`\.$"):
            message_table(mean, ValuesSource(values), policy=Policy(missing="skip"))
    (tmp_path / "plan.json").write_text(json.dumps(mean.document()))
    write(tmp_path / "people.csv", {"number": NUMBERS})
    found = called("export plan.json people.csv --column number --missing skip -o table.parquet", cwd=tmp_path)
    assert_refused(found, "Count missing values as something with --missing-as")
    assert not (tmp_path / "table.parquet").exists()


def test_a_table_has_no_guarantee_that_its_words_do_not_give(mean: Plan) -> None:
    randomness = KeyedRandomness.fresh()
    for seeded in (KeyedRandomness.seeded(1), randomness.replayed()):
        with pytest.raises(InvalidInput, match="a table states a guarantee, which this randomness does not give"):
            message_table(mean, ValuesSource(NUMBERS), randomness=seeded)
    message_table(mean, ValuesSource(NUMBERS), randomness=randomness)
    with pytest.raises(InvalidInput, match="this randomness was used before"):
        message_table(mean, ValuesSource(NUMBERS), randomness=randomness)


def test_a_table_of_the_former_version_says_what_it_may_leave_out(tmp_path: Path, histogram: Plan) -> None:
    path = exported(histogram, list(COLOURS), tmp_path / "table.parquet")
    table = parquet.read_table(path)
    stated = json.loads(table.schema.metadata[b"shuffledp"])
    assert stated.pop("sha256") == export._digest(stated, table["message"].to_numpy())
    assert stated["version"] == 2
    stated["version"] = 1
    stated["sha256"] = export._digest(stated, table["message"].to_numpy())
    parquet.write_table(table.replace_schema_metadata({"shuffledp": json.dumps(stated)}), path)
    (note,) = read_export(path).notes
    assert "how many reports it has is exact and not covered by the guarantee" in note
    assert f"note: {note}" in called("analyzer read table.parquet", cwd=tmp_path).stdout
    assert note in json.loads(called("analyzer read table.parquet --json", cwd=tmp_path).stdout)["notes"]


def change(path: Path, stated: Callable[[dict[str, Any]], object] | None = None, message: int | None = None) -> None:
    """Write a table again with something else in it."""
    table = parquet.read_table(path)
    metadata = json.loads(table.schema.metadata[b"shuffledp"])
    if stated is not None:
        stated(metadata)
    messages = table["message"].to_numpy().copy()
    if message is not None:
        messages[0] = message
    parquet.write_table(
        pa.table({"message": messages}).replace_schema_metadata({"shuffledp": json.dumps(metadata)}), path
    )


def test_an_edited_table_is_refused(tmp_path: Path, histogram: Plan) -> None:
    original = exported(histogram, list(COLOURS), tmp_path / "table.parquet").read_bytes()
    path = tmp_path / "edited.parquet"
    path.write_bytes(original)
    change(path)
    first = int(parquet.read_table(path)["message"][0].as_py())
    assert read_export(path).n == len(COLOURS)
    edits: list[Callable[[], None]] = [
        lambda: change(path, message=(first + 1) % 3),
        lambda: change(path, lambda stated: stated["guarantee"].update(epsilon=0.1)),
        lambda: change(path, lambda stated: stated.update(rows_per_person=2)),
        lambda: change(path, lambda stated: stated.update(users=5)),
        lambda: change(path, lambda stated: stated["plan"]["guarantee"].update(epsilon=0.1)),
        lambda: change(path, lambda stated: stated.pop("sha256")),
    ]
    for edit in edits:
        path.write_bytes(original)
        edit()
        with pytest.raises(InvalidInput, match="was changed"):
            read_export(path)
    path.write_bytes(original[: len(original) // 2])
    for wrong in (path, tmp_path / "nothing.parquet", write(tmp_path / "other.parquet", {"message": [1, 2]})):
        with pytest.raises(InvalidInput, match="not a table that shuffledp export wrote"):
            read_export(wrong)


def test_commands(tmp_path: Path, histogram: Plan) -> None:
    home = {"XDG_STATE_HOME": str(tmp_path / "state")}
    (tmp_path / "plan.json").write_text(json.dumps(histogram.document()))
    write(tmp_path / "people.csv", {"colour": COLOURS})
    written = called("export plan.json people.csv --column colour -o table.parquet", cwd=tmp_path, environment=home)
    assert written.returncode == 0, written.stderr
    assert "guarantee: (1, 1e-6)" in written.stdout
    read = called("analyzer read table.parquet --json -o answer.json", cwd=tmp_path, environment=home)
    assert (tmp_path / "answer.json").read_text() == read.stdout
    assert json.loads(read.stdout)["n"] == len(COLOURS)
    assert "guarantee: (1, 1e-6)" in called("analyzer read table.parquet", cwd=tmp_path, environment=home).stdout
    again = called("run plan.json people.csv --column colour", cwd=tmp_path, environment=home)
    assert "already used once" in again.stderr


@pytest.mark.parametrize(
    ("rows", "out", "message"),
    [
        (999, "table.parquet", "999 reports are fewer than the plan's 1,000, so nothing is released"),
        (1500, "table.csv", "Use one that ends in .parquet"),
        (1500, "no/table.parquet", "there is no folder"),
    ],
)
def test_nothing_is_left_behind_where_nothing_may_be_exported(
    tmp_path: Path, histogram: Plan, rows: int, out: str, message: str
) -> None:
    (tmp_path / "plan.json").write_text(json.dumps(histogram.document()))
    write(tmp_path / "people.csv", {"colour": COLOURS[:rows]})
    found = called(f"export plan.json people.csv --column colour -o {out}", cwd=tmp_path)
    assert_refused(found, message)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["people.csv", "plan.json"]


def test_a_table_that_cannot_be_written_is_not_half_there(
    tmp_path: Path, histogram: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(parquet, "write_table", full)
    with pytest.raises(InvalidInput, match="No space left on device"):
        exported(histogram, list(COLOURS), tmp_path / "table.parquet")
    assert list(tmp_path.iterdir()) == []


def test_in_python_a_table_is_written_and_read_as_on_the_command_line(tmp_path: Path) -> None:
    """From a frame, an SQL query of it, or a list; refusals come before anything is written, and a second one warns."""
    path, asked = tmp_path / "messages.parquet", plan("histogram", n=600, epsilon=3.0, delta=1e-5, labels=["no", "yes"])
    frame = pd.DataFrame({"answer": ["no"] * 400 + [None] * 50 + ["yes"] * 150})
    for wrong, why in [
        ({}, "is missing"),
        ({"missing": "skip"}, "missing_as"),
        ({"missing_as": "no", "column": "reply"}, "reply"),
    ]:
        with pytest.raises(InvalidInput, match=why):
            shuffledp.export(asked, frame, path, **({"column": "answer"} | wrong))  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"one that ends in \.parquet"):
        shuffledp.export(asked, frame, tmp_path / "messages.csv", column="answer", missing_as="no")
    with pytest.raises(InvalidInput, match="shuffledp export"):
        shuffledp.export(asked, "people.csv", path)
    assert not path.exists()
    promise = shuffledp.export(asked, frame, path, column="answer", missing_as="no")
    answer = shuffledp.read_export(path)
    assert answer.guarantee == promise == asked.guarantee
    assert abs(answer["yes"].estimate - 150) < 6 * answer["yes"].standard_error
    with pytest.warns(shuffledp.DataWarning, match="answered about before"):
        shuffledp.export(asked, frame, path, column="answer", missing_as="no")
