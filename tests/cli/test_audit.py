"""`shuffledp audit` on the command line."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from oracles import blackbox
from oracles.parties import SHUFFLER, prepared
from oracles.process import assert_refused, called
from oracles.server import running
from shuffledp import plan
from shuffledp.baselines.rappor import Rappor
from shuffledp.service.task import Task

RR = "audit --randomizer rr --size 3 --epsilon0 2 --n 30 --delta 1e-2 --trials 10000 --seed 1"


def test_words_json_picture_and_page(tmp_path: Path) -> None:
    done = called(f"{RR} --plot audit.svg --report audit.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("consistent: ")
    assert "<svg" in (tmp_path / "audit.svg").read_text()
    page = (tmp_path / "audit.html").read_text()
    assert "consistent" in page
    assert "http" not in page.split("<main>")[1].replace("http-equiv", "")
    found = json.loads(called(f"{RR} --json", cwd=tmp_path).stdout)
    assert found["verdict"] == "consistent"
    assert found["epsilon"] <= found["claimed"]["epsilon"]


def test_a_violation_has_an_exit_code(tmp_path: Path) -> None:
    done = called(f"{RR} --known 29", cwd=tmp_path)
    assert done.returncode == 4
    assert done.stdout.splitlines()[-1].startswith("violated: ")


def test_a_program_and_a_protocol(tmp_path: Path) -> None:
    wrong = f'audit --command "{sys.executable} {blackbox.__file__} 1 wrong" --epsilon 1 --trials 20000'
    assert called(wrong, cwd=tmp_path).returncode == 4
    (tmp_path / "rappor.json").write_text(json.dumps(Rappor.examples()[0].document()))
    done = called("audit --protocol rappor.json --view local --trials 5000 --seed 1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "a better one might show more" in done.stdout


@pytest.mark.parametrize(
    "kind",
    [
        "plane --prime 3 --gamma 0.2",
        "hadamard --size 4 --epsilon0 1",
        "local-hashing --size 5 --range 3 --gamma 0.2",
        "channel --matrix matrix.txt",
    ],
)
def test_every_randomizer_that_runs(tmp_path: Path, kind: str) -> None:
    (tmp_path / "matrix.txt").write_text("0.7 0.3\n0.4 0.6\n")
    done = called(f"audit --randomizer {kind} --view local --trials 2000 --seed 1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


ADDRESS = "--url http://127.0.0.1:1 --operator-token t --analyzer-token t --keys k"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("audit", "one thing"),
        ("audit plan.json --randomizer rr", "one thing"),
        ("audit --randomizer rr --size 3 --trials 100 --view local", "needs its parameter"),
        ("audit --randomizer channel --trials 100 --view local", "--matrix"),
        ("audit --randomizer dummies --size 3 --dummies 2 --trials 100 --view local", "no local guarantee"),
        ("audit --command cat --trials 100", "--epsilon"),
        ("audit --command cat --epsilon 1 --seed 1 --trials 100", "coins of its own"),
        (f"{RR} --enough 2", "from 0 to 1"),
        ("audit --randomizer rr --size 3 --epsilon0 1 --n 1e9 --delta 1e-6 --trials 100", "too many to sample"),
        ("audit --protocol none.json --trials 100", "none.json"),
        (f"{RR} --service", "carries out a plan"),
        (f"{RR} --report audit.txt", "audit.txt"),
        (f"{RR} --plot nowhere/audit.png", "no folder"),
        ("audit --command cat --epsilon 1 --size 3 --trials 100", "options of a randomizer"),
        ("audit --randomizer rr --size 3 --epsilon0 1 --trials 100 --n 20", "n and delta"),
        ("audit --task task.json", "users, operator and analyzer at once"),
        (f"{RR} --url http://127.0.0.1:1", "Add --task"),
        (f"audit --task task.json plan.json {ADDRESS}", "one thing"),
        (f"audit --task task.json {ADDRESS}", "cannot read the token"),
        ("audit plan.json --service --trials 40 --seed 1", "system's coins"),
        ("audit plan.json --service --trials 40 --n 30", "its plan's own guarantee"),
    ],
)
def test_bad_input_is_refused_in_a_line(tmp_path: Path, line: str, message: str) -> None:
    done = called(line, cwd=tmp_path)
    assert_refused(done, message)
    assert not list(tmp_path.iterdir())


def test_a_shuffler_that_runs_at_an_address(tmp_path: Path) -> None:
    few = plan("histogram", n=20, epsilon=0.3, delta=0.1, size=2)
    terms: dict[str, Any] = {"window": 3600, "max_age": 7200, "honest_fraction": 1.0, "allow_same_operator": True}
    folder = prepared(tmp_path, Task(plan=few, shufflers=("Audit",), analyzer="Audit", **terms), SHUFFLER)
    tokens = "--operator-token operator.token --analyzer-token analyzer.token --keys analyzer.key"
    with running(folder) as server:
        done = called(f"audit --task task.json --url {server.url} {tokens} --trials 20 --json", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["verdict"] == "under-powered"
    assert found["trials"] == 20
    assert found["n"] == 20
