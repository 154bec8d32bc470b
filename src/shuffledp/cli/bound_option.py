"""The option --bound: which bounds are asked."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click
from click.shell_completion import CompletionItem

from shuffledp.accounting.account import DEFAULT_BOUND, bound_named, bounds
from shuffledp.accounting.bound import Bound

_Command = TypeVar("_Command", bound=Callable[..., Any])
ALL: Final = "all"


class _Name(click.ParamType):  # type: ignore[type-arg]
    """The name of a bound; which ones there are is asked of the registry."""

    name = "name"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Those that begin so."""
        return [CompletionItem(bound) for bound in (*bounds(), ALL) if bound.startswith(incomplete)]


def bound_option(command: _Command) -> _Command:
    """Several names, or all."""
    return click.option(
        "--bound",
        "names",
        type=_Name(),
        multiple=True,
        default=(DEFAULT_BOUND,),
        show_default=True,
        help=f"May be repeated: {', '.join((*bounds(), ALL))}.",
    )(command)


def chosen_bounds(names: tuple[str, ...]) -> list[Bound]:
    """Each once, in the order they were named."""
    return [bound_named(name) for name in (bounds() if ALL in names else dict.fromkeys(names))]
