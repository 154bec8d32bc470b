"""The `shuffledp` command."""

import os
import sys
from importlib import import_module
from typing import Final

import click

from shuffledp import __version__
from shuffledp.cli.exits import BAD_INPUT, NO_CLAIM, UNEXPECTED
from shuffledp.errors import NoClaim, ShuffledpError

_COMMANDS: Final = {
    "account": "account:account",
    "analyzer": "analyzer:analyzer_group",
    "client": "client:client_group",
    "compare": "compare:compare_command",
    "compose": "compose:compose_command",
    "curve": "curve:curve_command",
    "export": "export:export_command",
    "figures": "figures:figures",
    "keygen": "task:keygen",
    "ledger": "analyzer:ledger_group",
    "plan": "plan:plan_command",
    "run": "run:run_command",
    "shuffler": "shuffler:shuffler_group",
    "simulate": "simulate:simulate_command",
    "simulate-clients": "client:simulate_clients",
    "task": "task:task_group",
    "tokens": "tokens:tokens_group",
    "verify": "verify:verify_command",
}


class _Commands(click.Group):
    """Loads a command only when it is asked for: numbers and ciphers take a while to import."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        module, name = _COMMANDS[cmd_name].split(":")
        command: click.Command = getattr(import_module(f"shuffledp.cli.{module}"), name)
        return command


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="shuffledp")
def cli() -> None:
    """Shuffle-model differential privacy: certified accounting, planning and protocols.

    Shell completion: put the output of `_SHUFFLEDP_COMPLETE=bash_source shuffledp` (or zsh_source, fish_source)
    in your shell's start-up file.
    """


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
