"""What a private answer costs at scale, beside DuckDB's exact answer to the same question on the same file in the same run.

Every engine, one core and all of them; wall and CPU time, the best of several interleaved runs, because machines are never quiet.
Memory is the most that a process held which answers once, less what one holds that has imported everything; that of Spark is
the driver's, the JVM's and its Python processes' together.

    python benchmarks/bench_scale.py [ROWS ...]      1e6 and 1e7 unless said otherwise; 1e8 takes a gigabyte of disk
    python benchmarks/bench_scale.py --reports 2e5   sealed reports instead: outer layers opened, then inner ones, and counted
    python benchmarks/bench_scale.py --generated 1e9 a mean of rows that are made up in chunks, in constant memory
"""

import argparse
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import duckdb
import numpy as np
import pyarrow as pa
from pyarrow import parquet

from goals import against
from measured import measured, most_memory
from shuffledp import KeyedRandomness, Plan, plan, run_file
from shuffledp.cluster.spark_session import session
from shuffledp.domains.domain import Domain
from shuffledp.engines.run import run_source
from shuffledp.engines.spark import Spark
from shuffledp.service.sealing.hpke import seal_message
from shuffledp.service.sealing.keys import KeyRing
from shuffledp.service.sealing.spark_unsealing import SparkUnsealers
from shuffledp.service.sealing.unsealing import Tallier, Unsealer, Unsealers, unseal_here
from shuffledp.service.task import Task
from shuffledp.sources.source import Chunk, Source

ENGINES: Final = ("arrow", "memory")
"""Those of one process."""
LABELS: Final = [f"label number {j}" for j in range(20)]
CHUNK: Final = 1 << 20
Cost = tuple[float, float]
"""Wall and CPU seconds."""
QUESTIONS: Final[dict[str, tuple[str, str, dict[str, Any]]]] = {
    "mean": ("x", "SELECT avg(x) FROM read_parquet(?)", {}),
    "texts": ("t", "SELECT t, count(*) FROM read_parquet(?) GROUP BY t", {"labels": LABELS}),
    "whole numbers": ("k", "SELECT k, count(*) FROM read_parquet(?) GROUP BY k", {"size": 100}),
}
"""What is asked: column, exact answer, options of the plan."""


def planned(question: str) -> Plan:
    """For a million users: what is planned does not matter for the time."""
    kind = "mean" if question == "mean" else "histogram"
    return plan(kind, n=10**6, epsilon=1.0, delta=1e-6, **QUESTIONS[question][2])


def people(path: Path, rows: int) -> None:
    """A file of random numbers, texts and whole numbers."""
    generator, names = np.random.default_rng(0), pa.array(LABELS)
    schema = pa.schema([("x", pa.float64()), ("t", pa.string()), ("k", pa.int64())])
    with parquet.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, CHUNK):
            some = min(CHUNK, rows - start)
            texts = names.take(pa.array(generator.integers(0, len(LABELS), some)))
            writer.write_table(
                pa.table({"x": generator.random(some), "t": texts, "k": generator.integers(0, 100, some)})
            )


class MadeUp(Source):
    """Rows that are made when they are read."""

    def __init__(self, rows: int) -> None:
        self._rows = rows

    def chunks(self, domain: Domain) -> Iterator[Chunk]:  # noqa: ARG002
        """Numbers in chunks, each by a generator of its own."""
        for first in range(0, self._rows, CHUNK):
            some = min(CHUNK, self._rows - first)
            numbers = np.random.default_rng(first).random(some)
            yield Chunk(numbers, first, share=(first + some) / self._rows)

    def __str__(self) -> str:
        return "made-up rows"


def fastest(jobs: dict[str, Callable[[], object]], repeats: int) -> dict[str, Cost]:
    """Wall and CPU seconds of each job, in turns."""
    best = dict.fromkeys(jobs, (float("inf"), float("inf")))
    for _ in range(repeats):
        for name, job in jobs.items():
            wall, cpu = time.perf_counter(), time.process_time()
            job()
            spent = time.perf_counter() - wall, time.process_time() - cpu
            best[name] = min(best[name][0], spent[0]), min(best[name][1], spent[1])
    return best


def compare(path: Path, rows: int, cores: int) -> None:
    """Print what each engine of one process costs beside DuckDB."""
    with duckdb.connect(config={"threads": str(cores)}) as database:
        for question, (column, exact, _) in QUESTIONS.items():
            asked = planned(question)
            jobs: dict[str, Callable[[], object]] = {
                "DuckDB": lambda exact=exact: database.execute(exact, [str(path)]).fetchall()  # type: ignore[misc]
            }
            for engine in ENGINES:
                jobs[engine] = lambda engine=engine: run_file(asked, path, column=column, engine=engine)  # type: ignore[misc] # noqa: B023
            found = fastest(jobs, 3 if rows > 2 * 10**7 else 25)
            for name, cost in found.items():
                show(rows, cores, question, name, cost, found["DuckDB"])


def compare_spark(path: Path, rows: int, cores: int) -> None:
    """The same of Spark, whose processes stay on the same cores."""
    costs = dict[str, Cost]()
    with session(master=f"local[{cores}]") as spark:
        for question, (column, _, _) in QUESTIONS.items():
            asked = planned(question)

            def job(asked: Plan = asked, column: str = column) -> object:
                return run_file(asked, path, column=column, engine=Spark(spark))

            job()  # the first one compiles
            seen = [measured(job) for _ in range(3)]
            costs[question] = min(wall for wall, _ in seen), min(cpu for _, cpu in seen)
        held = most_memory()
    with duckdb.connect(config={"threads": str(cores)}) as database:
        for question, (_, exact, _) in QUESTIONS.items():
            exactly = fastest(
                {"DuckDB": lambda exact=exact: database.execute(exact, [str(path)]).fetchall()},  # type: ignore[misc]
                3,
            )
            show(rows, cores, question, "spark", costs[question], exactly["DuckDB"])
    print(f"  spark, {cores} cores: {held:,.0f} MB in all", flush=True)


def show(rows: int, cores: int, question: str, name: str, cost: Cost, exactly: Cost) -> None:
    """Print what an engine costs beside DuckDB."""
    wall, cpu = cost
    print(
        f"{rows:>13,} rows  {cores} cores  {question:<14}{name:<8}{rows / wall / 1e6:>7.1f} M rows/s  "
        f"wall {wall:.3f} s ({wall / exactly[0]:.2f} x DuckDB)  CPU {cpu:.3f} s ({cpu / exactly[1]:.2f} x)",
        flush=True,
    )
    if (question, name, cores) == ("mean", "arrow", 1) and rows >= 10**7:
        print(against("mean of a Parquet file, times the CPU of DuckDB's exact one", cpu / exactly[1]), flush=True)


def compare_reports(reports: int, cores: int) -> None:
    """Print what it costs every engine to open sealed reports."""
    made = plan("histogram", n=10**4, epsilon=1.0, delta=1e-6, size=16)
    parties: dict[str, Any] = {"shufflers": ("Alpha",), "analyzer": "Beta", "honest_fraction": 1.0}
    task = Task(plan=made, window=60, max_age=600, **parties)
    shuffler, analyzer = KeyRing.fresh("shuffler"), KeyRing.fresh("analyzer")
    some = [seal_message(j % 16, task, analyzer.public(), [shuffler.public()]) for j in range(1000)]
    sent = [some[j % len(some)] for j in range(reports)]  # that they repeat does not matter for the time

    def opened(name: str, unsealer: Unsealer, tallier: Tallier) -> None:
        def job(uploads: list[bytes]) -> int:
            inner = [one for one in unsealer(uploads, shuffler, task.id, 1) if isinstance(one, bytes)]
            return sum(tally.total() for tally in tallier.tallies(inner, analyzer, task.id, 16))

        job(sent[:5000])  # it has started
        wall, cpu = measured(lambda: job(sent))
        print(
            f"{reports:>13,} reports  {cores} cores  {name:<10}{reports / wall:>9,.0f} reports/s  "
            f"{reports / cpu:>7,.0f} per CPU-second  {most_memory():,.0f} MB in all",
            flush=True,
        )

    with Unsealers(1) as alone:
        opened("memory", unseal_here, alone)
    with Unsealers(cores, timeout=600) as processes:
        opened("processes", processes, processes)
    with session(master=f"local[{cores}]") as spark:
        opened("spark", SparkUnsealers(spark), SparkUnsealers(spark))


def memory(path: Path, question: str, engine: str) -> None:
    """Print the most megabytes that this process holds, before and after one answer."""
    asked, before = planned(question), most_memory()
    column, exact, _ = QUESTIONS[question]
    if engine == "DuckDB":
        duckdb.execute(exact, [str(path)]).fetchall()
    else:
        run_file(asked, path, column=column, engine=engine)
    print(f"  {engine}, {question}: {most_memory() - before:,.0f} MB more, {most_memory():,.0f} MB in all", flush=True)


def generated(rows: int) -> None:
    """Print what a mean of made-up rows costs."""
    wall, cpu = time.perf_counter(), time.process_time()
    run_source(planned("mean"), MadeUp(rows), randomness=KeyedRandomness.fresh(), engine="arrow")
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(
        f"{rows:,} made-up rows: {rows / wall / 1e6:.1f} M rows/s, wall {wall:.0f} s, CPU {cpu:.0f} s, {most_memory():,.0f} MB"
    )


def apart(part: str, size: int, cores: int, path: Path | str = "") -> None:
    """A part of all this in a process of its own, which never had another number of cores."""
    subprocess.run([sys.executable, __file__, str(size), "--part", part, str(cores), str(path)], check=True)


def main() -> None:
    """Compare, or one part of it in a process of its own."""
    warnings.simplefilter("ignore")
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_SUBMIT_ARGS", "--driver-memory 2g pyspark-shell")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", type=float, default=[1e6, 1e7])
    parser.add_argument("--reports", type=float, help="sealed reports instead")
    parser.add_argument("--generated", type=float, help="made-up rows instead")
    parser.add_argument("--memory", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--part", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.memory:
        memory(Path(given.memory[0]), given.memory[1], given.memory[2])
        return
    if given.generated:
        generated(int(given.generated))
        return
    every = sorted(os.sched_getaffinity(0))
    if given.part:
        part, cores, path = given.part[0], int(given.part[1]), Path(given.part[2])
        os.sched_setaffinity(0, every[:cores])
        if part == "reports":
            compare_reports(int(given.rows[0]), cores)
        else:
            (compare_spark if part == "spark" else compare)(path, int(given.rows[0]), cores)
        return
    if given.reports:
        for cores in sorted({1, len(every)}):
            apart("reports", int(given.reports), cores)
        return
    with TemporaryDirectory() as folder:
        for rows in map(int, given.rows):
            path = Path(folder) / "people.parquet"
            people(path, rows)
            for cores in sorted({1, len(every)}):
                apart("one process", rows, cores, path)
                apart("spark", rows, cores, path)
            for engine in ("DuckDB", *ENGINES):
                for question in QUESTIONS:
                    subprocess.run([sys.executable, __file__, "--memory", str(path), question, engine], check=True)


if __name__ == "__main__":
    main()
