"""What a private answer costs at scale, beside DuckDB's exact answer to the same question on the same file in the same run.

Every engine, one core and all of them; wall and CPU time, the best of several interleaved runs, because machines are never quiet.
Memory is the most that a process held which answers once, less what one holds that has imported everything.

    python benchmarks/bench_scale.py [ROWS ...]      1e6 and 1e7 unless said otherwise; 1e8 takes a gigabyte of disk
    python benchmarks/bench_scale.py --generated 1e9 a mean of rows that are made up in chunks, in constant memory
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import duckdb
import numpy as np
import pyarrow as pa
from pyarrow import parquet

from shuffledp import KeyedWords, Plan, plan, run_file
from shuffledp.domains.domain import Domain
from shuffledp.engines.run import run_source
from shuffledp.engines.source import Piece, Source

ENGINES: Final = ("arrow", "memory")
"""Those of one machine; bench_spark.py measures the other."""
LABELS: Final = [f"label number {j}" for j in range(20)]
CHUNK: Final = 1 << 20
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

    def pieces(self, domain: Domain) -> Iterator[Piece]:  # noqa: ARG002
        """Numbers in chunks, each by a generator of its own."""
        for first in range(0, self._rows, CHUNK):
            some = min(CHUNK, self._rows - first)
            numbers = np.random.default_rng(first).random(some)
            yield Piece(numbers, first, share=(first + some) / self._rows)

    def __str__(self) -> str:
        return "made-up rows"


def fastest(jobs: dict[str, Callable[[], object]], repeats: int) -> dict[str, tuple[float, float]]:
    """Wall and CPU seconds of each job, in turns."""
    best = dict.fromkeys(jobs, (float("inf"), float("inf")))
    for _ in range(repeats):
        for name, job in jobs.items():
            wall, cpu = time.perf_counter(), time.process_time()
            job()
            spent = time.perf_counter() - wall, time.process_time() - cpu
            best[name] = min(best[name][0], spent[0]), min(best[name][1], spent[1])
    return best


def compare(path: Path, rows: int, cores: set[int]) -> None:
    """Print what each engine costs beside DuckDB, on these cores."""
    os.sched_setaffinity(0, cores)
    with duckdb.connect(config={"threads": str(len(cores))}) as database:
        for question, (column, exact, _) in QUESTIONS.items():
            asked = planned(question)
            jobs: dict[str, Callable[[], object]] = {
                "DuckDB": lambda exact=exact: database.execute(exact, [str(path)]).fetchall()  # type: ignore[misc]
            }
            for engine in ENGINES:
                jobs[engine] = lambda engine=engine: run_file(asked, path, column=column, engine=engine)  # type: ignore[misc] # noqa: B023
            found = fastest(jobs, 3 if rows > 2 * 10**7 else 9)
            for name, (wall, cpu) in found.items():
                ratios = wall / found["DuckDB"][0], cpu / found["DuckDB"][1]
                print(
                    f"{rows:>13,} rows  {len(cores)} cores  {question:<14}{name:<8}{rows / wall / 1e6:>7.1f} M rows/s  "
                    f"wall {wall:.3f} s ({ratios[0]:.2f} x DuckDB)  CPU {cpu:.3f} s ({ratios[1]:.2f} x)",
                    flush=True,
                )


def memory(path: Path, question: str, engine: str) -> None:
    """Print the most megabytes that this process holds, before and after one answer."""
    asked, before = planned(question), _most_memory()
    run_file(asked, path, column=QUESTIONS[question][0], engine=engine)
    peak = _most_memory()
    print(f"  {engine}, {question}: {(peak - before) / 1e3:,.0f} MB more, {peak / 1e3:,.0f} MB in all", flush=True)


def _most_memory() -> int:
    """Kilobytes; what getrusage says includes the process that started this one."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def generated(rows: int) -> None:
    """Print what a mean of made-up rows costs."""
    wall, cpu = time.perf_counter(), time.process_time()
    run_source(planned("mean"), MadeUp(rows), words=KeyedWords.fresh(), engine="arrow")
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = _most_memory()
    print(
        f"{rows:,} made-up rows: {rows / wall / 1e6:.1f} M rows/s, wall {wall:.0f} s, CPU {cpu:.0f} s, {peak / 1e3:,.0f} MB"
    )


def main() -> None:
    """Compare, or one answer in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", type=float, default=[1e6, 1e7])
    parser.add_argument("--generated", type=float, help="made-up rows instead")
    parser.add_argument("--memory", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.memory:
        memory(Path(given.memory[0]), given.memory[1], given.memory[2])
        return
    if given.generated:
        generated(int(given.generated))
        return
    cores = os.sched_getaffinity(0)
    with TemporaryDirectory() as folder:
        for rows in map(int, given.rows):
            path = Path(folder) / "people.parquet"
            people(path, rows)
            for some in sorted({1, len(cores)}):
                compare(path, rows, set(sorted(cores)[:some]))
            for engine in ENGINES:
                for question in QUESTIONS:
                    subprocess.run([sys.executable, __file__, "--memory", str(path), question, engine], check=True)


if __name__ == "__main__":
    main()
