"""`plan distribution` and what `run` says of it, as a user meets them."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from oracles.process import assert_refused, called

PLAN = "plan distribution --low 0 --high 10 --resolution 40 --n 1500 --epsilon 1 --delta 1e-6"

FIRST = {"XDG_STATE_HOME": "elsewhere"}
"""Nothing was asked before: to compose two answers takes seconds, and is shown elsewhere."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A plan, and 2,000 people with numbers around 4."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    generator = random.Random(4)
    rows = "\n".join(f"{min(max(generator.gauss(4, 1.5), 0), 10):.3f}" for _ in range(2000))
    (tmp_path / "people.csv").write_text(f"hours\n{rows}\n")
    assert called(f"{PLAN} -o plan.json", cwd=tmp_path).returncode == 0
    return tmp_path


def answer(home: Path, options: str = "") -> Any:
    done = called(f"run plan.json people.csv --column hours --json {options}", cwd=home)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_quartiles_are_shown_unless_others_are_asked_for(home: Path) -> None:
    done = called("run plan.json people.csv --column hours --truth", cwd=home, environment=FIRST)
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["quantile", "estimate", "95", "%", "from", "to", "truth", "(not", "private)"]
    assert [line.split()[0] for line in lines[1:4]] == ["0.25", "0.5", "0.75"]
    assert "below" not in done.stdout
    found = answer(home, "--quantile 0.1,0.9 --truth")["derived"]["quantiles"]
    assert [one["share"] for one in found] == [0.1, 0.9]
    for one, expected in zip(found, (2.08, 5.92), strict=True):
        assert one["interval"][0] <= one["value"] <= one["interval"][1]
        assert abs(one["value"] - expected) < 1


def test_the_curve_its_ranges_and_its_consistent_form(home: Path) -> None:
    sure = "--simultaneous --confidence 0.999999999"  # the coins are secret
    document = answer(home, f"--cdf --range 0..4 --range 4..10 --project {sure} --truth --report page.html")
    estimate, found = document["estimate"], document["derived"]
    assert estimate["names"][:2] == ["below 0.25", "below 0.5"]
    assert len(found["curve"]["edges"]) == 41
    assert found["cumulative"]["value"] == estimate["value"]
    assert sum(one["value"] for one in found["ranges"]) == pytest.approx(2000)
    assert found["ranges"][0]["value"] == pytest.approx(estimate["value"][15])
    consistent = found["consistent"]
    assert consistent["biased"] is True
    assert consistent["cumulative"] == sorted(consistent["cumulative"])
    assert min(consistent["histogram"]) >= 0
    assert sum(consistent["histogram"]) == pytest.approx(2000)
    inside = [low <= true <= high for (low, high), true in zip(estimate["interval"], document["truth"], strict=True)]
    assert all(inside)
    page = (home / "page.html").read_text()
    assert "Nearest curve that never falls (biased)" in page
    assert "All 39 edges" in page
    text = called("run plan.json people.csv --column hours --cdf --simultaneous", cwd=home, environment=FIRST).stdout
    assert "to (all at once)" in text
    assert "below 9.75" in text


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ("--range 1..2.1", "is not a range of the plan"),
        ("--range 1", "is not a range of the plan"),
        ("--range 4..4", "is an empty range"),
        ("--range nan..4", "is not a range of the plan"),
        ("--top 3", "no largest bins"),
        ("--quantile 1.5", "share of a quantile"),
        ("--false-positives 1", "no largest bins"),
    ],
)
def test_what_cannot_be_read_off_is_refused_before_anything_is_spent(home: Path, options: str, error: str) -> None:
    done = called(f"run plan.json people.csv --column hours {options}", cwd=home)
    assert_refused(done, error)
    assert not list((home / "state").rglob("releases.jsonl"))


def test_numbers_outside_the_range_are_refused_or_clamped(home: Path) -> None:
    with (home / "people.csv").open("a") as file:
        file.write("1000\n")
    refused = called("run plan.json people.csv --column hours", cwd=home)
    assert_refused(refused, "is outside [0, 10]")
    assert "1000" not in refused.stderr
    assert answer(home, "--outside clamp")["adjusted"] == {"clamped": 1}


def test_a_rank_error_can_be_asked_for(home: Path) -> None:
    shown = called(f"{PLAN.replace('--epsilon 1', '--rmse-share 0.02')} --json", cwd=home)
    document = json.loads(shown.stdout)
    assert document["forecast"]["rank_standard_error"] == pytest.approx(0.02, rel=0.02)
    assert document["guarantee"]["epsilon"] < 1
