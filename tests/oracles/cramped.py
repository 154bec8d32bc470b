"""Commands on a disk that is full: a real one if this system lets us mount it, and else a limit on what may be written."""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from oracles.process import called
from oracles.tree import python_path

FULL = "No space left on device|File too large|No usable temporary directory"
"""What the system says."""
_PAGE = 4096


class Finished(NamedTuple):
    """What became of a command, and what is in the folder afterwards."""

    returncode: int
    stdout: str
    stderr: str
    left: list[str]


def on_a_full_disk(
    folder: Path, lines: Sequence[str], *, cwd: Path, environment: Mapping[str, str] | None = None
) -> list[Finished]:
    """`shuffledp` with each of these arguments, one after the other, while nothing can be written to a folder."""
    folder.mkdir()
    settings = {"PYTHONPATH": python_path(), "PYTHONWARNINGS": "ignore"} | dict(environment or {})
    done = subprocess.run(
        [*_apart(), sys.executable, "-m", "oracles.cramped", str(folder)], input=json.dumps(lines), capture_output=True,
        text=True, check=False, cwd=cwd, env=os.environ | settings,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [Finished(*one) for one in json.loads(done.stdout.splitlines()[-1])]


def _apart() -> list[str]:
    """How to start a process whose mounts nobody else sees; nothing if that is not allowed here."""
    for prefix in (["unshare", "--mount"], ["unshare", "--user", "--map-root-user", "--mount"]):
        try:
            if subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0:
                return prefix
        except OSError:
            break
    return []


def _fill(folder: Path) -> None:
    """Leave no room there."""
    if _apart():
        mount = ["mount", "-t", "tmpfs", "-o", f"size={_PAGE}", "none", str(folder)]
        if subprocess.run(mount, capture_output=True, check=False).returncode == 0:
            (folder / "taken").write_bytes(bytes(_PAGE))
            return
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # files anywhere can only be empty


def _main() -> None:
    folder, lines = Path(sys.argv[1]), json.load(sys.stdin)
    _fill(folder)
    finished = []
    for line in lines:
        done = called(line)
        left = sorted(path.name for path in folder.iterdir() if path.name != "taken")
        finished.append(Finished(done.returncode, done.stdout, done.stderr, left))
    print(json.dumps(finished))  # noqa: T201


if __name__ == "__main__":
    _main()
