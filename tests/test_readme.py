"""README is short, and the numbers of its table are those of the benchmark that it names."""

import math
import re

import click
import pytest

from bench_other_tools import ROWS, USERS
from oracles.installed import ROOT
from oracles.scale import full
from shuffledp.cli import cli

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_it_is_short_and_has_what_a_reader_looks_for() -> None:
    lines = README.splitlines()
    assert len(lines) < 130
    assert next(number for number, line in enumerate(lines) if line.startswith("![")) < 8
    (program,) = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert 5 < len([line for line in program.splitlines() if line]) <= 10
    for words in ("'shuffledp[all]'", ".venv/bin/shuffledp", "quarter of an hour", "bench_other_tools.py"):
        assert words in README


def test_every_command_that_it_names_is_there() -> None:
    """Each option belongs to its command, or, where none is named, to `plan` or `run`."""
    _, _, table = README.partition("| you want |")
    rows = [row.split("|")[2] for row in table.split("\n\n")[0].splitlines()[2:]]
    assert len(rows) == 15
    for row in rows:
        for typed in re.findall(r"`([^`]*)`", row):
            words = typed.split()
            command: click.Command = cli
            if words[0].startswith("-"):
                words = ["plan", *words]
            while words and isinstance(command, click.Group):
                found = command.get_command(click.Context(command), words.pop(0))
                assert found is not None, typed
                command = found
            options = {name for param in command.get_params(click.Context(command)) for name in param.opts}
            assert {word for word in words if word.startswith("-")} <= options, typed


@pytest.mark.parametrize("name", ROWS)
def test_the_table_is_what_the_benchmark_finds(name: str) -> None:
    (row,) = re.findall(rf"^\| {re.escape(name)} \|(.*)\|$", README.replace("**", ""), re.MULTILINE)
    cells = [cell.split()[0] for cell in row.split("|")]
    assert len(cells) == len(USERS)
    for cell, n in zip(cells, USERS, strict=True):
        if "floats" in name and n > full(10**6, 10**8):
            continue  # takes seconds
        found = ROWS[name](n)
        if cell == "-":
            assert math.isnan(found)
        else:
            step = 10.0 ** (math.floor(math.log10(found)) - 3)  # four digits, to the safe side
            assert (0 <= found - float(cell) < step) if "below" in name else (0 <= float(cell) - found < step)
