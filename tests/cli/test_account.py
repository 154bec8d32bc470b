"""`shuffledp account` as a user meets it: a real process, exit codes, JSON, bad input."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from oracles.process import assert_refused
from oracles.process import called as run
from oracles.process import run as started
from shuffledp import RandomizedResponse, account

RR = "account --randomizer rr --size 10 --epsilon0 1 --n 1e6 --delta 1e-6"
FORMULAS = {"bennett", "hoeffding", "closed-form", "erlingsson", "histogram-theorem"}


def result(command: str) -> dict[str, Any]:
    done = run(command + " --json")
    assert done.returncode == 0, done.stderr
    parsed: dict[str, Any] = json.loads(done.stdout)
    return parsed


def test_json_has_the_promised_shape() -> None:
    answer = result(f"{RR} --bound all")
    assert answer["solved_for"] == "epsilon"
    assert answer["inputs"] == {"randomizer": "rr", "size": 10, "epsilon0": 1.0, "n": 10**6, "delta": 1e-6}
    assert answer["adjacency"] == "replace-one"
    assert answer["n_is_public"] is True
    by_name = {row["bound"]: row for row in answer["results"]}
    assert set(by_name) == FORMULAS | {"best", "numeric", "generic", "witness", "binary", "cushion"}
    for name, row in by_name.items():
        assert {"bound", "value", "lower", "upper", "regime", "reference"} <= set(row)
        assert row["value"] == row["upper"]
        assert (row["lower"] is not None) == (name in ("best", "witness"))
        assert (row["value"] is None) == (row["regime"] is not None or name == "witness")
    assert by_name["erlingsson"]["value"] is None
    assert by_name["witness"]["lower"] <= by_name["best"]["value"] <= by_name["bennett"]["value"]
    certificate = by_name["best"]["certificate"]
    assert (certificate["lower_by"], certificate["upper_by"]) == ("witness", "numeric")
    assert certificate["ledger"]["nodes"] > 100
    python = account(RandomizedResponse(size=10, epsilon0=1.0), n=10**6, delta=1e-6, bound="bennett")
    assert by_name["bennett"]["value"] == python.epsilon


def test_every_bound_that_applies_round_trips() -> None:
    """epsilon -> epsilon0 -> epsilon to 1e-9."""
    for row in result(f"{RR} --bound all")["results"]:
        if row["value"] is not None:
            name, epsilon = row["bound"], row["value"]
            precision = 1e-9 if name in FORMULAS else 1e-5
            back = result(
                f"account --randomizer rr --size 10 --n 1e6 --delta 1e-6 --epsilon {epsilon!r} --bound {name}"
            )
            assert back["solved_for"] == "epsilon0"
            (local,) = back["results"]
            assert local["value"] == local["lower"]
            assert local["upper"] is None or name == "best"
            assert local["value"] == pytest.approx(1.0, rel=precision)
            again = result(
                f"account --randomizer rr --size 10 --n 1e6 --delta 1e-6 --epsilon0 {local['value']!r} --bound {name}"
            )
            assert again["results"][0]["value"] == pytest.approx(epsilon, rel=precision)


def test_tiny_delta_and_many_users() -> None:
    answer = result("account --randomizer generic --epsilon0 2 --n 1e8 --delta 1e-200 --bound bennett")
    assert answer["results"][0]["value"] == pytest.approx(0.03143907, rel=1e-6)


def test_outside_the_regime_exits_3_with_the_reason() -> None:
    done = run("account --randomizer generic --epsilon0 0.7 --n 1e6 --delta 1e-6 --bound erlingsson")
    assert done.returncode == 3
    assert "epsilon0 < 1/2" in done.stdout
    assert run("account --randomizer gaussian --sigma 1 --n 1e6 --delta 1e-6 --bound bennett").returncode == 3


@pytest.mark.parametrize(
    ("left_out", "options"),
    [
        ("delta", "--epsilon0 1 --n 1e6 --epsilon 0.003"),
        ("n", "--epsilon0 1 --epsilon 0.003 --delta 1e-6"),
        ("epsilon0", "--n 1e6 --epsilon 0.003 --delta 1e-6"),
        ("gamma", "--n 1e6 --epsilon 0.003 --delta 1e-6 --solve-for gamma"),
        ("epsilon", "--gamma 0.85 --n 1e6 --delta 1e-6"),
    ],
)
def test_any_quantity_can_be_left_out(left_out: str, options: str) -> None:
    answer = result(f"account --randomizer rr --size 10 {options} --bound bennett")
    assert answer["solved_for"] == left_out
    assert answer["results"][0]["value"] > 0


def test_sweep_to_csv_and_json() -> None:
    done = run("account --randomizer laplace --epsilon0 1 --n 1e3,1e4,1e5 --delta 1e-6 --bound bennett --csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["n"] for row in rows] == ["1000", "10000", "100000"]
    assert [float(row["epsilon"]) for row in rows] == pytest.approx([0.1583185, 0.04501791, 0.013102627], rel=1e-6)
    swept = result("account --randomizer laplace --epsilon0 0.5,1,2 --n 1e4 --delta 1e-6 --bound bennett")
    assert [row["epsilon0"] for row in swept["results"]] == [0.5, 1.0, 2.0]
    table = run("account --randomizer laplace --epsilon0 1 --n 1e3,1e4 --delta 1e-6 --bound all").stdout
    assert "1,000" in table
    assert "erlingsson: Theorem 5.1 needs" in table


def test_printed_numbers_are_rounded_to_the_safe_side() -> None:
    epsilon = result(f"{RR} --bound bennett")["results"][0]["value"]
    printed = run(f"{RR} --bound bennett").stdout.split("bennett")[1].split()[0]
    assert epsilon <= float(printed) <= epsilon * (1 + 1e-6)
    options = "--n 1e6 --epsilon 0.003 --delta 1e-6 --bound bennett"
    local = result(f"account --randomizer rr --size 10 {options}")["results"][0]["value"]
    printed = run(f"account --randomizer rr --size 10 {options}").stdout.split("bennett")[1].split()[0]
    assert local * (1 - 1e-6) <= float(printed) <= local


@pytest.mark.parametrize("text", ["0.75, 0.25\n0.25, 0.75\n", "0.75 0.25\n0.25 0.75", "[[0.75, 0.25], [0.25, 0.75]]"])
def test_a_channel_from_a_file_is_the_response_it_is(tmp_path: Path, text: str) -> None:
    file = tmp_path / "matrix.txt"
    file.write_text(text)
    ours = result(f"account --randomizer channel --matrix {file} --n 1e4 --delta 1e-6 --bound bennett")
    same = result("account --randomizer rr --size 2 --gamma 0.5 --n 1e4 --delta 1e-6 --bound bennett")
    assert ours["results"][0]["value"] == pytest.approx(same["results"][0]["value"], rel=1e-12)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("0.5,0.4\n0.5,0.5\n", "row 0 of the channel sums to 0.9, not 1"),
        ("0.5,0.5\n", "at least 2 rows"),
        ("0.5,x\n0.5,0.5\n", "not a table of numbers"),
        ("[[0.5, 0.5], [1]]", "rows of one length"),
        ('[{"a": 1}]', "rows of one length"),
        ("[[0.5, 0.5], [1.5, -0.5]]", "at least 0"),
        ("", "at least 2 rows"),
    ],
)
def test_bad_matrices(tmp_path: Path, text: str, why: str) -> None:
    file = tmp_path / "matrix.txt"
    file.write_text(text)
    done = run(f"account --randomizer channel --matrix {file} --n 10 --delta 0.1")
    assert_refused(done, why)


def test_help_shows_which_options_take_a_list() -> None:
    sweep, curve = run("account --help").stdout, run("curve --help").stdout
    assert "--n NUMBER[,NUMBER...]" in sweep
    assert "--rounds NUMBER " in sweep
    assert "--n NUMBER " in curve
    assert "NUMBER[" not in curve + run("compose --help").stdout


def test_help_and_completion() -> None:
    assert "left out" in run("account --help").stdout or "leave out" in run("account --help").stdout
    assert "0.1.0" in run("--version").stdout
    assert "complete" in started("", environment={"_SHUFFLEDP_COMPLETE": "bash_source"}).stdout


def test_dummies_are_solved_for_and_only_honest_ones_count() -> None:
    done = run("account --randomizer dummies --size 1e4 --n 1e6 --epsilon 1 --delta 1e-6 --json")
    (result,) = json.loads(done.stdout)["results"]
    assert result["value"] == pytest.approx(0.42657, rel=1e-4)
    assert result["lower"] == pytest.approx(result["value"], rel=1e-3)
    whole, liars = (
        json.loads(
            run(f"account --randomizer dummies --prime 101 --dummies {d} --n 2e4 --delta 1e-6 {more} --json").stdout
        )
        for d, more in ((0.5, ""), (1.0, "--honest-fraction 0.5"))
    )
    assert liars["results"][0]["value"] == pytest.approx(whole["results"][0]["value"], rel=1e-6)


def test_wide_enclosures_say_where_the_truth_is() -> None:
    told = "the truth approaches the lower bound"
    assert told in run("account --randomizer laplace --epsilon0 2 --n 1e3,1e4 --delta 1e-6").stdout
    assert told not in run(RR).stdout  # narrow
    assert told not in run("account --randomizer generic --epsilon0 2 --n 1e4 --delta 1e-6").stdout  # not known
    assert told not in run("account --randomizer laplace --epsilon0 2 --n 1e4 --delta 1e-6 --bound bennett").stdout
