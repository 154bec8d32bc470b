"""Run the installed command as a user does."""

import contextlib
import io
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from unittest.mock import patch

from shuffledp.cli import main


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


def called(
    arguments: str | Sequence[str],
    *,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    given: str = "",
) -> "subprocess.CompletedProcess[str]":
    """The same in this process, for commands that neither wait nor start anything: a tenth of the time."""
    words = ["shuffledp", *(shlex.split(arguments) if isinstance(arguments, str) else arguments)]
    out, err, code = io.StringIO(), io.StringIO(), 0
    with (
        patch.object(sys, "argv", words),
        patch.object(sys, "stdin", io.StringIO(given)),
        patch.dict(os.environ, environment or {}),
        contextlib.chdir(cwd or Path.cwd()),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as exit_:
            code = exit_.code if isinstance(exit_.code, int) else 0 if exit_.code is None else 1
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


def assert_refused(done: "subprocess.CompletedProcess[str]", *why: str) -> None:
    """Exit code 2, these words, no traceback, and nothing else that could be taken for an answer."""
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    for words in why:
        assert words in done.stderr
