"""`shuffledp example`: a file that is the same everywhere, and that any question can be tried on."""

import csv
import hashlib
from pathlib import Path

from oracles.process import called
from shuffledp import KeyedRandomness, example_people, plan, run


def test_the_file_is_what_python_has_and_never_changes(tmp_path: Path) -> None:
    done = called("example people.csv", cwd=tmp_path)
    assert done.stdout == "wrote 20,000 made-up people to people.csv; columns: person, region, travel, minutes\n"
    written = (tmp_path / "people.csv").read_bytes()
    with (tmp_path / "people.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {name: [row[name] for row in rows] for name in rows[0]} == {
        name: [str(value) for value in column] for name, column in example_people().items()
    }
    assert hashlib.sha256(written).hexdigest() == "1f49d3153a411e650fc46626329313e913412c465c0a22814aa413ff45f4dddb"


def test_answers_come_in_no_order() -> None:
    """A plan for a part of the people is about people like all of them."""
    first = example_people()["travel"][:2_000]
    assert all(abs(first.count(travel) - expected) < 150 for travel, expected in (("bike", 400), ("car", 1_000)))


def test_questions_can_be_asked_of_it() -> None:
    people = example_people()
    by = {"region": ["north", "south"]}
    question = plan.mean(low=0, high=60, by=by, n=20_000, epsilon=1.0, delta=1e-6)
    means = run(question, people, column="minutes", randomness=KeyedRandomness.seeded(1))
    north, south = means.estimate.value[:2]
    assert 24 < north < south < 30


def test_another_file_is_not_replaced_unasked(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("mine\n")
    refused = called("example people.csv", cwd=tmp_path)
    assert (refused.returncode, path.read_text()) == (2, "mine\n")
    assert "people.csv exists and has other content" in refused.stderr
    assert called("example people.csv --force", cwd=tmp_path).returncode == 0
    assert called("example people.csv", cwd=tmp_path).returncode == 0  # it is the same
    assert called("example people.parquet", cwd=tmp_path).stderr.startswith("shuffledp: the example is a CSV file")
