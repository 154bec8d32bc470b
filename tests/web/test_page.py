"""Every tab in a real browser, used as somebody would: typed, slid, wrong, back, reloaded, on a phone, in the dark."""

import contextlib
import csv as csv_module
import io
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from oracles.planner import Visitor, exact, visitor
from oracles.process import called
from shuffledp import Plan, RandomizedResponse, compare
from shuffledp.core.digits import about, at_most, rounded_up
from shuffledp.planning import registry

SCREENS = {"desk": {"width": 1280, "height": 900}, "phone": {"width": 390, "height": 800}}


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
        assert csv.startswith("epsilon,best: certified upper end,no proof can be below this line")
        assert len(csv.splitlines()) == 26
        drawing = user.downloads(user.page.get_by_role("button", name="SVG: Delta against epsilon"))
        assert drawing.startswith("<svg")
        assert "no proof can be below this line" in drawing


def test_plan_says_what_the_command_says(browser: Browser, url: str, tmp_path: Path) -> None:
    with visitor(browser, url) as user:
        user.goes_to("#plan")
        assert user.page.title() == "Plan · shuffledp"
        line = command_line(user)
        assert line.startswith("plan histogram --size 5 --objective share --share 1 --n 40000 --rmse-share 0.00510204")
        assert called(f"{line} --json", cwd=tmp_path).returncode == 0
        saved = user.downloads(user.page.get_by_role("button", name="Plan (JSON)"))
        assert saved == (tmp_path / "plan.json").read_text()
        made = Plan.from_document(json.loads(saved))
        assert made.over_time is not None
        assert user.number("epsilon of all 52 rounds together") == rounded_up(made.over_time.epsilon, 7)
        assert user.number("epsilon of one round") == rounded_up(made.guarantee.epsilon, 7)
        assert user.number("margin of error") == "± 1 point"
        text = exact(user.page.locator("#answer-words"))
        assert all(said in text for said in made.explain().splitlines())
        asking = "for this, ask 40,000 people, because 30 % of them may not answer"
        assert asking in text
        python = user.page.locator("pre").nth(1).inner_text()
        assert in_python(python) == f"{made.explain()}\n{asking}\n"
        risk = user.page.locator(".guesses .first").inner_text()
        assert re.fullmatch(r"Of 100 informed guesses about you, at most 5\d are right; by tossing a coin, 50.", risk)
        notice = user.downloads(user.page.get_by_role("button", name="Notice for participants"))
        assert risk in notice
        assert made.sha256 in notice
        book = json.loads(user.downloads(user.page.get_by_role("button", name="Notebook")))
        cells = ["".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == "code"]
        with contextlib.chdir(tmp_path):
            (tmp_path / "plan.json").unlink()
            in_python("\n".join(cells))
        assert (tmp_path / "plan.json").read_text() == saved


def in_python(lines: str) -> str:
    """What these lines print."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(lines, "shown", "exec"), {})
    return out.getvalue()


def test_the_dials_of_a_plan(browser: Browser, url: str) -> None:
    with visitor(browser, url) as user:
        user.goes_to("#plan?rounds=1")
        epsilon = float(user.number("epsilon, at delta"))
        local = user.number("epsilon of one person's messages")
        user.ticks("collude")
        first = user.page.locator(".numbers > div").first
        assert exact(first.locator("dd").first) == local
        assert "whatever shuffler and analyzer do" in user.page.locator(".guesses").inner_text()
        user.ticks("collude", on=False)
        user.types("lie", "50")
        assert float(user.number("epsilon, at delta")) > epsilon
        assert "14,000 of them relied on" in user.page.locator(".numbers").inner_text()
        user.types("lie", "5")
        assert float(user.number("epsilon, at delta")) == epsilon
        user.chooses("aim", "epsilon")
        user.types("epsilon", rounded_up(epsilon))
        assert user.number("margin of error").startswith(("± 1 ", "± 0.9999", "± 1.0000"))
        user.chooses("aim", "people")
        assert user.field("n").is_hidden()
        user.chooses("aim", "accuracy")
        user.types("rounds", "3")
        assert len(user.rows("What the rounds cost")) == 2
        assert user.page.locator("#answer-fewer svg text", has_text="half: ").count() == 1


def test_every_question_can_be_planned(browser: Browser, url: str) -> None:
    with visitor(browser, url) as user:
        user.goes_to("#plan?aim=epsilon&rounds=1&n=3000&dropout=0&lie=0")
        for question in registry.questions():
            if user.field("question").input_value() != question:
                user.field("question").select_option(question)
            # the next one does not wait for the pictures of this one
            expect(user.page.locator("#answer-words:not(.stale)")).to_contain_text(f"{question} of 3,000 users")
            assert user.number("epsilon, at delta") == "1", question


def test_what_is_wrong_with_a_plan_is_said_next_to_the_field(browser: Browser, url: str) -> None:
    rest = "--n 40000 --delta 1e-6 --epsilon 1"
    with visitor(browser, url) as user:
        user.goes_to("#plan?aim=epsilon&rounds=1&dropout=0&lie=0")
        for name, text, option in (
            ("size", "1", f"--size 1 {rest}"),
            ("share", "7", f"--size 5 --objective share --share 7 {rest}"),
            ("epsilon", "0", "--size 5 --n 40000 --delta 1e-6 --epsilon 0"),
            ("dropout", "100", f"--size 5 --dropout 1 {rest}"),
            ("lie", "100", f"--size 5 --honest-fraction 0 {rest}"),
            ("rounds", "1e9", f"--size 5 --rounds 1e9 {rest}"),
        ):
            held = user.field(name).input_value()
            user.types(name, text)
            assert user.message(name), name
            said = user.message(name).replace("honest_fraction", "--honest-fraction")  # fields, and options
            assert said in called(f"plan histogram {option}").stderr
            user.types(name, held)
            assert user.message(name) == ""
        user.page.get_by_role("button", name="More options").first.click()
        user.types("labels", "a,,b")
        assert user.message("labels").startswith("--labels has an empty text between its commas")
        user.goes_to("#plan?question=mean&precise=1e-9&rounds=1")
        assert user.message("precise") == "no epsilon gives an error that small. Allow a larger one."


def test_compare_says_what_the_command_says(browser: Browser, url: str) -> None:
    with visitor(browser, url) as user:
        user.page.goto(f"{url}/#compare?size=3&n=1000")
        expect(user.page.locator("#answer-lines")).to_be_visible()  # the picture may follow
        shown = user.rows("Side by side")
        printed = called(command_line(user)).stdout.splitlines()
        fewer = [
            [*words, local if local in ("-", "none") else at_most(float(local)), about(float(rmse))]
            for *words, local, rmse in shown
        ]
        assert fewer == [re.split(r"  +", line) for line in printed[1 : len(shown) + 1]]
        assert len(shown) > 15
        assert user.number("least error if people trust the curator") == next(
            row[5] for row in shown if row[1] == "the curator"
        )
        user.chooses("question", "distribution")
        user.page.get_by_text("Table", exact=True).click()
        rows = user.rows("Error against the number of people")
        assert [row[0] for row in rows] == [f"{10**j:,}" for j in range(3, 10)]
        csv = user.downloads(user.page.get_by_role("button", name="CSV: Error against"))
        header, thousand, *_ = csv_rows(csv)
        drawn = dict(zip(header[1:], map(float, thousand[1:]), strict=True))
        found = compare("distribution", n=1000, epsilon=1.0, delta=1e-6, low=0.0, high=100.0, resolution=100)
        assert drawn == {f"{row.name} ({row.trust})": row.rmse for row in found}
        assert len(drawn) >= 2


def csv_rows(text: str) -> Iterator[list[str]]:
    return iter(csv_module.reader(io.StringIO(text)))


def test_the_blanket_lies_under_every_law(browser: Browser, url: str) -> None:
    with visitor(browser, url) as user:
        user.goes_to("#blanket")
        assert user.number("gamma") == "0.6065306"
        user.slider("value").focus()
        user.asks(lambda: user.slider("value").press("Home"))
        assert user.field("value").input_value() == "0"
        csv = user.downloads(user.page.get_by_role("button", name="CSV: Distributions"))
        header, *rows = csv_rows(csv)
        assert header[:2] == ["message", "blanket: gamma omega"]
        assert all(float(row[1]) <= min(map(float, row[2:])) + 1e-12 for row in rows)
        user.chooses("randomizer", "rr")
        assert user.page.locator("rect.bar").count() >= 16
        assert float(user.number("gamma")) == pytest.approx(RandomizedResponse(size=8, epsilon0=1.0).gamma, rel=1e-3)
        user.types("symbol", "9")
        assert user.message("symbol") == "symbol must be from 0 to 7; got 9. It is what a person holds."
        user.goes_to("#blanket?randomizer=gaussian&sigma=2")
        assert user.number("local epsilon0") == "none"


def test_a_crowd_can_be_drawn_again(browser: Browser, url: str) -> None:
    with visitor(browser, url) as user:
        user.goes_to("#crowd")
        first = user.downloads(user.page.get_by_role("button", name="CSV: The crowd"))
        _, *people = csv_rows(first)
        assert len(people) == 120
        assert user.page.locator("svg .person").count() == 2 * 120 + 3
        assert user.page.locator("svg .ring").count() == sum(row[2] == "yes" for row in people)
        assert all(row[1] == row[3] for row in people if row[2] == "no")
        assert sorted(row[3] for row in people) == sorted(row[4] for row in people)
        counts = {row[0]: row for row in user.rows("What the analyzer makes of it")}
        assert {name: int(row[2]) for name, row in counts.items()} == Counter(row[3] for row in people)
        done = called("account --randomizer rr --size 3 --epsilon0 2 --n 120 --delta 1e-3 --json")
        epsilon = json.loads(done.stdout)["results"][0]["value"]
        assert user.number("epsilon of the crowd") == rounded_up(epsilon)
        user.asks(lambda: user.page.get_by_role("button", name="Draw again").click())
        assert user.page.url.endswith("#crowd?seed=2")
        assert user.downloads(user.page.get_by_role("button", name="CSV: The crowd")) != first
        user.asks(lambda: user.page.go_back())
        assert user.downloads(user.page.get_by_role("button", name="CSV: The crowd")) == first
        user.types("n", "401")
        assert user.message("n").startswith("n must be from 1 to 400 to be drawn; got 401.")


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


@pytest.mark.parametrize("tab", ["plan", "account", "compare?question=distribution", "blanket", "crowd"])
def test_a_tab_can_be_read_on_any_screen(browser: Browser, url: str, tab: str) -> None:
    with visitor(browser, url) as user:
        user.goes_to(f"#{tab}")
        for theme in ("light", "dark"):
            for screen, viewport in SCREENS.items():
                user.looks(theme, viewport)
                assert user.unreadable() == [], (theme, screen)
                user.shot(f"{tab.partition('?')[0]}-{theme}-{screen}")
                ground = user.page.evaluate("getComputedStyle(document.body).backgroundColor")
                light = sum(map(int, re.findall(r"\d+", ground)[:3])) > 380
                assert light == (theme == "light")


def test_what_cannot_be_read_is_noticed(browser: Browser, url: str) -> None:
    with visitor(browser, url) as user:
        user.goes_to("#crowd")
        user.page.evaluate("document.querySelector('h1').style.color = '#ddd'")
        user.page.evaluate("document.querySelector('h2').style.width = '3000px'")
        user.page.evaluate("document.querySelector('svg text').setAttribute('x', -500)")
        contrast, wide, outside = user.unreadable()
        assert contrast.startswith("color-contrast: <h1")
        assert wide.endswith("pixels too wide")
        assert outside == "outside its drawing: What people hold"
