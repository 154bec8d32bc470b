"""The edge to the terminal: results as words for people or JSON for programs, and what goes wrong.

Everything that a command prints goes through here. Whatever it quotes from documents, files, servers and data is shown letter by
letter: nothing of it moves the cursor, changes a colour, hides or reorders what is beside it.
"""

import json
import logging
from collections.abc import Iterable
from typing import Any

import click

from shuffledp.core.visible import visible, visible_lines

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def print_lines(words: str, *, err: bool = False) -> None:
    """Print words, whose line ends are our own: texts of others are made one line before they become a part of them."""
    click.echo(visible_lines(words), err=err)


def print_error(words: str) -> None:
    """One line on stderr, whatever is quoted in it."""
    click.echo(f"shuffledp: {visible(words)}", err=True)


def one_line_each(texts: Iterable[str]) -> str:
    """A line for each text, whatever is quoted in it."""
    return "\n".join(map(visible, texts))


class OneLine(logging.Formatter):
    """A line of a log for each thing that happens, whatever is quoted in it."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - of the standard library
        return visible(super().formatMessage(record))


def show(result: dict[str, Any], words: str, *, as_json: bool) -> None:
    """Print a result as JSON for programs, or else in words."""
    print_lines(json.dumps(result, indent=2, allow_nan=False) if as_json else words)
