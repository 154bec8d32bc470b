"""Values in memory, and answers of people in memory to a question."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from functools import partial
from typing import Any

import numpy as np

from shuffledp.domains.columns import is_arrow
from shuffledp.domains.domain import Domain
from shuffledp.errors import InvalidInput
from shuffledp.sources.source import Chunk, Source, Split, rows_at_once
from shuffledp.sources.table import arrow


class ValuesSource(Source):
    """One value per person; with `query`, its answers about them.

    Args:
        values: a list, an array, an Arrow column, or anything that can be made a list.
        query: a function of a person.
    """

    in_file = True

    def __init__(self, values: Any, *, query: Callable[[Any], Any] | None = None) -> None:
        self._values, self.is_query = _column(values), query is not None
        if query is not None:
            self._values = _answers(query, self._values)

    def chunks(self, domain: Domain) -> Iterator[Chunk]:  # noqa: ARG002
        yield Chunk(self._values, 0)

    def splits(self, domain: Domain) -> Iterator[Split]:
        """Two million numbers at a time."""
        total, together = len(self._values), rows_at_once(domain)
        for first in range(0, max(1, total), together):
            some = self._values[first : first + together]
            share = (first + len(some)) / max(1, total)
            yield Split(first, len(some), partial(iter, (Chunk(some, first),)), share)

    def __str__(self) -> str:
        return "the list of values"


def _column(values: Any) -> Any:
    """A list or an array as it is; a column of a data frame as Arrow shows it; anything else as a list."""
    if isinstance(values, np.ma.MaskedArray):
        return values.tolist()  # what is masked is missing
    if isinstance(values, list | np.ndarray) or is_arrow(values):
        return values
    if hasattr(values, "__arrow_c_stream__"):  # pandas, polars and others
        return _shown(values)
    if isinstance(values, Mapping | Set | str | bytes) or not isinstance(values, Iterable):
        raise InvalidInput(
            "values are a list, an array or a column, one per person, in their order. Give one of these."
        )
    return list(values)


def _shown(series: Any) -> Any:
    pa = arrow()
    failure = ""
    try:
        return pa.array(series, from_pandas=True) if hasattr(series, "iloc") else pa.chunked_array(series)
    except Exception as error:  # its message may quote a value
        failure = type(error).__name__
    if str(getattr(series, "dtype", "")) == "object":
        return list(series)  # of mixed types, one by one
    raise InvalidInput(f"the column cannot be read ({failure}): it may hold mixed types. Make it a plain one.")


def _answers(query: Callable[[Any], Any], people: Iterable[Any]) -> list[Any]:
    """What the function raises may show a value, so it is replaced and left out of the context."""
    failure = ""
    try:
        return [query(person) for person in people]
    except Exception as error:
        failure = type(error).__name__
    raise InvalidInput(f"the query failed for one of the people ({failure}). Test it on made-up ones.")
