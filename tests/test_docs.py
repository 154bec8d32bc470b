"""Every command and every Python block shown in README and docs is executed, and shows what it says."""

import contextlib
import re
from importlib.metadata import metadata
from pathlib import Path

import pytest

from oracles.terminal import RANDOM, Terminal, abridged, commands, numbers, settled, words

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "SECURITY.md")] + sorted(
    (ROOT / "docs").rglob("*.md")
)
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLOWER = re.compile(r"^from flwr\b", re.MULTILINE)
"""Blocks that `tests/federated/in_flower` executes, in Flower's environment."""
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def same(expected: str, shown: str) -> bool:
    """Equal words, and numbers equal to 1e-4: the last digits of a numeric bound depend on the machine's libraries."""
    return words(expected) == words(shown) and numbers(expected) == pytest.approx(numbers(shown), rel=1e-4)


def test_the_comparison_itself() -> None:
    assert same("best  0.1234567  1,000", "best 0.1234568 1,000")
    assert not same("best 0.1234567", "best 0.1235")
    assert not same("best 0.12", "rest 0.12")


def test_what_is_cut_on_a_page() -> None:
    shown = "one two three\nfour\nfive\n"
    assert abridged(shown, "one two ...\nfour\n...\n") == "one two ...\nfour\n...\n"
    assert abridged(shown, "one ...\nfour\nfive\n") == "one ...\nfour\nfive\n"
    for below in ("one two three ...\nfour\nfive\n", "one two three\nfour\n", "one two three\nfour\nfive\n...\n", ""):
        assert abridged(shown, below) == shown  # nothing is left there to cut


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_blocks_show_what_happens(page: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From top to bottom in one folder, as a reader types them in."""
    names: dict[str, object] = {}
    with Terminal(tmp_path) as terminal:
        for language, body in BLOCK.findall(page.read_text(encoding="utf-8")):
            if language == "python" and not FLOWER.search(body):
                in_python(body, page, names, tmp_path, capsys)
            elif language == "console":
                for command, expected in commands(body):
                    in_a_terminal(command, expected, terminal)


def in_python(
    body: str, page: Path, names: dict[str, object], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Blocks of a page share their names; a line `print(x)  # y` must print y."""
    capsys.readouterr()
    with contextlib.chdir(folder):
        exec(compile(body, str(page), "exec"), names)
    promised = [line.rsplit("  # ", 1)[1] for line in body.splitlines() if re.match(r"\s*print\(.*\)  # ", line)]
    printed = capsys.readouterr().out.splitlines()
    assert not promised or printed == promised


def in_a_terminal(command: str, expected: str, terminal: Terminal) -> None:
    """A command does what is shown below it; one that draws random numbers shows other ones in the same words."""
    if command.startswith("make "):
        assert set(command.split()[1:]) <= TARGETS
        return
    if command.startswith("pip install "):
        ((package, extras),) = re.findall(r"'([^\[]*)\[([^]]*)\]'$", command)
        assert package in (".", "shuffledp")
        assert set(extras.split(",")) <= set(metadata("shuffledp").get_all("Provides-Extra") or ())
        return
    shown = terminal.type(command, expected)
    assert shown is not None
    shown = abridged(shown, expected)
    if RANDOM.match(command) and not terminal.failed:
        assert words(expected, drawn=True) == words(shown, drawn=True), shown
        assert same(settled(expected), settled(shown)), shown
    else:
        assert same(expected, shown), shown


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{target} in {page.name}"


STORIES = [page for page in PAGES if re.search(r"\btask [0-9a-f]{12}|\bledger head ", page.read_text(encoding="utf-8"))]
"""Pages that show a task or a ledger."""


def contradictions(text: str) -> list[str]:
    """What a page shows that belongs to another story: more than one task, or another ledger after as many releases."""
    tasks = {found[:12] for found in re.findall(r"\btask ([0-9a-f]{12,64})\b", text)}
    tasks |= {found[:8] for found in re.findall(r'taskId: "([0-9a-f]{8})', text)}
    found = [f"task {task}" for task in tasks if not all(task[:8] == other[:8] for other in tasks)]
    heads, budgets = dict[str, str](), dict[str, str]()
    for spent, releases, head in re.findall(r"budget: epsilon = (.*) in (\d+) releases?\nledger head (\w+)", text):
        if heads.setdefault(releases, head) != head:
            found.append(f"ledger head {head}")
        if budgets.setdefault(releases, spent) != spent:
            found.append(f"budget {spent}")
    if len(re.findall("ledger head ", text)) > len(re.findall(r"spent .*\nledger head ", text)):
        found.append("a ledger head without its budget")
    return found


@pytest.mark.parametrize("page", STORIES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_page_tells_one_story(page: Path) -> None:
    assert contradictions(page.read_text(encoding="utf-8")) == []


def test_two_stories_on_a_page_are_noticed() -> None:
    task, budget = f"task {'a1' * 32}\n", "budget: epsilon = 0.5 of 3 spent at delta = 0.1 in 1 release\nledger head "
    assert contradictions(f"{task}task a1a1a1a1a1a1 batch 1\n{budget}aa\n{budget}aa\n") == []
    assert len(contradictions(f"{task}task b1a1a1a1a1a1 batch 1\n")) == 2
    assert contradictions(f"{budget}aa\n{budget}ab\n") == ["ledger head ab"]
    assert contradictions(f"{budget}aa\n{budget.replace('0.5', '0.6')}aa\n") == ["budget 0.6 of 3 spent at delta = 0.1"]
