# ruff: noqa: RUF001 - a name that looks like another
"""Nothing that a document, a file, its name or a server says steers the terminal it is shown on, or forges a line of ours."""

import csv
import json
import logging
import re
from contextlib import closing
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from oracles.hostile import HostileShuffler
from oracles.mutation import places, replaced
from oracles.parties import EIGHT, SHUFFLER, prepared
from oracles.process import called
from shuffledp import InvalidInput, plan
from shuffledp.cli.output import OneLine
from shuffledp.core.canonical import digest
from shuffledp.planning.plan import Plan
from shuffledp.service.task import Task

FORGED = "epsilon = 0.01 at delta = 1e-12"
EVIL = f"yes\n{FORGED}\x1b[2J\r\x9b1m\u2028\u202eon\u2066"
LABELS = ["no", EVIL, "maybe"]
TERMS = "--window 60 --max-age 600 --shuffler Alpha --analyzer Beta --honest-fraction 1"


def written(path: Path, document: Any) -> str:
    path.write_text(json.dumps(document))
    return path.name


def sealed(task: Any) -> Any:
    """A task whose plan has the hash of what is in it."""
    body = {name: value for name, value in task["plan"].items() if name != "sha256"}
    return task | {"plan": body | {"sha256": digest(body)}}


def table(path: Path, rows: list[list[Any]]) -> str:
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
    return path.name


def shown(folder: Path, *words: object, code: int = 0) -> str:
    """What a command shows, which must be safe."""
    done = called([str(word) for word in words], cwd=folder, environment={"XDG_STATE_HOME": str(folder / "state")})
    assert done.returncode == code, done.stderr
    for text in (done.stdout, done.stderr):
        for line in text.split("\n"):
            assert line.isprintable(), line.encode("unicode_escape")
            assert not line.startswith(FORGED)
    return done.stdout + done.stderr


@pytest.fixture
def asked() -> Plan:
    return plan("histogram", n=60, epsilon=2.0, delta=1e-2, labels=LABELS)


def test_labels_and_columns_with_control_characters_are_kept_and_shown_as_escapes(tmp_path: Path, asked: Plan) -> None:
    written(tmp_path / "plan.json", asked.document())
    rows = [[LABELS[j % 3]] for j in range(90)]
    data = table(tmp_path / "data.csv", [[EVIL], *rows])
    truth = table(tmp_path / "truth.csv", [[label, 20] for label in LABELS])
    escaped = rf"yes\n{FORGED}\x1b[2J\r\x9b1m\u2028\u202eon\u2066"
    read = ("--column", EVIL, "--multiline")
    out = ("--out", "result.json", "--report", "page.html")
    assert escaped in shown(tmp_path, "run", "plan.json", data, *read, *out)
    assert f"'{escaped}" in shown(tmp_path, "run", "plan.json", data, *read, "--other", f"{EVIL}x", code=2)
    shown(tmp_path, "run", "plan.json", data, "--query", f'"{EVIL}" x', "--multiline", code=2)
    shown(tmp_path, "simulate", "plan.json", "--truth", truth, "--trials", 3, "--seed", 1)
    shown(tmp_path, "export", "plan.json", data, *read, "-o", "table.parquet")
    assert escaped in shown(tmp_path, "analyzer", "read", "table.parquet")
    assert "confirmed" in shown(tmp_path, "verify", "plan.json", "result.json")
    page = (tmp_path / "page.html").read_text()
    assert page.replace("\n", "").isprintable()
    assert FORGED in page


@pytest.mark.parametrize("question", ["mean", "histogram"])
def test_groups_with_control_characters_are_kept_and_shown_as_escapes(tmp_path: Path, question: str) -> None:
    values: dict[str, Any] = {"low": 0.0, "high": 9.0} if question == "mean" else {"labels": LABELS}
    written(
        tmp_path / "plan.json",
        plan(question, n=2000, epsilon=8.0, delta=1e-4, by={EVIL: ["a", EVIL]}, **values).document(),
    )
    held = list(range(10)) if question == "mean" else LABELS
    rows = [[["a", EVIL][j % 2], held[j % len(held)]] for j in range(2000)]
    data = table(tmp_path / "data.csv", [[EVIL, "value"], *rows])
    other = table(tmp_path / "other.csv", [["x", "value"], ["a", 1]])
    read = ("--column", "value", "--multiline")
    assert r"\x1b[2J" in shown(tmp_path, "run", "plan.json", data, *read)
    assert r"\x1b[2J" in shown(tmp_path, "run", "plan.json", other, *read, code=2)


def test_names_of_files_are_shown_as_escapes(tmp_path: Path, asked: Plan) -> None:
    name = written(tmp_path / EVIL.replace("/", "-"), asked.document())
    (tmp_path / f"{EVIL}.db").write_text("no store")
    (tmp_path / f"{EVIL}.broken").write_text("{")
    assert r"\x1b[2J" in shown(tmp_path, "verify", name)
    for words in (
        ("verify", f"{EVIL}.nowhere"),
        ("verify", f"{EVIL}.broken"),
        ("run", f"{EVIL}.broken", "data.csv"),
        ("run", name, f"{EVIL}.csv", "--column", "x"),
        ("compose", name, f"{EVIL}.broken", "--delta", "0.1"),
        ("ledger", "show", f"{EVIL}.nowhere"),
        ("shuffler", "status", f"{EVIL}.db"),
        ("shuffler", "serve", name, "--config", f"{EVIL}.broken"),
        ("plan", "histogram", "--labels", "a,b", "--n", "9", "--delta", "0.1", "-o", f"{EVIL}/plan.json"),
    ):
        shown(tmp_path, *words, code=2)


def test_texts_that_people_sent_are_shown_as_escapes(tmp_path: Path) -> None:
    """Of a plan that finds its texts by itself."""
    written(tmp_path / "plan.json", plan("heavy-hitters", n=3000, epsilon=8.0, delta=1e-4, max_length=6).document())
    data = table(tmp_path / "data.csv", [["text"], *[["\x1bc\u202e"]] * 3000])
    assert r"\x1bc\u202e" in shown(tmp_path, "run", "plan.json", data, "--column", "text")


@pytest.mark.parametrize("role", ["--shuffler", "--analyzer"])
@pytest.mark.parametrize(
    "name",
    [
        EVIL, f"Beta\n{FORGED}", "Beta\x1b[2K", "Beta\r", "Beta\x9b", "Beta\u202e", "Be\u2066ta", "Be\u200bta", "Be\xadta",
        "\u3164", "\u200d",
    ],
)  # fmt: skip
def test_a50_no_task_is_made_with_a_name_that_is_not_one_line_of_printable_characters(
    tmp_path: Path, asked: Plan, role: str, name: str
) -> None:
    written(tmp_path / "plan.json", asked.document())
    other = "--analyzer" if role == "--shuffler" else "--shuffler"
    terms = ("--window", 60, "--max-age", 600, "--honest-fraction", 1, "-o", "task.json", other, "Gamma", role, name)
    refusal = shown(tmp_path, "task", "new", "plan.json", *terms, code=2)
    assert f"{role[2:]} " in refusal
    assert not (tmp_path / "task.json").exists()


def test_a_task_with_such_a_name_is_not_read(tmp_path: Path) -> None:
    """Whoever made it; its id is right."""
    for name in (f"Beta\n{FORGED}", "Beta\x1b[8m", "Beta\u202e"):
        for change in ({"analyzer": name}, {"shufflers": [name]}):
            task = written(tmp_path / "task.json", EIGHT.document() | change)
            assert "control characters" in shown(tmp_path, "task", "show", task, code=2)


def test_a50_whatever_text_of_a_task_is_replaced_it_is_refused_or_shown_safely(tmp_path: Path) -> None:
    """Every text of tasks with groups, several questions and words for people, resealed."""
    worded = plan("histogram", n=60, epsilon=2.0, delta=1e-2, labels=["a", "b"], by={"sex": ["f", "m"]})
    terms: dict[str, Any] = {
        "window": 60, "max_age": 600, "shufflers": ("Alpha", "Gamma"), "analyzer": "Beta", "honest_fraction": 1.0
    }  # fmt: skip
    wording = {"wording": {"title": "Commuting", "question": "How long?", "unit": "minutes"}}
    read = refused = 0
    for task in (Task(plan=worded, **terms), EIGHT):
        document = task.document()
        document = sealed(document | {"plan": document["plan"] | wording})
        Task.from_document(deepcopy(document))
        for place in places(document):
            value: Any = document
            for step in place:
                value = value[step]
            if not isinstance(value, str):
                continue
            changed = replaced(document, place, value + EVIL)
            file = written(tmp_path / "task.json", changed if place[-1] == "sha256" else sealed(changed))
            try:
                Task.from_document(json.loads((tmp_path / file).read_text()))
                read += 1
                code = 0
            except InvalidInput:
                refused += 1
                code = 2
            shown(tmp_path, "task", "show", file, code=code)
            shown(tmp_path, "verify", file, code=0 if code == 0 else 3)
    assert read >= 10  # labels
    assert refused >= 20


def test_what_a_shuffler_says_is_shown_as_escapes(tmp_path: Path) -> None:
    folder = prepared(tmp_path, EIGHT, SHUFFLER)
    (folder / "token").write_text("t" * 20)
    (folder / "token").chmod(0o600)
    (folder / "value").write_text("a")
    with closing(HostileShuffler()) as shuffler:
        at = f"{shuffler.url}/refusal-with-escapes"
        for words in (
            f"client submit task.json --url {at} --analyzer-keys analyzer.pub.json --state state --value-file value",
            f"analyzer run task.json --url {at} --token token --keys analyzer.key",
            f"shuffler close task.json --url {at} --token token",
            f"shuffler forward task.json --from {at} --token token --to {at} --to-token token",
        ):
            assert r"no\x1b[2J\r\nepsilon = 0.01\u202e" in shown(folder, *words.split(), code=2)


def test_a_log_has_a_line_for_each_event() -> None:
    record = logging.LogRecord("shuffledp.shuffler", logging.ERROR, "", 0, "refused %s", (EVIL,), None)
    line = OneLine("%(levelname)s %(message)s").format(record)
    assert line.isprintable()
    assert line.startswith(r"ERROR refused yes\nepsilon")


def test_names_that_could_be_taken_for_others_are_pointed_out(tmp_path: Path, asked: Plan) -> None:
    written(tmp_path / "plan.json", asked.document())
    made = ["--window", "60", "--max-age", "600", "--honest-fraction", "1", "-o", "task.json"]
    new = shown(tmp_path, "task", "new", "plan.json", *made, "--shuffler", "Вeta", "--analyzer", "Beta")
    again = shown(tmp_path, "task", "show", "task.json")
    for words in (new, again):
        assert re.search(r"Вeta and Beta look alike and are written '\\u0412eta' and 'Beta'", words)
        assert "mixes alphabets within a word" in words
    assert "alike" not in shown(tmp_path, "task", "new", "plan.json", *TERMS.split(), "-o", "task.json")
