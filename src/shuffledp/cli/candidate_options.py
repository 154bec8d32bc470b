"""`--candidates`, `--top` and `--false-positives`: which texts to ask about, and which of many answers to single out."""

from pathlib import Path
from typing import Final

import click

from shuffledp.cli.numbers import Real, WholeRange

candidates_option: Final = click.option(
    "--candidates",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File with the texts to ask about, one per line, for a plan that takes any text.",
)
top_option: Final = click.option(
    "--top", type=WholeRange(1), help="Show this many of the largest bins or texts instead of all."
)
false_positives_option: Final = click.option(
    "--false-positives",
    type=Real(),
    help="Show only those of the largest above a threshold, which on average this many would reach by chance if nobody held any.",
)
