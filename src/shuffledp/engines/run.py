"""Carry a plan out: on values in memory, or on a file of any size."""

import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal

from shuffledp.core import argument
from shuffledp.core.digits import counted, rounded_up
from shuffledp.core.randomness import KeyedRandomness, RandomSource
from shuffledp.domains.domain import NO_VALUE, OR_SKIP, STRICT, Policy, StandIn, policy_of
from shuffledp.engines.answered_before import marks_of_values, note_answer
from shuffledp.engines.engine import Engine, Progress
from shuffledp.engines.registry import engine_named
from shuffledp.engines.tally import Tally
from shuffledp.errors import DataWarning, InvalidInput, NoClaim
from shuffledp.planning.plan import Plan
from shuffledp.protocols.randomized import without_value
from shuffledp.results.assembly import assembled, check_enough, promised
from shuffledp.results.privacy_unit import unit_of_rows
from shuffledp.results.result import Result
from shuffledp.sources.file_source import FileSource
from shuffledp.sources.frame import FrameSource, is_frame
from shuffledp.sources.source import Source
from shuffledp.sources.spark_table import SparkSource, is_spark_table
from shuffledp.sources.values import ValuesSource


def run(
    plan: Plan,
    values: Any,
    *,
    column: str | None = None,
    query: Callable[[Any], float | bool] | str | None = None,
    user: str | None = None,
    max_rows_per_user: int | None = None,
    row_id: str | None = None,
    policy: Policy = STRICT,
    missing: Literal["refuse", "skip"] | None = None,
    missing_as: StandIn | None = None,
    outside: Literal["refuse", "clamp"] | None = None,
    other: StandIn | None = None,
    match: Literal["exactly", "loosely"] | None = None,
    explain_errors: bool | None = None,
    truth: bool = False,
    randomness: RandomSource | None = None,
    engine: str | Engine | None = None,
    candidates: Sequence[str] | None = None,
) -> Result:
    """The plan's answer for values in memory, one per person, or for the answers of `query` about them.

    Values are a list, an array or a column of any kind, and `query` a function of a value. Of a table (a data frame of pandas or
    polars, an Arrow table, a dict of columns), say which column, or give an SQL expression of a row's columns as the query;
    `user` is the column that says whose row it is, `row_id` one that numbers the rows, so that a row has the same randomness
    wherever it stands. A DataFrame of Spark is read by Spark, and needs `row_id`. A plan that takes any text is asked about
    `candidates`.

    `missing`, `missing_as`, `outside`, `other` and `match` say what becomes of values that do not fit, as `Policy` does, which
    holds all of them. Errors about answers to a query are all alike, so that nobody learns from one; `explain_errors` is for the
    owner of the rows alone.

    >>> from shuffledp import plan
    >>> ages = [20, 30, 40, 70] * 500
    >>> result = run(plan("query", n=2000, epsilon=1.0, delta=1e-6), ages, query=lambda age: age >= 65)
    >>> bool(abs(result.estimate.value[0] - 0.25) < 0.1)
    True
    """
    check_plan(plan, values)
    policy = policy_of(
        policy, missing=missing, missing_as=missing_as, outside=outside, other=other, match=match,
        explain_errors=explain_errors,
    )  # fmt: skip
    source = source_of(
        plan, values, column=column, query=query, user=user, max_rows_per_user=max_rows_per_user, row_id=row_id
    )
    return _warned(
        run_source(
            plan, source, policy=policy, truth=truth, randomness=randomness, candidates=candidates,
            engine=engine_for(plan, values) if engine is None else engine,
        ),
        *marks_of(plan, values, column),
    )  # fmt: skip


def run_file(
    plan: Plan,
    path: Path | str | Sequence[Path | str],
    *,
    column: str | None = None,
    query: str | None = None,
    policy: Policy = STRICT,
    missing: Literal["refuse", "skip"] | None = None,
    missing_as: StandIn | None = None,
    outside: Literal["refuse", "clamp"] | None = None,
    other: StandIn | None = None,
    match: Literal["exactly", "loosely"] | None = None,
    explain_errors: bool | None = None,
    user: str | None = None,
    max_rows_per_user: int | None = None,
    row_id: str | None = None,
    truth: bool = False,
    multiline: bool = False,
    separator: str = ",",
    decimal: str = ".",
    randomness: RandomSource | None = None,
    engine: str | Engine = "arrow",
    progress: Progress | None = None,
    candidates: Sequence[str] | None = None,
) -> Result:
    """The plan's answer for a CSV, Parquet or Arrow file with one report per row, or for several that are alike.

    The value of a row is a column, or an SQL expression of the row's columns. A CSV file may have another separator than a
    comma, and a comma before decimals. Values that do not fit are handled as in `run`.
    """
    check_plan(plan, path)
    if is_frame(path):
        raise InvalidInput("this is a table in memory and not the path of a file. For a table use run.")
    policy = policy_of(
        policy, missing=missing, missing_as=missing_as, outside=outside, other=other, match=match,
        explain_errors=explain_errors,
    )  # fmt: skip
    source = FileSource(
        path, column=column, query=query, user=user, max_rows_per_user=max_rows_per_user, row_id=row_id,
        multiline=multiline, separator=separator, decimal=decimal,
    )  # fmt: skip
    return _warned(
        run_source(
            plan,
            source,
            policy=policy,
            truth=truth,
            randomness=randomness,
            engine=engine,
            progress=progress,
            candidates=candidates,
        ),
        source.identity(),
    )


def source_of(
    plan: Plan,
    values: Any,
    *,
    column: str | None,
    query: Callable[[Any], float | bool] | str | None,
    user: str | None,
    max_rows_per_user: int | None,
    row_id: str | None,
    for_files: str = "run_file",
) -> Source:
    """Values in memory, a table or a column of any kind, as rows that an engine reads; `for_files` takes files instead."""
    if isinstance(values, str | Path):
        raise InvalidInput(f"values are in memory, and this is a string. For a file use {for_files}.")
    if is_frame(values):
        if callable(query):
            raise InvalidInput("a query of a table is an SQL expression of a row's columns. Give it as a string.")
        return (SparkSource if is_spark_table(values) else FrameSource)(
            values, column=column, query=query, user=user, max_rows_per_user=max_rows_per_user, row_id=row_id
        )
    if any(option is not None for option in (column, user, max_rows_per_user, row_id)) or isinstance(query, str):
        raise InvalidInput(
            "columns are for tables, and these values are one column. Give a table, or leave out `column`, `user`, "
            "`max_rows_per_user`, `row_id` and a `query` that is a string."
        )
    if plan.protocol.description.asked and query is None:
        raise InvalidInput("this plan answers a query. Give the function to ask of each person.")
    return ValuesSource(values, query=None if query is None else argument.function(query, "query"))


def engine_for(plan: Plan, values: Any) -> str:
    """What reads values in memory fastest."""
    in_memory = "memory" if plan.protocol.domain.row_length == 1 else "arrow"  # long rows are worth all cores
    return "spark" if is_spark_table(values) else in_memory


def marks_of(plan: Plan, values: Any, column: str | None) -> tuple[Sequence[Hashable], Any]:
    """What values in memory are known by: the columns that are asked about, and being the same table."""
    if not is_frame(values):
        return marks_of_values(values), None
    columns = plan.protocol.domain.table_columns if column is None else (column,)
    return marks_of_values(values, columns) if columns else [], values


def _warned(result: Result, marks: Sequence[Hashable], table: Any = None) -> Result:
    """With what a user should know of these data; one that promises nothing spends nothing."""
    again = None if result.guarantee is None else note_answer(result.plan, marks, table)
    for said in (result.misfits, result.cost_of_rows, again):
        if said is not None:
            warnings.warn(said, DataWarning, stacklevel=3)
    return result


_POLICY: Final = ("missing", "missing_as", "outside", "other", "match", "explain_errors")


def check_arguments(plan: Plan, data: object, *, policy: Policy = STRICT, **options: Any) -> None:
    """Refuse what can be seen to be wrong before anything is read."""
    check_plan(plan, data)
    plan.protocol.domain.check(policy_of(policy, **{name: options.get(name) for name in _POLICY}))


def check_plan(plan: object, data: object) -> None:
    """What people swap or forget to load, in a sentence."""
    if isinstance(plan, Plan):
        return
    if isinstance(data, Plan):
        raise InvalidInput("the plan and the data are swapped. Give the plan first.")
    if isinstance(plan, str | Path):
        raise InvalidInput("the plan is a string. Read its file with Plan.load(path), or make one with plan(...).")
    raise InvalidInput(
        f"the plan is a {type(plan).__name__}. Make one with plan(...), or read it with Plan.load(path)."
    )


def tally_source(
    plan: Plan,
    source: Source,
    randomness: RandomSource | None = None,
    *,
    policy: Policy = STRICT,
    truth: bool = False,
    engine: str | Engine = "arrow",
    progress: Progress | None = None,
) -> Tally:
    """The messages of all rows of a source, counted. Whatever is made of them is refused if they are too few.

    Words that are given are used up by it, even if it fails. Without them there is a new key, which is forgotten.
    """
    plan.protocol.domain.check(policy)
    policy = policy.of(query=source.is_query)
    plan.check_memory()
    before, chosen = source.identity(), engine_named(engine)
    if randomness is None:
        randomness = KeyedRandomness.fresh()
    else:
        randomness.reserve()
    tally = chosen.tally(plan.protocol, source, randomness, policy, truth=truth, progress=progress)
    if source.identity() != before:
        raise InvalidInput(
            f"{source} was changed while it was read, so nothing is released. Run again once it is complete."
        )
    if tally.rows == 0:
        raise InvalidInput(f"{source} has no rows. Give one row per person.")
    n = tally.rows - tally.rejected.total()
    if plan.protocol.reports(tally.counts.values) != n:
        raise InvalidInput("the protocol did not count every row once, so nothing is released. Please report this.")
    tally = replace(tally, counts=plan.protocol.shuffled(tally.counts, randomness))
    if policy.explain_errors is False:  # how many answers were adjusted is exact, and chosen by whoever wrote the query
        tally = replace(tally, adjusted=Counter())
    return tally


def run_source(
    plan: Plan,
    source: Source,
    *,
    policy: Policy = STRICT,
    truth: bool = False,
    randomness: RandomSource | None = None,
    engine: str | Engine = "arrow",
    progress: Progress | None = None,
    candidates: Sequence[str] | None = None,
) -> Result:
    """The plan's answer for any source."""
    argument.truth(truth, "truth")
    if randomness is not None:
        argument.with_method(
            randomness, "reserve", "randomness", "a source of randomness, such as KeyedRandomness.fresh()"
        )
    if progress is not None:
        argument.function(progress, "progress")
    plan.protocol.domain.check(policy)
    plan = plan.about(candidates)
    refused = None
    try:
        tally = tally_source(plan, source, randomness, policy=policy, truth=truth, engine=engine, progress=progress)
    except InvalidInput as error:
        if (
            NO_VALUE not in str(error)
            or policy != replace(policy, missing="refuse", missing_as=None)
            or source.is_query
            or not (left := _if_skipped(plan, source, policy))
        ):
            raise
        refused = InvalidInput(f"{str(error).replace(OR_SKIP, '')}{left}")
    if refused is not None:  # raised here, it does not carry the first error along
        raise refused
    return result_of(
        plan, tally, rows=source.rows_per_person, checked=source.knows_people, private=randomness is None or randomness.private,
        exact=_exact_numbers(tally, policy.of(query=source.is_query)),
    )  # fmt: skip


def _if_skipped(plan: Plan, source: Source, policy: Policy) -> str:
    """What to know before people without a value are skipped: whether too few would be left."""
    rows = left = 0
    if isinstance(source, SparkSource):
        return ""
    try:
        for chunk in source.checked_chunks(plan.protocol.domain):
            absent = without_value(plan.protocol, chunk.raw, policy)
            rows, left = rows + len(chunk.raw), left + len(chunk.raw) - absent - len(chunk.leave_out)
    except InvalidInput:
        return ""
    if left >= plan.min_batch:
        return ""
    return (
        f" Skipping leaves {left:,} of {rows:,} rows, fewer than the plan's {plan.min_batch:,}: plan again, with `n={left}` or a "
        f"`dropout`{', or with a label of its own for what is missing' if plan.protocol.domain.can_list_more else ''}."
    )


def _exact_numbers(tally: Tally, policy: Policy) -> list[str]:
    """What a result must say of numbers in it that depend on values and are exact, even if they are 0."""
    notes = []
    if policy.missing == "skip":
        notes.append(
            "Rows without a value were left out: how many, and so how many reports there are, is exact and not covered by the "
            "guarantee."
        )
    elif tally.rejected:
        notes.append("How many rows were rejected, and whose, is not covered by the guarantee.")
    if policy.adjusts and policy.explain_errors is False:
        notes.append("How many answers to the query were adjusted is not shown, because the number would be exact.")
    elif policy.adjusts:
        notes.append(
            "The exact numbers of adjusted values are for the operator only. The guarantee does not cover publishing them."
        )
    return notes


def result_of(
    plan: Plan, found: Tally, *, rows: int, checked: bool, private: bool, exact: Sequence[str] = ()
) -> Result:
    """The answer that counts give, of people with so many rows at most; whether that was checked; what it says besides."""
    n = found.rows - found.rejected.total()
    honest = plan.honest_of(n)
    check_enough(plan, honest, lambda: too_few(plan, n, rows))
    return assembled(
        plan, found.counts, honest=honest,
        unit=unit_of_rows(rows, checked=checked), rows_per_person=rows, private=private,
        received=found.rows, rejected=found.rejected, adjusted=found.adjusted, truth=found.truth, notes=exact,
    )  # fmt: skip


def too_few(plan: Plan, n: int, rows: int) -> str:
    """Why so many reports of people with so many rows are not released, and what they would promise."""
    fact = f"{counted(n, 'report')} {'is' if n == 1 else 'are'} fewer than the plan's {plan.min_batch:,}, so nothing is released."
    if not plan.needs_crowd:
        return f"{fact} The guarantee would hold for them: plan with a smaller `n`, or with a `dropout`."
    honest, remedy = plan.honest_of(n), f"Collect more, or plan for those who answer, with `n={n}` or a `dropout`."
    if honest < 1:
        return f"{fact} {remedy}"
    try:
        promise = promised(plan, honest=honest, rows_per_person=rows)
        epsilon = rounded_up(promise.epsilon if rows > 1 else plan.epsilon_at(honest))
    except NoClaim:
        return f"{fact} {remedy}"
    return f"{fact} With these, epsilon would be {epsilon} instead of {rounded_up(plan.guarantee.epsilon)}. {remedy}"
