"""A black box: any program that reads a value per line and writes what a user with that value sends.

The line protocol: one value per line on standard input, as many lines on standard output, in the same order, then the end.
A line is one message. In the shuffled view a line may hold several messages with tabs between them, which are shuffled
apart. Each line must be answered independently of the others. The program is started anew for every block of lines, so that it
may write its answers whenever it likes.
"""

import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from shuffledp.auditing.inputs import Inputs
from shuffledp.auditing.subject import View
from shuffledp.core.ragged import Ragged
from shuffledp.core.randomness import RandomSource
from shuffledp.errors import InvalidInput

_PATIENCE: Final = 600.0
"""Seconds that a program may take for a block."""


def of_command(line: str, symbols: Sequence[str], view: View) -> Inputs:
    """What a program makes of some values; the worst two of them are looked for."""
    try:
        arguments = shlex.split(line)
    except ValueError:
        arguments = []
    if not arguments:
        raise InvalidInput("the command is empty, or a quote in it is not closed. Give a program and its arguments.")
    values = list(dict.fromkeys(symbols))
    if len(values) < 2 or any("\n" in value or "\r" in value for value in values):
        raise InvalidInput("an audit needs at least two different values, each of one line. Give e.g. --symbols 0,1.")

    def send(held: NDArray[Any], randomness: RandomSource, first_row: int) -> Any:  # noqa: ARG001 - it has coins of its own
        answers = _answers(arguments, held.tolist())
        if view == "shuffled" and any(b"\t" in answer for answer in answers):
            several = [answer.split(b"\t") for answer in answers]
            each = np.array([len(one) for one in several], dtype=np.int64)
            return Ragged(np.array([message for one in several for message in one]), each)
        return np.array(answers)

    return Inputs(name=f"the program {Path(arguments[0]).name}", values=np.array(values), labels=values, send=send)


def _answers(arguments: Sequence[str], values: Sequence[str]) -> list[bytes]:
    """What the program writes, a line for each value."""
    try:
        ended = subprocess.run(  # noqa: S603 - it is what the user asked for
            arguments,
            input="".join(f"{value}\n" for value in values).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_PATIENCE,
            check=False,
        )
    except FileNotFoundError:
        raise InvalidInput(f"there is no program {arguments[0]!r}. Check the command.") from None
    except OSError as error:
        raise InvalidInput(f"cannot run {arguments[0]!r}: {error.strerror}. Check the command.") from None
    except subprocess.TimeoutExpired:
        raise InvalidInput(
            f"the program did not answer {len(values):,} lines within {_PATIENCE:g} seconds. It must end when its input does."
        ) from None
    if ended.returncode != 0:
        raise InvalidInput(
            f"the program failed with exit code {ended.returncode}. Run it by hand on a few lines to see why."
        )
    lines = ended.stdout.replace(b"\r\n", b"\n").split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    if len(lines) != len(values):
        raise InvalidInput(
            f"the program answered {len(lines):,} lines to {len(values):,}. It must write one line for each line it reads."
        )
    return lines
