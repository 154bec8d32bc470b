"""Frequent texts that nobody listed: how they become points, how they are found, and how often that goes wrong."""

import dataclasses
import hashlib
import json
import re
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import poisson

from oracles.parties import ANALYZER, PARTIES, released, sealed, serving
from oracles.process import called
from oracles.scale import full
from oracles.words import words
from shuffledp import InvalidInput, KeyedRandomness, Plan, Policy, Result, plan, run, run_file
from shuffledp.core.population import Population
from shuffledp.domains.spellable_texts import Spelled, letters_of
from shuffledp.figures.result_page import page
from shuffledp.protocols.discovery import Pass, Tables, discover, strict_enough
from shuffledp.protocols.heavy_hitters import HeavyHitters
from shuffledp.protocols.prefixes import TABLES, Prefixes
from shuffledp.randomizers.design_response import DesignResponse
from shuffledp.randomizers.structures import AffineSpace
from shuffledp.results.derived import derived
from shuffledp.results.rehearsal import rehearse
from shuffledp.service.analyzer.analyzer import analyze
from shuffledp.service.task import Task

KEY = "5a" * 16
SMALL = Prefixes(domain=Spelled(alphabet="abc", max_length=5), step=2, key=KEY, points=49)
ALL = ["".join(letters) for length in range(6) for letters in product("abc", repeat=length)]


def spelled(texts: list[str], domain: Spelled = SMALL.domain) -> Any:
    return domain.clean(texts).values


def test_a_point_is_a_sum_of_hashes_of_pieces() -> None:
    """By the formula, written again: text after text, part after part."""
    letters = {"": 0, "a": 1, "b": 2, "c": 3}
    found = SMALL.all_points(SMALL.pieces(spelled(ALL)))
    assert found.shape == (len(ALL), 6)
    for text in (0, 3, 100, 200, len(ALL) - 1):
        padded = [letters[letter] for letter in ALL[text]] + [0] * (6 - len(ALL[text]))
        for part in range(6):
            total = 0
            for place in range(part // 2 + 1):
                tag = (1 + 65536 * part + place).to_bytes(4, "big")
                piece = bytes(padded[2 * place : 2 * place + 2])
                digest = hashlib.sha256(b"shuffledp text 1" + bytes.fromhex(KEY) + tag + piece).digest()
                total += int.from_bytes(digest[:8], "big") % 49
            assert found[text, part] == total % 49


def test_pieces_are_read_back_and_every_text_can_be_reached() -> None:
    values = spelled(ALL)
    pieces = SMALL.pieces(values)
    assert SMALL.spelled(pieces) == values.tolist()
    reached: list[tuple[int, ...]] = [()]
    for level in range(SMALL.levels):
        extensions = SMALL.next_pieces(level).tolist()
        assert len(extensions) == len(set(extensions)) == (13 if level < 2 else 4)
        reached = [
            (*one, more)
            for one in reached
            for more in (extensions if not one or not SMALL.ended(np.array([one]))[0] else [0])
        ]
    assert sorted(reached) == sorted(map(tuple, pieces.tolist()))


def tables_of(generator: np.random.Generator) -> list[Tables]:
    """Noise, a few points with far more, and two texts that are frequent."""
    levels, frequent = [], SMALL.all_points(SMALL.pieces(spelled(["abcab", "cb"])))
    for level in range(SMALL.levels):
        both = generator.poisson(20, (2, 49))
        for table, totals in enumerate(both):
            totals[generator.integers(0, 49, 5)] += 25
            totals[frequent[:, TABLES * level + table]] += 60
        levels.append(Tables(both[0], both[1], 20.0))
    return levels


@pytest.mark.parametrize("seed", range(5))
def test_the_threshold_is_the_least_that_is_rare_enough(seed: int) -> None:
    """All pairs of points, one by one."""
    (tables, *_), tried, allowed = tables_of(np.random.default_rng(seed)), 300, 2.0
    rule, expected = strict_enough(tables, tried, allowed)
    pairs = list(product(tables.first, tables.second))

    def passing(least: int) -> float:
        each = Pass(least, 20.0)
        return tried * sum(bool(each(np.array(a), np.array(b))) for a, b in pairs) / len(pairs)

    assert expected == pytest.approx(passing(rule.least))
    before = max(a + b for a, b in pairs if a + b < rule.least and Pass(0, 20.0)(np.array(a), np.array(b)))
    assert passing(rule.least) <= allowed < passing(before)


def test_agreement_of_the_tables() -> None:
    rule = Pass(60, 20.0)
    first, second = np.array([30, 50, 39, 90, 31, 45, 46]), np.array([30, 10, 21, 40, 28, 25, 25])
    assert rule(first, second).tolist() == [True, False, False, False, False, False, False]
    assert rule(np.array([44, 50]), np.array([28, 30])).tolist() == [True, True]


@pytest.mark.parametrize("seed", range(5))
def test_discovery_finds_what_trying_every_text_finds(seed: int) -> None:
    tables = tables_of(np.random.default_rng(seed))
    found = discover(SMALL, tables.__getitem__, 1.0)
    pieces = SMALL.pieces(spelled(ALL))
    alive, tried = np.ones(len(ALL), dtype=np.bool_), 1
    for level, here in enumerate(tables):
        before = {tuple(row[:level]) for row in pieces[alive].tolist()}
        going = [one for one in before if not one or not SMALL.ended(np.array([one]))[0]]
        tried = len(going) * len(SMALL.next_pieces(level)) + len(before) - len(going)
        rule, expected = strict_enough(here, tried, 1.0 if level == SMALL.levels - 1 else 100.0)
        points = [SMALL.points_of(pieces[:, : level + 1], TABLES * level + table) for table in range(TABLES)]
        alive &= rule(here.first[points[0]], here.second[points[1]])
    assert sorted(found.spelled) == sorted(spelled(ALL)[alive].tolist())
    assert (found.threshold, found.false_positives) == (rule.least, expected)
    assert len(found.spelled) < len(ALL)
    assert any(spelled(["abcab", "cb"])[j] in found.spelled for j in range(2))


def hitters(n: int, texts: dict[str, int], *, runs: int, **options: Any) -> list[Result]:
    """Runs under new keys."""
    planned = plan("heavy-hitters", n=n, delta=1e-6, **options)
    people = [text for text, often in texts.items() for _ in range(often)]
    found = []
    for seed in range(runs):
        found.append(run(pinned(planned, f"{seed:032x}"), people, randomness=KeyedRandomness.seeded(seed)))
    return found


def test_what_the_forecast_promises_is_found_and_no_more_false_texts_than_stated() -> None:
    """Texts that just so many users hold, among thousands of rare ones."""
    n, runs = 10_000, full(6, 60)
    options: dict[str, Any] = {"epsilon": 2.0, "alphabet": "a-h", "max_length": 6, "false_positives": 2.0}
    planned = plan("heavy-hitters", n=n, delta=1e-6, **options)
    reach = round(planned.document()["forecast"]["found_from_users"])
    texts = dict.fromkeys(("abcdef", "hgfedc", "aaaaaa", "bbb", "h"), reach)
    rare = {"".join(letters): 1 for letters in product("abcdefgh", repeat=5)}
    rest = n - sum(texts.values())
    everyone = texts | dict(list(rare.items())[: rest - 1])
    everyone["cccccc"] = n - sum(everyone.values())
    results = hitters(n, everyone, runs=runs, **options)
    hits = sum(text in result.names for result in results for text in texts)
    assert hits >= 0.9 * runs * len(texts)
    false = sum(name not in everyone for result in results for name in result.names)
    stated = sum(result.estimate.threshold.false_positives for result in results if result.estimate.threshold)
    assert 0 < stated <= 2.0 * runs
    assert poisson.sf(false - 1, stated) > 1e-9
    errors = [
        (value - everyone[name]) / error
        for result in results
        for name, value, error in zip(result.names, result.estimate.value, result.estimate.standard_error, strict=True)
        if name in texts
    ]
    assert np.std(errors) == pytest.approx(1, abs=0.25)
    assert abs(np.mean(errors)) < 0.5


def test_words_of_a_manual_are_found() -> None:
    """Of those that at least five forecast standard errors hold nearly all; benchmarks/bench_heavy_hitters.py is larger."""
    texts = [word[:8] for word in words()[:20_000]]
    often = Counter(texts)
    results = hitters(len(texts), dict(often), runs=3, epsilon=2.0, alphabet="a-z", max_length=8)
    protocol: Any = results[0].plan.protocol
    errors = np.sqrt(protocol.law.variance(np.array(list(often.values()), dtype=float), len(texts)))
    frequent = [word for word, error in zip(often, errors, strict=True) if often[word] >= 5 * error]
    assert len(frequent) > 15
    found = sum(word in result.names for result in results for word in frequent)
    assert found >= 0.9 * len(results) * len(frequent)
    assert sum(name not in often for result in results for name in result.names) <= 16


TEXTS = {"apple": 900, "čaj": 700, "寿司": 500, "a\x1b[mb": 400}
N = 3000


def pinned(planned: Plan, key: str = KEY) -> Plan:
    """Under a known key: no test may depend on who shares a point by chance."""
    return dataclasses.replace(planned, protocol=dataclasses.replace(planned.protocol, key=key))  # type: ignore[type-var]


@pytest.fixture(scope="module")
def anything() -> Plan:
    return pinned(plan("heavy-hitters", n=N, epsilon=4.0, delta=1e-6, max_length=6))


@pytest.fixture
def people() -> list[str]:
    everyone = [text for text, often in TEXTS.items() for _ in range(often)] + [f"p{j}" for j in range(500)]
    np.random.default_rng(1).shuffle(everyone)
    return everyone


def test_any_utf8_from_memory_and_files(anything: Plan, people: list[str], tmp_path: Path) -> None:
    """The same answer; what is found has its true count beside it, and other texts can be asked about later."""
    path = tmp_path / "people.csv"
    path.write_text("\n".join(["word", *people]), encoding="utf-8")
    given = KeyedRandomness.seeded(1)
    memory = run(anything, people, randomness=given, truth=True)
    file = run_file(anything, path, column="word", randomness=given, truth=True)
    assert file.names == memory.names
    assert (file.estimate.value == memory.estimate.value).all()
    assert memory.names[:4] == tuple(TEXTS)
    assert memory.truth is not None
    assert memory.truth[:4].tolist() == list(TEXTS.values())
    assert (np.diff(memory.estimate.value) <= 0).all()
    assert len(derived(memory, top=500)["top"]) == len(memory.names)
    for wrong in ({"project": True}, {"cdf": True}, {"top": 0}, {"false_positives": 1.0}):
        with pytest.raises(InvalidInput):
            derived(memory, **wrong)
    document = json.loads(json.dumps(memory.document()))["estimate"]
    assert document["threshold"]["estimate"] <= min(document["value"])
    assert 0 < document["threshold"]["false_positives"] <= 1
    later = memory.about(["čaj", "nobody"])
    assert later.names == ("čaj", "nobody")
    assert later.estimate.value[0] == memory.estimate.value[1]
    assert "threshold" in later.document()["estimate"]
    assert later.document()["estimate"]["threshold"] is None


def test_on_the_command_line(
    anything: Plan, people: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing that somebody sent steers the terminal of those who read it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    Path("plan.json").write_text(json.dumps(anything.document()))
    Path("people.csv").write_text("\n".join(["word", *people]), encoding="utf-8")
    Path("truth.csv").write_text("word,users\napple,900\npear,2100\n")
    done = called("run plan.json people.csv --column word --report page.html --report page.png")
    assert done.returncode == 0, done.stderr
    assert "\\x1b[m" in done.stdout
    assert "\x1b" not in done.stdout
    said = re.search(r"^found: (\d) texts with estimates of at least ", done.stdout, re.MULTILINE)
    assert said is not None
    assert int(said[1]) == done.stdout[: said.start()].count("\n") - 1  # a line each, below their heading
    assert re.search(r"; on average [\d.]+ texts among them are held by nobody$", done.stdout, re.MULTILINE)
    assert f"Found: {said[1]} texts with estimates of at least" in Path("page.html").read_text(encoding="utf-8")
    done = called("simulate plan.json --truth truth.csv --trials 200 --seed 1 --whole-runs 2 --json")
    assert done.returncode == 0, done.stderr
    runs = json.loads(done.stdout)["whole_runs"]
    assert (runs["runs"], runs["frequent"], runs["found"]) == (2, 2, 1.0)
    assert 0 < runs["stated_false_positives"] <= 1


def test_nothing_found_is_an_answer_too(anything: Plan) -> None:
    """Of people who all hold something else."""
    result = run(anything, [f"{j:x}" for j in range(5, N + 5)], randomness=KeyedRandomness.seeded(3), truth=True)
    empty = dataclasses.replace(
        result,
        estimate=dataclasses.replace(
            result.estimate,
            names=(),
            value=np.zeros(0),
            standard_error=np.zeros(0),
            threshold=result.estimate.threshold,
        ),
        truth=np.zeros(0),
    )
    assert len(result.names) <= 5
    document = empty.document()
    assert document["estimate"]["value"] == []
    assert "<table" in page(document)


def test_simulated_answers_are_about_the_texts_of_the_table(anything: Plan) -> None:
    values = anything.protocol.domain.clean(["apple", "pear"]).values
    population = Population(values=values, users=np.array([1000, 2000]))
    found = anything.protocol.simulate(population, np.random.default_rng(1), 4000)
    assert anything.protocol.expected(population).tolist() == [1000, 2000]
    assert found.mean(axis=0) == pytest.approx([1000, 2000], rel=0.02)
    squared = np.square(found - [1000, 2000]).sum(axis=1).mean()
    assert squared == pytest.approx(anything.protocol.expected_error(population), rel=0.1)


def test_whole_runs_are_of_plans_that_find_their_answers() -> None:
    listed = plan("histogram", n=100, epsilon=4.0, delta=1e-3, size=3)
    for users, why in ((100, "lists what it estimates"), (10**8, "at most 10,000,000 users")):
        with pytest.raises(InvalidInput, match=why):
            rehearse(listed, Population(values=np.array([1]), users=np.array([users])), runs=1, seed=1)


def test_through_the_service() -> None:
    """Sealed reports, a shuffler, a released batch: the analyzer finds the texts."""
    texts = {"abba": 500, "ba": 300, "": 150, "bbbb": 50}
    people = [text for text, often in texts.items() for _ in range(often)]
    planned = pinned(plan("heavy-hitters", n=1000, epsilon=8.0, delta=1e-3, alphabet="ab", max_length=4))
    task = Task(plan=planned, window=60, max_age=600, **PARTIES)
    assert Task.from_document(json.loads(json.dumps(task.document()))).plan == planned
    protocol = planned.protocol
    values = protocol.domain.clean(people).values
    messages = protocol.randomize(values, KeyedRandomness.seeded(5), first_row=0)
    shuffler = serving(task)
    outcomes = shuffler.accept(task.id, [sealed(int(message), task) for message in messages])
    assert not isinstance(outcomes, str)
    assert Counter(outcomes) == {"accepted": 1000}
    _, batch = released(shuffler, task)
    result = analyze(batch, task, ANALYZER)
    assert set(result.names) >= {"abba", "ba"}
    for name, value, error in zip(result.names, result.estimate.value, result.estimate.standard_error, strict=True):
        assert abs(value - texts.get(name, 0)) < 6 * error
    assert result.estimate.threshold is not None
    assert result.guarantee is not None


def test_a_message_is_a_line_through_the_point_of_the_level_that_was_drawn() -> None:
    """As docs/wire.md has it, with hardly any blanket."""
    q = 101
    protocol = HeavyHitters.of(
        DesignResponse(structure=AffineSpace(prime=q), threshold=1), SMALL.domain, step=2, key=KEY
    )
    messages = protocol.randomize(spelled(ALL), KeyedRandomness.seeded(2), first_row=0).astype(np.int64)
    part, line = np.divmod(messages, q * (q + 1))
    direction, offset = np.divmod(line, q)
    prefixes = dataclasses.replace(SMALL, points=q * q)
    point = prefixes.all_points(prefixes.pieces(spelled(ALL)))[np.arange(len(ALL)), part]
    u, w = np.divmod(point, q)
    assert (offset == np.where(direction == q, u, (w - direction * u) % q)).all()
    assert set(part.tolist()) == set(range(6))


def test_messages_under_a_fixed_key_never_change() -> None:
    """Reports of a collection that runs must mean the same to the analyzer of tomorrow."""
    protocol = HeavyHitters.of(DesignResponse.private(AffineSpace(prime=101), gamma=0.2), SMALL.domain, step=2, key=KEY)
    messages = protocol.randomize(spelled(ALL * 20), KeyedRandomness(bytes(range(32)), private=True), first_row=7)
    assert (
        hashlib.sha256(messages.astype("<u4").tobytes()).hexdigest()
        == "c8267504bb3366bb979e952ddeda38b936db04f15228138b632f7b25e756eaf8"
    )


LETTERS, BYTES = Spelled(alphabet="abc", max_length=3), Spelled(max_length=3)


@pytest.mark.parametrize(
    ("domain", "text", "cut"),
    [
        (LETTERS, "abca", "abc"),
        (LETTERS, "abxa", "ab"),
        (LETTERS, "x", ""),
        (BYTES, "aéé", "aé"),
        (BYTES, "éé", "é"),
        (BYTES, "a\0b", "a"),
        (BYTES, "寿司", "寿"),
    ],
)
def test_texts_that_do_not_fit(domain: Spelled, text: str, cut: str) -> None:
    """Refused, cut after the last letter that fits, or counted as another text: always said."""
    with pytest.raises(InvalidInput, match="longer than the plan allows or has other letters") as refused:
        domain.clean(["a", text])
    assert repr(text) not in str(refused.value)
    clean = domain.clean(["a", text], Policy(outside="clamp"))
    assert [domain.name(value) for value in clean.values.tolist()] == ["a", cut]
    assert clean.adjusted == {"cut to fit": 1}
    other = domain.clean(["a", text], Policy(other="a"))
    assert [domain.name(value) for value in other.values.tolist()] == ["a", "a"]
    assert other.adjusted == {"other": 1}


def test_alphabets_as_people_write_them() -> None:
    assert letters_of("a-cx") == "abcx"
    assert letters_of("-a-c") == "-abc"
    assert letters_of("a-") == "a-"
    assert letters_of("äöü") == "äöü"
    assert letters_of("") == ""


PLANE = DesignResponse.private(AffineSpace(prime=3), gamma=0.4)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (lambda: plan("heavy-hitters", n=1000, epsilon=1.0, delta=1e-6), "Add `max_length`"),
        (lambda: plan("heavy-hitters", n=1000, epsilon=1.0, delta=1e-6, max_length=0), "1 to 256 letters"),
        (lambda: plan("heavy-hitters", n=1000, epsilon=1.0, delta=1e-6, max_length=4, alphabet="aba"), "occurs once"),
        (
            lambda: plan("heavy-hitters", n=1000, epsilon=1.0, delta=1e-6, max_length=4, alphabet="z-a"),
            "to a later one",
        ),
        (lambda: plan("heavy-hitters", n=1000, epsilon=1.0, delta=1e-6, max_length=4, alphabet="Ā-ￜ"), "at most 255"),
        (lambda: plan("heavy-hitters", n=1000, epsilon=1.0, delta=1e-6, max_length=4, false_positives=0.0), "above 0"),
        (lambda: HeavyHitters.of(PLANE, LETTERS, step=4, key=KEY), "from 1 letter"),
        (lambda: HeavyHitters.of(PLANE, Spelled(max_length=9), step=3, key=KEY), "too many pieces"),
        (lambda: HeavyHitters.of(PLANE, LETTERS, step=1, key="xyz"), "32 hexadecimal digits"),
        (lambda: HeavyHitters.of(PLANE, LETTERS, step=1, key=KEY).about(["abcd"]), "does not take the candidate"),
        (lambda: HeavyHitters.of(PLANE, LETTERS, step=1, key=KEY).about(["a", "a"]), "occurs more than once"),
    ],
)
def test_bad_input(wrong: Any, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        wrong()
