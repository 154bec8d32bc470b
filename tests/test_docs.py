"""Every command and every Python block shown in README and docs is executed, and shows what it says."""

import contextlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from oracles.process import called
from oracles.survey import survey

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")] + sorted(
    (ROOT / "docs").rglob("*.md")
)
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


NUMBER = re.compile(r"(?<![\w.])\d[\d,]*\.?\d*(?:e[+-]?\d+)?(?![\w])")


def words(text: str) -> list[list[str]]:
    return [NUMBER.sub("#", line).replace("-#", "#").split() for line in text.splitlines()]


def same(expected: str, shown: str) -> bool:
    """Equal words, and numbers equal to 1e-4: the last digits of a numeric bound depend on the machine's libraries."""
    if words(expected) != words(shown):
        return False
    pairs = zip(NUMBER.findall(expected), NUMBER.findall(shown), strict=True)
    return all(float(a.replace(",", "")) == pytest.approx(float(b.replace(",", "")), rel=1e-4) for a, b in pairs)


def test_the_comparison_itself() -> None:
    assert same("best  0.1234567  1,000", "best 0.1234568 1,000")
    assert not same("best 0.1234567", "best 0.1235")
    assert not same("best 0.12", "rest 0.12")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_blocks_show_what_happens(page: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From top to bottom in one folder, as a reader types them in."""
    shutil.copy(survey(), tmp_path / "survey.csv")
    names: dict[str, object] = {}
    for language, body in BLOCK.findall(page.read_text(encoding="utf-8")):
        if language == "python":
            in_python(body, page, names, tmp_path, capsys)
        elif language == "console":
            for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
                command, _, expected = part.partition("\n")
                typed(command, expected, tmp_path)


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


def typed(command: str, expected: str, folder: Path) -> None:
    """A command does what is shown below it."""
    if command.startswith("make "):
        assert set(command.split()[1:]) <= TARGETS
    elif command.startswith("cat > "):
        name = command.removeprefix("cat > ").split()[0]
        (folder / name).write_text(expected.replace("EOF\n", ""))
    elif command.startswith("python "):
        done = subprocess.run(
            [sys.executable, command.split()[1]], cwd=folder, capture_output=True, text=True, check=True
        )
        assert done.stdout + done.stderr == expected
    else:
        assert command.startswith("shuffledp "), command
        parts = re.fullmatch(r"shuffledp (.*?)(?: > ([\w.-]+))?", command)
        assert parts is not None
        arguments, target = parts.groups()
        done = called(arguments, cwd=folder, environment={"XDG_STATE_HOME": str(folder / "state")})
        shown = done.stdout + (done.stderr if done.returncode else "")
        if target:
            (folder / target).write_text(shown)
            shown = ""
        if arguments.startswith("run ") and done.returncode == 0:  # a new answer each time: same words, other numbers
            assert words(expected) == words(shown), shown
        else:
            assert same(expected, shown), shown


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{target} in {page.name}"
