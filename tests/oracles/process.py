"""Run the installed command as a user does."""

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path


def command() -> str:
    """Where the installed command is."""
    return str(Path(sys.executable).with_name("shuffledp"))


def run(
    arguments: str | Sequence[str], *, cwd: Path | None = None, environment: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """`shuffledp` with these arguments."""
    return subprocess.run(
        [command(), *(shlex.split(arguments) if isinstance(arguments, str) else arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, **(environment or {})},
        check=False,
        timeout=300,
    )
