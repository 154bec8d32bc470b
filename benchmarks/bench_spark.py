"""What the engine spark costs: rows randomized and counted, and sealed records opened, on this machine.

Wall time beside the CPU time of the driver, of Spark's JVM and of its Python processes, because machines are never quiet: rows
or records per CPU-second are what a cluster's size is reckoned from.

    python benchmarks/bench_spark.py [ROWS [RECORDS]]      1e8 rows and 1e5 records unless said otherwise; 0 leaves them out
"""

import argparse
import os
import sys
import tempfile
import time
import warnings
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from measured import measured

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from oracles.spark import Cluster
from shuffledp import KeyedRandomness, Plan, plan
from shuffledp.cluster.spark_session import session
from shuffledp.engines.run import tally_source
from shuffledp.engines.spark import Spark
from shuffledp.service.sealing.hpke import seal_inner
from shuffledp.service.sealing.keys import KeyRing
from shuffledp.service.sealing.spark_unsealing import SparkUnsealers
from shuffledp.service.sealing.unsealing import tally_here
from shuffledp.service.task import Task
from shuffledp.sources.file_source import FileSource
from shuffledp.sources.source import Source
from shuffledp.sources.spark_table import SparkSource

CHUNK: Final = 1 << 20
SIZE: Final = 100


@contextmanager
def started(master: str) -> Iterator[Any]:
    """Spark there, with Python processes that run already."""
    with session(master=master) as spark:
        spark.conf.set("spark.sql.shuffle.partitions", "4")
        spark.range(10).repartition(4).mapInArrow(lambda batches: batches, "id bigint").collect()
        yield spark


@contextmanager
def cluster(workers: int) -> Iterator[Any]:
    """Spark on a cluster of so many workers, each a process with one core."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Cluster(Path(folder) / "cluster", workers) as place,
        started(place.url) as spark,
    ):
        while spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() <= workers:  # the driver is one of them
            time.sleep(0.1)
        yield spark


def people(path: Path, rows: int) -> None:
    """A file of whole numbers."""
    generator = np.random.default_rng(0)
    with parquet.ParquetWriter(path, pa.schema([("k", pa.int64())])) as writer:
        for start in range(0, rows, CHUNK):
            writer.write_table(pa.table({"k": generator.integers(0, SIZE, min(CHUNK, rows - start))}))


def tallied(spark: Any, name: str, made: Plan, source: Source, rows: int) -> None:
    """Print what it costs to randomize and count all rows of a source."""
    wall, cpu = measured(lambda: tally_source(made, source, KeyedRandomness.fresh(), engine=Spark(spark)))
    print(
        f"{rows:>13,} rows  2 cores  {name:<28}{rows / wall / 1e6:>7.2f} M rows/s  wall {wall:.1f} s  CPU {cpu:.1f} s  "
        f"{rows / cpu / 1e6:.2f} M rows per CPU-second",
        flush=True,
    )


def rows_per_second(rows: int) -> None:
    """A file, a table whose numbers follow each other, and one whose numbers do not."""
    made = plan("histogram", n=min(rows, 10**6), epsilon=1.0, delta=1e-6, size=SIZE)
    with tempfile.TemporaryDirectory() as folder, started("local[2]") as spark:
        path = Path(folder) / "people.parquet"
        people(path, rows)
        tallied(spark, "a Parquet file", made, FileSource(path, column="k"), rows)
        table = spark.range(rows).selectExpr("id", f"id % {SIZE} as k")
        tallied(spark, "a table, numbered in order", made, SparkSource(table, column="k", row_id="id"), rows)
        few = max(rows // 10, 10**6)
        scattered = spark.range(few).selectExpr("pmod(xxhash64(id), 1L << 62) as id", f"id % {SIZE} as k")
        tallied(spark, "a table, scattered numbers", made, SparkSource(scattered, column="k", row_id="id"), few)


def records_per_second(records: int) -> None:
    """Sealed records: the cipher alone, Spark on one core and on two, and on a cluster of one worker and of two."""
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
    for what, place in (("cores", lambda number: started(f"local[{number}]")), ("workers", cluster)):
        rates = dict[int, float]()
        for number in (1, 2):
            with place(number) as spark:
                unsealers = SparkUnsealers(spark)
                next(unsealers.tallies(batch[:5000], ring, task.id, 16))
                wall, cpu = measured(lambda unsealers=unsealers: deque(unsealers.tallies(batch, ring, task.id, 16)))  # type: ignore[misc]
            rates[number] = records / wall
            print(
                f"{records:>13,} records  Spark, {number} {what:<8} {records / wall:,.0f} per s, {records / cpu:,.0f} per "
                f"CPU-second ({records / cpu / raw:.0%} of the cipher)  wall {wall:.1f} s  CPU {cpu:.1f} s",
                flush=True,
            )
        print(f"  two {what} against one: {rates[2] / rates[1]:.2f} times", flush=True)


def main() -> None:
    """Both."""
    warnings.simplefilter("ignore")
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_SUBMIT_ARGS", "--driver-memory 2g --conf spark.executor.memory=512m pyspark-shell")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="?", type=float, default=1e8)
    parser.add_argument("records", nargs="?", type=float, default=1e5)
    given = parser.parse_args()
    if given.rows:
        rows_per_second(int(given.rows))
    if given.records:
        records_per_second(int(given.records))


if __name__ == "__main__":
    main()
