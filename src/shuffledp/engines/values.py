"""Values in memory, and answers of people in memory to a question."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from shuffledp.domains.domain import Domain
from shuffledp.engines.source import Piece, Source
from shuffledp.errors import InvalidInput


class Values(Source):
    """One value per person; with `query`, its answers about them.

    Args:
        values: a list, an array, an Arrow column, or anything that can be made a list.
        query: a function of a person.
    """

    def __init__(self, values: Any, *, query: Callable[[Any], Any] | None = None) -> None:
        self._values = values if hasattr(values, "__len__") else list(values)
        if query is not None:
            self._values = _answers(query, self._values)

    def pieces(self, domain: Domain) -> Iterator[Piece]:  # noqa: ARG002
        """All at once."""
        yield Piece(self._values, 0)

    def __str__(self) -> str:
        return "the list of values"


def _answers(query: Callable[[Any], Any], people: Iterable[Any]) -> list[Any]:
    """What the function raises may show a value, so it is replaced and left out of the context."""
    failure = ""
    try:
        return [query(person) for person in people]
    except Exception as error:
        failure = type(error).__name__
    raise InvalidInput(f"the query failed for one of the people ({failure}). Test it on made-up ones.")
