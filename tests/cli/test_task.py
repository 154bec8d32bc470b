"""`shuffledp keygen` and `shuffledp task` as operators meet them."""

import hashlib
import json
import re
import stat
from pathlib import Path

import pytest

from oracles.process import assert_refused
from oracles.process import called as run

PLAN = "plan histogram --size 4 --n 1000 --epsilon 1 --delta 1e-6 -o plan.json"
TASK = "task new plan.json --window 60 --max-age 3600 --shuffler Alpha --analyzer Beta --honest-fraction 1 -o task.json"


def test_tasks(tmp_path: Path) -> None:
    assert run(PLAN, cwd=tmp_path).returncode == 0
    made = run(TASK, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert run("keygen analyzer -o analyzer.key", cwd=tmp_path).returncode == 0
    assert (
        json.loads((tmp_path / "task.json").read_text())["release_margin"] == 10
    )  # one garbage report spoils no batch
    shown = run("task show task.json --keys analyzer.pub.json", cwd=tmp_path)
    assert re.search(r"^analyzer key 0 ACTIVE [0-9a-f]{64}$", shown.stdout, re.MULTILINE)
    assert "at least 1,000 of any 1,000 reports (100 %)" in shown.stdout
    assert made.stdout.splitlines()[0] == shown.stdout.splitlines()[0]
    assert "Alpha runs the shuffler and Beta the analyzer" in shown.stdout
    document = json.loads((tmp_path / "task.json").read_text())
    document["plan"]["min_batch"] = 5
    (tmp_path / "task.json").write_text(json.dumps(document))
    edited = run("task show task.json", cwd=tmp_path)
    assert_refused(edited, "edited")
    same = run(TASK.replace("Beta", "alpha"), cwd=tmp_path)
    assert_refused(same, "same operator")
    assert run(TASK.replace("Beta", "alpha") + " --allow-same-operator", cwd=tmp_path).returncode == 0
    more = run(TASK.replace("fraction 1", "fraction 0.9"), cwd=tmp_path)
    assert_refused(more, "relies on 1,000 honest reports of 1,000, more than an honest fraction of 0.9 gives (900)")


@pytest.mark.parametrize("option", ["--shuffler Alpha", "--analyzer Beta", "--honest-fraction 1"])
def test_nothing_is_assumed_about_who_runs_what_and_who_is_honest(tmp_path: Path, option: str) -> None:
    assert run(PLAN, cwd=tmp_path).returncode == 0
    done = run(TASK.replace(option, ""), cwd=tmp_path)
    assert_refused(done, f"Missing option '{option.split()[0]}'")


def test_keys(tmp_path: Path) -> None:
    done = run("keygen shuffler -o shuffler.key", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert stat.S_IMODE((tmp_path / "shuffler.key").stat().st_mode) == 0o600
    public = json.loads((tmp_path / "shuffler.pub.json").read_text())
    assert public == json.loads(done.stdout)
    secret = json.loads((tmp_path / "shuffler.key").read_text())["keys"][0]["private"]
    assert secret not in done.stdout
    printed = re.fullmatch(r"shuffler key 0 ACTIVE ([0-9a-f]{64})\n(wrote .*)\n", done.stderr)
    assert printed is not None
    assert printed[2] == "wrote shuffler.key, which stays with you, and shuffler.pub.json, which is for everybody"
    canonical = f'{{"key_id":0,"public":"{public["keys"][0]["public"]}","role":"shuffler"}}'
    assert printed.group(1) == hashlib.sha256(canonical.encode()).hexdigest()
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
        (
            "keygen shuffler -o nowhere.key --rotate",
            "cannot read nowhere.key: No such file or directory. Make one with shuffledp keygen.",
        ),
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
    assert_refused(done, why)
    assert (tmp_path / "shuffler.key").read_bytes() == before
