"""Commands that refuse slips of the pen.

Click would let some of them pass (an option as the value of another one, an option given twice) and explains others badly.
"""

from collections import Counter
from collections.abc import Iterable
from itertools import takewhile
from typing import Any, Final

import click
from click.exceptions import NoSuchOption

from shuffledp.core.misnamed import misnamed
from shuffledp.core.visible import visible

_BUDGET: Final = (
    "A budget is kept by `shuffledp analyzer run`, and in Python by a Session; `shuffledp run` remembers what it answered about "
    "a file and warns, and `shuffledp compose` adds up."
)
_ELSEWHERE: Final = {"--ledger": _BUDGET, "--budget-epsilon": _BUDGET, "--budget-delta": _BUDGET}
"""Options that people look for in commands which do not have them."""


class Command(click.Command):
    """A command that says which option was probably meant."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read what was typed; whatever looks like a slip is refused."""
        options = _options(self, ctx)
        _check_hyphens(args, options, ctx)
        try:
            values, _, order = self.make_parser(ctx).parse_args(list(args))
        except NoSuchOption as refusal:
            raise click.UsageError(_no_option(refusal.option_name, options, ctx), ctx=ctx) from None
        for option in dict.fromkeys(options.values()):
            value = values.get(option.name or "")
            several = value if isinstance(value, list) else [value]
            if any(isinstance(word, str) and word in options for word in several):
                raise click.UsageError(f"Option {_name(option)!r} requires an argument.", ctx=ctx)
        for param, times in Counter(param for param in order if isinstance(param, click.Option)).items():
            if times > 1 and not (param.multiple or param.is_flag):
                raise click.UsageError(f"{_name(param)} is given {times} times. Give it once.", ctx=ctx)
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as refusal:
            if "--column" in options and "unexpected extra argument" in refusal.message:
                raise click.UsageError(
                    f"{refusal.message.rstrip('.')}. A column is named by --column.", ctx=ctx
                ) from None
            raise


class Group(click.Group):
    """Commands of this kind under one name."""

    command_class = Command


def _options(command: click.Command, ctx: click.Context) -> dict[str, click.Option]:
    """Options by all of their names."""
    options = [param for param in command.get_params(ctx) if isinstance(param, click.Option)]
    return {name: option for option in options for name in (*option.opts, *option.secondary_opts)}


def _name(option: click.Option) -> str:
    """The longest of its names."""
    return max(option.opts, key=len)


def _check_hyphens(args: Iterable[str], options: dict[str, click.Option], ctx: click.Context) -> None:
    """Refuse -epsilon: it would be read as -e with a value, or as another option."""
    for word in takewhile("--".__ne__, args):
        name = word.partition("=")[0]
        if len(name) > 2 and name.startswith("-") and f"-{name}" in options:
            raise click.UsageError(f"No such option '{name}'. Did you mean '-{name}'?", ctx=ctx)


def _no_option(name: str, options: dict[str, click.Option], ctx: click.Context) -> str:
    """There is no such option here: which one was meant, or which commands have it."""
    said = f"No such option {visible(name)!r}."
    if name in _ELSEWHERE:
        return f"{said} {_ELSEWHERE[name]}"
    elsewhere = _commands_with(name)
    offered = [option for option in options if option.startswith("--") and option != "--help"]
    near = "" if elsewhere else misnamed(name, offered)
    if near or not elsewhere:
        return f"{said} {near}".rstrip()
    where = " and ".join(filter(None, (", ".join(elsewhere[:-1]), elsewhere[-1])))
    takes_plan = any(param.name == "plan" for param in ctx.command.params)
    if takes_plan and "plan" in elsewhere:
        return f"{said} It is part of the plan: make another one with shuffledp plan."
    return f"{said} It is one of {where}."


def _commands_with(name: str) -> list[str]:
    """The commands that have an option of exactly this name."""
    root = click.get_current_context().find_root()

    def inside(command: Any, words: tuple[str, ...]) -> Iterable[str]:
        if isinstance(command, click.Group):
            for word in command.list_commands(root):
                yield from inside(command.get_command(root, word), (*words, word))
        elif name in _options(command, root):
            yield " ".join(words)

    return list(inside(root.command, ()))
