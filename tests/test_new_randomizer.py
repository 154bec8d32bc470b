"""A randomizer that only this file knows goes everywhere: nothing in the package asks which class it is."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pytest
from click.testing import CliRunner
from flint import fmpq
from numpy.typing import NDArray

from conformance.test_randomizers import CHECKS, Check, name
from oracles.scale import full
from shuffledp import (
    Certificate,
    KeyedRandomness,
    Plan,
    RandomizedResponse,
    Session,
    account,
    audit,
    calibrate,
    plan,
    run,
    verify,
)
from shuffledp.cli import cli
from shuffledp.core import checks
from shuffledp.core.blanket import Blanket, RandomizerFamily
from shuffledp.core.document import Readers, Written, whole, word
from shuffledp.core.randomizer import OwnMessages
from shuffledp.core.randomness import WORD, RandomSource, choose_below
from shuffledp.domains.whole_numbers import WholeNumbers
from shuffledp.errors import InvalidInput
from shuffledp.planning import registry as planning
from shuffledp.planning.families.histogram import HistogramQuestion
from shuffledp.planning.family import PlannedFamily
from shuffledp.planning.options import SIZE
from shuffledp.protocols import registry as protocols
from shuffledp.protocols.counting import Counting
from shuffledp.protocols.description import Description
from shuffledp.protocols.one_message import OneMessage
from shuffledp.randomizers import registry
from shuffledp.randomizers.channel import ChannelBlanket
from shuffledp.randomizers.mixing import threshold_of, with_blanket
from shuffledp.randomizers.mixture import Mixture
from shuffledp.randomizers.named import Kind
from shuffledp.randomizers.of_blanket import OfPureBlanket
from shuffledp.randomizers.together import Together

Reals = NDArray[np.float64]
SIZE_OF_A_CLOCK = {"size": "the number of hours"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock(OfPureBlanket, OwnMessages, Written):
    """With probability gamma any hour; otherwise the true one, or in one of three cases the next."""

    kind: ClassVar[str] = "clock"
    readers: ClassVar[Readers] = {"size": whole, "threshold": word}

    size: int
    threshold: int

    def __post_init__(self) -> None:
        checks.size(self.size)
        if not 0 < self.threshold <= WORD:
            raise InvalidInput("a clock ignores the hour with a probability above 0. Use another threshold.")

    @classmethod
    def of(cls, size: int, gamma: float) -> Self:
        return cls(size=size, threshold=threshold_of(gamma))

    @classmethod
    def family(cls, size: int) -> RandomizerFamily:
        return RandomizerFamily(
            parameter="gamma", blanket=lambda gamma: cls.of(size, gamma).blanket(), low=1e-6, high=1.0,
            more_private="larger",
        )  # fmt: skip

    @classmethod
    def named(cls) -> Kind:
        return Kind(
            ("gamma",),
            law=lambda size, gamma: cls.of(size, gamma).blanket(),
            family=lambda parameter, size: cls.family(size),
            runs=lambda size, gamma: cls.of(size, gamma),
            needs=SIZE_OF_A_CLOCK,
        )

    def with_gamma(self, gamma: float) -> Self:
        return self.of(self.size, gamma)

    @property
    def law(self) -> list[list[Fraction]]:
        gamma, x = Fraction(self.threshold, WORD), range(self.size)
        true = {0: Fraction(2, 3), 1: Fraction(1, 3)}
        return [[gamma / self.size + (1 - gamma) * true.get((y - v) % self.size, 0) for y in x] for v in x]

    def blanket(self) -> Blanket:
        rows = tuple(tuple(fmpq(entry.numerator, entry.denominator) for entry in row) for row in self.law)
        return ChannelBlanket(rows=rows, name=f"clock of {self.size} hours")

    def probability(self, message: NDArray[np.integer] | int, symbol: int) -> Reals:
        return np.asarray(np.array(self.law[symbol], dtype=np.float64)[message])

    def randomize(
        self, symbols: NDArray[np.integer], randomness: RandomSource, *, first_row: int
    ) -> NDArray[np.unsignedinteger]:
        hours = checks.symbols(symbols, self.size)
        late = choose_below(3, len(hours), randomness, first_row=first_row) == 0
        return with_blanket(
            (hours + late.astype(hours.dtype)) % self.size, self.threshold, self.size, randomness, first_row
        )

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls.of(3, 0.2), cls.of(5, 0.5)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hours(Written, Counting, OneMessage):
    """How many users go to bed at each hour."""

    randomizer: Clock
    kind = "hours"
    readers: ClassVar[Readers] = {"randomizer": Clock.from_document}
    reference: ClassVar[str] = "this test"
    description = Description(question="hours", measure="users")

    @property
    def domain(self) -> WholeNumbers:
        return WholeNumbers(self.randomizer.size)

    @property
    def _law(self) -> Reals:
        return np.array(self.randomizer.law, dtype=np.float64)

    def sentence(self) -> str:
        return "each user sends an hour that may be one too late"

    def encode(self, values: NDArray[Any], randomness: RandomSource, *, first_row: int) -> NDArray[np.unsignedinteger]:
        return values

    def debias(self, counts: NDArray[np.int64], n: int) -> Reals:
        return np.asarray(counts @ np.linalg.inv(self._law))

    def variance(self, users: Reals, n: int) -> Reals:
        return np.asarray(users @ (self._law @ np.linalg.inv(self._law) ** 2 - np.eye(self.randomizer.size)))

    def max_shift(self, n: int) -> float:
        weights = np.linalg.inv(self._law)
        return float(np.max(weights.max(axis=0) - weights.min(axis=0)))

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(randomizer=Clock.of(3, 0.2))]


class HoursQuestion(HistogramQuestion):
    """A histogram by another name, of whole numbers."""

    called, options = ("hours",), (SIZE,)


class HoursFamily(PlannedFamily[HoursQuestion]):
    """The least blanket that is private enough."""

    question_type = HoursQuestion

    def propose(self, question: HoursQuestion) -> Hours:
        size = question.domain.size
        gamma = calibrate(Clock.family(size), n=question.honest, epsilon=question.epsilon, delta=question.delta)
        return Hours(randomizer=Clock.of(size, gamma))


N, SIZE_, DELTA = 2000, 5, 1e-6
HELD = np.arange(N) * 7 % SIZE_


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    registry.register(Clock)
    protocols.register(Hours)
    planning.register(HoursFamily)
    yield
    planning.unregister(HoursFamily)
    protocols.unregister(Hours)
    registry.unregister(Clock)


def command(line: str, folder: Path) -> dict[str, Any]:
    done = CliRunner().invoke(cli, [*line.split(), "--json"], prog_name="shuffledp")
    assert done.exit_code == 0, (done.output, done.exception)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("check", CHECKS, ids=name)
def test_it_is_judged_as_ours_are(check: Check) -> None:
    for one in Clock.examples():
        check(one)
    check(Mixture(weights=(1, 2), parts=(Clock.of(3, 0.3), RandomizedResponse(size=2, gamma=0.5))))
    check(Together(parts=(Clock.of(3, 0.3), Clock.of(5, 0.2))))


def test_account(tmp_path: Path) -> None:
    found = account(Clock.of(SIZE_, 0.3), n=N, delta=DELTA)
    assert found.epsilon < account(Clock.of(SIZE_, 0.3), n=N // 2, delta=DELTA).epsilon
    typed = command(f"account --randomizer clock --size {SIZE_} --gamma 0.3 --n {N} --delta {DELTA}", tmp_path)
    assert typed["results"][0]["value"] == found.epsilon
    gamma = calibrate(Clock.family(SIZE_), n=N, epsilon=found.epsilon, delta=DELTA)
    assert gamma == pytest.approx(0.3, rel=1e-3)
    solved = command(
        f"account --randomizer clock --size {SIZE_} --n {N} --epsilon 1 --delta {DELTA} --solve-for gamma", tmp_path
    )
    assert solved["results"][0]["value"] == pytest.approx(calibrate(Clock.family(SIZE_), n=N, epsilon=1.0, delta=DELTA))
    with pytest.raises(InvalidInput, match="needs the number of hours"):
        Clock.named().shape("clock", {})


def test_plan_and_run() -> None:
    found = plan("hours", n=N, epsilon=1.0, delta=DELTA, size=SIZE_)
    assert isinstance(found.protocol, Hours)
    assert Plan.from_document(json.loads(json.dumps(found.document()))) == found
    result = run(found, HELD, randomness=KeyedRandomness.seeded(4))
    off = np.abs(result.estimate.value - np.bincount(HELD))
    assert (off < 7 * result.estimate.standard_error).all()
    session = Session(epsilon=3.0, delta=1e-5)  # budgets read what was spent from its document
    session.run(found, HELD)
    assert 0 < session.spent <= 1.01


def test_audit(tmp_path: Path) -> None:
    clock = Clock.of(SIZE_, 0.3)
    randomness = KeyedRandomness.seeded(5)
    assert audit(clock, view="local", trials=full(10_000, 40_000), randomness=randomness).verdict == "consistent"
    shuffled = audit(clock, n=20, delta=1e-3, trials=full(5_000, 20_000), randomness=KeyedRandomness.seeded(6))
    assert shuffled.verdict == "consistent"
    assert not shuffled.learned
    wrong = audit(
        Punctual(size=SIZE_, threshold=clock.threshold),
        view="local",
        trials=full(10_000, 40_000),
        randomness=KeyedRandomness.seeded(7),
    )
    assert wrong.verdict == "violated"
    planned = plan("hours", n=30, epsilon=3.0, delta=1e-2, size=3)
    assert audit(planned, trials=full(4_000, 20_000), randomness=KeyedRandomness.seeded(8)).verdict != "violated"
    typed = command("audit --randomizer clock --size 3 --gamma 0.5 --view local --trials 5000", tmp_path)
    assert typed["verdict"] in ("consistent", "under-powered")


class Punctual(Clock):
    """Says that it may be late, and is not."""

    def randomize(self, symbols: NDArray[np.integer], randomness: RandomSource, *, first_row: int) -> Any:
        hours = checks.symbols(symbols, self.size)
        return with_blanket(hours, self.threshold // 2, self.size, randomness, first_row)


def test_survey() -> None:
    """Blankets of all questions are scaled together, whatever their randomizers."""
    questions = [{"name": "bed", "ask": "hours", "size": 3}, {"name": "sleep", "ask": "mean", "low": 0, "high": 12}]
    found = plan("survey", n=4000, epsilon=1.0, delta=DELTA, questions=questions, way="all")
    parts = [part.kind for part in found.protocol.randomizer.parts]  # type: ignore[attr-defined]
    assert parts == ["clock", "response"]
    assert Plan.from_document(json.loads(json.dumps(found.document()))) == found
    people = {"bed": np.arange(4000) % 3, "sleep": np.full(4000, 8.0)}
    result = run(found, people, randomness=KeyedRandomness.seeded(9))
    truth = np.append(np.bincount(people["bed"]), 8.0)
    assert (np.abs(result.estimate.value - truth) < 7 * result.estimate.standard_error).all()


def test_nothing_is_confirmed_of_it() -> None:
    """Its privacy is proved by the accountant; those who check certificates have no proof of their own."""
    clock = Clock.of(SIZE_, 0.3)
    found = plan("hours", n=N, epsilon=1.0, delta=DELTA, size=SIZE_)
    for claim in (Certificate.of(clock, account(clock, n=N, delta=DELTA)), found):
        judged = verify(claim)
        assert not judged.confirmed
        assert not judged.proved
        assert "no independent proof for randomizers of kind 'clock'" in judged.reason
    among = {"kind": "mixture", "weights": [1], "parts": [clock.document()]}
    assert (
        "'clock'" in verify(replace(Certificate.of(clock, account(clock, n=N, delta=DELTA)), randomizer=among)).reason
    )


def test_what_is_not_registered_is_not_known() -> None:
    document = Clock.of(3, 0.2).document()
    assert registry.from_document(document) == Clock.of(3, 0.2)
    registry.unregister(Clock)
    with pytest.raises(InvalidInput, match="no such kind of randomizer"):
        registry.from_document(document)
    with pytest.raises(InvalidInput, match="shuffledp already has a class of randomizers 'response'"):
        registry.register(type("Mine", (Clock,), {"kind": "response"}))
    with pytest.raises(InvalidInput, match=r"got a class \(Punctual\)"):
        registry.register(Punctual)  # it says no kind of its own
    with pytest.raises(InvalidInput, match="must be a class of randomizers; got a Clock"):
        registry.register(Clock.of(3, 0.2))  # type: ignore[arg-type]
