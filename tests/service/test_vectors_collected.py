"""Rows of numbers from clients to the analyzer, and in tables of messages."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from oracles.chatty import batch_of
from oracles.parties import ANALYZER, PARTIES
from shuffledp import InvalidInput, KeyedRandomness, plan, run, run_file
from shuffledp.auditing.audit import audit_service
from shuffledp.engines.export import message_table, read_export
from shuffledp.protocols.codebook_mean import VectorEstimate
from shuffledp.service.analyzer.analyzer import analyze
from shuffledp.service.client.client import messages_of
from shuffledp.service.sealing.hpke import seal_inner
from shuffledp.service.task import Task
from shuffledp.sources.values import ValuesSource

TERMS: dict[str, Any] = {"n": 60, "epsilon": 2.0, "delta": 1e-2}
ROWS = np.random.default_rng(1).standard_normal((80, 3)) * 0.2 + [0.2, -0.3, 0.1]


def task(**changes: Any) -> Task:
    asked = plan.vector(columns=["a", "b", "c"], norm=2.0, **(TERMS | changes))
    return Task(plan=asked, window=60, max_age=600, **PARTIES)


@pytest.mark.parametrize("repeats", [1, 3])
def test_reports_are_counted_as_rows_are(repeats: int) -> None:
    """What is sealed, opened and decoded is what `run` adds up; a damaged record is counted and harms no other."""
    agreed, randomness = task(messages_per_user=repeats), KeyedRandomness.seeded(1)
    protocol = agreed.plan.protocol
    clean = protocol.domain.clean(ROWS).values
    sent = protocol.randomize(clean, randomness, first_row=0)
    messages = list(protocol.by_user(sent, len(ROWS)))
    assert all(len(own) == repeats for own in messages)
    records = [seal_inner(message, agreed, ANALYZER.public()) for own in messages for message in own]
    batch = b"".join(records) if repeats == 1 else batch_of(records, len(ROWS))
    found = analyze(batch, agreed, ANALYZER)
    expected = run(agreed.plan, ROWS, randomness=KeyedRandomness.seeded(1))
    assert (found.counts.values == expected.counts.values).all()
    assert isinstance(found.estimate, VectorEstimate)
    assert found.estimate.covariance is not None
    spoilt = [records[0][:-1] + bytes([records[0][-1] ^ 1]), *records[1:]]
    batch = b"".join(spoilt) if repeats == 1 else batch_of(spoilt, len(ROWS))
    other = analyze(batch, agreed, ANALYZER)
    assert other.rejected == {"decrypt_error": 1}
    assert other.n == len(ROWS) - 1


def test_reports_of_columns_are_read_as_a_regression() -> None:
    ranges = {"a": [-1, 1], "b": [-2, 2], "y": [-1, 1]}
    agreed = Task(plan=plan.regression(ranges=ranges, target="y", **TERMS), window=60, max_age=600, **PARTIES)
    sent = [messages_of(agreed, row, KeyedRandomness.seeded(j)) for j, row in enumerate(ROWS.tolist())]
    records = [seal_inner(message, agreed, ANALYZER.public()) for own in sent for message in own]
    found = analyze(b"".join(records), agreed, ANALYZER)
    assert found.n == len(ROWS)
    assert found.names[:4] == ("coefficient: (intercept)", "coefficient: a", "coefficient: b", "mean: a")
    assert "coefficient: a" in found.estimate.refused
    assert found["mean", "b"].low < ROWS[:, 1].mean() < found["mean", "b"].high


@pytest.mark.parametrize(
    "value", ["0.5,0.25,-1", [0.5, 0.25, -1], '{"a": 0.5, "b": 0.25, "c": -1}', np.array([0.5, 0.25, -1])]
)
def test_a_client_takes_a_row_in_any_form(value: Any) -> None:
    agreed = task()
    (message,) = messages_of(agreed, value, KeyedRandomness.seeded(1))
    assert [message] == messages_of(agreed, "0.5,0.25,-1", KeyedRandomness.seeded(1))
    assert 0 <= message < agreed.plan.protocol.alphabet < 2**62
    with pytest.raises(InvalidInput, match="is outside the ball of radius 2"):
        messages_of(agreed, "5,5,5", KeyedRandomness.seeded(1))


def test_a_service_is_audited() -> None:
    found = audit_service(task(n=12).plan, trials=40)
    assert found.verdict != "violated"


def test_a_table_of_messages_gives_the_same_answer(tmp_path: Path) -> None:
    """Also for several messages; one that was changed in its upper half is refused."""
    for repeats in (1, 3):
        asked, randomness = task(messages_per_user=repeats).plan, KeyedRandomness.fresh()
        path = tmp_path / f"{repeats}.parquet"
        message_table(asked, ValuesSource(ROWS), randomness=randomness).write(path)
        table = parquet.read_table(path)
        assert table.column("message").type == pa.uint64()
        assert len(table) == repeats * len(ROWS)
        found, expected = read_export(path), run(asked, ROWS, randomness=randomness.replayed())
        assert (found.counts.values == expected.counts.values).all()
        assert found.guarantee == asked.guarantee
        messages = table.column("message").to_numpy().copy()
        ordered = asked.protocol.randomize(asked.protocol.domain.clean(ROWS).values, randomness.replayed(), first_row=0)
        assert (np.asarray(getattr(ordered, "values", ordered)) != messages).any()
        messages[0] ^= np.uint64(1 << 40)
        edited = pa.table({"message": messages}).replace_schema_metadata(table.schema.metadata)
        parquet.write_table(edited, path)
        with pytest.raises(InvalidInput, match="was changed after it was written"):
            read_export(path)


@pytest.mark.parametrize("together", [7, 1 << 21])
def test_files_of_every_kind_give_the_same_answer(
    tmp_path: Path, together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Named columns of a CSV or Parquet file, and a column of lists; however many rows are read at once."""
    monkeypatch.setattr("shuffledp.sources.source.CHUNK", together)
    asked, columns = task().plan, dict(zip("abc", ROWS.T, strict=True))
    table = pa.table({**columns, "row": pa.array(ROWS.tolist(), pa.list_(pa.float64(), 3))})
    parquet.write_table(table, tmp_path / "rows.parquet", row_group_size=17)
    lines = ["c,a,b", *(f"{c!r},{a!r},{b!r}" for a, b, c in ROWS.tolist())]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    expected = run(asked, ROWS, randomness=KeyedRandomness.seeded(4)).counts.values
    for name, column in (("rows.parquet", None), ("rows.parquet", "row"), ("rows.csv", None)):
        for engine in ("memory", "arrow"):
            found = run_file(asked, tmp_path / name, column=column, engine=engine, randomness=KeyedRandomness.seeded(4))
            assert (found.counts.values == expected).all()
    (tmp_path / "other.csv").write_text("x,b,c\n1,2,3\n")
    with pytest.raises(InvalidInput, match="has no column 'a'"):
        run_file(asked, tmp_path / "other.csv")
