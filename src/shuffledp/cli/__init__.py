"""The `shuffledp` command."""

import os
import sys
from importlib import import_module
from typing import Final

import click
from click.exceptions import NoSuchCommand

from shuffledp.cli.examples import with_examples
from shuffledp.cli.exit_codes import BAD_INPUT, NO_CLAIM, UNEXPECTED
from shuffledp.cli.option_names import as_flags
from shuffledp.cli.output import print_error
from shuffledp.core.core_dumps import forbid_core_dumps
from shuffledp.core.visible import visible
from shuffledp.errors import NoClaim, ShuffledpError
from shuffledp.version import VERSION

_COMMANDS: Final = {
    "account": "account:account",
    "analyzer": "analyzer:analyzer_group",
    "audit": "audit:audit_cli",
    "client": "client:client_group",
    "compare": "compare:compare_command",
    "compose": "compose:compose_command",
    "curve": "curve:curve_command",
    "doctor": "doctor:doctor_command",
    "example": "example:example_command",
    "export": "export:export_command",
    "figures": "figures:figures",
    "index": "index:index_command",
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
    "web": "web:web_command",
}
_WITH_KEYS: Final = frozenset({"analyzer", "client", "keygen", "shuffler", "simulate-clients", "tokens"})
"""Commands that hold keys, tokens or values of people: none of their processes leaves a core dump."""
_TOPICS: Final = {
    "Account": {
        "account": "Privacy of a shuffled randomizer, or what it needs",
        "curve": "Delta against epsilon",
        "index": "One number for very large crowds",
        "compose": "Privacy of several collections together",
    },
    "Plan and run": {
        "example": "A file of made-up people to try things on",
        "plan": "The best parameters for a question, and the error",
        "run": "Carry out a plan on a file",
        "export": "A file's randomized messages in secret order, as a table",
        "simulate": "How far off a plan's answers are",
        "compare": "All protocols for a question, side by side",
    },
    "Deploy": {
        "task": "A plan and the terms of one collection",
        "keygen": "Keys of a shuffler or an analyzer",
        "tokens": "One-time tokens that admit reports",
        "client": "Report a value",
        "shuffler": "Take sealed reports, release permuted batches",
        "analyzer": "Open a released batch and estimate",
        "ledger": "How much of a population's budget is spent",
        "simulate-clients": "Report every row of a file for real",
    },
    "See and check": {
        "verify": "Prove a certificate again by other means",
        "audit": "Attack a randomizer, plan or program, and report what leaks",
        "web": "A planner in the browser",
        "figures": "The figures of the paper",
        "doctor": "What is installed, and what is missing",
    },
}
"""Every command, by what it is for."""


class _Commands(click.Group):
    """Loads a command only when it is asked for: numbers and ciphers take a while to import."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        module, name = _COMMANDS[cmd_name].split(":")
        return with_examples(getattr(import_module(f"shuffledp.cli.{module}"), name), cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """A name that is nearly one of the commands gets a hint; one that holds keys is guarded before it is loaded."""
        if args[0] not in _COMMANDS and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise _no_command(args[0], ctx)
        if args[0] in _WITH_KEYS:
            forbid_core_dumps()
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; click's own refusals of what was typed, which may name files, are one safe line too."""
        try:
            return super().invoke(ctx)
        except click.MissingParameter:
            raise
        except click.BadParameter as refusal:
            raise click.UsageError(visible(refusal.format_message()), ctx=refusal.ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """By what they are for; none is loaded for this."""
        for topic, commands in _TOPICS.items():
            with formatter.section(topic):
                formatter.write_dl(list(commands.items()))


def _no_command(name: str, ctx: click.Context) -> click.UsageError:
    """There is no such command; the name of a question is one of what `plan` takes."""
    from shuffledp.planning import registry

    if name in registry.questions():
        return click.UsageError(f"No such command {name!r}. It is a question: shuffledp plan {name}.", ctx=ctx)
    return NoSuchCommand(name, possibilities=_COMMANDS, ctx=ctx)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="shuffledp")
def cli() -> None:
    """Shuffle-model differential privacy: certified accounting, planning and protocols.

    Shell completion: put the output of `_SHUFFLEDP_COMPLETE=bash_source shuffledp` (or zsh_source, fish_source)
    in your shell's start-up file.
    """


def main() -> None:
    """Run the command: our own errors become one line on stderr and an exit code, never a traceback."""
    # threads of OpenBLAS wait for each other at full speed: with matrices as small as ours that costs more than they gain
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        cli(prog_name="shuffledp")
    except NoClaim as error:
        print_error(as_flags(str(error)))
        sys.exit(NO_CLAIM)
    except ShuffledpError as error:
        print_error(as_flags(str(error)))
        sys.exit(BAD_INPUT)
    except Exception as error:  # its message could show a value
        if os.environ.get("SHUFFLEDP_DEBUG"):
            raise
        kind = type(error).__name__
        print_error(f"something unexpected went wrong ({kind}). Please report it; SHUFFLEDP_DEBUG=1 shows where.")
        sys.exit(UNEXPECTED)
