"""`shuffledp keygen` and `shuffledp task` as operators meet them."""

import json
import stat
from pathlib import Path

import pytest

from oracles.process import run

PLAN = "plan histogram --size 4 --n 1000 --epsilon 1 --delta 1e-6 -o plan.json"
TASK = "task new plan.json --window 60 --max-age 3600 --shuffler Alpha --analyzer Beta --honest-fraction 1 -o task.json"


def test_tasks(tmp_path: Path) -> None:
    assert run(PLAN, cwd=tmp_path).returncode == 0
    made = run(TASK, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    shown = run("task show task.json", cwd=tmp_path)
    assert made.stdout.splitlines()[0] == shown.stdout.splitlines()[0]
    assert "Alpha runs the shuffler and Beta the analyzer" in shown.stdout
    document = json.loads((tmp_path / "task.json").read_text())
    document["plan"]["min_batch"] = 5
    (tmp_path / "task.json").write_text(json.dumps(document))
    edited = run("task show task.json", cwd=tmp_path)
    assert (edited.returncode, edited.stdout) == (2, "")
    assert "edited" in edited.stderr
    same = run(TASK.replace("Beta", "alpha"), cwd=tmp_path)
    assert (same.returncode, same.stdout) == (2, "")
    assert "same operator" in same.stderr
    assert run(TASK.replace("Beta", "alpha") + " --allow-same-operator", cwd=tmp_path).returncode == 0


def test_keys(tmp_path: Path) -> None:
    done = run("keygen shuffler -o shuffler.key", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert stat.S_IMODE((tmp_path / "shuffler.key").stat().st_mode) == 0o600
    public = json.loads((tmp_path / "shuffler.pub.json").read_text())
    assert public == json.loads(done.stdout)
    secret = json.loads((tmp_path / "shuffler.key").read_text())["keys"][0]["private"]
    assert secret not in done.stdout
    for option, states in (
        ("--introduce", ["ACTIVE", "PENDING"]),
        ("--rotate", ["EXPIRED", "ACTIVE"]),
        ("--destroy 0", ["ACTIVE"]),
    ):
        done = run(f"keygen shuffler -o shuffler.key {option}", cwd=tmp_path)
        assert [key["state"] for key in json.loads(done.stdout)["keys"]] == states


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("keygen shuffler -o shuffler.key", "exists"),
        ("keygen analyzer -o shuffler.key --rotate", "keys of the shuffler"),
        ("keygen shuffler -o nowhere.key --rotate", "cannot read the keys"),
        ("keygen shuffler -o shuffler.key --rotate --introduce", "one at a time"),
        ("keygen shuffler -o shuffler.key --destroy 0", "not an expired key"),
        ("keygen pirate -o pirate.key", "pirate"),
        (
            "task new shuffler.key --window 60 --max-age 60 --shuffler Alpha --analyzer Beta --honest-fraction 1 -o t.json",
            "not a plan",
        ),
        ("task show shuffler.key", "not a task"),
    ],
)
def test_bad_input(tmp_path: Path, line: str, why: str) -> None:
    assert run("keygen shuffler -o shuffler.key", cwd=tmp_path).returncode == 0
    before = (tmp_path / "shuffler.key").read_bytes()
    done = run(line, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert why in done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "shuffler.key").read_bytes() == before
