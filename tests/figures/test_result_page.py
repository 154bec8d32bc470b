"""Pages and pictures of results: every number is there, none is better than the truth, nothing leaks in or out."""

import base64
import io
import json
import re
import warnings
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from oracles.page import Page, assert_the_table_has, number
from oracles.parties import PARTIES
from shuffledp import KeyedRandomness, Plan, plan, run
from shuffledp.core.counts import Counts
from shuffledp.domains.domain import Policy
from shuffledp.figures.result_page import page, rendered
from shuffledp.figures.result_picture import picture
from shuffledp.results.balance import Balance
from shuffledp.service.analyzer.analyzer import OpenedBatch
from shuffledp.service.analyzer.analyzer import result_of as analyzed
from shuffledp.service.task import Task

HOSTILE = [
    "<script>alert(1)</script>",
    "a & b",
    "\"quoted\" 'twice'",
    "$x$ \\$",
    "\x00\n",
    "",
    "</style>" + "W" * 300,
]


def result_of(plan_: Plan, *, balance: Balance | None = None, **operators: Any) -> dict[str, Any]:
    task = Task(plan=plan_, window=60, max_age=60, **PARTIES | operators)
    n = plan_.min_batch + 100
    randomizer = plan_.protocol.randomizer
    symbols = np.random.default_rng(1).integers(0, randomizer.symbols, n)
    messages = randomizer.randomize(symbols, KeyedRandomness.seeded(1), first_row=0)
    counts = Counts.of(np.asarray(messages, dtype=np.int64), plan_.protocol.alphabet)
    opened = OpenedBatch(received=n + 1241, counts=counts, rejected={"decrypt_error": 1234, "out_of_domain": 7})
    result = analyzed(opened, task, digest="d" * 64, balance=balance)
    return as_read(result.document())


def as_read(document: dict[str, Any]) -> dict[str, Any]:
    """What a file would hold."""
    return json.loads(json.dumps(document, allow_nan=False))  # type: ignore[no-any-return]


def histogram(n: int = 3000, **bins: Any) -> dict[str, Any]:
    return result_of(plan("histogram", n=n, epsilon=1.2345678, delta=1.2345678e-6, **bins))


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
    assert [row[0] for row in found.tables[0][1:]] == result["estimate"]["names"]
    assert result["measure"] in found.text
    if kind != "histogram":
        assert f"each from {shape.get('low', 0):g} to {shape.get('high', 1):g}" in found.text
    promise = result["guarantee"]
    for row, true in zip(
        found.tables[1][1:],
        (promise["epsilon"], promise["realised_epsilon"], promise["epsilon_if_shuffler_and_analyzer_collude"]),
        strict=True,
    ):
        assert true <= number(row[1]) <= true * 1.00001
    for row in found.tables[1][1:3]:
        assert promise["delta"] <= number(row[2]) <= promise["delta"] * 1.00001
    assert f"Promised once {promise['n']:,} honest reports arrive" in found.text
    assert [row[1] for row in found.tables[2][1:]] == [f"{result['received']:,}", f"{result['n']:,}", "1,234", "7"]
    assert [row[0] for row in found.tables[2][3:]] == ["Rejected: decrypt_error", "Rejected: out_of_domain"]
    for shown in (result["trust"], result["task"], result["batch"], result["plan"], "so no budget is kept"):
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


SCRIPTS = ("日本", "مرحبا", "नमस्ते", "Ωμέγα", "🦉", "naïve", "$x$", "<b>")


def ranked(size: int, *, truth: bool = False) -> dict[str, Any]:
    """A result with so many texts, of which some stand out; as JSON data, so no protocol is needed."""
    result = histogram(labels=["no", "yes"])
    values = [float(7919 * j % size) - 10 for j in range(size)]
    names = [f"{SCRIPTS[j % len(SCRIPTS)]} {j}" for j in range(size)]
    result["estimate"] |= {"names": names, "value": values, "standard_error": [3.0] * size}
    result["estimate"]["interval"] = [[value - 6, value + 6] for value in values]
    return result | {"truth": values if truth else None}


@pytest.mark.parametrize(("size", "truth"), [(100, False), (5000, True)])
def test_the_largest_of_many_texts_are_drawn_in_order(size: int, truth: bool) -> None:
    """Thirty bars with their names in any script, one line for the others, and no warning."""
    result = ranked(size, truth=truth)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert picture(result)[:4] == b"\x89PNG"
        drawing = ET.fromstring(picture(result, "svg"))
    shown = [element.text or "" for element in drawing.iter("{http://www.w3.org/2000/svg}text")]
    named = [text for text in shown if text in result["estimate"]["names"]]
    order = sorted(range(size), key=lambda j: -result["estimate"]["value"][j])
    assert named == [result["estimate"]["names"][j] for j in order[:30]]
    assert f"{size - 30:,} others" in shown
    assert f"each at most {result['estimate']['value'][order[30]]:,.2f}" in shown


def test_a_page_of_very_many_bins_has_the_largest() -> None:
    result = ranked(5000)
    result["derived"] = {"projected": result["estimate"]["value"]}
    found = Page(page(result))
    order = sorted(range(5000), key=lambda j: -result["estimate"]["value"][j])[:1000]
    for table in found.tables[:2]:
        assert [row[0] for row in table[1:]] == [result["estimate"]["names"][j] for j in order]
    assert "The 1,000 largest of 5,000 bins" in found.text
    assert "Among so many, some are large by chance." in found.text


def test_numbers_stay_in_order_and_nothing_is_a_result_too() -> None:
    """Bins of an axis are a curve; a result that names nothing, as a search may, is drawn and written all the same."""
    result = histogram(n=100_000, size=100, low=-1.0, high=1.0)
    assert "others" not in picture(result, "svg").decode()
    nothing = ranked(0)
    assert picture(nothing)[:4] == b"\x89PNG"
    assert len(Page(page(nothing)).tables[0]) == 1


def test_simultaneous_intervals_are_called_so() -> None:
    result = histogram(labels=["no", "yes"])
    assert "Each interval holds on its own with 95 %" in page(result)
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
    assert "so no budget is kept" not in found.text


# Results without a service


@pytest.fixture(scope="module")
def local() -> dict[str, Any]:
    """What `run` found."""
    plan_ = plan("histogram", n=3000, epsilon=1.2345678, delta=1.2345678e-6, labels=["no", "yes"])
    values = np.random.default_rng(1).choice(["no", "yes"], 3100).tolist()
    values[7] = None
    return as_read(run(plan_, values, policy=Policy(missing="skip"), truth=True).document())


def test_a_page_of_a_run_says_what_is_known_and_nothing_of_a_service(local: dict[str, Any]) -> None:
    found = Page(page(local))
    assert [len(table) - 1 for table in found.tables] == [2, 3, 3]  # estimates, guarantee, reports
    head, *rows = found.tables[0]
    assert head[1:] == ["Estimate", "Standard error", "95 % from", "to", "Truth (not private)"]
    assert [number(row[5]) for row in rows] == local["truth"]
    promise = local["guarantee"]
    conditions = [
        "Promised once 3,000 honest reports arrive",
        "If at least 3,099 of the 3,099 valid reports (100 %) are from honest users",
        "If messages are seen before they are shuffled",
    ]
    epsilons = ("epsilon", "realised_epsilon", "epsilon_if_shuffler_and_analyzer_collude")
    for row, condition, epsilon in zip(found.tables[1][1:], conditions, epsilons, strict=True):
        assert row[0] == condition
        assert promise[epsilon] <= number(row[1]) <= promise[epsilon] * 1.00001
    assert found.tables[2][1:] == [["Received", "3,100"], ["Valid", "3,099"], ["Rejected: missing", "1"]]
    for shown in (*local["notes"], local["plan"], "one row = one person", "Proved by the best bound"):
        assert shown in found.text
    assert len(local["notes"]) == 2
    for absent in ("Task", "Batch", "Budget", "None", "null", "collude"):
        assert absent not in found.text
    drawing = picture(local, "svg").decode()
    assert "truth (not private)" in drawing
    assert "truth" not in picture(local | {"truth": None}, "svg").decode()


def test_a_page_of_a_simulation_claims_nothing() -> None:
    seeded = run(
        plan("mean", n=1000, epsilon=1.0, delta=1e-6), np.full(1000, 0.5), randomness=KeyedRandomness.seeded(1)
    )
    result = as_read(seeded.document())
    assert result["guarantee"] is None
    found = Page(page(result))
    assert "Simulation, no guarantee." in found.text
    assert "None: the randomness was not secret." in found.text
    assert "differentially private" not in found.text
    assert "epsilon" not in found.text
    assert "simulation, no guarantee" in picture(result, "svg").decode()


def test_a_protocol_without_local_privacy_says_so(local: dict[str, Any]) -> None:
    guarantee = local["guarantee"] | {"epsilon_if_shuffler_and_analyzer_collude": None}
    assert Page(page(local | {"guarantee": guarantee})).tables[1][3][1:] == ["infinite", "0"]


@pytest.mark.parametrize("name", ["answer.png", "answer.SVG", "answer.pdf"])
def test_a_picture_is_the_same_bytes_each_time(local: dict[str, Any], name: str) -> None:
    """In every format, and no earlier picture changes a later one."""
    first = rendered(local, Path(name))
    assert first.lstrip().startswith((b"\x89PNG", b"<?xml", b"%PDF"))
    assert rendered(local, Path(name)) == first
