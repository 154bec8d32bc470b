"""README fits a minute: it is short, shows what happens, and its numbers are those of the commands that it names."""

import contextlib
import io
import math
import re
import shlex
import tomllib
from pathlib import Path

import click
import pytest

import shuffle_model
from bench_other_tools import ROWS, USERS
from oracles.installed import ROOT
from oracles.process import called
from oracles.scale import full
from oracles.terminal import abridged, words
from shuffledp import plan
from shuffledp.cli import cli
from shuffledp.core.installed import extras

README = (ROOT / "README.md").read_text(encoding="utf-8")
HOW_TIGHT = (ROOT / "docs" / "how-tight.md").read_text(encoding="utf-8")
MOST_LINES, MOST_LETTERS = 150, 100
ASKED = ["--n", "100000", "--epsilon", "1", "--delta", "1e-6"]
ROW_NAMES = {
    "blanket (Balle et al. 2019)": "10 values: the paper, Bennett",
    "shuffledp": "10 values: shuffledp",
    "no proof can go lower": "10 values: no proof can be below",
}
"""Rows of the table of README, and the benchmark's names for them."""
OTHER_PROGRAM = "[others](docs/how-tight.md)"
"""The row that is not of the benchmark, which installs no other program."""
FORECASTS = (
    "one bin by about",
    "expected error: at most",
    "an entry errs by about",
    "the answer errs by about",
    "that nobody holds errs by about",
    "a text that at least",
    "each column is off by at most",
    "each within",
    "a coefficient of 0 is off by about",
)
"""What a plan writes before how far off its answer is."""


def table(text: str, first: str) -> list[list[str]]:
    """The rows of the table whose first column has this title."""
    (rows,) = re.findall(rf"^\| {re.escape(first)} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", text, re.MULTILINE)
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows.splitlines()]


def test_it_is_short_and_has_what_a_reader_looks_for() -> None:
    lines = README.splitlines()
    assert len(lines) <= MOST_LINES
    assert [line for line in lines if len(line) > MOST_LETTERS] == []
    pictures = [number for number, line in enumerate(lines) if line.startswith("![")]
    assert pictures[0] < 8
    for text in ("'shuffledp[all]'", "make demo", "make test", ".venv/bin/shuffledp", "bench_other_tools.py"):
        assert text in README


def test_what_the_first_lines_state_is_so() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    badges = README.splitlines()[4]
    assert badges.startswith(f"{project['license']} · Python ")
    versions = [line.rsplit(" ", 1)[1] for line in project["classifiers"] if re.search(r":: 3\.\d+$", line)]
    assert re.findall(r"3\.\d+", badges) == versions
    status = next(line.rsplit(" ", 1)[1] for line in project["classifiers"] if line.startswith("Development Status"))
    assert f"version {project['version']}, {status.lower()}" in badges


def test_every_extra_is_listed_with_its_size() -> None:
    sizes = dict[str, str]()
    for names, _, size in table(README, "extra"):
        sizes |= zip(names.replace("`", "").split(", "), size.replace(" MB", "").split(", "), strict=True)
    assert set(sizes) == {"none", *(f"[{name}]" for name in extras() if name not in ("", "demo"))}
    faq = (ROOT / "docs" / "faq.md").read_text(encoding="utf-8")
    known = {
        cells[0].strip("`").replace("shuffledp without extras", "none"): cells[1] for cells in table(faq, "installed")
    }
    assert sizes.items() <= known.items()


def test_the_program_prints_what_is_shown(tmp_path: Path) -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    (shown,) = re.findall(r"^```text\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert len([line for line in program.splitlines() if line]) == 5
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(program, {})
    assert words(abridged(printed.getvalue(), shown), drawn=True) == words(shown, drawn=True)


def test_the_picture_has_the_numbers_of_the_comparison() -> None:
    """They are drawn from it; pages that repeat them repeat these."""
    drawn = shuffle_model.errors()
    assert list(drawn) == ["the curator", "the shuffler", "nobody"]
    assert "![A count is off by {} with a curator, {} shuffled, {} locally]".format(*drawn.values()) in README
    curator, shuffler, nobody = drawn.values()
    text = " ".join(README.split())
    assert f"a shuffled count of a million people is off by {shuffler}." in text
    assert f"would be off by {curator}; with nobody trusted" in text
    assert f"it would be {nobody}." in text
    ((people, fewer),) = re.findall(r"Small crowds gain less: among (\d+), shuffled, it is (\d+)\.", text)
    asked = plan.histogram(size=shuffle_model.BINS, n=int(people), epsilon=1, delta=1e-6)
    assert round(asked.rmse / math.sqrt(shuffle_model.BINS)) == int(fewer)


@pytest.mark.parametrize("row", table(README, "question"), ids=lambda row: row[0])
def test_what_can_be_asked_is_as_accurate_as_stated(row: list[str], tmp_path: Path) -> None:
    """By the forecast that the command prints; where that is for each group, of a group with a tenth of the people."""
    (tmp_path / "questions.toml").write_text(
        '[[question]]\nname = "travel"\nask = "histogram"\nlabels = ["bike", "bus", "car"]\n'
        '[[question]]\nname = "minutes"\nask = "mean"\nlow = 0\nhigh = 120\n'
    )
    stated = [float(number) for number in re.findall(r"(?<!of )\b\d+(?:\.\d+)?", row[2])]
    for typed in re.findall(r"`([^`]*)`", row[1]):
        done = called(["plan", *shlex.split(typed), *ASKED], cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        found = [float(number) for number in re.findall(rf"(?:{'|'.join(FORECASTS)}) ([\d.]+)", done.stdout)]
        for number in stated:
            digits = len(str(number).partition(".")[2]) if number % 1 else 0
            assert number in [round(one, digits) for one in found], (typed, found)


def test_every_command_that_it_names_exists() -> None:
    """Each option belongs to its command, or, where none is named, to `plan` or `run`."""
    planned = [f"plan {typed}" for row in table(README, "question") for typed in re.findall(r"`([^`]*)`", row[1])]
    (others,) = re.findall(r"^Other commands: (.*?)\n\n", README, re.MULTILINE | re.DOTALL)
    named = re.findall(r"`shuffledp ([^`.A-Z]+?)`", README) + re.findall(r"`([^`]*)`", others)
    named += [f"run {option}" for option in re.findall(r"`(--[^`]*)`", README) if option.startswith(("--m", "--o"))]
    assert len(named) > 12
    for typed in [*planned, *named]:
        rest = typed.split()
        command: click.Command = cli
        while rest and isinstance(command, click.Group):
            found = command.get_command(click.Context(command), rest.pop(0))
            assert found is not None, typed
            command = found
        options = {name for param in command.get_params(click.Context(command)) for name in param.opts}
        assert {word for word in rest if word.startswith("-")} <= options, typed


def check_row(name: str, cells: list[str]) -> None:
    """Four digits to the safe side of what the benchmark finds."""
    assert len(cells) == len(USERS)
    for cell, n in zip(cells, USERS, strict=True):
        if "floats" in name and n > full(10**6, 10**8):
            continue  # takes seconds
        found = ROWS[name](n)
        if cell == "-":
            assert math.isnan(found)
        else:
            step = 10.0 ** (math.floor(math.log10(found)) - 3)
            assert (0 <= found - float(cell) < step) if "below" in name else (0 <= float(cell) - found < step)


@pytest.mark.parametrize("row", table(README, "proof"), ids=lambda row: row[0])
def test_how_tight_is_what_the_benchmark_finds(row: list[str]) -> None:
    name = row[0].strip("*").partition(",")[0]
    if name != OTHER_PROGRAM:
        check_row(ROW_NAMES[name], row[1:])


@pytest.mark.parametrize("name", ROWS)
def test_the_table_of_proofs_is_what_the_benchmark_finds(name: str) -> None:
    (row,) = re.findall(rf"^\| {re.escape(name)} \|(.*)\|$", HOW_TIGHT.replace("**", ""), re.MULTILINE)
    check_row(name, [cell.split()[0] for cell in row.split("|")])


def test_the_other_program_is_the_one_of_how_tight() -> None:
    (row,) = [row for row in table(README, "proof") if row[0].startswith(OTHER_PROGRAM)]
    assert f"As of {row[0].partition(', ')[2]}" in HOW_TIGHT
    (measured,) = re.findall(r"^\| 10-RR, epsilon0 = 2, .*?\| (.*?) \|", HOW_TIGHT, re.MULTILINE)
    few, many, most = (cell.split()[0] for cell in measured.split(" / "))
    assert row[1:] == [f"{few} (wrong: see last row)", many, most]
    assert "below the truth" in measured.split(" / ")[0]
