"""A stranger's path: README's commands and nothing else, in an empty environment, to an answer about a file of their own."""

import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from oracles.installed import ROOT, build, install
from oracles.terminal import commands

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_readme_leads_to_a_first_private_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All is typed as it stands there, except that `pip` takes this wheel, and packages from what was fetched for the tests."""
    (section,) = re.findall(r"^## A first answer.*?^```console\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    (installing, _), *typed = commands(section)
    (extras,) = re.findall(r"^pip install '\.\[(.*)\]'$", installing)
    assert [words.split()[:2] for words, _ in typed] == [["shuffledp", "plan"], ["shuffledp", "run"]]
    start = time.perf_counter()
    environment = install(build(tmp_path / "dist"), tmp_path / "empty", extras=tuple(extras.split(",")))
    home = tmp_path / "home"
    home.mkdir()
    truth = {"often": 12_345, "sometimes": 2_345, "never": 9_876}
    rows = "".join(f"{number},{answer}\n" for answer, count in truth.items() for number in range(count))
    (home / "people.csv").write_text("number,answer\n" + rows)
    shown = ""
    for words, _ in typed:
        done = subprocess.run(
            shlex.split(words),
            cwd=home,
            env=environment | {"HOME": str(home)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        shown = done.stdout
    (program,) = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    done = subprocess.run(
        ["python", "-c", program], cwd=home, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "differentially private" in done.stdout
    with capsys.disabled():
        sys.stdout.write(f"\na stranger's first private answer took {time.perf_counter() - start:.0f} s\n")
    lines = dict(re.findall(r"^(never|sometimes|often) +([\d,.]+) ", shown, re.MULTILINE))
    assert {name: float(count.replace(",", "")) for name, count in lines.items()} == pytest.approx(truth, abs=100)
    assert "guarantee: (1, 1e-6)-differentially private" in shown
