"""`shuffledp run` and `shuffledp simulate` as a user meets them."""

import errno
import json
import os
import pty
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pytest

from oracles.process import assert_refused, command
from oracles.process import called as run


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Plans made by the command, once."""
    folder = tmp_path_factory.mktemp("plans")
    for name, line in {
        "poll": "plan histogram --labels no,yes,unsure --n 1500 --epsilon 1 --delta 1e-6",
        "income": "plan mean --low 0 --high 100 --n 1500 --epsilon 1 --delta 1e-6",
        "query": "plan query --n 1500 --epsilon 1 --delta 1e-6",
    }.items():
        assert run(f"{line} -o {name}.json", cwd=folder).returncode == 0
    return folder


@pytest.fixture
def home(plans: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with plans and data, and a state folder of its own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    shutil.copytree(plans, tmp_path, dirs_exist_ok=True)
    generator = random.Random(1)
    rows = [
        f"u{j},{generator.choices(['no', 'yes', 'unsure'], [6, 3, 1])[0]},{generator.uniform(0, 100):.2f}"
        for j in range(2000)
    ]
    (tmp_path / "people.csv").write_text("\n".join(["id,answer,income", *rows]) + "\n")
    (tmp_path / "small.csv").write_text("\n".join(["id,answer,income", *rows[:700]]) + "\n")
    return tmp_path


def test_a_run_of_a_file_loads_nothing_of_the_service(home: Path) -> None:
    program = (
        "import sys; from shuffledp.cli import cli; "
        "cli(['run', 'poll.json', 'people.csv', '--column', 'answer'], standalone_mode=False); "
        "print([name for name in sys.modules if name.startswith(('shuffledp.service', 'httpx', 'sqlite3'))])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=home, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("histogram")
    assert done.stdout.splitlines()[-1] == "[]"


def test_json(home: Path) -> None:
    done = run("run poll.json people.csv --column answer --json --truth --plot poll.png", cwd=home)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    document = json.loads(done.stdout)
    assert document["n"] == 2000
    assert document["rejected"] == {}
    assert document["guarantee"]["epsilon"] == 1
    assert document["guarantee"]["realised_epsilon"] < 1
    assert document["guarantee"]["unit"] == "one row = one person"
    assert document["estimate"]["names"] == ["no", "yes", "unsure"]
    for value, (low, high), truth in zip(
        document["estimate"]["value"], document["estimate"]["interval"], document["truth"], strict=True
    ):
        assert low < value < high
        assert abs(value - truth) < 4 * (high - low)
    assert (home / "poll.png").read_bytes().startswith(b"\x89PNG")


def test_words(home: Path) -> None:
    done = run("run income.json people.csv --column income --user id", cwd=home)
    assert done.returncode == 0, done.stderr
    assert "differentially private after shuffling 1,500 reports" in done.stdout
    assert "2,000 reports, one row = one person (checked)" in done.stdout
    assert "truth" not in done.stdout


def test_query(home: Path) -> None:
    done = run(
        ["run", "query.json", "people.csv", "--query", "income::DOUBLE > 50 AND answer = 'yes'", "--json"], cwd=home
    )
    assert done.returncode == 0, done.stderr
    assert 0.05 < json.loads(done.stdout)["estimate"]["value"][0] < 0.25


def test_derived(home: Path) -> None:
    done = run(
        "run poll.json people.csv --column answer --json --project --frequencies --cdf --quantile 0.5,0.99 --top 2 "
        "--range no..yes --simultaneous --confidence 0.99 -o out.json",
        cwd=home,
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert json.loads((home / "out.json").read_text()) == document
    found = document["derived"]
    assert sum(found["projected"]) == pytest.approx(2000)
    assert sum(found["frequencies"]["value"]) == pytest.approx(1)
    assert found["cumulative"]["value"][-1] == 2000
    assert found["quantiles"][0]["bin"] == "no"
    assert [entry["bin"] for entry in found["top"]] == ["no", "yes"]
    assert found["ranges"][0]["value"] == pytest.approx(
        document["estimate"]["value"][0] + document["estimate"]["value"][1]
    )


def test_what_is_read_off_is_shown_as_tables_not_as_json(home: Path) -> None:
    asked = "--project --frequencies --cdf --quantile 0.5 --top 2 --false-positives 0.1 --range no..yes"
    done = run(f"run poll.json people.csv --column answer {asked}", cwd=home)
    assert done.returncode == 0, done.stderr
    heads = [table.splitlines()[0].split("  ")[0] for table in done.stdout.split("\n\n")]
    assert heads[1:-1] == [
        "nearest possible histogram (biased)", "share of users", "cumulative", "quantile", "range"
    ]  # fmt: skip
    assert "if nobody held any of the 3, " in done.stdout
    assert "{" not in done.stdout


def test_intervals_of_what_is_derived_hold_together_if_asked(home: Path) -> None:
    asked = "run poll.json people.csv --column answer --frequencies --cdf --range no..yes --range yes..unsure --json"
    alone, together = (
        json.loads(run(f"{asked} {flag}", cwd=home).stdout)["derived"] for flag in ("", "--simultaneous")
    )

    def widths(found: Any) -> list[float]:
        rows = [found] if isinstance(found, dict) else found
        pairs = [
            pair
            for row in rows
            for pair in (
                zip(row["interval"], row["standard_error"], strict=True)
                if isinstance(found, dict)
                else [(row["interval"], row["standard_error"])]
            )
        ]
        return [(high - low) / error for (low, high), error in pairs if error]

    for what, entries in (("frequencies", 3), ("cumulative", 3), ("ranges", 2)):
        one, all_ = widths(alone[what]), widths(together[what])
        assert one == pytest.approx([-2 * NormalDist().inv_cdf(0.025)] * len(one))
        assert all_ == pytest.approx([-2 * NormalDist().inv_cdf(0.025 / entries)] * len(one))


def test_an_error_at_the_worst_data_is_called_a_bound(home: Path) -> None:
    assert "standard error, at most" in run("run income.json people.csv --column income", cwd=home).stdout
    assert "standard error, at most" not in run("run poll.json people.csv --column answer", cwd=home).stdout


def test_a_plan_states_the_error_of_one_bin_first(home: Path) -> None:
    shown = run("plan histogram --size 4 --n 1e5 --epsilon 1 --delta 1e-6", cwd=home).stdout
    found = re.search(r"one bin by about ([\d.]+), all 4 bins together by ([\d.]+)", shown)
    assert found is not None
    assert float(found[2]) == pytest.approx(2 * float(found[1]), rel=1e-4)


def test_text_says_that_intervals_hold_together(home: Path) -> None:
    asked = "run poll.json people.csv --column answer"
    assert "to (all at once)" in run(f"{asked} --simultaneous", cwd=home).stdout
    assert "all at once" not in run(asked, cwd=home, environment={"XDG_STATE_HOME": str(home / "other")}).stdout


@pytest.mark.parametrize("option", ["-o", "--plot", "--report"])
def test_an_answer_is_not_lost_if_it_cannot_be_written(
    home: Path, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full when the answer is there and its budget is booked."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("shuffledp.cli.documents.write_whole", full)
    name = {"-o": "answer.json", "--plot": "answer.png", "--report": "answer.html"}[option]
    done = run(f"run poll.json people.csv --column answer --json {option} {name}", cwd=home)
    assert done.returncode == 2
    assert f"cannot write {name}: No space left on device" in done.stderr
    assert json.loads(done.stdout)["n"] == 2000


@pytest.mark.parametrize("option", ["-o", "--plot", "--report"])
def test_places_are_checked_before_anything_is_spent(home: Path, option: str) -> None:
    done = run(f"run poll.json people.csv --column answer {option} nowhere/answer.png", cwd=home)
    assert_refused(done, "cannot write nowhere/answer.png: there is no folder")
    assert not (home / "state").exists()


def test_a_plan_replaces_no_other_file(home: Path) -> None:
    before = (home / "poll.json").read_text()
    done = run("plan query --n 1500 --epsilon 1 --delta 1e-6 -o poll.json", cwd=home)
    assert_refused(done, "poll.json exists")
    assert (home / "poll.json").read_text() == before
    assert run("plan query --n 1500 --epsilon 1 --delta 1e-6 -o query.json", cwd=home).returncode == 0  # the same
    assert run("plan query --n 1500 --epsilon 1 --delta 1e-6 -o poll.json --force", cwd=home).returncode == 0
    assert (home / "poll.json").read_text() == (home / "query.json").read_text()


def test_labels_may_contain_commas_but_not_be_empty(home: Path) -> None:
    line = "plan histogram --n 1500 --epsilon 1 --delta 1e-6 --json --labels"
    done = run([*line.split(), 'yes,"no, never", perhaps'], cwd=home)
    assert json.loads(done.stdout)["protocol"]["domain"]["labels"] == ["yes", "no, never", "perhaps"]
    for labels in ("yes,,no", "yes,no,", "", 'yes,"no'):
        done = run([*line.split(), labels], cwd=home)
        assert_refused(done, "--labels")


def test_a_second_run_warns(home: Path) -> None:
    line = "run poll.json people.csv --column answer --json"
    assert "spent again" not in run(line, cwd=home).stderr
    again = run(line, cwd=home)
    assert again.returncode == 0
    assert "spent again, because this file was already used once (1 with this plan)" in again.stderr
    found = re.search(
        r"All answers together are \(([0-9.]+), 1e-6\)-differentially private by composition", again.stderr
    )
    assert found is not None
    assert 1 < float(found[1]) < 1.6  # by adding up it would be 2
    assert "spent again" in json.loads(again.stdout)["notes"][-1]
    other = run("run income.json people.csv --column income", cwd=home)
    assert "already used 2 times (not with this plan)" in other.stderr


def test_releases_of_before_spends_were_kept_are_added_up(home: Path) -> None:
    line = "run poll.json people.csv --column answer --json"
    assert run(line, cwd=home).returncode == 0
    history = home / "state" / "shuffledp" / "releases.jsonl"
    release = json.loads(history.read_text())
    assert release.pop("spend")["randomizer"]["kind"] == "response"
    history.write_text(json.dumps(release) + "\n")
    again = run(line, cwd=home)
    assert "All answers together are (2, 2e-6)-differentially private by basic composition" in again.stderr


def test_budgets_of_different_units_are_not_added(home: Path) -> None:
    assert run("run poll.json people.csv --column answer", cwd=home).returncode == 0
    again = run("run poll.json people.csv --column answer --user id --max-rows-per-user 2", cwd=home)
    assert again.returncode == 0, again.stderr
    assert "do not add up" in again.stderr


def test_a_damaged_history_is_no_obstacle(home: Path) -> None:
    (home / "state" / "shuffledp").mkdir(parents=True)
    (home / "state" / "shuffledp" / "releases.jsonl").write_text('{"data": 1}\nnonsense\n[]\n')
    assert run("run poll.json people.csv --column answer", cwd=home).returncode == 0


def test_strange_labels_and_confidences(home: Path) -> None:
    (home / "dollars.csv").write_text("x\n" + "$a_$\nb\n" * 800)
    assert (
        run(
            [
                "plan",
                "histogram",
                "--labels",
                "$a_$,b",
                *["--n", "1500", "--epsilon", "1", "--delta", "1e-6", "-o", "d.json"],
            ],
            cwd=home,
        ).returncode
        == 0
    )
    done = run(
        "run d.json dollars.csv --column x --plot d.png --confidence 0.9999999999999999 --simultaneous", cwd=home
    )
    assert done.returncode == 0, done.stderr
    assert (home / "d.png").exists()


def test_simulate_intervals_by_number(home: Path) -> None:
    assert (
        run("plan histogram --size 4 --low 0 --high 1 --n 1500 --epsilon 1 --delta 1e-6 -o b.json", cwd=home).returncode
        == 0
    )
    (home / "truth.csv").write_text('value,count\n0.3,800\n"[0.5, 0.75)",700\n')
    assert "1,500 users" in run("simulate b.json --truth truth.csv --trials 10", cwd=home).stdout


def test_a_run_that_cannot_be_written_down_says_so(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "people.csv"))
    done = run("run poll.json people.csv --column answer", cwd=home)
    assert done.returncode == 0
    assert "could not be written down" in done.stderr


def test_too_few_rows(home: Path) -> None:
    done = run("run poll.json small.csv --column answer --json --plot never.png", cwd=home)
    assert_refused(done, "700 reports are fewer than the plan's 1,500", "epsilon would be 1.")
    assert not (home / "never.png").exists()
    assert not (home / "state").exists()


@pytest.mark.parametrize(
    ("line", "row", "why"),
    [
        ("run income.json DATA --column income", "u9999,no,31337.5", "data row 2,001 the value is outside [0, 100]"),
        (
            "run poll.json DATA --column answer",
            "u9999,secret31337,5",
            "data row 2,001 the value is not one of the plan's bins",
        ),
        ("run income.json DATA --column income", "u9999,no,NaN", "data row 2,001 the value is missing"),
        ("run income.json DATA --column income", "u9999,no,", "data row 2,001 the value is missing"),
        ("run income.json DATA --column income", "u9999,no,x31337", "data row 2,001 the value is not a number"),
        ("run income.json DATA --column income --user id", "u17,no,5", "data row 2,001 a user appears more than once"),
        ("run income.json DATA --column salary", "u9999,no,5", "no column 'salary'"),
        ("run income.json DATA", "u9999,no,5", "either a column or a query"),
        ("run income.json DATA --column income --top 2", "u9999,no,5", "nothing is derived"),
        ("run poll.json DATA --column answer --range no..maybe", "u9999,no,5", "not a range of bins"),
        ("run poll.json DATA --column answer --quantile 2", "u9999,no,5", "share of a quantile"),
        ("run poll.json DATA --column answer --confidence 1.5", "u9999,no,5", "confidence must be"),
        ("run poll.json DATA --column answer --plot out.doc", "u9999,no,5", "not a kind of picture"),
        ("run poll.json DATA --column answer -o nowhere/out.json", "u9999,no,5", "cannot write"),
        ("run poll.json DATA --column answer --max-rows-per-user 2", "u9999,no,5", "Give the user column"),
        ("run people.csv DATA --column answer", "u9999,no,5", "is not a plan"),
        ("run nowhere.json DATA --column answer", "u9999,no,5", "cannot read"),
        ("run poll.json nowhere.csv --column answer", "u9999,no,5", "no file"),
    ],
)
def test_bad_input(home: Path, line: str, row: str, why: str) -> None:
    """Exit code 2, a reason, no traceback, nothing printed or spent, and no private value."""
    (home / "bad.csv").write_text((home / "people.csv").read_text() + row + "\n")
    done = run(line.replace("DATA", "bad.csv"), cwd=home)
    assert done.returncode == 2, done.stderr
    assert why in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    for secret in ("31337", "u17"):
        assert secret not in done.stderr
    assert not (home / "state").exists()


def test_an_empty_file(home: Path) -> None:
    (home / "empty.csv").write_text("")
    done = run("run poll.json empty.csv --column answer", cwd=home)
    assert_refused(done, "empty.csv is empty")


def test_an_edited_plan(home: Path) -> None:
    text = (home / "poll.json").read_text()
    (home / "poll.json").write_text(text.replace('"min_batch": 1500', '"min_batch": 15'))
    done = run("run poll.json people.csv --column answer", cwd=home)
    assert_refused(done, "it was edited")


def test_a_bar_is_shown_to_people(home: Path) -> None:
    controller, terminal = pty.openpty()
    done = subprocess.run(
        [command(), "run", "poll.json", "people.csv", "--column", "answer", "--json"],
        cwd=home, stdout=subprocess.PIPE, stderr=terminal, check=True,
    )  # fmt: skip
    os.close(terminal)
    shown = os.read(controller, 100_000).decode()
    os.close(controller)
    assert "Randomizing" in shown
    assert json.loads(done.stdout)["n"] == 2000


# Simulation


def test_a_plan_for_those_who_answer_does_not_refuse_them(home: Path) -> None:
    plan_for = "plan histogram --labels no,yes,unsure --epsilon 1 --delta 1e-6"
    done = run(f"{plan_for} --n 1000 --dropout 0.3 -o thirty.json", cwd=home)
    assert "for this, ask 1,000 people, because 30 % of them may not answer" in done.stdout
    assert run("run thirty.json small.csv --column answer", cwd=home).returncode == 0  # 700 rows
    assert run(f"{plan_for} --n 1000 --honest-fraction 0.7 -o liars.json", cwd=home).returncode == 0
    refused = run("run liars.json small.csv --column answer", cwd=home)
    assert_refused(refused, "plan for those who answer, with --n 700 or a --dropout")


@pytest.mark.parametrize("dropout", ["1", "-0.1", "nan", "0.9999"])
def test_a_dropout_that_leaves_nobody_is_refused(home: Path, dropout: str) -> None:
    done = run(f"plan query --n 1000 --epsilon 1 --delta 1e-6 --dropout={dropout}", cwd=home)
    assert_refused(done, "dropout")


def test_people_to_ask_for_an_error(home: Path) -> None:
    line = "plan mean --epsilon 1 --delta 1e-6 --rmse 0.01"
    without, with_ = run(line, cwd=home).stdout, run(f"{line} --dropout 0.5", cwd=home).stdout
    reports = int(re.match(r"mean of (\d+) users", without)[1])  # type: ignore[index]
    assert with_.startswith(without)
    assert f"ask {2 * reports:,} people" in with_


def test_a_population_needs_no_header(home: Path) -> None:
    lines = "no,900\nyes,500\nunsure,100\n"
    (home / "plain.csv").write_text(lines)
    (home / "headed.csv").write_text("label,count\n" + lines)
    plain, headed = (
        run(f"simulate poll.json --truth {name}.csv --trials 50 --seed 1", cwd=home) for name in ("plain", "headed")
    )
    assert plain.stdout == headed.stdout
    assert "1,500 users" in plain.stdout


def test_simulate(home: Path) -> None:
    (home / "truth.csv").write_text("label,count\nno,900\nyes,500\nunsure,100\n")
    done = run("simulate poll.json --truth truth.csv --trials 20000 --seed 1 --json", cwd=home)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["n"] == 1500
    assert found["rmse"] == pytest.approx(found["forecast_rmse"], rel=0.02)
    assert found["coverage"] == pytest.approx(0.95, abs=0.01)
    assert found["guarantee"] is None
    assert run("simulate poll.json --truth truth.csv --trials 20000 --seed 1 --json", cwd=home).stdout == done.stdout


def test_simulate_numbers(home: Path) -> None:
    (home / "truth.csv").write_text("value,count\n0,1e9\n12.5,500\n100,3\n")
    done = run("simulate income.json --truth truth.csv --trials 500 --seed 2", cwd=home)
    assert done.returncode == 0, done.stderr
    assert "1,000,000,503 users, 500 simulated runs of a mean" in done.stdout


@pytest.mark.parametrize(
    ("text", "options", "why"),
    [
        ("label,count\nmaybe,3\n", "", "not a bin of the plan"),
        ("label,count\nno,-3\n", "", "not a whole number"),
        ("label,count\nno\n", "", "not a value and a count"),
        ("label,count\n", "", "from 1 to 1e15 users"),
        ("label,count\nno,3\n", "--trials 0", "at least 1"),
    ],
)
def test_bad_simulations(home: Path, text: str, options: str, why: str) -> None:
    (home / "truth.csv").write_text(text)
    done = run(f"simulate poll.json --truth truth.csv {options}", cwd=home)
    assert_refused(done, why)


def test_shares_are_printed_beside_the_counts_so_that_nobody_asks_twice(home: Path) -> None:
    done = run("run poll.json people.csv --column answer", cwd=home)
    counts = {line.split()[0]: float(line.split()[1].replace(",", "")) for line in done.stdout.splitlines()[1:4]}
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("shares of users: ")]
    assert line == f"shares of users: {'; '.join(f'{name} {count / 20:.1f} %' for name, count in counts.items())}"
    listed = run("run poll.json people.csv --column answer --frequencies", cwd=home)
    assert "share of users" in listed.stdout
    assert "shares of users:" not in listed.stdout
    assert "shares of users" not in run("run income.json people.csv --column income", cwd=home).stdout


def test_a_plan_and_data_that_are_swapped_and_a_column_without_its_option_are_named(home: Path) -> None:
    assert_refused(run("run people.csv poll.json", cwd=home), "the plan and the data are swapped. Give the plan first.")
    assert_refused(run("run poll.json people.csv answer", cwd=home), "A column is named by --column.")
