"""What people read off a table: its margins, and the shares within each group. It costs no privacy: the counts are the same."""

from dataclasses import replace
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.estimate import Estimate
from shuffledp.core.ratio import Ratios
from shuffledp.domains.cross_table import CrossTable
from shuffledp.domains.grouped_rows import VALUE, line
from shuffledp.protocols.statistics import BinStatistics

Reals = NDArray[np.float64]
_MOST_WAYS: Final = 3
"""Of a table with more only the margins of single columns are given."""


def margins(table: CrossTable, statistics: BinStatistics) -> dict[str, Estimate]:
    """Users by each column, and by each two of three; then the shares of the values within each group."""
    found: dict[str, Estimate] = {}
    columns = [column.name for column in table.columns]
    ways = range(1, len(columns) if len(columns) <= _MOST_WAYS else 2)
    for kept in (chosen for count in ways for chosen in combinations(range(len(columns)), count)):
        found[f"users by {' and '.join(columns[j] for j in kept)}"] = margin(table, statistics, kept)
    groups = " and ".join(table.beside)
    return found | {f"share of each {VALUE} within {groups}": shares(table, statistics)}


def margin(table: CrossTable, statistics: BinStatistics, kept: tuple[int, ...]) -> Estimate:
    """The number of users in each combination of some columns: each is one bin of a coarser histogram."""
    counts = statistics.counts
    others = tuple(j for j in range(len(table.shape)) if j not in kept)
    value = counts.value.reshape(table.shape).sum(axis=others)
    names = [table.columns[j].domain.names for j in kept]  # type: ignore[attr-defined]
    return replace(statistics.of_bins(value.ravel(), table.size // value.size), names=_combined(names))


def shares(table: CrossTable, statistics: BinStatistics) -> Ratios:
    """Of the users of each group, the share with each value; no number where a group has too few users. Runs may be rows."""
    counts, across = statistics.counts, table.value.size
    cells = counts.value.reshape(*counts.value.shape[:-1], -1, across)
    groups = np.repeat(cells.sum(axis=-1), across, axis=-1)
    return Ratios.between(
        counts, top=counts.value, bottom=groups, variances=statistics.part_and_whole(counts.value, 1, groups, across),
        names=table.names,
    )  # fmt: skip


def _combined(names: list[tuple[str, ...]]) -> tuple[str, ...]:
    found: list[tuple[str, ...]] = [()]
    for column in names:
        found = [(*cells, name) for cells in found for name in column]
    return tuple(line(cells) if len(cells) > 1 else cells[0] for cells in found)
