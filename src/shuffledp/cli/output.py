"""Results on standard output: words for people, or JSON for programs."""

import json
from typing import Any

import click

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def show(result: dict[str, Any], words: str, *, as_json: bool) -> None:
    """Print a result."""
    click.echo(json.dumps(result, indent=2, allow_nan=False) if as_json else words)
