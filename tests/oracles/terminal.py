"""A terminal for the commands that pages show: in one folder, from top to bottom, as a reader types them."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Self

from oracles.process import called, command
from oracles.survey import survey

ROOT = Path(__file__).parents[2]
_LISTENING = re.compile(r"(?:listening on port |the planner is at http://127\.0\.0\.1:)(\d+)")


class Terminal:
    """What a reader types, and what is shown; a server is started by `... &` and stopped by `kill %1`, or in the end.

    Attributes:
        folder: where commands are typed; it has a file of answers, `survey.csv`.
        failed: whether the last command of ours was refused.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.failed = folder, False
        self._server: subprocess.Popen[str] | None = None
        self._ports: tuple[str, str] | None = None  # as shown, as it is: any free one
        shutil.copy(survey(), folder / "survey.csv")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def type(self, typed: str, below: str) -> str | None:
        """What a command shows, or None if it is not run here (`make`, `pip`); `below` is what `cat` reads up to EOF."""
        if self._ports:
            typed = typed.replace(f":{self._ports[0]}", f":{self._ports[1]}")
        if typed.startswith(("make ", "pip ")):
            return None
        if typed.startswith("cat > "):
            (self.folder / typed.split()[2]).write_text(below.replace("EOF\n", ""))
            return below
        if typed.startswith("python "):
            _, program, *given = typed.split()
            file = ROOT / program if "/" in program else program  # of the repository, or of the reader
            done = subprocess.run(
                [sys.executable, file, *given], cwd=self.folder, capture_output=True, text=True, check=True
            )
            return done.stdout + done.stderr
        if typed == "kill %1":
            self._stop()
            return ""
        if typed.endswith(" &"):
            return self._serve(typed.removesuffix(" &"), _LISTENING.findall(below)[0])
        return self._shuffledp(typed)

    def _shuffledp(self, typed: str) -> str:
        parts = re.fullmatch(r"(?:echo (\S+) \| )?shuffledp (.*?)(?: > ([\w.-]+))?", typed)
        assert parts is not None, typed
        given, arguments, target = parts.groups()
        state = {"XDG_STATE_HOME": str(self.folder / "state")}
        done = called(arguments, cwd=self.folder, environment=state, given=f"{given}\n" if given else "")
        self.failed = done.returncode != 0
        shown = done.stdout + (done.stderr if self.failed else "")
        if target:
            (self.folder / target).write_text(shown)
            shown = ""
        return shown

    def _serve(self, typed: str, port: str) -> str:
        """Started, and waited for until it says where it listens; that is shown as the page's port."""
        assert self._server is None
        words = [command(), *typed.split()[1:], "--port", "0"]
        self._server = subprocess.Popen(
            words, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self._server.stdout is not None
        shown = ""
        for line in self._server.stdout:
            shown += line
            if found := _LISTENING.match(line):
                self._ports = port, found[1]
                return shown.replace(found[1], port)
        raise AssertionError(shown)

    def _stop(self) -> None:
        if self._server is not None:
            self._server.terminate()
            self._server.wait()
            assert self._server.stdout is not None
            self._server.stdout.close()
            self._server = None


def commands(block: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with what is shown below it."""
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    return [(command, below) for command, _, below in (part.partition("\n") for part in parts)]


def abridged(shown: str, below: str) -> str:
    """What is shown, cut as it is below: a line that ends in ` ...` goes on, and `...` alone stands for all further lines."""
    lines, cut = shown.splitlines(), list[str]()
    for number, line in enumerate(below.splitlines()):
        if line == "...":
            return "\n".join([*cut, *([line] if lines[number:] else []), ""])
        if number < len(lines) and line.endswith(" ..."):
            begun = re.match(rf"(?:\s*\S+(?!\S)){{{len(line.split()) - 1}}}(?= )", lines[number])
            cut.append(f"{begun[0]} ..." if begun else lines[number])
        else:
            cut += lines[number : number + 1]
    return shown if cut == lines else "\n".join([*cut, *lines[len(cut) :], ""])


RANDOM = re.compile(
    r"(?:echo \S+ \| )?shuffledp (?:run|analyzer run|shuffler (?:close|serve)|client submit|keygen|ledger show|audit) "
)
"""Commands that show random numbers.

A seeded audit draws the same trials on every machine, but which event it counts may hang on the last bit of a probability, which
is the processor's."""
_DRAWN = re.compile(r"\b[0-9a-f]{64}\b|[A-Za-z0-9+/]{43}=")
_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*\.?\d*(?:e[+-]?\d+)?(?![\w])")


def words(text: str, *, drawn: bool = False) -> list[list[str]]:
    """The words of each line, with any number for another; if they were drawn, also with any hash or key for another."""
    text = _DRAWN.sub("#", text) if drawn else text
    return [_NUMBER.sub("#", line).replace("-#", "#").split() for line in text.splitlines()]


def numbers(text: str) -> list[float]:
    """The numbers of a text."""
    return [float(number.replace(",", "")) for number in _NUMBER.findall(text)]


def settled(shown: str) -> str:
    """The lines of an answer that no draw changes: which task it is of, what it promises and what is spent."""
    return "\n".join(
        re.findall(
            r"^(?:serving task|task|guarantee:|claimed:|worlds:|with the|epsilon =|budget:) .*$", shown, re.MULTILINE
        )
    )
