"""Forged plans, misleading data, shared budgets and broken input."""

import copy
import json
import pickle
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from shuffledp import InvalidInput, KeyedRandomness, NoClaim, Plan, Policy, RandomizedResponse, Session, plan, run
from shuffledp.core.canonical import digest
from shuffledp.core.counts import Counts
from shuffledp.core.randomness import choose_below, rows_from, uniform_below
from shuffledp.domains.labels import Labels
from shuffledp.domains.texts import Texts
from shuffledp.planning.release_cost import Spend, composed
from shuffledp.protocols.dummies import DummyCounts
from shuffledp.protocols.histogram import Histogram
from shuffledp.protocols.survey import Asked
from shuffledp.protocols.survey_all import AllOfThem
from shuffledp.protocols.survey_one import OneOfAll
from shuffledp.protocols.survey_table import JointTable
from shuffledp.protocols.text_frequencies import TextFrequencies
from shuffledp.randomizers.dummies import Dummies
from shuffledp.randomizers.identity import Identity
from shuffledp.randomizers.local_hashing import LocalHashing
from shuffledp.results import budget
from shuffledp.results.derived import derived

WORDS = KeyedRandomness.seeded(3)


def test_dummies_that_could_not_be_drawn_are_no_plan() -> None:
    """Every draw below more than 2^32 was rejected: whoever drew no dummy sent the truth, the others never ended."""
    honest = plan("histogram", n=2000, epsilon=1.0, delta=1e-6, size=9, messages_per_user=50.0).promise()
    assert honest["protocol"]["randomizer"]["kind"] == "dummies"
    forged = json.loads(json.dumps(honest))
    forged["protocol"]["randomizer"] |= {
        "structure": {"kind": "local-hashing", "prime": 65521, "range": 2}, "dummies": 0.05,
    }  # fmt: skip
    del forged["sha256"]
    forged["sha256"] = digest(forged)
    with pytest.raises(InvalidInput):
        Plan.from_document(forged)
    with pytest.raises(InvalidInput, match="do not fit 32 bits"):
        Dummies(structure=LocalHashing(prime=65521, range=2), dummies=0.05)


@pytest.mark.parametrize("bound", [0, (1 << 32) + 1, 1 << 40])
def test_no_number_is_drawn_below_what_32_bits_do_not_reach(bound: int) -> None:
    rows = rows_from(0, 4)
    with pytest.raises(InvalidInput, match="limit of a random number"):
        uniform_below(bound, rows, WORDS, WORDS.blocks(rows, 0), 0)
    with pytest.raises(InvalidInput, match="limit of a random number"):
        choose_below(bound, 4, WORDS, first_row=0)


def test_frequent_texts_that_nobody_asked_about_are_in_the_threshold() -> None:
    """Each lifts the candidates that share its point: by noise alone one of these would be expected above the threshold."""
    found = plan("texts", n=100_000, epsilon=1.0, delta=1e-6)
    assert isinstance(found.protocol, TextFrequencies)
    # with a key of its own each time, this would be another draw each time
    found = replace(found, protocol=replace(found.protocol, domain=Texts("00" * 16)))
    texts = [f"known {j % 200}" for j in range(100_000)]  # 500 users each
    absent = [f"absent {j}" for j in range(400_000)]
    result = run(found, texts, candidates=absent, randomness=WORDS)
    by_noise = result.plan.protocol.reading.statistics(result.estimate).threshold(1.0)  # type: ignore[union-attr]
    threshold = result.plan.protocol.reading.statistics(result.estimate, result.counts).threshold(1.0)  # type: ignore[union-attr]
    above = [int((result.estimate.value >= limit.estimate).sum()) for limit in (by_noise, threshold)]
    assert above[0] > 15
    assert above[1] <= 5
    assert threshold.false_positives <= 1.0


@pytest.mark.parametrize("size", [50, 4000])
def test_values_with_dummies_have_a_threshold(size: int) -> None:
    found = plan("histogram", n=5000, epsilon=1.0, delta=1e-6, size=size, messages_per_user=1.6, objective="total")
    protocol = found.protocol if isinstance(found.protocol, DummyCounts) else None
    if protocol is None:
        protocol = DummyCounts(
            randomizer=Dummies(structure=Identity(size=size), dummies=0.6),
            domain=found.protocol.domain,  # type: ignore[arg-type]
        )
    above, expected = 0, 0.0
    for seed in range(30):
        messages = protocol.randomize(np.full(5000, 7), KeyedRandomness.seeded(seed), first_row=0)
        counts = protocol.count(messages)
        estimate = protocol.estimate(counts)
        threshold = protocol.reading.statistics(estimate, counts).threshold(2.0)
        assert estimate.value[7] > threshold.estimate
        above += int((estimate.value >= threshold.estimate).sum()) - 1
        expected += threshold.false_positives
    assert 0.2 * expected - 5 < above < expected + 5 * expected**0.5 + 5


@pytest.mark.parametrize("stand_in", ["\udcff", "a\ud800"])
def test_stand_ins_that_utf8_does_not_have_are_refused(stand_in: str) -> None:
    for policy in ({"other": stand_in}, {"missing_as": stand_in}):
        with pytest.raises(InvalidInput, match="UTF-8"):
            Policy(**policy)  # type: ignore[arg-type]


@pytest.mark.parametrize("candidates", ["abc", [], [1], [None], [b"a"], ["\ud800"], ["ab", "ab"], ["zzz"]])
def test_heavy_hitters_are_asked_about_texts_only(candidates: Any) -> None:
    found = plan("heavy-hitters", n=1000, epsilon=1.0, delta=1e-6, alphabet="ab", max_length=2)
    with pytest.raises(InvalidInput, match="candidate"):
        found.about(candidates)


def test_finding_nothing_is_an_answer() -> None:
    found = plan("heavy-hitters", n=1000, epsilon=1.0, delta=1e-6, alphabet="ab", max_length=12, false_positives=1e-6)
    nobody_alike = [f"{j:012b}".translate(str.maketrans("01", "ab")) for j in range(1000)]
    result = run(found, nobody_alike, randomness=WORDS)
    assert result.names == ()
    assert result.estimate.threshold is not None
    assert result.document()["estimate"]["value"] == []


def test_a_missing_row_is_not_blamed_for_an_entry_that_nobody_has() -> None:
    broken = pa.StringArray.from_buffers(
        2, pa.py_buffer(np.array([0, 1, 5], dtype=np.int32)), pa.py_buffer(b"\xfffine")
    )
    column = pa.DictionaryArray.from_arrays(pa.array([None, 1], type=pa.int32()), broken)
    clean = Texts(key="00" * 16).clean(column, Policy(missing="skip"))
    assert clean.keep is not None
    assert clean.keep.tolist() == [False, True]
    with pytest.raises(InvalidInput, match="data row 2 "):
        Texts(key="00" * 16).clean(
            pa.DictionaryArray.from_arrays(pa.array([None, 0], type=pa.int32()), broken), Policy(missing="skip"), 0
        )


def test_messages_of_each_user_are_those_of_the_row() -> None:
    protocol = DummyCounts.examples()[1]
    messages = protocol.randomize(np.arange(9), WORDS, first_row=0)
    apart = list(protocol.by_user(messages, 9))
    assert apart == [sorted(messages.of_row(row).tolist()) for row in range(9)]
    assert Counts.of(np.concatenate([np.array(one) for one in apart]), protocol.alphabet).total == len(messages.values)


# Columns that numpy makes numbers of


@pytest.mark.parametrize("question", ["mean", "histogram"])
def test_what_is_masked_is_missing(question: str) -> None:
    """The number under the mask is none."""
    few = plan(question, n=50, epsilon=5.0, delta=1e-2, **({"size": 3} if question == "histogram" else {"high": 2.0}))
    masked = np.ma.MaskedArray(np.arange(60) % 3, mask=[*[True] * 6, *[False] * 54])
    with pytest.raises(InvalidInput, match="missing"):
        run(few, masked)
    found = run(few, masked, policy=Policy(missing="skip"), truth=True)
    assert found.rejected == {"missing": 6}
    assert found.n == 54


@pytest.mark.parametrize("kind", ["m8[s]", "M8[D]", "c16"], ids=["lengths of time", "dates", "complex numbers"])
@pytest.mark.parametrize("question", ["mean", "histogram"])
def test_what_is_no_number_is_not_made_one(question: str, kind: str) -> None:
    """As in a frame, where Arrow says what it is. NaT would be clamped to the least number."""
    few = plan(question, n=50, epsilon=5.0, delta=1e-2, **({"size": 3} if question == "histogram" else {"high": 2.0}))
    for values in (np.ones(50).astype(kind), list(np.ones(50).astype(kind))):
        with pytest.raises(InvalidInput, match="array of numbers"):
            run(few, values)


# Budgets


def test_threads_do_not_share_the_room_of_one_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever finds room books before anybody else looks."""
    yes = plan("query", n=100, epsilon=1.0, delta=1e-3)
    session = Session(epsilon=1.01, delta=1e-3)
    alone = composed([Spend.of(yes)], 1e-3)

    def slowly(spends: list[Spend], delta: float) -> float:
        time.sleep(0.05)  # long enough for all others to look, too
        return alone * len(spends)

    monkeypatch.setattr(budget, "composed", slowly)

    def ask(_: int) -> bool:
        try:
            session.run(yes, [0, 1] * 50, query=float)
        except NoClaim as refused:
            assert "budget" in str(refused)  # noqa: PT017
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(ask, range(4))) == 1


def test_a_budget_is_not_copied() -> None:
    """Each copy would have all of it."""
    session = Session(epsilon=1.0, delta=1e-6)
    for copied in (copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError):
            copied(session)


# Surveys


@pytest.mark.parametrize("way", [None, "one", "all", "table"])
def test_a_question_by_group_is_told_so_whichever_way_it_is_asked(way: str | None) -> None:
    questions = [{"name": "a", "ask": "mean", "by": {"sex": ["f", "m"]}}, {"name": "b", "ask": "mean"}]
    with pytest.raises(InvalidInput, match="'a' by group cannot be one of several yet"):
        plan("survey", n=1000, epsilon=1.0, delta=1e-6, questions=questions, way=way)


@pytest.mark.parametrize("name", ["a: b", "a\x1b[31m", "a\nb"], ids=["ambiguous", "steers a terminal", "two lines"])
def test_entries_of_different_questions_have_different_names(name: str) -> None:
    """Otherwise "a: b: c" is c of "a: b", or "b: c" of a."""
    coin = RandomizedResponse(size=2, gamma=0.5)
    first, other = Histogram(coin, Labels(("b: c", "d"))), Histogram(coin, Labels(("c", "e")))
    for ways in (OneOfAll, AllOfThem, JointTable):
        with pytest.raises(InvalidInput, match="plain name"):
            ways.of((Asked(name="a", protocol=first), Asked(name=name, protocol=other)))


def test_a_mean_by_group_is_not_called_one_number() -> None:
    by_sex = plan("mean", n=200, epsilon=2.0, delta=1e-3, by={"sex": ["f", "m"]})
    found = run(by_sex, ["f, 0.5", "m, 1"] * 100, randomness=WORDS)
    with pytest.raises(InvalidInput, match="not one histogram"):
        derived(found, cdf=True)
