"""Tables of randomized messages in a secret order, with the plan and what it promises in the file itself.

A shuffled batch is its counts: the messages are written from these, so that nothing in the file depends on where a row stood.
How many rows were rejected or adjusted is not covered by the guarantee, and is not in the file.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.canonical import canonical
from shuffledp.core.counts import Counts
from shuffledp.core.document import Document
from shuffledp.core.files import drafted
from shuffledp.core.guarantee import Guarantee
from shuffledp.core.memory import check_memory
from shuffledp.core.parsing import parse_exactly, plain
from shuffledp.core.words import KeyedWords, rows_from
from shuffledp.engines.run import promised, result_of
from shuffledp.engines.source import Source
from shuffledp.engines.tabular import arrow
from shuffledp.engines.tally import Tally
from shuffledp.errors import InvalidInput
from shuffledp.planning.plan import Plan
from shuffledp.results.result import Result

Messages = NDArray[np.unsignedinteger]
_VERSION: Final = 2
"""Since 2 the hash is over the canonical form of what is stated, whoever wrote the numbers."""
_KEY: Final = b"shuffledp"
_COLUMN: Final = "message"
_BYTES_EACH: Final = 64
"""That permuting a message takes, about."""


def export(plan: Plan, found: Tally, source: Source, path: Path) -> None:
    """Write the messages that were counted (`tally_source`); the file appears whole or not at all."""
    protocol = plan.protocol
    users = protocol.reports(found.counts.values)
    often = found.counts.values[: protocol.alphabet]
    if (protocol.tallied(often, users).values != found.counts.values).any():
        raise InvalidInput("the messages of this protocol are more than their counts. Use run.")
    messages = _permuted(often)
    stated: Document = {
        "version": _VERSION, "plan": plan.document(), "guarantee": _stated(promised(plan, users, source.rows_per_person)),
        "users": users, "rows_per_person": source.rows_per_person, "people_checked": source.knows_people,
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


def read_export(path: Path, candidates: Sequence[str] | None = None) -> Result:
    """The answer that an exported table gives; refused if its plan, its promise or its messages were changed."""
    messages, stated = _read(path)
    edited = InvalidInput(f"{path.name} was changed after it was written, or is damaged. Export it again.")
    if not isinstance(stated, dict) or stated.pop("sha256", None) != _digest(stated, messages):
        raise edited
    stated = plain(stated)
    users, rows, checked = (stated.get(name) for name in ("users", "rows_per_person", "people_checked"))
    if type(users) is not int or type(rows) is not int or rows < 1:
        raise edited
    plan = Plan.from_document(stated.get("plan"))
    counts = plan.protocol.tallied(Counts.of(messages, plan.protocol.alphabet).values, users)
    tally = Tally(rows=users, counts=counts)
    result = result_of(plan.about(candidates), tally, rows=rows, checked=checked is True, private=True)
    if result.guarantee is None or stated.get("guarantee") != _stated(result.guarantee):
        raise edited
    return result


def _stated(promise: Guarantee) -> dict[str, Any]:
    """As it is written; a caveat only if there is one, so that tables of before are read."""
    return {name: value for name, value in asdict(promise).items() if name != "caveat" or value is not None}


def _permuted(often: NDArray[np.int64]) -> Messages:
    """So many of each message, in an order that a cipher decides under a key that is forgotten: all orders are equally likely."""
    total = int(often.sum())
    check_memory(
        _BYTES_EACH * total, f"putting {total:,} messages in a secret order", "Export fewer rows at a time, or use run"
    )
    kind = np.min_scalar_type(len(often) - 1)
    messages: Messages = np.repeat(np.arange(len(often)).astype(kind), often)
    places = KeyedWords.fresh().blocks(rows_from(0, total), 0)  # different for each
    return messages[np.lexsort((places[:, 1], places[:, 0]))]


def _digest(stated: Document, messages: Messages) -> str | None:
    """Of what is stated and the messages; None for a version that is not known."""
    version = stated.get("version")
    if version not in (1, _VERSION):
        return None
    found = hashlib.sha256(canonical(stated) if version == _VERSION else json.dumps(stated, sort_keys=True).encode())
    found.update(np.ascontiguousarray(messages, dtype="<u4").tobytes())
    return found.hexdigest()


def _read(path: Path) -> tuple[Messages, Any]:
    pa = arrow()
    from pyarrow import parquet

    with contextlib.suppress(OSError, pa.ArrowException, ValueError, KeyError):
        table = parquet.read_table(path)
        stated = parse_exactly((table.schema.metadata or {})[_KEY])
        column = table.column(_COLUMN).combine_chunks()
        if table.column_names == [_COLUMN] and pa.types.is_unsigned_integer(column.type) and column.null_count == 0:
            return column.to_numpy(), stated
    raise InvalidInput(f"{path} is no table that shuffledp export wrote, or is damaged. Export it again.")
