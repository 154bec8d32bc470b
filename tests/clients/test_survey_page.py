"""The survey page in a real browser: from a click to the analyzer's result."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from oracles.browser import chromium, pages, person
from oracles.node import CLIENT
from oracles.parties import ANALYZER, PARTIES, SHUFFLER, prepared
from oracles.result import analyzed
from oracles.server import Server, running
from shuffledp import plan
from shuffledp.service.sealing.keys import KeyRing
from shuffledp.service.task import Task

LABELS = ["bike", "bus", "car"]
ANSWERS = ["bike", "car", "bike", "bus", "bike", "car"]
# so little blanket that every answer is the truth
EXACT = plan("histogram", n=len(ANSWERS), epsilon=20.0, delta=1e-6, labels=LABELS)
TASK = Task(plan=EXACT, window=3600, max_age=7200, **PARTIES)
TRUSTED = ANALYZER.public().fingerprint(ANALYZER.public().active)
ARRIVED = "Thank you. Your answer has arrived."
STANDS = "You had answered already: that answer stands, and nothing else was sent."


@contextmanager
def asking(folder: Path) -> Iterator[tuple[Server, str]]:
    """A shuffler, and the page with the surveys that it can ask, on an origin of its own."""
    with running(prepared(folder, TASK, SHUFFLER)) as server:
        survey: dict[str, Any] = {
            "title": "How we travel", "question": "How did you come here today?", "answers": {"bike": "By bicycle"},
            "url": server.url, "task": TASK.id, "analyzer": TRUSTED,
        }  # fmt: skip
        stranger = KeyRing.fresh("analyzer").public().document()
        surveys = {
            "survey": survey, "stranger": survey | {"analyzer": stranger}, "other": survey | {"task": "0" * 64},
            "plain": survey | {"url": "http://shuffler.example"},
        }  # fmt: skip
        with pages(CLIENT, {f"/example/{name}.json": document for name, document in surveys.items()}) as origin:
            yield server, f"{origin}/example/index.html"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with asking(tmp_path_factory.mktemp("shuffler")) as (_, address):
        yield address


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with person(browser) as context:
        yield context.new_page()


def watched(page: Page) -> list[str]:
    """What the page complains of."""
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(error.message))
    page.on("console", lambda message: problems.append(message.text))
    return problems


def answer(page: Page, address: str, choice: str) -> None:
    page.goto(address)
    page.get_by_role("radio", name="By bicycle" if choice == "bike" else choice).check()
    page.get_by_role("button", name="Send my answer").click()


def test_answers_of_several_people_are_in_the_result(browser: Browser, tmp_path: Path) -> None:
    with asking(tmp_path) as (server, address):
        for choice in ANSWERS:
            with person(browser) as context:
                page = context.new_page()
                problems = watched(page)
                answer(page, address, choice)
                expect(page.get_by_role("status")).to_have_text(ARRIVED)
                kept = page.evaluate("JSON.stringify(localStorage)")
                assert not any(word in kept for word in ("message", "inner", *LABELS))
                assert problems == []
        result = analyzed(server)
    assert result["n"] == len(ANSWERS)
    assert [round(count) for count in result["estimate"]["value"]] == [ANSWERS.count(label) for label in LABELS]


def test_a_second_answer_says_that_the_first_stands(page: Page, address: str) -> None:
    answer(page, address, "bike")
    expect(page.get_by_role("status")).to_have_text(ARRIVED)
    answer(page, address, "car")
    expect(page.get_by_role("status")).to_have_text(STANDS)
    tab = page.context.new_page()
    answer(tab, address, "bus")
    expect(tab.get_by_role("status")).to_have_text(STANDS)


def test_the_page_says_what_happens_to_the_answer(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.get_by_role("heading", name="What happens to your answer")).to_be_visible()
    page.get_by_text("For those who check").click()
    told = page.get_by_role("main").inner_text()
    for fact in ("By bicycle", "0.000000618 %", "Alpha", "Beta", "at least 6 answers", "epsilon0 = 20"):
        assert fact in told
    assert TRUSTED in told.replace(" ", "")
    assert TASK.id in told.replace(" ", "")


def test_one_person_in_two_tabs_at_once_reports_once(browser: Browser, address: str) -> None:
    with person(browser) as context:
        tabs = []
        for choice in ("bus", "car"):
            tabs.append(context.new_page())
            tabs[-1].goto(address)
            tabs[-1].get_by_role("radio", name=choice).check()
        for tab in tabs:  # clicking would bring each to the front first
            tab.evaluate("document.forms[0].requestSubmit()")
        for tab in tabs:
            expect(tab.get_by_role("status")).to_have_class("good")
        stored = tabs[0].evaluate("Object.values(localStorage).map(JSON.parse)")
        assert [entries["fresh"] for entries in stored] == [1]


@pytest.mark.parametrize(
    ("survey", "words"),
    [
        ("stranger", "is not the one you trust"),
        ("other", "does not serve that task"),
        ("plain", "Reports travel over https only"),
        ("..%2Fpackage", "next to this page"),
        ("missing", "was not found"),
    ],
)
def test_a_survey_that_is_not_sound_is_not_asked(page: Page, address: str, survey: str, words: str) -> None:
    page.goto(f"{address}?config={survey}.json")
    expect(page.get_by_role("status")).to_contain_text(words)
    expect(page.get_by_role("button")).to_be_hidden()


def test_nothing_is_wider_than_a_phone(browser: Browser, address: str) -> None:
    with person(browser, viewport={"width": 320, "height": 640}, color_scheme="dark") as context:
        page = context.new_page()
        page.goto(address)
        page.get_by_text("For those who check").click()
        assert page.evaluate("document.documentElement.scrollWidth") == 320
