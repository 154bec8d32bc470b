"""The figures of an audit, recomputed from its counts; whose claim is held against it; and which rows of words it uses."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta

from shuffledp import Channel, KeyedRandomness, Laplace, RandomizedResponse, account, audit, plan
from shuffledp.auditing.claims import claim_of
from shuffledp.auditing.conduct import conduct
from shuffledp.auditing.crowd import Crowd
from shuffledp.auditing.event import Event, shown
from shuffledp.auditing.finding import Finding
from shuffledp.auditing.inputs import of_protocol, of_randomizer
from shuffledp.auditing.subject import Claimed
from shuffledp.errors import InvalidInput
from shuffledp.randomizers.dummies import Dummies
from shuffledp.randomizers.identity import Identity
from shuffledp.randomizers.mixture import Mixture
from shuffledp.randomizers.together import Together

LEANING = Channel([[0.70, 0.25, 0.05], [0.30, 0.30, 0.40], [0.10, 0.60, 0.30]])
"""Three inputs, none of which is like another; what is rare under one is not under the next."""


@pytest.mark.parametrize(
    ("first", "second", "trials"), [(37, 5, 400), (950, 610, 1000), (60, 0, 60), (3, 0, 5000), (0, 0, 90)]
)
@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.2])
@pytest.mark.parametrize("confidence", [0.8, 0.999])
def test_what_is_shown_is_by_exact_limits_that_share_the_risk(
    first: int, second: int, trials: int, delta: float, confidence: float
) -> None:
    """The beta law's quantiles: P is at least the one, and Q at most the other, each wrong with half of the risk."""
    error = (1 - confidence) / 2
    low = float(beta.ppf(error, first, trials - first + 1)) if first else 0.0
    high = float(beta.ppf(1 - error, second + 1, trials - second)) if second < trials else 1.0
    expected = max(0.0, math.log((low - delta) / high)) if low > delta else 0.0
    found = shown(first, second, trials, delta=delta, confidence=confidence)
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert found <= expected + 1e-12


AUDITED: list[tuple[Any, dict[str, Any]]] = [
    (LEANING, {"view": "local", "epsilon": 2.6, "delta": 0.05}),
    (LEANING, {"n": 7, "delta": 0.02}),
    (LEANING, {"n": 9, "delta": 0.02, "known": 4, "learned": True}),
    (RandomizedResponse(size=3, epsilon0=1.5), {"n": 6, "delta": 1e-3, "epsilon": 0.1}),
]


@pytest.mark.parametrize(("subject", "how"), AUDITED)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_finding_is_what_its_own_counts_show(subject: Any, how: dict[str, Any], seed: int) -> None:
    found = audit(subject, trials=3000, confidence=0.95, randomness=KeyedRandomness.seeded(seed), **how)
    delta, (first, second) = how["delta"], found.hits
    assert found.epsilon == shown(first, second, 3000, delta=delta, confidence=0.95)
    exact = [beta.ppf(0.025, first, 3001 - first), beta.ppf(0.975, second + 1, 3000 - second)]
    assert list(found.rates) == pytest.approx(exact)
    assert (found.trials, found.confidence, found.claimed.delta) == (3000, 0.95, delta)
    assert found.n == (1 if how.get("view") == "local" else how["n"] - how.get("known", 0))
    assert found.claimed.epsilon == how.get("epsilon", found.claimed.epsilon)
    if "epsilon" not in how:
        assert found.claimed.epsilon == pytest.approx(account(subject, n=how["n"], delta=delta).epsilon, rel=1e-3)
    document = found.document()
    assert document["hits"] == [first, second]
    assert document["rates"] == {"first_at_least": found.rates[0], "second_at_most": found.rates[1]}
    assert document["epsilon"] == found.epsilon
    assert document["event"] == {"threshold": found.event.threshold, "reversed": found.event.reversed}


def test_the_direction_that_shows_more_is_taken_and_counted_in_its_own_world() -> None:
    """What only the second value sends gives it away, and nothing gives away the first: the event is reversed."""
    onesided = Channel([[0.5, 0.4999, 0.0001], [0.45, 0.45, 0.1]])
    directions = set()
    for matrix in ([[0.5, 0.4999, 0.0001], [0.45, 0.45, 0.1]], [[0.45, 0.45, 0.1], [0.5, 0.4999, 0.0001]]):
        found = audit(
            Channel(matrix), view="local", epsilon=1.0, delta=0.01, trials=4000, randomness=KeyedRandomness.seeded(3)
        )
        directions.add(found.event.reversed)
        assert found.verdict == "violated"
        first, second = found.hits
        assert 300 < first < 500
        assert second < 10
    assert directions == {False, True}
    assert (
        audit(onesided, view="local", epsilon=1.0, delta=0.2, trials=4000, randomness=KeyedRandomness.seeded(3)).epsilon
        == 0
    )


def finding(**changes: Any) -> Finding:
    values: dict[str, Any] = {
        "name": "it", "worlds": "two", "view": "local", "n": 1, "claimed": Claimed(epsilon=2.0, delta=0.0, by="us"),
        "confidence": 0.99, "trials": 100, "event": Event(0.0), "hits": (50, 10), "epsilon": 1.0, "reach": 1.5, "expected": 1.5,
    }  # fmt: skip
    return Finding(**values | changes)


@pytest.mark.parametrize(
    ("changes", "verdict", "power"),
    [
        ({}, "consistent", 0.75),
        ({"epsilon": 2.0}, "consistent", 0.75),
        ({"epsilon": 2.0000001}, "violated", 0.75),
        ({"epsilon": 2.1, "reach": 0.1}, "violated", 0.05),
        ({"reach": 0.99}, "under-powered", 0.495),
        ({"reach": 0.99, "enough": 0.4}, "consistent", 0.495),
        ({"reach": 1.5, "enough": 0.8}, "under-powered", 0.75),
        ({"reach": 9.0}, "consistent", 1.0),
        ({"learned": True}, "consistent", 0.75),
        ({"learned": True, "epsilon": 0.0}, "under-powered", 0.75),
        ({"learned": False, "epsilon": 0.0}, "consistent", 0.75),
        ({"claimed": Claimed(epsilon=0.0, delta=0.1, by="us"), "epsilon": 0.0, "learned": True}, "consistent", 1.0),
        ({"claimed": Claimed(epsilon=0.0, delta=0.1, by="us"), "epsilon": 0.1}, "violated", 1.0),
    ],
)
def test_a_verdict_is_about_what_was_shown_and_what_could_have_been(
    changes: dict[str, Any], verdict: str, power: float
) -> None:
    found = finding(**changes)
    assert found.verdict == verdict
    assert found.power == pytest.approx(power)
    assert (found.document()["verdict"], found.document()["power"]) == (verdict, found.power)
    assert f"{verdict}: " in found.explain()


def test_the_claim_of_a_plan_is_of_its_honest_reports_and_only_at_its_own_numbers() -> None:
    made = plan("histogram", size=3, n=200, epsilon=1.5, delta=1e-3, honest_fraction=0.6)
    own = claim_of(made, view="shuffled", n=120, delta=1e-3, epsilon=None)
    assert (own.epsilon, own.delta, own.by) == (1.5, 1e-3, "the plan")
    assert audit(made, trials=60).n == 120
    for n, delta in ((200, 1e-3), (120, 1e-2), (60, 1e-3)):
        other = claim_of(made, view="shuffled", n=n, delta=delta, epsilon=None)
        assert other.epsilon == pytest.approx(account(made.protocol.randomizer, n=n, delta=delta).epsilon, rel=1e-3)
        assert other.delta == delta
        assert other.lower is not None
        assert other.lower <= other.epsilon
    alone = claim_of(made, view="local", n=1, delta=0.0, epsilon=None)
    assert (alone.epsilon, alone.delta) == (made.protocol.epsilon0, 0.0)
    said = claim_of(made, view="shuffled", n=120, delta=1e-3, epsilon=0.25)
    assert (said.epsilon, said.delta, said.by) == (0.25, 1e-3, "as stated")
    with pytest.raises(InvalidInput, match="no local guarantee"):
        claim_of(Dummies(structure=Identity(size=3), dummies=2.0), view="local", n=1, delta=0.0, epsilon=None)


@pytest.mark.parametrize("delta", [0.0, 1e-4, 0.05])
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_what_uses_up_a_claim_has_just_that_curve(epsilon: float, delta: float) -> None:
    """Its delta at the claimed epsilon is the claimed one, in both directions."""
    atoms = Claimed(epsilon=epsilon, delta=delta, by="us").using_it_up()
    for one, other in ((atoms.first, atoms.second), (atoms.second, atoms.first)):
        found = float(np.maximum(one - math.exp(epsilon) * other, 0).sum())
        assert found == pytest.approx(delta, rel=0.02, abs=1e-9)


COIN = RandomizedResponse(size=2, epsilon0=1.0).as_run()
SENDING: dict[str, Any] = {
    "one message": of_randomizer(RandomizedResponse(size=4, epsilon0=1.0).as_run()),
    "a mixture": of_randomizer(Mixture(weights=(1, 3), parts=(COIN, COIN))),
    "two messages": of_randomizer(Together(parts=(COIN, COIN))),
    "dummies": of_randomizer(Dummies(structure=Identity(size=3), dummies=0.7)),
    "a protocol": of_protocol(plan("mean", n=30, epsilon=3.0, delta=1e-2, low=1, high=3).protocol),
    "noise": of_randomizer(Laplace(epsilon0=1.0).lattice(inputs=3, outputs=33)),
}


@pytest.mark.parametrize("kind", SENDING)
@pytest.mark.parametrize(("n", "known"), [(1, 0), (6, 0), (9, 4)])
@pytest.mark.parametrize("learned", [False, True])
def test_no_row_of_words_serves_two_messages(kind: str, n: int, known: int, learned: bool) -> None:
    """Neither in two trials, nor in both worlds, nor when learning, choosing an event and testing it."""
    inputs, used = SENDING[kind], list[tuple[int, int]]()

    def send(held: Any, randomness: Any, first_row: int) -> Any:
        used.append((first_row, len(held)))
        return inputs.send(held, randomness, first_row)

    crowd = Crowd(
        dataclasses.replace(inputs, send=send), n=n, claimed=Claimed(epsilon=1.0, delta=1e-3, by="us"), known=known,
        learned=learned, randomness=KeyedRandomness.seeded(6), trials=70,
    )  # fmt: skip
    crowd.block = 16  # so that there are several, the last of them shorter
    conduct(crowd, trials=70)
    used.sort()
    ends = [first + count for first, count in used]
    assert all(start >= end for (start, _), end in zip(used[1:], ends, strict=False))
    assert sum(count for first, count in used if first < 1 << 48) >= (n - known + 1) * (70 + 14)
