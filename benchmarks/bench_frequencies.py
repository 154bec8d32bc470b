"""Frequencies of millions of values: encoding, decoding and the forecast, against what bounds or judges them.

Goals: 1e7 reports encoded at 50 M values a CPU-second; all q^2 values at q = 1361 decoded in 5 times one 2-D FFT of numpy of that
size; a million candidates in 20 s; 2,000 runs at n = 1e6, every message randomized and counted, within 3 % of the forecast.
"""

import time

import numpy as np
import pyarrow as pa

from goals import against
from measured import fastest
from shuffledp import KeyedRandomness, plan
from shuffledp.core.free_memory import settle_allocator
from shuffledp.domains.texts import Texts
from shuffledp.engines.arrow import Arrow
from shuffledp.protocols.frequencies import Frequencies
from shuffledp.protocols.text_frequencies import TextFrequencies
from shuffledp.randomizers.structures import AffineSpace
from shuffledp.sources.values import ValuesSource

PRIME = 1361
N = 10**6
CHUNK = 1 << 20
RUNS = 2000
WATCHED = {0.0: 16, 0.001: 16, 0.01: 16, 0.1: 4}
"""How many values the runs look at, by the share of users who hold each. The rest hold one value."""
GENERATOR = np.random.default_rng(0)


def encoding(protocol: Frequencies) -> None:
    """Ten million reports, in the blocks of an engine."""
    randomness, values = KeyedRandomness.fresh(), GENERATOR.integers(0, protocol.domain.size, CHUNK, dtype=np.uint32)

    def encode() -> None:
        for block in range(10**7 // CHUNK + 1):
            protocol.randomize(values, randomness, first_row=block * CHUNK)

    seconds = fastest(encode, repeats=5)[0]
    rate = (10**7 // CHUNK + 1) * CHUNK / seconds
    print(against("encode 1e7 reports on a plane, M values/s", rate / 1e6))


def counting(protocol: Frequencies) -> None:
    """Ten million values cleaned, randomized and counted; and as many texts from a column, all different ones known."""
    values = GENERATOR.integers(0, protocol.domain.size, 10**7, dtype=np.uint32)
    texts = TextFrequencies(randomizer=protocol.randomizer, domain=Texts("00" * 16))
    randomness = pa.array([f"word {j}" for j in range(10**5)]).take(pa.array(GENERATOR.zipf(1.3, 10**7) % 10**5))
    for what, counted, column in (
        ("values", protocol, values), ("texts", texts, randomness), ("encoded texts", texts, randomness.dictionary_encode()),
    ):  # fmt: skip
        seconds = fastest(lambda: Arrow().tally(counted, ValuesSource(column), KeyedRandomness.fresh()), repeats=2)[0]  # noqa: B023
        print(f"clean, randomize and count 1e7 {what}: {10 / seconds:,.0f} M/s")


def decoding() -> None:
    """All values, and a million of them: by FFT, and by look-up."""
    plane = AffineSpace(prime=PRIME)
    counts = np.bincount(GENERATOR.integers(0, plane.messages, N), minlength=plane.messages)
    square = counts[: PRIME * PRIME].reshape(PRIME, PRIME)
    every, fft = fastest(lambda: plane.totals(counts), lambda: np.fft.fft2(square), repeats=10)
    print(f"decode {plane.values:,} values: {every:.2f} s")
    print(against("decode every value of a plane, times one 2-D FFT", every / fft))
    points = GENERATOR.integers(0, plane.values, 10**6)
    either = fastest(lambda: plane.totals_of(counts, points), repeats=1)[0]
    direct = fastest(lambda: looked_up(plane, counts, points[: 10**4]), repeats=1)[0]
    print(f"{against('decode a million candidates, s', either)}; by look-up of each {100 * direct:.1f} s")


def looked_up(plane: AffineSpace, counts: np.ndarray, points: np.ndarray) -> np.ndarray:
    """One look-up per line through a point, whatever `totals_of` chooses."""
    return sum(
        (counts[plane.member(points, np.full(len(points), line, dtype=np.uint32))] for line in range(plane.choices)),
        start=np.zeros(len(points), dtype=np.int64),
    )


def forecast(protocol: Frequencies) -> None:
    """The standard error of some values over many runs of all users, against what is forecast."""
    held = np.repeat([round(share * N) for share in WATCHED], list(WATCHED.values()))
    watched = GENERATOR.choice(protocol.domain.size - 1, len(held), replace=False) + 1
    values = np.concatenate([np.zeros(N - held.sum(), dtype=np.uint32), np.repeat(watched, held).astype(np.uint32)])
    structure, found = protocol.randomizer.structure, np.empty((RUNS, len(held)))
    gamma, share = protocol.gamma, float(structure.share)
    own, other = 1 - gamma + gamma * share, (1 - gamma) * structure.shared / structure.choices + gamma * share
    randomness, start = KeyedRandomness.fresh(), time.perf_counter()
    for run in range(RUNS):
        messages = protocol.randomize(values, randomness, first_row=run * N)
        totals = structure.totals_of(np.bincount(messages, minlength=structure.messages), watched)
        found[run] = (totals - N * other) / (own - other)
    seconds = time.perf_counter() - start
    print(f"{RUNS:,} runs of {N:,} users, {protocol.domain.size:,} values ({seconds:.0f} s):")
    for part in WATCHED:
        columns = held == round(part * N)
        measured = np.sqrt(np.square(found - held)[:, columns].mean())
        predicted = np.sqrt(protocol.variance(np.array([part * N]), N)[0])
        print(
            f"  held by {part:.1%}: standard error {measured:.1f}, forecast {predicted:.1f}, "
            f"chance alone {1 / np.sqrt(2 * RUNS * columns.sum()):.1%}; "
            + against("standard error over its forecast, off by", abs(measured / predicted - 1))
        )


def main() -> None:
    """Print each figure beside what is wanted."""
    settle_allocator()
    protocol = plan("histogram", size=PRIME * PRIME, n=N, epsilon=1.0, delta=1e-6).protocol
    if not isinstance(protocol, Frequencies):
        raise SystemExit("the planner chose another protocol")
    encoding(protocol)
    counting(protocol)
    decoding()
    forecast(protocol)


if __name__ == "__main__":
    main()
