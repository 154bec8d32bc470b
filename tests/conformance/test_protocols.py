"""What every registered protocol must do, judged on its own `examples()`; and wrong ones that are found out.

A new protocol is judged by being registered. Statistical checks have pinned seeds and a significance of 1e-9, and each of
them would also refuse a formula that is 5 % off.
"""

import dataclasses
import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import combinations_with_replacement, pairwise, product
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import ks_2samp

from oracles.chance import SIGNIFICANCE, p_mean, p_variance
from oracles.mutation import check_strict
from shuffledp import Histogram, InvalidInput, KeyedRandomness, Summation
from shuffledp.baselines.registry import from_document, protocols
from shuffledp.core.canonical import canonical
from shuffledp.core.counts import Counts
from shuffledp.core.population import Population
from shuffledp.core.ragged import Ragged
from shuffledp.core.randomness import PART, RESPONSE, EncodingRandomness, rows_from
from shuffledp.domains.domain import Domain
from shuffledp.domains.reals import RealRange
from shuffledp.protocols import registry
from shuffledp.protocols.counting import Counting
from shuffledp.protocols.deployable import Deployable
from shuffledp.protocols.estimator import Reals
from shuffledp.protocols.one_message import OneMessage
from shuffledp.protocols.protocol import ShuffleProtocol
from shuffledp.protocols.summing import Summing
from shuffledp.randomizers.mixture import Mixture

WORDS = KeyedRandomness.seeded(11)
N = 100
REAL, SIMULATED = 1500, 100_000
MANY_REAL = 6000
"""A curator's noise is not seeded, and its squares are far from normal: more runs, so that chance decides nothing."""
NOISY = ("noisy-sum", "curator-histogram", "noisy-vector", "noisy-moments")
"""Protocols with noise, of the users or, if there is no epsilon0, of a curator."""
EXAMPLES = [example for kind in protocols().values() for example in kind.examples()]
ids = [f"{example.kind}-{j}" for j, example in enumerate(EXAMPLES)]
every = pytest.mark.parametrize("protocol", EXAMPLES, ids=ids)


def somebody(domain: Domain) -> Population:
    """A hundred users who hold the samples of a domain, unevenly."""
    values = domain.clean(domain.samples()).values
    users = np.array([10, 50, 20, 15, 5][: len(values)])
    users[-1] += N - users.sum()
    return Population(values=values, users=users)


def everyone(population: Population) -> NDArray[Any]:
    return np.repeat(population.values, population.users)


def picked(messages: Any, rows: Any) -> Any:
    """Messages of some users, by number."""
    return tuple(part[rows] for part in messages) if isinstance(messages, tuple) else messages[rows]


def parts(messages: Any) -> tuple[NDArray[Any], ...]:
    if isinstance(messages, Ragged):
        return messages.values, messages.each
    return messages if isinstance(messages, tuple) else (messages,)


# The checks


def check_document(protocol: ShuffleProtocol) -> None:
    """Written, read back, and the same; anything else is refused or is a document of its own."""
    document = protocol.document()
    for text in (json.dumps(document, allow_nan=False), canonical(document).decode()):
        found = from_document(json.loads(text))
        assert type(found) is type(protocol)
        assert canonical(found.document()) == canonical(document)
        assert found.mean_squared_error(N) == protocol.mean_squared_error(N)
        values = everyone(somebody(protocol.domain))
        ours, theirs = (parts(one.randomize(values, WORDS, first_row=9)) for one in (protocol, found))
        assert all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))
    for found in check_strict(from_document, document):
        assert found.sentence()
        assert found.description.measure
        assert found.domain


def check_description(protocol: ShuffleProtocol) -> None:
    """What people read, and as many names as entries."""
    population = somebody(protocol.domain)
    counts = protocol.count(protocol.randomize(everyone(population), WORDS, first_row=0))
    estimate = protocol.estimate(counts)
    assert estimate.n == N
    assert estimate.names == protocol.names
    entries = len(protocol.names)
    assert len(set(protocol.names)) == entries
    assert estimate.value.shape == estimate.standard_error.shape == (entries,)
    assert protocol.expected(population).shape == (entries,)
    for text in (
        protocol.description.question,
        protocol.description.measure,
        protocol.sentence(),
        protocol.reference,
        *protocol.forecast(N).lines,
    ):
        assert text == text.strip()
        assert text
    assert protocol.messages_per_user >= 1
    assert protocol.bits >= 1
    assert protocol.cells_per_run >= 1
    assert protocol.epsilon0 is None or protocol.epsilon0 > 0


def check_secrets(protocol: ShuffleProtocol) -> None:
    """Values are shown neither by errors nor by what holds them."""
    population = somebody(protocol.domain)
    held = population.values
    bad = np.array([31337.25] if held.dtype.kind == "f" else [31337])
    with pytest.raises(InvalidInput) as refused:
        protocol.randomize(bad, WORDS, first_row=0)
    assert "31337" not in f"{refused.value!r} {refused.value.__cause__!r} {refused.value.__context__!r}"
    with pytest.raises(InvalidInput):
        protocol.estimate(Counts.none(protocol.counters + 1))
    before = repr(protocol)
    counts = protocol.count(protocol.randomize(everyone(population), WORDS, first_row=0))
    assert repr(protocol) == before
    assert str(int(counts.values.max())) not in repr(counts)


def check_pure(protocol: ShuffleProtocol) -> None:
    """Messages depend on values, words and row numbers alone: any partition gives the same."""
    values = everyone(somebody(protocol.domain))
    kept = values.copy()
    whole = parts(protocol.randomize(values, WORDS, first_row=1000))
    for cuts in ([0, N], [0, 1, N], [0, 37, 38, 99, N]):
        pieces = [parts(protocol.randomize(values[a:b], WORDS, first_row=1000 + a)) for a, b in pairwise(cuts)]
        for found, expected in zip(map(np.concatenate, zip(*pieces, strict=True)), whole, strict=True):
            assert np.array_equal(found, expected)
    elsewhere = parts(protocol.randomize(values, WORDS, first_row=5000))
    assert protocol.epsilon0 is None or any(not np.array_equal(a, b) for a, b in zip(elsewhere, whole, strict=True))
    assert np.array_equal(values, kept)


def some_of(messages: Any, rows: NDArray[np.bool_]) -> Any:
    """The messages of some of the users."""
    return tuple(part[rows] for part in messages) if isinstance(messages, tuple) else messages[rows]


def check_counts(protocol: ShuffleProtocol) -> None:
    """Counts of parts add up to the counts of the whole, and tell how many users there were."""
    messages = protocol.randomize(everyone(somebody(protocol.domain)), WORDS, first_row=0)
    whole = protocol.count(messages)
    assert whole.size == protocol.counters
    assert protocol.reports(whole.values) == N
    for chosen in (np.arange(N) < 1, np.arange(N) % 3 == 0, np.zeros(N, dtype=np.bool_)):
        some, others = (
            protocol.count(some_of(messages, chosen)),
            protocol.count(some_of(messages, ~chosen)),
        )
        assert np.array_equal((some + others).values, whole.values)
        added = some.values.copy()
        protocol.add(added, some_of(messages, ~chosen))
        assert np.array_equal(added, whole.values)
    order = np.random.default_rng(4).permutation(N)
    assert np.array_equal(protocol.count(picked(messages, order)).values, whole.values)


def check_truth(protocol: ShuffleProtocol) -> None:
    """The truth of parts adds up, exactly, to the answer worked out directly."""
    population = somebody(protocol.domain)
    values = everyone(population)
    whole = protocol.truth(values)
    for cut in (0, 1, 33):
        assert np.array_equal(protocol.truth(values[:cut]) + protocol.truth(values[cut:]), whole)
    assert np.array_equal(protocol.truth(values[::-1]), whole)
    assert np.array_equal(protocol.truth_of(population), whole)
    answer = protocol.true_answer(whole)
    assert np.array_equal(protocol.expected(population), answer)
    if isinstance(protocol, Counting):
        assert answer.tolist() == np.bincount(values, minlength=protocol.domain.size).tolist()
    if isinstance(protocol, Summing):
        total = math.fsum(values.tolist())
        assert answer == pytest.approx([total / N if protocol.averages else total], rel=1e-15)


def check_errors(protocol: ShuffleProtocol) -> None:
    """No data are worse than the worst, and standard errors do not understate."""
    most = protocol.mean_squared_error(N)
    assert protocol.rmse(N) == pytest.approx(math.sqrt(most))
    worst = protocol.worst(N)
    assert worst.n == N
    assert protocol.expected_error(worst) == pytest.approx(most, rel=1e-9)
    values = somebody(protocol.domain).values
    if isinstance(protocol.domain, RealRange):
        values = np.linspace(protocol.domain.low, protocol.domain.high, 200)
    alone = [Population(values=values[j : j + 1], users=np.array([N])) for j in range(len(values))]
    for population in (somebody(protocol.domain), worst, *alone):
        error = protocol.expected_error(population)
        assert error <= most * (1 + 1e-9)
        truth = protocol.expected(population)
        assert float(np.square(protocol.standard_error(truth, N)).sum()) >= error * (1 - 1e-9)


def check_exactly_unbiased(protocol: OneMessage) -> None:
    """All messages of two users: mean and squared error of the estimate are the formulas'."""
    rows, held = 4096, protocol.domain.clean(protocol.domain.samples()).values
    laws = []
    for value in held:
        symbols = np.unique(protocol.encode(np.full(rows, value), WORDS, first_row=0), axis=0)
        if len(symbols) == 1:  # not rounded at random, so that the law is known
            laws.append((value, protocol.randomizer.probability(np.arange(protocol.alphabet), symbols[0])))
    assert len(laws) > 1
    pairs = list(combinations_with_replacement(range(protocol.alphabet), 2))
    values = np.array([protocol.estimate(Counts.of(np.array(pair), protocol.alphabet)).value for pair in pairs])
    a, b = np.array(pairs).T
    for (one, first), (other, second) in product(laws, laws):
        population = Population(values=np.array([one, other]), users=np.array([1, 1]))
        truth = protocol.expected(population)
        chance = first[a] * second[b] + np.where(a == b, 0, first[b] * second[a])
        assert chance @ values == pytest.approx(truth + protocol.bias(population), abs=1e-9)
        squared = chance @ np.square(values - truth).sum(axis=1)
        assert squared == pytest.approx(protocol.expected_error(population), rel=1e-9)


def check_law(protocol: ShuffleProtocol) -> None:
    """Real and simulated runs: unbiased, with the error that is stated, and of one law."""
    population = somebody(protocol.domain)
    values, truth = everyone(population), protocol.expected(population)
    runs = MANY_REAL if protocol.kind in NOISY and protocol.epsilon0 is None else REAL
    if any(field.name == "seed" for field in dataclasses.fields(protocol)):  # type: ignore[arg-type]
        real = []
        for run in range(runs):  # unbiased over public hash functions too: new ones in each run
            one: Any = dataclasses.replace(protocol, seed=run)  # type: ignore[type-var]
            real.append(one.estimate(one.count(one.randomize(values, WORDS, first_row=N * run))).value)
        errors = np.array(real) - truth
    else:
        messages = protocol.randomize(np.tile(values, runs), WORDS, first_row=0)
        counts = [
            noised(protocol, protocol.count(picked(messages, slice(N * run, N * (run + 1)))), run).values
            for run in range(runs)
        ]
        errors = protocol.debias(np.array(counts), N) - truth
    fake = protocol.simulate(population, np.random.default_rng(1), SIMULATED) - truth
    assert errors.shape[1:] == fake.shape[1:] == truth.shape
    expected = protocol.expected_error(population)
    for found, off in ((errors, 1.5), (fake, 1.05)):
        assert p_mean(found - protocol.bias(population)) > SIGNIFICANCE
        total = np.sqrt(np.square(found).sum(axis=1))
        assert p_variance(total, expected) > SIGNIFICANCE
        assert p_variance(total, expected * off) < SIGNIFICANCE
        if isinstance(protocol, Counting):
            variance = protocol.variance(protocol.held(population).astype(float), N)
            assert p_variance(found, variance) > SIGNIFICANCE
    for j in range(len(truth)):
        assert ks_2samp(errors[:, j], fake[:, j], method="asymp").pvalue > SIGNIFICANCE


def noised(protocol: ShuffleProtocol, counts: Counts, run: int) -> Counts:
    """What leaves the shuffler."""
    return protocol.shuffled(counts, KeyedRandomness.seeded(run)) if isinstance(protocol, Deployable) else counts


class Spy:
    """Words under a key that remember what was asked for."""

    private = False

    def __init__(self) -> None:
        self._asked: dict[tuple[str, int], list[NDArray[Any]]] = {}

    def reserve(self) -> None:
        """They are not for releases."""

    def stream(self, first_row: int, count: int, lane: int) -> NDArray[np.uint8]:
        self._asked.setdefault(("lane", lane), []).append(np.arange(first_row, first_row + count))
        return WORDS.stream(first_row, count, lane)

    def blocks(self, rows: NDArray[np.uint64], draw: int) -> NDArray[np.uint64]:
        self._asked.setdefault(("draw", draw), []).append(rows.copy())
        return WORDS.blocks(rows, draw)

    def more_than(self, often: int) -> list[tuple[str, int]]:
        """Lanes and draws of which a row's words were asked for more than so often; to choose a question, more than once."""
        found = []
        for (kind, which), rows in self._asked.items():
            choosing = which % 8 == PART if kind == "lane" else which % (1 << 40) >> 34 == 1
            most = np.unique(np.concatenate(rows), return_counts=True)[1].max(initial=0)
            if most > (1 if choosing else often):
                found.append((kind, which))
        return found


def answered(randomizer: Any) -> int:
    """Of how many questions a user answers one: each asks for the same words, of which a user uses those of one question."""
    parts = getattr(randomizer, "parts", ())
    return len(parts) if isinstance(randomizer, Mixture) else max(map(answered, parts), default=1)


def check_words(protocol: ShuffleProtocol) -> None:
    """No address of random words is used twice: neither for two purposes, nor for two users, whatever is tied or rejected."""
    values = everyone(somebody(protocol.domain))
    spy = Spy()
    protocol.randomize(np.tile(values, 40), spy, first_row=0)
    for first_row in (5000, 5000 + N, 5000 + 2 * N):  # rows that follow each other share nothing either
        protocol.randomize(values, spy, first_row=first_row)
    assert spy.more_than(answered(getattr(protocol, "randomizer", None))) == []


def check_shift(protocol: ShuffleProtocol) -> None:
    """However one report is exchanged for another, no entry moves by more than is stated."""
    messages = protocol.randomize(everyone(somebody(protocol.domain)), WORDS, first_row=0)
    counts = protocol.count(messages).values
    before = protocol.debias(counts, N)
    if isinstance(protocol, OneMessage):
        alphabet = np.eye(protocol.alphabet, dtype=np.int64)
        moved = [counts - alphabet[a] + alphabet[b] for a in np.flatnonzero(counts) for b in range(protocol.alphabet)]
    elif protocol.kind in NOISY:
        return  # a curator's noise moves it more, and a user's has no limit
    else:
        rows = np.arange(N)
        moved = [
            protocol.count(picked(messages, np.where(rows == a, b, rows))).values
            for a, b in product(range(8), range(60))
        ]
    shift = float(np.abs(protocol.debias(np.array(moved), N) - before).max())
    assert 0 < shift <= protocol.max_shift(N) * (1 + 1e-9)


CHECKS: tuple[Callable[[Any], None], ...] = (
    check_document, check_description, check_secrets, check_pure, check_counts, check_truth, check_errors, check_shift,
    check_words,
)  # fmt: skip


@every
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_every_protocol(protocol: ShuffleProtocol, check: Callable[[ShuffleProtocol], None]) -> None:
    check(protocol)


@pytest.mark.parametrize("protocol", [one for one in EXAMPLES if isinstance(one, OneMessage)], ids=lambda one: one.kind)
def test_one_message_is_exactly_unbiased(protocol: OneMessage) -> None:
    check_exactly_unbiased(protocol)


@every
def test_the_law_of_every_protocol(protocol: ShuffleProtocol) -> None:
    check_law(protocol)


def test_every_kind_has_examples_and_one_name() -> None:
    for kind, protocol in protocols().items():
        assert protocol.kind == kind
        assert protocol.examples()


# Wrong ones


@contextmanager
def registered(protocol: type[ShuffleProtocol]) -> Iterator[None]:
    with patch.object(registry, "PROTOCOLS", {**registry.PROTOCOLS, protocol.kind: protocol}):
        yield


class Wrong(Histogram):
    """A histogram, to be spoilt."""

    __slots__ = ()
    kind = "planted"


class BelievesInAnotherGamma(Wrong):
    __slots__ = ()

    def debias(self, counts: NDArray[np.int64], n: int) -> Reals:
        g = 1.1 * self.gamma
        return np.asarray((counts - n * g / self.size) / (1 - g))


class UnderstatesItsError(Wrong):
    __slots__ = ()

    def expected_error(self, population: Population) -> float:
        return 0.9 * super().expected_error(population)


class SimulatesAnotherGamma(Wrong):
    __slots__ = ()

    def simulated_counts(self, users: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.int64]:
        blanket = generator.binomial(users, 0.8 * self.gamma)
        return np.asarray(
            users - blanket + generator.multinomial(blanket.sum(axis=-1), np.full(self.size, 1 / self.size))
        )


class CountsRowsFromZero(Wrong):
    __slots__ = ()

    def randomize(self, values: NDArray[Any], randomness: Any, *, first_row: int) -> Any:  # type: ignore[misc]
        return super().randomize(values, randomness, first_row=0)


class ForgetsItsDomain(Wrong):
    __slots__ = ()

    @classmethod
    def from_document(cls, document: object) -> Any:
        return cls(super().from_document(document).randomizer)


class ReadsAnything(Wrong):
    __slots__ = ()

    @classmethod
    def from_document(cls, document: object) -> Any:
        assert isinstance(document, dict)
        return super().from_document({key: value for key, value in document.items() if key != "extra"})


class CountsAtMostNine(Wrong):
    __slots__ = ()

    def count(self, messages: Any) -> Counts:  # type: ignore[misc]
        return Counts(np.minimum(super().count(messages).values, 9))


class SaysItMovesByOne(Wrong):
    __slots__ = ()

    def max_shift(self, n: int) -> float:
        return 1.0


class ShowsValues(Wrong):
    __slots__ = ()

    def randomize(self, values: NDArray[Any], randomness: Any, *, first_row: int) -> Any:  # type: ignore[misc]
        if len(values) and int(values.max()) >= self.size:
            raise InvalidInput(f"{values.max()} is too large. Use a smaller one.")
        return super().randomize(values, randomness, first_row=first_row)


class NamesTooFew(Wrong):
    __slots__ = ()

    @property
    def names(self) -> tuple[str, ...]:
        return super().names[1:]


class AveragesTheTruth(Wrong):
    __slots__ = ()

    def truth(self, values: NDArray[Any]) -> NDArray[Any]:
        return super().truth(values) / max(1, len(values))


class RoundsWithItsResponse(Wrong):
    """Draws for its encoding what its randomizer draws."""

    __slots__ = ()

    def encode(self, values: NDArray[Any], randomness: Any, *, first_row: int) -> Any:
        assert isinstance(randomness, EncodingRandomness)
        randomness.source.stream(first_row, len(values), RESPONSE)
        return super().encode(values, randomness, first_row=first_row)


class TiesWithItsResponse(Wrong):
    """The same of the rarer draws."""

    __slots__ = ()

    def encode(self, values: NDArray[Any], randomness: Any, *, first_row: int) -> Any:
        assert isinstance(randomness, EncodingRandomness)
        randomness.source.blocks(rows_from(first_row, len(values)), 0)
        return super().encode(values, randomness, first_row=first_row)


@pytest.mark.parametrize(
    ("wrong", "check"),
    [
        (RoundsWithItsResponse, check_words),
        (TiesWithItsResponse, check_words),
        (BelievesInAnotherGamma, check_exactly_unbiased),
        (BelievesInAnotherGamma, check_law),
        (UnderstatesItsError, check_exactly_unbiased),
        (UnderstatesItsError, check_law),
        (UnderstatesItsError, check_errors),
        (SimulatesAnotherGamma, check_law),
        (CountsRowsFromZero, check_pure),
        (ForgetsItsDomain, check_document),
        (ReadsAnything, check_document),
        (CountsAtMostNine, check_counts),
        (SaysItMovesByOne, check_shift),
        (ShowsValues, check_secrets),
        (NamesTooFew, check_description),
        (AveragesTheTruth, check_truth),
    ],
)
def test_wrong_protocols_are_found_out(wrong: type[Wrong], check: Callable[[Any], None]) -> None:
    right, spoilt = Histogram.examples()[0], wrong.examples()[0]
    check(right)
    with registered(wrong), pytest.raises((AssertionError, pytest.fail.Exception)):
        check(spoilt)


def test_a_sum_with_a_wrong_blanket_is_found_out() -> None:
    class Leaning(Summation):
        __slots__ = ()

        def debias_sum(self, counts: NDArray[np.int64], n: int) -> Reals:
            return super().debias_sum(counts, n) * 1.1

    for check in (check_exactly_unbiased, check_law):
        with pytest.raises(AssertionError):
            check(Leaning.examples()[1])
