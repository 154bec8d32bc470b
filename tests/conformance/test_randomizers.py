"""What every registered randomizer must pass, and wrong randomizers do not.

A check takes a randomizer and raises AssertionError. To add a randomizer, register it in `randomizers/registry.py`: its
`examples()` are judged here. What a check cannot ask of a randomizer (to sample a law that is not known) it leaves out.
"""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
import pytest
from flint import arb
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chisquare

from shuffledp import Gaussian, InvalidInput, KeyedRandomness, Laplace, LatticeChannel, RandomizedResponse
from shuffledp.arithmetic.balls import evaluate
from shuffledp.core.attacker_view import AttackerView, Observable
from shuffledp.core.document import Document
from shuffledp.core.pair import Pair
from shuffledp.core.ragged import Ragged
from shuffledp.core.randomizer import (
    Columnar,
    FiniteRandomizer,
    Idealized,
    LocalRandomizer,
    RunnableRandomizer,
    Sampled,
    Tunable,
    columns_of,
)
from shuffledp.randomizers.dummies import Dummies
from shuffledp.randomizers.laplace import LaplaceBlanket
from shuffledp.randomizers.mixture import Mixture
from shuffledp.randomizers.registry import RANDOMIZERS, from_document
from shuffledp.randomizers.response import ResponseBlanket

Check = Callable[[LocalRandomizer], None]
Reals = NDArray[np.float64]
EPSILONS = (0.0, 0.1, 0.7)
SIGNIFICANCE = 1e-9
N = 400_000


@runtime_checkable
class Continuous(Protocol):
    """Additive noise on [0, 1]."""

    def density(self, message: ArrayLike, value: float) -> Reals:
        """mu_value(message)."""
        ...


def rows_of(randomizer: FiniteRandomizer) -> Reals:
    outputs = np.arange(randomizer.messages)
    return np.array([randomizer.probability(outputs, symbol) for symbol in range(randomizer.symbols)])


def laws_of(randomizer: LocalRandomizer) -> tuple[Reals, float] | None:
    """Masses of messages (columns) by input (rows), and how far off they may be; None if the law is not known.

    A continuous law is cut into small cells, which loses a little of every divergence.
    """
    if isinstance(randomizer, FiniteRandomizer):
        return rows_of(randomizer), 1e-9
    if isinstance(randomizer, Continuous):
        cells, step = np.linspace(-40, 41, 40_500, retstep=True)
        return np.array([randomizer.density(cells, value) * step for value in (0.0, 0.3, 0.5, 1.0)]), 2e-3
    return None


def divergence(first: Reals, second: Reals, epsilon: float) -> float:
    return float(np.maximum(first - math.exp(epsilon) * second, 0).sum())


def alone(pair: Pair, epsilon: float) -> float:
    """What a pair says of one user's delta."""
    law = pair.law(epsilon)
    return float(np.maximum(law.values, 0) @ law.masses) + pair.uncovered_up(epsilon)


def check_document(randomizer: LocalRandomizer) -> None:
    """Its document is JSON, names its kind, and builds the same law and the same document again."""
    document = json.loads(json.dumps(randomizer.document(), allow_nan=False))
    assert RANDOMIZERS[document["kind"]].kind == document["kind"] == randomizer.kind
    found = from_document(document)
    assert found.document() == document
    assert found.gamma == pytest.approx(randomizer.gamma, rel=1e-12)
    assert found.epsilon0 == (None if randomizer.epsilon0 is None else pytest.approx(randomizer.epsilon0, rel=1e-9))
    with pytest.raises(InvalidInput):
        from_document(document | {"unknown": 1})


def check_rows_are_laws(randomizer: LocalRandomizer) -> None:
    """Probabilities are not negative and sum to 1 for every input."""
    laws = laws_of(randomizer)
    if laws is not None:
        assert (laws[0] >= 0).all()
        np.testing.assert_allclose(laws[0].sum(axis=1), 1, rtol=max(1e-12, laws[1] / 10))


def check_gamma_and_epsilon0(randomizer: LocalRandomizer) -> None:
    """Gamma is the mass that all inputs share, rounded down; epsilon0 the largest log-ratio, rounded up."""
    blanket = randomizer.blanket()
    assert randomizer.gamma == max(0.0, evaluate(blanket.gamma).lower)
    epsilon0 = blanket.epsilon0()
    assert (randomizer.epsilon0 is None) == (epsilon0 is None)
    if epsilon0 is not None:
        assert randomizer.epsilon0 == evaluate(lambda: blanket.epsilon0() or arb(0)).upper
        assert randomizer.gamma >= math.exp(-float(epsilon0)) * (1 - 1e-12)  # Lemma 5.2
    laws = laws_of(randomizer)
    if laws is not None:
        masses, error = laws
        assert randomizer.gamma == pytest.approx(masses.min(axis=0).sum(), rel=error)
        possible = masses[:, masses.max(axis=0) > 0]
        if isinstance(randomizer, FiniteRandomizer) and (possible > 0).all():
            assert randomizer.epsilon0 == pytest.approx(
                np.log(possible.max(axis=0) / possible.min(axis=0)).max(), rel=1e-6
            )
        elif isinstance(randomizer, FiniteRandomizer):
            assert randomizer.epsilon0 is None


def check_amplification(randomizer: LocalRandomizer) -> None:
    """Mean, range and second moment of L cover every ordered pair of inputs."""
    laws, blanket = laws_of(randomizer), randomizer.blanket()
    for epsilon in EPSILONS:
        stated = blanket.amplification(arb(epsilon))
        assert stated
        assert all(float(law.mean) == pytest.approx(-math.expm1(epsilon), rel=1e-12, abs=1e-15) for law in stated)
        if laws is not None:
            masses, error = laws
            eta = masses.min(axis=0)
            seen = eta > 0
            upper, lower = (float(end) for end in (max(law.upper for law in stated), min(law.lower for law in stated)))
            second_moment = float(max(law.second_moment for law in stated))
            for x, z in permutations(masses[:, seen], 2):
                values = (x - math.exp(epsilon) * z) / eta[seen] * randomizer.gamma
                square = float(values**2 @ eta[seen]) / randomizer.gamma
                assert values.max() <= upper + 2 * error * (1 + abs(upper))
                assert values.min() >= lower - 2 * error * (1 + abs(lower))
                assert square <= second_moment * (1 + 2 * error) + error


def check_pairs_and_witnesses(randomizer: LocalRandomizer) -> None:
    """For one user the pairs say at least the divergence of every pair of inputs, and a witness never more than the largest."""
    laws, blanket = laws_of(randomizer), randomizer.blanket()
    if laws is None:
        return
    masses, error = laws
    for epsilon in EPSILONS:
        truth = max(divergence(x, z, epsilon) for x, z in permutations(masses, 2))
        above = max(min(alone(pair, epsilon) for pair in options) for options in blanket.pairs())
        assert truth <= above * (1 + error) + 1e-12
        for witness in blanket.witnesses():
            assert alone(witness, epsilon) <= truth * (1 + error) + 1e-12


def check_samples_its_law(randomizer: LocalRandomizer) -> None:
    """What runs follows the stated probabilities: chi-square at 1e-9, and no impossible message."""
    if not isinstance(randomizer, RunnableRandomizer):
        return
    for symbol in {0, randomizer.symbols - 1}:
        messages = randomizer.randomize(np.full(N, symbol), KeyedRandomness.seeded(symbol), first_row=0)
        law = rows_of(randomizer)[symbol]
        observed = np.bincount(messages, minlength=randomizer.messages)
        assert len(observed) == randomizer.messages
        assert (observed[law == 0] == 0).all()
        expected = law[law > 0] / law.sum() * N
        assert chisquare(observed[law > 0], expected).pvalue > SIGNIFICANCE


def check_messages_depend_on_their_row_only(randomizer: LocalRandomizer) -> None:
    """Any cut of the rows gives the same messages: nobody is randomized twice by a repeated task."""
    if not isinstance(randomizer, RunnableRandomizer):
        return
    randomness, first_row = KeyedRandomness.seeded(3), 2**40 + 5
    symbols = np.arange(60) % randomizer.symbols
    whole = randomizer.randomize(symbols, randomness, first_row=first_row)
    for cut in range(61):
        left = randomizer.randomize(symbols[:cut], randomness, first_row=first_row)
        right = randomizer.randomize(symbols[cut:], randomness, first_row=first_row + cut)
        assert (np.concatenate([left, right]) == whole).all()
    assert (randomizer.randomize(symbols, randomness, first_row=0) != whole).any()


def check_refuses_other_symbols(randomizer: LocalRandomizer) -> None:
    """A symbol out of range is refused, and no symbol is shown."""
    if not isinstance(randomizer, RunnableRandomizer):
        return
    for wrong in (-1, randomizer.symbols):
        with pytest.raises(InvalidInput, match=r"outside 0\.\.") as refused:
            randomizer.randomize(np.array([777_777, wrong]), KeyedRandomness.seeded(6), first_row=0)
        assert "777" not in str(refused.value)


def check_what_runs(randomizer: LocalRandomizer) -> None:
    """A law in real numbers says what runs in its place: about as private, and itself when asked again."""
    if isinstance(randomizer, Idealized):
        runs: Any = randomizer.as_run()
        assert isinstance(runs, RunnableRandomizer)
        assert not isinstance(runs, Idealized) or runs.as_run() == runs
        assert runs.gamma == pytest.approx(randomizer.gamma, rel=0.05)


def check_another_gamma(randomizer: LocalRandomizer) -> None:
    """The same symbols and messages with the blanket that was asked for, no less of it; and back again."""
    if isinstance(randomizer, Tunable) and isinstance(randomizer, FiniteRandomizer):
        if isinstance(randomizer, Mixture) and not all(isinstance(part, Tunable) for part in randomizer.parts):
            with pytest.raises(InvalidInput, match="a part of this mixture has no other blanket"):
                randomizer.with_gamma(0.37)
            return
        other = randomizer.with_gamma(0.37)
        assert (other.kind, other.symbols, other.messages) == (randomizer.kind, randomizer.symbols, randomizer.messages)
        assert other.gamma == pytest.approx(0.37, rel=1e-12)
        assert other.gamma >= 0.37 * (1 - 2**-50)
        assert isinstance(other, Tunable)
        assert other.with_gamma(randomizer.gamma).gamma == pytest.approx(randomizer.gamma, rel=1e-12)


def check_attacker_view(randomizer: LocalRandomizer) -> None:
    """The law that an attacker knows is that of what is sent: in each release probabilities sum to 1, and sampling agrees."""
    if not (isinstance(randomizer, Observable) and isinstance(randomizer, Sampled)):
        return
    view, columns = randomizer.attacker_view(), columns_of(randomizer)
    assert view.law is not None
    assert view.messages == randomizer.messages
    row = np.array([size - 1 for size in columns])
    value = row[None, :] if isinstance(randomizer, Columnar) else row
    law = view.law(value)
    assert len(law) == view.messages
    ends = np.cumsum(view.releases or (view.messages,))
    assert ends[-1] == view.messages
    np.testing.assert_allclose([part.sum() for part in np.split(law, ends[:-1])], 1, rtol=1e-12)
    sent = randomizer.randomize(np.repeat(value, N // 10, axis=0), KeyedRandomness.seeded(8), first_row=0)
    expected = (law + view.dummies_of_each()) * (N // 10)
    observed = np.bincount(sent.values if isinstance(sent, Ragged) else sent, minlength=view.messages)
    assert (observed[expected == 0] == 0).all()
    assert (np.abs(observed - expected) < 7 * np.sqrt(expected) + 7).all()


CHECKS: tuple[Check, ...] = (
    check_document,
    check_rows_are_laws,
    check_gamma_and_epsilon0,
    check_amplification,
    check_pairs_and_witnesses,
    check_samples_its_law,
    check_messages_depend_on_their_row_only,
    check_refuses_other_symbols,
    check_what_runs,
    check_another_gamma,
    check_attacker_view,
)
REGISTERED = [randomizer for kind in RANDOMIZERS.values() for randomizer in kind.examples()]
LATTICES = [Laplace(epsilon0=2.0).lattice(inputs=5, outputs=33), Gaussian(sigma=1.0).lattice(inputs=3, outputs=17)]


def name(part: Any) -> str:
    return str(part.__name__ if callable(part) else part)


@pytest.mark.parametrize("check", CHECKS, ids=name)
@pytest.mark.parametrize("randomizer", [*REGISTERED, *LATTICES], ids=name)
def test_every_registered_randomizer_passes(randomizer: LocalRandomizer, check: Check) -> None:
    check(randomizer)


def test_every_registered_kind_has_examples_to_judge() -> None:
    assert all(kind.examples() for kind in RANDOMIZERS.values())


# Wrong randomizers: each is rejected by the check that is there for it.


class _MoreBlanket(ResponseBlanket):
    def gamma(self) -> arb:
        return super().gamma() * arb(1.1)


class OverstatedGamma(RandomizedResponse):
    """A tenth more blanket than there is: less noise than promised."""

    def blanket(self) -> ResponseBlanket:
        return _MoreBlanket(size=self.size, given_gamma=self.given_gamma)

    def probability(self, message: NDArray[np.integer] | int, symbol: int) -> Reals:
        return RandomizedResponse.of_threshold(size=self.size, threshold=self.threshold).probability(message, symbol)


class LeakyRows(RandomizedResponse):
    """Probabilities that sum to 0.99."""

    def probability(self, message: NDArray[np.integer] | int, symbol: int) -> Reals:
        return super().probability(message, symbol) * 0.99


class WrongThreshold(RandomizedResponse):
    """Samples with a tenth less blanket than it states."""

    def randomize(
        self, symbols: NDArray[np.integer], randomness: Any, *, first_row: int
    ) -> NDArray[np.unsignedinteger]:
        other = RandomizedResponse.of_threshold(size=self.size, threshold=self.threshold * 9 // 10)
        return other.randomize(symbols, randomness, first_row=first_row)


class WrongDocument(RandomizedResponse):
    """Writes down a tenth more blanket than it has."""

    def document(self) -> Document:
        return super().document() | {"threshold": str(self.threshold * 11 // 10)}


class Sequential(RandomizedResponse):
    """Counts rows from the start of each call: two processes share their coins."""

    def randomize(
        self, symbols: NDArray[np.integer], randomness: Any, *, first_row: int
    ) -> NDArray[np.unsignedinteger]:
        return super().randomize(symbols, randomness, first_row=0)


class NearerInputs(Laplace):
    """Has the blanket of inputs that are a tenth nearer to each other."""

    def blanket(self) -> LaplaceBlanket:
        return LaplaceBlanket(local=self.epsilon0 * 0.9)


class LessBlanket(RandomizedResponse):
    """Has a tenth less blanket than it is asked for."""

    def with_gamma(self, gamma: float) -> Self:
        return super().with_gamma(0.9 * gamma)


class ForgetsTheWeights(Mixture):
    """Tells attackers that all of its parts are equally likely."""

    def attacker_view(self) -> AttackerView:
        return Mixture(weights=(1,) * len(self.parts), parts=self.parts).attacker_view()


class ForgetsTheDummies(Dummies):
    """Tells attackers nothing of its dummies."""

    def attacker_view(self) -> AttackerView:
        return replace(super().attacker_view(), dummies=())


class RunsAnother(Laplace):
    """Runs with half of the noise."""

    def as_run(self) -> LatticeChannel:
        return Laplace(epsilon0=2 * self.epsilon0).as_run()


WRONG: list[tuple[LocalRandomizer, Check]] = [
    (OverstatedGamma(size=4, gamma=0.2), check_gamma_and_epsilon0),
    (LeakyRows(size=4, gamma=0.2), check_rows_are_laws),
    (WrongThreshold(size=4, gamma=0.2), check_samples_its_law),
    (WrongDocument(size=4, gamma=0.2), check_document),
    (Sequential(size=4, gamma=0.2), check_messages_depend_on_their_row_only),
    (NearerInputs(epsilon0=2.0), check_pairs_and_witnesses),
    (NearerInputs(epsilon0=2.0), check_amplification),
    (LessBlanket(size=4, gamma=0.2), check_another_gamma),
    (ForgetsTheWeights(weights=(1, 3), parts=Mixture.examples()[1].parts), check_attacker_view),
    (ForgetsTheDummies(structure=Dummies.examples()[0].structure, dummies=0.4), check_attacker_view),
    (RunsAnother(epsilon0=2.0), check_what_runs),
]
"""Each with the check that must notice."""


@pytest.mark.parametrize(("randomizer", "check"), WRONG, ids=name)
def test_a_wrong_randomizer_is_rejected(randomizer: LocalRandomizer, check: Check) -> None:
    with pytest.raises(AssertionError):
        check(randomizer)
