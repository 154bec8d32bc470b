"""Which data were answered about before in this program: a second answer spends the same people's budget again.

A library writes nothing down, so this ends with the program, and it refuses nothing: a `Session` counts, and refuses.
"""

import weakref
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from threading import Lock
from typing import Any, Final

from shuffledp.planning.plan import Plan

_LOOKED_AT: Final = 4096
"""Values of a column at most, evenly spaced: equal ones in as long a column are hardly of other people."""
_AGAIN: Final = (
    "These data, or others that look just like them, were answered about before in this program, and each answer spends these "
    "people's budget again. Ask within a Session, which refuses what is beyond a budget; compose(...) states what several "
    "answers guarantee together."
)
_counted: ContextVar[bool] = ContextVar("counted", default=False)
_alone = Lock()
_marks = dict[Hashable, set[str]]()
_tables = dict[int, tuple["weakref.ref[Any]", set[str]]]()
"""By which plans they were answered about."""
_rounds = Counter[str]()


@contextmanager
def counted_elsewhere() -> Iterator[None]:
    """While a session books answers, their repetition is no surprise."""
    token = _counted.set(True)
    try:
        yield
    finally:
        _counted.reset(token)


def note_answer(plan: Plan, marks: Sequence[Hashable], table: Any = None) -> str | None:
    """Remember an answer about these data; what there is to say if there was one before.

    Rounds that are planned may be about the same people, and are counted: among these only answers by other plans are repeated.
    """
    with _alone:
        before = set[str]().union(_plans_of(table), *(_marks.get(mark, ()) for mark in marks))
        for mark in marks:
            _marks.setdefault(mark, set()).add(plan.sha256)
        _remember(table, plan.sha256)
        total = plan.over_time
        again = bool(before if total is None else before - {plan.sha256})
        if total is not None:
            _rounds[plan.sha256] += 1
            done = _rounds[plan.sha256]
            if done > total.rounds and not _counted.get():
                return (
                    f"The plan is one of {total.rounds:,} rounds, and this is answer {done:,} by it in this program: what is "
                    "promised of all rounds together does not hold beyond them. Plan for more rounds before the first one."
                )
        return _AGAIN if again and not _counted.get() else None


def marks_of_values(values: Any, columns: Sequence[str] = ()) -> list[Hashable]:
    """What the values are known by, or these columns of a table; nothing where they cannot be looked at twice."""
    with suppress(Exception):  # a table of a kind that is read in another way
        if len(columns) == 1:  # the same as if it came alone
            return [_seen(values[columns[0]])]
        return [tuple(_seen(values[name]) for name in columns) if columns else _seen(values)]
    return []


def _seen(values: Any) -> Hashable:
    size, at = len(values), values.iloc if hasattr(values, "iloc") else values
    return size, hash(tuple(repr(at[place]) for place in range(0, size, max(1, -(-size // _LOOKED_AT)))))


def _plans_of(table: Any) -> set[str]:
    """By which a table that still lives was answered about."""
    known = _tables.get(id(table))
    return known[1] if table is not None and known is not None and known[0]() is table else set()


def _remember(table: Any, plan: str) -> None:
    """Note a plan for a table as long as the table lives; no value is kept."""
    if table is not None:
        with suppress(TypeError):  # a dict cannot be remembered so
            _tables[id(table)] = (weakref.ref(table), _plans_of(table) | {plan})
    for place in [place for place, (known, _) in _tables.items() if known() is None]:
        del _tables[place]
