"""Which files a plan, a row of a CSV file and a sealed report walk through, and where a reader who follows them has to climb.

A step up: the next file that the walk enters for the first time is in a higher layer of pyproject.toml than the last one.
A turn back up: a file calls one in a higher layer which none of its own callers is in.
A function that the caller itself hands down is no turn.

`python tools/walks.py` prints the files of each walk in order of first entry, `--short` only their numbers.
"""

import csv
import io
import os
import sys
import tempfile
import threading
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
SOURCE: Final = ROOT / "src" / "shuffledp"
PEOPLE: Final = 1000


def layers() -> dict[str, int]:
    """How high each package or module is, by the contract of pyproject.toml: the top one has the largest number."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    (rows,) = (contract["layers"] for contract in contracts if "shuffledp.cli" in contract.get("layers", ()))
    found = {name.strip(): len(rows) - j for j, row in enumerate(rows) for name in row.split("|")}
    return {name.removeprefix("shuffledp."): height for name, height in found.items()} | {"__init__": len(rows) + 1}


class Walk:
    """What a call of the package runs through. What imports run is left out.

    Attributes:
        files: in the order in which they are entered first.
        turns: pairs of files, the first of which calls the second, in a higher layer and not on the way so far.
    """

    def __init__(self) -> None:
        self.files, self.turns = dict[str, None](), dict[tuple[str, str], None]()
        self._heights, self._importing = layers(), threading.local()

    @property
    def steps_up(self) -> int:
        """How often the next new file is in a higher layer than the last one."""
        heights = [self._height(file) for file in self.files]
        return sum(before < after for before, after in pairwise(heights))

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """Of this thread and those that it starts."""
        threading.setprofile(self._seen)
        sys.setprofile(self._seen)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def _seen(self, frame: FrameType, event: str, _: Any) -> None:
        if event not in ("call", "return"):
            return
        if frame.f_code.co_name == "<module>":
            self._importing.depth = getattr(self._importing, "depth", 0) + (1 if event == "call" else -1)
        elif event == "call" and not getattr(self._importing, "depth", 0):
            file = within(frame.f_code.co_filename)
            if file is not None:
                self.files.setdefault(file)
                above = callers(frame)
                caller = next(above, file)
                if self._height(caller) < self._height(file) and file not in above:
                    self.turns.setdefault((caller, file))

    def _height(self, file: str) -> int:
        return self._heights[Path(file).parts[0].removesuffix(".py")]


@cache
def within(path: str) -> str | None:
    """A file's name within the package, if it is there."""
    return Path(path).relative_to(SOURCE).as_posix() if path.startswith(f"{SOURCE}/") else None


def callers(frame: FrameType) -> Iterator[str]:
    """The files of the package that its call came through, the nearest first."""
    while frame.f_back is not None:
        frame = frame.f_back
        file = within(frame.f_code.co_filename)
        if file is not None:
            yield file


def run_command(*randomness: str) -> None:
    """The command line, in this process, without its words."""
    from shuffledp.cli import cli

    with redirect_stdout(io.StringIO()):
        cli.main([*randomness], prog_name="shuffledp", standalone_mode=False)


def plan(folder: Path) -> None:
    """A question becomes a plan."""
    run_command(
        "plan", "histogram", "--labels", "a,b,c", "--n", str(PEOPLE), "--epsilon", "1", "--delta", "1e-6", "--force", "-o",
        str(folder / "plan.json"),
    )  # fmt: skip


def row(folder: Path) -> None:
    """A row of a file becomes a part of a result."""
    run_command("run", str(folder / "plan.json"), str(folder / "people.csv"), "--column", "answer")


def report(folder: Path) -> Callable[[], object]:
    """A sealed report becomes a part of a result: from the released batch on."""
    from shuffledp import Plan
    from shuffledp.auditing.deployment import InProcess
    from shuffledp.core.randomness import SystemRandomness
    from shuffledp.service.analyzer.analyzer import analyze
    from shuffledp.service.client.client import messages_of

    service = InProcess(Plan.load(folder / "plan.json"))
    said, ring = service.announced(), service.ring
    sealed = [
        said.sealed(messages_of(service.task, "b", SystemRandomness()), service.task, [ring.public()])
        for _ in range(PEOPLE)
    ]
    batch = service.collected([[said.wrapped(one, service.task) for one in sealed]])
    return lambda: analyze(batch, service.task, ring)


def walks() -> dict[str, Walk]:
    """All three."""
    found = {name: Walk() for name in ("a plan", "a CSV row", "a sealed report")}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["XDG_STATE_HOME"] = name  # what was answered before is no part of a walk
        with (folder / "people.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["answer"], *([value] for value in "abca" * (PEOPLE // 4))])
        with found["a plan"].recorded():
            plan(folder)
        with found["a CSV row"].recorded():
            row(folder)
        analyzed = report(folder)
        with found["a sealed report"].recorded():
            analyzed()
    return found


if __name__ == "__main__":
    for name, walk in walks().items():
        print(f"{name}: {len(walk.files)} files, {walk.steps_up} steps up, {len(walk.turns)} turns back up")
        if "--short" not in sys.argv:
            print("".join(f"  {file}\n" for file in walk.files) + "".join(f"  up: {a} -> {b}\n" for a, b in walk.turns))
