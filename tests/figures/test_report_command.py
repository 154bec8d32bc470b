"""`run --report` and `analyzer run --report`: what is printed is on the page, and nothing is spent on a report that cannot be."""

import hashlib
import http.server
import json
import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from oracles.page import Page, assert_the_table_has, number
from oracles.parties import PARTIES
from oracles.process import assert_refused
from oracles.process import called as run
from oracles.process import run as started
from shuffledp import plan
from shuffledp.figures.result_page import page
from shuffledp.figures.result_picture import picture
from shuffledp.service.sealing.hpke import seal
from shuffledp.service.sealing.keys import KeyRing
from shuffledp.service.task import Task
from shuffledp.service.wire.record import encode_message

TASK = Task(
    plan=plan("histogram", n=100, epsilon=2.0, delta=1e-3, labels=["<no>", "yes"]), window=60, max_age=60, **PARTIES
)


class Asked:
    """A shuffler with one batch, and what it was asked for."""

    def __init__(self, batch: bytes) -> None:
        asked = self.paths = list[str]()
        released = self.released = {
            "batch": 1,
            "task": TASK.id,
            "state": "RELEASED",
            "reports": len(batch) // 71,
            "sha256": hashlib.sha256(batch).hexdigest(),
        }

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                body = batch if self.path == "/v2/batches/1" else json.dumps({"batches": [released]}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def shuffler(tmp_path: Path) -> Iterator[Asked]:
    ring = KeyRing.fresh("analyzer")
    ring.save(tmp_path / "analyzer.key")
    (tmp_path / "task.json").write_text(json.dumps(TASK.document()))
    (tmp_path / "analyzer.token").touch(mode=0o600)
    (tmp_path / "analyzer.token").write_text("t" * 32)
    asked = Asked(b"".join(seal(encode_message(j % 2), ring.public().active, "analyzer", TASK.id) for j in range(120)))
    yield asked
    asked.server.shutdown()
    asked.server.server_close()


BUDGET = "--ledger ledger.jsonl --budget-epsilon 3 --budget-delta 1e-3"


def line(shuffler: Asked, budget: str = BUDGET) -> str:
    return (
        f"analyzer run task.json --url {shuffler.url} --token analyzer.token --keys analyzer.key --processes 1 {budget}"
    )


def test_the_run_command_writes_the_page_of_what_it_prints(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("answer\n" + "no\nyes\nyes\n" * 400)
    made = run("plan histogram --labels no,yes --n 1000 --epsilon 1 --delta 1e-6 -o plan.json", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    more = "--project --frequencies --cdf --quantile 0.5 --top 1 --range no..yes"
    done = run(
        f"run plan.json people.csv --column answer --report page.html --report page.png --plot plot.png -o result.json {more}",
        cwd=tmp_path, environment={"XDG_STATE_HOME": str(tmp_path / "state")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "result.json").read_text())
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert text == page(result)
    assert (tmp_path / "page.png").read_bytes() == picture(result) == (tmp_path / "plot.png").read_bytes()
    tables = Page(text).tables
    assert [table[0][0] for table in tables[1:7]] == ["Bin", "Bin", "Bin", "Share of users", "Bin", "Range"]
    derived = result["derived"]
    assert shows(tables[5][1][1], derived["top"][0]["value"])
    assert tables[4][1] == ["0.5", derived["quantiles"][0]["bin"], *derived["quantiles"][0]["interval"]]
    for row, value in zip(tables[2][1:], derived["frequencies"]["value"], strict=True):
        assert shows(row[1], value)
        assert len(row[1].partition(".")[2]) == 5  # three digits of the standard error, about 0.005
    assert shows(tables[6][1][1], derived["ranges"][0]["value"])


def shows(cell: str, value: float) -> bool:
    """Whether a cell is the number, rounded to its last decimal."""
    return abs(number(cell) - value) <= 0.5001 * 10.0 ** -len(cell.partition(".")[2])


def test_a_result_without_a_ledger_says_that_no_budget_is_kept(shuffler: Asked, tmp_path: Path) -> None:
    """In the page, the text and the JSON."""
    kept = "No ledger was given, so no budget is kept, and what else these people were asked is not counted."
    done = run(f"{line(shuffler, budget='')} --report result.html -o result.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"{kept}\n" in done.stdout
    result = json.loads((tmp_path / "result.json").read_text())
    assert (result["ledger"], result["notes"]) == (None, [kept])
    assert kept in Page((tmp_path / "result.html").read_text(encoding="utf-8")).text


def test_an_answer_that_is_booked_is_shown_whatever_else_was_asked(shuffler: Asked, tmp_path: Path) -> None:
    done = run(f"{line(shuffler)} --top 9 -o result.json", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr.startswith("shuffledp: warning: ")
    assert "budget: epsilon" in done.stdout
    assert json.loads((tmp_path / "result.json").read_text())["n"] == 120


def test_every_epsilon_says_at_which_delta_and_under_which_assumption(shuffler: Asked, tmp_path: Path) -> None:
    done = run(f"{line(shuffler)} --report result.html -o result.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "epsilon = 2 at delta = 0.001 once 100 honest reports arrive" in lines
    assumed = "at least 120 of the 120 reports received (100 %) are from honest users"
    assert any(text.startswith("epsilon = ") and text.endswith(f" at delta = 0.001 if {assumed}") for text in lines)
    assert any(
        re.fullmatch(r"budget: epsilon = [\d.]+ of 3 spent at delta = 0.001 in 1 release", text) for text in lines
    )
    assert any(text.startswith("one false report can shift an estimate by at most ") for text in lines)
    text = Page((tmp_path / "result.html").read_text(encoding="utf-8")).text
    assert f"If {assumed}" in text
    assert "One false report can shift an estimate by at most " in text
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["max_shift_per_false_report"] > 1


def test_the_command_keeps_to_the_ledgers_budget_and_head(shuffler: Asked, tmp_path: Path) -> None:
    first = run(f"{line(shuffler)} --json", cwd=tmp_path)
    head = json.loads(first.stdout)["ledger"]["head"]
    again = run(f"{line(shuffler, budget='--ledger ledger.jsonl')} --expect-head {head}", cwd=tmp_path)
    assert f"ledger head {head}" in again.stdout, again.stderr
    ledger = (tmp_path / "ledger.jsonl").read_bytes()
    asked = list(shuffler.paths)
    for budget, why in (
        (
            "--ledger ledger.jsonl --budget-epsilon 50",
            "has a budget of epsilon = 3 at delta = 0.001; got another epsilon",
        ),
        (f"--ledger ledger.jsonl --expect-head {'0' * 64}", "rolled back, cut short or replaced"),
        ("--ledger new.jsonl --budget-epsilon 3 --budget-delta 0.5", "a budget's delta must be at most 0.01; got 0.5."),
        ("--ledger new.jsonl", "is new and needs a budget"),
        ("--budget-epsilon 3", "a budget is kept in a ledger. Give --ledger."),
    ):
        done = run(line(shuffler, budget=budget), cwd=tmp_path)
        assert_refused(done, why)
    assert (tmp_path / "ledger.jsonl").read_bytes() == ledger
    assert not (tmp_path / "new.jsonl").exists()
    assert shuffler.paths == asked  # nothing was even fetched


def test_the_command_remembers_what_it_opened(shuffler: Asked, tmp_path: Path) -> None:
    for folder in ("opened", "state"):
        where = "--opened opened" if folder == "opened" else ""
        done = run(f"{line(shuffler)} {where}", cwd=tmp_path, environment={"XDG_STATE_HOME": str(tmp_path / "state")})
        assert done.returncode == 0, done.stderr
        (path,) = (tmp_path / folder).rglob("*.ids")
        assert path.parent.name == TASK.id
        assert path.stem == shuffler.released["sha256"]
        assert path.stat().st_size == 120 * 16


def test_the_command_writes_a_page_and_a_picture(shuffler: Asked, tmp_path: Path) -> None:
    done = run(f"{line(shuffler)} --report result.html --report RESULT.PNG -o result.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "120 valid of 120 reports" in done.stdout
    result = json.loads((tmp_path / "result.json").read_text())
    assert (tmp_path / "result.html").read_text(encoding="utf-8") == page(result)
    assert (tmp_path / "RESULT.PNG").read_bytes() == picture(result)
    assert_the_table_has(result, Page(page(result)))


@pytest.mark.parametrize(
    ("report", "why"),
    [
        ("result.pdf", "not a kind of report that can be written. Use .html or .png"),
        ("result", "not a kind of report that can be written"),
        ("nowhere/result.html", "there is no folder nowhere"),
        (".", "is a directory"),
    ],
)
def test_a_report_that_cannot_be_is_refused_before_anything_is_spent(
    shuffler: Asked, tmp_path: Path, report: str, why: str
) -> None:
    done = run(f"{line(shuffler)} --report good.html --report {report}", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert why in " ".join(done.stderr.split())
    assert shuffler.paths == []
    assert not (tmp_path / "ledger.jsonl").exists()
    assert not (tmp_path / "good.html").exists()


@pytest.mark.parametrize(
    ("report", "package", "needed"),
    [
        ("result.html", "matplotlib", "figures need matplotlib"),
        ("result.png", "matplotlib", "figures need matplotlib"),
        ("result.html", "jinja2", "pages need jinja2"),
    ],
)
def test_without_a_package_nothing_is_spent(
    shuffler: Asked, tmp_path: Path, report: str, package: str, needed: str
) -> None:
    (tmp_path / "without").mkdir()
    (tmp_path / "without" / f"{package}.py").write_text("raise ImportError")
    paths = os.pathsep.join([str(tmp_path / "without"), os.environ.get("PYTHONPATH", "")])
    done = started(f"{line(shuffler)} --report {report}", cwd=tmp_path, environment={"PYTHONPATH": paths})
    assert_refused(done, f"{needed}, which is not installed. Install it: pip install ", f"{package}>=")
    assert shuffler.paths == []
    assert not (tmp_path / "ledger.jsonl").exists()
