"""A stranger's path: README's commands and nothing else, in an empty environment and an empty folder, to a private answer."""

import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from oracles.installed import ROOT, build, install
from oracles.terminal import commands
from shuffledp import example_people

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_readme_leads_to_a_first_private_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All is typed as it stands there, except that `pip` takes this wheel, and packages from what was fetched for the tests."""
    (extras,) = re.findall(r"^\$ pip install '\.\[(.*)\]'$", README, re.MULTILINE)
    (section,) = re.findall(r"^## Rehearse on a CSV file.*?^```console\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    typed = [words for words, _ in commands(section)]
    assert [words.split()[:2] for words in typed] == [["shuffledp", name] for name in ("example", "plan", "run")]
    start = time.perf_counter()
    environment = install(build(tmp_path / "dist"), tmp_path / "empty", extras=tuple(extras.split(",")))
    home = tmp_path / "home"
    home.mkdir()
    shown = ""
    for words in typed:
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
    truth = {name: example_people()["travel"].count(name) for name in ("bike", "bus", "car")}
    lines = dict(re.findall(r"^(bike|bus|car) +([\d,.]+) ", shown, re.MULTILINE))
    assert {name: float(count.replace(",", "")) for name, count in lines.items()} == pytest.approx(truth, abs=100)
    assert "guarantee: (1, 1e-6)-differentially private" in shown
