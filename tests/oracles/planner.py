"""`shuffledp web` in a process of its own, and somebody who uses it."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect

from oracles.browser import person
from oracles.process import command

SHOTS = Path(__file__).parents[2] / "build" / "screenshots"
"""Where screenshots are kept, for whoever wants to look at them."""


@contextmanager
def planner(*arguments: str) -> Iterator[str]:
    """The address of one that is stopped when no longer needed."""
    process = subprocess.Popen([command(), "web", "--port", "0", *arguments], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found is not None
        yield found.group()
    finally:
        os.kill(process.pid, signal.SIGINT)
        process.communicate(timeout=60)


class Visitor:
    """Somebody at the page, who notes what it complains of and whom it asks."""

    def __init__(self, page: Page, url: str) -> None:
        self.page, self.url = page, url
        self.problems: list[str] = []
        page.on("pageerror", lambda error: self.problems.append(error.message))
        page.on("console", lambda message: self.problems.append(message.text))
        page.on("request", lambda asked: self._asked(asked.url))

    def _asked(self, url: str) -> None:
        if not url.startswith((self.url, "blob:", "data:")):
            self.problems.append(f"asked {url}")

    def goes_to(self, address: str) -> None:
        self.page.goto(f"{self.url}/{address}")
        self.waits()

    def waits(self) -> None:
        """Until the answer is complete."""
        expect(self.page.locator("#answer")).to_have_attribute("aria-busy", "false")

    def field(self, name: str) -> Locator:
        return self.page.locator(f"#field-{name}")

    def slider(self, name: str) -> Locator:
        return self.page.locator(f".field:has(#field-{name}) input[type=range]")

    def types(self, name: str, text: str) -> None:
        """Types, and leaves the field."""

        def act() -> None:
            self.field(name).fill(text)
            self.field(name).blur()

        self.asks(act)

    def ticks(self, name: str, on: bool = True) -> None:
        self.asks(lambda: self.field(name).set_checked(on))

    def chooses(self, name: str, value: str) -> None:
        self.asks(lambda: self.field(name).select_option(value))

    def asks(self, act: Any) -> None:
        """Does something that asks anew, and waits for the answer."""
        with self.page.expect_request(lambda asked: "/answer/" in asked.url):
            act()
        self.waits()

    def number(self, label: str) -> str:
        """What stands under a label, with all digits."""
        item = self.page.locator(".numbers > div", has=self.page.locator("dt", has_text=re.compile(f"^{label}")))
        if not item.count():
            raise AssertionError(f"no {label} in: {self.page.locator('#answer').inner_text()}; {self.problems}")
        return exact(item.locator("dd").first)

    def message(self, name: str) -> str:
        return self.page.locator(f"#field-{name}-message").inner_text()

    def rows(self, title: str) -> list[list[str]]:
        """The cells of a table, with all digits."""
        card = self.page.locator(".card", has=self.page.get_by_role("heading", name=title, exact=True))
        return [[exact(cell) for cell in row.locator("th,td").all()] for row in card.locator("tbody tr").all()]

    def downloads(self, act: Locator) -> str:
        """The text of a file that a click saves."""
        with self.page.expect_download() as found:
            act.click()
        return found.value.path().read_text(encoding="utf-8")

    def shot(self, name: str) -> None:
        SHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SHOTS / f"{name}.png", full_page=True)

    def looks(self, theme: str, viewport: dict[str, int]) -> None:
        """At the same answer, on another screen."""
        self.page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        self.page.set_viewport_size(viewport)  # type: ignore[arg-type]
        widths = (
            "drawings => drawings.every(one => Math.abs(one.clientWidth - one.querySelector('svg').clientWidth) < 2)"
        )
        expect(self.page.locator("body")).to_be_visible()
        self.page.wait_for_function(f"() => ({widths})([...document.querySelectorAll('.plot')])")

    def unreadable(self) -> list[str]:
        """Serious violations of accessibility, a page that is wider than the screen, words outside their drawings."""
        found = Axe().run(self.page).response["violations"]
        serious = [one for one in found if one["impact"] in ("serious", "critical")]
        wider = self.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        return [
            *(f"{one['id']}: {one['nodes'][0]['html']}" for one in serious),
            *([f"{wider} pixels too wide"] if wider > 0 else []),
            *(f"outside its drawing: {word}" for word in self.page.evaluate(OUTSIDE)),
        ]


def exact(place: Locator) -> str:
    """What a place says, numbers with all of their digits whether they are shown or not."""
    return str(place.evaluate(_EXACT))


_EXACT = """
(place) => {
  const whole = place.cloneNode(true);
  whole.querySelectorAll("data").forEach((one) => { one.textContent = one.value; });
  return whole.textContent.trim();
}
"""
OUTSIDE = """
() => [...document.querySelectorAll("svg text")].filter((text) => {
  const [word, drawing] = [text.getBoundingClientRect(), text.closest("svg").getBoundingClientRect()];
  return word.left < drawing.left - 1 || word.right > drawing.right + 1
    || word.top < drawing.top - 1 || word.bottom > drawing.bottom + 1;
}).map((text) => text.textContent)
"""


@contextmanager
def visitor(browser: Browser, url: str, **options: Any) -> Iterator[Visitor]:
    """One with a browser of their own; in the end the page must have had nothing to complain of."""
    with person(browser, **options) as context:
        found = Visitor(context.new_page(), url)
        yield found
        assert found.problems == []
