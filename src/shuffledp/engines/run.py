"""Carry a plan out: on values in memory, or on a file of any size."""

import math
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.group import group
from shuffledp.core.counts import Counts
from shuffledp.core.digits import rounded_up
from shuffledp.core.guarantee import Guarantee
from shuffledp.core.words import KeyedWords, WordSource
from shuffledp.engines.answer import Answer, estimated
from shuffledp.engines.count import count, settle_allocator
from shuffledp.engines.expression import Expression
from shuffledp.engines.intake import Intake, Policy
from shuffledp.engines.people import surplus
from shuffledp.engines.table import Table
from shuffledp.errors import InvalidInput, NoClaim
from shuffledp.planning.plan import Plan, epsilon_at
from shuffledp.protocols.histogram import Histogram
from shuffledp.protocols.query import Query, ask

_ONE_ROW = "one row = one person"


def run(
    plan: Plan, values: Any, *, query: Callable[[Any], float | bool] | None = None, words: WordSource | None = None
) -> Answer:
    """The plan's answer for clean values in memory, one a person; with `query`, for its answers about them.

    >>> from shuffledp import plan
    >>> ages = [20, 30, 40, 70] * 500
    >>> answer = run(plan("query", n=2000, epsilon=1.0, delta=1e-6), ages, query=lambda age: age >= 65)
    >>> bool(abs(answer.estimate.value[0] - 0.25) < 0.1)
    True
    """
    words = words or KeyedWords.fresh()
    values = values if hasattr(values, "__len__") else list(values)
    if plan.task == "query":
        if query is None:
            raise InvalidInput("this plan answers a query. Give the function to ask of each person.")
        return _answer(plan, count(Query(randomizer=plan.randomizer, function=query), values, words), words)
    asked = values if query is None else ask(query, values)
    return _answer(plan, count(plan.protocol, asked, words), words)


def run_file(
    plan: Plan,
    path: Path | str,
    *,
    column: str | None = None,
    query: str | None = None,
    policy: Policy | None = None,
    user: str | None = None,
    max_rows_per_user: int | None = None,
    truth: bool = False,
    multiline: bool = False,
    words: WordSource | None = None,
    progress: Callable[[float], None] | None = None,
) -> Answer:
    """The plan's answer for a CSV, Parquet or Arrow file with one report a row, in batches.

    The value of a row is a column, or an SQL expression of the row's columns.
    """
    if (column is None) == (query is None):
        raise InvalidInput("say where the values are: give either a column or a query.")
    if max_rows_per_user is not None and user is None:
        raise InvalidInput("rows a person can only be limited if we know whose they are. Give the user column.")
    if max_rows_per_user is not None and max_rows_per_user < 1:
        raise InvalidInput("a person may have at least one row. Give max_rows_per_user of 1 or more.")
    settle_allocator()
    table, words = Table(path=Path(path), multiline=multiline, labels=plan.labels or ()), words or KeyedWords.fresh()
    expression = Expression(query) if query is not None else None
    columns = [table.column(column)] if column is not None else expression.columns(table) if expression else []
    intake = Intake(plan.protocol, policy or Policy())
    counts, exact = Counts.none(plan.size), _Exact(plan)
    with ExitStack() as stack:
        extra = None
        if user is not None:
            extra = stack.enter_context(surplus(table, user, max_rows_per_user or 1))
        row = 0
        for batch, share in table.batches(columns):
            if row == 0 and expression is not None:
                expression.check(batch, texts=table.format == "csv")
            answers = expression.evaluate(batch) if expression else batch.column(columns[0])
            values, keep = intake.take(answers, row)
            if extra is not None:
                keep = _without(
                    extra.before(row + len(values)) - row, keep, len(values), intake, max_rows_per_user, row
                )
            counts += _count_clean(plan, values, words, row, keep)
            if truth:
                exact.add(values if keep is None else values[keep])
            row += len(values)
            if progress is not None:
                progress(share)
    if row == 0:
        raise InvalidInput(f"{Path(path).name} has no rows. Give a file with one row a person.")
    return _answer(
        plan, counts, words, intake.rejected, intake.adjusted,
        truth=exact.value() if truth else None, known_users=user is not None, rows=max_rows_per_user or 1,
    )  # fmt: skip


def _count_clean(
    plan: Plan, values: NDArray[Any], words: WordSource, row: int, keep: NDArray[np.bool_] | None
) -> Counts:
    """Histograms arrive as symbols already: their protocol without the names of bins."""
    protocol = plan.protocol
    if isinstance(protocol, Histogram):
        protocol = Histogram(protocol.randomizer)
    return count(protocol, values, words, first_row=row, keep=keep)


def _without(
    extra: NDArray[np.int64], keep: NDArray[np.bool_] | None, size: int, intake: Intake, most: int | None, row: int
) -> NDArray[np.bool_] | None:
    """Leave out rows beyond a person's share; without a limit somebody's second row is an error."""
    if not len(extra):
        return keep
    if most is None:
        raise InvalidInput(
            f"in data row {row + int(extra[0]) + 1:,} a user appears again. Keep one row a person, or use --max-rows-per-user."
        )
    mask = np.ones(size, dtype=np.bool_) if keep is None else keep.copy()
    intake.rejected["more rows than allowed"] += int(mask[extra].sum())
    mask[extra] = False
    return mask


def _answer(
    plan: Plan,
    counts: Counts,
    words: WordSource,
    rejected: Counter[str] | None = None,
    adjusted: Counter[str] | None = None,
    *,
    truth: NDArray[np.float64] | None = None,
    known_users: bool = False,
    rows: int = 1,
) -> Answer:
    n = counts.total
    if n < plan.min_batch:
        raise InvalidInput(_too_few(plan, n, rows))
    guarantee, realised = None, None
    notes = []
    if not words.private:
        notes.append("The randomness is seeded: this is a simulation and carries no guarantee.")
    elif rows > 1:
        guarantee = _group(plan, plan.honest_of(n), rows)
        realised = guarantee.epsilon
    else:
        guarantee, realised = plan.guarantee, epsilon_at(plan, plan.honest_of(n))
    if rejected:
        notes.append("How many rows were rejected, and whose, is not covered by the guarantee.")
    if adjusted:
        notes.append("The exact numbers of adjusted values are for the operator: publishing them is not covered.")
    if truth is not None:
        notes.append("The truth is not private: do not publish it.")
    unit = f"one person = at most {rows} rows" if rows > 1 else _ONE_ROW + (" (checked)" if known_users else "")
    return Answer(
        plan=plan, estimate=estimated(plan, counts, guarantee),
        guarantee=guarantee, realised_epsilon=realised, unit=unit, rejected=dict(rejected or {}),
        adjusted=dict(adjusted or {}), truth=truth, notes=tuple(notes),
    )  # fmt: skip


def _group(plan: Plan, honest: int, rows: int) -> Guarantee:
    return group(plan.randomizer, n=honest, delta=plan.guarantee.delta, rows=rows, bound=plan.guarantee.bound)


def _too_few(plan: Plan, n: int, rows: int) -> str:
    fact = f"{n:,} reports are fewer than the plan's {plan.min_batch:,}, so nothing is released."
    honest = plan.honest_of(n)
    if honest < 1:
        return f"{fact} Collect more."
    try:
        epsilon = rounded_up(_group(plan, honest, rows).epsilon if rows > 1 else epsilon_at(plan, honest))
    except NoClaim:
        return f"{fact} Collect more."
    return (
        f"{fact} With these, epsilon would be {epsilon} instead of {rounded_up(plan.guarantee.epsilon)}. Collect more."
    )


class _Exact:
    """The true answer, kept only when it is asked for."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._bins = np.zeros(plan.size)
        self._sums: list[float] = []
        self._n = 0

    def add(self, values: NDArray[Any]) -> None:
        self._n += len(values)
        if self._plan.task == "histogram":
            self._bins += np.bincount(values, minlength=self._plan.size)
        else:
            self._sums.append(float(values.sum()))

    def value(self) -> NDArray[np.float64]:
        if self._plan.task == "histogram":
            return self._bins
        total = math.fsum(self._sums)
        return np.array([total / max(1, self._n) if self._plan.is_mean else total])
