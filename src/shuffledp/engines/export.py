"""Tables of randomized messages in a secret order, with the plan and what it promises in the file itself.

A shuffled batch is its counts: the messages are written from these, so that nothing in the file depends on where a row stood.
Whoever gets the file learns how many messages there are, so that number must not depend on values: nobody is left out for want
of one. How many rows were rejected or adjusted is not covered by the guarantee, and is not in the file.
"""

import contextlib
import hashlib
import json
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from shuffledp.core import argument
from shuffledp.core.canonical import canonical
from shuffledp.core.document import Document
from shuffledp.core.files import drafted, place_of
from shuffledp.core.free_memory import check_memory
from shuffledp.core.guarantee import Guarantee
from shuffledp.core.parsing import parse_exactly, plain
from shuffledp.core.randomness import KeyedRandomness, RandomSource, rows_from
from shuffledp.domains.domain import OR_SKIP, STRICT, Policy, StandIn, policy_of
from shuffledp.engines.answered_before import note_answer
from shuffledp.engines.engine import Engine, Progress
from shuffledp.engines.kept import Kept
from shuffledp.engines.run import (
    check_plan,
    engine_for,
    marks_of,
    result_of,
    source_of,
    tally_source,
    too_few,
)
from shuffledp.engines.tally import Tally
from shuffledp.errors import DataWarning, InvalidInput
from shuffledp.planning.plan import Plan
from shuffledp.results.assembly import check_enough, promised
from shuffledp.results.result import Result
from shuffledp.sources.source import Source
from shuffledp.sources.table import arrow

Messages = NDArray[np.unsignedinteger]
_VERSION: Final = 2
"""Since 2 the hash is over the canonical form of what is stated, whoever wrote the numbers, and nobody is left out for want of a
value."""
_FORMER: Final = 1
_KEY: Final = b"shuffledp"
_COLUMN: Final = "message"
_MAYBE_LEFT_OUT: Final = (
    "This table is of a version that could leave out rows without a value: if it did, how many reports it has is exact and not "
    "covered by the guarantee."
)
_BYTES_EACH: Final = 64
"""That permuting a message takes, about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageTable:
    """Messages of people, randomized and counted, that can be written once it is noted what they cost.

    Attributes:
        plan: that was carried out.
        tally: the messages, and what became of all rows.
        rows_per_person: the most rows of one person.
        people_checked: whether it was checked whose row is whose.
        messages: of all people, where these are more than their counts.
    """

    plan: Plan
    tally: Tally
    rows_per_person: int
    people_checked: bool
    messages: Messages | None = None

    @property
    def users(self) -> int:
        """How many reports there are."""
        return self.plan.protocol.reports(self.tally.counts.values)

    @property
    def promise(self) -> Guarantee:
        """What the table guarantees."""
        return promised(self.plan, honest=self.plan.honest_of(self.users), rows_per_person=self.rows_per_person)

    def write(self, path: Path | str) -> None:
        """The file appears whole or not at all."""
        path = place_of(path)
        counts = self.tally.counts.values
        each = _repeated(counts[: self.plan.protocol.alphabet]) if self.messages is None else self.messages
        messages = _permuted(each)
        stated: Document = {
            "version": _VERSION, "plan": self.plan.document(), "guarantee": _stated(self.promise),
            "users": self.users, "rows_per_person": self.rows_per_person, "people_checked": self.people_checked,
        }  # fmt: skip
        stated["sha256"] = _digest(stated, messages)
        pa = arrow()
        from pyarrow import parquet

        table, failure = pa.table({_COLUMN: messages}).replace_schema_metadata({_KEY: json.dumps(stated)}), ""
        try:
            with drafted(path) as draft:
                parquet.write_table(table, draft, row_group_size=1 << 20)
        except OSError as error:
            failure = os.strerror(error.errno) if error.errno else "the disk may be full"
        if failure:
            raise InvalidInput(f"cannot write {path}: {failure}. Choose another place.")


def export(
    plan: Plan,
    values: Any,
    path: Path | str,
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
    randomness: RandomSource | None = None,
    engine: str | Engine | None = None,
) -> Guarantee:
    """Write the randomized messages of values in memory to a Parquet file, in a secret order; what they guarantee.

    `values` and all options are as for `run`, except that nobody can be skipped: the file shows how many messages there are.
    `read_export` estimates from the file. Writing it spends the people's budget, as an answer does: within one, use
    `Session.export`.

    >>> from tempfile import TemporaryDirectory
    >>> from shuffledp import plan
    >>> poll = plan.histogram(labels=["no", "yes"], n=1000, epsilon=4.0, delta=1e-6)
    >>> with TemporaryDirectory() as folder:
    ...     promise = export(poll, ["no"] * 900 + ["yes"] * 100, f"{folder}/messages.parquet")
    ...     read_export(f"{folder}/messages.parquet").n
    1000
    """
    check_plan(plan, values)
    path = table_place(path)
    policy = policy_of(
        policy, missing=missing, missing_as=missing_as, outside=outside, other=other, match=match,
        explain_errors=explain_errors,
    )  # fmt: skip
    source = source_of(
        plan, values, column=column, query=query, user=user, max_rows_per_user=max_rows_per_user, row_id=row_id,
        for_files="the command shuffledp export",
    )  # fmt: skip
    if randomness is not None:
        argument.with_method(
            randomness, "reserve", "randomness", "a source of randomness, such as KeyedRandomness.fresh()"
        )
    messages = message_table(
        plan,
        source,
        policy=policy,
        randomness=randomness,
        engine=engine_for(plan, values) if engine is None else engine,
    )
    again = note_answer(plan, *marks_of(plan, values, column))  # before anything is written
    if again is not None:
        warnings.warn(again, DataWarning, stacklevel=2)
    messages.write(path)
    return messages.promise


def table_place(path: Path | str) -> Path:
    """Where a table of messages is to be written; refused unless its name says that it is one."""
    place = place_of(path)
    if place.suffix != ".parquet":
        raise InvalidInput(f"{place.name} is not a name for a table. Use one that ends in .parquet.")
    return place


def message_table(
    plan: Plan,
    source: Source,
    *,
    policy: Policy = STRICT,
    randomness: RandomSource | None = None,
    engine: str | Engine = "arrow",
    progress: Progress | None = None,
) -> MessageTable:
    """The messages of all rows of a source; refused as `run` refuses them, and if people without a value would be left out."""
    if policy.missing == "skip":
        raise InvalidInput(
            "a table that leaves people out tells whoever gets it exactly how many are left. Count missing values as something "
            f"with `missing_as=VALUE`{', or plan a bin for them' if plan.protocol.domain.can_list_more else ''}."
        )
    if randomness is not None and not randomness.private:
        raise InvalidInput(
            "a table states a guarantee, which this randomness does not give. Use KeyedRandomness.fresh()."
        )
    kept: Any = None if plan.protocol.counted_by_message else Kept(plan.protocol)
    carried_out = plan if kept is None else replace(plan, protocol=kept)
    try:
        tally = tally_source(carried_out, source, randomness, policy=policy, engine=engine, progress=progress)
    except InvalidInput as refused:
        raise InvalidInput(str(refused).replace(OR_SKIP, "")) from None
    protocol, counts = plan.protocol, tally.counts.values
    n, rows = protocol.reports(counts), source.rows_per_person
    check_enough(plan, plan.honest_of(n), lambda: too_few(plan, n, rows))
    if kept is not None:
        messages = kept.messages()
        if len(messages) != round(n * protocol.messages_per_user):  # counted in other processes
            raise InvalidInput(f"the engine {engine} does not hand over messages themselves. Use another one.")
        return MessageTable(
            plan=plan, tally=tally, rows_per_person=rows, people_checked=source.knows_people, messages=messages
        )
    if (protocol.tallied(counts[: protocol.alphabet], protocol.reports(counts)).values != counts).any():
        raise InvalidInput("the messages of this protocol are more than their counts. Use run.")
    return MessageTable(plan=plan, tally=tally, rows_per_person=rows, people_checked=source.knows_people)


def read_export(path: Path | str, candidates: Sequence[str] | None = None) -> Result:
    """The answer that an exported table gives; refused if it is damaged, or was edited and not hashed again.

    Its hash has no key: whoever can write the file can make another table. Take it from somebody you trust.
    """
    path = place_of(path)
    messages, stated = _read(path)
    edited = InvalidInput(f"{path.name} was changed after it was written, or is damaged. Export it again.")
    if not isinstance(stated, dict) or stated.pop("sha256", None) != _digest(stated, messages):
        raise edited
    stated = plain(stated)
    version, users, rows, checked = (
        stated.get(name) for name in ("version", "users", "rows_per_person", "people_checked")
    )
    if type(users) is not int or type(rows) is not int or rows < 1:
        raise edited
    plan = Plan.from_document(stated.get("plan"))
    totals = np.zeros(plan.protocol.batch_counters, dtype=np.int64)
    if len(messages) and int(messages.max()) >= plan.protocol.alphabet:
        raise edited
    plan.protocol.add_batch(totals, messages.astype(np.uint64), np.ones(len(messages), dtype=np.int64))
    tally = Tally(rows=users, counts=plan.protocol.tallied(totals, users))
    result = result_of(
        plan.about(candidates), tally, rows=rows, checked=checked is True, private=True,
        exact=[_MAYBE_LEFT_OUT] if version == _FORMER else [],
    )  # fmt: skip
    if result.guarantee is None or stated.get("guarantee") != _stated(result.guarantee):
        raise edited
    return result


def _stated(promise: Guarantee) -> dict[str, Any]:
    """As it is written; a caveat only if there is one, so that tables of before are read."""
    return {name: value for name, value in asdict(promise).items() if name != "caveat" or value is not None}


def _repeated(often: NDArray[np.int64]) -> Messages:
    """So many of each message."""
    _check_room(int(often.sum()))
    kind = np.min_scalar_type(len(often) - 1)
    return np.repeat(np.arange(len(often)).astype(kind), often)


def _check_room(total: int) -> None:
    check_memory(
        _BYTES_EACH * total, f"putting {total:,} messages in a secret order", "Export fewer rows at a time, or use run"
    )


def _permuted(messages: Messages) -> Messages:
    """In an order that a cipher decides under a key that is forgotten: all orders are equally likely."""
    total = len(messages)
    _check_room(total)
    places = KeyedRandomness.fresh().blocks(rows_from(0, total), 0)  # different for each
    return messages[np.lexsort((places[:, 1], places[:, 0]))]


def _digest(stated: Document, messages: Messages) -> str | None:
    """The hash over what is stated and the messages; None for a version that is not known."""
    version = stated.get("version")
    if version not in (_FORMER, _VERSION):
        return None
    sha256 = hashlib.sha256(canonical(stated) if version == _VERSION else json.dumps(stated, sort_keys=True).encode())
    wide = messages.dtype.itemsize > 4
    sha256.update(np.ascontiguousarray(messages, dtype="<u8" if wide else "<u4").tobytes())
    return sha256.hexdigest()


def _read(path: Path) -> tuple[Messages, Any]:
    pa = arrow()
    from pyarrow import parquet

    with contextlib.suppress(OSError, pa.ArrowException, ValueError, KeyError):
        table = parquet.read_table(path)
        stated = parse_exactly((table.schema.metadata or {})[_KEY])
        column = table.column(_COLUMN).combine_chunks()
        if table.column_names == [_COLUMN] and pa.types.is_unsigned_integer(column.type) and column.null_count == 0:
            return column.to_numpy(), stated
    raise InvalidInput(f"{path} is not a table that shuffledp export wrote, or is damaged. Export it again.")
