"""What an audit says in advance is what happens: how much it shows, which errors it finds, and when it can say nothing."""

from dataclasses import replace
from fractions import Fraction
from typing import Any, Self

import pytest

from oracles.scale import full
from shuffledp import InvalidInput, KeyedRandomness, RandomizedResponse, audit, calibrate
from shuffledp.auditing.crowd import Crowd
from shuffledp.auditing.event import best_event
from shuffledp.auditing.inputs import of_randomizer
from shuffledp.auditing.subject import Claimed
from shuffledp.baselines.registry import protocols
from shuffledp.baselines.split_and_mix import SplitAndMix
from shuffledp.core.randomness import WORD
from shuffledp.randomizers.digit_by_digit import Digits
from shuffledp.randomizers.registry import RANDOMIZERS


def seeded(seed: int = 1) -> KeyedRandomness:
    return KeyedRandomness.seeded(seed)


EXAMPLES = {kind: one.examples() for kind, one in (dict(RANDOMIZERS) | protocols()).items()}
FORESEEN = {
    "response": 1, "lattice": 1, "design": 0, "together": 0, "histogram": 0, "summation": 0, "distribution": 1,
    "survey-table": 0, "split-and-mix": 0,
}  # fmt: skip
"""Whose law is known, and which example: its audit says exactly what it will show."""
LEARNED = {
    "grouped-summation": 0, "counts-with-dummies": 0, "survey-all": 1, "unary-bits": 0, "hadamard-response": 1,
    "digit-sums": 1, "grouped-digit-sums": 0,
}  # fmt: skip
"""Whose attacker learns: a pilot says what it will show."""
TRIALS = {"unary-bits": 1_000_000}
"""Of what is told apart by rare events."""


@pytest.mark.parametrize(("kind", "which"), [*FORESEEN.items(), *LEARNED.items()])
def test_reported_and_reached_power_agree_within_a_tenth(kind: str, which: int) -> None:
    subject: Any = EXAMPLES[kind][which]
    found = audit(
        subject,
        n=getattr(subject, "n", 30),
        delta=1e-2,
        trials=TRIALS.get(kind, full(200_000, 1_000_000)),
        randomness=seeded(),
    )
    assert found.piloted == (kind in LEARNED)
    assert found.piloted or found.expected == found.reach
    assert found.expected > 0.5
    assert found.epsilon == pytest.approx(found.expected, rel=0.1)
    assert found.epsilon == pytest.approx(found.expected, abs=1.5 * found.margin)  # three standard deviations
    assert found.margin < 0.1 * found.expected
    assert ("after a pilot" in found.explain()) == (kind in LEARNED)


class Weaker(RandomizedResponse):
    """Claims what `stated` does, and samples by another randomizer."""

    def __init__(self, stated: RandomizedResponse, real: RandomizedResponse) -> None:
        super().__init__(size=stated.size, gamma=Fraction(stated.threshold, WORD))
        object.__setattr__(self, "_real", real.as_run())

    def as_run(self) -> Self:
        return self

    def randomize(self, *given: Any, **more: Any) -> Any:
        real: RandomizedResponse = self._real  # type: ignore[attr-defined]
        return real.randomize(*given, **more)


@pytest.mark.parametrize("learned", [False, True])
def test_a_tenth_less_noise_than_claimed_is_noticed(learned: bool) -> None:
    stated = RandomizedResponse(size=4, epsilon0=2.0)
    for real, verdict in ((RandomizedResponse(size=4, epsilon0=2.2), "violated"), (stated, "consistent")):
        found = audit(Weaker(stated, real), view="local", trials=60_000, learned=learned, randomness=seeded())
        assert found.verdict == verdict
        assert found.learned == learned
        assert found.piloted == (learned or real is not stated)  # a law that does not hold is not relied on
        assert found.epsilon == pytest.approx(found.expected, abs=1.5 * found.margin)


class ForgetsADigit(Digits):
    """Sends no dummies beside the last digit but those that are seldom."""

    def randomize(self, symbols: Any, randomness: Any, *, first_row: int) -> Any:
        real = Digits(base=self.base, dummies=(*self.dummies[:-1], 0.1 * self.dummies[-1]))
        return real.randomize(symbols, randomness, first_row=first_row)


def test_dummies_that_are_missing_beside_one_digit_are_noticed() -> None:
    for kind, verdict in ((ForgetsADigit, "violated"), (Digits, "consistent")):
        one = kind(base=2, dummies=(4.0, 2.0))
        assert audit(one, n=20, delta=1e-2, trials=40_000, randomness=seeded()).verdict == verdict


def foreseen(real: RandomizedResponse, claimed: Claimed, n: int, trials: int) -> float:
    """What an audit of this very randomizer would show."""
    law = Crowd(of_randomizer(real.as_run()), n=n, claimed=claimed, trials=trials).foreseen()
    assert law is not None
    return best_event(law, trials, delta=claimed.delta, confidence=0.999).epsilon


@pytest.mark.parametrize(
    ("share", "trials", "verdict"),
    [
        (1.0, 400_000, "consistent"),
        (0.9, 400_000, "violated"),
        (0.9, 20_000, "consistent"),  # too few, and that is foreseen
    ],
)
def test_a_tenth_less_blanket_is_noticed_behind_a_shuffler_if_that_is_foreseen(
    share: float, trials: int, verdict: str
) -> None:
    """60 users at epsilon 1 and delta 0.01: the probability of a random answer is a tenth smaller than claimed."""
    epsilon0 = calibrate(RandomizedResponse.family(size=4), n=60, epsilon=1.0, delta=1e-2)
    stated = RandomizedResponse(size=4, epsilon0=epsilon0)
    real = RandomizedResponse(size=4, gamma=share * stated.gamma)
    weaker: Any = Weaker(stated, real)
    found = audit(weaker, n=60, delta=1e-2, epsilon=1.0, trials=trials, randomness=seeded())
    advance = foreseen(real, found.claimed, 60, trials)
    assert (advance > found.claimed.epsilon) == (found.verdict == "violated")
    assert found.verdict == verdict
    if verdict == "violated":
        assert found.epsilon == pytest.approx(advance, rel=0.1)


def test_a_sampler_that_does_something_else_is_noticed_behind_the_shuffler() -> None:
    """It sends the true value more often than it should."""
    stated, real = RandomizedResponse(size=3, epsilon0=1.0), RandomizedResponse(size=3, epsilon0=4.0)
    weaker: Any = Weaker(stated, real)
    found = audit(weaker, n=60, delta=1e-3, trials=20_000, randomness=seeded())
    assert found.verdict == "violated"


def test_too_few_trials_are_called_under_powered() -> None:
    found = audit(RandomizedResponse(size=10, epsilon0=3.5), n=1000, delta=1e-6, trials=100, randomness=seeded())
    assert found.verdict == "under-powered"
    assert found.power < 0.5
    assert found.needed is not None
    assert f"use more: {found.needed:,} trials are enough" in found.explain()
    again = audit(
        RandomizedResponse(size=10, epsilon0=3.5), n=1000, delta=1e-6, trials=found.needed, randomness=seeded()
    )
    assert (again.verdict, again.needed) == ("consistent", None)


def test_an_attacker_that_learned_nothing_says_nothing() -> None:
    """Of split and mix, single messages are uniform, whatever a user holds: the code looks at their sum instead."""
    subject = SplitAndMix.examples()[0]
    found = audit(subject, n=100, delta=1e-3, trials=2000, randomness=seeded())
    assert found.verdict == "consistent"
    assert not found.learned
    blind = replace(found, learned=True, epsilon=0.0)
    assert blind.verdict == "under-powered"
    assert "this says nothing about the claim" in blind.explain()


def test_split_and_mix_with_fewer_users_than_its_noise_needs() -> None:
    """Each user adds its part of the noise. The claim is for all of them, and an attacker who knows half sees more."""
    subject = SplitAndMix.examples()[0]
    assert audit(subject, n=100, delta=1e-3, known=70, trials=5000, randomness=seeded()).verdict == "violated"
    with pytest.raises(InvalidInput, match="made for 100 users"):
        audit(subject, n=50, delta=1e-3, trials=100)
