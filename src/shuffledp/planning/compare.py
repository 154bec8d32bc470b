"""The candidates for a task side by side: whom one must trust, what it costs a user, how far off the answer is."""

import math
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.account import calibrate
from shuffledp.accounting.accuracy import summation_error_floor
from shuffledp.core import checks
from shuffledp.errors import InvalidInput, NoClaim
from shuffledp.planning.multi_message import unary_bits
from shuffledp.planning.plan import Plan, plan
from shuffledp.protocols.baselines.central import CuratorHistogram, NoisySum
from shuffledp.protocols.baselines.dbitflip import DBitFlip
from shuffledp.protocols.baselines.one_bit_mean import OneBitMean
from shuffledp.protocols.baselines.rappor import Rappor
from shuffledp.protocols.baselines.sketch import CountMeanSketch, HadamardSketch
from shuffledp.protocols.baselines.split_and_mix import SplitAndMix
from shuffledp.protocols.histogram import Histogram
from shuffledp.protocols.summation import Summation
from shuffledp.randomizers.generic import Generic
from shuffledp.randomizers.response import RandomizedResponse
from shuffledp.references import cite

Comparison = Literal["histogram", "sum", "mean"]
Trust = Literal["the curator", "the shuffler", "nobody"]
Reals = NDArray[np.float64]
RUNS = 100_000


class SumProtocol(Protocol):
    """What a row about sums needs."""

    def mean_squared_error(self, n: int) -> float:
        """At the worst data."""
        ...

    def simulate(self, values: Reals, users: NDArray[np.int64], generator: np.random.Generator, runs: int) -> Reals:
        """Estimates of runs."""
        ...


class HistogramProtocol(Protocol):
    """What a row about histograms needs."""

    def variance(self, users: NDArray[np.integer]) -> Reals:
        """Of each count."""
        ...

    def simulate(self, users: NDArray[np.int64], generator: np.random.Generator, runs: int) -> Reals:
        """Estimates of runs."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One row of a comparison.

    Attributes:
        name: of the protocol.
        trust: whom users must trust.
        reference: where it comes from.
        accounted_by: what proves its privacy.
        messages: a user sends.
        bits: a user sends, in all messages.
        epsilon0: what one user's messages give away by themselves; None if everything.
        rmse: root mean squared error of the answer, at the worst data; None if the protocol cannot do it.
        simulated: the same, measured on runs at the same data.
        note: why there is no error, or what else to know.
    """

    name: str
    trust: Trust
    reference: str
    accounted_by: str
    messages: int | None = None
    bits: int | None = None
    epsilon0: float | None = None
    rmse: float | None = None
    simulated: float | None = None
    note: str = ""


def compare(
    task: Comparison,
    *,
    n: int,
    epsilon: float,
    delta: float,
    size: int | None = None,
    low: float = 0.0,
    high: float = 1.0,
    runs: int = 0,
    seed: int | None = None,
    only: Container[str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> list[Candidate]:
    """All protocols for a task at one (epsilon, delta), the most accurate first; `runs` simulated answers of each.

    `only` names the rows to work out, if not all.

    A protocol that cannot meet (epsilon, delta) has no error and a note that says why.
    """
    checks.users(n)
    checks.epsilon(epsilon, positive=True)
    checks.probability(delta, "delta")
    if task not in ("histogram", "sum", "mean"):
        raise InvalidInput(f"there is nothing to compare for {task!r}. Use histogram, sum or mean.")
    if task == "histogram" and size is None:
        raise InvalidInput("a histogram needs the number of bins. Give size.")
    generator = np.random.default_rng(seed)
    rows = (
        _histograms(n, epsilon, delta, checks.size(size or 2))
        if task == "histogram"
        else _sums(n, epsilon, delta, low, high)
    )
    found = []
    for name, trust, proof, build, measure in rows:
        if only is not None and name not in only:
            continue
        if progress is not None:
            progress(name)
        try:
            protocol = build()
        except (InvalidInput, NoClaim) as error:
            found.append(Candidate(name=name, trust=trust, reference="", accounted_by=proof, note=str(error)))
            continue
        note, expected, simulated = "", math.nan, None
        try:
            expected, simulated = measure(protocol, generator, runs)
        except (InvalidInput, ValueError, MemoryError):  # numpy cannot draw numbers that large
            note = "too large to simulate"
            expected, simulated = measure(protocol, generator, 0)
        row = _row(name, trust, proof, protocol, expected, simulated, scale=n if task == "mean" else 1)
        found.append(replace(row, note=note) if note else row)
    if task != "histogram" and delta < 0.5:  # the theorem's regime
        floor = math.sqrt(summation_error_floor(n=n, epsilon=epsilon, delta=delta)) * (high - low)
        found.append(
            Candidate(
                name="lower bound", trust="the shuffler", reference=cite("BBGN19", "Theorem 4.2"), accounted_by="proof",
                messages=1, rmse=floor / (n if task == "mean" else 1), note="no protocol of one message a user can do better",
            )
        )  # fmt: skip
    return sorted(found, key=lambda row: math.inf if row.rmse is None else row.rmse)


def _row(
    name: str, trust: Trust, proof: str, protocol: Any, error: float, simulated: float | None, *, scale: int
) -> Candidate:
    return Candidate(
        name=name,
        trust=trust,
        reference=protocol.reference,
        accounted_by=proof,
        messages=getattr(protocol, "messages", 1),
        bits=protocol.bits,
        epsilon0=protocol.epsilon0,
        rmse=math.sqrt(error) / scale,
        simulated=None if simulated is None else math.sqrt(simulated) / scale,
    )


Measure = Callable[[Any, np.random.Generator, int], tuple[float, float | None]]
Row = tuple[str, Trust, str, Callable[[], Any], Measure]


def _sums(n: int, epsilon: float, delta: float, low: float, high: float) -> Iterator[Row]:
    span: dict[str, Any] = {"low": low, "high": high}
    fine = max(1, math.ceil(10 * math.sqrt(n)))  # so that rounding to a grid costs next to nothing

    def measure(protocol: SumProtocol, generator: np.random.Generator, runs: int) -> tuple[float, float | None]:
        if not runs:
            return protocol.mean_squared_error(n), None
        worst = _worst_value(protocol, low, high)
        estimates = protocol.simulate(np.array([worst]), np.array([n]), generator, runs)
        return protocol.mean_squared_error(n), float(np.mean(np.square(estimates - n * worst)))

    def one_bit() -> OneBitMean:
        found = plan("sum", n=n, epsilon=epsilon, delta=delta, precision=1, **span)
        return OneBitMean(randomizer=found.randomizer, **span)

    yield (
        "discrete Laplace",
        "the curator",
        "sensitivity",
        lambda: NoisySum(epsilon=epsilon, steps=fine, **span),
        measure,
    )
    yield ("local Laplace", "nobody", "sensitivity",
           lambda: NoisySum(epsilon=epsilon, steps=fine, local=True, **span), measure)  # fmt: skip
    yield "local randomized response", "nobody", "epsilon0", lambda: _local_sum(n, epsilon, low, high), measure
    yield "1BitMean", "nobody", "epsilon0", lambda: OneBitMean.private(epsilon0=epsilon, **span), measure
    yield "1BitMean, shuffled (= Cheu et al., one bit)", "the shuffler", "its blanket", one_bit, measure
    yield ("Cheu et al., many messages", "the shuffler", "composition",
           lambda: unary_bits(n=n, epsilon=epsilon, delta=delta, **span), measure)  # fmt: skip
    yield ("IKOS split and mix", "the shuffler", "quoted (see its docs)",
           lambda: SplitAndMix(n=n, epsilon=epsilon, delta=delta, steps=fine, **span), measure)  # fmt: skip
    yield ("privacy blanket, the paper's parameters", "the shuffler", "histogram-theorem",
           lambda: Planned(plan("sum", n=n, epsilon=epsilon, delta=delta, paper=True, **span)), measure)  # fmt: skip
    yield ("shuffledp", "the shuffler", "best",
           lambda: Planned(plan("sum", n=n, epsilon=epsilon, delta=delta, **span)), measure)  # fmt: skip


def _histograms(n: int, epsilon: float, delta: float, size: int) -> Iterator[Row]:
    users = np.zeros(size, dtype=np.int64)
    users[0] = n  # the worst data for the sketches; for all others the summed error does not depend on the data

    def measure(protocol: HistogramProtocol, generator: np.random.Generator, runs: int) -> tuple[float, float | None]:
        expected = float(protocol.variance(users).sum())
        if not runs:
            return expected, None
        if hasattr(protocol, "hashes"):  # their simulation takes time quadratic in the size
            runs = max(100, min(runs, (1 << 28) // size**2))
        total, done = 0.0, 0
        while done < runs:
            some = min(runs - done, max(1, (1 << 21) // (size**2 if hasattr(protocol, "hashes") else size)))
            total += float(np.square(protocol.simulate(users, generator, some) - users).sum())
            done += some
        return expected, total / runs

    def shuffled() -> float:
        return calibrate(Generic.family(), n=n, epsilon=epsilon, delta=delta)

    def rappor() -> Rappor:
        epsilon0 = calibrate(Rappor.family(size=size), n=n, epsilon=epsilon, delta=delta)
        return Rappor.private(size=size, epsilon0=epsilon0)

    asked = max(1, size // 4)
    yield (
        "discrete Laplace",
        "the curator",
        "sensitivity",
        lambda: CuratorHistogram(size=size, epsilon=epsilon),
        measure,
    )
    yield "local randomized response", "nobody", "epsilon0", lambda: _local_histogram(size, epsilon), measure
    yield "RAPPOR", "nobody", "epsilon0", lambda: Rappor.private(size=size, epsilon0=epsilon), measure
    yield "RAPPOR, shuffled", "the shuffler", "its blanket", rappor, measure
    kinds: tuple[tuple[str, Callable[[float], Any]], ...] = (
        ("dBitFlip", lambda e: DBitFlip.private(size=size, asked=asked, epsilon0=e)),
        ("Apple CMS", lambda e: CountMeanSketch.private(size=size, epsilon0=e)),
        ("Apple HCMS", lambda e: HadamardSketch.private(size=size, epsilon0=e)),
    )
    for name, build in kinds:
        yield name, "nobody", "epsilon0", lambda build=build: build(epsilon), measure  # type: ignore[misc]
        yield f"{name}, shuffled", "the shuffler", "generic", lambda build=build: build(shuffled()), measure  # type: ignore[misc]
    yield ("privacy blanket, the paper's parameters", "the shuffler", "histogram-theorem",
           lambda: Planned(plan("histogram", n=n, epsilon=epsilon, delta=delta, size=size, paper=True)), measure)  # fmt: skip
    yield ("shuffledp", "the shuffler", "best",
           lambda: Planned(plan("histogram", n=n, epsilon=epsilon, delta=delta, size=size)), measure)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Planned:
    """Our own protocols in the shape of a row."""

    source: Plan | Histogram | Summation
    reference: str = cite("BBGN19", "Algorithm 1", "Algorithm 3")

    @property
    def protocol(self) -> Histogram | Summation:
        """What runs."""
        return self.source.protocol if isinstance(self.source, Plan) else self.source

    @property
    def epsilon0(self) -> float:
        """The local privacy parameter."""
        return self.protocol.randomizer.epsilon0

    @property
    def bits(self) -> int:
        """Of one report."""
        return (self.protocol.randomizer.size - 1).bit_length()

    @property
    def worst_value(self) -> float:
        """Of a sum."""
        return self.protocol.worst_value if isinstance(self.protocol, Summation) else 0.0

    def mean_squared_error(self, n: int) -> float:
        """At the worst data."""
        return self.protocol.mean_squared_error(n)

    def variance(self, users: NDArray[np.integer]) -> Reals:
        """Of each count."""
        return (
            self.protocol.variance(users.astype(np.float64), int(users.sum()))
            if isinstance(self.protocol, Histogram)
            else np.zeros(0)
        )

    def simulate(self, *arguments: Any) -> Reals:
        """Estimates of runs."""
        if isinstance(self.protocol, Summation):
            return self.protocol.debias(self.protocol.simulate(*arguments))
        users, generator, runs = arguments
        return self.protocol.debias(self.protocol.simulate(np.tile(users, (runs, 1)), generator))


def _local_sum(n: int, epsilon: float, low: float, high: float) -> Planned:
    """Locally private randomized response with the best grid."""
    grids = (
        Summation(randomizer=RandomizedResponse(size=k + 1, epsilon0=epsilon).as_run(), low=low, high=high)
        for k in range(1, math.ceil(min(1000.0, 2 * math.exp(min(epsilon, 50.0) / 2))) + 2)
    )
    return Planned(min(grids, key=lambda protocol: protocol.mean_squared_error(n)))


def _local_histogram(size: int, epsilon: float) -> Planned:
    return Planned(Histogram(RandomizedResponse(size=size, epsilon0=epsilon).as_run()))


def _worst_value(protocol: SumProtocol, low: float, high: float) -> float:
    """Where the forecast is attained."""
    if isinstance(protocol, Planned):
        return protocol.worst_value
    if isinstance(protocol, OneBitMean):
        return protocol.summation.worst_value
    steps = getattr(protocol, "steps", 0) or getattr(protocol, "messages", 1)
    return low + (high - low) / (2 * steps)
