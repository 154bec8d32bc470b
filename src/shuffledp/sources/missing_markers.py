"""Which cells of a CSV file mean that there is no value."""

from collections.abc import Collection
from typing import Final

_MARKERS: Final = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")


def missing_markers(labels: Collection[str]) -> list[str]:
    """Unquoted cells that are missing values; not those that somebody listed as an answer.

    >>> missing_markers(["yes", "no", "None"])
    ['', 'NA', 'N/A', 'NaN', 'nan', 'null', 'NULL']
    """
    return [text for text in _MARKERS if text not in labels]
