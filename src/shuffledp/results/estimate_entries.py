"""The entries of a result's estimate, as numbers and as text."""

import heapq
import math
import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from shuffledp.core.digits import decimals, fixed, interval
from shuffledp.core.document import Document
from shuffledp.core.visible import printable

FEW: Final = 60
"""Up to this many entries each gets a line with its name."""
MANY: Final = 1000
"""Above so many entries only the largest are shown."""
_SCALE: Final = 7
"""Steps of a scale such as "never" to "always" at most: then their order means something."""
USERS: Final = "users"
"""What counts count."""
_NUMBER: Final = re.compile(r"[\[(]?[-+]?\.?\d")


class Entry(NamedTuple):
    """One number of the estimate, NaN if there is none; the truth is None unless it was asked for."""

    name: str
    value: float
    error: float
    low: float
    high: float
    truth: float | None


class Written(NamedTuple):
    """An entry as text; the interval is rounded outwards."""

    name: str
    value: str
    error: str
    low: str
    high: str
    truth: str | None


def entries(result: Document, shown: Sequence[int] | None = None) -> list[Entry]:
    """The entries at these places, or all; their names cleaned."""
    return listed(result["estimate"], result["truth"], shown)


def listed(
    columns: Document, truth: Sequence[float | None] | None = None, shown: Sequence[int] | None = None
) -> list[Entry]:
    """The entries that names, values, errors and intervals make."""
    names, values, errors, intervals = (columns[key] for key in ("names", "value", "standard_error", "interval"))
    return [
        Entry(
            name=printable(names[j]).strip() or "(empty)", value=_or_nan(values[j]), error=_or_nan(errors[j]), low=low, high=high,
            truth=None if truth is None else _or_nan(truth[j]),
        )
        for j in (range(len(names)) if shown is None else shown)
        for low, high in [intervals[j] or (math.nan, math.nan)]
    ]  # fmt: skip


def parts(result: Document) -> list[Document]:
    """The questions of a survey, each as a result of its own; of any other result itself."""
    measures = result.get("measures")
    if not measures:
        return [result]
    return [_part(result, name, measure) for name, measure in measures.items()]


def _part(result: Document, name: str, measure: str) -> Document:
    estimate, truth, start = result["estimate"], result["truth"], f"{name}: "
    at = [j for j, entry in enumerate(estimate["names"]) if entry.startswith(start)]
    columns = {key: [estimate[key][j] for j in at] for key in ("value", "standard_error", "interval")}
    rest = {
        "names": [estimate["names"][j].removeprefix(start) for j in at],
        "refused": {
            entry.removeprefix(start): why for entry, why in estimate["refused"].items() if entry.startswith(start)
        },
    }
    read_off = result.get("derived", {}).get("by_question", {}).get(name)
    return result | {
        **({} if read_off is None else {"derived": read_off}),
        "question": name,
        "measure": measure,
        "measures": {},
        "estimate": estimate | columns | rest,
        "also": {entry.removeprefix(start): also for entry, also in result["also"].items() if entry.startswith(start)},
        "truth": None if truth is None else [truth[j] for j in at],
    }


def largest(values: Sequence[float | None], count: int) -> list[int]:
    """The places of the largest, in that order; equals in the order they have, those without a number last.

    >>> largest([1.0, 5.0, 3.0, 5.0], 3)
    [1, 3, 2]
    """
    return heapq.nsmallest(
        count, range(len(values)), key=lambda j: math.inf if (value := values[j]) is None else -value
    )


def shown(values: Sequence[float | None], *, in_order: bool = False) -> list[int]:
    """The places of all; if there are too many, of the largest, or of some all the way.

    >>> len(shown(range(5000), in_order=True))
    1000
    """
    if len(values) <= MANY:
        return list(range(len(values)))
    return [j * (len(values) - 1) // (MANY - 1) for j in range(MANY)] if in_order else largest(values, MANY)


def is_curve(result: Document) -> bool:
    """Whether the entries are points of one curve."""
    return "curve" in result.get("derived", {})


def are_ranked(result: Document) -> bool:
    """Whether entries are better drawn by size than in the plan's order.

    Where there are very many; and counts of names that are no numbers, unless they are so few that they may be a scale.
    """
    if is_curve(result):
        return False
    names = result["estimate"]["names"]
    scale = _SCALE if result["measure"] == USERS else FEW
    return len(names) > scale and (len(names) > MANY or not all(_NUMBER.match(name) for name in names))


def written(rows: Sequence[Entry]) -> list[Written]:
    """All with as many decimals as show three digits of the least standard error."""
    places = places_of(rows)
    return [
        Written(
            row.name, fixed(row.value, places), fixed(row.error, places), *interval(row.low, row.high, places),
            None if row.truth is None else fixed(row.truth, places),
        )
        for row in rows
    ]  # fmt: skip


def places_of(rows: Sequence[Entry]) -> int | None:
    """How many decimals these are written with."""
    known = [row for row in rows if not math.isnan(row.value)]
    return decimals((row.error for row in known), (end for row in known for end in (row.low, row.high, row.truth or 0)))


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def measured(result: Document) -> str:
    """What the numbers are, and their unit. Counts are of users, whatever the unit of what these hold."""
    measure, unit = result["measure"], result["wording"]["unit"]
    if not unit or measure == USERS:
        return str(measure)
    what, comma, rest = measure.partition(",")
    return f"{what} ({printable(unit)}){comma}{rest}"


def quantiles(listed_quantiles: Sequence[Document]) -> list[tuple[str, ...]]:
    """Quantiles of a distribution: the share, the number, and its limits, which say how many decimals are worth it."""
    ends = [(quantile["interval"][0], quantile["interval"][1]) for quantile in listed_quantiles]
    places = decimals([(high - low) / 2 for low, high in ends], [end for both in ends for end in both])
    return [
        (f"{quantile['share']:g}", fixed(quantile["value"], places), *interval(low, high, places))
        for quantile, (low, high) in zip(listed_quantiles, ends, strict=True)
    ]


def percent(result: Document) -> str:
    """The confidence of the intervals."""
    return f"{100 * result['estimate']['confidence']:g} %"
