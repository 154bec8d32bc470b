"""Options of commands that fetch a batch."""

import click

from shuffledp.cli.numbers import WholeRange
from shuffledp.service.analyzer.batch_fetcher import MAX_BATCH_BYTES

max_batch_option = click.option(
    "--max-batch-bytes",
    type=WholeRange(1),
    default=MAX_BATCH_BYTES,
    show_default=True,
    help="Refuse a batch larger than this many bytes; each message takes 71.",
)
