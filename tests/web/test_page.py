"""Every tab in a real browser, used as somebody would: typed, slid, wrong, back, reloaded, on a phone, in the dark."""

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from oracles.browser import chromium
from oracles.planner import Visitor, planner, visitor
from oracles.process import called

PHONE = {"width": 390, "height": 800}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with planner() as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


def command_line(user: Visitor) -> str:
    """The line that the page says is the same."""
    line = user.page.locator("pre").first.inner_text()
    assert line.startswith("shuffledp ")
    return line.removeprefix("shuffledp ")


def test_account_says_what_the_command_says(browser: Browser, url: str) -> None:
    with visitor(browser, url) as user:
        user.goes_to("#account?size=7&n=20000")
        user.types("lie", "10")
        shown = [[name, value, lower] for name, value, lower, _ in user.rows("Every bound")]
        done = called(f"{command_line(user)} --json")
        answers = json.loads(done.stdout)
        assert answers["inputs"]["honest_fraction"] == 0.9
        printed = [line.split()[:3] for line in called(command_line(user)).stdout.splitlines()[4:]]
        assert shown == printed[: len(shown)]
        assert user.number("epsilon, at delta") == shown[0][1]
        assert user.number("lower bound") == shown[0][2]
        # every picture has its numbers, and both can be saved
        user.page.get_by_text("Table", exact=True).click()
        assert len(user.rows("Delta against epsilon")) == 25
        csv = user.downloads(user.page.get_by_role("button", name="CSV: Delta against epsilon"))
        assert csv.startswith("epsilon,best: certified upper end,no method can be below this line")
        assert len(csv.splitlines()) == 26
        drawing = user.downloads(user.page.get_by_role("button", name="SVG: Delta against epsilon"))
        assert drawing.startswith("<svg")
        assert "no method can be below this line" in drawing


def test_sliders_fields_and_the_address_move_together(browser: Browser, url: str) -> None:
    with visitor(browser, url) as user:
        user.goes_to("")
        user.goes_to("#account")
        before = user.number("epsilon, at delta")
        user.slider("n").focus()
        user.asks(lambda: user.slider("n").press("ArrowRight"))
        assert user.field("n").input_value() == "12000"
        assert user.page.url.endswith("#account?n=12000")
        after = user.number("epsilon, at delta")
        assert float(after) < float(before)
        user.types("n", "2e4")
        assert user.slider("n").get_attribute("aria-valuetext") == "20,000"
        user.asks(lambda: user.page.go_back())
        assert (user.field("n").input_value(), user.number("epsilon, at delta")) == ("12000", after)
        user.asks(lambda: user.page.go_back())
        assert (user.field("n").input_value(), user.number("epsilon, at delta")) == ("10000", before)
        user.asks(lambda: user.page.go_forward())
        user.page.reload()
        user.waits()
        assert (user.field("n").input_value(), user.number("epsilon, at delta")) == ("12000", after)
        # with the keyboard alone: from the number of people to its slider
        user.field("n").focus()
        user.page.keyboard.press("Tab")
        assert user.slider("n").evaluate("one => one === document.activeElement")


def test_what_is_wrong_is_said_next_to_the_field(browser: Browser, url: str) -> None:
    with visitor(browser, url) as user:
        user.goes_to("#account")
        for name, text, option in (
            ("n", "many", "--n many --delta 1e-6 --size 10 --epsilon0 1"),
            ("n", "1.5", "--n 1.5 --delta 1e-6 --size 10 --epsilon0 1"),
            ("delta", "2", "--n 10000 --delta 2 --size 10 --epsilon0 1"),
            ("size", "1", "--n 10000 --delta 1e-6 --size 1 --epsilon0 1"),
            ("epsilon0", "-1", "--n 10000 --delta 1e-6 --size 10 --epsilon0=-1"),
        ):
            held = user.field(name).input_value()
            user.types(name, text)
            said = user.message(name)
            assert said, name
            assert said in called(f"account --randomizer rr {option}").stderr.replace("\n", " ")
            assert user.field(name).get_attribute("aria-invalid") == "true"
            assert not user.page.locator(".numbers").count()
            user.types(name, held)
            assert user.message(name) == ""
            assert user.page.locator(".numbers").count() == 1
        user.types("n", "")
        assert user.message("n") == "People is missing. Fill it in."
        user.goes_to("#account?randomizer=channel&matrix=1+2")
        assert user.message("matrix").startswith("a channel needs at least 2 rows")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("tab", ["account"])
def test_a_tab_can_be_read_on_any_screen(browser: Browser, url: str, tab: str, theme: str) -> None:
    viewport = PHONE if theme == "dark" else {"width": 1280, "height": 900}
    with visitor(browser, url, color_scheme=theme, viewport=viewport) as user:
        user.goes_to(f"#{tab}")
        user.can_be_read()
        user.shot(f"{tab}-{theme}")
        ground = user.page.evaluate("getComputedStyle(document.body).backgroundColor")
        light = sum(map(int, re.findall(r"\d+", ground)[:3])) > 380
        assert light == (theme == "light")
