"""The randomizer on the command line: its options."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from shuffledp.cli.keyword import Registered
from shuffledp.cli.numbers import Real, Reals, Whole, Wholes
from shuffledp.core.randomizer import LocalRandomizer
from shuffledp.randomizers.channel import Channel
from shuffledp.randomizers.named import (
    Given,
    RandomizerChoice,
    channel_of,
    local_parameter,
    names,
    no_table,
    refuse_strays,
    takers,
)


def running(randomizer: str, given: Given, matrix: Path | None) -> LocalRandomizer:
    """The randomizer itself, not only its law: all its options must be given."""
    local = local_parameter(randomizer, given, None)
    refuse_strays(randomizer, given, matrix)
    kind = RandomizerChoice(name=randomizer, matrix=None if matrix is None else read_channel(matrix))
    return kind.that_runs(given, local)


def randomizer_options(
    *, sweep: bool = False, required: bool = True
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The options that say which randomizer is meant, each one number or, for a `sweep`, a list of them."""
    real, whole = (Reals(), Wholes()) if sweep else (Real(), Whole())
    options = [
        click.option("--randomizer", type=Registered(names), required=required, help="The local randomizer."),
        click.option("--size", type=whole, help=f"Number of values ({takers('size')})."),
        click.option(
            "--prime", type=whole, help=f"Order of the plane ({takers('prime')}): its square is the number of values."
        ),
        click.option(
            "--dimension", type=whole, help=f"2 for the plane, 3 for the space ({takers('dimension')}) [default: 2]."
        ),
        click.option("--range", type=whole, help="Number of hashes (local-hashing)."),
        click.option(
            "--matrix",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help="Channel probabilities, one row per input: a JSON list of lists, or text with commas or blanks between numbers.",
        ),
        click.option("--epsilon0", type=real, help=f"Local privacy parameter ({takers('epsilon0')})."),
        click.option("--gamma", type=real, help=f"Probability of ignoring the value ({takers('gamma')})."),
        click.option("--sigma", type=real, help="Noise standard deviation (gaussian)."),
        click.option("--dummies", type=real, help="Uniform messages that a user adds on average (dummies)."),
    ]

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def read_channel(path: Path) -> Channel:
    """A channel from a file."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError):
        raise no_table(path.name) from None
    return channel_of(text, path.name)
