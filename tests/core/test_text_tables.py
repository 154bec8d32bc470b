"""Tables in plain text: numbers end below each other, one rule for their digits, and never a million lines."""

import json
import random
import re
from pathlib import Path

import pytest

from oracles.process import called
from shuffledp.core.text_tables import aligned

NUMBER = re.compile(r"-?[\d,]+(?:\.\d+)?")


def test_numbers_end_below_each_other_whatever_the_script() -> None:
    text = aligned(["city", "users"], [["東京", "1,234.50"], ["Zürich", "-2.25"], ["e\u0301", "-"]])
    assert text.splitlines() == ["city       users", "東京    1,234.50", "Zürich     -2.25", "e\u0301           -"]
    points = aligned(
        ["n", "epsilon"], [["10", "0.25"], ["100", "1,000"], ["1,000", "0.001"], ["9", "-"], ["99", "1e-7"]]
    )
    assert points.splitlines() == [
        "n        epsilon", "10         0.25", "100    1,000", "1,000      0.001", "9          -", "99      1e-7"
    ]  # fmt: skip
    assert aligned(["a", "b"], []).splitlines() == ["a  b"]
    assert aligned(["a", "b"], [["1", "none"], ["22", "3"]]).splitlines() == ["a   b", "1   none", "22  3"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A histogram of many bins, a survey of questions on different scales, and means by group."""
    folder = tmp_path_factory.mktemp("tables")
    draw = random.Random(1)
    rows = [
        f"{min(599, int(draw.expovariate(0.02)))},{draw.choice('ab')},{draw.uniform(0, 1):.3f}" for _ in range(3000)
    ]
    (folder / "people.csv").write_text("\n".join(["bin,group,part", *rows]) + "\n")
    (folder / "survey.toml").write_text(
        '[[question]]\nname = "group"\nask = "histogram"\nlabels = ["a", "b"]\n'
        '[[question]]\nname = "part"\nask = "mean"\nlow = 0\nhigh = 1\n'
    )
    shared = "--n 3000 --epsilon 1 --delta 1e-6"
    for line in (
        f"plan histogram --size 600 {shared} -o many.json",
        f"plan survey survey.toml {shared} --way all --title Both -o survey.json",
        f"plan mean --by group=a,b --low 0 --high 1 {shared} --unit litres -o groups.json",
    ):
        done = called(line, cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


def answer(home: Path, line: str) -> list[list[str]]:
    """The tables of an answer, as lines."""
    done = called(f"run {line}", cwd=home, environment={"XDG_STATE_HOME": str(home / "state")})
    assert done.returncode == 0, done.stderr
    return [table.splitlines() for table in done.stdout.split("\n\n")]


def decimals(line: str) -> set[int]:
    """How many the numbers behind a name have."""
    return {len(number.partition(".")[2]) for number in NUMBER.findall(re.split(r"  +", line, maxsplit=1)[1])}


def test_of_many_bins_the_largest_are_shown(home: Path) -> None:
    shown, *_ = answer(home, "many.json people.csv --column bin")
    assert len(shown) == 52
    assert shown[-1] == "... and 550 others: --top shows more of the largest, the JSON has all"
    values = [float(re.split(r"  +", line)[1].replace(",", "")) for line in shown[1:-1]]
    assert values == sorted(values, reverse=True)


def test_top_says_how_many_lines_there_are(home: Path) -> None:
    first, second, *_ = answer(home, "many.json people.csv --column bin --top 7 --frequencies -o top.json")
    result = json.loads((home / "top.json").read_text())
    names = [one["bin"] for one in result["derived"]["top"]]
    for table in (first, second):
        assert [line.split()[0] for line in table[1:-1]] == names
        assert table[-1] == "... and 593 others"
    assert len(result["estimate"]["value"]) == 600


def test_a_table_has_one_number_of_decimals(home: Path) -> None:
    """Those that show three digits of the least standard error; intervals are rounded outwards."""
    shown, *_ = answer(home, "many.json people.csv --column bin --truth -o many-answer.json")
    assert set.union(*map(decimals, shown[1:-1])) == {2}
    result = json.loads((home / "many-answer.json").read_text())["estimate"]
    at = {name: j for j, name in enumerate(result["names"])}
    for line in shown[1:-1]:
        name, *_, low, high, _ = line.split()
        start, end = result["interval"][at[name]]
        assert float(low) <= start < end <= float(high)


def test_questions_of_a_survey_have_tables_of_their_own(home: Path) -> None:
    head, counts, mean, *_ = answer(home, "survey.json people.csv")
    assert head == ["Both"]
    assert counts[0].startswith("group  ")
    assert [line.split()[0] for line in counts[1:]] == ["a", "b"]
    assert set.union(*map(decimals, counts[1:])) == {2}
    assert mean[0].startswith("part  ")
    assert decimals(mean[1]) == {5}


def test_units_stand_where_the_values_are(home: Path) -> None:
    means, users, *_ = answer(home, "groups.json people.csv --column part")
    assert "estimate (litres)" in means[0]
    assert "litres" not in users[0]
