"""What a job costs in this process and in all that it started: Spark's JVM, its Python processes, workers of a cluster."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

_TICK: Final = os.sysconf("SC_CLK_TCK")


class Process(NamedTuple):
    """A process: its id, its parent's, its seconds of CPU, those of children that are gone included."""

    pid: int
    parent: int
    cpu: float


def measured(job: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU seconds."""
    wall, cpu = time.perf_counter(), spent()
    job()
    return time.perf_counter() - wall, spent() - cpu


def fastest(*jobs: Callable[[], object], repeats: int) -> list[float]:
    """CPU-seconds of each job in this process, the best of interleaved repetitions."""
    best = [float("inf")] * len(jobs)
    for _ in range(repeats):
        for j, job in enumerate(jobs):
            start = time.process_time()
            job()
            best[j] = min(best[j], time.process_time() - start)
    return best


def spent() -> float:
    """Seconds of CPU until now."""
    return sum(process.cpu for process in family())


def most_memory() -> float:
    """Megabytes: the most that each process that is still there ever held, added up."""
    return sum(map(most_memory_of, family()))


def most_memory_of(process: Process) -> float:
    """Megabytes. What getrusage says includes the process that started this one."""
    try:
        lines = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1e3 for line in lines if line.startswith("VmHWM")), 0.0)


def family() -> list[Process]:
    """This process and all that it started."""
    found = {process.pid: process for process in _processes()}
    mine = {os.getpid()}
    while more := {process.pid for process in found.values() if process.parent in mine} - mine:
        mine |= more
    return [found[pid] for pid in mine]


def _processes() -> Iterator[Process]:
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text(errors="replace").rsplit(")", 1)[1].split()
        except OSError:
            continue
        yield Process(int(path.parent.name), int(fields[1]), sum(map(int, fields[11:15])) / _TICK)
