"""Rounds, honest fractions, compose and curve on the command line."""

import csv
import io
import json
import re
from pathlib import Path

import pytest

from oracles.process import assert_refused
from oracles.process import called as run
from shuffledp import Collection, InvalidInput, Plan, RandomizedResponse, compose
from shuffledp.accounting.account import bound_named
from shuffledp.cli import cli
from shuffledp.core.digits import rounded_up

RR = "account --randomizer rr --size 10 --epsilon0 2 --n 1e4 --delta 1e-6"


def value(command: str, cwd: Path | None = None) -> float:
    done = run(f"{command} --json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return float(json.loads(done.stdout)["results"][0]["value"])


def test_rounds_cost_more_and_less_than_their_sum() -> None:
    one, ten = value(RR), value(f"{RR} --rounds 10")
    assert one < ten < 10 * one
    lower = json.loads(run(f"{RR} --rounds 10 --json").stdout)["results"][0]["lower"]
    assert 0.99 * ten < lower < ten
    delta = value(f"account --randomizer rr --size 10 --epsilon0 2 --n 1e4 --epsilon {ten!r} --rounds 10")
    assert delta == pytest.approx(1e-6, rel=0.05)


def test_honest_fraction_is_fewer_users() -> None:
    assert value(f"{RR} --honest-fraction 0.9") == value(RR.replace("1e4", "9000"))
    assert value(f"{RR} --honest-fraction 0.7") == value(RR.replace("1e4", "7000"))
    needed = "account --randomizer rr --size 10 --epsilon0 2 --epsilon 0.1 --delta 1e-6"
    all_, nine_tenths = value(needed), value(f"{needed} --honest-fraction 0.9")
    assert nine_tenths * 0.9 >= all_ > (nine_tenths - 1) * 0.9 - 1


def test_compose_files(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(run(f"{RR} --rounds 3 --json").stdout)
    (tmp_path / "b.json").write_text(
        run("account --randomizer laplace --epsilon0 1 --n 1e4 --delta 1e-6 --json").stdout
    )
    solved = (
        "account --randomizer rr --size 4 --n 1e4 --epsilon 0.1 --delta 1e-6 --json"  # epsilon0 comes from the result
    )
    (tmp_path / "c.json").write_text(run(solved).stdout)
    total = value("compose a.json b.json --delta 1e-6", tmp_path)
    assert total > value(f"{RR} --rounds 3")
    assert value("compose a.json b.json c.json", tmp_path) > total
    assert value("compose a.json --delta 1e-6", tmp_path) == pytest.approx(value(f"{RR} --rounds 3"), rel=1e-6)
    assert value(f"compose a.json b.json --epsilon {total!r}", tmp_path) == pytest.approx(1e-6, rel=0.05)
    assert "4 rounds in 2 collections" in run("compose a.json b.json", cwd=tmp_path).stdout


def test_an_account_composes_with_its_rounds_and_its_honest_share_only(tmp_path: Path) -> None:
    """As the accountant says, told of them by itself: also beside others, and whichever file comes first."""
    asked = {
        "rounds": (f"{RR} --rounds 3", 10_000, 3),
        "liars": (f"{RR} --honest-fraction 0.3", 3000, 1),
        "both": (f"{RR} --honest-fraction 0.3 --rounds 3", 3000, 3),
    }
    randomizer, best = RandomizedResponse(size=10, epsilon0=2.0), bound_named("best")
    parts = {
        name: Collection(blanket=randomizer.blanket(), n=n, rounds=rounds, bound=best)
        for name, (_, n, rounds) in asked.items()
    }
    for name, (line, *_) in asked.items():
        (tmp_path / name).write_text(run(f"{line} --json").stdout)
        expected = compose([parts[name]]).epsilon(1e-6)
        assert value(f"compose {name} --delta 1e-6", tmp_path) == pytest.approx(expected, rel=1e-9)
        assert value(f"compose {name}", tmp_path) == pytest.approx(expected, rel=1e-9)
    for names in (("rounds", "liars"), ("liars", "rounds"), ("both", "liars", "rounds")):
        together = compose([parts[name] for name in names])
        assert value(f"compose {' '.join(names)}", tmp_path) == pytest.approx(together.epsilon(1e-6), rel=1e-9)
        delta = value(f"compose {' '.join(names)} --epsilon 0.3", tmp_path)
        assert delta == pytest.approx(together.delta(0.3), rel=1e-9)


def test_a_plan_for_rounds_composes_as_often_as_a_person_takes_part(tmp_path: Path) -> None:
    line = "plan histogram --size 4 --n 20000 --epsilon 1 --delta 1e-6 --honest-fraction 0.5 --rounds 6"
    assert run(f"{line} --rounds-per-person 3 -o rounds.json", cwd=tmp_path).returncode == 0
    made = Plan.from_document(json.loads((tmp_path / "rounds.json").read_text()))
    assert (made.min_batch, made.guarantee.n) == (10_000, 5000)
    blanket = made.protocol.randomizer.blanket()
    one = Collection(blanket=blanket, n=5000, rounds=3, bound=bound_named("best"))
    assert value("compose rounds.json", tmp_path) == pytest.approx(compose([one]).epsilon(1e-6), rel=1e-9)
    twice = value("compose rounds.json rounds.json", tmp_path)
    assert twice == pytest.approx(compose([one, one]).epsilon(1e-6), rel=1e-6)
    assert "6 rounds in 2 collections" in run("compose rounds.json rounds.json", cwd=tmp_path).stdout


@pytest.mark.parametrize("order", ["a.json b.json", "b.json a.json"])
def test_without_a_delta_the_largest_of_the_files_is_meant(tmp_path: Path, order: str) -> None:
    (tmp_path / "a.json").write_text(run(f"{RR.replace('1e-6', '1e-4')} --json").stdout)
    (tmp_path / "b.json").write_text(run(f"{RR.replace('1e-6', '1e-8')} --json").stdout)
    assert value(f"compose {order}", tmp_path) == value(f"compose {order} --delta 1e-4", tmp_path)
    assert "delta = 0.0001: epsilon" in run(f"compose {order}", cwd=tmp_path).stdout


def test_plans_and_answers_compose_like_their_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "people.csv").write_text("\n".join(["answer", *["no", "yes"] * 800]) + "\n")
    assert (
        run("plan histogram --labels no,yes --n 1500 --epsilon 1 --delta 1e-6 -o plan.json", cwd=tmp_path).returncode
        == 0
    )
    assert run("run plan.json people.csv --column answer -o answer.json", cwd=tmp_path).returncode == 0
    total = value("compose plan.json answer.json", tmp_path)
    assert total == value("compose plan.json plan.json", tmp_path)
    assert 1 < total < 1.6  # by adding up it would be 2
    again = run("run plan.json people.csv --column answer", cwd=tmp_path)
    assert f"({rounded_up(total)}, 1e-6)-differentially private by composition" in again.stderr
    (tmp_path / "account.json").write_text(run(f"{RR} --json").stdout)
    assert value("compose account.json answer.json", tmp_path) > 1


def test_what_cannot_be_composed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    rows = "".join(f"u{j // 2},no\n" for j in range(3200))
    (tmp_path / "people.csv").write_text(f"user,answer\n{rows}")
    assert (
        run("plan histogram --labels no,yes --n 1500 --epsilon 1 --delta 1e-6 -o plan.json", cwd=tmp_path).returncode
        == 0
    )
    line = "run plan.json people.csv --column answer --user user --max-rows-per-user 2 -o answer.json"
    assert run(line, cwd=tmp_path).returncode == 0
    done = run("compose answer.json", cwd=tmp_path)
    assert_refused(done, "several rows of a person")
    for content in ("[]", "{}", '{"spend": {}}', '{"spend": 3}', '{"protocol": 1}', '{"spend": {"n": 1, "m": 2}}'):
        (tmp_path / "bad.json").write_text(content)
        done = run("compose bad.json --delta 1e-6", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, ""), content


def test_tiny_deltas_and_a_million_rounds_are_answered() -> None:
    assert value(f"{RR.replace('1e-6', '1e-40')} --rounds 2") > value(f"{RR} --rounds 2")
    assert value(f"{RR.replace('1e4', '1e10')} --rounds 1e6") < 10


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (f"{RR} --rounds 0", "rounds must be"),
        (f"{RR} --rounds 2,3", "not a single number"),
        (f"{RR} --honest-fraction 0", "--honest-fraction must be"),
        (f"{RR} --honest-fraction 1.5", "--honest-fraction must be"),
        (f"{RR} --honest-fraction 0.00001", "no honest user is left"),
        (
            "account --randomizer rr --size 3 --n 10 --epsilon 0.1 --delta 0.1 --rounds 2",
            "several rounds can be solved for epsilon or delta only",
        ),
        ("compose missing.json", "does not exist"),
        ("compose --delta 1e-6,1e-5 .", "not a single number"),
        ("curve --randomizer rr --size 3 --n 100", "parameter is missing"),
        ("curve --randomizer rr --size 3 --epsilon0 1 --n 100 --points 1", "points must be"),
        ("curve --randomizer rr --size 3 --epsilon0 1,2 --n 100", "not a single number"),
        ("curve --randomizer rr --size 3 --epsilon0 1 --n 1e3,1e4", "not a single number"),
        ("curve --randomizer rr --size 3 --epsilon0 1 --n 100 --points 3 --plot x.gif", ".png, .svg or .pdf"),
    ],
)
def test_bad_input(command: str, why: str, tmp_path: Path) -> None:
    done = run(command, cwd=tmp_path)
    assert_refused(done, why)


GOOD = {"randomizer": "rr", "size": 3, "epsilon0": 1.0, "n": 1000}


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ({}, "x.json is neither a plan"),
        ("nonsense", "x.json is neither a plan"),
        ({"inputs": {"n": 10}}, "x.json does not say which randomizer"),
        ({"inputs": {"randomizer": "rr", "n": [1, 2]}}, "x.json is a sweep"),
        ({"inputs": GOOD | {"randomizer": "magic"}}, "there is no randomizer 'magic'"),
        ({"inputs": GOOD | {"n": "many"}}, "n must be a whole number"),
        ({"inputs": GOOD | {"size": 2.5}}, "size must be"),
        ({"inputs": GOOD | {"epsilon0": "1"}}, "epsilon0 must be a number"),
        ({"inputs": {"randomizer": "plane", "prime": 2.5, "gamma": 0.5, "n": 10}}, "prime must be a whole number"),
        ({"inputs": {"randomizer": "plane", "prime": 5, "gamma": 7.0, "n": 10}}, "gamma must be"),
        ({"inputs": {"randomizer": "plane", "prime": 5, "epsilon0": True, "n": 10}}, "epsilon0 must be a number"),
        ({"inputs": GOOD | {"rounds": "2"}}, "rounds must be"),
        ({"inputs": GOOD | {"honest_fraction": [0.5]}}, "`honest_fraction` must be"),
        ({"inputs": GOOD | {"matrix": 5}}, "x.json does not say which randomizer"),
        ({"inputs": GOOD, "results": [{"bound": ["best"]}]}, "x.json does not say which randomizer"),
        ({"inputs": GOOD, "results": [{"bound": "magic"}]}, "there is no bound 'magic'"),
        (
            {"inputs": {"randomizer": "rr", "size": 3, "n": 10}, "solved_for": "epsilon0", "results": 7},
            "parameter open",
        ),
    ],
)
def test_compose_refuses_other_files(tmp_path: Path, document: object, why: str) -> None:
    """In one process: only how files are read is new here."""
    (tmp_path / "x.json").write_text(json.dumps(document))
    with pytest.raises(InvalidInput, match=re.escape(why)):
        cli(["compose", str(tmp_path / "x.json"), "--delta", "1e-6"], standalone_mode=False)


def test_compose_needs_a_delta_that_some_file_says(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps({"inputs": GOOD | {"delta": "small"}}))
    done = run("compose x.json", cwd=tmp_path)
    assert_refused(done, "Add --delta")


def test_curve(tmp_path: Path) -> None:
    command = (
        "curve --randomizer rr --size 10 --epsilon0 2 --n 1e4 --points 9 --bound best --bound bennett --plot curve.png"
    )
    done = run(command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = [row for row in csv.DictReader(io.StringIO(done.stdout)) if row["bound"] == "best"]
    uppers = [float(row["upper"]) for row in rows]
    assert len(rows) == 9
    assert uppers == sorted(uppers, reverse=True)
    assert all(float(row["lower"]) <= float(row["upper"]) for row in rows)
    assert (tmp_path / "curve.png").read_bytes()[:4] == b"\x89PNG"
    document = json.loads(run(command.replace(" --plot curve.png", " --json"), cwd=tmp_path).stdout)
    assert {row["bound"] for row in document["curve"]} == {"best", "bennett"}


@pytest.mark.parametrize("shape", ["plane --prime 11", "hadamard --size 100", "local-hashing --size 100 --range 11"])
def test_designs_do_all_that_other_randomizers_do(shape: str, tmp_path: Path) -> None:
    """Rounds, honest fraction, composition, curve; and gamma comes out again from the epsilon that it gives."""
    one = f"account --randomizer {shape} --gamma 0.1 --n 1e4 --delta 1e-6"
    epsilon, two = value(one), value(f"{one} --rounds 2")
    assert epsilon < two < 2 * epsilon
    assert value(f"{one} --honest-fraction 0.5") == value(one.replace("1e4", "5000")) > epsilon
    gamma = value(f"account --randomizer {shape} --n 1e4 --delta 1e-6 --epsilon {epsilon!r} --solve-for gamma")
    assert gamma == pytest.approx(0.1, rel=1e-5)
    (tmp_path / "one.json").write_text(run(f"{one} --json").stdout)
    assert value("compose one.json one.json", tmp_path) == pytest.approx(two, rel=1e-6)
    done = run(f"curve --randomizer {shape} --gamma 0.1 --n 1e4 --points 3")
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert all(float(row["lower"]) <= float(row["upper"]) for row in rows)
