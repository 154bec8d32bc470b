"""What the engine spark costs: rows randomized and counted, and sealed records opened, on this machine.

Wall time beside the CPU time of the driver, of Spark's JVM and of its Python processes, because machines are never quiet: rows
or records per CPU-second are what a cluster's size is reckoned from.

    python benchmarks/bench_spark.py [ROWS [RECORDS]]      1e8 rows and 1e5 records unless said otherwise
"""

import argparse
import os
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from shuffledp import KeyedWords, Plan, plan
from shuffledp.cluster.session import session
from shuffledp.engines.file import File
from shuffledp.engines.run import tally_source
from shuffledp.engines.source import Source
from shuffledp.engines.spark import Spark
from shuffledp.engines.spark_rows import SparkRows
from shuffledp.esa.crypto import seal_inner
from shuffledp.esa.keys import KeyRing
from shuffledp.esa.opening import tally_here
from shuffledp.esa.spark_opening import SparkOpeners
from shuffledp.esa.task import Task

CHUNK: Final = 1 << 20
TICK: Final = os.sysconf("SC_CLK_TCK")
SIZE: Final = 100


def processes() -> Iterator[tuple[int, int, float]]:
    """Every process: its id, its parent's, and its seconds of CPU, those of children that are gone included."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text(errors="replace").rsplit(")", 1)[1].split()
        except OSError:
            continue
        yield int(path.parent.name), int(fields[1]), sum(map(int, fields[11:15])) / TICK


def spent() -> float:
    """Seconds of CPU of this process and of all that it started."""
    found = {pid: (parent, cpu) for pid, parent, cpu in processes()}
    mine = {os.getpid()}
    while more := {pid for pid, (parent, _) in found.items() if parent in mine} - mine:
        mine |= more
    return sum(found[pid][1] for pid in mine)


def measured(job: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU seconds."""
    wall, cpu = time.perf_counter(), spent()
    job()
    return time.perf_counter() - wall, spent() - cpu


@contextmanager
def cores(number: int) -> Iterator[Any]:
    """Spark on so many cores of this machine."""
    with session(master=f"local[{number}]") as spark:
        spark.conf.set("spark.sql.shuffle.partitions", "4")
        spark.range(10).repartition(number).mapInArrow(lambda batches: batches, "id bigint").collect()  # it has started
        yield spark


def people(path: Path, rows: int) -> None:
    """A file of whole numbers."""
    generator = np.random.default_rng(0)
    with parquet.ParquetWriter(path, pa.schema([("k", pa.int64())])) as writer:
        for start in range(0, rows, CHUNK):
            writer.write_table(pa.table({"k": generator.integers(0, SIZE, min(CHUNK, rows - start))}))


def tallied(spark: Any, name: str, made: Plan, source: Source, rows: int) -> None:
    """Print what it costs to randomize and count all rows of a source."""
    wall, cpu = measured(lambda: tally_source(made, source, KeyedWords.fresh(), engine=Spark(spark)))
    print(
        f"{rows:>13,} rows  2 cores  {name:<28}{rows / wall / 1e6:>7.2f} M rows/s  wall {wall:.1f} s  CPU {cpu:.1f} s  "
        f"{rows / cpu / 1e6:.2f} M rows per CPU-second",
        flush=True,
    )


def rows_per_second(rows: int) -> None:
    """A file, a table whose numbers follow each other, and one whose numbers do not."""
    made = plan("histogram", n=min(rows, 10**6), epsilon=1.0, delta=1e-6, size=SIZE)
    with tempfile.TemporaryDirectory() as folder, cores(2) as spark:
        path = Path(folder) / "people.parquet"
        people(path, rows)
        tallied(spark, "a Parquet file", made, File(path, column="k"), rows)
        table = spark.range(rows).selectExpr("id", f"id % {SIZE} as k")
        tallied(spark, "a table, numbered in order", made, SparkRows(table, column="k", row_id="id"), rows)
        few = max(rows // 10, 10**6)
        scattered = spark.range(few).selectExpr("pmod(xxhash64(id), 1L << 62) as id", f"id % {SIZE} as k")
        tallied(spark, "a table, scattered numbers", made, SparkRows(scattered, column="k", row_id="id"), few)


def records_per_second(records: int) -> None:
    """Sealed records: the cipher alone, Spark on one core and on two."""
    made = plan("histogram", n=10**4, epsilon=1.0, delta=1e-6, size=16)
    parties: dict[str, Any] = {"shufflers": ("Alpha",), "analyzer": "Beta", "honest_fraction": 1.0}
    task, ring = Task(plan=made, window=60, max_age=600, **parties), KeyRing.fresh("analyzer")
    sealed = [seal_inner(j % 16, task, ring.public()) for j in range(2000)]
    batch = [sealed[j % len(sealed)] for j in range(records)]  # that they repeat does not matter for the time
    wall, cpu = measured(lambda: tally_here(batch[: records // 5], ring, task.id, 16))
    raw = records / 5 / cpu
    print(
        f"{records // 5:>13,} records  the cipher alone  {records / 5 / wall:,.0f} per s, {raw:,.0f} per CPU-second",
        flush=True,
    )
    rates = dict[int, float]()
    for number in (1, 2):
        with cores(number) as spark:
            openers, found = SparkOpeners(spark), Counter[Any]()
            next(openers.tallies(batch[:5000], ring, task.id, 16))

            def job(openers: SparkOpeners = openers, found: Counter[Any] = found) -> None:
                for tally in openers.tallies(batch, ring, task.id, 16):
                    found.update(tally)

            wall, cpu = measured(job)
        rates[number] = records / wall
        print(
            f"{records:>13,} records  Spark, {number} cores  {records / wall:,.0f} per s, {records / cpu:,.0f} per CPU-second "
            f"({records / cpu / raw:.0%} of the cipher)  wall {wall:.1f} s  CPU {cpu:.1f} s",
            flush=True,
        )
    print(f"  two cores against one: {rates[2] / rates[1]:.2f} times", flush=True)


def main() -> None:
    """Both."""
    warnings.simplefilter("ignore")
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_SUBMIT_ARGS", "--driver-memory 2g pyspark-shell")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="?", type=float, default=1e8)
    parser.add_argument("records", nargs="?", type=float, default=1e5)
    given = parser.parse_args()
    rows_per_second(int(given.rows))
    records_per_second(int(given.records))


if __name__ == "__main__":
    main()
