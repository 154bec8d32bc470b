"""A progress bar on stderr, shown on a terminal only."""

import sys
from typing import Any

import click


def progress(length: int, label: str) -> Any:
    """A bar to `update`."""
    return click.progressbar(length=length, label=label, file=sys.stderr, hidden=not sys.stderr.isatty())
