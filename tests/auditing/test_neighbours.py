"""The score is the likelihood ratio of what is seen: against every possible outcome of a few users."""

import math
from collections import defaultdict
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from shuffledp import RandomizedResponse
from shuffledp.auditing.event import Atoms, Event, Expected, best_event, expected_of, most_telling, shown
from shuffledp.auditing.neighbours import Neighbours, promising

Laws = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]
CHANNEL = np.array([[0.6, 0.3, 0.1, 0.0], [0.1, 0.2, 0.7, 0.0], [0.25, 0.25, 0.25, 0.25]])
LAWS: list[Laws] = [
    (CHANNEL[0], CHANNEL[1], CHANNEL[2]),
    (CHANNEL[0], CHANNEL[1], CHANNEL[1]),
    (CHANNEL[0], CHANNEL[2], CHANNEL[1]),  # message 3 is never sent by others
]


def enumerated(laws: Laws, n: int) -> dict[tuple[int, ...], list[float]]:
    """The probabilities of all counts in both worlds."""
    first, second, others = laws
    found: dict[tuple[int, ...], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for sent in product(range(len(first)), repeat=n):
        rest = math.prod(others[message] for message in sent[1:])
        counts = tuple(np.bincount(sent, minlength=len(first)))
        found[counts][0] += first[sent[0]] * rest
        found[counts][1] += second[sent[0]] * rest
    return found


@pytest.mark.parametrize("laws", LAWS)
@pytest.mark.parametrize("n", [1, 2, 4])
def test_scores_are_exact_likelihood_ratios(laws: Laws, n: int) -> None:
    neighbours = Neighbours(*laws)
    for counts, (p, q) in enumerated(laws, n).items():
        if p + q > 0:
            messages = np.repeat(np.arange(len(counts)), counts)
            score = float(neighbours.scores(neighbours.counts(messages, n, 1))[0])
            truth = math.log(p) - math.log(q) if p * q > 0 else math.copysign(1e3, p - q)
            assert score == pytest.approx(truth, abs=1e-8)


def test_several_questions_multiply() -> None:
    first, second = np.array([0.7, 0.3, 0.9, 0.1]), np.array([0.3, 0.7, 0.1, 0.9])
    asked = np.array([0, 0, 1, 1])
    found = Neighbours(first, second, first, asked)
    one, other = Neighbours(first[:2], second[:2], first[:2]), Neighbours(first[2:], second[2:], first[2:])
    a, b = np.array([0, 0, 1]), np.array([1, 0, 1])
    together = np.concatenate([a, b + 2])
    assert found.scores(found.counts(together, 6, 1))[0] == pytest.approx(
        one.scores(one.counts(a, 3, 1))[0] + other.scores(other.counts(b, 3, 1))[0]
    )


@pytest.mark.parametrize("laws", LAWS[:2])
def test_the_foreseen_law_is_the_true_one(laws: Laws) -> None:
    n, neighbours = 4, Neighbours(*laws)
    foreseen = neighbours.foreseen(n, np.random.default_rng(1), 10**7, 10**6)
    exact = enumerated(laws, n)
    scores = np.array([math.log(p / q) for p, q in exact.values() if q > 0])
    p, q = (np.array([pair[j] for pair in exact.values() if pair[1] > 0]) for j in range(2))
    for level in np.quantile(scores, (0.1, 0.5, 0.9)) - 1e-6:
        for mass, truth in ((foreseen.first, p), (foreseen.second, q)):
            share, expected = mass[foreseen.scores >= level].sum(), truth[scores >= level].sum()
            assert abs(share - expected) < 6.2 * math.sqrt(expected / len(foreseen.scores) * math.exp(scores.max()))


def test_one_user_is_foreseen_exactly() -> None:
    atoms = Neighbours(CHANNEL[0], CHANNEL[1], CHANNEL[2]).foreseen(1, np.random.default_rng(1), 10, 10)
    assert atoms.first.sum() == pytest.approx(1)
    assert sorted(atoms.scores[atoms.second > 0]) == pytest.approx(sorted(np.log(CHANNEL[0, :3] / CHANNEL[1, :3])))


def test_messages_with_one_ratio_are_one_class() -> None:
    randomizer = RandomizedResponse(size=100, epsilon0=2.0)
    laws = [randomizer.probability(np.arange(100), symbol) for symbol in range(3)]
    neighbours = Neighbours(laws[0], laws[1], laws[2])
    assert neighbours.masses.shape[1] == 4
    messages = np.random.default_rng(1).integers(0, 100, 5000)
    few, trial = neighbours.counts(messages, 50, 100), np.repeat(np.arange(100), 50)
    assert (few == neighbours.counts(messages, trial, 100)).all()
    assert (few.sum(axis=1) == 50).all()


def test_the_worst_others_hold_a_third_value() -> None:
    """Randomized response on many values: neither of the two."""
    randomizer = RandomizedResponse(size=10, epsilon0=3.0)
    laws = [randomizer.probability(np.arange(10), symbol) for symbol in range(4)]
    assert len(set(promising(laws, 1000, 3)[0])) == 3


def test_the_best_event_is_the_best_of_all_with_a_little_bad_luck() -> None:
    generator = np.random.default_rng(1)
    for _ in range(20):
        p, q = generator.dirichlet(np.ones(6)), generator.dirichlet(np.ones(6))
        scores = np.log(p / q)
        atoms, settings = Atoms(scores, p, q), {"delta": 0.01, "confidence": 0.99}
        best = best_event(atoms, 5000, **settings)
        every = [expected_of(Event(float(t), way), atoms, 5000, **settings) for t in scores for way in (False, True)]
        assert best in every
        unlucky = [one.epsilon - one.margin / 2 for one in (best, *every)]  # the margin is two standard deviations
        assert unlucky[0] == pytest.approx(max(unlucky), rel=0.02, abs=1e-3)
        assert best.epsilon > 0.9 * max(one.epsilon for one in every)


def test_what_always_happens_is_no_event() -> None:
    """However weak the signal is and however few the trials are."""
    weak = Atoms.of_samples(np.repeat([0.0, 1.0], [9, 11]), np.repeat([0.0, 1.0], [11, 9]))
    for trials in (20, 100, 10**6):
        best = best_event(weak, trials, delta=0.0, confidence=0.999)
        assert best.event in (Event(1.0), Event(0.0, reversed=True))
    alike = Atoms(np.zeros(1), np.ones(1), np.ones(1))
    assert best_event(alike, 1000, delta=0.0, confidence=0.999) == Expected(Event(0.0), 0.0, 0.0)


def test_a_look_that_tells_more_apart_is_preferred() -> None:
    looks = [
        Atoms.of_samples(np.repeat([0.0, 1.0], [wrong, 30 - wrong]), np.repeat([1.0, 0.0], [wrong, 30 - wrong]))
        for wrong in (10, 3, 0, 6)
    ]
    assert most_telling(looks, 300, delta=0.0, confidence=0.9) == 2
    assert most_telling(looks[:2], 300, delta=0.0, confidence=0.9) == 1


def test_an_event_is_not_chosen_because_few_outcomes_of_a_sample_favour_it() -> None:
    """The rarest outcome was seen in one world only. If that were no luck it would show most."""
    first, second = (np.repeat([0.0, 1.0, 2.0], often) for often in ((157, 338, 5), (334, 166, 0)))
    atoms, settings = Atoms.of_samples(first, second), {"delta": 0.0, "confidence": 0.999}
    best = best_event(atoms, 5000, **settings)
    assert best.event in (Event(1.0), Event(0.0, reversed=True))
    assert expected_of(Event(2.0), atoms, 5000, **settings).epsilon > best.epsilon + best.margin


@pytest.mark.parametrize("sampled", [None, 800])
def test_nineteen_of_twenty_audits_show_what_was_expected_give_or_take_the_margin(sampled: int | None) -> None:
    generator, trials = np.random.default_rng(2), 5000
    settings: Any = {"delta": 0.01, "confidence": 0.999}
    kept, margins = list[bool](), list[float]()
    for p, q in ((0.5, 0.1), (0.9, 0.5), (0.1, 0.03), (0.06, 0.02), (0.2, 0.02)):
        atoms = Atoms(np.array([1.0, 0.0]), np.array([p, 1 - p]), np.array([q, 1 - q]))
        for _ in range(50):
            if sampled is not None:
                atoms = Atoms.of_samples(*((generator.random(sampled) < rate).astype(np.float64) for rate in (p, q)))
            expected = expected_of(Event(1.0), atoms, trials, **settings)
            first, second = (int(generator.binomial(trials, rate)) for rate in (p, q))
            kept.append(abs(shown(first, second, trials, **settings) - expected.epsilon) <= expected.margin)
            margins.append(expected.margin)
    assert 0.93 < np.mean(kept) < 0.985
    assert np.median(margins) < (0.2 if sampled is None else 0.6)


def test_what_is_shown_is_a_lower_bound_in_both_directions() -> None:
    """Hits as expected show a little less than the truth; the same hits in the wrong order show nothing."""
    trials = 100_000
    assert 0.95 < shown(round(0.731 * trials), round(0.269 * trials), trials, delta=0.0, confidence=0.999) < 1.0
    assert shown(round(0.269 * trials), round(0.731 * trials), trials, delta=0.0, confidence=0.999) == 0.0
    assert shown(10, 0, trials, delta=0.01, confidence=0.999) == 0.0
