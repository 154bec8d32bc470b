"""The `shuffledp` command."""

import os
import sys

import click

from shuffledp import __version__
from shuffledp.cli.account import account
from shuffledp.cli.compare import compare_command
from shuffledp.cli.compose import compose_command
from shuffledp.cli.curve import curve
from shuffledp.cli.exits import BAD_INPUT, NO_CLAIM, UNEXPECTED
from shuffledp.cli.figures import figures
from shuffledp.cli.plan import plan_command
from shuffledp.cli.run import run_command
from shuffledp.cli.simulate import simulate_command
from shuffledp.cli.task import keygen, task_group
from shuffledp.errors import NoClaim, ShuffledpError


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="shuffledp")
def cli() -> None:
    """Shuffle-model differential privacy: certified accounting, planning and protocols.

    Shell completion: put the output of `_SHUFFLEDP_COMPLETE=bash_source shuffledp` (or zsh_source, fish_source)
    in your shell's start-up file.
    """


cli.add_command(account)
cli.add_command(compare_command)
cli.add_command(compose_command)
cli.add_command(curve)
cli.add_command(figures)
cli.add_command(keygen)
cli.add_command(plan_command)
cli.add_command(run_command)
cli.add_command(simulate_command)
cli.add_command(task_group)


def main() -> None:
    """Run the command: our own errors become one line on stderr and an exit code, never a traceback."""
    try:
        cli(prog_name="shuffledp")
    except NoClaim as error:
        click.echo(f"shuffledp: {error}", err=True)
        sys.exit(NO_CLAIM)
    except ShuffledpError as error:
        click.echo(f"shuffledp: {error}", err=True)
        sys.exit(BAD_INPUT)
    except Exception as error:  # its message could show a value
        if os.environ.get("SHUFFLEDP_DEBUG"):
            raise
        kind = type(error).__name__
        click.echo(
            f"shuffledp: something unexpected went wrong ({kind}). Please report it; SHUFFLEDP_DEBUG=1 shows where.",
            err=True,
        )
        sys.exit(UNEXPECTED)
