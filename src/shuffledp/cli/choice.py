"""One of a few words."""

from typing import Any

import click

from shuffledp.errors import hint


class Choice(click.Choice):  # type: ignore[type-arg]
    """What is nearly one of them gets a hint."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The word."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as refusal:
            self.fail(f"{refusal.message} {hint(str(value), map(str, self.choices))}".rstrip(), param, ctx)
