"""How nouns come to their pictures without knowing who draws.

A guarantee or a plan has `plot()` and a page in notebooks, and both are made in a layer above it, by its type. The top-level
package stands above all layers and names who makes them, whenever any part of it is imported.
"""

from collections.abc import Callable
from typing import Any, NamedTuple


class Artist(NamedTuple):
    """Who draws: a matplotlib figure of a thing, and its part of a page."""

    figure: Callable[[Any], Any]
    page: Callable[[Any], str]


_named: list[Artist] = []


def draw_with(artist: Artist) -> None:
    """Let this one draw from here on."""
    _named[:] = [artist]


def figure_of(thing: Any) -> Any:
    """A matplotlib figure of it, by the named artist."""
    return _named[0].figure(thing)


def page_of(thing: Any) -> str:
    """HTML for a notebook, in the page's own colours."""
    return _named[0].page(thing)
