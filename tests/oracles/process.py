"""Run the installed command as a user does."""

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path


def run(
    arguments: str, *, cwd: Path | None = None, environment: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """`shuffledp` with these arguments."""
    command = Path(sys.executable).with_name("shuffledp")
    return subprocess.run(
        [str(command), *shlex.split(arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, **(environment or {})},
        check=False,
        timeout=300,
    )
