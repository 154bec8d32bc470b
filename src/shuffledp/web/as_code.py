"""The same as a command and as Python: what the page shows, somebody can repeat."""

import json
import shlex
from collections.abc import Iterable, Mapping
from typing import Any


def command(words: str, options: Iterable[tuple[str, str]]) -> str:
    """A line for the shell.

    >>> command("shuffledp plan sum", [("n", "1e6"), ("honest_fraction", "0.9")])
    'shuffledp plan sum --n 1e6 --honest-fraction 0.9'
    """
    parts = [f"--{name.replace('_', '-')} {shlex.quote(value)}" for name, value in options]
    return " ".join([words, *parts])


def python_lines(question: str, given: Mapping[str, Any], wording: Mapping[str, str]) -> str:
    """The plan in Python."""
    words = "".join(
        f"\nmade = made.worded({name}={json.dumps(text, ensure_ascii=False)})" for name, text in wording.items()
    )
    asked = "\n".join(f"    {name}={value!r}," for name, value in given.items())
    return f"""from shuffledp import plan

made = plan(
    {json.dumps(question)},
{asked}
){words}
print(made.explain())
"""


def account_line(said: Mapping[str, str], *, n: str, delta: str, fraction: float, rounds: int) -> str:
    """`shuffledp account` with every bound, as the page shows it."""
    options = {**said, "n": n, "delta": delta}
    if fraction != 1:
        options["honest_fraction"] = repr(fraction)
    if rounds != 1:
        options["rounds"] = str(rounds)
    return command("shuffledp account", [*options.items(), ("bound", "all")])
