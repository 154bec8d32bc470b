"""Tables of people, wherever they are: rows in their order, columns by name."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from shuffledp.core.installed import not_installed
from shuffledp.errors import InvalidInput
from shuffledp.errors import hint as near

if TYPE_CHECKING:
    import pyarrow as pa


class TableSplit(NamedTuple):
    """Consecutive rows of a table that can be read apart from the others: how many, and what reads them."""

    rows: int
    read: "Callable[[], Iterator[pa.RecordBatch]]"


class Table(ABC):
    """One row per report."""

    __slots__ = ()

    @property
    @abstractmethod
    def name(self) -> str:
        """What errors call it."""

    @property
    def untyped(self) -> bool:
        """Whether all cells are texts."""
        return False

    @abstractmethod
    def columns(self) -> list[str]:
        """Names of the columns."""

    @abstractmethod
    def record_batches(
        self, columns: Sequence[str], *, numbers: Collection[str] = ()
    ) -> "Iterator[tuple[pa.RecordBatch, float]]":
        """Record batches with these columns, each with the share of the table read so far; some are columns of numbers."""

    def hint(self, name: str) -> str:
        """What to try if a column is not there, if anything stands out."""
        return near(name, self.columns()).rstrip()

    def splits(self, columns: Sequence[str]) -> "list[TableSplit] | None":  # noqa: ARG002
        """All rows in splits that can be read at once; None if they can only be read in their order."""
        return None

    def column(self, name: str, *, any_case: bool = False) -> str:
        """The one column of that name, as the table spells it.

        Errors show no other name of a CSV file: without a header they are somebody's values.
        """
        present = Counter(self.columns())
        same = [other for other in present if other == name] or [
            other for other in present if any_case and other.lower() == name.lower()
        ]
        if not same:
            remedy = self.hint(name) or "Check the name, and that there is a header."
            raise InvalidInput(f"{self.name} has no column {name!r} among its {len(present)}. {remedy}")
        if len(same) > 1 or present[same[0]] > 1:
            raise InvalidInput(f"{self.name} has several columns called {name!r}. Rename them.")
        return same[0]


def records(columns: Sequence[Any], names: Sequence[str]) -> Any:
    """One column whose values are records of several."""
    pa = arrow()
    plain = [column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column for column in columns]
    return pa.StructArray.from_arrays(plain, names=list(names))


def arrow() -> Any:
    """The pyarrow package, or how to get it."""
    try:
        import pyarrow as pa
    except ImportError:
        raise not_installed("reading files and tables needs pyarrow", "run") from None
    return pa
