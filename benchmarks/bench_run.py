"""How fast values become messages, against what bounds it: the cipher's keystream and numpy's counting, in the same run.

Rates are per CPU-second of one process, the best of several interleaved repetitions.
"""

import resource
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray
from pyarrow import parquet

from goals import against
from shuffledp import Histogram, KeyedRandomness, Plan, RandomizedResponse, plan, run, run_file
from shuffledp.core.counts import Counts
from shuffledp.core.free_memory import settle_allocator
from shuffledp.core.population import Population

CHUNK = 1 << 20
REPEATS = 40
WORDS = KeyedRandomness.fresh()
GENERATOR = np.random.default_rng(0)


def rates(*jobs: Callable[[int], object], chunk: int = CHUNK) -> list[float]:
    """Values a CPU-second of each job."""
    best = [float("inf")] * len(jobs)
    for turn in range(REPEATS):
        for j, job in enumerate(jobs):
            start = time.process_time()
            for step in range(4):
                job(4 * turn + step)
            best[j] = min(best[j], time.process_time() - start)
    return [4 * chunk / seconds for seconds in best]


def keystream(turn: int) -> bytes:
    """AES-128-CTR as the library offers it."""
    start = turn.to_bytes(16, "big")
    return Cipher(algorithms.AES(bytes(16)), modes.CTR(start)).encryptor().update(bytes(CHUNK))


def _answered(mean: Plan, people: NDArray[np.float64], _: int) -> object:
    return run(mean, people, engine="memory")


def _most_memory() -> int:
    """The most bytes this process ever held."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> None:
    """Print each rate and its ratio."""
    settle_allocator()
    response = RandomizedResponse(size=100, gamma=0.05)
    symbols = GENERATOR.integers(0, 100, CHUNK, dtype=np.uint8)
    cipher, randomized = rates(keystream, lambda turn: response.randomize(symbols, WORDS, first_row=turn * CHUNK))
    print(f"AES-128-CTR keystream: {cipher / 1e6:,.0f} MB/s")
    print(f"100-ary response, gamma 0.05: {randomized / 1e6:,.0f} M values/s")
    print(against("randomized response, share of the keystream's speed", randomized / cipher))

    block = 1 << 18
    summation = plan("sum", n=10**6, epsilon=1.0, delta=1e-6).protocol
    values = GENERATOR.random(block)

    def add(turn: int) -> object:
        return summation.randomize(values, WORDS, first_row=turn * block)

    print(against("real-valued sum, M values/s", rates(add, chunk=block)[0] / 1e6))

    asked: dict[str, Any] = {"n": 10**6, "epsilon": 1.0, "delta": 1e-6}
    means = [plan("mean", **asked), plan("mean", messages_per_user=2.25, **asked)]
    assert means[1].protocol.messages_per_user > 2
    people = GENERATOR.random(4 * CHUNK)
    one, two = rates(*(partial(_answered, mean, people) for mean in means), chunk=len(people))
    print(f"mean by one message: {one / 1e6:,.0f} M values/s")
    print(against("mean by two messages, times the CPU of one", one / two))

    messages = response.randomize(symbols, WORDS, first_row=0)
    ours, numpys = rates(lambda _: Counts.of(messages, 100), lambda _: np.bincount(messages, minlength=100))
    print(f"count: {ours / 1e6:,.0f} M values/s")
    print(against("count, share of numpy.bincount's speed", ours / numpys))

    protocol = Histogram(RandomizedResponse(size=1000, gamma=1e-5))
    users = Population(values=np.arange(1000), users=np.full(1000, 10**6))
    simulator = np.random.default_rng(1)
    start = time.perf_counter()
    for _ in range(100):
        protocol.simulate(users, simulator, 1)
    print(against("simulate 1e9 users of 1,000 values, ms", 10 * (time.perf_counter() - start)))

    sizes: dict[str, dict[str, Any]] = {"histogram": {"size": 100}, "sum": {}}
    for question, options in sizes.items():
        start = time.process_time()
        plan(question, n=10**9, epsilon=1.0, delta=1e-6, **options)
        print(f"plan {question}, n = 1e9: {time.process_time() - start:.2f} s")

    mean = plan("mean", n=10**6, epsilon=1.0, delta=1e-6)
    with TemporaryDirectory() as folder:
        for rows in (10**6, 16 * 10**6):
            path = Path(folder) / f"{rows}.parquet"
            with parquet.ParquetWriter(path, pa.schema([("x", pa.float64())])) as writer:
                for _ in range(rows // 10**6):
                    writer.write_table(pa.table({"x": GENERATOR.random(10**6)}))
            before, start = _most_memory(), time.process_time()
            run_file(mean, path, column="x")
            seconds, peak = time.process_time() - start, _most_memory() - before
            print(
                f"run, {rows:,} rows of Parquet: {rows / seconds / 1e6:,.0f} M rows/s, {peak / 1e6:,.0f} MB more memory"
            )


if __name__ == "__main__":
    main()
