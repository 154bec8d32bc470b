"""Reports of the analyzer's result: every number is there, none is better than the truth, nothing leaks in or out."""

import base64
import hashlib
import http.server
import io
import json
import os
import re
import threading
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from oracles.parties import PARTIES
from oracles.process import run
from shuffledp import KeyedWords, Plan, plan
from shuffledp.core.counts import Counts
from shuffledp.esa.analyzer import Opened
from shuffledp.esa.analyzer import result_of as analyzed
from shuffledp.esa.crypto import seal
from shuffledp.esa.keys import KeyRing
from shuffledp.esa.ledger import Balance
from shuffledp.esa.task import Task
from shuffledp.esa.wire import encode_message
from shuffledp.figures.report import page, picture

HOSTILE = [
    "<script>alert(1)</script>",
    "a & b",
    "\"quoted\" 'twice'",
    "$x$ \\$",
    "\x00\n",
    "",
    "</style>" + "W" * 300,
]
VOID = {"meta", "img"}


def result_of(plan_: Plan, *, balance: Balance | None = None, **operators: Any) -> dict[str, Any]:
    task = Task(plan=plan_, window=60, max_age=60, **PARTIES | operators)
    n = plan_.min_batch + 100
    values = np.random.default_rng(1).integers(0, plan_.size, n)
    messages = plan_.randomizer.randomize(values, KeyedWords.seeded(1), first_row=0)
    counts = Counts.of(np.asarray(messages, dtype=np.int64), plan_.size)
    opened = Opened(received=n + 1241, counts=counts, rejected={"decrypt_error": 1234, "out_of_domain": 7})
    result = analyzed(opened, task, digest="d" * 64, balance=balance)
    return json.loads(json.dumps(result))  # type: ignore[no-any-return]  # what a file would hold


def histogram(n: int = 3000, **bins: Any) -> dict[str, Any]:
    return result_of(plan("histogram", n=n, epsilon=1.2345678, delta=1.2345678e-6, **bins))


class Page(HTMLParser):
    """What a browser sees: tags that nest, tables as lists of rows, the visible text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.tables: list[list[list[str]]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("th", "td"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" in self.open:
            return
        self.text += data
        if self.open and self.open[-1] in ("th", "td"):
            self.tables[-1][-1][-1] += data


def number(text: str) -> float:
    return float(text.replace(",", ""))


def assert_the_table_has(result: dict[str, Any], found: Page) -> None:
    estimate = result["estimate"]
    many = result["kind"] == "histogram"
    columns = [estimate[key] if many else [estimate[key]] for key in ("value", "standard_error", "interval")]
    head, *rows = found.tables[0]
    assert head[1:] == ["Estimate", "Standard error", "95 % from", "to"]
    for (_, *cells), value, error, (low, high) in zip(rows, *columns, strict=True):
        shown = [number(cell) for cell in cells]
        assert shown[0] == pytest.approx(value, abs=0.05 * error)
        assert shown[1] == pytest.approx(error, rel=0.05)
        assert low - 0.1 * error <= shown[2] <= low  # outwards, not far
        assert high <= shown[3] <= high + 0.1 * error


@pytest.mark.parametrize(
    ("kind", "n", "shape"),
    [
        ("histogram", 3000, {"labels": ["no", "yes"]}),
        ("histogram", 3000, {"size": 60, "low": 0.0, "high": 1.0}),
        ("histogram", 3000, {"size": 61}),
        ("histogram", 100_000, {"size": 1000, "low": -1.0, "high": 1.0}),
        ("sum", 3000, {"low": -5.0, "high": 10.0}),
        ("mean", 3000, {"high": 10.0}),
        ("query", 3000, {}),
        ("sum", 3000, {"high": 1e90}),
        ("mean", 3000, {"high": 1e-30}),
    ],
)
def test_every_number_is_on_the_page_and_the_picture_is_one(kind: Any, n: int, shape: dict[str, Any]) -> None:
    result = result_of(plan(kind, n=n, epsilon=1.2345678, delta=1.2345678e-6, **shape))
    text = page(result)
    found = Page(text)
    assert_the_table_has(result, found)
    if result["kind"] == "histogram":
        assert [row[0] for row in found.tables[0][1:]] == result["estimate"]["labels"]
    else:
        assert f"each from {result['low']:g} to {result['high']:g}" in found.text
    promise = result["guarantee"]
    for row, true in zip(
        found.tables[1][1:],
        (promise["epsilon"], promise["realised_epsilon"], promise["epsilon_if_shuffler_and_analyzer_collude"]),
        strict=True,
    ):
        assert true <= number(row[1]) <= true * 1.00001
    for row in found.tables[1][1:3]:
        assert promise["delta"] <= number(row[2]) <= promise["delta"] * 1.00001
    assert f"{promise['n']:,} honest reports" in found.text
    assert [row[1] for row in found.tables[2][1:]] == [f"{result['received']:,}", f"{result['n']:,}", "1,234", "7"]
    assert [row[0] for row in found.tables[2][3:]] == ["Rejected: decrypt_error", "Rejected: out_of_domain"]
    for shown in (result["trust"], result["task"], result["batch"], result["plan"], "No budget is kept"):
        assert shown in found.text
    image = Image.open(io.BytesIO(picture(result)))
    image.load()
    assert image.width > 800
    assert image.height > 200
    assert len(np.unique(np.asarray(image.convert("L")))) > 20  # something is drawn, with smooth letters


def test_a_page_needs_nothing_else_and_everybody_can_read_it() -> None:
    text = page(histogram(labels=["no", "yes"]))
    found = Page(text)
    assert text.startswith("<!DOCTYPE html>\n")
    assert not re.search(r"https?:|url\(|@import|//[a-z]", re.sub(r"base64,[^\"]*", "", text))
    assert {tag for tag, _ in found.tags}.isdisjoint({"script", "link", "iframe", "object", "a"})
    sources = [attributes["src"] or "" for _, attributes in found.tags if "src" in attributes]
    assert len(sources) == 1
    kind, _, data = sources[0].partition(",")
    assert kind == "data:image/svg+xml;base64"
    drawing = base64.b64decode(data).decode()
    assert ET.fromstring(drawing).tag == "{http://www.w3.org/2000/svg}svg"
    namespaces = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert set(re.findall(r"https?://[^\"\s<]*", drawing)) <= namespaces
    attributes = dict(found.tags)
    assert attributes["html"]["lang"] == "en"
    assert "2 bins" in (attributes["img"]["alt"] or "")
    assert {"title", "main", "h1", "figcaption", "caption"} <= attributes.keys()
    assert all(given.get("scope") in ("col", "row") for tag, given in found.tags if tag == "th")
    assert "prefers-color-scheme: dark" in text
    assert "width=device-width" in text
    assert page(histogram(labels=["no", "yes"])) == text


def test_hostile_names_stay_text() -> None:
    result = result_of(
        plan("histogram", n=3000, epsilon=1.0, delta=1e-6, labels=HOSTILE), shufflers=("<img src=x>",), analyzer='"&'
    )
    text = page(result)
    text.encode()
    found = Page(text)
    assert [tag for tag, _ in found.tags].count("img") == 1
    assert "script" not in dict(found.tags)
    names = [row[0] for row in found.tables[0][1:]]
    assert names == [*HOSTILE[:4], "\ufffd" * 2, "(empty)", HOSTILE[6]]
    assert "<img src=x> runs the shuffler" in found.text
    drawing = ET.fromstring(base64.b64decode(re.findall(r"base64,([^\"]*)", text)[0]))
    shown = [element.text for element in drawing.iter("{http://www.w3.org/2000/svg}text")]
    assert {*HOSTILE[1:4], "<script>alert(1)</s…", "\ufffd" * 2} <= set(shown)
    assert picture(result)[:4] == b"\x89PNG"


def test_letters_the_font_lacks_are_no_error() -> None:
    result = histogram(labels=["\u65e5\u672c", "\u0645\u0631\u062d\u0628\u0627"])
    assert picture(result)[:4] == b"\x89PNG"
    assert "\u65e5\u672c" in Page(page(result)).text


@pytest.mark.parametrize(("bins", "most"), [(60, 75), (61, 20), (1000, 20)])
def test_many_bins_do_not_crowd(bins: int, most: int) -> None:
    result = histogram(n=100_000, size=bins)
    drawing = ET.fromstring(picture(result, "svg"))
    assert len(list(drawing.iter("{http://www.w3.org/2000/svg}text"))) <= most
    folded = any(tag == "details" for tag, _ in Page(page(result)).tags)
    assert folded == (bins > 60)


def test_simultaneous_intervals_are_called_so() -> None:
    result = histogram(labels=["no", "yes"])
    assert "Each interval holds by itself with 95 %" in page(result)
    result["estimate"]["simultaneous"] = True
    assert "All intervals hold together with 95 %" in page(result)
    assert "simultaneous 95 % intervals" in picture(result, "svg").decode()


def test_the_budget_is_shown() -> None:
    balance = Balance(spent_epsilon=1.0000001, budget_epsilon=1.5, delta=1e-6, releases=1, head="h" * 64)
    result = result_of(plan("histogram", n=1000, epsilon=1.0, delta=1e-6, size=3), balance=balance)
    found = Page(page(result))
    assert found.tables[3][1:] == [
        ["Spent epsilon", "1.00001"],
        ["Budget epsilon", "1.5"],
        ["At delta", "1e-6"],
        ["Releases", "1"],
    ]
    assert "h" * 64 in found.text
    assert "No budget is kept" not in found.text


def test_a_result_without_a_ledger_says_that_no_budget_is_kept(shuffler: "Asked", tmp_path: Path) -> None:
    """In the page, the text and the JSON."""
    kept = "No budget is kept: no ledger was given, so what else these people were asked is not counted."
    done = run(f"{line(shuffler, budget='')} --report result.html -o result.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"{kept}\n" in done.stdout
    result = json.loads((tmp_path / "result.json").read_text())
    assert (result["ledger"], result["notes"]) == (None, [kept])
    assert kept in Page((tmp_path / "result.html").read_text(encoding="utf-8")).text


def test_every_epsilon_says_at_which_delta_and_under_which_assumption(shuffler: "Asked", tmp_path: Path) -> None:
    done = run(f"{line(shuffler)} --report result.html -o result.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "epsilon = 2 at delta = 0.001 from 100 honest reports on" in lines
    assumed = "at least 120 of the 120 reports received (100 %) are from honest users"
    assert any(text.startswith("epsilon = ") and text.endswith(f" at delta = 0.001 if {assumed}") for text in lines)
    assert any(
        re.fullmatch(r"budget: epsilon = [\d.]+ of 3 spent at delta = 0.001 in 1 release", text) for text in lines
    )
    assert any(text.startswith("one false report can shift an estimate by at most ") for text in lines)
    text = Page((tmp_path / "result.html").read_text(encoding="utf-8")).text
    assert "If at least 120 of the 120 reports received are from honest users" in text
    assert "One false report can shift an estimate by at most " in text
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["max_shift_per_false_report"] > 1


def test_the_command_keeps_to_the_ledgers_budget_and_head(shuffler: "Asked", tmp_path: Path) -> None:
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
        assert (done.returncode, done.stdout) == (2, "")
        assert why in done.stderr
    assert (tmp_path / "ledger.jsonl").read_bytes() == ledger
    assert not (tmp_path / "new.jsonl").exists()
    assert shuffler.paths == asked  # nothing was even fetched


def test_the_command_remembers_what_it_opened(shuffler: "Asked", tmp_path: Path) -> None:
    for folder in ("opened", "state"):
        where = "--opened opened" if folder == "opened" else ""
        done = run(f"{line(shuffler)} {where}", cwd=tmp_path, environment={"XDG_STATE_HOME": str(tmp_path / "state")})
        assert done.returncode == 0, done.stderr
        (path,) = (tmp_path / folder).rglob("*.ids")
        assert path.parent.name == TASK.id
        assert path.stem == shuffler.released["sha256"]
        assert path.stat().st_size == 120 * 16


# The command


TASK = Task(
    plan=plan("histogram", n=100, epsilon=2.0, delta=1e-3, labels=["<no>", "yes"]), window=60, max_age=60, **PARTIES
)


class Asked:
    """A shuffler with one batch, and what it was asked for."""

    def __init__(self, batch: bytes) -> None:
        asked = self.paths = list[str]()
        released = self.released = {
            "batch": 1,
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
        ("result.pdf", "not a kind of report we write. Use .html or .png"),
        ("result", "not a kind of report we write"),
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


@pytest.mark.parametrize("report", ["result.html", "result.png"])
def test_without_matplotlib_nothing_is_spent(shuffler: Asked, tmp_path: Path, report: str) -> None:
    (tmp_path / "without").mkdir()
    (tmp_path / "without" / "matplotlib.py").write_text("raise ImportError")
    paths = os.pathsep.join([str(tmp_path / "without"), os.environ.get("PYTHONPATH", "")])
    done = run(f"{line(shuffler)} --report {report}", cwd=tmp_path, environment={"PYTHONPATH": paths})
    assert (done.returncode, done.stdout) == (2, "")
    assert "figures need matplotlib, which is not installed. Install shuffledp[figures]." in done.stderr
    assert shuffler.paths == []
    assert not (tmp_path / "ledger.jsonl").exists()
