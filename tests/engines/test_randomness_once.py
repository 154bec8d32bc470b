"""Words randomize one release: two under the same ones would show exactly how their data differ."""

import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from copy import copy, deepcopy
from threading import Barrier
from typing import Any

import numpy as np
import pytest

from oracles.tree import python_path
from shuffledp import (
    InvalidInput,
    KeyedRandomness,
    Plan,
    Policy,
    RandomizedResponse,
    Session,
    SystemRandomness,
    audit,
    plan,
    run,
)
from shuffledp.core.randomness import EncodingRandomness, QuestionRandomness, RandomSource
from shuffledp.engines.run import tally_source
from shuffledp.sources.values import ValuesSource

PEOPLE = [0.0, 1.0] * 600
OTHERS = [1.0, *PEOPLE[1:]]
"""The same, but for one person."""
USED = "this randomness was used before"


@pytest.fixture(scope="module")
def asked() -> Plan:
    return plan("mean", n=1000, epsilon=1.0, delta=1e-6)


def refused(asked: Plan, randomness: RandomSource, match: str = USED, **options: Any) -> None:
    with pytest.raises(InvalidInput, match=match):
        run(asked, OTHERS, randomness=randomness, **options)


@pytest.mark.parametrize("engine", ["memory", "arrow"])
def test_words_of_one_release_are_refused_for_another(asked: Plan, engine: str) -> None:
    randomness = KeyedRandomness.fresh()
    first = run(asked, PEOPLE, randomness=randomness, engine=engine)
    assert first.guarantee == asked.guarantee
    for again in (randomness, QuestionRandomness(randomness, 3)):
        refused(asked, again)
    refused(asked, EncodingRandomness(randomness), engine="arrow")
    with pytest.raises(InvalidInput, match=USED):
        tally_source(asked, ValuesSource(OTHERS), randomness)


def test_a_copy_randomizes_no_release(asked: Plan) -> None:
    """It may have been made anywhere. The words that it was made of are as good as before."""
    randomness = KeyedRandomness.fresh()
    for again in (copy(randomness), deepcopy(randomness), pickle.loads(pickle.dumps(randomness))):
        refused(asked, again, match="this randomness is a copy")
    assert run(asked, PEOPLE, randomness=randomness).guarantee is not None


def test_it_is_the_key_that_is_remembered_and_each_half_of_it(asked: Plan) -> None:
    """Half of a key makes the bytes that settle most rows, the other half all other words."""
    key, other = os.urandom(32), os.urandom(32)
    run(asked, PEOPLE, randomness=KeyedRandomness(key, private=True))
    for same in (key, key[:16] + other[16:], other[:16] + key[16:], key[16:] + other[:16]):
        refused(asked, KeyedRandomness(same, private=True))
    assert run(asked, OTHERS, randomness=KeyedRandomness(os.urandom(32), private=True)).guarantee is not None


def test_a_run_is_repeated_without_a_guarantee(asked: Plan) -> None:
    key = os.urandom(32)
    randomness = KeyedRandomness(key, private=True)
    first = run(asked, PEOPLE, randomness=randomness)
    for again in (randomness.replayed(), randomness.replayed().replayed(), KeyedRandomness(key, private=False)):
        repeated = run(asked, PEOPLE, randomness=again)
        assert (repeated.counts.values == first.counts.values).all()
        assert (repeated.guarantee, repeated.realised_epsilon) == (None, None)
        assert any("carries no guarantee" in note for note in repeated.notes)


def test_a_key_that_was_used_without_a_guarantee_gets_none_afterwards(asked: Plan) -> None:
    randomness = KeyedRandomness.fresh()
    assert run(asked, PEOPLE, randomness=randomness.replayed()).guarantee is None
    refused(asked, randomness)


def test_a_run_that_fails_has_used_its_words(asked: Plan) -> None:
    """Somebody may have seen a part of it. What is refused before any row is read costs nothing."""

    def fails(values: Any, match: str, **options: Any) -> None:
        randomness = KeyedRandomness.fresh()
        with pytest.raises(InvalidInput, match=match):
            run(asked, values, randomness=randomness, **options)
        refused(asked, randomness)

    fails(PEOPLE[:900], "900 reports are fewer than")
    fails([*PEOPLE, None], "is missing")
    fails([*PEOPLE, 7.0], "the value is outside")
    randomness = KeyedRandomness.fresh()
    with pytest.raises(InvalidInput, match="`other` is for"):
        run(asked, PEOPLE, randomness=randomness, policy=Policy(other="blue"))
    with pytest.raises(InvalidInput, match="no engine 'abacus'"):
        run(asked, PEOPLE, randomness=randomness, engine="abacus")
    assert run(asked, PEOPLE, randomness=randomness).guarantee is not None


def test_of_two_runs_at_once_one_gets_the_words(asked: Plan) -> None:
    randomness, start = KeyedRandomness.fresh(), Barrier(8)

    def at_once(data: list[float]) -> bool:
        start.wait()
        try:
            return run(asked, data, randomness=randomness).guarantee is not None
        except InvalidInput:
            return False

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(at_once, [PEOPLE, OTHERS] * 4)) == 1


FORKED = """
import os, pickle, sys
from shuffledp import InvalidInput, KeyedRandomness, plan, run

asked, people = plan("mean", n=1000, epsilon=1.0, delta=1e-6), [0.0, 1.0] * 600
sent, mine, used = pickle.loads(bytes.fromhex(sys.argv[1])), KeyedRandomness.fresh(), os.urandom(32)

def refused(words):
    try:
        return run(asked, people, randomness=words).guarantee is None
    except InvalidInput:
        return True

assert not refused(KeyedRandomness(used, private=True))
child = os.fork()
if not child:
    fresh = not refused(KeyedRandomness.fresh())
    os._exit(0 if refused(sent) and refused(mine) and refused(KeyedRandomness(used, private=True)) and fresh else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert refused(sent)
assert run(asked, people, randomness=sent.replayed()).guarantee is None
assert not refused(mine)
"""


def test_copies_in_other_processes_randomize_no_release_of_their_own(asked: Plan) -> None:
    """Neither where they were sent nor in a process that was forked: nobody there knows what became of the key."""
    randomness = KeyedRandomness.fresh()
    done = subprocess.run(
        [sys.executable, "-c", FORKED, pickle.dumps(randomness).hex()],
        env=os.environ | {"PYTHONPATH": python_path()}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert run(asked, PEOPLE, randomness=randomness).guarantee is not None


def test_questions_of_a_session_need_words_of_their_own(asked: Plan) -> None:
    randomness = KeyedRandomness.fresh()
    with Session(epsilon=5.0, delta=1e-6) as session:
        session.run(asked, PEOPLE, randomness=randomness)
        with pytest.raises(InvalidInput, match=USED):
            session.run(asked, OTHERS, randomness=randomness)
        assert session.run(asked, OTHERS).guarantee is not None


def test_trials_that_were_seen_are_not_seen_again() -> None:
    coin, randomness = RandomizedResponse(size=2, epsilon0=1.0), KeyedRandomness.fresh()
    audit(coin, view="local", trials=100, randomness=randomness)
    with pytest.raises(InvalidInput, match=USED):
        audit(coin, view="local", trials=100, randomness=randomness)


def test_seeds_and_the_systems_bytes_are_used_as_often_as_wanted(asked: Plan) -> None:
    first, second = (run(asked, PEOPLE, randomness=KeyedRandomness.seeded(9)).counts.values for _ in range(2))
    assert np.array_equal(first, second)
    randomness = SystemRandomness()
    assert all(run(asked, PEOPLE, randomness=randomness, engine="memory").guarantee is not None for _ in range(2))
