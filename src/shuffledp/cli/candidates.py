"""`--candidates`: the texts to ask about."""

from pathlib import Path
from typing import Final

import click

candidates_option: Final = click.option(
    "--candidates",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File with the texts to ask about, one per line, for a plan that takes any text.",
)
