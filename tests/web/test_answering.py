"""What the page shows while it computes, in how many digits, what it warns of, and what can be chosen."""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import get_args, get_type_hints

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from oracles.planner import Visitor, exact, visitor
from shuffledp import plan
from shuffledp.planning import registry
from shuffledp.planning.planner import Planner
from shuffledp.web.tabs import TABS

QUICK = "#account?size=3"
FREE_TEXT = {
    "labels", "by", "target", "features", "alphabet", "worded", "title", "unit", "candidates", "columns", "questions", "ranges",
    "matrix",
}  # fmt: skip
"""Fields of which nobody can list the values."""


@contextmanager
def held(page: Page) -> Iterator[list[Route]]:
    """Questions that the planner has not got yet."""
    found: list[Route] = []
    page.route("**/answer/**", lambda route: found.append(route))
    yield found
    page.unroute("**/answer/**")


def test_what_can_be_listed_is_chosen() -> None:
    listed = {option.name: option.words for option in registry.options() if option.choices}
    assert {"objective", "way"} <= listed.keys()
    for tab in TABS.values():
        for field in tab.fields:
            assert field.kind not in ("text", "lines") or field.name in FREE_TEXT, (tab.name, field.name)
            if field.name in listed:
                assert (field.kind, [value for value, _ in field.choices]) == ("choice", ["", *listed[field.name]])
    for question, name in (("histogram", "objective"), ("survey", "way")):
        kinds = get_type_hints(getattr(Planner, question))
        assert get_args(get_args(kinds[name])[0]) == listed[name]


def test_choices_are_chosen_and_switches_switched(browser: Browser, url: str) -> None:
    with visitor(browser, url) as user:
        user.goes_to("#plan?rounds=1&n=4000&margin=5")
        words = user.field("objective").locator("option").all_inner_texts()
        assert words == ["the usual", "the error of all bins together", "the error of a single bin"]
        user.chooses("objective", "total")  # a share belongs to the other objective: it is not asked for
        expect(user.field("share")).to_be_hidden()
        assert "--objective total --n" in user.page.locator("pre").first.inner_text()
        user.goes_to("#plan?rounds=1&objective=beauty")
        assert user.message("objective") == "'beauty' is not one of the choices. Choose one."
        user.page.get_by_role("button", name="Go to the field").click()
        expect(user.field("objective")).to_be_focused()
        box = user.field("collude")
        assert box.get_attribute("type") == "checkbox"
        assert user.page.get_by_label("Shuffler and analyzer work together").is_visible()
        assert [user.field(name).get_attribute("inputmode") for name in ("n", "dropout", "delta")] == [
            "numeric",
            "decimal",
            "text",
        ]


MOMENT = """
const wait = window.setTimeout;
window.setTimeout = (act, time) => {
  if (time !== 300) return wait(act, time);
  window.moment = act;
  return -1;
};
"""


def test_a_quick_answer_has_no_sign_and_a_slow_one_has(browser: Browser, url: str) -> None:
    """The moment passes when this test says so; then there are words, a bar and a mark on the former answer."""
    with visitor(browser, url) as user:
        page, status, bar = user.page, user.page.locator("#status"), user.page.locator("#working")
        page.add_init_script(MOMENT)
        user.goes_to(QUICK)
        assert (status.inner_text(), bar.is_hidden()) == ("", True)
        former = user.number("epsilon, at delta")
        top = page.locator("#answer").bounding_box()
        with held(page) as routes:
            with page.expect_request("**/answer/**"):
                user.field("n").fill("20000")
            expect(page.locator("#answer")).to_have_attribute("aria-busy", "true")
            assert bar.is_hidden()
            assert not page.locator("#answer.late").count()
            page.evaluate("moment()")
            expect(bar).to_be_visible()
            expect(status).to_have_text("Waiting for the planner …")
            assert status.get_attribute("role") == "status"
            assert page.locator("#answer").bounding_box() == top  # nothing has moved
            assert user.number("epsilon, at delta") == former
            card = page.locator(".card.stale").first
            assert card.evaluate("one => getComputedStyle(one, '::after').content") == '"previous answer"'
            assert user.unreadable() == []
            routes.pop().continue_()
        user.waits()
        expect(bar).to_be_hidden()
        expect(status).to_have_text("Up to date.")
        assert not page.locator(".stale").count()
        assert user.number("epsilon, at delta") != former


ENDLESS = """
const asked = window.fetch;
const said = new TextEncoder().encode('{"kind":"doing","words":"Looking for something"}\\n');
window.fetch = (where, ...more) => (where.startsWith("/answer/")
  ? Promise.resolve(new Response(new ReadableStream({ start: (stream) => stream.enqueue(said) }))) : asked(where, ...more));
"""


def test_what_is_computed_is_said(browser: Browser, url: str) -> None:
    """Where there is no answer yet, too."""
    with visitor(browser, url) as user:
        user.page.add_init_script(ENDLESS)
        user.page.goto(f"{url}/#crowd")
        expect(user.page.locator("#status")).to_have_text("Looking for something …")
        expect(user.page.locator("#working")).to_be_visible()
        assert user.page.locator("#answer").bounding_box()["height"] > 100  # type: ignore[index]
        assert user.unreadable() == []


@pytest.mark.parametrize(
    ("tab", "given", "words"),
    [
        ("plan", {"aim": "epsilon", "epsilon": "1", "rounds": "3"}, "at this epsilon of 3 rounds together (histogram)"),
        ("account", {"by": "epsilon0", "epsilon0": "1", "rounds": "7"}, "Computing epsilon of 7 rounds together"),
        ("compare", {}, "Computing the error of "),
    ],
)
def test_every_tab_that_takes_a_while_says_what_it_computes(tab: str, given: dict[str, str], words: str) -> None:
    starts = {field.name: field.start for field in TABS[tab].fields if not field.only and field.start}
    first = next(TABS[tab].asked(starts | {"n": "1000", "size": "3"} | given))
    assert first["kind"] == "doing"
    assert words in first["words"]


def test_whoever_has_waited_long_enough_stops_and_asks_again(browser: Browser, url: str) -> None:
    with visitor(browser, url) as user:
        page, bar, button = user.page, user.page.locator("#working"), user.page.locator("#stop")
        user.goes_to(QUICK)
        with held(page) as routes:
            user.field("n").fill("20000")
            expect(bar).to_be_visible()
            button.click()
            expect(bar).to_be_hidden()
            expect(page.locator("#answer")).to_have_attribute("aria-busy", "false")
            expect(page.locator("#status")).to_have_text("Stopped. The marked answer is the previous one.")
            assert page.locator(".stale").count() == page.locator("#answer .card").count() > 0
            expect(button).to_have_text("Ask again")
            for route in routes:
                route.abort()
        user.asks(button.click)
        expect(button).to_be_hidden()
        assert not page.locator(".stale").count()


def test_a_planner_that_does_not_answer_leaves_no_sign_of_life(browser: Browser, url: str) -> None:
    with visitor(browser, url) as user:
        user.goes_to(QUICK)
        with held(user.page) as routes:
            user.field("n").fill("20000")
            expect(user.page.locator("#working")).to_be_visible()
            routes.pop().abort()
            expect(user.page.locator("#answer [role=alert]")).to_contain_text("The planner does not answer")
            expect(user.page.locator("#working")).to_be_hidden()
            assert user.page.locator("#answer").get_attribute("aria-busy") == "false"
            assert not user.page.locator("#answer progress").count()
        assert [re.sub("^.*: ", "", one) for one in user.problems] == ["net::ERR_FAILED"]
        user.problems.clear()


@pytest.mark.parametrize(("motion", "animation"), [("reduce", "none"), ("no-preference", "working")])
def test_nothing_moves_for_those_who_do_not_want_it(browser: Browser, url: str, motion: str, animation: str) -> None:
    with visitor(browser, url, reduced_motion=motion) as user:
        user.goes_to(QUICK)
        with held(user.page) as routes:
            user.field("n").fill("20000")
            bar = user.page.locator("#working")
            expect(bar).to_be_visible()
            assert bar.evaluate("one => getComputedStyle(one, '::after').animationName") == animation
            routes.pop().continue_()
        user.waits()


def headline(user: Visitor) -> str:
    return user.page.locator(".numbers dd").first.inner_text()


def test_three_digits_or_all_of_them(browser: Browser, url: str) -> None:
    with visitor(browser, url) as user:
        user.goes_to(QUICK)
        switch = user.page.get_by_label("All digits")
        every, short = user.number("epsilon, at delta"), headline(user)
        assert len(short.replace("0.", "").lstrip("0")) == 3 < len(every.replace("0.", "").lstrip("0"))
        assert float(every) <= float(short) <= float(every) * 1.01
        assert user.page.locator(".numbers data[value]").nth(1).get_attribute("title") == every
        command = user.page.locator("pre").first.inner_text()
        mark = user.page.locator(".plot svg .halo")
        assert mark.evaluate("one => one.firstChild.data") == f"epsilon = {short}"
        user.page.get_by_text("Table", exact=True).click()
        saved = user.downloads(user.page.get_by_role("button", name="CSV: Every bound"))
        assert every in saved
        points = user.page.get_by_role("region", name="Table: Delta against epsilon").locator("tbody tr")
        for row in points.all():
            for cell in row.locator("th, td").all()[:2]:  # the certified line: no pair of fewer digits claims more
                assert float(cell.inner_text()) >= float(exact(cell))
        switch.check()
        assert headline(user) == every
        assert user.page.url.endswith(f"{QUICK}&all-digits=yes")
        assert mark.evaluate("one => one.firstChild.data") == f"epsilon = {every}"
        assert user.downloads(user.page.get_by_role("button", name="CSV: Every bound")) == saved
        assert user.page.locator("pre").first.inner_text() == command
        # remembered: by the address, by other tabs, and undone by going back
        user.page.reload()
        user.waits()
        assert (headline(user), switch.is_checked()) == (every, True)
        user.asks(lambda: user.page.get_by_role("link", name="Crowd").click())
        assert user.page.url.endswith("#crowd?all-digits=yes")
        assert headline(user) == user.number("epsilon of the crowd")
        user.asks(user.page.go_back)
        user.asks(user.page.go_back)
        assert (headline(user), switch.is_checked()) == (short, False)


def test_doubts_about_a_plan_are_said_once(browser: Browser, url: str) -> None:
    with visitor(browser, url) as user:
        user.goes_to("#plan?aim=epsilon&epsilon=20.00012&rounds=1&n=500&delta=1e-2&dropout=0&lie=0")
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            plan("histogram", size=5, objective="share", share=1.0, n=500, epsilon=20.00012, delta=1e-2)
        said = [exact(line) for line in user.page.locator(".warnings p").all()]
        assert said == [str(one.message) for one in heard]
        assert len(said) == 2
        assert "epsilon = 20.1 is large" in user.page.locator(".warnings").inner_text()
        text = exact(user.page.locator("#answer"))
        assert all(text.count(one) == 1 for one in said)
        assert user.unreadable() == []
        user.types("epsilon", "1")
        user.types("delta", "1e-6")
        expect(user.page.locator(".warnings")).to_have_count(0)
