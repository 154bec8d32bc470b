"""Rewrite the output shown under every `$ shuffledp` command in README and docs (`make docs`), or in the pages given."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests"))
from oracles.survey import survey  # noqa: E402

NUMBER = re.compile(r"-?[\d.,]+(?:e[+-]?\d+)?")

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def regenerated(block: "re.Match[str]", folder: str) -> str:
    """The block with what its commands print now; `make`, `cat` and abridged outputs stay as they are."""
    text = ""
    for part in re.split(r"^\$ ", block.group(1), flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        if command.startswith("cat > "):
            (Path(folder) / command.split()[2]).write_text(output.replace("EOF\n", ""))
        if command.startswith("python "):
            subprocess.run([sys.executable, command.split()[1]], cwd=folder, check=True)
        if command.startswith("shuffledp ") and "..." not in output:
            program = str(Path(sys.executable).with_name("shuffledp"))
            arguments, target = re.fullmatch(r"shuffledp (.*?)(?: > ([\w.-]+))?", command).groups()  # type: ignore[union-attr]
            done = subprocess.run(
                [program, *shlex.split(arguments)], capture_output=True, text=True, cwd=folder, check=False,
                env=os.environ | {"XDG_STATE_HOME": f"{folder}/state"},
            )  # fmt: skip
            shown = done.stdout + (done.stderr if done.returncode else "")
            if not (arguments.startswith("run ") and NUMBER.sub("#", shown).split() == NUMBER.sub("#", output).split()):
                output = shown  # an answer that differs in its random numbers only stays
            if target:
                (Path(folder) / target).write_text(output)
                output = ""
        text += f"$ {command}\n{output}"
    return f"```console\n{text}```"


given = [Path(name).resolve() for name in sys.argv[1:]]
for page in given or [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copy(survey(), Path(scratch) / "survey.csv")
        old = page.read_text(encoding="utf-8")
        new = BLOCK.sub(lambda block, scratch=scratch: regenerated(block, scratch), old)  # type: ignore[misc]
        if new != old:
            page.write_text(new, encoding="utf-8")
            print(f"rewrote {page.relative_to(ROOT)}")
