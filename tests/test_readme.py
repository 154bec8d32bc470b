"""README is short, and the numbers of its table are those of the benchmark that it names."""

import math
import re

import pytest

from bench_other_tools import ROWS, USERS
from oracles.installed import ROOT
from oracles.scale import full

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_it_is_short_and_has_what_a_reader_looks_for() -> None:
    lines = README.splitlines()
    assert len(lines) < 130
    assert next(number for number, line in enumerate(lines) if line.startswith("![")) < 8
    (program,) = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert 5 < len([line for line in program.splitlines() if line]) <= 10
    for words in ("'shuffledp[all]'", ".venv/bin/shuffledp", "quarter of an hour", "bench_other_tools.py"):
        assert words in README


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
