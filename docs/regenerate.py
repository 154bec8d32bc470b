"""Rewrite the output shown under every `$ shuffledp` command in README and docs (`make docs`)."""

import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def regenerated(block: "re.Match[str]", folder: str) -> str:
    """The block with what its commands print now; `make`, `cat` and abridged outputs stay as they are."""
    text = ""
    for part in re.split(r"^\$ ", block.group(1), flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        if command.startswith("shuffledp ") and "..." not in output:
            program = str(Path(sys.executable).with_name("shuffledp"))
            arguments, _, target = command.removeprefix("shuffledp ").partition(" > ")
            done = subprocess.run(
                [program, *shlex.split(arguments)], capture_output=True, text=True, cwd=folder, check=False
            )
            output = done.stdout + (done.stderr if done.returncode else "")
            if target:
                (Path(folder) / target).write_text(output)
                output = ""
        text += f"$ {command}\n{output}"
    return f"```console\n{text}```"


for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
    with tempfile.TemporaryDirectory() as scratch:
        old = page.read_text(encoding="utf-8")
        new = BLOCK.sub(lambda block, scratch=scratch: regenerated(block, scratch), old)  # type: ignore[misc]
        if new != old:
            page.write_text(new, encoding="utf-8")
            print(f"rewrote {page.relative_to(ROOT)}")
