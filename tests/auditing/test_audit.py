"""Audits of what this package ships, of what is known to be too weak, and of programs of others."""

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.stats import binom

from oracles import blackbox
from oracles.chance import SIGNIFICANCE
from oracles.scale import examples, full
from shuffledp import (
    Channel,
    Finding,
    Gaussian,
    Generic,
    InvalidInput,
    KeyedRandomness,
    Laplace,
    NoClaim,
    RandomizedResponse,
    audit,
    audit_command,
    calibrate,
    plan,
)
from shuffledp.auditing.crowd import Crowd
from shuffledp.auditing.event import shown
from shuffledp.auditing.finding import VERSION
from shuffledp.auditing.inputs import of_randomizer
from shuffledp.auditing.subject import Claimed
from shuffledp.baselines.registry import protocols
from shuffledp.randomizers.registry import RANDOMIZERS

if TYPE_CHECKING:
    from shuffledp.auditing.subject import View

KINDS: dict[str, Any] = dict(RANDOMIZERS) | protocols()
SILENT = {"generic", "codebook", "curator-histogram", "noisy-vector", "noisy-moments", "shuffler-noise"}
"""Those without a sampler of symbols, without messages, or without what hides them. Codebooks take points: the protocol
vector-mean runs them. Noise that the shuffler adds is audited by plan."""
NOTHING_CLAIMED = (
    "nothing is proved|no local guarantee|cannot be run|does not give|says nothing|added by the shuffler"
    "|no epsilon up to 300"
)
BOX = f"{sys.executable} {blackbox.__file__}"


def seeded(seed: int = 1) -> KeyedRandomness:
    return KeyedRandomness.seeded(seed)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_that_is_shipped_is_worse_than_certified(kind: str) -> None:
    """Whatever is registered, shuffled and by itself; benchmarks/bench_audit.py has larger sizes."""
    views, refusals = set[str](), list[str]()
    for subject in KINDS[kind].examples()[: full(2, 99)]:
        coarse = isinstance(subject, Laplace | Gaussian)  # a coarse lattice is accounted for in a moment
        shuffled = subject.lattice(inputs=full(3, 17), outputs=full(33, 129)) if coarse else subject
        asked: dict[Any, Any] = {"shuffled": {"n": getattr(subject, "n", 50), "delta": 1e-3}, "local": {}}
        trials: dict[View, int] = {"shuffled": 3000, "local": 10_000}
        looked_at: dict[View, Any] = {"shuffled": shuffled, "local": subject}
        for view, what in looked_at.items():
            try:
                found = audit(what, view=view, trials=examples(trials[view]), randomness=seeded(), **asked[view])
            except (InvalidInput, NoClaim) as refused:
                refusals.append(str(refused))
                continue
            views.add(view)
            assert found.verdict != "violated"
            assert found.epsilon <= found.claimed.epsilon
            if view == "local":
                assert found.epsilon > 0.3 * found.reach
    assert bool(views) == (kind not in SILENT)
    assert [said for said in refusals if not re.search(NOTHING_CLAIMED, said)] == []


@pytest.mark.parametrize("size", [2, 10, 100])
def test_randomized_response_is_found_as_far_as_was_said_in_advance(size: int) -> None:
    """n = 1000 at epsilon 1; benchmarks/bench_audit.py has the full size, where 60 % is shown."""
    epsilon0 = calibrate(RandomizedResponse.family(size=size), n=1000, epsilon=1.0, delta=1e-4)
    randomizer = RandomizedResponse(size=size, epsilon0=epsilon0)
    found = audit(randomizer, n=1000, delta=1e-4, trials=full(40_000, 400_000), randomness=seeded())
    assert found.claimed.epsilon == pytest.approx(1.0, abs=1e-3)
    assert 0.35 < found.reach < 1
    assert found.epsilon == pytest.approx(found.reach, rel=0.15)
    assert found.epsilon <= found.claimed.epsilon
    assert not found.learned


def test_who_knows_all_others_sees_more_than_the_shuffled_epsilon_and_less_than_epsilon0() -> None:
    randomizer = RandomizedResponse(size=10, epsilon0=3.5)
    found = audit(randomizer, n=1000, delta=1e-6, known=999, trials=20_000, randomness=seeded())
    assert found.verdict == "violated"
    assert found.claimed.epsilon < found.epsilon < 3.5
    with pytest.raises(InvalidInput, match="can know at most 999"):
        audit(randomizer, n=1000, delta=1e-6, known=1000, trials=100)


def test_false_alarms_are_no_more_frequent_than_the_confidence_says() -> None:
    """Claims that are exactly true, audited many times with little confidence; who trusts rates as they are is often wrong."""
    audits, confidence, alarms, naive = examples(120), 0.8, 0, 0
    coin = RandomizedResponse(size=2, epsilon0=1.0)
    for seed in range(audits):
        found = audit(coin, view="local", epsilon=1.0, trials=300, confidence=confidence, randomness=seeded(seed))
        alarms += found.verdict == "violated"
        first, second = found.hits
        naive += np.log(first / second) > 1.0
    assert binom.sf(alarms - 1, audits, 1 - confidence) > SIGNIFICANCE
    assert binom.sf(naive - 1, audits, 1 - confidence) < SIGNIFICANCE


def test_a_plan_is_audited_at_its_own_guarantee() -> None:
    made = plan("histogram", n=100, epsilon=1.0, delta=1e-3, size=4)
    found = audit(made, trials=20_000, randomness=seeded())
    assert (found.claimed.epsilon, found.claimed.delta, found.n) == (1.0, 1e-3, made.guarantee.n)
    assert found.verdict == "consistent"
    document = found.document()
    assert document["version"] == VERSION
    assert document["verdict"] in found.explain()
    assert "consistent" in found._repr_html_()


def test_seconds_are_a_budget() -> None:
    found = audit(RandomizedResponse(size=2, epsilon0=1.0), view="local", seconds=0.2, randomness=seeded())
    assert found.trials >= 20


@pytest.mark.parametrize("cost", [1e-6, 1e-3, 1.0])
def test_learning_takes_a_small_part_of_the_seconds(monkeypatch: pytest.MonkeyPatch, cost: float) -> None:
    """By a clock that a message moves on, of a program that is fast, slow, or hopeless."""
    randomizer, drawn = RandomizedResponse(size=2, epsilon0=1.0).as_run(), [0]
    inputs = of_randomizer(randomizer)

    def send(held: Any, randomness: Any, first_row: int) -> Any:
        drawn[0] += len(held)
        return inputs.send(held, randomness, first_row)

    monkeypatch.setattr("shuffledp.auditing.crowd.time.perf_counter", lambda: cost * drawn[0])
    claimed = Claimed(epsilon=1.0, delta=0.0, by="as stated")
    slow = replace(inputs, send=send)
    crowd = Crowd(slow, n=1, claimed=claimed, view="local", learned=True, randomness=seeded())
    crowd.learn(0, seconds=100.0)
    assert drawn[0] >= 2000  # of both values
    assert drawn[0] * cost < max(200.0, 4000 * cost)
    assert drawn[0] >= min(400_000, 50.0 / cost)


@pytest.mark.parametrize(
    "nothing",
    [RandomizedResponse(size=2, gamma=1.0), RandomizedResponse(size=4, epsilon0=0.0), Channel([[0.5, 0.5]] * 2)],
)
@pytest.mark.parametrize("learned", [False, True])
def test_what_says_nothing_shows_nothing(nothing: Any, learned: bool) -> None:
    local = audit(nothing, view="local", trials=1000, learned=learned, randomness=seeded())
    shuffled = audit(nothing, n=20, delta=1e-3, trials=1000, learned=learned, randomness=seeded())
    assert local.epsilon == shuffled.epsilon == 0.0
    assert "violated" not in (local.verdict, shuffled.verdict)
    assert "give or take" not in local.explain()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"trials": 5}, "show nothing"),
        ({"trials": 100, "seconds": 1.0}, "exactly one"),
        ({"seconds": -1.0}, "positive"),
        ({"trials": 100, "confidence": 1 - 1e-15}, "at most 1 - 1e-12"),
        ({"trials": 100, "view": "shuffled"}, "n and delta"),
        ({"trials": 100, "delta": 2.0}, "between 0 and 1"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        audit(RandomizedResponse(size=2, epsilon0=1.0), **({"view": "local"} | wrong))


def test_what_cannot_be_run_cannot_be_audited() -> None:
    with pytest.raises(InvalidInput, match="cannot be run"):
        audit(Generic(epsilon0=1.0), view="local", trials=100)
    assert audit(Gaussian(sigma=2.0), view="local", trials=100, randomness=seeded()).verdict == "under-powered"


# Programs of others


def boxed(how: str, **more: Any) -> Finding:
    return audit_command(f"{BOX} 1 {how}", epsilon=1.0, confidence=1 - 1e-9, **more)


def test_a_program_that_keeps_its_claim_and_one_that_does_not() -> None:
    trials = full(60_000, 400_000)
    right, wrong = boxed(blackbox.RIGHT, trials=trials), boxed(blackbox.WRONG, trials=trials)
    assert right.verdict == "consistent"
    assert right.epsilon == pytest.approx(right.reach, rel=0.1)
    assert wrong.verdict == "violated"
    assert wrong.epsilon == pytest.approx(wrong.expected, rel=0.1)
    assert wrong.learned


def test_a_program_that_adds_noise_to_numbers() -> None:
    found = boxed(blackbox.NOISE, trials=full(30_000, 300_000))
    assert found.verdict == "consistent"
    assert found.epsilon > 0.8


def test_a_program_behind_a_shuffler_and_several_messages_per_line(tmp_path: Path) -> None:
    script = tmp_path / "twice.py"
    script.write_text(
        "import sys\nfor line in sys.stdin:\n    print(f'{line.strip()}\\t{line.strip()}')\n"
    )  # nothing is hidden
    found = audit_command(
        f"{sys.executable} {script}", epsilon=1.0, delta=1e-3, n=5, view="shuffled", trials=500, symbols=("a", "b")
    )
    assert found.verdict == "violated"
    assert "4 others" in found.worlds


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import sys; sys.exit(3)", "exit code 3"),
        ("print('one line')", "one line for each"),
    ],
)
def test_programs_that_do_not_follow_the_line_protocol(tmp_path: Path, code: str, message: str) -> None:
    script = tmp_path / "bad.py"
    script.write_text(code)
    with pytest.raises(InvalidInput, match=message):
        audit_command(f"{sys.executable} {script}", epsilon=1.0, trials=100)


@pytest.mark.parametrize(
    ("line", "symbols", "message"),
    [
        ("", ("0", "1"), "empty"),
        ("'", ("0", "1"), "quote"),
        ("no-such-program-anywhere", ("0", "1"), "no program"),
        (".", ("0", "1"), "cannot run"),
        ("cat", ("0", "0"), "two different values"),
    ],
)
def test_commands_that_cannot_be_run(line: str, symbols: tuple[str, str], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        audit_command(line, epsilon=1.0, symbols=symbols, trials=100)


def test_what_is_shown_needs_fresh_trials() -> None:
    """The event is chosen on other trials than those that are counted: the numbers of the finding are those of the test."""
    found = audit(RandomizedResponse(size=3, epsilon0=1.0), view="local", trials=5000, randomness=seeded())
    again = shown(*found.hits, found.trials, delta=0.0, confidence=found.confidence)
    assert found.epsilon == again
    assert sum(found.picture["first"]) == pytest.approx(1.0)
