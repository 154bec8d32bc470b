"""Finding texts nobody listed: from level to level, every beginning that is frequent enough is taken one piece further."""

import codecs
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.protocols.prefixes import TABLES, Pieces, Prefixes

Totals = NDArray[np.int64]
FALSE_PREFIXES: Final = 100.0
"""Beginnings that nobody's text has and that are taken further at each level, on average: they cost time, and thresholds for
false texts are set at the last level."""
_MOST_TRIED: Final = 1 << 27
"""Beginnings tried at a level: a minute or so. Of more, the most frequent ones are taken further."""
_AT_ONCE: Final = 1 << 21


class Tables(NamedTuple):
    """At one level, how many messages belong to each point in each table, and how many would by chance."""

    first: Totals
    second: Totals
    chance: float


class Discovery(NamedTuple):
    """What was found.

    Attributes:
        spelled: the texts, as clean values.
        threshold: of messages that belong to a text at the last level.
        false_positives: how many texts that nobody holds reach it, on average.
    """

    spelled: list[bytes]
    threshold: int
    false_positives: float


@dataclass(frozen=True, slots=True)
class Pass:
    """What a beginning must show: enough messages in both tables together, and neither table a third of the other.

    With e the messages above chance: e1 + e2 >= least and |e1 - e2| <= (e1 + e2) / 2. A beginning that shares a point with a
    frequent one in one table alone fails the second.
    """

    least: int
    chance: float

    @property
    def quarter(self) -> float:
        """What each table must have at least, by both conditions."""
        return self.chance + (self.least - 2 * self.chance) / 4

    def __call__(self, first: Totals, second: Totals) -> NDArray[np.bool_]:
        """Which of some beginnings do, by the messages that belong to them."""
        both = first + second
        return (both >= self.least) & agree(first, second, self.chance)


def agree(first: Totals, second: Totals, chance: float) -> NDArray[np.bool_]:
    """Whether neither table has more than three times what the other has above chance."""
    return np.asarray(np.abs(first - second) <= (first + second - 2 * chance) / 2)


def strict_enough(tables: Tables, tried: int, allowed: float) -> tuple[Pass, float]:
    """The least threshold at which a text that nobody holds passes by chance rarely enough, and how many then pass.

    Formula: such a text falls on a random point in each table, so it passes with the share of all pairs of points that do.
    This counts noise, and what frequent texts do to those that share a point with them.
    """
    values, often = zip(*(_tallied(totals) for totals in tables[:2]), strict=True)
    above = [column > tables.chance for column in values]
    (first, second), (many, more) = (
        [column[keep] for column, keep in zip(columns, above, strict=True)] for columns in (values, often)
    )
    both = first[:, None] + second
    fine = agree(first[:, None], second, tables.chance)
    weights = (many[:, None] / len(tables.first)) * (more / len(tables.second))
    found, place = np.unique(both[fine], return_inverse=True)
    reached = np.cumsum(np.bincount(place, weights=weights[fine], minlength=len(found))[::-1])[::-1] * tried
    enough = np.flatnonzero(reached <= allowed)
    if len(enough):
        return Pass(int(found[enough[0]]), tables.chance), float(reached[enough[0]])
    return Pass(int(found[-1]) + 1 if len(found) else int(2 * tables.chance) + 1, tables.chance), 0.0


def discover(prefixes: Prefixes, tables: Callable[[int], Tables], allowed: float) -> Discovery:
    """All texts that pass at every level; `tables` are those of a level, `allowed` the false ones at the last."""
    alive: Pieces = np.zeros((1, 0), dtype=np.int64)
    for level in range(prefixes.levels):
        here, extensions = tables(level), prefixes.next_pieces(level)
        ended = prefixes.ended(alive) if level else np.zeros(1, dtype=np.bool_)
        going, done = alive[~ended], alive[ended]
        tried = len(going) * len(extensions) + len(done)
        last = level == prefixes.levels - 1
        rule, false = strict_enough(here, tried, allowed if last else FALSE_PREFIXES)
        kept = [
            _passing(prefixes, here, level, going, extensions, rule),
            _passing(prefixes, here, level, done, extensions[:1], rule),
        ]
        found = np.concatenate([pieces for pieces, _ in kept])
        totals = np.concatenate([total for _, total in kept])
        possible = np.array([_possible(prefixes, spelled) for spelled in prefixes.spelled(found)], dtype=np.bool_)
        order = np.argsort(-totals[possible], kind="stable")
        alive = found[possible][order][: len(found) if last else max(1, _MOST_TRIED // len(extensions))]
    return Discovery(prefixes.spelled(alive), rule.least, false)


def _tallied(totals: Totals) -> tuple[Totals, NDArray[np.int64]]:
    """The different totals and how often each occurs: np.unique, faster where they are small."""
    if int(totals.max(initial=0)) > 4 * len(totals):
        return np.unique(totals, return_counts=True)
    often = np.bincount(totals)
    found = np.flatnonzero(often)
    return found, often[found]


def _passing(
    prefixes: Prefixes, tables: Tables, level: int, alive: Pieces, extensions: Pieces, rule: Pass
) -> tuple[Pieces, Totals]:
    """The extensions of beginnings that pass, and the messages that belong to each."""
    pieces, totals = [np.zeros((0, level + 1), dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    if len(alive):
        parts = [TABLES * level + table for table in range(TABLES)]
        bases = [prefixes.points_of(alive, part) for part in parts]
        steps = [prefixes.steps_of(extensions, part, level) for part in parts]
        rows = max(1, _AT_ONCE // len(extensions))
        for start in range(0, len(alive), rows):
            one, other = ((base[start : start + rows, None], step) for base, step in zip(bases, steps, strict=True))
            hopeful = np.nonzero(tables.first[_sum(*one, prefixes.points)] >= rule.quarter)
            row, column = hopeful
            first = tables.first[_sum(one[0][row, 0], one[1][column], prefixes.points)]
            second = tables.second[_sum(other[0][row, 0], other[1][column], prefixes.points)]
            fine = rule(first, second)
            pieces.append(np.column_stack([alive[start + row[fine]], extensions[column[fine]]]))
            totals.append((first + second)[fine])
    return np.concatenate(pieces), np.concatenate(totals)


def _sum(base: NDArray[np.int64], step: NDArray[np.int64], points: int) -> NDArray[np.int64]:
    """Modulo the number of points: both are below it."""
    found = base + step
    found -= points * (found >= points)
    return found


def _possible(prefixes: Prefixes, spelled: bytes) -> bool:
    """Whether a text may begin so: bytes must be a beginning of UTF-8."""
    if prefixes.domain.alphabet:
        return True
    try:
        codecs.getincrementaldecoder("utf-8")().decode(spelled)
    except UnicodeDecodeError:
        return False
    return True
