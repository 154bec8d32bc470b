"""Rewrite the output shown under every command in README and docs (`make docs`), or in the pages given."""

import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests"))
from oracles.terminal import RANDOM, Terminal, abridged, commands, settled, words  # noqa: E402

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def shape(text: str) -> tuple[list[list[str]], list[int], str]:
    """The words, how many decimals each number has, and what no draw changes."""
    return words(text, drawn=True), [len(decimals) for decimals in re.findall(r"\.(\d+)", text)], settled(text)


def regenerated(block: str, terminal: Terminal) -> str:
    """The block with what its commands print now; an answer that differs in its random numbers only stays."""
    text = ""
    for command, below in commands(block):
        shown = terminal.type(command, below)
        shown = shown and abridged(shown, below)
        if shown is None or (RANDOM.match(command) and shape(shown) == shape(below)):
            shown = below
        text += f"$ {command}\n{shown}"
    return f"```console\n{text}```"


given = [Path(name).resolve() for name in sys.argv[1:]]
for page in given or [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
    with tempfile.TemporaryDirectory() as scratch, Terminal(Path(scratch)) as terminal:
        old = page.read_text(encoding="utf-8")
        new = BLOCK.sub(lambda block, terminal=terminal: regenerated(block[1], terminal), old)  # type: ignore[misc]
        if new != old:
            page.write_text(new, encoding="utf-8")
            print(f"rewrote {page.relative_to(ROOT)}")
