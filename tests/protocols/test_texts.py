"""Texts that nobody listed: planned, counted under the plan's key, asked about before and after, through files and clients."""

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from oracles.documented import schema, validate
from oracles.parties import ANALYZER, PARTIES, SHUFFLER, announced, prepared, released, serving
from oracles.process import assert_refused, called
from oracles.server import running
from shuffledp import InvalidInput, KeyedRandomness, Plan, plan, run, run_file
from shuffledp.baselines.compare import compare
from shuffledp.core.digits import about
from shuffledp.core.population import Population
from shuffledp.domains.texts import Texts
from shuffledp.planning.choose import certified
from shuffledp.planning.question import Terms
from shuffledp.protocols.text_frequencies import TextFrequencies
from shuffledp.randomizers.design_response import DesignResponse
from shuffledp.randomizers.structures import AffineSpace
from shuffledp.service.analyzer.analyzer import analyze
from shuffledp.service.analyzer.ledger import Ledger
from shuffledp.service.analyzer.opened_reports import OpenedReports
from shuffledp.service.client.client import Client
from shuffledp.service.task import Task

WORDS = ["tea"] * 900 + ["coffee"] * 700 + ["water"] * 300 + [f"drink {j}" for j in range(100)]
N = len(WORDS)
ASKED = ["coffee", "tea", "milk"]


@pytest.fixture(scope="module")
def small() -> Plan:
    """Of few points, so that it is fast."""
    randomizer = DesignResponse.private(AffineSpace(prime=97), gamma=0.3)
    protocol = TextFrequencies(randomizer=randomizer, domain=Texts("0f" * 16))
    question = Terms(n=1500, epsilon=3.0, delta=1e-6)
    return certified(question, protocol)


def near(found: Any, truth: list[int]) -> bool:
    return bool((np.abs(found.estimate.value - truth) < 6 * found.estimate.standard_error).all())


def test_a_million_users_are_as_accurate_as_known() -> None:
    found = plan("texts", n=10**6, epsilon=1.0, delta=1e-6)
    errors = found.forecast.by_share
    assert errors[0.0] <= 29
    assert errors[0.01] <= 38
    assert found.document()["forecast"]["by_share"][0] == {"share": 0.0, "standard_error": errors[0.0]}
    assert f"one text that 1 % of the users hold errs by about {about(errors[0.01])}" in found.explain()
    assert found.protocol.randomizer.symbols >= 2**20
    assert Plan.from_document(json.loads(json.dumps(found.document()))) == found


def test_every_plan_has_a_key_of_its_own() -> None:
    plans = [plan("texts", n=1000, epsilon=1.0, delta=1e-6) for _ in range(2)]
    assert plans[0].protocol.randomizer == plans[1].protocol.randomizer
    assert plans[0].protocol.domain != plans[1].protocol.domain
    assert plans[0].sha256 != plans[1].sha256


def test_more_candidates_have_more_points_and_too_many_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    candidates = [f"text {j}" for j in range(100_000)]
    found = plan("texts", n=10**4, epsilon=1.0, delta=1e-6, candidates=candidates)
    assert found.protocol.randomizer.symbols >= 16 * 100_000
    assert found.protocol.names == tuple(candidates)
    monkeypatch.setattr("shuffledp.planning.families.texts._ROOM", 1000)
    with pytest.raises(InvalidInput, match="100,000 candidates are too many for a plane that fits in memory"):
        plan("texts", n=10**4, epsilon=1.0, delta=1e-6, candidates=candidates)


def test_users_of_texts_are_counted(small: Plan) -> None:
    result = run(small, WORDS, candidates=ASKED, randomness=KeyedRandomness.seeded(1), truth=True)
    assert result.names == tuple(ASKED)
    assert result.truth is not None
    assert result.truth.tolist() == [700, 900, 0]
    assert near(result, [700, 900, 0])
    assert result.document()["plan"] == small.sha256  # candidates are no part of the promise


def test_more_can_be_asked_later_of_the_same_counts(small: Plan) -> None:
    first = run(small, WORDS, candidates=ASKED, randomness=KeyedRandomness.seeded(1), truth=True)
    later = first.about(["water", "coffee"])
    assert later.names == ("water", "coffee")
    assert later.estimate.value[1] == first.estimate.value[0]
    assert near(later, [300, 700])
    assert later.truth is None
    assert later.guarantee == first.guarantee
    with pytest.raises(InvalidInput, match="counts what the plan lists, so it takes no candidates"):
        run(plan("sum", n=10, epsilon=1.0, delta=1e-2), [0.5] * 10, candidates=["x"])
    with pytest.raises(InvalidInput, match="you must say which ones to ask about"):
        run(small, WORDS)


def test_estimates_are_unbiased_over_keys_and_their_variance_counts_who_shares_a_point() -> None:
    """All others hold texts of their own; without the correction the mean would be noticed to be off."""
    randomizer = DesignResponse.private(AffineSpace(prime=3), gamma=0.05)
    others, users, keys = 200, 40, 2000
    texts = ["mine", *(f"text {j}" for j in range(others))]
    found = []
    generator = np.random.default_rng(1)
    for key in range(keys):
        domain = Texts(f"{key:032x}")
        protocol = TextFrequencies(randomizer=randomizer, domain=domain).about(["mine"])
        population = Population(values=domain.clean(texts).values, users=np.array([users, *([1] * others)]))
        found.append(float(protocol.simulate(population, generator, 1)[0, 0]) - users)
    n = population.n
    variance = float(protocol.law.variance(np.array([float(users)]), n)[0])
    assert abs(np.mean(found)) < 4.5 * math.sqrt(variance / keys)
    assert others / protocol.points > 4.5 * math.sqrt(variance / keys)  # what is subtracted would be noticed
    assert np.var(found) == pytest.approx(variance, rel=0.12)
    noise = float(protocol.given_key.variance(np.array([float(users)]), n)[0])
    assert np.var(found) != pytest.approx(noise, rel=0.12)


def test_who_shares_a_point_is_said() -> None:
    domain, points = Texts("0f" * 16), 97**2
    places: dict[int, str] = {}
    first, second = next(
        (places[int(point)], text)
        for text in (f"text {j}" for j in range(10_000))
        if (point := domain.points([text], points)[0]) in places or places.setdefault(int(point), text) is None
    )
    randomizer = DesignResponse.private(AffineSpace(prime=97), gamma=0.3)
    protocol = TextFrequencies(randomizer=randomizer, domain=domain).about([first, "another", second])
    (note,) = protocol.reading.notes()
    assert note.startswith("2 of the 3 candidates share a point with another one")
    assert repr(first) in note
    assert "another'" not in note
    certified_plan = certified(Terms(n=1500, epsilon=3.0, delta=1e-6), protocol)
    result = run(certified_plan, [first] * 1000 + [second] * 500, randomness=KeyedRandomness.seeded(2), truth=True)
    assert note in result.notes
    assert result.truth is not None
    assert result.truth.tolist() == [1000, 0, 500]  # of the text, not of its point
    assert result.estimate.value[0] == result.estimate.value[2]
    assert near(result, [1500, 0, 1500])
    assert note not in result.about(["another"]).notes


@pytest.mark.parametrize("encoded", [False, True])
def test_columns_of_files_are_counted(small: Plan, tmp_path: Path, encoded: bool) -> None:
    column = pa.array(WORDS)
    table = pa.table({"word": column.dictionary_encode() if encoded else column})
    parquet.write_table(table, tmp_path / "words.parquet")
    csv.write_csv(pa.table({"word": column}), tmp_path / "words.csv")
    expected = run(small, WORDS, candidates=ASKED, randomness=KeyedRandomness.seeded(3)).estimate.value
    for name in ("words.parquet", "words.csv"):
        found = run_file(small, tmp_path / name, column="word", candidates=ASKED, randomness=KeyedRandomness.seeded(3))
        assert np.array_equal(found.estimate.value, expected)


def test_decoding_by_look_ups_and_all_at_once_agree() -> None:
    for structure in (AffineSpace(prime=97), AffineSpace(prime=11, dimension=3)):
        counts = np.random.default_rng(1).integers(0, 9, structure.messages)
        every = structure.totals(counts)
        for size in (1, 5, 16 * structure.prime, 40 * structure.prime):
            values = np.random.default_rng(size).integers(0, structure.values, size)
            assert np.array_equal(structure.totals_of(counts, values), every[values])


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ("tea", "must be several texts"),
        (5, "must be several texts"),
        (iter(["tea"]), "must be several texts"),
        ([], "there are no candidates"),
        (["tea", 5], "must be texts"),
        (["tea", "milk", "tea"], "'tea' occurs more than once"),
        (["tea", "\ud800"], "UTF-8 does not have"),
    ],
)
def test_bad_candidates(small: Plan, wrong: Any, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        run(small, WORDS, candidates=wrong)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"tea\nmilk\ntea\n", "lines 1 and 3 of ask.txt are the same text"),
        (b"tea\n\nmilk\n", "line 2 of ask.txt is empty"),
        (b"tea\nmilk\n\xff\n", "line 3 of ask.txt is not in UTF-8"),
        (b"", "ask.txt is empty"),
        (b"\n", "ask.txt is empty"),
        (None, "cannot read ask.txt: No such file"),
    ],
)
def test_bad_files_of_candidates(small: Plan, tmp_path: Path, content: bytes | None, why: str) -> None:
    if content is not None:
        (tmp_path / "ask.txt").write_bytes(content)
    (tmp_path / "plan.json").write_text(json.dumps(small.document()))
    (tmp_path / "words.csv").write_text("word\n" + "\n".join(WORDS))
    for command in (
        "run plan.json words.csv --column word --candidates ask.txt --out answer.json",
        "plan texts --n 1e4 --epsilon 1 --delta 1e-6 --candidates ask.txt --out answer.json",
    ):
        done = called(command, cwd=tmp_path)
        assert_refused(done, why)
        assert not (tmp_path / "answer.json").exists()


def test_a_file_of_candidates_is_read_as_it_is(tmp_path: Path, small: Plan) -> None:
    (tmp_path / "ask.txt").write_bytes("\ufefftea\r\n milk \r\ncaf\u00e9\u2028au lait".encode())
    (tmp_path / "plan.json").write_text(json.dumps(small.document()))
    (tmp_path / "words.csv").write_text("word\n" + "\n".join(WORDS))
    done = called(
        "run plan.json words.csv --column word --candidates ask.txt --json --false-positives 1e-9", cwd=tmp_path
    )
    found = json.loads(done.stdout)
    assert found["estimate"]["names"] == ["tea", " milk ", "caf\u00e9\u2028au lait"]
    assert [one["bin"] for one in found["derived"]["top"]] == ["tea"]
    assert found["derived"]["threshold"]["values"] == 3
    assert 0 < found["derived"]["threshold"]["false_positives"] <= 1e-9


def test_simulations_are_about_candidates(tmp_path: Path, small: Plan) -> None:
    (tmp_path / "plan.json").write_text(json.dumps(small.document()))
    (tmp_path / "ask.txt").write_text("tea\nmilk\n")
    (tmp_path / "truth.csv").write_text("text,users\ntea,1000\ncoffee,700\n")
    done = called("simulate plan.json --truth truth.csv --candidates ask.txt --seed 1 --json", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert found["rmse"] == pytest.approx(found["expected_rmse"], rel=0.1)
    assert 0.93 < found["coverage"] < 0.97
    assert "which ones to ask about" in called("simulate plan.json --truth truth.csv", cwd=tmp_path).stderr


def test_a_comparison_simulates_what_is_asked_about() -> None:
    asked: dict[str, Any] = {"n": 1000, "epsilon": 1.0, "delta": 1e-6, "runs": 2000, "seed": 1}
    (row,) = compare("texts", **asked, candidates=["tea"])
    assert row.simulated == pytest.approx(row.rmse, rel=0.1)
    assert compare("texts", **asked)[0].simulated is None


# The service


@pytest.fixture(scope="module")
def task() -> Task:
    return Task(plan=plan("texts", n=60, epsilon=6.0, delta=1e-2), window=3600, max_age=7200, **PARTIES)


def test_asking_again_of_a_batch_spends_nothing(tmp_path: Path) -> None:
    """On few points, because composing is faster there."""
    randomizer = DesignResponse.private(AffineSpace(prime=7), gamma=0.3)
    protocol = TextFrequencies(randomizer=randomizer, domain=Texts("0f" * 16))
    few = certified(Terms(n=60, epsilon=1.3, delta=1e-2), protocol)
    task = Task(plan=few, window=60, max_age=600, **PARTIES)
    shuffler = serving(task)
    known = announced(shuffler, task)
    for person in range(60):
        client = Client(task=task, analyzer=ANALYZER.public(), folder=tmp_path / str(person))
        upload = client.report("tea" if person % 3 else f"drink {person}", known)
        assert upload is not None
        assert shuffler.accept(task.id, [upload]) == ["accepted"]
    batch = released(shuffler, task)[1]
    ledger = Ledger(tmp_path / "ledger.jsonl", epsilon=1.4, delta=1e-2)
    more: dict[str, Any] = {"ledger": ledger, "opened_reports": OpenedReports(tmp_path / "opened")}
    with pytest.raises(InvalidInput, match="which ones to ask about"):
        analyze(batch, task, ANALYZER, **more)
    assert not (tmp_path / "ledger.jsonl").exists()  # refused before anything was booked
    first = analyze(batch, task, ANALYZER, candidates=["tea", "milk"], **more)
    again = analyze(batch, task, ANALYZER, candidates=["water", "tea"], **more)
    assert near(first, [40, 0])
    assert again.estimate.value[1] == first.estimate.value[0]
    assert again.provenance is not None
    assert again.provenance.ledger is not None
    assert again.provenance.ledger.releases == 1


def test_texts_through_a_server(tmp_path: Path, task: Task) -> None:
    """A client, clients from a file, the analyzer's command with candidates: counted, ranked and drawn."""
    validate(task.document(), schema("Task"))
    folder = prepared(tmp_path, task, SHUFFLER)
    people = ["tea"] * 50 + [f"drink {j}" for j in range(20)]
    (folder / "people.csv").write_text("drink\n" + "\n".join(people))
    (folder / "mine.txt").write_text("tea\n")
    (folder / "ask.txt").write_text("milk\ntea\nwater\n")
    with running(folder) as server:
        common = f"--url {server.url} --analyzer-keys analyzer.pub.json"
        mine = called(f"client submit task.json {common} --value-file mine.txt --state state", cwd=folder)
        assert mine.stdout == "the report has arrived\n"
        many = called(f"simulate-clients task.json people.csv --column drink {common}", cwd=folder)
        assert many.stdout == "accepted: 70\n"
        closed = called(f"shuffler close task.json --url {server.url} --token operator.token", cwd=folder)
        assert "71 reports" in closed.stdout
        answer = called(
            f"analyzer run task.json --url {server.url} --token analyzer.token --keys analyzer.key --opened opened --json "
            "--candidates ask.txt --top 2 --false-positives 1e-6 --report page.html",
            cwd=folder,
        )
    assert answer.returncode == 0, answer.stderr
    found = json.loads(answer.stdout)
    assert found["n"] == 71
    assert found["estimate"]["names"] == ["milk", "tea", "water"]
    assert [one["bin"] for one in found["derived"]["top"]] == ["tea"]
    assert abs(found["estimate"]["value"][1] - 51) < 6 * found["estimate"]["standard_error"][1]
    page = (folder / "page.html").read_text()
    assert "tea" in page
    least = re.search(r"Bins of at least ([\d.]+); if nobody were in any of the 3", page)
    assert least is not None
    places = len(least[1].partition(".")[2])  # as many as the table has
    assert least[1] == f"{found['derived']['threshold']['estimate']:.{places}f}"
    assert 2 <= places <= 4


@pytest.mark.parametrize("candidates", [1, 3])
@pytest.mark.parametrize("weight", [0.5, 40.0, 200.0])
def test_a_sample_of_the_people_is_forecast_where_it_errs_most(candidates: int, weight: float) -> None:
    """Against every number of holders: what they add to the variance, and w times the spread of as many for each candidate."""
    protocol = TextFrequencies.examples()[0].about(tuple("abc"[:candidates]))
    held, absent = map(float, protocol.law.variance(np.array([1.0, 0.0]), 1))
    n = 30

    def worth(holders: int) -> float:
        share = holders / n
        return share * (held - absent) + weight * (share - share**2 / candidates)

    found = protocol.worst_sampled(n, weight)
    assert int(found.users.sum()) == n
    assert worth(n - int(found.users[-1])) == pytest.approx(max(map(worth, range(n + 1))), rel=1e-3)
    assert np.ptp(found.users[:-1]) <= 1


def test_the_spread_of_a_text_is_that_of_its_holders_among_all() -> None:
    ones = np.repeat([1.0, 0.0], [3, 7])
    spread = TextFrequencies.examples()[0].most_spread(np.array([3.0]), 10)
    assert spread == pytest.approx(np.var(ones, ddof=1))
