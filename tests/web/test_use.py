"""Every tab used in the same way: slid, typed, mistyped, gone back, reloaded, by keyboard; and what goes with a plan."""

import json
from pathlib import Path
from typing import NamedTuple

import nbformat
import pytest
from nbclient import NotebookClient
from playwright.sync_api import Browser, expect

from oracles.browser import person
from oracles.planner import SHOTS, Visitor, exact, visitor
from oracles.process import called
from shuffledp import Plan


class Use(NamedTuple):
    """Of a tab: where to begin, a field with a slider, what to type there, and what is wrong."""

    address: str
    field: str
    typed: str
    wrong: str
    said: str


USES = [
    Use("#plan?rounds=1&size=3&n=3000&margin=5", "n", "5000", "0", "n must be"),
    Use("#account?size=3", "epsilon0", "0.5", "none", "number"),
    Use("#compare?question=distribution&resolution=10&n=2000", "epsilon", "2", "-1", "epsilon must be"),
    Use("#blanket?randomizer=rr&size=5", "size", "7", "1", "size"),
    Use("#crowd?n=40", "n", "60", "0", "n must be from 1 to 400"),
]


def first_number(user: Visitor) -> str:
    return exact(user.page.locator(".numbers dd").first)


@pytest.mark.parametrize("use", USES, ids=lambda use: use.address.partition("?")[0])
def test_a_tab_is_used_as_somebody_would(browser: Browser, url: str, use: Use) -> None:
    with visitor(browser, url) as user:
        user.goes_to(use.address)
        field, slider, began = user.field(use.field), user.slider(use.field), user.page.url
        start, before = field.input_value(), first_number(user)
        # slid, with the keyboard
        slider.focus()
        user.asks(lambda: slider.press("ArrowRight"))
        slid, moved = field.input_value(), first_number(user)
        assert float(slid) > float(start)
        assert f"{use.field}={slid}" in user.page.url
        assert moved != before
        # typed; the slider follows
        user.types(use.field, use.typed)
        assert slider.get_attribute("aria-valuetext") == f"{float(use.typed):,.10g}"
        typed = first_number(user)
        assert typed not in ("", moved)
        # mistyped: said next to the field, and no number is left that could be taken for an answer
        user.types(use.field, use.wrong)
        assert use.said in user.message(use.field)
        assert field.get_attribute("aria-invalid") == "true"
        assert user.page.locator(".numbers").count() == 0
        # back, step by step, and forth
        user.asks(lambda: user.page.go_back())
        assert (field.input_value(), first_number(user), user.message(use.field)) == (use.typed, typed, "")
        user.asks(lambda: user.page.go_back())
        assert (field.input_value(), first_number(user)) == (slid, moved)
        user.asks(lambda: user.page.go_back())
        assert (field.input_value(), first_number(user), user.page.url) == (start, before, began)
        user.asks(lambda: user.page.go_forward())
        # reloaded: the address is the state
        user.page.reload()
        user.waits()
        assert (field.input_value(), first_number(user)) == (slid, moved)
        # every picture has a table, and both can be saved
        pictures = user.page.locator(".card", has=user.page.locator(".plot"))
        for card in pictures.all():
            assert "<svg" in user.downloads(card.get_by_role("button", name="SVG"))
            lines = user.downloads(card.get_by_role("button", name="CSV")).splitlines()
            assert len(lines) == 1 + card.locator("tbody tr").count()
        assert user.field(use.field).get_attribute("aria-describedby")


def test_a_tab_is_reached_with_the_keyboard_alone(browser: Browser, url: str) -> None:
    with visitor(browser, url) as user:
        user.goes_to("#crowd?n=40")
        for _ in range(30):
            user.page.keyboard.press("Tab")
            if user.page.evaluate("document.activeElement.textContent") == "Blanket":
                break
        assert user.page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
        user.asks(lambda: user.page.keyboard.press("Enter"))
        assert user.page.title() == "Blanket · shuffledp"
        expect(user.page.get_by_role("link", name="Blanket")).to_have_attribute("aria-current", "page")


def test_no_epsilon_is_an_alarm(browser: Browser, url: str) -> None:
    """A small number and a large one look the same."""
    with visitor(browser, url) as user:
        looks = set()
        for epsilon in ("0.01", "10"):
            user.goes_to(f"#plan?aim=epsilon&rounds=1&size=3&n=3000&epsilon={epsilon}")
            assert first_number(user) == epsilon
            looks.add(
                user.page.locator(".numbers dd").first.evaluate(
                    "one => [getComputedStyle(one).color, getComputedStyle(one.closest('.card')).backgroundColor].join()"
                )
            )
        assert len(looks) == 1


def test_what_goes_with_a_plan_can_be_used(browser: Browser, url: str, tmp_path: Path) -> None:
    """The words of the question are carried along; the notice is a page that can be read, the notebook runs in a real kernel."""
    words = "worded=Do+you+like+%3Ctea%3E%3F&title=Tea&unit=cups"
    with visitor(browser, url) as user:
        user.goes_to(f"#plan?aim=epsilon&rounds=1&size=3&n=3000&dropout=0&lie=0&{words}")
        line = user.page.locator("pre").first.inner_text()
        saved = user.downloads(user.page.get_by_role("button", name="Plan (JSON)"))
        notice = user.downloads(user.page.get_by_role("button", name="Notice for participants"))
        book = user.downloads(user.page.get_by_role("button", name="Notebook"))
    made = Plan.from_document(json.loads(saved))
    assert (made.wording.title, made.wording.question, made.wording.unit) == ("Tea", "Do you like <tea>?", "cups")
    assert called(line.removeprefix("shuffledp "), cwd=tmp_path).returncode == 0
    assert (tmp_path / "plan.json").read_text() == saved
    (tmp_path / "plan.json").unlink()
    (tmp_path / "plan.ipynb").write_text(book, encoding="utf-8")
    notebook = nbformat.read(tmp_path / "plan.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    ran = NotebookClient(
        notebook, timeout=None, startup_timeout=600, resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    assert (tmp_path / "plan.json").read_text() == saved
    shown = [kind for cell in ran.cells for output in cell.get("outputs", ()) for kind in output.get("data", ())]
    assert {"text/html", "image/png"} <= set(shown)
    (tmp_path / "notice.html").write_text(notice, encoding="utf-8")
    with person(browser, viewport={"width": 390, "height": 800}) as context:
        reader = Visitor(context.new_page(), (tmp_path / "notice.html").as_uri())
        reader.page.goto(reader.url)
        assert reader.unreadable() == []
        text = reader.page.locator("body").inner_text()
        assert "“Do you like <tea>?”" in text
        assert "informed guesses about you" in text
        SHOTS.mkdir(parents=True, exist_ok=True)
        reader.shot("notice-phone")
        assert reader.problems == []
