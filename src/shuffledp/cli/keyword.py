"""One of a few words."""

from collections.abc import Callable, Iterable
from typing import Any

import click

from shuffledp.core.misnamed import misnamed


class Choice(click.Choice):  # type: ignore[type-arg]
    """What is nearly one of them gets a hint."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as refusal:
            self.fail(f"{refusal.message} {misnamed(str(value), map(str, self.choices))}".rstrip(), param, ctx)


class Registered(click.ParamType):  # type: ignore[type-arg]
    """One of the names in a registry, which is read each time: one that was registered later counts."""

    name = "name"

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        self._names = names

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        return self._choice.get_metavar(param, ctx)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return self._choice.convert(value, param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        return self._choice.shell_complete(ctx, param, incomplete)

    @property
    def _choice(self) -> Choice:
        return Choice(list(self._names()))
